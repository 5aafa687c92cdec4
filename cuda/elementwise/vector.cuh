// cuda/elementwise/vector.cuh - y[i] = f(a[i]) and y[i] = f(a[i], b[i]) over dense operands, in 16-byte
// accesses.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/vec.cuh"
#include "runtime/launch.hpp"

namespace ruda::cuda {

constexpr int vector_threads = 256;

inline Verdict vector_fits(int64_t elements) {
  return elements > int64_t(INT32_MAX) * vector_threads ? "more elements than a grid holds" : nullptr;
}

// A piece is as many elements as the narrowest type has in 16 bytes. A thread takes Pieces of them, a block's
// width apart, and loads all before it uses the first. The last elements, less than a piece, go one by one. f
// is called as f.template operator()<Y>(a...). y may be one of the inputs.
template <int N, int Pieces, class Y, class F, class A>
__global__ void __launch_bounds__(vector_threads)
    vector_unary(int64_t elements, Y* y, const F f, const A* a) {
  const int64_t pieces = elements / N, first = int64_t(blockIdx.x) * (vector_threads * Pieces) + threadIdx.x;
  A in[Pieces][N];
#pragma unroll
  for (int k = 0; k < Pieces; ++k)
    if (first + k * vector_threads < pieces) load_run(a + (first + k * vector_threads) * N, in[k]);
#pragma unroll
  for (int k = 0; k < Pieces; ++k) {
    if (first + k * vector_threads >= pieces) break;
    Y out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = f.template operator()<Y>(in[k][i]);
    store_run(y + (first + k * vector_threads) * N, out);
  }
  const int64_t rest = pieces * N + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < elements) y[rest] = f.template operator()<Y>(a[rest]);
}

template <int N, int Pieces, class Y, class F, class A, class B>
__global__ void __launch_bounds__(vector_threads)
    vector_binary(int64_t elements, Y* y, const F f, const A* a, const B* b) {
  const int64_t pieces = elements / N, first = int64_t(blockIdx.x) * (vector_threads * Pieces) + threadIdx.x;
  A in_a[Pieces][N];
  B in_b[Pieces][N];
#pragma unroll
  for (int k = 0; k < Pieces; ++k)
    if (first + k * vector_threads < pieces) {
      load_run(a + (first + k * vector_threads) * N, in_a[k]);
      load_run(b + (first + k * vector_threads) * N, in_b[k]);
    }
#pragma unroll
  for (int k = 0; k < Pieces; ++k) {
    if (first + k * vector_threads >= pieces) break;
    Y out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) out[i] = f.template operator()<Y>(in_a[k][i], in_b[k][i]);
    store_run(y + (first + k * vector_threads) * N, out);
  }
  const int64_t rest = pieces * N + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && rest < elements) y[rest] = f.template operator()<Y>(a[rest], b[rest]);
}

template <class... T>
constexpr int vector_step() {
  int step = 1;
  for (int size : {int(sizeof(T))...}) step = 16 / size > step ? 16 / size : step;
  return step;
}

// Two pieces a thread once that still fills the device, one before.
template <int N, class F>
void launch_pieces(const Launch& l, int64_t elements, F&& launch) {
  if (elements == 0) return;
  const int64_t pieces = elements / N;
  const int64_t full = int64_t(capability_of(l.problem).multiprocessors) * 8 * vector_threads * 2;
  const int each = pieces >= full ? 2 : 1;
  const int64_t blocks = (pieces + vector_threads * each - 1) / (vector_threads * each);
  launch(unsigned(blocks ? blocks : 1), each);
  check_launch(l);
}

template <class Y, class F, class A>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a) {
  constexpr int n = vector_step<Y, A>();
  launch_pieces<n>(l, elements, [&](unsigned blocks, int each) {
    if (each == 2)
      vector_unary<n, 2><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a);
    else
      vector_unary<n, 1><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a);
  });
}

template <class Y, class F, class A, class B>
void launch_vector(const Launch& l, int64_t elements, Y* y, const F& f, const A* a, const B* b) {
  constexpr int n = vector_step<Y, A, B>();
  launch_pieces<n>(l, elements, [&](unsigned blocks, int each) {
    if (each == 2)
      vector_binary<n, 2><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a, b);
    else
      vector_binary<n, 1><<<blocks, vector_threads, 0, stream_of(l)>>>(elements, y, f, a, b);
  });
}

}  // namespace ruda::cuda
