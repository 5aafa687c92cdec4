// src/core/int_ops.hpp - integer arithmetic without undefined behaviour: wrapping, zero divisors, shifts.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// Internal linkage: files of different instruction sets and of two backends include this.
#if defined(__CUDACC__)
#define RUDA_INT_OP  \
  template <class T> \
  __host__ __device__ static inline T
#else
#define RUDA_INT_OP  \
  template <class T> \
  __attribute__((always_inline)) static inline T
#endif

namespace ruda {

// The unsigned type that arithmetic on T is done in; never narrower than int, whose promotion would be
// signed.
template <int bytes>
struct WrapType {
  using type = uint32_t;
};
template <>
struct WrapType<8> {
  using type = uint64_t;
};
template <class T>
using Wrap = typename WrapType<sizeof(T)>::type;

template <class T>
inline constexpr bool signed_int = T(-1) < T(1);

// A bool, as T: comparing an unsigned value with zero makes compilers complain.
RUDA_INT_OP int_negative(T a) {
  if constexpr (signed_int<T>)
    return T(a < T(0));
  else
    return T(0);
}

RUDA_INT_OP int_add(T a, T b) { return T(Wrap<T>(a) + Wrap<T>(b)); }
RUDA_INT_OP int_sub(T a, T b) { return T(Wrap<T>(a) - Wrap<T>(b)); }
RUDA_INT_OP int_mul(T a, T b) { return T(Wrap<T>(a) * Wrap<T>(b)); }
RUDA_INT_OP int_min(T a, T b) { return b < a ? b : a; }
RUDA_INT_OP int_max(T a, T b) { return b > a ? b : a; }
RUDA_INT_OP int_abs(T a) { return int_negative(a) ? T(Wrap<T>(0) - Wrap<T>(a)) : a; }
RUDA_INT_OP int_sign(T a) { return T((a != T(0) && !int_negative(a)) - int_negative(a)); }

// Sign of a; 0 for b = 0.
RUDA_INT_OP int_rem(T a, T b) {
  if (b == T(0)) return T(0);
  if (signed_int<T> && b == T(-1)) return T(0);
  return T(a % b);
}
// Sign of b; 0 for b = 0.
RUDA_INT_OP int_mod(T a, T b) {
  const T r = int_rem(a, b);
  return r != T(0) && int_negative(r) != int_negative(b) ? T(r + b) : r;
}
RUDA_INT_OP int_floor_div(T a, T b) {
  if (b == T(0)) return T(0);
  if (signed_int<T> && b == T(-1)) return int_sub(T(0), a);
  const T q = T(a / b), r = T(a % b);
  return r != T(0) && int_negative(r) != int_negative(b) ? T(q - 1) : q;
}

RUDA_INT_OP int_shift_left(T a, T b) {
  return int_negative(b) || b >= T(8 * sizeof(T)) ? T(0) : T(Wrap<T>(a) << int(b));
}
RUDA_INT_OP int_shift_right(T a, T b) {
  const int width = int(8 * sizeof(T));
  const bool wide = int_negative(b) || b >= T(width);
  return T(a >> (wide ? width - 1 : int(b)) >> (wide && !signed_int<T>));
}

}  // namespace ruda

#undef RUDA_INT_OP
