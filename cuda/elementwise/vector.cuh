// cuda/elementwise/vector.cuh - y[i] = f(a[i]) and y[i] = f(a[i], b[i]) of any element types in accesses of
// up to 16 bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/convert.cuh"
#include "device/vec.cuh"
#include "elementwise/strided.cuh"
#include "runtime/launch.hpp"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

namespace ruda::cuda {

constexpr int vector_threads = 256;
// A thread has this much on its way before it uses the first of it.
constexpr int vector_bytes_in_flight = 64;
constexpr int vector_elements = 32;  // and no more than these

inline Verdict vector_fits(int64_t elements) {
  return elements > int64_t(INT32_MAX) * vector_threads ? "more elements than a grid holds" : nullptr;
}

// Elements of a piece: 16 bytes of the widest type, so that a warp's access of any operand has no gaps.
template <class... T>
constexpr int vector_step() {
  return 16 / std::max({int(sizeof(T))...});
}

// What functions of T compute in: F32 for F16 and BF16.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<__half> {
  using type = float;
};
template <>
struct ComputeType<__nv_bfloat16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeType<T>::type;

// Small elements stay packed in words until they are used, which saves registers.
template <class T, int N>
__device__ inline T element_of(const Vec<T, N>& from, int i) {
  if constexpr (sizeof(T) < 4 && N * sizeof(T) % 4 == 0) {
    constexpr int in_word = 4 / int(sizeof(T));
    const uint32_t word = reinterpret_cast<const uint32_t*>(&from)[i / in_word];
    const auto bits = typename RawVec<int(sizeof(T))>::type(word >> (i % in_word * 8 * int(sizeof(T))));
    return *reinterpret_cast<const T*>(&bits);
  } else {
    return from[i];
  }
}

template <class T, int N>
__device__ inline void widen(const Vec<T, N>& from, Compute<T> (&to)[N]) {
  if constexpr (std::is_same_v<T, __nv_bfloat16> && N % 2 == 0) {
    const auto* words = reinterpret_cast<const uint32_t*>(&from);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      to[2 * i] = __uint_as_float(words[i] << 16);
      to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if constexpr (std::is_same_v<T, Compute<T>>)
        to[i] = element_of(from, i);
      else
        to[i] = to_f32(element_of(from, i));
  }
}

// One element for all.
template <class T, int N>
__device__ inline void repeat(const T* from, Compute<T> (&to)[N]) {
  Compute<T> x[1];
  widen(Vec<T, 1>{*from}, x);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = x[0];
}

// Floats are rounded once to a float dtype; other results are elements already, a bool is a byte of BOOL.
template <class R, class Y, int N>
__device__ inline void narrow(const R (&from)[N], Y (&to)[N]) {
  if constexpr (std::is_same_v<R, float>) {
    round_f32(from, to);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = Y(from[i]);
  }
}

// out[i] = f(a[i]) or f(a[i], b[i]). f has an operator()<Y> of one element, or an `all<Y>` of N with results
// of the type F::All: where a function is chosen by a value, so that it is chosen once.
template <class Y, class F, int N, class... A>
__device__ inline Vec<Y, N> vector_apply(const F& f, const A (&... x)[N]) {
  Vec<Y, N> out;
  if constexpr (requires { typename F::All; }) {
    typename F::All r[N];
    f.template all<Y>(r, x...);
    narrow(r, out.at);
  } else {
    decltype(f.template operator()<Y>(x[0]...)) r[N];
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = f.template operator()<Y>(x[i]...);
    narrow(r, out.at);
  }
  return out;
}

// f(a[i], b) for a b that all elements share.
template <class F, class T>
struct WithScalar {
  F f;
  T b;
};
template <class Y, class F, class T, int N>
__device__ inline Vec<Y, N> vector_apply(const WithScalar<F, T>& f, const Compute<T> (&x)[N]) {
  Compute<T> b[N];
  repeat(&f.b, b);
  return vector_apply<Y>(f.f, x, b);
}

// The pieces of N elements that a thread takes: `each` of them, Count or 1, a block's width apart. What is
// left behind the last piece of all goes one by one in the last block.
template <int N, int Count>
struct Pieces {
  int64_t pieces, first;
  int each;
  bool whole;  // the block has Count pieces a thread

  __device__ Pieces(int64_t elements, int each)
      : pieces(elements / N),
        first(int64_t(blockIdx.x) * (vector_threads * each) + threadIdx.x),
        each(each),
        whole(each == Count && (int64_t(blockIdx.x) + 1) * (vector_threads * Count) <= pieces) {}

  __device__ bool has(int k) const { return k < each && first + k * vector_threads < pieces; }
  __device__ int64_t at(int k) const { return (first + k * vector_threads) * N; }
  // The thread's element of the rest, or -1.
  __device__ int64_t rest(int64_t elements) const {
    const int64_t i = pieces * N + threadIdx.x;
    return blockIdx.x == gridDim.x - 1 && i < elements ? i : -1;
  }

  // All before the first is used.
  template <class T>
  __device__ void load(const T* from, Vec<T, N> (&to)[Count]) const {
    if (whole) {
#pragma unroll
      for (int k = 0; k < Count; ++k) to[k] = load_vec_once<N>(from + at(k));
    } else {
#pragma unroll
      for (int k = 0; k < Count; ++k)
        if (has(k)) to[k] = load_vec_once<N>(from + at(k));
    }
  }
};

// y may be one of the inputs.
template <int N, int Count, class Y, class F, class A>
__global__ void __launch_bounds__(vector_threads)
    vector_unary(int64_t elements, int each, Y* y, const F f, const A* a) {
  const Pieces<N, Count> pieces(elements, each);
  Vec<A, N> in[Count];
  pieces.load(a, in);
#pragma unroll
  for (int k = 0; k < Count; ++k) {
    if (!pieces.has(k)) break;
    Compute<A> x[N];
    widen(in[k], x);
    store_vec(y + pieces.at(k), vector_apply<Y>(f, x));
  }
  if (const int64_t i = pieces.rest(elements); i >= 0) {
    Compute<A> x[1];
    repeat(a + i, x);
    y[i] = vector_apply<Y>(f, x)[0];
  }
}

template <int N, int Count, class Y, class F, class A, class B>
__global__ void __launch_bounds__(vector_threads)
    vector_binary(int64_t elements, int each, Y* y, const F f, const A* a, const B* b) {
  const Pieces<N, Count> pieces(elements, each);
  Vec<A, N> in_a[Count];
  Vec<B, N> in_b[Count];
  pieces.load(a, in_a);
  pieces.load(b, in_b);
#pragma unroll
  for (int k = 0; k < Count; ++k) {
    if (!pieces.has(k)) break;
    Compute<A> u[N];
    Compute<B> v[N];
    widen(in_a[k], u);
    widen(in_b[k], v);
    store_vec(y + pieces.at(k), vector_apply<Y>(f, u, v));
  }
  if (const int64_t i = pieces.rest(elements); i >= 0) {
    Compute<A> u[1];
    Compute<B> v[1];
    repeat(a + i, u);
    repeat(b + i, v);
    y[i] = vector_apply<Y>(f, u, v)[0];
  }
}

// Pieces of n elements a thread, for inputs of so many bytes in a piece together.
constexpr int vector_most(int n, int bytes) {
  return std::clamp(std::min(vector_bytes_in_flight / bytes, vector_elements / n), 1, 8);
}

// `most` pieces a thread once that still fills the device, one before. launch(blocks, each)
template <int N, int Most, class F>
void launch_pieces(const Launch& l, int64_t elements, F&& launch) {
  if (elements == 0) return;
  const int64_t pieces = elements / N;
  const int64_t full = int64_t(capability_of(l.problem).multiprocessors) * 8 * vector_threads * Most;
  const int each = pieces >= full ? Most : 1;
  const int64_t blocks = (pieces + vector_threads * each - 1) / (vector_threads * each);
  launch(unsigned(std::max<int64_t>(blocks, 1)), each);
  check_launch(l);
}

template <class Y, class F, class A>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a) {
  constexpr int n = vector_step<Y, A>(), most = vector_most(n, n * int(sizeof(A)));
  launch_pieces<n, most>(l, elements, [&](unsigned blocks, int each) {
    vector_unary<n, most><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, each, y, f, a);
  });
}

template <class Y, class F, class A, class B>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a, const B* b) {
  constexpr int n = vector_step<Y, A, B>(), most = vector_most(n, n * int(sizeof(A) + sizeof(B)));
  launch_pieces<n, most>(l, elements, [&](unsigned blocks, int each) {
    vector_binary<n, most><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, each, y, f, a, b);
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
    if (dtype_info(layouts[k]->dtype).block_elements > 1) return "elements that are not whole bytes";
  }
  v.rows = make_strided<K>(layouts);
  sort_axes(v.rows);
  if (v.rows.elements == 0 || v.rows.rank == 0) return "less than a piece";
  int64_t widest = 1;
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
__device__ inline void load_rows(const T* from, int step, Compute<T> (&to)[N]) {
  if (step)
    widen(load_vec<N>(from), to);
  else
    repeat(from, to);
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
  Compute<A> first[N];
  load_rows<N>(a + at[1] + col * v.step[1], v.step[1], first);
  if constexpr (K == 3) {
    Compute<B> second[N];
    load_rows<N>(b + at[2] + col * v.step[2], v.step[2], second);
    store_vec(y + at[0] + col, vector_apply<Y>(f, first, second));
  } else {
    store_vec(y + at[0] + col, vector_apply<Y>(f, first));
  }
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
