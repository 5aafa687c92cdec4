// cuda/norm/rms_norm.cu - rms_norm on the GPU: one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "elementwise/strided.cuh"

#include <ruda/norm.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

struct State {
  Strided<2> rows;  // y, x
  int64_t cols;
};

template <class T>
__global__ void __launch_bounds__(threads)
    rms_norm_rows(const T* x, const float* gamma, T* y, State s, float eps) {
  __shared__ float partial[threads / 32];
  int64_t at[2];
  strided_offsets(s.rows, blockIdx.x, at);
  const T* from = x + at[1];
  T* to = y + at[0];
  float sum = 0;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) {
    const float v = float(from[c]);
    sum = fmaf(v, v, sum);
  }
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (float p : partial) sum += p;
  const float scale = 1.0f / sqrtf(sum / float(s.cols) + eps);
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) to[c] = T(float(from[c]) * scale * gamma[c]);
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_RMS_NORM_X].layout, &y = *p[RUDA_RMS_NORM_Y].layout;
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({&y, &x});
  s.cols = x.dim(-1);
  return s.rows.elements <= INT32_MAX ? nullptr : "more than 2^31 - 1 rows";
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const float eps = float(l.problem.as<ruda_rms_norm_desc>().eps);
  if (s.rows.elements == 0) return;
  rms_norm_rows<T><<<unsigned(s.rows.elements), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA), l.ptr<T>(RUDA_RMS_NORM_Y), s,
      eps);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_RMS_NORM_X].dtype()) {
    case RUDA_F32: return launch<float>(l);
    case RUDA_F16: return launch<__half>(l);
    default: return launch<__nv_bfloat16>(l);
  }
}

constexpr Kernel list[] = {{"cuda/rms_norm/block_row", prepare, run}};

}  // namespace

extern constinit const Kernels rms_norm{list};

}  // namespace ruda::cuda
