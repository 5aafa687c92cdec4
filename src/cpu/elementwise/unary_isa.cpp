// src/cpu/elementwise/unary_isa.cpp - vector rows of the unary functions.
// SPDX-License-Identifier: Apache-2.0
#include "core/int_ops.hpp"
#include "core/scalar_math.hpp"
#include "cpu/elementwise/unary_table.hpp"
#include "cpu/simd/functions.hpp"
#include "cpu/simd/simd.hpp"
#include "cpu/simd/trig.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

RUDA_INLINE F32 sign(F32 x) {
  const F32 one = copysign(set(1.0f), x);
  return select(is_nan(x), x, select(equal(x, zero()), x, one));
}
RUDA_INLINE F32 relu(F32 x) { return select(less(x, zero()), zero(), x); }
RUDA_INLINE F32 rsqrt(F32 x) { return 1.0f / sqrt(x); }
RUDA_INLINE F32 tan(F32 x) {
  F32 s, c;
  sincos_reduced(x, s, c);
  F32 r = s / c;
  for (uint32_t far = sincos_far(x); far; far &= far - 1) {
    const int i = __builtin_ctz(far);
    r[i] = __builtin_tanf(x[i]);
  }
  return select(equal(x, zero()), x, r);
}

template <class T, class F>
void dense(const void* x_data, void* y_data, int64_t count) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const int64_t whole = count / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) store(y + i, F::of(load(x + i)));
  if (const int tail = int(count - whole)) store(y + whole, F::of(load(x + whole, tail)), tail);
}

template <class T, class F>
void test(const void* x_data, void* y_data, int64_t count) {
  const T* x = static_cast<const T*>(x_data);
  uint8_t* y = static_cast<uint8_t*>(y_data);
  for (int64_t i = 0; i < count; i += lanes) {
    const int n = int(count - i < lanes ? count - i : lanes);
    const F32 v = n == lanes ? load(x + i) : load(x + i, n);
    for (int k = 0; k < n; k++) y[i + k] = F::of(v[k]);
  }
}

template <class T, class F>
void dense_int(const void* x_data, void* y_data, int64_t count) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  for (int64_t i = 0; i < count; i++) y[i] = F::of(x[i]);
}

#define RUDA_VECTOR_FN(NAME, real)             \
  struct NAME##_F {                            \
    RUDA_INLINE F32 of(F32 x) { return real; } \
  };
#define RUDA_TEST_FN(NAME, real)    \
  struct NAME##_F {                 \
    RUDA_INLINE bool of(float x) {  \
      using scalar_math::is_finite; \
      using scalar_math::is_inf;    \
      return real;                  \
    }                               \
  };
#define RUDA_INT_FN(NAME, integer) \
  struct NAME##_I {                \
    template <class T>             \
    RUDA_INLINE T of(T x) {        \
      return integer;              \
    }                              \
  };
#define RUDA_MAKE_RI_S(NAME, real, integer) RUDA_VECTOR_FN(NAME, real) RUDA_INT_FN(NAME, integer)
#define RUDA_MAKE_R_S(NAME, real, integer) RUDA_VECTOR_FN(NAME, real)
#define RUDA_MAKE_R_B(NAME, real, integer) RUDA_TEST_FN(NAME, real)
#define RUDA_MAKE_IB_S(NAME, real, integer) RUDA_INT_FN(NAME, integer)
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_MAKE_##operands##_##result(NAME, real, integer)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW

#define RUDA_REALS(NAME) dense<float, NAME##_F>, dense<f16, NAME##_F>, dense<bf16, NAME##_F>
#define RUDA_INTS(NAME)                                                                           \
  dense_int<int8_t, NAME##_I>, dense_int<uint8_t, NAME##_I>, dense_int<int16_t, NAME##_I>,        \
      dense_int<uint16_t, NAME##_I>, dense_int<int32_t, NAME##_I>, dense_int<uint32_t, NAME##_I>, \
      dense_int<int64_t, NAME##_I>, dense_int<uint64_t, NAME##_I>
#define RUDA_ENTRY_RI_S(NAME) {RUDA_REALS(NAME), nullptr, RUDA_INTS(NAME)},
#define RUDA_ENTRY_R_S(NAME) {RUDA_REALS(NAME)},
#define RUDA_ENTRY_R_B(NAME) {test<float, NAME##_F>, test<f16, NAME##_F>, test<bf16, NAME##_F>},
#define RUDA_ENTRY_IB_S(NAME) {nullptr, nullptr, nullptr, nullptr, RUDA_INTS(NAME)},

}  // namespace

extern const UnaryTable unary_table{{
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_ENTRY_##operands##_##result(NAME)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
}};

}  // namespace ruda::cpu::RUDA_ISA
