// cuda/elementwise/unary.cu - unary functions on the GPU: dense memory in 16-byte pieces, or one element a
// thread with any strides.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "core/row_functions.hpp"
#include "core/scalar_math.hpp"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

#include <type_traits>

namespace ruda::cuda {
namespace {

template <class T>
__device__ T apply(uint32_t op, T x) {
  if constexpr (std::is_integral_v<T>)
    return unary_integer(op, x);
  else if constexpr (std::is_same_v<T, double>)
    return unary_real(op, x);
  else
    return T(unary_real(op, float(x)));
}

template <class T>
__global__ void __launch_bounds__(strided_threads)
    unary_elements(const T* x, void* y, uint32_t op, bool from_bool, bool to_bool, Strided<2> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s, i, at);
  const T v = x[at[1]];
  const T r = from_bool ? T(v == T(0)) : apply(op, v);
  if (to_bool)
    static_cast<uint8_t*>(y)[at[0]] = float(r) != 0;
  else
    static_cast<T*>(y)[at[0]] = r;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  auto& s = prep.state<Strided<2>>();
  s = make_strided<2>({p[RUDA_UNARY_Y].layout.get(), p[RUDA_UNARY_X].layout.get()});
  sort_axes(s);
  return fits_grid(p[RUDA_UNARY_Y].layout->elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
void launch(const Launch& l) {
  const auto& s = l.state<Strided<2>>();
  if (s.elements == 0) return;
  const uint32_t op = l.problem.as<ruda_unary_desc>().op;
  unary_elements<T><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_UNARY_X), l.ptr<void>(RUDA_UNARY_Y), op,
      l.problem[RUDA_UNARY_X].dtype() == RUDA_BOOL, unary_rows[op - 1].result == row_B, s);
  check_launch(l);
}

void run(const Launch& l) {
  visit_element(l.problem[RUDA_UNARY_X].dtype(), [&](auto t) { launch<decltype(t)>(l); });
}

// ---- dense ----

// A kernel for each function of floats: cheap ones do not pay the registers of the others.
template <uint32_t Op>
struct Real {
  template <class Y, class X>
  __device__ auto operator()(X x) const {
    using namespace scalar_math;
#define RUDA_REAL_R_S(NAME, real) \
  if constexpr (Op == RUDA_UNARY_##NAME) return X(real);
#define RUDA_REAL_RI_S RUDA_REAL_R_S
#define RUDA_REAL_R_B(NAME, real) \
  if constexpr (Op == RUDA_UNARY_##NAME) return bool(real);
#define RUDA_REAL_IB_S(NAME, real)
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_REAL_##operands##_##result(NAME, real)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
  }
};

template <class T>
struct Integer {
  using All = T;
  uint32_t op;
  template <class Y, int N>
  __device__ void all(T (&r)[N], const T (&in)[N]) const {
#define RUDA_INTEGER_RI(NAME, integer) \
  case RUDA_UNARY_##NAME:              \
    return each(r, in, [](T x) { return T(integer); });
#define RUDA_INTEGER_IB RUDA_INTEGER_RI
#define RUDA_INTEGER_R(NAME, integer)
    switch (op) {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_INTEGER_##operands(NAME, integer)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
    }
  }
  template <int N, class F>
  __device__ static void each(T (&r)[N], const T (&in)[N], F&& f) {
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = f(in[i]);
  }
};

// `not` of BOOL.
struct Other {
  template <class Y>
  __device__ uint8_t operator()(uint8_t x) const {
    return x == 0;
  }
};

// In F64 only functions that are exact or correctly rounded have kernels of their own; the code of the others
// is called.
constexpr bool own_f64(uint32_t op) { return unary_rows[op - 1].ulp <= 0.5; }

__device__ __noinline__ double other_f64(uint32_t op, double x) { return unary_real(op, x); }
struct OtherF64 {
  uint32_t op;
  template <class Y>
  __device__ double operator()(double x) const {
    return other_f64(op, x);
  }
};

Verdict prepare_vector(const Problem& p, Prepare&) {
  const Operand &x = p[RUDA_UNARY_X], &y = p[RUDA_UNARY_Y];
  if (!x.layout->contiguous || !y.layout->contiguous) return "strided";
  if (x.align_log2 < 4 || y.align_log2 < 4) return "addresses not aligned to 16 bytes";
  return vector_fits(x.layout->elements);
}

template <class X, class Y, class F>
void launch_dense(const Launch& l, const F& f) {
  launch_vector(l, l.problem[RUDA_UNARY_X].layout->elements, l.ptr<Y>(RUDA_UNARY_Y), f,
                l.ptr<const X>(RUDA_UNARY_X));
}

template <uint32_t Op>
void run_real(const Launch& l) {
  const auto start = [&](auto t) {
    using X = decltype(t);
    launch_dense<X, std::conditional_t<unary_rows[Op - 1].result == row_B, uint8_t, X>>(l, Real<Op>{});
  };
  const uint32_t dtype = l.problem[RUDA_UNARY_X].dtype();
  if (dtype != RUDA_F64) return visit_float(dtype, start);
  if constexpr (own_f64(Op))
    start(double{});
  else
    launch_dense<double, double>(l, OtherF64{Op});
}

void run_vector(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_UNARY_X].dtype(), op = l.problem.as<ruda_unary_desc>().op;
  if (dtype == RUDA_BOOL) return launch_dense<uint8_t, uint8_t>(l, Other{});
  if (dtype_info(dtype).type_class == DtypeClass::integer)
    return visit_element(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T>) launch_dense<T, T>(l, Integer<T>{op});
    });
  switch (op) {
#define RUDA_RUN_R(NAME)  \
  case RUDA_UNARY_##NAME: \
    return run_real<RUDA_UNARY_##NAME>(l);
#define RUDA_RUN_RI RUDA_RUN_R
#define RUDA_RUN_IB(NAME)
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_RUN_##operands(NAME)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
  }
}

constexpr Kernel list[] = {{"cuda/unary/vector", prepare_vector, run_vector},
                           {"cuda/unary/simt", prepare, run}};

}  // namespace

extern constinit const Kernels unary{list};

}  // namespace ruda::cuda
