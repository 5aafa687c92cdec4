// src/cpu/matmul/matmul_block.hpp - plain structs between the dispatching file of matmul_block and its
// kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/block_formats.hpp"
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

// Before a loop over an array of vectors, which must live in registers at every optimisation level.
#if defined(__clang__)
#define RUDA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RUDA_UNROLL _Pragma("GCC unroll 16")
#endif

namespace ruda::cpu {

// y[m, n] = x[m, k] x weights[n, k]^T + bias[n]. Strides in elements, rows dense.
struct BlockMatmul {
  const uint8_t* weights;  // n rows of weight_row_bytes
  int64_t weight_row_bytes;
  const void* x;
  void* y;
  const void* bias;  // may be null
  int64_t x_stride, y_stride;
  int64_t m, n, k;
  int32_t type;  // BlockType
  int32_t x_bf16, y_bf16, bias_bf16;
};

// Strict arithmetic: exact weights, F32 activations, F32 sums.
struct BlockStrictTable {
  // Weight rows begin..end-1 for x rows m_begin..m_end-1; scratch holds strict_rows * k floats.
  void (*run)(const BlockMatmul& call, int64_t m_begin, int64_t m_end, int64_t begin, int64_t end,
              float* scratch);
};
constexpr int64_t block_strict_rows = 4;

// 128 activations of one row as the one-row kernels read them: integers, their scales and sums.
struct alignas(64) BlockActivations {
  int16_t q[128];  // order by format
  int32_t offset0[16];
  union {
    int32_t offset1[16];
    float scale16[16];
  };
  float scale[4], sum[4];  // of each 32 activations
  float scale_sum[8];      // scale[0], sum[0], scale[1], sum[1], ...
};

// Few rows: activations as 16-bit integers with one power-of-two scale for each 32.
struct BlockRowTable {
  // Fills ceil(k / 128) records. False when the row holds what the integers cannot: NaN, Inf, or a block
  // whose largest magnitude is below 2^-112 but not 0; such a row belongs to the strict kernel.
  bool (*quantize)(const BlockMatmul& call, int64_t row, BlockActivations* to);
  // Asks for what run() with these rows reads first.
  void (*prefetch)(const BlockMatmul& call, int64_t begin, int64_t end);
  // Weight rows begin..end-1 for the `rows` (1..4) x rows from m_begin; `from` holds the records of each in
  // turn.
  void (*run)(const BlockMatmul& call, int64_t m_begin, int64_t rows, const BlockActivations* from,
              int64_t begin, int64_t end);
};

// Many rows work through k in chunks whose panels stay in the first cache, and through m in blocks whose rows
// stay in the second.
constexpr int64_t block_panel_chunk(int64_t k) { return k <= 640 ? k : 512; }
constexpr int64_t block_panel_rows(int64_t k) {
  return k * 2 * 32 > 1703936 ? 32 : 1703936 / (k * 2) / 32 * 32;
}
constexpr int64_t block_panel_bytes = 640 / 32 * 1024;
constexpr int64_t block_panel_scratch(int64_t k) {
  return 2 * block_panel_bytes + (block_panel_chunk(k) < k ? block_panel_rows(k) : 32) * 32 * 4;
}

// Many rows: both operands rounded to bf16, F32 sums.
struct BlockPanelTable {
  // Rows begin..end-1 of x as bf16 in squares of 32 rows by 32 elements, each 2 KiB in one piece; the squares
  // of the same rows follow each other.
  void (*convert)(const BlockMatmul& call, int64_t begin, int64_t end, uint16_t* to);
  // Weight rows begin..end-1 for every row of x, given in such squares at a 64-byte boundary; of a last,
  // broken square all 32 rows are read. scratch: block_panel_scratch(k) bytes.
  void (*run)(const BlockMatmul& call, const uint16_t* x, int64_t begin, int64_t end, void* scratch);
};

RUDA_ISA_TABLE(BlockStrictTable, block_strict)
#if defined(__x86_64__)
namespace avx512bf16 {
extern const BlockRowTable block_row;
extern const BlockPanelTable block_panel;
}  // namespace avx512bf16
namespace amx {
extern const BlockPanelTable block_panel;
}  // namespace amx
#endif

}  // namespace ruda::cpu
