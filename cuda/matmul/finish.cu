// cuda/matmul/finish.cu - bias, activation and rounding after a product; conversions before one.
// SPDX-License-Identifier: Apache-2.0
#include "device/convert.cuh"
#include "device/mma.cuh"
#include "device/vec.cuh"
#include "matmul/activation.cuh"
#include "matmul/finish.hpp"

namespace ruda::cuda {
namespace {

constexpr int threads = 256;
constexpr int each = 4;  // elements of a thread
constexpr int rows_at_once = 4;

template <class C>
__global__ void __launch_bounds__(threads) matmul_finish(const __grid_constant__ Finish f) {
  const int64_t j = (int64_t(blockIdx.x) * threads + threadIdx.x) * each;
  if (j >= f.n) return;
  const int here = f.n - j < each ? int(f.n - j) : each;
  float bias[each] = {};
  if (f.bias)
    for (int i = 0; i < here; ++i) bias[i] = bias_value(f.bias, f.bias_dtype, j + i);
  // Several rows at a time, all loaded before the first is used.
  const int64_t total = f.rows * f.count;
  for (int64_t first = int64_t(blockIdx.y) * rows_at_once; first < total;
       first += int64_t(gridDim.y) * rows_at_once) {
    const float* from[rows_at_once];
    C* to[rows_at_once];
    bool whole[rows_at_once];
    Vec<float, each> in[rows_at_once];
#pragma unroll
    for (int r = 0; r < rows_at_once; ++r) {
      const int64_t row = first + r, p = f.count == 1 ? 0 : row / f.rows, i = row - p * f.rows;
      from[r] = f.from + p * f.from_batch + i * f.from_row + j;
      to[r] = static_cast<C*>(f.to) + p * f.to_batch + i * f.to_row + j;
      whole[r] = row < total && here == each && reinterpret_cast<uintptr_t>(from[r]) % 16 == 0 &&
                 reinterpret_cast<uintptr_t>(to[r]) % (sizeof(C) * each) == 0;
      if (whole[r]) in[r] = load_vec<each>(from[r]);
    }
#pragma unroll
    for (int r = 0; r < rows_at_once; ++r) {
      if (whole[r]) {
        Vec<C, each> out;
#pragma unroll
        for (int e = 0; e < each; ++e) out[e] = from_f32<C>(activate(f.activation, in[r][e] + bias[e]));
        store_vec(to[r], out);
      } else if (first + r < total) {
        for (int e = 0; e < here; ++e) to[r][e] = from_f32<C>(activate(f.activation, from[r][e] + bias[e]));
      }
    }
  }
}

__global__ void __launch_bounds__(threads) matmul_widen(const void* x, uint32_t dtype, float* to, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < n; i += int64_t(gridDim.x) * threads)
    to[i] = bias_value(x, dtype, i);
}

// n is a multiple of 8, rows start at multiples of 16 bytes.
__global__ void __launch_bounds__(threads)
    matmul_narrow(const float* x, int64_t stride, uint4* to, int64_t rows, int64_t n) {
  const int64_t across = n / 8, total = rows * across;
  for (int64_t at = int64_t(blockIdx.x) * threads + threadIdx.x; at < total;
       at += int64_t(gridDim.x) * threads) {
    const float* from = x + at / across * stride + at % across * 8;
    const Vec<float, 4> a = load_vec<4>(from), b = load_vec<4>(from + 4);
    to[at] = {pack_pair<__nv_bfloat16>(a[0], a[1]), pack_pair<__nv_bfloat16>(a[2], a[3]),
              pack_pair<__nv_bfloat16>(b[0], b[1]), pack_pair<__nv_bfloat16>(b[2], b[3])};
  }
}

unsigned blocks_for(int64_t elements) {
  const int64_t blocks = (elements + threads - 1) / threads;
  return unsigned(blocks < 4096 ? blocks : 4096);
}

}  // namespace

void run_finish(const Finish& f, cudaStream_t stream) {
  const int64_t rows = f.rows * f.count;
  const int64_t groups = (rows + rows_at_once - 1) / rows_at_once;
  const dim3 grid(unsigned((f.n + threads * each - 1) / (threads * each)),
                  unsigned(groups < 8192 ? groups : 8192));
  switch (f.to_dtype) {
    case RUDA_F16: return matmul_finish<__half><<<grid, threads, 0, stream>>>(f);
    case RUDA_BF16: return matmul_finish<__nv_bfloat16><<<grid, threads, 0, stream>>>(f);
    default: return matmul_finish<float><<<grid, threads, 0, stream>>>(f);
  }
}

void run_widen(const void* x, uint32_t dtype, float* to, int64_t n, cudaStream_t stream) {
  matmul_widen<<<blocks_for(n), threads, 0, stream>>>(x, dtype, to, n);
}

void run_narrow(const float* x, int64_t stride, void* to_bf16, int64_t rows, int64_t n, cudaStream_t stream) {
  matmul_narrow<<<blocks_for(rows * n / 8), threads, 0, stream>>>(x, stride, static_cast<uint4*>(to_bf16),
                                                                  rows, n);
}

}  // namespace ruda::cuda
