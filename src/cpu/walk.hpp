// src/cpu/walk.hpp - several tensors walked over one index space, with as few axes as their strides allow.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/device.hpp"

#include <algorithm>
#include <cstdlib>

namespace ruda::cpu {

// The last axis is the row; operand 0 gives the shape. Plain, so that a kernel's state can hold one.
template <int N>
struct Walk {
  int rank = 1;
  int64_t elements = 0;
  int64_t shape[RUDA_MAX_RANK];
  int64_t strides[N][RUDA_MAX_RANK];  // in elements; 0 repeats

  int64_t cols() const { return shape[rank - 1]; }
  int64_t step(int operand) const { return strides[operand][rank - 1]; }
};

// Other operands may have fewer axes (aligned at the last) and extents of 1 where operand 0 has more. With
// `in_order` the elements come in row-major order, else along the memory of operand 0.
template <int N>
Walk<N> make_walk(const Layout* const (&operands)[N], bool in_order = false) {
  Walk<N> w;
  const Layout& first = *operands[0];
  w.elements = first.elements;
  int rank = 0;
  for (int axis = 0; axis < first.rank; ++axis) {
    if (first.shape[axis] == 1) continue;
    w.shape[rank] = first.shape[axis];
    for (int k = 0; k < N; ++k) {
      const int own = axis - (first.rank - operands[k]->rank);
      w.strides[k][rank] = own < 0 || operands[k]->shape[own] == 1 ? 0 : operands[k]->strides[own];
    }
    ++rank;
  }
  if (rank == 0) {
    w.shape[0] = 1;
    for (int k = 0; k < N; ++k) w.strides[k][0] = 1;
    return w;
  }
  // Slowest axis of operand 0 first, so that permuted tensors are walked along their memory.
  const auto swap_axes = [&](int a, int b) {
    std::swap(w.shape[a], w.shape[b]);
    for (int k = 0; k < N; ++k) std::swap(w.strides[k][a], w.strides[k][b]);
  };
  for (int i = 1; i < rank && !in_order; ++i)
    for (int j = i; j > 0 && std::abs(w.strides[0][j - 1]) < std::abs(w.strides[0][j]); --j)
      swap_axes(j - 1, j);
  int last = 0;
  for (int axis = 1; axis < rank; ++axis) {
    bool joins = true;
    // An empty tensor may have strides of any size, and it has nothing to walk.
    for (int k = 0; k < N && joins; ++k)
      joins = !w.elements || w.strides[k][last] == w.strides[k][axis] * w.shape[axis];
    if (joins) {
      w.shape[last] = w.elements ? w.shape[last] * w.shape[axis] : 0;
    } else {
      w.shape[++last] = w.shape[axis];
    }
    for (int k = 0; k < N; ++k) w.strides[k][last] = w.strides[k][axis];
  }
  w.rank = last + 1;
  return w;
}

// f(offsets, count) for each piece of a row among the elements begin..end-1; offsets[k] is where operand k's
// piece starts, in elements.
template <int N, class F>
void walk_range(const Walk<N>& w, int64_t begin, int64_t end, F&& f) {
  const int64_t cols = w.cols();
  int64_t offsets[N];
  if (w.rank == 1) {
    for (int k = 0; k < N; ++k) offsets[k] = begin * w.strides[k][0];
    f(offsets, end - begin);
    return;
  }
  int64_t index[RUDA_MAX_RANK], row = begin / cols, col = begin % cols, base[N] = {};
  for (int axis = w.rank - 2; axis >= 0; --axis) {
    index[axis] = row % w.shape[axis];
    row /= w.shape[axis];
    for (int k = 0; k < N; ++k) base[k] += index[axis] * w.strides[k][axis];
  }
  while (begin < end) {
    const int64_t count = std::min(cols - col, end - begin);
    for (int k = 0; k < N; ++k) offsets[k] = base[k] + col * w.step(k);
    f(offsets, count);
    begin += count;
    col = 0;
    for (int axis = w.rank - 2; axis >= 0; --axis) {
      for (int k = 0; k < N; ++k) base[k] += w.strides[k][axis];
      if (++index[axis] < w.shape[axis]) break;
      index[axis] = 0;
      for (int k = 0; k < N; ++k) base[k] -= w.shape[axis] * w.strides[k][axis];
    }
  }
}

// The same on the context's threads.
template <int N, class F>
void walk_parallel(const Launch& l, const Walk<N>& w, int64_t grain, F&& f) {
  parallel(l, w.elements, grain, [&](int64_t begin, int64_t end) { walk_range(w, begin, end, f); });
}

}  // namespace ruda::cpu
