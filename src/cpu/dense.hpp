// src/cpu/dense.hpp - hands the pieces of a walk to kernels that want dense rows.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/walk.hpp"

#include <cstring>

namespace ruda::cpu {

// A walk whose operand 0 is written and whose others are read, with the bytes of their elements (1, 2, 4 or
// 8).
template <int N>
struct DenseWalk {
  Walk<N> walk;
  int64_t bytes[N];
  bool dense;  // every operand has rows without gaps
};

template <int N>
DenseWalk<N> make_dense_walk(const Layout* const (&operands)[N]) {
  DenseWalk<N> d;
  d.walk = make_walk<N>(operands);
  d.dense = true;
  for (int k = 0; k < N; ++k) {
    d.bytes[k] = dtype_info(operands[k]->dtype).block_bytes;
    d.dense &= d.walk.cols() == 1 || d.walk.step(k) == 1;
  }
  return d;
}

constexpr int64_t dense_piece = 512;  // elements of a buffer: three operands stay in the first-level cache

template <class T>
void copy_steps(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t count) {
  auto* t = static_cast<T*>(to);
  const auto* f = static_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) t[i * to_step] = f[i * from_step];
}

inline void copy_elements(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t count,
                          int64_t bytes) {
  switch (bytes) {
    case 1: return copy_steps<uint8_t>(to, to_step, from, from_step, count);
    case 2: return copy_steps<uint16_t>(to, to_step, from, from_step, count);
    case 4: return copy_steps<uint32_t>(to, to_step, from, from_step, count);
    default: return copy_steps<uint64_t>(to, to_step, from, from_step, count);
  }
}

// f(pointers, count) over dense pieces of one piece of a walk.
template <int N, class F>
void dense_pieces(const DenseWalk<N>& d, std::byte* const (&at)[N], int64_t count, F&& f) {
  alignas(64) std::byte buffer[N][dense_piece * 8];
  std::byte* pointers[N];
  const int64_t first = std::min(count, dense_piece);
  for (int k = 1; k < N; ++k)
    if (d.walk.step(k) == 0) copy_elements(buffer[k], 1, at[k], 0, first, d.bytes[k]);
  for (int64_t i = 0; i < count; i += dense_piece) {
    const int64_t n = std::min(dense_piece, count - i);
    for (int k = 0; k < N; ++k) {
      const int64_t step = d.walk.step(k);
      pointers[k] = step == 1 ? at[k] + i * d.bytes[k] : buffer[k];
      if (k > 0 && step != 1 && step != 0)
        copy_elements(buffer[k], 1, at[k] + i * step * d.bytes[k], step, n, d.bytes[k]);
    }
    f(pointers, n);
    const int64_t step = d.walk.step(0);
    if (step != 1) copy_elements(at[0] + i * step * d.bytes[0], step, buffer[0], 1, n, d.bytes[0]);
  }
}

// f(pointers, count), dense, on the context's threads; base[0] is written.
template <int N, class F>
void dense_parallel(const Launch& l, const DenseWalk<N>& d, std::byte* const (&base)[N], int64_t grain,
                    F&& f) {
  walk_parallel(l, d.walk, grain, [&](const int64_t* offsets, int64_t count) {
    std::byte* at[N];
    for (int k = 0; k < N; ++k) at[k] = base[k] + offsets[k] * d.bytes[k];
    if (d.dense) [[likely]]
      f(at, count);
    else
      dense_pieces(d, at, count, f);
  });
}

}  // namespace ruda::cpu
