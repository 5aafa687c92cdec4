// cuda/elementwise/unary.cu - unary functions on the GPU: four elements of dense memory a thread, or one with
// any strides.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "core/row_functions.hpp"
#include "core/scalar_math.hpp"
#include "device/convert.cuh"
#include "device/vec.cuh"
#include "elementwise/strided.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

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

// ---- dense F32, F16 and BF16 ----

constexpr int vector_threads = 256, vector_elements = 4, vector_blocks = 8;  // blocks of a multiprocessor

template <class F>
__device__ void for_each(float (&v)[vector_elements], F&& f) {
#pragma unroll
  for (float& x : v) x = f(x);
}

// One switch for all elements; the functions are compiled once for each dtype.
__device__ void real_functions(uint32_t op, float (&v)[vector_elements]) {
  using namespace scalar_math;
#define RUDA_REAL_R(NAME, real) \
  case RUDA_UNARY_##NAME:       \
    return for_each(v, [](float x) { return float(real); });
#define RUDA_REAL_RI RUDA_REAL_R
#define RUDA_REAL_IB(NAME, real)
  switch (op) {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_REAL_##operands(NAME, real)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
  }
}

// The next four elements are on their way while these are computed. y may be x.
template <class T>
__global__ void __launch_bounds__(vector_threads)
    unary_vectors(const T* x, T* y, uint32_t op, int64_t elements) {
  constexpr int n = vector_elements;
  const int64_t pieces = elements / n, step = int64_t(gridDim.x) * vector_threads;
  int64_t piece = int64_t(blockIdx.x) * vector_threads + threadIdx.x;
  // The thread after the last piece takes what is left, less than a piece.
  if (pieces % step == piece)
    for (int64_t i = pieces * n; i < elements; ++i) y[i] = apply(op, x[i]);
  if (piece >= pieces) return;
  Vec<T, n> in = load_vec_once<n>(x + piece * n);
#pragma unroll 1
  for (; piece < pieces; piece += step) {
    Vec<T, n> next{};
    if (piece + step < pieces) next = load_vec_once<n>(x + (piece + step) * n);
    float v[n];
#pragma unroll
    for (int i = 0; i < n; ++i) v[i] = to_f32(in[i]);
    real_functions(op, v);
    Vec<T, n> out;
    round_f32(v, out.at);
    store_vec(y + piece * n, out);
    in = next;
  }
}

struct VectorState {
  unsigned blocks;
};

Verdict prepare_vector(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_UNARY_X], &y = p[RUDA_UNARY_Y];
  if (!plain_float(x.dtype())) return "not F32, F16 or BF16";
  if (x.dtype() != y.dtype()) return "the result is BOOL";
  if (!x.layout->contiguous || !y.layout->contiguous) return "strided";
  if (x.align_log2 < 4 || y.align_log2 < 4) return "addresses not aligned to 16 bytes";
  const int64_t pieces = x.layout->elements / vector_elements;
  const int64_t most = int64_t(std::max(1, capability_of(p).multiprocessors)) * vector_blocks;
  prep.state<VectorState>().blocks = unsigned(std::min(most, pieces / vector_threads + 1));
  return nullptr;
}

void run_vector(const Launch& l) {
  const int64_t elements = l.problem[RUDA_UNARY_X].layout->elements;
  if (elements == 0) return;
  const auto start = [&](auto t) {
    using T = decltype(t);
    unary_vectors<<<l.state<VectorState>().blocks, vector_threads, 0, stream_of(l)>>>(
        l.ptr<const T>(RUDA_UNARY_X), l.ptr<T>(RUDA_UNARY_Y), l.problem.as<ruda_unary_desc>().op, elements);
  };
  switch (l.problem[RUDA_UNARY_X].dtype()) {
    case RUDA_F32: start(float{}); break;
    case RUDA_F16: start(__half{}); break;
    default: start(__nv_bfloat16{}); break;
  }
  check_launch(l);
}

constexpr Kernel list[] = {{"cuda/unary/vector", prepare_vector, run_vector},
                           {"cuda/unary/simt", prepare, run}};

}  // namespace

extern constinit const Kernels unary{list};

}  // namespace ruda::cuda
