// cuda/norm/rms_norm.cu - rms_norm on the GPU: one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/norm.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads) rms_norm_rows(const T* x, const float* gamma, T* y, int64_t cols,
                                                         int64_t x_stride, int64_t y_stride, float eps) {
  __shared__ float partial[threads / 32];
  const T* from = x + blockIdx.x * x_stride;
  T* to = y + blockIdx.x * y_stride;
  float sum = 0;
  for (int64_t c = threadIdx.x; c < cols; c += threads) {
    const float v = float(from[c]);
    sum = fmaf(v, v, sum);
  }
  for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (float p : partial) sum += p;
  const float scale = 1.0f / sqrtf(sum / float(cols) + eps);
  for (int64_t c = threadIdx.x; c < cols; c += threads) to[c] = T(float(from[c]) * scale * gamma[c]);
}

struct State {
  int64_t rows, cols;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& x = p[RUDA_RMS_NORM_X];
  if (!x.layout->contiguous || !p[RUDA_RMS_NORM_Y].layout->contiguous) return "strided rows";
  if (x.outer() > INT32_MAX) return "more than 2^31 - 1 rows";
  prep.state<State>() = {x.outer(), x.dim(-1)};
  return nullptr;
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const float eps = float(l.problem.as<ruda_rms_norm_desc>().eps);
  if (s.rows == 0) return;
  rms_norm_rows<T><<<unsigned(s.rows), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA), l.ptr<T>(RUDA_RMS_NORM_Y),
      s.cols, s.cols, s.cols, eps);
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
