// src/cpu/simd/trig.hpp - sine and cosine of vectors of floats.
// SPDX-License-Identifier: Apache-2.0
//
// Bound: 1.5 ulp of the result. Polynomials are least-squares fits in r^2 for |r| <= pi / 4.
#pragma once
#include "cpu/simd/math.hpp"

namespace ruda::cpu::RUDA_ISA {

// Both at once for |x| <= 8192. x = n * pi / 2 + r + low: four of the five parts of pi / 2 have at most 11
// bits, so that n (at most 13 bits) times each is exact also where fma is not fused.
RUDA_INLINE void sincos_reduced(F32 x, F32& sin_of, F32& cos_of) {
  const F32 n = nearest(x * 0.636619772f);
  const F32 high = (x - n * 0x1.92p+0f) - n * 0x1.fbp-12f;
  const F32 third = n * 0x1.51p-22f;
  const F32 r = high - third;
  const F32 low = (((high - r) - third) - n * 0x1.0bp-34f) - n * 0x1.184698p-44f;
  const F32 square = r * r;
  F32 s = fma(set(2.718191126e-06f), square, set(-1.983932016e-04f));
  s = fma(s, square, set(8.333329111e-03f));
  s = fma(s, square, set(-1.666666716e-01f));
  const F32 sine = r + fma(s * square, r, low);
  F32 c = fma(set(2.443577978e-05f), square, set(-1.388734090e-03f));
  c = fma(c, square, set(4.166664556e-02f));
  // 1 - r^2 / 2 with what its rounding loses
  const F32 half = square * 0.5f, head = 1.0f - half;
  const F32 cosine = head + (((1.0f - head) - half) + fma(c * square, square, neg(r * low)));
  const I32 quadrant = to_int_nearest(n);
  const Mask swapped = not_equal(quadrant & 1, set_i32(0));
  const F32 a = select(swapped, cosine, sine), b = select(swapped, sine, cosine);
  sin_of = from_bits(ubits(a) ^ (((U32)quadrant & 2u) << 30));
  cos_of = from_bits(ubits(b) ^ (((U32)(quadrant + 1) & 2u) << 30));
}

// Larger arguments, infinities and NaN, a bit a lane: these lanes alone go through the C library, so that an
// element does not depend on its neighbours.
RUDA_INLINE uint32_t sincos_far(F32 x) { return mask_bits(mask_not(less_equal(abs(x), set(8192.0f)))); }

RUDA_INLINE F32 sin(F32 x) {
  F32 s, c;
  sincos_reduced(x, s, c);
  for (uint32_t far = sincos_far(x); far; far &= far - 1) {
    const int i = __builtin_ctz(far);
    s[i] = __builtin_sinf(x[i]);
  }
  return select(equal(x, zero()), x, s);  // keeps the sign of zero
}

RUDA_INLINE F32 cos(F32 x) {
  F32 s, c;
  sincos_reduced(x, s, c);
  for (uint32_t far = sincos_far(x); far; far &= far - 1) {
    const int i = __builtin_ctz(far);
    c[i] = __builtin_cosf(x[i]);
  }
  return c;
}

}  // namespace ruda::cpu::RUDA_ISA
