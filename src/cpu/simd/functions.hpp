// src/cpu/simd/functions.hpp - exp2, expm1, logarithms, hyperbolic and inverse functions of float vectors.
// SPDX-License-Identifier: Apache-2.0
//
// Polynomials are near-minimax fits made for these intervals. The bounds are the largest errors over every
// 1021st float against double, in units of the last place, with and without fused products; NaN gives NaN, a
// zero of an odd function keeps its sign.
#pragma once
#include "cpu/simd/math.hpp"

namespace ruda::cpu::RUDA_ISA {

// 2^x: 1.1 ulp, 1.6 of a subnormal; exact for whole numbers
RUDA_INLINE F32 exp2(F32 x) {
  const F32 clamped = min(set(129.0f), max(set(-151.0f), x));  // in this order a NaN passes
  const F32 n = nearest(clamped), r = clamped - n;
  F32 p = fma(set(1.547587599e-04f), r, set(1.340024872e-03f));
  p = fma(p, r, set(9.618005715e-03f));
  p = fma(p, r, set(5.550327897e-02f));
  p = fma(p, r, set(2.402265072e-01f));
  p = fma(p, r, set(6.931471825e-01f));
  return scale_by_power(fma(p, r, set(1.0f)), n);
}

// e^x - 1: 1.5 ulp
RUDA_INLINE F32 expm1(F32 x) {
  const F32 clamped = min(set(89.0f), max(set(-30.0f), x));
  const F32 n = nearest(clamped * 1.44269504f);
  const F32 r = fnma(n, set(-2.12194440e-4f), fnma(n, set(0.693359375f), clamped));
  F32 q = fma(set(1.991934987e-04f), r, set(1.394513063e-03f));
  q = fma(q, r, set(8.333263919e-03f));
  q = fma(q, r, set(4.166630283e-02f));
  q = fma(q, r, set(1.666666716e-01f));
  q = fma(q, r, set(0.5f));
  const F32 p = fma(r * r, q, r);
  // 2^n (1 + p) - 1, halved on the way so that 2^n is finite
  const F32 half = from_bits((to_int_trunc(n) + 126) << 23);
  const F32 large = fma(half, p, half - 0.5f) * 2.0f;
  return select(equal(x, zero()), x, select(equal(n, zero()), p, large));
}

// exponent * base + (f + rest) * factor, each constant in two parts: the first of `factor` has 12 bits, that
// of `base` 11, so that their products with the upper half of f and with the exponent are exact.
RUDA_INLINE F32 log_scaled(F32 x, float base, float base_low, float factor, float factor_low) {
  F32 exponent, f, rest;
  log_reduced(x, exponent, f, rest);
  const F32 high = from_bits(bits(f) & ~0xfff);
  F32 small = fma(f + rest, set(factor_low), (f - high) * factor);
  small = fma(exponent, set(base_low), fma(rest, set(factor), small));
  return log_ends(x, fma(exponent, set(base), high * factor) + small);
}

// 1.1 ulp
RUDA_INLINE F32 log2(F32 x) { return log_scaled(x, 1, 0, 0x1.716p+0f, -1.760528539e-04f); }

// 1.6 ulp
RUDA_INLINE F32 log10(F32 x) {
  return log_scaled(x, 0x1.344p-2f, 4.605039067e-06f, 0x1.bccp-2f, -3.168997137e-05f);
}

// log(1 + x): 0.9 ulp
RUDA_INLINE F32 log1p(F32 x) {
  const F32 s = x + 1.0f;
  // what the sum lost
  const F32 lost = select(less(abs(x), set(1.0f)), x - (s - 1.0f), 1.0f - (s - x));
  F32 exponent, f, rest;
  log_reduced(s, exponent, f, rest);
  const F32 r = fma(exponent, set(-2.12194440e-4f), rest + lost / s);
  const F32 sum = fma(exponent, set(0.693359375f), f + r);
  return select(equal(x, zero()), x, log_ends(s, sum));
}

// e^a / 2 for a >= 0, also where e^a is infinite: 1.2 ulp
RUDA_INLINE F32 half_exp(F32 a) {
  constexpr float ln2 = 0.693147182f, rest = 1.90465430e-9f;  // ln 2 = ln2 - rest
  const F32 y = a - ln2;
  const F32 lost = select(less(a, set(ln2)), a - (y + ln2), (a - y) - ln2);
  return exp(y, select(less(a, set(200.0f)), lost + rest, zero()));
}

// 1.6 ulp
RUDA_INLINE F32 sinh(F32 x) {
  const F32 a = abs(x), s = x * x;
  F32 p = fma(set(2.037740633e-04f), s, set(8.330211043e-03f));
  p = fma(p, s, set(1.666671783e-01f));
  const F32 small = fma(p * s, x, x);
  const F32 e = half_exp(a);
  return select(less(a, set(1.0f)), small, copysign(e - 0.25f / e, x));
}

// 1.4 ulp
RUDA_INLINE F32 cosh(F32 x) {
  const F32 e = half_exp(abs(x));
  return e + 0.25f / e;
}

// log(1 + e^x): 1.5 ulp
RUDA_INLINE F32 softplus(F32 x) { return max(x, zero()) + log1p(exp(neg(abs(x)))); }

// asin(s) / s - 1 for z = s^2 in 0..1/4
RUDA_INLINE F32 asin_series(F32 z) {
  F32 p = fma(set(4.221854731e-02f), z, set(2.414761111e-02f));
  p = fma(p, z, set(4.547709599e-02f));
  p = fma(p, z, set(7.495241612e-02f));
  return fma(p, z, set(1.666675359e-01f)) * z;
}

// 1.9 ulp. Above 1/2: pi / 2 - 2 asin(sqrt((1 - a) / 2)).
RUDA_INLINE F32 asin(F32 x) {
  const F32 a = abs(x);
  const Mask large = greater(a, set(0.5f));
  const F32 z = select(large, (1.0f - a) * 0.5f, a * a);
  const F32 s = select(large, sqrt(z), a);
  const F32 r = fma(asin_series(z), s, s);
  return copysign(select(large, (1.57079637f - (r + r)) - 4.37113883e-8f, r), x);
}

// 1.3 ulp
RUDA_INLINE F32 acos(F32 x) {
  const F32 a = abs(x);
  const Mask large = greater(a, set(0.5f));
  const F32 z = select(large, (1.0f - a) * 0.5f, a * a);
  const F32 s = select(large, sqrt(z), x);
  const F32 series = asin_series(z);
  const F32 middle = 1.57079637f - (s + fma(series, s, set(4.37113883e-8f)));
  const F32 twice = fma(series, s, s) * 2.0f;
  const F32 ends = select(less(x, zero()), (3.14159274f - twice) - 8.74227766e-8f, twice);
  return select(large, ends, middle);
}

// 1.8 ulp. Above tan(3 pi / 8) from 1 / a, above tan(pi / 8) from (a - 1) / (a + 1).
RUDA_INLINE F32 atan(F32 x) {
  const F32 a = abs(x);
  const Mask large = greater(a, set(2.41421356f)), middle = greater(a, set(0.414213562f));
  const F32 above = select(large, set(-1.0f), select(middle, a - 1.0f, a));
  const F32 below = select(large, a, select(middle, a + 1.0f, set(1.0f)));
  const F32 t = above / below, z = t * t;
  F32 p = fma(set(-6.083082408e-02f), z, set(1.059586182e-01f));
  p = fma(p, z, set(-1.424383074e-01f));
  p = fma(p, z, set(1.999848783e-01f));
  p = fma(p, z, set(-3.333331645e-01f)) * z;
  const F32 base = select(large, set(1.57079637f), select(middle, set(0.785398185f), zero()));
  const F32 rest = select(large, set(-4.37113883e-8f), select(middle, set(-2.18556941e-8f), zero()));
  const F32 r = base + (t + fma(p, t, rest));
  return copysign(select(is_nan(x), x, r), x);
}

// log(x + sqrt(x^2 + 1)): 1.5 ulp; above 1e9 log(2 a)
RUDA_INLINE F32 asinh(F32 x) {
  const F32 a = abs(x), square = a * a;
  const Mask large = greater(a, set(1e9f));
  const F32 r = log1p(select(large, a, a + square / (sqrt(square + 1.0f) + 1.0f)));
  return copysign(r + select(large, set(0.693147182f), zero()), x);
}

// log(x + sqrt(x^2 - 1)): 1.5 ulp
RUDA_INLINE F32 acosh(F32 x) {
  const F32 t = x - 1.0f;
  const Mask large = greater(x, set(1e9f));
  const F32 r = log1p(select(large, x, t + sqrt(fma(t, t, t + t))));
  return select(less(x, set(1.0f)), set(__builtin_nanf("")), r + select(large, set(0.693147182f), zero()));
}

// log((1 + x) / (1 - x)) / 2: 1.9 ulp
RUDA_INLINE F32 atanh(F32 x) {
  const F32 a = abs(x);
  return copysign(log1p((a + a) / (1.0f - a)) * 0.5f, x);
}

}  // namespace ruda::cpu::RUDA_ISA
