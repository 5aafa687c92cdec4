// cuda/elementwise/silu_mul.cu - silu_mul on the GPU: one element a thread, any strides.
// SPDX-License-Identifier: Apache-2.0
#include "elementwise/strided.cuh"

#include <ruda/elementwise.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(strided_threads)
    silu_mul_elements(const T* gate, const T* up, T* y, Strided<3> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[3];
  strided_offsets(s, i, at);
  const float x = float(gate[at[1]]);
  const float e = expf(-fabsf(x));
  const T silu = T(x * ((x < 0 ? e : 1.0f) / (1.0f + e)));
  y[at[0]] = T(float(silu) * float(up[at[2]]));
}

Verdict prepare(const Problem& p, Prepare& prep) {
  prep.state<Strided<3>>() =
      make_strided<3>({p[RUDA_SILU_MUL_Y].layout.get(), p[RUDA_SILU_MUL_GATE].layout.get(),
                       p[RUDA_SILU_MUL_UP].layout.get()});
  return fits_grid(p[RUDA_SILU_MUL_Y].layout->elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
void launch(const Launch& l) {
  const auto& s = l.state<Strided<3>>();
  if (s.elements == 0) return;
  silu_mul_elements<T><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_SILU_MUL_GATE), l.ptr<const T>(RUDA_SILU_MUL_UP), l.ptr<T>(RUDA_SILU_MUL_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_SILU_MUL_GATE].dtype()) {
    case RUDA_F32: return launch<float>(l);
    case RUDA_F16: return launch<__half>(l);
    default: return launch<__nv_bfloat16>(l);
  }
}

constexpr Kernel list[] = {{"cuda/silu_mul/simt", prepare, run}};

}  // namespace

extern constinit const Kernels silu_mul{list};

}  // namespace ruda::cuda
