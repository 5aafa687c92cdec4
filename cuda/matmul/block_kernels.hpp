// cuda/matmul/block_kernels.hpp - what the kernels of matmul_block take: host types, one launcher a format.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>
#include <ruda/tensor.h>

#include <cstdint>

namespace ruda::cuda::block {

constexpr int gemv_warps = 4;     // of a block
constexpr int wide_columns = 4;   // that a warp has at once
constexpr int wide_resident = 4;  // blocks of a multiprocessor, which leaves a thread 128 registers
// Units of a row that a lane has in registers, at most.
constexpr int wide_steps(uint32_t dtype) {
  switch (dtype) {
    case RUDA_Q4_0:
    case RUDA_Q4_1: return 4;
    case RUDA_Q4_K:
    case RUDA_Q5_K:
    case RUDA_Q6_K: return 2;
    default: return 3;
  }
}

// A few rows of x: one warp computes `rows_per_warp` columns of y, or a share of k of them, or with
// `wide_blocks` goes over many columns.
struct Gemv {
  const void* x;
  const uint8_t* weights;
  const void* bias;
  const float* gamma;  // of the norm before the product; null for none
  void* y;
  float eps;
  bool x_bf16, bias_bf16, y_bf16;
  bool gated;  // rows n .. 2 n - 1 of the weights are the partners of the gate's
  bool early;  // the GPU starts a kernel while the one before it ends
  int rows;    // of x, at most 4
  int units;   // of eight elements in a row of weights
  int splits, rows_per_warp, wide_blocks;
  int64_t n, row_bytes;      // n: columns of y
  int64_t x_at[4], y_at[4];  // first elements of the rows
};

// More rows: tiles of 16 or 32 weight rows by up to 64 rows of x, products of bf16.
struct Tiles {
  const void* x;  // bf16, every row at a multiple of 8 bytes
  const uint8_t* weights;
  const void* bias;
  void* y;
  bool bias_bf16, y_bf16;
  int tile;  // weight rows of a block: 16 or 32
  int units;
  int64_t rows, n, row_bytes, x_stride, y_stride;
};

// The same for weights at addresses of 16 bytes, by way of shared memory.
struct Staged {
  const void* x;   // the caller's
  void* arranged;  // x as bf16 in the order of the products
  const uint8_t* weights;
  const void* bias;
  void* y;
  bool x_bf16, bias_bf16, y_bf16, early;
  int tile;     // weight rows of a block: 16 or 32
  int warps;    // of a block, which share k
  int slots;    // chunks of k that a warp has in shared memory
  int steps;    // of 32 elements in a row of weights
  int columns;  // of 8 rows of x that a block takes: 1, 2, 4 or 8
  int64_t rows, n, row_bytes, x_stride, y_stride;
};

// How Staged cuts k, by format.
struct StagedShape {
  int chunk;      // elements of k
  int row_bytes;  // of a chunk in shared memory
};
template <uint32_t Dtype>
StagedShape staged_shape();
// Of elements of a chunk and rows of a tile: chunks that a warp has in shared memory.
constexpr int staged_slots(int chunk, int tile) { return chunk == 256 ? 2 : tile == 16 ? 4 : 3; }
constexpr int staged_most_warps(int tile) { return tile == 16 ? 16 : 8; }
// Floats between the sums of two rows of x: a store of 32 lanes meets 32 banks.
constexpr int staged_line(int tile) { return tile + 4; }
// Shared memory of a block: what the warps load, afterwards their sums.
inline int64_t staged_bytes(const StagedShape& shape, const Staged& s) {
  const int64_t loads = int64_t(s.warps) * s.slots * s.tile * shape.row_bytes;
  const int64_t sums = int64_t(s.warps) * 8 * s.columns * staged_line(s.tile) * 4;
  return loads > sums ? loads : sums;
}
// Once for a plan, before run_staged: `most_bytes` is what a block of the device may have, for every plan the
// same, since the kernels are those of other plans too.
template <uint32_t Dtype>
cudaError_t allow_staged(const Staged& args, int most_bytes);
template <uint32_t Dtype>
void run_staged(const Staged& args, cudaStream_t stream);

// Both operands of a product in bf16: weights [n, k] row by row, and rows of x unless that is nullptr.
struct GemmOperands {
  const uint8_t* weights;
  void* decoded;
  const float* x;
  void* narrowed;
  bool early;  // the GPU starts a kernel while the one before it ends
  int units;   // of eight elements in a row
  int64_t n, row_bytes, rows, x_stride;
  int64_t decode_blocks;  // set by run_operands
};

// Rows of x as bf16 rows of k elements, divided by their root mean square and times gamma.
struct Norm {
  const void* x;
  const float* gamma;
  void* to;
  float eps;
  bool x_bf16;
  int64_t rows, k, x_stride;
};
void run_norm(const Norm& args, cudaStream_t stream);

// y[i, j] = silu(sums[i, j]) * sums[i, n + j], of sums [rows, 2 n].
struct Gate {
  const float* sums;
  void* y;
  bool y_bf16;
  int64_t rows, n, y_stride;
};
void run_gate(const Gate& args, cudaStream_t stream);

template <uint32_t Dtype>
void run_gemv(const Gemv& args, cudaStream_t stream);
template <uint32_t Dtype>
void run_tiles(const Tiles& args, cudaStream_t stream);
template <uint32_t Dtype>
void run_operands(GemmOperands args, cudaStream_t stream);

}  // namespace ruda::cuda::block
