// src/cpu/matmul/matmul_block_isa.cpp - matmul_block in strict F32: exact weights, F32 activations, F32 sums,
// every level.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/matmul_block.hpp"
#include "cpu/simd/block_decode.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

RUDA_INLINE F32 load_x(const float* x) { return load(x); }
RUDA_INLINE F32 load_x(const bf16* x) { return load(x); }

// R rows of x against C decoded weight rows: each product is summed lane by lane along k, the lanes last.
template <int R, int C, class X>
RUDA_INLINE void block(const BlockMatmul& call, const X* x, const float* w, int64_t m, int64_t n) {
  F32 acc[R][C];
  RUDA_UNROLL
  for (int r = 0; r < R; ++r) RUDA_UNROLL
  for (int c = 0; c < C; ++c) acc[r][c] = zero();
  for (int64_t i = 0; i < call.k; i += lanes) {
    F32 b[C];
    RUDA_UNROLL
    for (int c = 0; c < C; ++c) b[c] = load(w + c * call.k + i);
    RUDA_UNROLL
    for (int r = 0; r < R; ++r) {
      const F32 a = load_x(x + r * call.x_stride + i);
      RUDA_UNROLL
      for (int c = 0; c < C; ++c) acc[r][c] = fma(a, b[c], acc[r][c]);
    }
  }
  RUDA_UNROLL
  for (int r = 0; r < R; ++r) RUDA_UNROLL
  for (int c = 0; c < C; ++c) {
    float v = sum(acc[r][c]);
    if (call.bias)
      v += call.bias_bf16 ? load_one((const bf16*)call.bias + n + c) : ((const float*)call.bias)[n + c];
    const int64_t at = (m + r) * call.y_stride + n + c;
    if (call.y_bf16)
      store_one((bf16*)call.y + at, v);
    else
      ((float*)call.y)[at] = v;
  }
}

template <int C, class X>
RUDA_INLINE void columns(const BlockMatmul& call, int64_t m_begin, int64_t m_end, const float* w, int64_t n) {
  constexpr int rows = lanes == 16 ? 4 : 2;
  const X* x = (const X*)call.x;
  int64_t m = m_begin;
  for (; m + rows <= m_end; m += rows) block<rows, C, X>(call, x + m * call.x_stride, w, m, n);
  for (; m < m_end; ++m) block<1, C, X>(call, x + m * call.x_stride, w, m, n);
}

template <class X>
void run_typed(const BlockMatmul& call, int64_t m_begin, int64_t m_end, int64_t begin, int64_t end,
               float* scratch) {
  constexpr int wide = (int)block_strict_rows;
  for (int64_t n = begin; n < end; n += wide) {
    const int count = end - n < wide ? (int)(end - n) : wide;
    for (int c = 0; c < count; ++c)
      decode_row(call.type, call.weights + (n + c) * call.weight_row_bytes, call.k, scratch + c * call.k);
    if (count == wide) {
      columns<wide, X>(call, m_begin, m_end, scratch, n);
    } else {
      for (int c = 0; c < count; ++c) columns<1, X>(call, m_begin, m_end, scratch + c * call.k, n + c);
    }
  }
}

void run(const BlockMatmul& call, int64_t m_begin, int64_t m_end, int64_t begin, int64_t end,
         float* scratch) {
  if (call.x_bf16)
    run_typed<bf16>(call, m_begin, m_end, begin, end, scratch);
  else
    run_typed<float>(call, m_begin, m_end, begin, end, scratch);
}

}  // namespace

extern const BlockStrictTable block_strict{run};

}  // namespace ruda::cpu::RUDA_ISA
