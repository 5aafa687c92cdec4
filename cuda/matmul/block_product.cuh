// cuda/matmul/block_product.cuh - products of decoded weights and rows of x by a warp, and the ends of sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/mma.cuh"
#include "matmul/block_gemv.cuh"

namespace ruda::cuda::block {

__device__ inline uint4 pack_eight(const float (&v)[8]) {
  return {pack_pair<__nv_bfloat16>(v[0], v[1]), pack_pair<__nv_bfloat16>(v[2], v[3]),
          pack_pair<__nv_bfloat16>(v[4], v[5]), pack_pair<__nv_bfloat16>(v[6], v[7])};
}

// A unit of weight rows g and g + 8 times the same elements of 8 * N rows of x: right(n, half) gives the
// lane's four of row 8 * n + g, of the lower or the upper half of the unit.
template <int N, class Right>
__device__ inline void add_products(float (&sums)[N][4], const float (&w)[2][8], Right&& right) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float *w0 = w[0] + 4 * half, *w1 = w[1] + 4 * half;
    const uint32_t left[4] = {pack_pair<__nv_bfloat16>(w0[0], w0[1]), pack_pair<__nv_bfloat16>(w1[0], w1[1]),
                              pack_pair<__nv_bfloat16>(w0[2], w0[3]), pack_pair<__nv_bfloat16>(w1[2], w1[3])};
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const uint2 x = right(n, half);
      mma_16816<__nv_bfloat16>(sums[n], left, x.x, x.y);
    }
  }
}

// y[row, j] from its sum, with the bias if there is one.
template <class S>
__device__ inline void put_y(const S& s, int64_t row, int64_t j, float value) {
  if (s.bias) value += bias_of(s.bias, s.bias_bf16, j);
  store_y(s.y, s.y_bf16, row * s.y_stride + j, value);
}

}  // namespace ruda::cuda::block
