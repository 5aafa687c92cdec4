// src/cpu/simd/math.hpp - exp, log, tanh, erf and the activations built on them, for vectors of floats.
// SPDX-License-Identifier: Apache-2.0
//
// Polynomials are near-minimax fits made for these intervals. The bounds below are what the tests hold every
// level to, against double: in units of the last place of the result, subnormal results included. NaN gives
// NaN.
#pragma once
#include "cpu/simd/convert.hpp"

namespace ruda::cpu::RUDA_ISA {

// a * 2^n, rounded once; n within -200..200
RUDA_INLINE F32 scale_by_power(F32 a, F32 n) {
#if RUDA_SIMD_AVX512
  return _mm512_scalef_ps(a, n);
#else
  // Two factors, both normal: the first product is exact, the second rounds into the subnormals or to
  // infinity.
  const I32 whole = to_int_trunc(n), half = whole >> 1;
  return a * from_bits((half + 127) << 23) * from_bits((whole - half + 127) << 23);
#endif
}

// e^(x + low) for |low| far below |x|: the second word of an argument that a float cannot hold.
RUDA_INLINE F32 exp(F32 x, F32 low) {
  const F32 clamped = min(set(89.0f), max(set(-104.5f), x));  // in this order a NaN passes
  const F32 n = nearest(clamped * 1.44269504f);
  // ln 2 in two parts; the first has 9 trailing zero bits, so that n times it is exact
  const F32 r = fnma(n, set(-2.12194440e-4f), fnma(n, set(0.693359375f), clamped)) + low;
  F32 q = fma(set(1.394114224e-03f), r, set(8.363196626e-03f));
  q = fma(q, r, set(4.166637361e-02f));
  q = fma(q, r, set(1.666657627e-01f));
  q = fma(q, r, set(0.5f));
  return scale_by_power(fma(r * r, q, r) + 1.0f, n);
}

// e^x: 1.1 ulp. exp(-inf) = 0, above 88.72 infinity.
RUDA_INLINE F32 exp(F32 x) { return exp(x, zero()); }

// log(x) = exponent * ln 2 + (f + rest), f exact and |rest| below |f| / 4; x positive and finite
RUDA_INLINE void log_reduced(F32 x, F32& exponent, F32& f, F32& rest) {
  const Mask tiny = less(x, set(0x1p-126f));
  const F32 scaled = select(tiny, x * 0x1p24f, x);
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2))
  const I32 shifted = bits(scaled) - 0x3f3504f3;
  const I32 e = (shifted >> 23) - select(tiny, set_i32(24), set_i32(0));
  f = from_bits((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  exponent = to_float(e);
  const F32 square = f * f;
  F32 p = fma(set(6.746634841e-02f), f, set(-1.167575866e-01f));
  p = fma(p, f, set(1.188822463e-01f));
  p = fma(p, f, set(-1.240557656e-01f));
  p = fma(p, f, set(1.421954185e-01f));
  p = fma(p, f, set(-1.666799635e-01f));
  p = fma(p, f, set(2.000211924e-01f));
  p = fma(p, f, set(-2.500000894e-01f));
  p = fma(p, f, set(3.333331347e-01f));
  rest = fma(p * f, square, square * -0.5f);
}

// What a logarithm of x is where x is not positive and finite, else r.
RUDA_INLINE F32 log_ends(F32 x, F32 r) {
  r = select(equal(x, zero()), set(-__builtin_inff()), r);
  r = select(equal(x, set(__builtin_inff())), x, r);
  return select(less(x, zero()), set(__builtin_nanf("")), select(is_nan(x), x + x, r));
}

// Natural logarithm: 1 ulp. log(0) = -inf, log of a negative number is NaN.
RUDA_INLINE F32 log(F32 x) {
  F32 exponent, f, rest;
  log_reduced(x, exponent, f, rest);
  const F32 r = fma(exponent, set(-2.12194440e-4f), rest);
  return log_ends(x, fma(exponent, set(0.693359375f), f + r));
}

// 2 ulp
RUDA_INLINE F32 tanh(F32 x) {
  const F32 a = abs(x), s = x * x;
  F32 p = fma(set(-5.717025604e-03f), s, set(2.065056935e-02f));
  p = fma(p, s, set(-5.374349281e-02f));
  p = fma(p, s, set(1.333149076e-01f));
  p = fma(p, s, set(-3.333328366e-01f));
  const F32 small = fma(p * s, x, x);
  const F32 large = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return select(less(a, set(0.625f)), small, copysign(large, x));
}

// 1 / (1 + e^-x): 3 ulp, also where the result is tiny
RUDA_INLINE F32 sigmoid(F32 x) {
  const F32 e = exp(neg(abs(x)));
  return select(less(x, zero()), e, set(1.0f)) / (e + 1.0f);
}

// x * sigmoid(x): 4 ulp, or 2^-149 where that is more; silu(-inf) is NaN. Below -87 the sigmoid would be
// subnormal, so e^32 moves from it to x.
RUDA_INLINE F32 silu(F32 x) {
  const Mask far = less(x, set(-87.0f));
  const F32 e = exp(select(far, set(32.0f), zero()) - abs(x));
  return select(far, x * 1.26641655e-14f, x) * (select(less(x, zero()), e, set(1.0f)) / (e + 1.0f));
}

// e^(a^2) * erfc(a) for 0 <= a <= 10.1, above it meaningless but finite
RUDA_INLINE F32 scaled_erfc(F32 a) {
  const F32 t = 1.0f / fma(a, set(0.4f), set(1.0f));
  F32 p = fma(set(-3.851874918e-02f), t, set(2.493787110e-01f));
  p = fma(p, t, set(-6.282975078e-01f));
  p = fma(p, t, set(7.353566289e-01f));
  p = fma(p, t, set(-4.579239488e-01f));
  p = fma(p, t, set(3.784629107e-01f));
  p = fma(p, t, set(8.590458333e-02f));
  p = fma(p, t, set(2.268386483e-01f));
  p = fma(p, t, set(2.228983343e-01f));
  p = fma(p, t, set(2.259089947e-01f));
  return fma(p, t, set(-8.624309885e-06f));
}

// e^(-factor * a^2), factor a power of two: the rounding of a^2 would be multiplied by a^2 in the result, so
// what it loses is carried along.
RUDA_INLINE F32 exp_minus_square(F32 a, float factor) {
  const F32 high = from_bits(bits(a) & ~0xfff);  // its square is exact
  const F32 square = a * a;
  const F32 lost = (high * high - square) + (a - high) * (a + high);
  return exp(square * -factor, select(less(square, set(1e4f)), lost * -factor, zero()));
}

// 2 ulp
RUDA_INLINE F32 erf(F32 x) {
  const F32 a = abs(x), s = x * x;
  F32 p = fma(set(7.889114931e-05f), s, set(-8.020839887e-04f));
  p = fma(p, s, set(5.189535208e-03f));
  p = fma(p, s, set(-2.685444430e-02f));
  p = fma(p, s, set(1.128360033e-01f));
  p = fma(p, s, set(-3.761262596e-01f));
  p = fma(p, s, set(1.283791670e-01f));  // 2 / sqrt(pi) - 1
  const F32 small = fma(p, x, x);
  const F32 large = 1.0f - exp_minus_square(a, 1.0f) * scaled_erfc(a);
  return select(less(a, set(1.0f)), small, copysign(select(is_nan(x), x, large), x));
}

// The normal distribution function, (1 + erf(x / sqrt 2)) / 2: 8 ulp, also in the lower tail
RUDA_INLINE F32 normal_cdf(F32 x) {
  const F32 a = abs(x);
  const F32 tail = exp_minus_square(a, 0.5f) * scaled_erfc(a * 0.707106781f) * 0.5f;
  return select(greater(x, zero()), 1.0f - tail, tail);
}

// x * normal_cdf(x), the exact GELU: 9 ulp for x above -12.9, below |x| * 2^-149; gelu(-inf) is NaN
RUDA_INLINE F32 gelu(F32 x) { return x * normal_cdf(x); }

// The tanh form of GELU, x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) = x * sigmoid of twice that
// argument: the argument's rounding is multiplied by the argument, up to 200 ulp in the far lower tail, 8 ulp
// for x above -2
RUDA_INLINE F32 gelu_tanh(F32 x) {
  const F32 inner = fma(x * x, x * 0.044715f, x);
  return x * sigmoid(inner * 1.59576912f);
}

}  // namespace ruda::cpu::RUDA_ISA
