// cuda/matmul/block_gemv.cuh - up to four rows of x times packed weights: one warp a few columns, F32.
// SPDX-License-Identifier: Apache-2.0
//
// The sum of an element is one lane's units in ascending order, then the lanes, then the shares of k: it
// depends neither on the number of rows of x nor on how many columns a warp has. A norm before the product
// multiplies x by gamma on the way; the squares are summed beside, their root divides the finished sum.
#pragma once
#include "core/scalar_math.hpp"
#include "device/block_unit.cuh"
#include "device/dependent.cuh"
#include "device/reduce.cuh"
#include "device/vec.cuh"
#include "matmul/block_kernels.hpp"

namespace ruda::cuda::block {

__device__ inline void load_four(const float* from, float* to) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ inline void load_four(const __nv_bfloat16* from, float* to) {
  const uint2 v = *reinterpret_cast<const uint2*>(from);
  to[0] = __uint_as_float(v.x << 16), to[1] = __uint_as_float(v.x & 0xFFFF0000u);
  to[2] = __uint_as_float(v.y << 16), to[3] = __uint_as_float(v.y & 0xFFFF0000u);
}

// The eight elements of x that meet unit u.
template <class Unit, class X>
__device__ void load_unit(const X* x, int u, float* to) {
  const int at = Unit::first(u);
  load_four(x + at, to);
  load_four(x + at + Unit::distance, to + 4);
}

__device__ inline float bias_of(const void* bias, bool bf16, int64_t i) {
  return bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(bias)[i])
              : static_cast<const float*>(bias)[i];
}

__device__ inline void store_y(void* y, bool bf16, int64_t i, float value) {
  if (bf16)
    static_cast<__nv_bfloat16*>(y)[i] = __float2bfloat16_rn(value);
  else
    static_cast<float*>(y)[i] = value;
}

// M rows of x, R rows of weights a warp: R columns of y, or R / 2 where gated.
template <uint32_t Dtype, class X, int M, int R>
__global__ void __launch_bounds__(32 * gemv_warps) matmul_block_gemv(const __grid_constant__ Gemv s) {
  constexpr int steps = R == 1 || (R == 2 && M == 1) ? 4 : R == 2 || M == 1 ? 2 : 1;
  using Unit = BlockUnit<Dtype>;
  __shared__ float shares[gemv_warps][M * R + M];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int share = warp % s.splits;
  const int columns = s.gated ? R / 2 : R;
  const int64_t col = (int64_t(blockIdx.x) * (gemv_warps / s.splits) + warp / s.splits) * columns;

  const uint8_t* weights[R];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const bool partner = r >= columns;
    const int64_t j = col + (partner ? r - columns : r);
    weights[r] = s.weights + ((j < s.n ? j : s.n - 1) + (partner ? s.n : 0)) * s.row_bytes;
  }
  const X* x[M];
#pragma unroll
  for (int m = 0; m < M; ++m) x[m] = static_cast<const X*>(s.x) + s.x_at[m];

  // The weights come closer while the kernel before this one ends.
  let_next_start();
  if (s.early)
    for (int64_t at = 32 * (share * 32 + lane); at < s.row_bytes; at += 32 * 32 * s.splits)
#pragma unroll
      for (int r = 0; r < R; ++r) prefetch_far(weights[r] + at);
  wait_for_previous();

  // Lane m * R + r finishes column r of row m; its bias is on its way from here on.
  const int m = lane < M * R ? lane / R : 0;
  const int64_t j = col + lane % R;
  const bool finishes = share == 0 && lane < M * R && lane % R < columns && m < s.rows && j < s.n;
  const float bias = s.bias && finishes ? bias_of(s.bias, s.bias_bf16, j) : 0.0f;

  // Two sums an element: the lower and the upper four of each unit.
  float sums[M][R][2] = {}, squares[M] = {};
  for (int begin = share * 32 + lane; begin < s.units; begin += steps * s.splits * 32) {
    Unit unit[steps][R];
    float ahead[M == 1 ? steps : 1][8], gamma[M == 1 ? steps : 1][8];
#pragma unroll
    for (int t = 0; t < steps; ++t) {
      const int u = begin + t * s.splits * 32;
      if (u < s.units) {
#pragma unroll
        for (int r = 0; r < R; ++r) unit[t][r].load(weights[r], u);
        if constexpr (M == 1) {
          load_unit<Unit>(x[0], u, ahead[t]);
          if (s.gamma) load_unit<Unit>(s.gamma, u, gamma[t]);
        }
      }
    }
#pragma unroll
    for (int t = 0; t < steps; ++t) {
      const int u = begin + t * s.splits * 32;
      if (u < s.units) {
        float xs[M][8];
        if constexpr (M > 1)
          if (s.gamma) load_unit<Unit>(s.gamma, u, gamma[0]);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          if constexpr (M > 1) load_unit<Unit>(x[m], u, xs[m]);
          if constexpr (M == 1)
            for (int i = 0; i < 8; ++i) xs[0][i] = ahead[t][i];
          if (s.gamma)
#pragma unroll
            for (int i = 0; i < 8; ++i) {
              squares[m] = fmaf(xs[m][i], xs[m][i], squares[m]);
              xs[m][i] *= gamma[M == 1 ? t : 0][i];
            }
        }
#pragma unroll
        for (int r = 0; r < R; ++r) {
          float w[8];
          unit[t][r].decode(u, w);
#pragma unroll
          for (int m = 0; m < M; ++m)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              sums[m][r][0] = fmaf(xs[m][i], w[i], sums[m][r][0]);
              sums[m][r][1] = fmaf(xs[m][i + 4], w[i + 4], sums[m][r][1]);
            }
        }
      }
    }
  }

  // Lane i keeps the sum of element i, lane M * R + m the squares of row m.
  static_assert(M * R + M <= 32);
  float mine = 0;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const float sum = warp_sum(sums[m][r][0] + sums[m][r][1]);
      if (lane == m * R + r) mine = sum;
    }
  if (s.gamma)
#pragma unroll
    for (int m = 0; m < M; ++m) {
      const float sum = warp_sum(squares[m]);
      if (lane == M * R + m) mine = sum;
    }
  if (s.splits > 1) {
    if (lane < M * R + M) shares[warp][lane] = mine;
    __syncthreads();
    if (share) return;
    if (lane < M * R + M)
      for (int i = 1; i < s.splits; ++i) mine += shares[warp + i][lane];
  }
  if (s.gamma) mine *= 1.0f / sqrtf(__shfl_sync(~0u, mine, M * R + m) / float(8 * s.units) + s.eps);
  if (s.gated) mine = scalar_math::silu(mine) * __shfl_down_sync(~0u, mine, columns);
  if (!finishes) return;
  int64_t to = s.y_at[0];
#pragma unroll
  for (int i = 1; i < M; ++i)
    if (m == i) to = s.y_at[i];
  store_y(s.y, s.y_bf16, to + j, s.bias ? mine + bias : mine);
}

// Lane i ends with the sum over the lanes of sums[i], i < 4, in warp_sum's order and so with its bits.
__device__ inline float warp_sums(const float (&sums)[4], int lane) {
  float half[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool upper = lane & 16;
    const float other = __shfl_xor_sync(~0u, upper ? sums[i] : sums[i + 2], 16);
    half[i] = (upper ? sums[i + 2] : sums[i]) + other;
  }
  const bool upper = lane & 8;
  float sum = (upper ? half[1] : half[0]) + __shfl_xor_sync(~0u, upper ? half[0] : half[1], 8);
#pragma unroll
  for (int offset = 4; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  return __shfl_sync(~0u, sum, lane % 4 * 8);
}

// One row of x, many columns: a warp keeps its share of x in registers and goes from four columns to the
// next, whose weights are on their way meanwhile. Elements have the sums of matmul_block_gemv.
template <uint32_t Dtype, class X, int Steps>
__global__ void __launch_bounds__(32 * gemv_warps, wide_resident)
    matmul_block_gemv_wide(const __grid_constant__ Gemv s) {
  constexpr int columns = wide_columns;
  using Unit = BlockUnit<Dtype>;
  const int lane = threadIdx.x % 32;
  const int64_t step = int64_t(gridDim.x) * gemv_warps * columns;
  int64_t col = (int64_t(blockIdx.x) * gemv_warps + threadIdx.x / 32) * columns;
  // A lane's units are 32 apart, whole blocks; all but the last are there in every lane.
  constexpr int stride = 32 / Unit::per_block * Unit::L::bytes;
  const bool last = lane + 32 * (Steps - 1) < s.units;
  // The last columns are a whole group, some of which another warp has too.
  const auto group_of = [&](int64_t j) { return j + columns <= s.n ? j : s.n - columns; };

  let_next_start();
  if (s.early && col < s.n) {
    const uint8_t* rows = s.weights + group_of(col) * s.row_bytes;
    for (int64_t at = 32 * lane; at < columns * s.row_bytes; at += 32 * 32) prefetch_far(rows + at);
  }
  wait_for_previous();
  if (col >= s.n) return;

  Unit next[Steps][columns];
  const auto load = [&](int64_t from) {
    const uint8_t* row = s.weights + group_of(from) * s.row_bytes;
#pragma unroll
    for (int r = 0; r < columns; ++r, row += s.row_bytes)
#pragma unroll
      for (int t = 0; t < Steps; ++t)
        if (t < Steps - 1 || last) next[t][r].load(row + t * stride, lane);
  };
  load(col);
  const X* x = static_cast<const X*>(s.x) + s.x_at[0];
  float xs[Steps][8] = {}, squares = 0;
#pragma unroll
  for (int t = 0; t < Steps; ++t) {
    const int u = lane + 32 * t;
    if (t == Steps - 1 && !last) break;
    load_unit<Unit>(x, u, xs[t]);
    if (!s.gamma) continue;
    float gamma[8];
    load_unit<Unit>(s.gamma, u, gamma);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      squares = fmaf(xs[t][i], xs[t][i], squares);
      xs[t][i] *= gamma[i];
    }
  }
  if (s.gamma) squares = warp_sum(squares);
  const float norm = 1.0f / sqrtf(squares / float(8 * s.units) + s.eps);

#pragma unroll 1
  for (; col < s.n; col += step) {
    Unit unit[Steps][columns];
#pragma unroll
    for (int t = 0; t < Steps; ++t)
#pragma unroll
      for (int r = 0; r < columns; ++r) unit[t][r] = next[t][r];
    if (col + step < s.n) load(col + step);
    const int64_t j = group_of(col) + lane;
    const bool finishes = lane < columns && j >= col;
    const float bias = s.bias && finishes ? bias_of(s.bias, s.bias_bf16, j) : 0.0f;
    float sums[columns];
#pragma unroll
    for (int r = 0; r < columns; ++r) {
      float lower = 0, upper = 0;
#pragma unroll
      for (int t = 0; t < Steps; ++t) {
        if (t == Steps - 1 && !last) break;
        float w[8];
        unit[t][r].decode(lane, w);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          lower = fmaf(xs[t][i], w[i], lower);
          upper = fmaf(xs[t][i + 4], w[i + 4], upper);
        }
      }
      sums[r] = lower + upper;
    }
    float mine = warp_sums(sums, lane);
    if (s.gamma) mine *= norm;
    if (finishes) store_y(s.y, s.y_bf16, s.y_at[0] + j, s.bias ? mine + bias : mine);
  }
}

template <uint32_t Dtype, class X>
void launch_wide(const Gemv& s, cudaStream_t stream) {
  const auto start = [&](void (*kernel)(const Gemv)) {
    launch_dependent(s.early, kernel, unsigned(s.wide_blocks), 32 * gemv_warps, stream, s);
  };
  const int steps = (s.units + 31) / 32;
  if constexpr (wide_steps(Dtype) >= 4)
    if (steps > 3) return start(matmul_block_gemv_wide<Dtype, X, 4>);
  if constexpr (wide_steps(Dtype) >= 3)
    if (steps > 2) return start(matmul_block_gemv_wide<Dtype, X, 3>);
  if (steps > 1) return start(matmul_block_gemv_wide<Dtype, X, 2>);
  start(matmul_block_gemv_wide<Dtype, X, 1>);
}

template <uint32_t Dtype, class X, int M>
void launch_gemv(const Gemv& s, cudaStream_t stream) {
  const int64_t columns = int64_t(gemv_warps / s.splits) * s.rows_per_warp / (s.gated ? 2 : 1);
  const auto blocks = unsigned((s.n + columns - 1) / columns);
  const auto start = [&](void (*kernel)(const Gemv)) {
    launch_dependent(s.early, kernel, blocks, 32 * gemv_warps, stream, s);
  };
  switch (s.rows_per_warp) {
    case 4: return start(matmul_block_gemv<Dtype, X, M, 4>);
    case 2: return start(matmul_block_gemv<Dtype, X, M, 2>);
    default: return start(matmul_block_gemv<Dtype, X, M, 1>);
  }
}

template <uint32_t Dtype, class X>
void launch_gemv(const Gemv& s, cudaStream_t stream) {
  if (s.wide_blocks) return launch_wide<Dtype, X>(s, stream);
  if (s.rows == 1) return launch_gemv<Dtype, X, 1>(s, stream);
  if (s.rows == 2) return launch_gemv<Dtype, X, 2>(s, stream);
  launch_gemv<Dtype, X, 4>(s, stream);
}

template <uint32_t Dtype>
void run_gemv(const Gemv& s, cudaStream_t stream) {
  if (s.x_bf16) return launch_gemv<Dtype, __nv_bfloat16>(s, stream);
  launch_gemv<Dtype, float>(s, stream);
}

}  // namespace ruda::cuda::block
