// cuda/elementwise/strided.cuh - tensors walked over one index space, one element a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"
#include "runtime/launch.hpp"

namespace ruda::cuda {

constexpr int strided_threads = 256;

// Operand 0 gives the shape; the others may be broadcast to it. Passed to kernels by value.
template <int N>
struct Strided {
  int64_t elements;
  int rank;
  int dense;  // 1: element i of every operand lies at offset i
  int64_t shape[RUDA_MAX_RANK], strides[N][RUDA_MAX_RANK];
};

template <int N>
Strided<N> make_strided(const Layout* const (&operands)[N]) {
  const Layout& first = *operands[0];
  Strided<N> s{};
  s.elements = first.elements;
  s.rank = first.rank;
  s.dense = 1;
  for (int k = 0; k < N; ++k) s.dense &= operands[k]->contiguous && operands[k]->same_shape(first);
  for (int axis = 0; axis < first.rank; ++axis) {
    s.shape[axis] = first.shape[axis];
    for (int k = 0; k < N; ++k) {
      const int own = axis - (first.rank - operands[k]->rank);
      s.strides[k][axis] = own < 0 || operands[k]->shape[own] == 1 ? 0 : operands[k]->strides[own];
    }
  }
  return s;
}

// The starts of the rows along the last axis, which has the same extent in every operand.
template <int N>
Strided<N> make_strided_rows(const Layout* const (&operands)[N]) {
  Layout outer[N];
  const Layout* pointers[N];
  for (int k = 0; k < N; ++k) {
    outer[k] = *operands[k];
    outer[k].rank = operands[k]->rank - 1;
    pointers[k] = &outer[k];
  }
  Strided<N> s = make_strided<N>(pointers);
  s.dense = 0;
  s.elements = 1;
  for (int axis = 0; axis < s.rank; ++axis) s.elements *= s.shape[axis];
  return s;
}

// The grid's x axis holds every element, one a thread.
inline bool fits_grid(int64_t elements) { return elements <= int64_t(INT32_MAX) * strided_threads; }
inline unsigned strided_blocks(int64_t elements) {
  return unsigned((elements + strided_threads - 1) / strided_threads);
}

// Offsets of element i in all operands.
template <int N>
__device__ inline void strided_offsets(const Strided<N>& s, int64_t i, int64_t (&offsets)[N]) {
  if (s.dense) {
    for (int k = 0; k < N; ++k) offsets[k] = i;
    return;
  }
  for (int k = 0; k < N; ++k) offsets[k] = 0;
  for (int axis = s.rank - 1; axis >= 0; --axis) {
    const int64_t index = i % s.shape[axis];
    i /= s.shape[axis];
    for (int k = 0; k < N; ++k) offsets[k] += index * s.strides[k][axis];
  }
}

}  // namespace ruda::cuda
