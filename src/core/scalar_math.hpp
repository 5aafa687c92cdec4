// src/core/scalar_math.hpp - the words of the function tables for single floats and doubles.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#if defined(__CUDACC__)
#define RUDA_MATH __host__ __device__ static inline
#else
#define RUDA_MATH __attribute__((always_inline)) static inline
#endif

// Each word for float and for double; `f` is the suffix of the C library's function.
#define RUDA_MATH_C(word, function)                          \
  RUDA_MATH float word(float x) { return ::function##f(x); } \
  RUDA_MATH double word(double x) { return ::function(x); }

namespace ruda::scalar_math {

RUDA_MATH_C(sqrt, sqrt)
RUDA_MATH_C(exp, exp)
RUDA_MATH_C(exp2, exp2)
RUDA_MATH_C(expm1, expm1)
RUDA_MATH_C(log, log)
RUDA_MATH_C(log2, log2)
RUDA_MATH_C(log10, log10)
RUDA_MATH_C(log1p, log1p)
RUDA_MATH_C(sin, sin)
RUDA_MATH_C(cos, cos)
RUDA_MATH_C(tan, tan)
RUDA_MATH_C(asin, asin)
RUDA_MATH_C(acos, acos)
RUDA_MATH_C(atan, atan)
RUDA_MATH_C(sinh, sinh)
RUDA_MATH_C(cosh, cosh)
RUDA_MATH_C(tanh, tanh)
RUDA_MATH_C(asinh, asinh)
RUDA_MATH_C(acosh, acosh)
RUDA_MATH_C(atanh, atanh)
RUDA_MATH_C(erf, erf)
RUDA_MATH_C(erfc, erfc)
RUDA_MATH_C(floor, floor)
RUDA_MATH_C(ceil, ceil)
RUDA_MATH_C(nearest, rint)
RUDA_MATH_C(trunc, trunc)
RUDA_MATH_C(abs, fabs)

RUDA_MATH float pow(float a, float b) { return ::powf(a, b); }
RUDA_MATH double pow(double a, double b) { return ::pow(a, b); }
RUDA_MATH float fmod(float a, float b) { return ::fmodf(a, b); }
RUDA_MATH double fmod(double a, double b) { return ::fmod(a, b); }
RUDA_MATH float copysign(float a, float b) { return ::copysignf(a, b); }
RUDA_MATH double copysign(double a, double b) { return ::copysign(a, b); }
RUDA_MATH float atan2(float a, float b) { return ::atan2f(a, b); }
RUDA_MATH double atan2(double a, double b) { return ::atan2(a, b); }

#define RUDA_MATH_T  \
  template <class T> \
  RUDA_MATH
RUDA_MATH_T T neg(T x) { return -x; }
RUDA_MATH_T T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x != x ? x : T(0); }
RUDA_MATH_T T relu(T x) { return x < 0 ? T(0) : x; }
RUDA_MATH_T T min_nan(T a, T b) { return a != a || a < b ? a : b; }
RUDA_MATH_T T max_nan(T a, T b) { return a != a || a > b ? a : b; }
RUDA_MATH_T bool is_inf(T x) { return abs(x) == T(INFINITY); }
RUDA_MATH_T bool is_finite(T x) { return abs(x) < T(INFINITY); }

// Both with the signs and the infinities of Python's % and //.
RUDA_MATH_T T floor_mod(T a, T b) {
  const T r = fmod(a, b);
  return copysign(r != 0 && ((r < 0) != (b < 0)) ? r + b : r, b);
}
RUDA_MATH double floor_div(double a, double b) {
  if (b == 0) return a / b;
  const double r = fmod(a, b);
  double q = (a - r) / b;
  if (r != 0 && ((r < 0) != (b < 0))) q -= 1;
  if (q == 0) return copysign(0.0, a / b);
  const double whole = floor(q);
  return q - whole > 0.5 ? whole + 1 : whole;
}
// Correctly rounded. A double quotient of floats is rounded to a whole number above it at most, which the
// sign of the rest shows; from 2^53 on, where it is whole itself, it and its whole part round to the same
// float.
RUDA_MATH float floor_div(float a, float b) {
  const double q = double(a) / double(b);
  if (is_inf(a) && b != 0) return NAN;
  if (!(abs(q) < 0x1p53)) return float(q);
  const double whole = floor(q), rest = ::fma(-whole, double(b), double(a));
  const bool above = is_inf(b) ? a != 0 && (a < 0) != (b < 0) : rest != 0 && (rest < 0) != (b < 0);
  return float(above ? whole - 1 : whole);
}

#if defined(__CUDA_ARCH__)
// sigmoid(x) = rest * scale, scale a power of two: a product x * rest * scale is rounded to a subnormal but
// once. No branch, two estimates of the hardware (2^part and the reciprocal, each of one unit in the last
// place): e^-x = 2^part / scale, so that 1 / (1 + e^-x) = scale / (scale + 2^part).
struct ScaledSigmoid {
  float rest, scale;
};
RUDA_MATH ScaledSigmoid scaled_sigmoid(float x) {
  // x log2 e in whole steps within -126..30; above, sigmoid is 1. 0 for NaN, which `part` keeps.
  float within, power, rest;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(within) : "f"(x), "f"(1.44269504f / 156), "f"(126.5f / 156));
  const float shifted = __fmaf_rd(within, 156.0f, 12582913.0f);  // its last bits: the exponent field of scale
  const float scale = __int_as_float(__float_as_int(shifted) << 23), whole = shifted - 12583039.0f;
  const float part = fmaf(x, -1.92596303e-8f, fmaf(x, -1.44269502f, whole));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(part));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(rest) : "f"(scale + power));
  return {rest, scale};
}
RUDA_MATH float sigmoid(float x) {
  const ScaledSigmoid s = scaled_sigmoid(x);
  return s.rest * s.scale;
}
RUDA_MATH float times_sigmoid(float x, float y) {
  const ScaledSigmoid s = scaled_sigmoid(y);
  return x * s.rest * s.scale;
}
RUDA_MATH float rsqrt(float x) { return ::rsqrtf(x); }
#else
RUDA_MATH float rsqrt(float x) { return 1.0f / sqrt(x); }
#endif
RUDA_MATH double rsqrt(double x) { return 1.0 / sqrt(x); }
RUDA_MATH_T T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}
RUDA_MATH_T T times_sigmoid(T x, T y) { return x * sigmoid(y); }
RUDA_MATH_T T silu(T x) { return times_sigmoid(x, x); }
RUDA_MATH_T T softplus(T x) { return (x > 0 ? x : T(0)) + log1p(exp(-abs(x))); }
// The rounding of the argument counts 2 z^2 times in erfc(z), so for float its rest is put back to first
// order.
RUDA_MATH double gelu(double x) { return x * (0.5 * erfc(x * -0.70710678118654752440)); }
RUDA_MATH float gelu(float x) {
  const float z = x * -0.70710678f;
  float tail = erfc(z);
  if (abs(z) < 14.0f) {  // beyond it the tail is 0 or 2
    const float rest = fmaf(x, -0.70710678f, -z) + x * -1.2101617e-8f;
    tail = fmaf(-1.12837917f * exp(-z * z), rest, tail);
  }
  return x * (0.5f * tail);
}
RUDA_MATH_T T gelu_tanh(T x) {
  return times_sigmoid(x, T(1.5957691216057308) * (x + T(0.044715) * x * x * x));
}
#undef RUDA_MATH_T

}  // namespace ruda::scalar_math

#undef RUDA_MATH_C
#undef RUDA_MATH
