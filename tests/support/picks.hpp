// tests/support/picks.hpp - notes which cases ran on which kernels, and runs only those that a file names.
// SPDX-License-Identifier: Apache-2.0
//
// A case is the n-th call of each_kernel in a test; with a seed its number means the same in every run. A
// file of picks holds lines "test <name>" and "case <test> <number> <kernel>": the tests named in either run,
// of their cases only those picked. A list holds a line for what ran:
//   test <name> <seconds> <cases>
//   case <test> <number> <kernel> <bytes> <seconds of one execution> <dtypes and the plan's note, one word>
#pragma once
#include <string>

namespace ruda::test::picks {

// Files of both; `seconds` > 0: past this time no further case begins.
void open(const std::string& pick_file, const std::string& list_file, double seconds);

bool wants_test(const char* name);
void begin_test(const char* name);
void end_test();

// Number of the case that begins.
int begin_case();
bool wants_case(int number, const std::string& kernel);
// True when some case may be left out.
bool picking();
void note_case(int number, const std::string& kernel, unsigned long long bytes, double seconds,
               const std::string& kind);

}  // namespace ruda::test::picks
