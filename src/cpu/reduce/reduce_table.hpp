// src/cpu/reduce/reduce_table.hpp - vector kernels of the reductions, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// What has been joined so far. An index counts from the first reduced element.
struct ReduceValue {
  double value;
  int64_t index;
};

constexpr int reduce_count = 10;
constexpr int reduce_piece = 4096;    // elements joined in F32 before they go to a ReduceValue
constexpr int reduce_columns = 1024;  // columns joined side by side
constexpr int reduce_rows_block = 256;

// Joins `count` (at most reduce_piece) dense elements, the first of which has number `first`.
using ReduceRow = void (*)(const void* x, int64_t count, int64_t first, ReduceValue* joined);
// Joins `rows` (at most reduce_rows_block) rows of `cols` (at most reduce_columns) dense elements, the first
// row having number `first`, into value[c]; functions that give an index write value[c] and index[c]. A value
// is a float, of F64 a double, of integers 64 bits.
using ReduceColumns = void (*)(const void* x, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                               void* value, int64_t* index);

// First index: code - 1. Second: F32, F16, BF16.
struct ReduceTable {
  ReduceRow row[reduce_count][3];
  ReduceColumns columns[reduce_count][3];
};

struct ReduceF64Table {
  ReduceRow row[reduce_count];
  ReduceColumns columns[reduce_count];
};

RUDA_ISA_TABLE(ReduceTable, reduce_table)
RUDA_ISA_TABLE(ReduceF64Table, reduce_f64_table)

// As ReduceValue, of integers; of unsigned ones `value` holds the bits.
struct ReduceInt {
  int64_t value;
  int64_t index;
};
// Joins `count` dense elements, the first of which has number `first`.
using ReduceIntRow = void (*)(const void* x, int64_t count, int64_t first, ReduceInt* joined);

// First index: code - 1. Second: I8, U8, I16, U16, I32, U32, I64, U64.
struct ReduceIntTable {
  ReduceIntRow row[reduce_count][8];
  ReduceColumns columns[reduce_count][8];
};

RUDA_ISA_TABLE(ReduceIntTable, reduce_int_table)

}  // namespace ruda::cpu
