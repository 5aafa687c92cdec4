// src/cpu/norm/softmax_table.hpp - row kernels of softmax and log_softmax, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// One dense row; y may be x.
using SoftmaxRow = void (*)(const void* x, void* y, int64_t cols);

// Index: 0 F32, 1 F16, 2 BF16.
struct SoftmaxTable {
  SoftmaxRow softmax[3], log_softmax[3];
};

RUDA_ISA_TABLE(SoftmaxTable, softmax_table)

}  // namespace ruda::cpu
