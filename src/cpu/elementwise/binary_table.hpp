// src/cpu/elementwise/binary_table.hpp - dense rows of the binary functions, two tables a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

constexpr int binary_count = 22;

// y[i] = f(a[i], b[i]) over dense rows.
using BinaryDense = void (*)(const void* a, const void* b, void* y, int64_t count);

// First index: code - 1. Second: F32, F16, BF16.
struct BinaryRealTable {
  BinaryDense rows[binary_count][3];
};
// Second: F64, I8, U8 (also BOOL), I16, U16, I32, U32, I64, U64.
struct BinaryIntTable {
  BinaryDense rows[binary_count][9];
};

RUDA_ISA_TABLE(BinaryRealTable, binary_real_table)
RUDA_ISA_TABLE(BinaryIntTable, binary_int_table)

}  // namespace ruda::cpu
