// cuda/elementwise/vector.cuh - y[i] = f(a[i]) and y[i] = f(a[i], b[i]) between F32, F16 and BF16 in accesses
// of up to 16 bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/convert.cuh"
#include "device/vec.cuh"
#include "elementwise/strided.cuh"
#include "runtime/launch.hpp"

#include <algorithm>
#include <initializer_list>

namespace ruda::cuda {

constexpr int vector_threads = 256;
// A thread has this much on its way before it uses the first of it.
constexpr int vector_bytes_in_flight = 64;

inline Verdict vector_fits(int64_t elements) {
  return elements > int64_t(INT32_MAX) * vector_threads ? "more elements than a grid holds" : nullptr;
}

// Elements of a piece: 16 bytes of the widest type, so that a warp's access of any operand has no gaps.
template <class... T>
constexpr int vector_step() {
  return 16 / std::max({int(sizeof(T))...});
}

template <class T, int N>
__device__ inline void widen(const Vec<T, N>& from, float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_f32(from[i]);
}

// A thread takes Pieces pieces, a block's width apart, and loads all before it uses the first. The last
// elements, less than a piece, go one by one. f computes in F32: f.template operator()<Y>(a...); its result
// is rounded once. y may be one of the inputs.
template <int N, int Pieces, class Y, class F, class A>
__global__ void __launch_bounds__(vector_threads)
    vector_unary(int64_t elements, Y* y, const F f, const A* a) {
  const int64_t pieces = elements / N, first = int64_t(blockIdx.x) * (vector_threads * Pieces) + threadIdx.x;
  Vec<A, N> in[Pieces];
#pragma unroll
  for (int k = 0; k < Pieces; ++k)
    if (first + k * vector_threads < pieces) in[k] = load_vec_once<N>(a + (first + k * vector_threads) * N);
#pragma unroll
  for (int k = 0; k < Pieces; ++k) {
    if (first + k * vector_threads >= pieces) break;
    float x[N], r[N];
    Vec<Y, N> out;
    widen(in[k], x);
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = f.template operator()<Y>(x[i]);
    round_f32(r, out.at);
    store_vec(y + (first + k * vector_threads) * N, out);
  }
  const int64_t rest = pieces * N + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < elements)
    y[rest] = from_f32<Y>(f.template operator()<Y>(to_f32(a[rest])));
}

template <int N, int Pieces, class Y, class F, class A, class B>
__global__ void __launch_bounds__(vector_threads)
    vector_binary(int64_t elements, Y* y, const F f, const A* a, const B* b) {
  const int64_t pieces = elements / N, first = int64_t(blockIdx.x) * (vector_threads * Pieces) + threadIdx.x;
  Vec<A, N> in_a[Pieces];
  Vec<B, N> in_b[Pieces];
#pragma unroll
  for (int k = 0; k < Pieces; ++k)
    if (first + k * vector_threads < pieces) {
      in_a[k] = load_vec_once<N>(a + (first + k * vector_threads) * N);
      in_b[k] = load_vec_once<N>(b + (first + k * vector_threads) * N);
    }
#pragma unroll
  for (int k = 0; k < Pieces; ++k) {
    if (first + k * vector_threads >= pieces) break;
    float u[N], v[N], r[N];
    Vec<Y, N> out;
    widen(in_a[k], u);
    widen(in_b[k], v);
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = f.template operator()<Y>(u[i], v[i]);
    round_f32(r, out.at);
    store_vec(y + (first + k * vector_threads) * N, out);
  }
  const int64_t rest = pieces * N + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < elements)
    y[rest] = from_f32<Y>(f.template operator()<Y>(to_f32(a[rest]), to_f32(b[rest])));
}

// Most pieces a thread once that still fills the device, one before. launch(blocks, most)
template <int N, int Most, class F>
void launch_pieces(const Launch& l, int64_t elements, F&& launch) {
  if (elements == 0) return;
  const int64_t pieces = elements / N;
  const int64_t full = int64_t(capability_of(l.problem).multiprocessors) * 8 * vector_threads * Most;
  const int each = pieces >= full ? Most : 1;
  const int64_t blocks = (pieces + vector_threads * each - 1) / (vector_threads * each);
  launch(unsigned(std::max<int64_t>(blocks, 1)), each == Most);
  check_launch(l);
}

template <class Y, class F, class A>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a) {
  constexpr int n = vector_step<Y, A>(), most = vector_bytes_in_flight / (n * int(sizeof(A)));
  launch_pieces<n, most>(l, elements, [&](unsigned blocks, bool large) {
    if (large)
      vector_unary<n, most><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a);
    else
      vector_unary<n, 1><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a);
  });
}

template <class Y, class F, class A, class B>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a, const B* b) {
  constexpr int n = vector_step<Y, A, B>(), most = vector_bytes_in_flight / (n * int(sizeof(A) + sizeof(B)));
  launch_pieces<n, most>(l, elements, [&](unsigned blocks, bool large) {
    if (large)
      vector_binary<n, most><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a, b);
    else
      vector_binary<n, 1><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a, b);
  });
}

// Operands with a common last axis that each walks densely or repeats (a column or a scalar broadcast along
// it), and any strides between the rows.
template <int K>
struct VectorRows {
  Strided<K> rows;     // without the last axis
  int64_t row_pieces;  // of a row
  int64_t pieces;
  int step[K];  // 1, or 0 where an operand repeats along the rows
};

// `slots[0]` is the output.
template <int K>
Verdict make_vector_rows(const Problem& p, const uint32_t (&slots)[K], VectorRows<K>& v) {
  const Layout* layouts[K];
  for (int k = 0; k < K; ++k) {
    layouts[k] = p[slots[k]].layout.get();
    if (!plain_float(layouts[k]->dtype)) return "not F32, F16 or BF16";
  }
  v.rows = make_strided<K>(layouts);
  sort_axes(v.rows);
  if (v.rows.elements == 0 || v.rows.rank == 0) return "less than a piece";
  int64_t widest = 2;
  for (int k = 0; k < K; ++k) widest = std::max<int64_t>(widest, dtype_info(layouts[k]->dtype).block_bytes);
  const int64_t n = 16 / widest;
  const int last = v.rows.rank - 1;
  if (v.rows.shape[last] % n) return "rows not in whole pieces";
  for (int k = 0; k < K; ++k) {
    const int64_t step = v.rows.strides[k][last];
    if (step != 1 && (k == 0 || step != 0)) return "strided along the rows";
    v.step[k] = int(step);
    if (step == 0) continue;
    if ((int64_t(1) << p[slots[k]].align_log2) % (n * dtype_info(layouts[k]->dtype).block_bytes))
      return "addresses not aligned to a piece";
    for (int axis = 0; axis < last; ++axis)
      if (v.rows.strides[k][axis] % n) return "rows not aligned to a piece";
  }
  v.row_pieces = v.rows.shape[last] / n;
  v.pieces = v.rows.elements / n;
  v.rows.rank = last;
  v.rows.dense = 0;
  return v.pieces > INT32_MAX ? "more pieces than a grid holds" : nullptr;
}

template <int N, class T>
__device__ inline void load_rows(const T* from, int step, float (&to)[N]) {
  if (step) {
    widen(load_vec<N>(from), to);
  } else {
    const float x = to_f32(*from);
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = x;
  }
}

// One piece a thread. B = A and b = a for a function of one operand.
template <int N, class Y, class F, class A, class B, int K>
__global__ void __launch_bounds__(vector_threads)
    vector_rows(Y* y, const F f, const A* a, const B* b, const __grid_constant__ VectorRows<K> v) {
  const uint32_t piece = blockIdx.x * uint32_t(vector_threads) + threadIdx.x;
  if (piece >= v.pieces) return;
  const uint32_t row = piece / uint32_t(v.row_pieces);
  const int64_t col = int64_t(piece - row * uint32_t(v.row_pieces)) * N;
  int64_t at[K];
  walk_axes(v.rows, row, at);
  float first[N], second[N], r[N];
  load_rows<N>(a + at[1] + col * v.step[1], v.step[1], first);
  if constexpr (K == 3) load_rows<N>(b + at[2] + col * v.step[2], v.step[2], second);
#pragma unroll
  for (int i = 0; i < N; ++i)
    if constexpr (K == 3)
      r[i] = f.template operator()<Y>(first[i], second[i]);
    else
      r[i] = f.template operator()<Y>(first[i]);
  Vec<Y, N> out;
  round_f32(r, out.at);
  store_vec(y + at[0] + col, out);
}

template <class Y, class F, class A>
void launch_vector_rows(const Launch& l, const VectorRows<2>& v, Y* y, const F& f, const A* a) {
  vector_rows<vector_step<Y, A>()>
      <<<unsigned((v.pieces + vector_threads - 1) / vector_threads), vector_threads, 0, stream_of(l)>>>(
          y, f, a, a, v);
  check_launch(l);
}

template <class Y, class F, class A, class B>
void launch_vector_rows(const Launch& l, const VectorRows<3>& v, Y* y, const F& f, const A* a, const B* b) {
  vector_rows<vector_step<Y, A, B>()>
      <<<unsigned((v.pieces + vector_threads - 1) / vector_threads), vector_threads, 0, stream_of(l)>>>(
          y, f, a, b, v);
  check_launch(l);
}

}  // namespace ruda::cuda
