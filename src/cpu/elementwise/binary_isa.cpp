// src/cpu/elementwise/binary_isa.cpp - vector rows of the binary functions on F32, F16 and BF16.
// SPDX-License-Identifier: Apache-2.0
#include "core/scalar_math.hpp"
#include "cpu/elementwise/binary_table.hpp"
#include "cpu/simd/pairs.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// What follows from the quotient. Below 2^28 one of two floats lies 2^-24 or more from a whole number that it
// is not, so rounded to a double it has the same whole part; that part times b, and the rest, are exact in a
// double. Other quotients, infinite ones among them, go lane by lane.
template <class Near, class Last, class Far>
RUDA_INLINE F32 by_quotient(F32 a, F32 b, Near near, Last last, Far far) {
  const F64 x[2] = {widen_low(a), widen_high(a)}, y[2] = {widen_low(b), widen_high(b)};
  const F64 q[2] = {x[0] / y[0], x[1] / y[1]};
  F32 r = last(a, b, narrow(near(x[0], y[0], q[0], trunc(q[0])), near(x[1], y[1], q[1], trunc(q[1]))));
  const Mask beyond = mask_not(less(abs(narrow(q[0], q[1])), set(0x1p28f)));
  for (uint32_t left = mask_bits(beyond); left; left &= left - 1) {
    const int i = __builtin_ctz(left);
    r[i] = far(a[i], b[i]);
  }
  return r;
}

RUDA_INLINE F64 rest(F64 x, F64 y, F64, F64 whole) {
  return select((I64)(whole == set64(0)), x, x - whole * y);  // y may be infinite
}
RUDA_INLINE F32 fmod(F32 a, F32 b) {
  return by_quotient(
      a, b, [](F64 x, F64 y, F64 q, F64 whole) { return rest(x, y, q, whole); },
      [](F32 x, F32, F32 r) { return copysign(r, x); },
      [](float x, float y) { return scalar_math::fmod(x, y); });
}
RUDA_INLINE F32 floor_mod(F32 a, F32 b) {
  return by_quotient(
      a, b, [](F64 x, F64 y, F64 q, F64 whole) { return rest(x, y, q, whole); },
      [](F32, F32 y, F32 r) {
        const Mask other = less(bits(r) ^ bits(y), set_i32(0));  // signs
        return copysign(select(mask_and(other, not_equal(r, zero())), r + y, r), y);
      },
      [](float x, float y) { return scalar_math::floor_mod(x, y); });
}
RUDA_INLINE F32 floor_div(F32 a, F32 b) {
  return by_quotient(
      a, b,
      [](F64 x, F64 y, F64 q, F64 whole) {
        // Of an infinite y the quotient is 0, and below 0 where the signs differ.
        const I64 below = (I64)(q == set64(0)) & (I64)(x != set64(0)) & ((I64)x ^ (I64)y) >> 63;
        return whole - select((I64)(whole > q) | below, set64(1), set64(0));
      },
      [](F32 x, F32 y, F32 r) { return copysign(r, from_bits(bits(x) ^ bits(y))); },
      [](float x, float y) { return scalar_math::floor_div(x, y); });
}

// Where both are NaN, which of them is passed on is the compiler's choice; 16-bit stores make them one.
template <class T, class F>
RUDA_INLINE F32 of(F32 a, F32 b) {
  return sizeof(T) == 4 ? one_nan(F::of(a, b)) : F::of(a, b);
}

template <class T, class F>
void dense(const void* a_data, const void* b_data, void* y_data, int64_t count) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  T* y = static_cast<T*>(y_data);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    F32 r[4];
    for (int k = 0; k < 4; k++) r[k] = of<T, F>(load(a + i + k * lanes), load(b + i + k * lanes));
    for (int k = 0; k < 4; k++) store(y + i + k * lanes, r[k]);
  }
  for (; i + lanes <= count; i += lanes) store(y + i, of<T, F>(load(a + i), load(b + i)));
  if (const int tail = int(count - i)) store(y + i, of<T, F>(load(a + i, tail), load(b + i, tail)), tail);
}

// Comparisons: bytes from floats; the loops over whole pieces are the compiler's to turn into vectors.
template <class F>
void compare_floats(const float* a, const float* b, uint8_t* y, int64_t count) {
  for (int64_t i = 0; i < count; i++) y[i] = F::of(a[i], b[i]);
}
template <class T>
void widen_piece(const T* from, float* to, int count) {
  int i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
  if (i < count) store(to + i, load(from + i, count - i), count - i);
}
template <class T, class F>
void compare(const void* a_data, const void* b_data, void* y_data, int64_t count) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  uint8_t* y = static_cast<uint8_t*>(y_data);
  if constexpr (sizeof(T) == 4) {
    compare_floats<F>(a, b, y, count);
  } else {
    constexpr int piece = 256;
    float wide_a[piece], wide_b[piece];
    for (int64_t i = 0; i < count; i += piece) {
      const int n = int(count - i < piece ? count - i : piece);
      widen_piece(a + i, wide_a, n);
      widen_piece(b + i, wide_b, n);
      compare_floats<F>(wide_a, wide_b, y + i, n);
    }
  }
}

#define RUDA_VECTOR(NAME, real)                       \
  struct NAME##_F {                                   \
    RUDA_INLINE F32 of(F32 a, F32 b) { return real; } \
  };
#define RUDA_COMPARE(NAME, real)                           \
  struct NAME##_F {                                        \
    RUDA_INLINE bool of(float a, float b) { return real; } \
  };
#define RUDA_NOTHING(NAME, real)

#define RUDA_MAKE_RI_S RUDA_VECTOR
#define RUDA_MAKE_R_S RUDA_VECTOR
#define RUDA_MAKE_RIB_S RUDA_VECTOR
#define RUDA_MAKE_RIB_B RUDA_COMPARE
#define RUDA_MAKE_IB_S RUDA_NOTHING
#define RUDA_MAKE_I_S RUDA_NOTHING
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_MAKE_##operands##_##result(NAME, real)
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW

#define RUDA_ENTRY_VECTOR(NAME) {dense<float, NAME##_F>, dense<f16, NAME##_F>, dense<bf16, NAME##_F>},
#define RUDA_ENTRY_COMPARE(NAME) {compare<float, NAME##_F>, compare<f16, NAME##_F>, compare<bf16, NAME##_F>},
#define RUDA_ENTRY_NOTHING(NAME) {nullptr, nullptr, nullptr},
#define RUDA_ENTRY_RI_S RUDA_ENTRY_VECTOR
#define RUDA_ENTRY_R_S RUDA_ENTRY_VECTOR
#define RUDA_ENTRY_RIB_S RUDA_ENTRY_VECTOR
#define RUDA_ENTRY_RIB_B RUDA_ENTRY_COMPARE
#define RUDA_ENTRY_IB_S RUDA_ENTRY_NOTHING
#define RUDA_ENTRY_I_S RUDA_ENTRY_NOTHING

}  // namespace

extern const BinaryRealTable binary_real_table{{
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_ENTRY_##operands##_##result(NAME)
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
}};

}  // namespace ruda::cpu::RUDA_ISA
