// cuda/elementwise/binary.cu - binary functions on the GPU: arithmetic of dense rows in 16-byte pieces, the
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

#include <algorithm>

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
void launch(const Launch& l) {
  const auto& s = l.state<Strided<3>>();
  if (s.elements == 0) return;
  const uint32_t op = l.problem.as<ruda_binary_desc>().op;
  const T* b = nullptr;
  alignas(8) std::byte scalar[8] = {};
  if (l.problem[RUDA_BINARY_B].present) {
    b = l.ptr<const T>(RUDA_BINARY_B);
  } else {
    const double value = binary_scalar(l.problem[RUDA_BINARY_A].dtype(), l.f64(RUDA_BINARY_SCALAR));
    find_conversion(RUDA_F64, l.problem[RUDA_BINARY_A].dtype())(
        scalar, 8, reinterpret_cast<const std::byte*>(&value), 8, 1);
  }
  binary_elements<T><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_BINARY_A), b, *reinterpret_cast<const T*>(scalar), l.ptr<void>(RUDA_BINARY_Y), op,
      binary_rows[op - 1].result == row_B, s);
  check_launch(l);
}

void run(const Launch& l) {
  visit_element(l.problem[RUDA_BINARY_A].dtype(), [&](auto t) { launch<decltype(t)>(l); });
}

// The functions that memory limits, for the float dtypes.
template <uint32_t Op>
struct Arithmetic {
  template <class T>
  __device__ float operator()(float a, float b) const {
    if constexpr (Op == RUDA_BINARY_ADD) return a + b;
    if constexpr (Op == RUDA_BINARY_SUB) return a - b;
    return a * b;
  }
};

Verdict arithmetic(const Problem& p) {
  const uint32_t op = p.as<ruda_binary_desc>().op;
  if (op != RUDA_BINARY_ADD && op != RUDA_BINARY_SUB && op != RUDA_BINARY_MUL)
    return "not one of add, sub, mul";
  if (!plain_float(p[RUDA_BINARY_A].dtype())) return "not F32, F16 or BF16";
  return p[RUDA_BINARY_B].present ? nullptr : "b is a scalar";
}

Verdict prepare_vector(const Problem& p, Prepare&) {
  if (const Verdict no = arithmetic(p)) return no;
  for (uint32_t slot : {RUDA_BINARY_A, RUDA_BINARY_B, RUDA_BINARY_Y}) {
    if (!p[slot].layout->contiguous) return "strided";
    if (p[slot].align_log2 < 4) return "addresses not aligned to 16 bytes";
    if (!p[slot].layout->same_shape(*p[RUDA_BINARY_Y].layout)) return "broadcast";
  }
  return vector_fits(p[RUDA_BINARY_Y].layout->elements);
}

// Rows, columns and scalars repeated by the strides.
Verdict prepare_rows(const Problem& p, Prepare& prep) {
  if (const Verdict no = arithmetic(p)) return no;
  return make_vector_rows<3>(p, {RUDA_BINARY_Y, RUDA_BINARY_A, RUDA_BINARY_B}, prep.state<VectorRows<3>>());
}

// run(T{}, Arithmetic<op>{})
template <class T, class Run>
void visit_op(const Launch& l, Run&& run) {
  switch (l.problem.as<ruda_binary_desc>().op) {
    case RUDA_BINARY_ADD: return run(T{}, Arithmetic<RUDA_BINARY_ADD>{});
    case RUDA_BINARY_SUB: return run(T{}, Arithmetic<RUDA_BINARY_SUB>{});
    default: return run(T{}, Arithmetic<RUDA_BINARY_MUL>{});
  }
}

template <class Run>
void visit_arithmetic(const Launch& l, Run&& run) {
  visit_float(l.problem[RUDA_BINARY_A].dtype(), [&](auto t) { visit_op<decltype(t)>(l, run); });
}

void run_vector(const Launch& l) {
  visit_arithmetic(l, [&](auto t, auto f) {
    using T = decltype(t);
    launch_vector(l, l.problem[RUDA_BINARY_Y].layout->elements, l.ptr<T>(RUDA_BINARY_Y), f,
                  l.ptr<const T>(RUDA_BINARY_A), l.ptr<const T>(RUDA_BINARY_B));
  });
}

void run_rows(const Launch& l) {
  visit_arithmetic(l, [&](auto t, auto f) {
    using T = decltype(t);
    launch_vector_rows(l, l.state<VectorRows<3>>(), l.ptr<T>(RUDA_BINARY_Y), f, l.ptr<const T>(RUDA_BINARY_A),
                       l.ptr<const T>(RUDA_BINARY_B));
  });
}

constexpr Kernel list[] = {{"cuda/binary/vector", prepare_vector, run_vector},
                           {"cuda/binary/rows", prepare_rows, run_rows},
                           {"cuda/binary/simt", prepare, run}};

}  // namespace

extern constinit const Kernels binary{list};

}  // namespace ruda::cuda
