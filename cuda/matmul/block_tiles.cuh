// cuda/matmul/block_tiles.cuh - packed weights decoded to bf16 in registers, times rows of x.
// SPDX-License-Identifier: Apache-2.0
//
// The weights are the left operand of the warp's product, so that rows of x come in steps of 8. The four
// elements that a lane holds of 16 columns of k need not be those that the hardware numbers so, only the same
// in both operands: here they are four neighbours, what one word of codes decodes to and one 8-byte load of x
// brings.
#pragma once
#include "matmul/block_product.cuh"

namespace ruda::cuda::block {

constexpr int tile_warps = 4;
constexpr int tile_rows = 64;  // of x a block takes
constexpr int operand_threads = 256, operand_rows = 4;

// Weight tiles of 16 rows: A of them a block; columns of 8 rows of x: N of them. The warps share k.
template <uint32_t Dtype, int A, int N>
__global__ void __launch_bounds__(32 * tile_warps) matmul_block_mma(const __grid_constant__ Tiles s) {
  using Unit = BlockUnit<Dtype>;
  __shared__ float shares[tile_warps - 1][A * N * 4][33];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  const int64_t row0 = int64_t(blockIdx.x) * (16 * A), x0 = int64_t(blockIdx.y) * tile_rows;

  const uint8_t* weights[A][2];
#pragma unroll
  for (int a = 0; a < A; ++a)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int64_t row = row0 + 16 * a + 8 * h + g;
      weights[a][h] = s.weights + (row < s.n ? row : s.n - 1) * s.row_bytes;
    }
  const __nv_bfloat16* x[N];
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const int64_t row = x0 + 8 * n + g;
    x[n] = static_cast<const __nv_bfloat16*>(s.x) + (row < s.rows ? row : s.rows - 1) * s.x_stride;
  }

  float sums[A][N][4] = {};
  // 32 columns of k a step: units 4t .. 4t + 3.
  Unit next[A][2];
  int u = 4 * warp + q;
  if (u < s.units) {
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
      for (int h = 0; h < 2; ++h) next[a][h].load(weights[a][h], u);
  }
  for (; u < s.units; u += 4 * tile_warps) {
    Unit unit[A][2];
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
      for (int h = 0; h < 2; ++h) unit[a][h] = next[a][h];
    if (u + 4 * tile_warps < s.units) {
#pragma unroll
      for (int a = 0; a < A; ++a)
#pragma unroll
        for (int h = 0; h < 2; ++h) next[a][h].load(weights[a][h], u + 4 * tile_warps);
    }
    uint2 low[N], high[N];
    const int at = Unit::first(u);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      low[n] = __ldg(reinterpret_cast<const uint2*>(x[n] + at));
      high[n] = __ldg(reinterpret_cast<const uint2*>(x[n] + at + Unit::distance));
    }
#pragma unroll
    for (int a = 0; a < A; ++a) {
      float w[2][8];
      unit[a][0].decode(u, w[0]);
      unit[a][1].decode(u, w[1]);
      add_products(sums[a], w, [&](int n, int half) { return half ? high[n] : low[n]; });
    }
  }

  // The warps' shares of k in their order.
  if (warp) {
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) shares[warp - 1][(a * N + n) * 4 + i][lane] = sums[a][n][i];
  }
  __syncthreads();
  if (warp) return;
#pragma unroll
  for (int a = 0; a < A; ++a)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float value = sums[a][n][i];
#pragma unroll
        for (int w = 0; w < tile_warps - 1; ++w) value += shares[w][(a * N + n) * 4 + i][lane];
        const int64_t j = row0 + 16 * a + i / 2 * 8 + g, row = x0 + 8 * n + 2 * q + i % 2;
        if (j >= s.n || row >= s.rows) continue;
        put_y(s, row, j, value);
      }
}

template <uint32_t Dtype, int A>
void launch_tiles(const Tiles& s, cudaStream_t stream) {
  const dim3 grid(unsigned((s.n + 16 * A - 1) / (16 * A)), unsigned((s.rows + tile_rows - 1) / tile_rows));
  constexpr int threads = 32 * tile_warps;
  if (s.rows <= 8) return matmul_block_mma<Dtype, A, 1><<<grid, threads, 0, stream>>>(s);
  if (s.rows <= 16) return matmul_block_mma<Dtype, A, 2><<<grid, threads, 0, stream>>>(s);
  if (s.rows <= 32) return matmul_block_mma<Dtype, A, 4><<<grid, threads, 0, stream>>>(s);
  matmul_block_mma<Dtype, A, 8><<<grid, threads, 0, stream>>>(s);
}

template <uint32_t Dtype>
void run_tiles(const Tiles& s, cudaStream_t stream) {
  if (s.tile == 32) return launch_tiles<Dtype, 2>(s, stream);
  launch_tiles<Dtype, 1>(s, stream);
}

// The first blocks decode weights, a thread the same unit of four rows; the others round x, eight elements a
// thread and step.
template <uint32_t Dtype>
__global__ void __launch_bounds__(operand_threads)
    matmul_block_operands(const __grid_constant__ GemmOperands s) {
  let_next_start();
  wait_for_previous();
  const int across = (s.units + operand_threads - 1) / operand_threads;
  if (int64_t block = blockIdx.x; block < s.decode_blocks) {
    const int u = int(block % across) * operand_threads + int(threadIdx.x);
    if (u >= s.units) return;
    for (int64_t row = block / across * operand_rows; row < s.n;
         row += s.decode_blocks / across * operand_rows) {
      BlockUnit<Dtype> unit[operand_rows];
#pragma unroll
      for (int r = 0; r < operand_rows; ++r)
        if (row + r < s.n) unit[r].load(s.weights + (row + r) * s.row_bytes, u);
#pragma unroll
      for (int r = 0; r < operand_rows; ++r) {
        if (row + r >= s.n) break;
        float v[8];
        unit[r].decode(u, v);
        __nv_bfloat16* out =
            static_cast<__nv_bfloat16*>(s.decoded) + (row + r) * s.units * 8 + BlockUnit<Dtype>::first(u);
        const uint4 packed = pack_eight(v);
        *reinterpret_cast<uint2*>(out) = {packed.x, packed.y};
        *reinterpret_cast<uint2*>(out + BlockUnit<Dtype>::distance) = {packed.z, packed.w};
      }
    }
    return;
  }
  const int64_t step = int64_t(gridDim.x - s.decode_blocks) * operand_threads;
  for (int64_t at = (blockIdx.x - s.decode_blocks) * operand_threads + threadIdx.x; at < s.rows * s.units;
       at += step) {
    const int64_t row = at / s.units, unit = at - row * s.units;
    float v[8];
    load_run(s.x + row * s.x_stride + unit * 8, v);
    static_cast<uint4*>(s.narrowed)[at] = pack_eight(v);
  }
}

template <uint32_t Dtype>
void run_operands(GemmOperands s, cudaStream_t stream) {
  const int64_t across = (s.units + operand_threads - 1) / operand_threads;
  const int64_t down = (s.n + operand_rows - 1) / operand_rows;
  const int64_t most = across < 1 << 22 ? (1 << 22) / across : 1;
  s.decode_blocks = across * (down < most ? down : most);
  const int64_t pieces = s.x ? s.rows * s.units : 0;
  const int64_t blocks = (pieces + operand_threads - 1) / operand_threads;
  launch_dependent(s.early, matmul_block_operands<Dtype>,
                   unsigned(s.decode_blocks + (blocks < 2048 ? blocks : 2048)), operand_threads, stream, s);
}

// The launchers of one format.
#define RUDA_BLOCK_KERNELS(dtype)                             \
  template void run_gemv<dtype>(const Gemv&, cudaStream_t);   \
  template void run_tiles<dtype>(const Tiles&, cudaStream_t); \
  template void run_operands<dtype>(GemmOperands, cudaStream_t);

}  // namespace ruda::cuda::block
