// src/cpu/simd/pairs.hpp - power and angle of two vectors of floats.
// SPDX-License-Identifier: Apache-2.0
//
// Polynomials are near-minimax fits made for these intervals. The bounds are what the tests hold every level
// to, against double, in units of the last place, subnormal results included. Ends (zeros, infinities, NaN)
// are those of C.
#pragma once
#include "cpu/simd/math.hpp"
#include "cpu/simd/vec64.hpp"

namespace ruda::cpu::RUDA_ISA {

// 2^(y * (exponent + log2(1 + f))) in double; rough is 1 / (2 + f) to about 22 bits
RUDA_INLINE F64 power_of_parts(F64 exponent, F64 f, F64 rough, F64 y) {
  // log2(1 + f) = s * P(s^2), s = f / (2 + f), to 2^-37
  const F64 missing = 1.0 - rough * (f + 2.0);  // the product is exact
  const F64 first = f * rough, s = fma(first, missing, first), z = s * s;
  F64 p = fma(set64(0x1.5ce851f80852dp-2), z, set64(0x1.a58d88fdfb105p-2));
  p = fma(p, z, set64(0x1.27777fe7e2be2p-1));
  p = fma(p, z, set64(0x1.ec709d12d0aeap-1));
  p = fma(p, z, set64(0x1.71547652bedf1p+1));
  const F64 log2 = fma(s, p, exponent);
  const F64 t = max(set64(-160.0), min(set64(130.0), log2 * y));
  // The nearest whole number stands in the low bits of the sum.
  const F64 shifted = t + 0x1.8p52, r = t - (shifted - 0x1.8p52);
  F64 q = fma(set64(0x1.41d2a7bd23b0ep-13), r, set64(0x1.5f4596d18ed28p-10));
  q = fma(q, r, set64(0x1.3b2dbcff9f8fbp-7));
  q = fma(q, r, set64(0x1.c6aed4627b9d5p-5));
  q = fma(q, r, set64(0x1.ebfbdada32846p-3));
  q = fma(q, r, set64(0x1.62e430c8281fcp-1));
  q = fma(q, r, set64(0x1.0000000262af2p+0));
  return (F64)((U64)q + ((U64)shifted << 52));
}

// For x positive and finite and y finite; anything else gives something.
RUDA_INLINE F32 pow_inside(F32 x, F32 y) {
  const Mask tiny = less(x, set(0x1p-126f));
  const F32 scaled = select(tiny, x * 0x1p24f, x);
  // x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), f exact
  const I32 shifted = bits(scaled) - 0x3f3504f3;
  const F32 exponent = to_float((shifted >> 23) - select(tiny, set_i32(24), set_i32(0)));
  const F32 f = from_bits((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const F32 rough = 1.0f / (f + 2.0f);
  return narrow(power_of_parts(widen_low(exponent), widen_low(f), widen_low(rough), widen_low(y)),
                power_of_parts(widen_high(exponent), widen_high(f), widen_high(rough), widen_high(y)));
}

// The result for any operands from r, that of the magnitude of x.
RUDA_INLINE F32 pow_ends(F32 x, F32 y, F32 r) {
  const F32 infinity = set(__builtin_inff()), one = set(1.0f), size = abs(x), half = y * 0.5f;
  const Mask whole = equal(trunc(y), y), odd = mask_and(whole, not_equal(trunc(half), half));
  const Mask down = less(y, zero());
  r = select(equal(size, zero()), select(down, infinity, zero()), r);
  r = select(equal(size, infinity), select(down, zero(), infinity), r);
  r = select(equal(size, one), one, r);
  r = from_bits(ubits(r) | (ubits(x) & select(odd, set_u32(0x80000000u), set_u32(0))));
  const Mask between = mask_and(less(x, zero()), mask_and(less(size, infinity), mask_not(whole)));
  r = select(between, set(__builtin_nanf("")), r);
  r = select(mask_or(is_nan(x), is_nan(y)), x + y, r);
  return select(mask_or(equal(x, one), equal(y, zero())), one, r);
}

// x to the power y: 0.55 ulp
RUDA_INLINE F32 pow(F32 x, F32 y) {
  const F32 r = pow_inside(abs(x), y);
  const F32 infinity = set(__builtin_inff());
  const Mask inside = mask_and(mask_and(greater(x, zero()), less(x, infinity)), less(abs(y), infinity));
  if (all(inside)) return r;
  return pow_ends(x, y, r);
}

// Angle of the point (x, y): 1.6 ulp. From that of the smaller magnitude over the larger one, by quadrants;
// half pi and pi have two parts, the second of which comes in before the last rounding but one.
RUDA_INLINE F32 atan2(F32 y, F32 x) {
  const F32 u = abs(y), v = abs(x);
  const Mask steep = greater(u, v), behind = less(bits(x), set_i32(0));
  const F32 above = select(steep, v, u);
  F32 t = above / select(steep, u, v);
  t = select(is_nan(t), min(above, set(1.0f)), t);  // of two zeros 0, of two infinities 1
  const F32 z = t * t;
  F32 p = fma(set(-1.793118543e-03f), z, set(1.091234758e-02f));
  p = fma(p, z, set(-3.117362596e-02f));
  p = fma(p, z, set(5.795334652e-02f));
  p = fma(p, z, set(-8.403201401e-02f));
  p = fma(p, z, set(1.095210090e-01f));
  p = fma(p, z, set(-1.426422596e-01f));
  p = fma(p, z, set(1.999854743e-01f));
  p = fma(p, z, set(-3.333329856e-01f));
  const F32 base = select(steep, set(1.57079637f), select(behind, set(3.14159274f), zero()));
  const F32 rest = select(steep, set(-4.37113883e-8f), select(behind, set(-8.74227766e-8f), zero()));
  const U32 away = select((Mask)(steep ^ behind), set_u32(0x80000000u), set_u32(0));
  const F32 angle = t + fma(t * z, p, from_bits(ubits(rest) ^ away));
  const F32 r = copysign(base + from_bits(ubits(angle) ^ away), y);
  return select(mask_or(is_nan(x), is_nan(y)), x + y, r);
}

}  // namespace ruda::cpu::RUDA_ISA
