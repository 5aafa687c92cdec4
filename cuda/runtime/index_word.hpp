// cuda/runtime/index_word.hpp - how a kernel tells the host of an index outside its range.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace ruda::cuda {

// In host memory that the device can write. The first kernel thread to report wins.
struct IndexWord {
  uint32_t taken;
  uint32_t site;
  int64_t index, extent;
};

// A number for "operator, operand", which a kernel reports; texts are static. Called in prepare.
uint32_t index_site(const char* op, const char* operand);
// "embedding: indices holds 7, expected 0..4".
std::string index_text(const IndexWord& word);

}  // namespace ruda::cuda
