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

}  // namespace ruda::cpu
