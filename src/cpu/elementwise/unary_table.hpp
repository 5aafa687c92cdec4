// src/cpu/elementwise/unary_table.hpp - dense rows of the unary functions, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

constexpr int unary_count = 41;

// y[i] = f(x[i]) over dense rows.
using UnaryDense = void (*)(const void* x, void* y, int64_t count);

// First index: code - 1. Second: F32, F16, BF16, F64 (always null), I8, U8, I16, U16, I32, U32, I64, U64;
// null where the function does not take it.
struct UnaryTable {
  UnaryDense rows[unary_count][12];
};

RUDA_ISA_TABLE(UnaryTable, unary_table)

}  // namespace ruda::cpu
