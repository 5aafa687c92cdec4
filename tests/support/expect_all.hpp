// tests/support/expect_all.hpp - a check that goes on after a failure, for tests of the library's inside.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdio>

inline std::atomic<int> failures{0};

#define EXPECT(condition)                                              \
  do {                                                                 \
    if (!(condition)) {                                                \
      failures++;                                                      \
      std::printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                  \
  } while (0)

// What main() returns.
inline int failures_to_exit_code() {
  if (failures) std::printf("%d failures\n", failures.load());
  return failures ? 1 : 0;
}
