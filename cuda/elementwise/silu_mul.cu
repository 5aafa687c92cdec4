// cuda/elementwise/silu_mul.cu - silu_mul on the GPU: 16-byte pieces of dense operands or rows, or one
// element a thread.
// SPDX-License-Identifier: Apache-2.0
#include "device/convert.cuh"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

namespace ruda::cuda {
namespace {

// 1 / d for d in 1..2: one Newton step on the hardware's estimate leaves at most one unit in the last place,
// and compiles far smaller than a division for all cases.
__device__ inline float reciprocal(float d) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
  return fmaf(r, fmaf(-d, r, 1.0f), r);
}

// silu is rounded to the dtype before the product, as two operators in a row would. Below -87 e^gate would be
// subnormal, so e^32 moves from it to the gate.
struct SiluMul {
  template <class T>
  __device__ float operator()(float gate, float up) const {
    const bool far = gate < -87.0f;
    const float e = expf((far ? 32.0f : 0.0f) - fabsf(gate));
    const float scaled = far ? gate * 1.26641655e-14f : gate;
    const T silu = from_f32<T>(scaled * ((gate < 0 ? e : 1.0f) * reciprocal(1.0f + e)));
    return to_f32(silu) * up;
  }
};

template <class T>
__global__ void __launch_bounds__(strided_threads)
    silu_mul_elements(const T* gate, const T* up, T* y, Strided<3> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[3];
  strided_offsets(s, i, at);
  y[at[0]] = from_f32<T>(SiluMul{}.template operator()<T>(to_f32(gate[at[1]]), to_f32(up[at[2]])));
}

Verdict prepare(const Problem& p, Prepare& prep) {
  auto& s = prep.state<Strided<3>>();
  s = make_strided<3>({p[RUDA_SILU_MUL_Y].layout.get(), p[RUDA_SILU_MUL_GATE].layout.get(),
                       p[RUDA_SILU_MUL_UP].layout.get()});
  sort_axes(s);
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
  visit_float(l.problem[RUDA_SILU_MUL_GATE].dtype(), [&](auto t) { launch<decltype(t)>(l); });
}

Verdict prepare_vector(const Problem& p, Prepare&) {
  for (uint32_t slot : {RUDA_SILU_MUL_GATE, RUDA_SILU_MUL_UP, RUDA_SILU_MUL_Y}) {
    if (!p[slot].layout->contiguous) return "strided";
    if (p[slot].align_log2 < 4) return "addresses not aligned to 16 bytes";
    if (!p[slot].layout->same_shape(*p[RUDA_SILU_MUL_Y].layout)) return "broadcast";
  }
  return vector_fits(p[RUDA_SILU_MUL_Y].layout->elements);
}

template <class T>
void launch_dense(const Launch& l) {
  launch_vector(l, l.problem[RUDA_SILU_MUL_Y].layout->elements, l.ptr<T>(RUDA_SILU_MUL_Y), SiluMul{},
                l.ptr<const T>(RUDA_SILU_MUL_GATE), l.ptr<const T>(RUDA_SILU_MUL_UP));
}

void run_vector(const Launch& l) {
  visit_float(l.problem[RUDA_SILU_MUL_GATE].dtype(), [&](auto t) { launch_dense<decltype(t)>(l); });
}

Verdict prepare_rows(const Problem& p, Prepare& prep) {
  return make_vector_rows<3>(p, {RUDA_SILU_MUL_Y, RUDA_SILU_MUL_GATE, RUDA_SILU_MUL_UP},
                             prep.state<VectorRows<3>>());
}

template <class T>
void launch_rows(const Launch& l) {
  launch_vector_rows(l, l.state<VectorRows<3>>(), l.ptr<T>(RUDA_SILU_MUL_Y), SiluMul{},
                     l.ptr<const T>(RUDA_SILU_MUL_GATE), l.ptr<const T>(RUDA_SILU_MUL_UP));
}

void run_rows(const Launch& l) {
  visit_float(l.problem[RUDA_SILU_MUL_GATE].dtype(), [&](auto t) { launch_rows<decltype(t)>(l); });
}

constexpr Kernel list[] = {{"cuda/silu_mul/vector", prepare_vector, run_vector},
                           {"cuda/silu_mul/rows", prepare_rows, run_rows},
                           {"cuda/silu_mul/simt", prepare, run}};

}  // namespace

extern constinit const Kernels silu_mul{list};

}  // namespace ruda::cuda
