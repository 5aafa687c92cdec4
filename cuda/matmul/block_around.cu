// cuda/matmul/block_around.cu - around matmul_block of many rows: the norm before it, the gate after it.
// SPDX-License-Identifier: Apache-2.0
#include "core/scalar_math.hpp"
#include "device/reduce.cuh"
#include "matmul/block_kernels.hpp"

#include <cuda_bf16.h>

namespace ruda::cuda::block {
namespace {

constexpr int threads = 256;

template <class X>
__global__ void __launch_bounds__(threads) norm_rows(const __grid_constant__ Norm s) {
  __shared__ float partial[threads / 32];
  const X* from = static_cast<const X*>(s.x) + blockIdx.x * s.x_stride;
  auto* to = static_cast<__nv_bfloat16*>(s.to) + blockIdx.x * s.k;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < s.k; i += threads) {
    const auto v = float(from[i]);
    sum = fmaf(v, v, sum);
  }
  const float scale = 1.0f / sqrtf(block_sum<threads / 32>(sum, partial) / float(s.k) + s.eps);
  for (int64_t i = threadIdx.x; i < s.k; i += threads)
    to[i] = __float2bfloat16_rn(float(from[i]) * scale * s.gamma[i]);
}

template <class Y>
__global__ void __launch_bounds__(threads) gate_rows(const __grid_constant__ Gate s) {
  const int64_t total = s.rows * s.n;
  for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < total;
       at += int64_t(gridDim.x) * threads) {
    const int64_t i = at / s.n, j = at % s.n;
    const float* sums = s.sums + i * 2 * s.n;
    static_cast<Y*>(s.y)[i * s.y_stride + j] = Y(scalar_math::silu(sums[j]) * sums[s.n + j]);
  }
}

}  // namespace

void run_norm(const Norm& s, cudaStream_t stream) {
  if (s.x_bf16) return norm_rows<__nv_bfloat16><<<unsigned(s.rows), threads, 0, stream>>>(s);
  norm_rows<float><<<unsigned(s.rows), threads, 0, stream>>>(s);
}

void run_gate(const Gate& s, cudaStream_t stream) {
  const int64_t blocks = (s.rows * s.n + threads - 1) / threads;
  const auto grid = unsigned(blocks < 65536 ? blocks : 65536);
  if (s.y_bf16) return gate_rows<__nv_bfloat16><<<grid, threads, 0, stream>>>(s);
  gate_rows<float><<<grid, threads, 0, stream>>>(s);
}

}  // namespace ruda::cuda::block
