// tests/cpu/simd_table.hpp - plain functions over arrays, one for each piece of the SIMD layer.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <cstdint>

namespace ruda::cpu {

// `count` of the vector functions is any number: whole vectors first, then a partial one.
struct SimdTable {
  int lanes;
  void (*unary)(int function, const float* x, float* y, int64_t count);
  void (*binary)(int function, const float* a, const float* b, const float* c, float* y, int64_t count);
  void (*to_f16)(const float* x, uint16_t* y, int64_t count);
  void (*to_bf16)(const float* x, uint16_t* y, int64_t count);
  void (*from_f16)(const uint16_t* x, float* y, int64_t count);
  void (*from_bf16)(const uint16_t* x, float* y, int64_t count);
  float (*reduce)(int function, const float* x);  // one vector
  int32_t (*reduce_int)(int function, const int32_t* x);
  void (*binary_int)(int function, const int32_t* a, const int32_t* b, int32_t* y, int64_t count);
  int (*compress)(const float* x, float limit, float* y, int32_t* index);  // one vector: lanes above limit
  uint32_t (*first_bits)(int count);
  int (*first_above)(const float* x, float limit);
};

enum {
  fn_exp,
  fn_log,
  fn_tanh,
  fn_sigmoid,
  fn_silu,
  fn_erf,
  fn_normal_cdf,
  fn_gelu,
  fn_gelu_tanh,
  fn_abs,
  fn_neg,
  fn_sqrt,
  fn_nearest,
  fn_floor,
  fn_ceil,
  fn_trunc,
  fn_to_int_nearest,
  fn_to_int_trunc,
  fn_add,
  fn_fma,
  fn_fnma,
  fn_min,
  fn_max,
  fn_min_nan,
  fn_max_nan,
  fn_less,
  fn_less_equal,
  fn_greater,
  fn_greater_equal,
  fn_equal,
  fn_not_equal,
  fn_copysign,
  fn_pow,
  fn_atan2,
  fn_gather,
  fn_sum,
  fn_max_lane,
  fn_min_lane
};

RUDA_ISA_TABLE(SimdTable, simd_table)

}  // namespace ruda::cpu
