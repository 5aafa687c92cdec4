// cuda/elementwise/strided.cuh - tensors walked over one index space, one element a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <utility>

namespace ruda::cuda {

constexpr int strided_threads = 256;

inline bool plain_float(uint32_t dtype) {
  return dtype == RUDA_F32 || dtype == RUDA_F16 || dtype == RUDA_BF16;
}

// Operand 0 gives the shape; the others may be broadcast to it. Passed to kernels by value.
template <int N>
struct Strided {
  int64_t elements;
  int rank;
  int dense;  // 1: element i of every operand lies at offset i
  int64_t shape[RUDA_MAX_RANK], strides[N][RUDA_MAX_RANK];
};

// Leaves out axes of one element and joins neighbours that every operand walks as one axis. The order of the
// elements stays.
template <int N>
void merge_axes(Strided<N>& s) {
  int rank = 0;
  for (int axis = 0; axis < s.rank; ++axis) {
    if (s.shape[axis] == 1) continue;
    bool joins = rank > 0;
    for (int k = 0; k < N && joins; ++k) joins = s.strides[k][rank - 1] == s.shape[axis] * s.strides[k][axis];
    const int to = joins ? rank - 1 : rank++;
    s.shape[to] = joins ? s.shape[to] * s.shape[axis] : s.shape[axis];
    for (int k = 0; k < N; ++k) s.strides[k][to] = s.strides[k][axis];
  }
  s.rank = rank;
}

// Brings the axes into the order of operand 0's memory, so that neighbouring threads write neighbouring
// elements: only where the order of the elements means nothing.
template <int N>
void sort_axes(Strided<N>& s) {
  if (s.dense) return;
  const auto step = [&](int axis) {
    return s.strides[0][axis] < 0 ? -s.strides[0][axis] : s.strides[0][axis];
  };
  for (int i = 1; i < s.rank; ++i)
    for (int axis = i; axis > 0 && step(axis - 1) < step(axis); --axis) {
      std::swap(s.shape[axis - 1], s.shape[axis]);
      for (int k = 0; k < N; ++k) std::swap(s.strides[k][axis - 1], s.strides[k][axis]);
    }
  merge_axes(s);
}

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
  merge_axes(s);
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
  for (int axis = 0; axis + 1 < operands[0]->rank; ++axis) s.elements *= operands[0]->shape[axis];
  return s;
}

// The grid's x axis holds every element, one a thread.
inline bool fits_grid(int64_t elements) { return elements <= int64_t(INT32_MAX) * strided_threads; }
inline unsigned strided_blocks(int64_t elements) {
  return unsigned((elements + strided_threads - 1) / strided_threads);
}

template <class Index, int N>
__device__ inline void walk_axes(const Strided<N>& s, Index i, int64_t (&offsets)[N]) {
  for (int k = 0; k < N; ++k) offsets[k] = 0;
  for (int axis = s.rank - 1; axis > 0; --axis) {
    const Index rest = i / Index(s.shape[axis]);
    const int64_t index = int64_t(i - rest * Index(s.shape[axis]));
    i = rest;
    for (int k = 0; k < N; ++k) offsets[k] += index * s.strides[k][axis];
  }
  if (s.rank)
    for (int k = 0; k < N; ++k) offsets[k] += int64_t(i) * s.strides[k][0];
}

// Offsets of element i in all operands.
template <int N>
__device__ inline void strided_offsets(const Strided<N>& s, int64_t i, int64_t (&offsets)[N]) {
  if (s.dense) {
    for (int k = 0; k < N; ++k) offsets[k] = i;
    return;
  }
  if (s.elements <= INT32_MAX)  // divisions of 32 bits cost a fraction of those of 64
    walk_axes(s, uint32_t(i), offsets);
  else
    walk_axes(s, uint64_t(i), offsets);
}

}  // namespace ruda::cuda
