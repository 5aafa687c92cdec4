// cuda/norm/softmax.cuh - the kernel of softmax and log_softmax: one block a row, three passes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "elementwise/strided.cuh"

#include <ruda/norm.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda::softmax_kernel {
namespace {

constexpr int threads = 256;

struct State {
  Strided<2> rows;
  int64_t cols;
};

// Over the whole block; every thread gets the result.
template <class F>
__device__ float block_reduce(float v, F&& join) {
  __shared__ float partial[threads / 32];
  for (int offset = 16; offset; offset /= 2) v = join(v, __shfl_xor_sync(~0u, v, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[0];
  for (int i = 1; i < threads / 32; ++i) v = join(v, partial[i]);
  __syncthreads();
  return v;
}

template <class T, bool is_log>
__global__ void __launch_bounds__(threads) softmax_rows(const T* x, T* y, State s) {
  int64_t at[2];
  strided_offsets(s.rows, blockIdx.x, at);
  const T* from = x + at[1];
  T* to = y + at[0];
  float top = -INFINITY;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) top = fmaxf(top, float(from[c]));
  top = block_reduce(top, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) sum += expf(float(from[c]) - top);
  sum = block_reduce(sum, [](float a, float b) { return a + b; });
  const float last = is_log ? logf(sum) : 1.0f / sum;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) {
    const float v = float(from[c]) - top;
    to[c] = T(is_log ? v - last : expf(v) * last);
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_SOFTMAX_X].layout, &y = *p[RUDA_SOFTMAX_Y].layout;
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({&y, &x});
  s.cols = x.dim(-1);
  return s.rows.elements <= INT32_MAX ? nullptr : "more than 2^31 - 1 rows";
}

template <class T, bool is_log>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.rows.elements == 0 || s.cols == 0) return;
  softmax_rows<T, is_log><<<unsigned(s.rows.elements), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_SOFTMAX_X), l.ptr<T>(RUDA_SOFTMAX_Y), s);
  check_launch(l);
}

template <bool is_log>
void run(const Launch& l) {
  switch (l.problem[RUDA_SOFTMAX_X].dtype()) {
    case RUDA_F32: return launch<float, is_log>(l);
    case RUDA_F16: return launch<__half, is_log>(l);
    default: return launch<__nv_bfloat16, is_log>(l);
  }
}

}  // namespace
}  // namespace ruda::cuda::softmax_kernel
