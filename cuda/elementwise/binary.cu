// cuda/elementwise/binary.cu - binary functions on the GPU: dense operands and rows in 16-byte pieces, the
// rest by element.
// SPDX-License-Identifier: Apache-2.0
#include "core/convert.hpp"
#include "core/op_rows.hpp"
#include "core/row_functions.hpp"
#include "device/convert.cuh"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

#include <type_traits>

namespace ruda::cuda {
namespace {

template <class T>
__device__ T apply(uint32_t op, T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(binary_integer(op, a, b));
  else if constexpr (std::is_same_v<T, double>)
    return binary_real(op, a, b);
  else
    return T(binary_real(op, float(a), float(b)));
}

// b_scalar takes the place of b when b is null.
template <class T>
__global__ void __launch_bounds__(strided_threads)
    binary_elements(const T* a, const T* b, T b_scalar, void* y, uint32_t op, bool to_bool, Strided<3> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[3];
  strided_offsets(s, i, at);
  const T r = apply(op, a[at[1]], b ? b[at[2]] : b_scalar);
  if (to_bool)
    static_cast<uint8_t*>(y)[at[0]] = float(r) != 0;
  else
    static_cast<T*>(y)[at[0]] = r;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout* y = p[RUDA_BINARY_Y].layout.get();
  const Layout* a = p[RUDA_BINARY_A].layout.get();
  auto& s = prep.state<Strided<3>>();
  s = make_strided<3>({y, a, p[RUDA_BINARY_B].present ? p[RUDA_BINARY_B].layout.get() : a});
  sort_axes(s);
  return fits_grid(y->elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
T scalar_of(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_BINARY_A].dtype();
  const double value = binary_scalar(dtype, l.f64(RUDA_BINARY_SCALAR));
  alignas(8) std::byte scalar[8] = {};
  find_conversion(RUDA_F64, dtype)(scalar, 8, reinterpret_cast<const std::byte*>(&value), 8, 1);
  return *reinterpret_cast<const T*>(scalar);
}

template <class T>
void launch(const Launch& l) {
  const auto& s = l.state<Strided<3>>();
  if (s.elements == 0) return;
  const uint32_t op = l.problem.as<ruda_binary_desc>().op;
  const bool tensor = l.problem[RUDA_BINARY_B].present;
  binary_elements<T><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_BINARY_A), tensor ? l.ptr<const T>(RUDA_BINARY_B) : nullptr,
      tensor ? T{} : scalar_of<T>(l), l.ptr<void>(RUDA_BINARY_Y), op, binary_rows[op - 1].result == row_B, s);
  check_launch(l);
}

void run(const Launch& l) {
  visit_element(l.problem[RUDA_BINARY_A].dtype(), [&](auto t) { launch<decltype(t)>(l); });
}

// ---- in pieces ----

// A kernel for each function that memory limits, and one for the others, whose code is called.
template <uint32_t Op>
struct Real {
  template <class Y, class X>
  __device__ X operator()(X a, X b) const {
    return binary_real(Op, a, b);
  }
};

template <class X>
__device__ __noinline__ X other_real(uint32_t op, X a, X b) {
  switch (op) {
    case RUDA_BINARY_POW: return binary_real(RUDA_BINARY_POW, a, b);
    case RUDA_BINARY_REMAINDER: return binary_real(RUDA_BINARY_REMAINDER, a, b);
    case RUDA_BINARY_FMOD: return binary_real(RUDA_BINARY_FMOD, a, b);
    case RUDA_BINARY_FLOOR_DIV: return binary_real(RUDA_BINARY_FLOOR_DIV, a, b);
    default: return binary_real(RUDA_BINARY_ATAN2, a, b);
  }
}
struct OtherReal {
  uint32_t op;
  template <class Y, class X>
  __device__ X operator()(X a, X b) const {
    return other_real(op, a, b);
  }
};

// What a comparison answers where a is less, equal, greater, or neither.
struct Compare {
  uint8_t less, equal, greater, neither;
  template <class Y, class X>
  __device__ uint8_t operator()(X a, X b) const {
    return a < b ? less : a == b ? equal : a > b ? greater : neither;
  }
};
Compare comparison(uint32_t op) {
  switch (op) {
    case RUDA_BINARY_EQUAL: return {0, 1, 0, 0};
    case RUDA_BINARY_NOT_EQUAL: return {1, 0, 1, 1};
    case RUDA_BINARY_LESS: return {1, 0, 0, 0};
    case RUDA_BINARY_LESS_EQUAL: return {1, 1, 0, 0};
    case RUDA_BINARY_GREATER: return {0, 0, 1, 0};
    default: return {0, 1, 1, 0};
  }
}

template <class T>
struct Integer {
  using All = T;
  uint32_t op;
  template <class Y, int N>
  __device__ void all(T (&r)[N], const T (&a)[N], const T (&b)[N]) const {
    switch (op) {
      case RUDA_BINARY_ADD: return each<RUDA_BINARY_ADD>(r, a, b);
      case RUDA_BINARY_SUB: return each<RUDA_BINARY_SUB>(r, a, b);
      case RUDA_BINARY_MUL: return each<RUDA_BINARY_MUL>(r, a, b);
      case RUDA_BINARY_MINIMUM: return each<RUDA_BINARY_MINIMUM>(r, a, b);
      case RUDA_BINARY_MAXIMUM: return each<RUDA_BINARY_MAXIMUM>(r, a, b);
      case RUDA_BINARY_AND: return each<RUDA_BINARY_AND>(r, a, b);
      case RUDA_BINARY_OR: return each<RUDA_BINARY_OR>(r, a, b);
      case RUDA_BINARY_XOR: return each<RUDA_BINARY_XOR>(r, a, b);
      case RUDA_BINARY_SHIFT_LEFT: return each<RUDA_BINARY_SHIFT_LEFT>(r, a, b);
      default: return each<RUDA_BINARY_SHIFT_RIGHT>(r, a, b);
    }
  }
  template <uint32_t Op, int N>
  __device__ static void each(T (&r)[N], const T (&a)[N], const T (&b)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = T(binary_integer(Op, a[i], b[i]));
  }
};

template <class T>
__device__ __noinline__ T quotient(uint32_t op, T a, T b) {
  switch (op) {
    case RUDA_BINARY_REMAINDER: return int_mod(a, b);
    case RUDA_BINARY_FMOD: return int_rem(a, b);
    default: return int_floor_div(a, b);
  }
}
struct Quotient {
  uint32_t op;
  template <class Y, class T>
  __device__ T operator()(T a, T b) const {
    return quotient(op, a, b);
  }
};

// run(T{}, Y{}, f): y holds elements of Y.
template <class T, class Run>
void visit_function(uint32_t op, Run&& run) {
  if (binary_rows[op - 1].result == row_B) return run(T{}, uint8_t{}, comparison(op));
  if constexpr (std::is_integral_v<T>) {
    if (op == RUDA_BINARY_REMAINDER || op == RUDA_BINARY_FMOD || op == RUDA_BINARY_FLOOR_DIV)
      return run(T{}, T{}, Quotient{op});
    return run(T{}, T{}, Integer<T>{op});
  } else {
    switch (op) {
      case RUDA_BINARY_ADD: return run(T{}, T{}, Real<RUDA_BINARY_ADD>{});
      case RUDA_BINARY_SUB: return run(T{}, T{}, Real<RUDA_BINARY_SUB>{});
      case RUDA_BINARY_MUL: return run(T{}, T{}, Real<RUDA_BINARY_MUL>{});
      case RUDA_BINARY_DIV: return run(T{}, T{}, Real<RUDA_BINARY_DIV>{});
      case RUDA_BINARY_MINIMUM: return run(T{}, T{}, Real<RUDA_BINARY_MINIMUM>{});
      case RUDA_BINARY_MAXIMUM: return run(T{}, T{}, Real<RUDA_BINARY_MAXIMUM>{});
      default: return run(T{}, T{}, OtherReal{op});
    }
  }
}

// Everything dense; b may be a scalar.
Verdict prepare_vector(const Problem& p, Prepare&) {
  for (uint32_t slot : {RUDA_BINARY_A, RUDA_BINARY_B, RUDA_BINARY_Y}) {
    if (!p[slot].present) continue;
    if (!p[slot].layout->contiguous) return "strided";
    if (p[slot].align_log2 < 4) return "addresses not aligned to 16 bytes";
    if (!p[slot].layout->same_shape(*p[RUDA_BINARY_Y].layout)) return "broadcast";
  }
  return vector_fits(p[RUDA_BINARY_Y].layout->elements);
}

void run_vector(const Launch& l) {
  const int64_t elements = l.problem[RUDA_BINARY_Y].layout->elements;
  visit_element(l.problem[RUDA_BINARY_A].dtype(), [&](auto element) {
    visit_function<decltype(element)>(l.problem.as<ruda_binary_desc>().op, [&](auto t, auto to, auto f) {
      using T = decltype(t);
      using Y = decltype(to);
      const T* a = l.ptr<const T>(RUDA_BINARY_A);
      Y* y = l.ptr<Y>(RUDA_BINARY_Y);
      if (l.problem[RUDA_BINARY_B].present)
        launch_vector(l, elements, y, f, a, l.ptr<const T>(RUDA_BINARY_B));
      else
        launch_vector(l, elements, y, WithScalar<decltype(f), T>{f, scalar_of<T>(l)}, a);
    });
  });
}

// Rows, columns and scalars repeated by the strides.
Verdict prepare_rows(const Problem& p, Prepare& prep) {
  if (!plain_float(p[RUDA_BINARY_A].dtype())) return "not F32, F16 or BF16";
  if (!p[RUDA_BINARY_B].present) return "b is a scalar";
  return make_vector_rows<3>(p, {RUDA_BINARY_Y, RUDA_BINARY_A, RUDA_BINARY_B}, prep.state<VectorRows<3>>());
}

void run_rows(const Launch& l) {
  visit_float(l.problem[RUDA_BINARY_A].dtype(), [&](auto element) {
    visit_function<decltype(element)>(l.problem.as<ruda_binary_desc>().op, [&](auto t, auto to, auto f) {
      using T = decltype(t);
      launch_vector_rows(l, l.state<VectorRows<3>>(), l.ptr<decltype(to)>(RUDA_BINARY_Y), f,
                         l.ptr<const T>(RUDA_BINARY_A), l.ptr<const T>(RUDA_BINARY_B));
    });
  });
}

constexpr Kernel list[] = {{"cuda/binary/vector", prepare_vector, run_vector},
                           {"cuda/binary/rows", prepare_rows, run_rows},
                           {"cuda/binary/simt", prepare, run}};

}  // namespace

extern constinit const Kernels binary{list};

}  // namespace ruda::cuda
