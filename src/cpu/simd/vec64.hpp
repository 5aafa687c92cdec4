// src/cpu/simd/vec64.hpp - vectors of doubles, half as many lanes as there are floats at the level.
// SPDX-License-Identifier: Apache-2.0
//
// F64, I64 and U64 are vector types of the compiler, as F32, I32 and U32 are; comparing them gives all ones
// or all zeros in a lane at every level. The functions below are the rest.
#pragma once
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {

constexpr int lanes64 = lanes / 2;

typedef double F64 __attribute__((vector_size(4 * lanes)));
typedef int64_t I64 __attribute__((vector_size(4 * lanes)));
typedef uint64_t U64 __attribute__((vector_size(4 * lanes)));

RUDA_INLINE F64 set64(double x) {
#if RUDA_SIMD_AVX512
  return _mm512_set1_pd(x);
#elif RUDA_SIMD_AVX2
  return _mm256_set1_pd(x);
#else
  return F64{x, x};
#endif
}

RUDA_INLINE F64 load(const double* p) {
  F64 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RUDA_INLINE void store(double* p, F64 a) { __builtin_memcpy(p, &a, sizeof a); }
// The first `count` lanes, zero in the others.
RUDA_INLINE F64 load(const double* p, int count) {
  F64 r{};
  __builtin_memcpy(&r, p, (size_t)count * sizeof *p);
  return r;
}
RUDA_INLINE void store(double* p, F64 a, int count) { __builtin_memcpy(p, &a, (size_t)count * sizeof *p); }

// The first and the second half of the lanes as doubles, and back, rounded to nearest even.
RUDA_INLINE F64 widen_low(F32 a) {
#if RUDA_SIMD_AVX512
  return _mm512_cvtps_pd(_mm512_castps512_ps256(a));
#elif RUDA_SIMD_AVX2
  return _mm256_cvtps_pd(_mm256_castps256_ps128(a));
#elif defined(__x86_64__)
  return _mm_cvtps_pd(a);
#elif RUDA_SIMD_NEON
  return (F64)vcvt_f64_f32(vget_low_f32((float32x4_t)a));
#else
  return F64{a[0], a[1]};
#endif
}
RUDA_INLINE F64 widen_high(F32 a) {
#if RUDA_SIMD_AVX512
  return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
#elif RUDA_SIMD_AVX2
  return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
#elif defined(__x86_64__)
  return _mm_cvtps_pd(_mm_movehl_ps(a, a));
#elif RUDA_SIMD_NEON
  return (F64)vcvt_high_f64_f32((float32x4_t)a);
#else
  return F64{a[2], a[3]};
#endif
}
RUDA_INLINE F32 narrow(F64 low, F64 high) {
#if RUDA_SIMD_AVX512
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
#elif RUDA_SIMD_AVX2
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
#elif defined(__x86_64__)
  return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
#elif RUDA_SIMD_NEON
  return (F32)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)low), (float64x2_t)high);
#else
  return F32{(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
#endif
}

// a * b + c, rounded as fma of floats is
RUDA_INLINE F64 fma(F64 a, F64 b, F64 c) {
#if RUDA_SIMD_AVX512
  return _mm512_fmadd_pd(a, b, c);
#elif RUDA_SIMD_AVX2
  return _mm256_fmadd_pd(a, b, c);
#elif RUDA_SIMD_NEON
  return (F64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
  return a * b + c;
#endif
}

// a < b ? a : b and a > b ? a : b: where either is NaN, and of two zeros, the result is b.
RUDA_INLINE F64 min(F64 a, F64 b) {
#if RUDA_SIMD_AVX512
  return _mm512_min_pd(a, b);
#elif RUDA_SIMD_AVX2
  return _mm256_min_pd(a, b);
#elif defined(__x86_64__)
  return _mm_min_pd(a, b);
#else
  const I64 m = (I64)(a < b);
  return (F64)(((I64)a & m) | ((I64)b & ~m));
#endif
}
RUDA_INLINE F64 max(F64 a, F64 b) {
#if RUDA_SIMD_AVX512
  return _mm512_max_pd(a, b);
#elif RUDA_SIMD_AVX2
  return _mm256_max_pd(a, b);
#elif defined(__x86_64__)
  return _mm_max_pd(a, b);
#else
  const I64 m = (I64)(a > b);
  return (F64)(((I64)a & m) | ((I64)b & ~m));
#endif
}

// m ? a : b, lane by lane; m from a comparison
RUDA_INLINE F64 select(I64 m, F64 a, F64 b) {
#if RUDA_SIMD_AVX512
  return _mm512_mask_blend_pd(_mm512_movepi64_mask((__m512i)m), b, a);
#elif RUDA_SIMD_AVX2
  return _mm256_blendv_pd(b, a, (__m256d)m);
#else
  return (F64)(((I64)a & m) | ((I64)b & ~m));
#endif
}

RUDA_INLINE bool any(I64 m) {
#if RUDA_SIMD_AVX512
  return _mm512_movepi64_mask((__m512i)m) != 0;
#elif RUDA_SIMD_AVX2
  return _mm256_movemask_pd((__m256d)m) != 0;
#else
  return (m[0] | m[1]) != 0;
#endif
}

// NaN where either is NaN
RUDA_INLINE F64 min_nan(F64 a, F64 b) { return select((I64)(a != a), a, min(a, b)); }
RUDA_INLINE F64 max_nan(F64 a, F64 b) { return select((I64)(a != a), a, max(a, b)); }
RUDA_INLINE F64 abs(F64 a) { return (F64)((U64)a & 0x7fffffffffffffffu); }

// Towards zero, for magnitudes below 2^31.
RUDA_INLINE F64 trunc(F64 a) {
#if RUDA_SIMD_AVX512
  return _mm512_roundscale_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif RUDA_SIMD_AVX2
  return _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif RUDA_SIMD_SSE4
  return _mm_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
#elif defined(__x86_64__)
  return _mm_cvtepi32_pd(_mm_cvttpd_epi32(a));
#elif RUDA_SIMD_NEON
  return (F64)vrndq_f64((float64x2_t)a);
#else
  return F64{__builtin_trunc(a[0]), __builtin_trunc(a[1])};
#endif
}

}  // namespace ruda::cpu::RUDA_ISA
