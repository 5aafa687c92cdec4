// cuda/elementwise/silu_mul.cu - silu_mul on the GPU: 16-byte pieces of dense operands or rows, or one
// element a thread.
// SPDX-License-Identifier: Apache-2.0
#include "core/scalar_math.hpp"
#include "device/convert.cuh"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

namespace ruda::cuda {
namespace {

// silu is rounded to the dtype before the product, as two operators in a row would.
struct SiluMul {
  using All = float;
  template <class T>
  __device__ float operator()(float gate, float up) const {
    return to_f32(from_f32<T>(scalar_math::silu(gate))) * up;
  }
  // N at once, so that one instruction rounds two.
  template <class T, int N>
  __device__ void all(float (&r)[N], const float (&gate)[N], const float (&up)[N]) const {
    float silu[N];
    Vec<T, N> rounded;
#pragma unroll
    for (int i = 0; i < N; ++i) silu[i] = scalar_math::silu(gate[i]);
    round_f32(silu, rounded.at);
    widen(rounded, silu);
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = silu[i] * up[i];
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
