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

template <class C>
__global__ void __launch_bounds__(threads) matmul_finish(const __grid_constant__ Finish f) {
  const int64_t j = (int64_t(blockIdx.x) * threads + threadIdx.x) * each;
  if (j >= f.n) return;
  const int here = f.n - j < each ? int(f.n - j) : each;
  float bias[each] = {};
  if (f.bias)
    for (int i = 0; i < here; ++i) bias[i] = bias_value(f.bias, f.bias_dtype, j + i);
  const int64_t total = f.rows * f.count;
  for (int64_t row = blockIdx.y; row < total; row += gridDim.y) {
    const int64_t p = row / f.rows, i = row % f.rows;
    const float* from = f.from + p * f.from_batch + i * f.from_row + j;
    C* to = static_cast<C*>(f.to) + p * f.to_batch + i * f.to_row + j;
    float v[each];
    const bool whole = here == each && reinterpret_cast<uintptr_t>(from) % 16 == 0 &&
                       reinterpret_cast<uintptr_t>(to) % (sizeof(C) * each) == 0;
    if (whole) {
      const Vec<float, each> in = load_vec<each>(from);
      Vec<C, each> out;
#pragma unroll
      for (int e = 0; e < each; ++e) out[e] = from_f32<C>(activate(f.activation, in[e] + bias[e]));
      store_vec(to, out);
      continue;
    }
    for (int e = 0; e < here; ++e) v[e] = from[e];
    for (int e = 0; e < here; ++e) to[e] = from_f32<C>(activate(f.activation, v[e] + bias[e]));
  }
}

// Eight columns a thread, as bits.
__global__ void __launch_bounds__(threads) matmul_lay_down(const __grid_constant__ Finish f) {
  const int64_t j = (int64_t(blockIdx.x) * threads + threadIdx.x) * 8;
  if (j >= f.n) return;
  const int here = f.n - j < 8 ? int(f.n - j) : 8;
  Vec<uint16_t, 8> bias{};
  for (int i = 0; i < here; ++i) bias[i] = static_cast<const uint16_t*>(f.bias)[j + i];
  const int64_t total = f.rows * f.count;
  for (int64_t row = blockIdx.y; row < total; row += gridDim.y) {
    uint16_t* to = static_cast<uint16_t*>(f.to) + row / f.rows * f.to_batch + row % f.rows * f.to_row + j;
    if (here == 8 && reinterpret_cast<uintptr_t>(to) % 16 == 0)
      store_vec(to, bias);
    else
      for (int i = 0; i < here; ++i) to[i] = bias[i];
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
  const dim3 grid(unsigned((f.n + threads * each - 1) / (threads * each)),
                  unsigned(rows < 8192 ? rows : 8192));
  switch (f.to_dtype) {
    case RUDA_F16: return matmul_finish<__half><<<grid, threads, 0, stream>>>(f);
    case RUDA_BF16: return matmul_finish<__nv_bfloat16><<<grid, threads, 0, stream>>>(f);
    default: return matmul_finish<float><<<grid, threads, 0, stream>>>(f);
  }
}

void run_lay_down(const Finish& f, cudaStream_t stream) {
  const int64_t rows = f.rows * f.count;
  const dim3 grid(unsigned((f.n + threads * 8 - 1) / (threads * 8)), unsigned(rows < 1024 ? rows : 1024));
  matmul_lay_down<<<grid, threads, 0, stream>>>(f);
}

void run_widen(const void* x, uint32_t dtype, float* to, int64_t n, cudaStream_t stream) {
  matmul_widen<<<blocks_for(n), threads, 0, stream>>>(x, dtype, to, n);
}

void run_narrow(const float* x, int64_t stride, void* to_bf16, int64_t rows, int64_t n, cudaStream_t stream) {
  matmul_narrow<<<blocks_for(rows * n / 8), threads, 0, stream>>>(x, stride, static_cast<uint4*>(to_bf16),
                                                                  rows, n);
}

}  // namespace ruda::cuda
