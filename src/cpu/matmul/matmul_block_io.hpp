// src/cpu/matmul/matmul_block_io.hpp - bias in, results out: what the AVX-512 kernels of matmul_block share.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/matmul/matmul_block.hpp"
#include "cpu/simd/convert.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

RUDA_INLINE float load_bias(const BlockMatmul& call, int64_t n) {
  return call.bias_bf16 ? load_one((const bf16*)call.bias + n) : ((const float*)call.bias)[n];
}

RUDA_INLINE void store_y(const BlockMatmul& call, int64_t at, float value) {
  if (call.y_bf16)
    store_one((bf16*)call.y + at, value);
  else
    ((float*)call.y)[at] = value;
}

// sums[height][32], of which `cols` columns are wanted, to y at row m, column n.
RUDA_INLINE void store_tile(const BlockMatmul& call, int64_t m, int64_t n, int height, int cols,
                            const float* sums) {
  const int right = cols > 16 ? cols - 16 : 0, left = cols < 16 ? cols : 16;
  F32 bias0 = zero(), bias1 = zero();
  if (call.bias) {
    bias0 = call.bias_bf16 ? load((const bf16*)call.bias + n, left) : load((const float*)call.bias + n, left);
    if (right)
      bias1 = call.bias_bf16 ? load((const bf16*)call.bias + n + 16, right)
                             : load((const float*)call.bias + n + 16, right);
  }
  for (int r = 0; r < height; ++r) {
    F32 v0 = load(sums + 32 * r), v1 = load(sums + 32 * r + 16);
    if (call.bias) v0 = v0 + bias0, v1 = v1 + bias1;
    const int64_t at = (m + r) * call.y_stride + n;
    if (call.y_bf16) {
      store((bf16*)call.y + at, v0, left);
      if (right) store((bf16*)call.y + at + 16, v1, right);
    } else {
      store((float*)call.y + at, v0, left);
      if (right) store((float*)call.y + at + 16, v1, right);
    }
  }
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
