// cuda/tune/matmul.hpp - tiles and splits of the matrix products, by shape and GPU; no CUDA header.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tune/capability.hpp"

namespace ruda::cuda::tune {

// Few rows: columns of the product that a warp computes, and warps that share one column's k.
struct Gemv {
  int columns, splits;
};
// matmul with up to eight rows; a warp takes `step` elements of k at a time.
Gemv matmul_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k, int64_t step);
// matmul_block with up to four rows.
Gemv block_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k);
// Blocks of a kernel that go over the columns of y, `columns` at a time; a multiprocessor holds `resident`.
int block_wide(const Capability& gpu, int64_t n, int64_t columns, int resident);

// matmul_block with more rows: weight rows of a block's tile.
int block_tile(const Capability& gpu, int64_t rows, int64_t n);

// The same by way of shared memory: weight rows of a block's tile, and warps of a block that share the chunks
// of k.
struct BlockStaged {
  int tile, warps;
};
BlockStaged block_staged(const Capability& gpu, int64_t rows, int64_t n, int64_t chunks);

// From how many rows on decoding all weights to bf16 first is faster, and so from fewer where the weights are
// tall, which fill a GPU without shares of k: Q4_1 [49152, 576] on an H200 takes 62 us (mma) and 78 us
// (staged_mma) for 64 rows, 84 us (gemm) for 512; for 8 rows 21, 27 us.
constexpr int64_t block_gemm_rows = 129, block_gemm_rows_tall = 17;
constexpr bool block_tall(int64_t n) { return n >= 16384; }

}  // namespace ruda::cuda::tune
