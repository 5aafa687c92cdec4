// src/cpu/simd/convert_run.hpp - a run of floats from one dtype to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {

template <class From, class To>
RUDA_INLINE void convert_run(const From* from, To* to, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
  if (const int tail = int(count - i)) store(to + i, load(from + i, tail), tail);
}
template <class T>
RUDA_INLINE void convert_run(const T* from, T* to, int64_t count) {
  __builtin_memcpy(to, from, size_t(count) * sizeof(T));
}

}  // namespace ruda::cpu::RUDA_ISA
