// src/cpu/position/position_table.hpp - token kernels of the position family, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// Tokens of x [tokens, heads, head_dim]; strides in elements. One of the two frequency tables is given:
// `frequencies` reads whole vectors past `half`, `frequencies_f32` does not.
struct RopeTokens {
  const void* x;
  void* y;
  const void* positions;
  const double* frequencies;
  const float* frequencies_f32;
  int64_t heads, head_dim, half;
  int64_t x_token, x_head, y_token, y_head;
  float factor;
  bool wide_positions;  // I64
  bool interleaved, inverse;
};

// Index: 0 F32, 1 F16, 2 BF16.
struct PositionTable {
  void (*rope[3])(const RopeTokens& tokens, int64_t begin, int64_t end);
};

RUDA_ISA_TABLE(PositionTable, position_table)

// Rows [rows, heads, dim] and the cache [pages, page_size, heads, dim] that takes them; strides in elements.
struct CachedRows {
  const void* rows;
  void* cache;
  int64_t heads, dim, row_stride, head_stride;
  int64_t page_stride, slot_stride, cache_head_stride;
  uint32_t page_size, table_stride;
  const uint32_t *sequence_ids, *positions, *tables;
};

// [dtype of the rows][dtype of the cache]: 0 F32, 1 F16, 2 BF16.
struct RopeAppendTable {
  void (*put[3][3])(const CachedRows& rows, int64_t begin, int64_t end);
};

RUDA_ISA_TABLE(RopeAppendTable, rope_append_table)

}  // namespace ruda::cpu
