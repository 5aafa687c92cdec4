// src/cpu/sort/top_k_table.hpp - the scan of top_k, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// A row's elements that may be among the best: keys that order as integers, larger first, and places.
struct TopKCandidates {
  int32_t* keys;
  int32_t* places;
  int64_t count, capacity;
};

// Appends the elements from `begin` on whose key is above `threshold`, until the row of `cols` ends or less
// than 64 places are free; returns where it stopped.
using TopKScan = int64_t (*)(const void* row, int64_t begin, int64_t cols, int32_t threshold,
                             TopKCandidates* found);

// First index: largest, smallest. Second: F32, F16, BF16, I32.
struct TopKTable {
  TopKScan scan[2][4];
};

RUDA_ISA_TABLE(TopKTable, top_k_table)

}  // namespace ruda::cpu
