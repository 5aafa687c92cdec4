// cuda/device/reduce.cuh - sums and maxima over a warp or a block, in a fixed order; every thread gets the
// result.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda {

constexpr int warp_threads = 32;

template <int Lanes = warp_threads>
__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

template <int Lanes = warp_threads>
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int offset = Lanes / 2; offset; offset /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, offset));
  return x;
}

// Largest value and its index; of equal values the lowest index; NaN counts as the largest.
struct ArgMax {
  float value;
  int64_t index;
  __device__ bool before(const ArgMax& other) const {
    const bool nan = value != value, other_nan = other.value != other.value;
    if (nan != other_nan) return nan;
    if (!nan && value != other.value) return value > other.value;
    return index < other.index;
  }
};

__device__ inline ArgMax warp_arg_max(ArgMax x) {
#pragma unroll
  for (int offset = warp_threads / 2; offset; offset /= 2) {
    const ArgMax other{__shfl_xor_sync(~0u, x.value, offset), __shfl_xor_sync(~0u, x.index, offset)};
    if (other.before(x)) x = other;
  }
  return x;
}

// Warps is the number of warps of the block; `shared` holds Warps values and may be used again after a
// barrier.
template <int Warps>
__device__ inline float block_sum(float x, float* shared) {
  x = warp_sum(x);
  if constexpr (Warps == 1) return x;
  if (threadIdx.x % warp_threads == 0) shared[threadIdx.x / warp_threads] = x;
  __syncthreads();
  x = 0;
#pragma unroll
  for (int i = 0; i < Warps; ++i) x += shared[i];
  return x;
}

template <int Warps>
__device__ inline float block_max(float x, float* shared) {
  x = warp_max(x);
  if constexpr (Warps == 1) return x;
  if (threadIdx.x % warp_threads == 0) shared[threadIdx.x / warp_threads] = x;
  __syncthreads();
  x = shared[0];
#pragma unroll
  for (int i = 1; i < Warps; ++i) x = fmaxf(x, shared[i]);
  return x;
}

}  // namespace ruda::cuda
