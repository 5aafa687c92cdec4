// src/cpu/reduce/reduce_int_isa.cpp - reductions of dense integers, in loops that compilers make vectors of.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/reduce_table.hpp"
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Sums and products wrap, so they may be taken in unsigned 64-bit lanes, in any order.
struct Sum {
  RUDA_INLINE uint64_t join(uint64_t a, uint64_t b) { return a + b; }
};
struct Prod {
  RUDA_INLINE uint64_t join(uint64_t a, uint64_t b) { return a * b; }
};
template <class T, class Op>
void wrapping(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  uint64_t r = (uint64_t)joined->value;
  for (int64_t i = 0; i < count; i++) r = Op::join(r, (uint64_t)(int64_t)x[i]);
  joined->value = (int64_t)r;
}

struct Max {
  template <class T>
  RUDA_INLINE bool beats(T a, T b) {
    return a > b;
  }
};
struct Min {
  template <class T>
  RUDA_INLINE bool beats(T a, T b) {
    return a < b;
  }
};
// The extreme of dense elements, in the lanes of their own width.
template <class T, class Op>
T extreme_of(const T* x, int64_t count) {
  T r = x[0];
  for (int64_t i = 1; i < count; i++) r = Op::beats(x[i], r) ? x[i] : r;
  return r;
}
// 64 bits of a value, which are compared as signed or unsigned as its type is.
template <class T>
struct Wide {
  static constexpr bool is_signed = (T)-1 < (T)1;
  RUDA_INLINE bool less(int64_t a, int64_t b) { return is_signed ? a < b : (uint64_t)a < (uint64_t)b; }
};
template <class T, class Op>
RUDA_INLINE bool wide_beats(int64_t a, int64_t b) {
  return Op::beats(1, 0) ? Wide<T>::less(b, a) : Wide<T>::less(a, b);
}

template <class T, class Op>
void extreme(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  if (count <= 0) return;
  const int64_t r = (int64_t)extreme_of<T, Op>(static_cast<const T*>(x_data), count);
  if (wide_beats<T, Op>(r, joined->value)) joined->value = r;
}

// Looks for the place of the extreme only where it beats what was there.
template <class T, class Op>
void place(const void* x_data, int64_t count, int64_t first, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  if (count <= 0) return;
  const T r = extreme_of<T, Op>(x, count);
  if (joined->index >= 0 && !wide_beats<T, Op>((int64_t)r, joined->value)) return;
  int64_t at = 0;
  while (x[at] != r) at++;
  joined->value = (int64_t)r;
  joined->index = first + at;
}

template <class T>
void max_abs(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  int64_t r = joined->value;
  for (int64_t i = 0; i < count; i++) {
    // of the lowest I64 wraps to itself
    const int64_t wide = (int64_t)x[i],
                  size = Wide<T>::is_signed && wide < 0 ? (int64_t)(0 - (uint64_t)wide) : wide;
    r = Wide<T>::less(r, size) ? size : r;
  }
  joined->value = r;
}

template <class T, bool all>
void truth(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  T found = 0;
  for (int64_t i = 0; i < count; i++) found = (T)(found | (all ? (T)(x[i] == 0) : x[i]));
  if (found) joined->value = all ? 0 : 1;
}

#define RUDA_TYPES(f, ...)                                                                               \
  {                                                                                                      \
    f<int8_t __VA_ARGS__>, f<uint8_t __VA_ARGS__>, f<int16_t __VA_ARGS__>, f<uint16_t __VA_ARGS__>,      \
        f<int32_t __VA_ARGS__>, f<uint32_t __VA_ARGS__>, f<int64_t __VA_ARGS__>, f<uint64_t __VA_ARGS__> \
  }
#define RUDA_WITH(op) , op
#define RUDA_NONE

}  // namespace

// MEAN takes floats only.
extern const ReduceIntTable reduce_int_table{{RUDA_TYPES(wrapping, RUDA_WITH(Sum)),
                                              {},
                                              RUDA_TYPES(wrapping, RUDA_WITH(Prod)),
                                              RUDA_TYPES(extreme, RUDA_WITH(Max)),
                                              RUDA_TYPES(extreme, RUDA_WITH(Min)),
                                              RUDA_TYPES(max_abs, RUDA_NONE),
                                              RUDA_TYPES(place, RUDA_WITH(Max)),
                                              RUDA_TYPES(place, RUDA_WITH(Min)),
                                              RUDA_TYPES(truth, RUDA_WITH(false)),
                                              RUDA_TYPES(truth, RUDA_WITH(true))}};

}  // namespace ruda::cpu::RUDA_ISA
