// src/cpu/simd/vec.hpp - vectors of 32-bit lanes, as wide as the level RUDA_ISA of the including file.
// SPDX-License-Identifier: Apache-2.0
//
// For files that are compiled once a level, with -DRUDA_ISA=<level> and the level's flags; everything is in
// namespace ruda::cpu::<level> and always inlined, so such an object holds no symbol that another level's
// could replace. F32, I32 and U32 are vector types of the compiler: + - * / (F32) and + - * & | ^ ~ << >>
// (I32, U32) are the lane-wise operators, >> of I32 keeps the sign. The functions below are the rest.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
// GCC 12 sees the deliberate "undefined" operands inside its own header as uninitialised (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifndef RUDA_ISA
#error "RUDA_ISA is not defined: this header is for files that are compiled once an instruction set level"
#endif

#define RUDA_ISA_ID_scalar 0
#define RUDA_ISA_ID_neon 1
#define RUDA_ISA_ID_sse4 2
#define RUDA_ISA_ID_avx2 3
#define RUDA_ISA_ID_avx512 4
#define RUDA_ISA_ID_avx512bf16 5
#define RUDA_ISA_ID_amx 6
#define RUDA_ISA_CAT_(a, b) a##b
#define RUDA_ISA_CAT(a, b) RUDA_ISA_CAT_(a, b)
#define RUDA_ISA_ID RUDA_ISA_CAT(RUDA_ISA_ID_, RUDA_ISA)

#define RUDA_SIMD_SCALAR (RUDA_ISA_ID == 0)
#define RUDA_SIMD_NEON (RUDA_ISA_ID == 1)
#define RUDA_SIMD_SSE4 (RUDA_ISA_ID == 2)
#define RUDA_SIMD_AVX2 (RUDA_ISA_ID == 3)
#define RUDA_SIMD_AVX512 (RUDA_ISA_ID >= 4)

#if RUDA_SIMD_AVX512
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512DQ__) || !defined(__AVX512VL__)
#error "RUDA_ISA=avx512 needs -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd and the flags of avx2"
#endif
#elif RUDA_SIMD_AVX2
#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "RUDA_ISA=avx2 needs -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt"
#endif
#elif RUDA_SIMD_SSE4 && !defined(__SSE4_2__)
#error "RUDA_ISA=sse4 needs -msse4.2 -mpopcnt"
#endif

#define RUDA_INLINE static inline __attribute__((always_inline))

namespace ruda::cpu::RUDA_ISA {

#if RUDA_SIMD_AVX512
constexpr int lanes = 16;
#elif RUDA_SIMD_AVX2
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float F32 __attribute__((vector_size(4 * lanes)));
typedef int32_t I32 __attribute__((vector_size(4 * lanes)));
typedef uint32_t U32 __attribute__((vector_size(4 * lanes)));

#if RUDA_SIMD_AVX512
typedef __mmask16 Mask;  // one bit a lane
#else
typedef I32 Mask;  // all ones or all zeros in a lane
#endif

// ---- constants and reinterpretation

RUDA_INLINE F32 set(float x) {
#if RUDA_SIMD_AVX512
  return _mm512_set1_ps(x);
#elif RUDA_SIMD_AVX2
  return _mm256_set1_ps(x);
#else
  return F32{x, x, x, x};
#endif
}
RUDA_INLINE I32 set_i32(int32_t x) { return x - I32{}; }
RUDA_INLINE U32 set_u32(uint32_t x) { return x - U32{}; }
RUDA_INLINE F32 zero() { return F32{}; }
RUDA_INLINE I32 bits(F32 a) { return (I32)a; }
RUDA_INLINE U32 ubits(F32 a) { return (U32)a; }
RUDA_INLINE F32 from_bits(I32 a) { return (F32)a; }
RUDA_INLINE F32 from_bits(U32 a) { return (F32)a; }

// 0, 1, 2, ...
RUDA_INLINE I32 iota() {
#if RUDA_SIMD_AVX512
  return I32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif RUDA_SIMD_AVX2
  return I32{0, 1, 2, 3, 4, 5, 6, 7};
#else
  return I32{0, 1, 2, 3};
#endif
}

// ---- masks

// True in the lanes 0..count-1; count may be anything.
RUDA_INLINE Mask first(int count) {
#if RUDA_SIMD_AVX512
  return count >= 16 ? (Mask)0xffff : count <= 0 ? (Mask)0 : (Mask)((1u << count) - 1u);
#else
  return (Mask)(iota() < set_i32(count));
#endif
}

// Bit i is lane i.
RUDA_INLINE uint32_t mask_bits(Mask m) {
#if RUDA_SIMD_AVX512
  return m;
#elif RUDA_SIMD_AVX2
  return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif RUDA_SIMD_SSE4
  return (uint32_t)_mm_movemask_ps((__m128)m);
#else
  return (uint32_t)((m[0] & 1) | (m[1] & 2) | (m[2] & 4) | (m[3] & 8));
#endif
}
RUDA_INLINE bool any(Mask m) { return mask_bits(m) != 0; }
RUDA_INLINE bool all(Mask m) { return mask_bits(m) == (1u << lanes) - 1u; }
RUDA_INLINE int count_true(Mask m) { return __builtin_popcount(mask_bits(m)); }
// Lowest true lane; -1 for none.
RUDA_INLINE int first_true(Mask m) { return any(m) ? __builtin_ctz(mask_bits(m)) : -1; }

RUDA_INLINE Mask mask_and(Mask a, Mask b) { return (Mask)(a & b); }
RUDA_INLINE Mask mask_or(Mask a, Mask b) { return (Mask)(a | b); }
RUDA_INLINE Mask mask_not(Mask a) { return (Mask)~a; }

// ---- comparisons: false in a lane with a NaN, except not_equal

#if RUDA_SIMD_AVX512
#define RUDA_SIMD_COMPARE(name, op, predicate, int_predicate)                         \
  RUDA_INLINE Mask name(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, predicate); } \
  RUDA_INLINE Mask name(I32 a, I32 b) {                                               \
    return _mm512_cmp_epi32_mask((__m512i)a, (__m512i)b, int_predicate);              \
  }                                                                                   \
  RUDA_INLINE Mask name(U32 a, U32 b) { return _mm512_cmp_epu32_mask((__m512i)a, (__m512i)b, int_predicate); }
#else
#define RUDA_SIMD_COMPARE(name, op, predicate, int_predicate)    \
  RUDA_INLINE Mask name(F32 a, F32 b) { return (Mask)(a op b); } \
  RUDA_INLINE Mask name(I32 a, I32 b) { return (Mask)(a op b); } \
  RUDA_INLINE Mask name(U32 a, U32 b) { return (Mask)(a op b); }
#endif
RUDA_SIMD_COMPARE(less, <, _CMP_LT_OQ, _MM_CMPINT_LT)
RUDA_SIMD_COMPARE(less_equal, <=, _CMP_LE_OQ, _MM_CMPINT_LE)
RUDA_SIMD_COMPARE(greater, >, _CMP_GT_OQ, _MM_CMPINT_NLE)
RUDA_SIMD_COMPARE(greater_equal, >=, _CMP_GE_OQ, _MM_CMPINT_NLT)
RUDA_SIMD_COMPARE(equal, ==, _CMP_EQ_OQ, _MM_CMPINT_EQ)
RUDA_SIMD_COMPARE(not_equal, !=, _CMP_NEQ_UQ, _MM_CMPINT_NE)
#undef RUDA_SIMD_COMPARE
RUDA_INLINE Mask is_nan(F32 a) { return not_equal(a, a); }

// m ? a : b, lane by lane
RUDA_INLINE I32 select(Mask m, I32 a, I32 b) {
#if RUDA_SIMD_AVX512
  return (I32)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
#elif RUDA_SIMD_AVX2
  return (I32)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m);
#elif RUDA_SIMD_SSE4
  return (I32)_mm_blendv_epi8((__m128i)b, (__m128i)a, (__m128i)m);
#else
  return (a & m) | (b & ~m);
#endif
}
RUDA_INLINE F32 select(Mask m, F32 a, F32 b) {
#if RUDA_SIMD_AVX512
  return _mm512_mask_blend_ps(m, b, a);
#else
  return (F32)select(m, (I32)a, (I32)b);
#endif
}
RUDA_INLINE U32 select(Mask m, U32 a, U32 b) { return (U32)select(m, (I32)a, (I32)b); }

// ---- loads and stores; no alignment is needed

RUDA_INLINE F32 load(const float* p) {
  F32 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RUDA_INLINE I32 load(const int32_t* p) {
  I32 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RUDA_INLINE U32 load(const uint32_t* p) {
  U32 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RUDA_INLINE void store(float* p, F32 a) { __builtin_memcpy(p, &a, sizeof a); }
RUDA_INLINE void store(int32_t* p, I32 a) { __builtin_memcpy(p, &a, sizeof a); }
RUDA_INLINE void store(uint32_t* p, U32 a) { __builtin_memcpy(p, &a, sizeof a); }

// Lanes 0..count-1 (0 <= count <= lanes) of memory, `fill` in the others; touches nothing behind p[count-1].
RUDA_INLINE I32 load(const int32_t* p, int count, int32_t fill = 0) {
#if RUDA_SIMD_AVX512
  return (I32)_mm512_mask_loadu_epi32((__m512i)set_i32(fill), first(count), p);
#elif RUDA_SIMD_AVX2
  const I32 m = first(count);
  return select(m, (I32)_mm256_maskload_epi32(p, (__m256i)m), set_i32(fill));
#else
  I32 r = set_i32(fill);
  for (int i = 0; i < lanes; i++)
    if (i < count) r[i] = p[i];
  return r;
#endif
}
RUDA_INLINE F32 load(const float* p, int count, float fill = 0) {
#if RUDA_SIMD_AVX512
  return _mm512_mask_loadu_ps(set(fill), first(count), p);
#elif RUDA_SIMD_AVX2
  const I32 m = first(count);
  return select(m, (F32)_mm256_maskload_ps(p, (__m256i)m), set(fill));
#else
  F32 r = set(fill);
  for (int i = 0; i < lanes; i++)
    if (i < count) r[i] = p[i];
  return r;
#endif
}
RUDA_INLINE void store(float* p, F32 a, int count) {
#if RUDA_SIMD_AVX512
  _mm512_mask_storeu_ps(p, first(count), a);
#elif RUDA_SIMD_AVX2
  _mm256_maskstore_ps(p, (__m256i)first(count), a);
#else
  for (int i = 0; i < lanes; i++)
    if (i < count) p[i] = a[i];
#endif
}
RUDA_INLINE void store(int32_t* p, I32 a, int count) {
#if RUDA_SIMD_AVX512
  _mm512_mask_storeu_epi32(p, first(count), (__m512i)a);
#elif RUDA_SIMD_AVX2
  _mm256_maskstore_epi32(p, (__m256i)first(count), (__m256i)a);
#else
  for (int i = 0; i < lanes; i++)
    if (i < count) p[i] = a[i];
#endif
}

// base[index[i]], all indices valid
RUDA_INLINE F32 gather(const float* base, I32 index) {
#if RUDA_SIMD_AVX512
  return _mm512_i32gather_ps((__m512i)index, base, 4);
#elif RUDA_SIMD_AVX2
  return _mm256_i32gather_ps(base, (__m256i)index, 4);
#else
  F32 r;
  for (int i = 0; i < lanes; i++) r[i] = base[index[i]];
  return r;
#endif
}

// Writes the true lanes one after another; returns how many. Touches only what it writes.
RUDA_INLINE int compress_store(float* p, Mask m, F32 a) {
#if RUDA_SIMD_AVX512
  _mm512_mask_compressstoreu_ps(p, m, a);
  return count_true(m);
#else
  int n = 0;
  for (uint32_t left = mask_bits(m); left; left &= left - 1) p[n++] = a[__builtin_ctz(left)];
  return n;
#endif
}
RUDA_INLINE int compress_store(int32_t* p, Mask m, I32 a) {
#if RUDA_SIMD_AVX512
  _mm512_mask_compressstoreu_epi32(p, m, (__m512i)a);
  return count_true(m);
#else
  int n = 0;
  for (uint32_t left = mask_bits(m); left; left &= left - 1) p[n++] = a[__builtin_ctz(left)];
  return n;
#endif
}

// ---- arithmetic

// a * b + c: one rounding on neon, avx2 and above, two on scalar and sse4 (a fused one in software would cost
// 50 times).
RUDA_INLINE F32 fma(F32 a, F32 b, F32 c) {
#if RUDA_SIMD_AVX512
  return _mm512_fmadd_ps(a, b, c);
#elif RUDA_SIMD_AVX2
  return _mm256_fmadd_ps(a, b, c);
#elif RUDA_SIMD_NEON
  return (F32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

// c - a * b, rounded as fma
RUDA_INLINE F32 fnma(F32 a, F32 b, F32 c) {
#if RUDA_SIMD_AVX512
  return _mm512_fnmadd_ps(a, b, c);
#elif RUDA_SIMD_AVX2
  return _mm256_fnmadd_ps(a, b, c);
#elif RUDA_SIMD_NEON
  return (F32)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return c - a * b;
#endif
}

// a < b ? a : b and a > b ? a : b: where either is NaN, and of two zeros, the result is b.
RUDA_INLINE F32 min(F32 a, F32 b) {
#if RUDA_SIMD_AVX512
  return _mm512_min_ps(a, b);
#elif RUDA_SIMD_AVX2
  return _mm256_min_ps(a, b);
#elif RUDA_SIMD_SSE4
  return _mm_min_ps(a, b);
#else
  return select(less(a, b), a, b);
#endif
}
RUDA_INLINE F32 max(F32 a, F32 b) {
#if RUDA_SIMD_AVX512
  return _mm512_max_ps(a, b);
#elif RUDA_SIMD_AVX2
  return _mm256_max_ps(a, b);
#elif RUDA_SIMD_SSE4
  return _mm_max_ps(a, b);
#else
  return select(greater(a, b), a, b);
#endif
}
// NaN where either is NaN
RUDA_INLINE F32 min_nan(F32 a, F32 b) { return select(is_nan(a), a, min(a, b)); }
RUDA_INLINE F32 max_nan(F32 a, F32 b) { return select(is_nan(a), a, max(a, b)); }

RUDA_INLINE I32 min(I32 a, I32 b) { return select(less(a, b), a, b); }
RUDA_INLINE I32 max(I32 a, I32 b) { return select(greater(a, b), a, b); }

RUDA_INLINE F32 abs(F32 a) { return (F32)((I32)a & 0x7fffffff); }
RUDA_INLINE F32 neg(F32 a) { return (F32)((U32)a ^ 0x80000000u); }
RUDA_INLINE F32 copysign(F32 magnitude, F32 sign) {
  return (F32)(((U32)magnitude & 0x7fffffffu) | ((U32)sign & 0x80000000u));
}
RUDA_INLINE F32 sqrt(F32 a) {
#if RUDA_SIMD_AVX512
  return _mm512_sqrt_ps(a);
#elif RUDA_SIMD_AVX2
  return _mm256_sqrt_ps(a);
#elif defined(__x86_64__)
  return _mm_sqrt_ps(a);
#elif RUDA_SIMD_NEON
  return (F32)vsqrtq_f32((float32x4_t)a);
#else
  F32 r;
  for (int i = 0; i < lanes; i++) r[i] = __builtin_sqrtf(a[i]);
  return r;
#endif
}

// Exact conversion where |a| <= 2^24, else rounded to nearest even.
RUDA_INLINE F32 to_float(I32 a) { return __builtin_convertvector(a, F32); }

// To nearest even and towards zero; the result for NaN and outside the range of int32 is not defined by this
// layer.
RUDA_INLINE I32 to_int_nearest(F32 a) {
#if RUDA_SIMD_AVX512
  return (I32)_mm512_cvtps_epi32(a);
#elif RUDA_SIMD_AVX2
  return (I32)_mm256_cvtps_epi32(a);
#elif defined(__x86_64__)
  return (I32)_mm_cvtps_epi32(a);
#elif RUDA_SIMD_NEON
  return (I32)vcvtnq_s32_f32((float32x4_t)a);
#else
  I32 r;
  for (int i = 0; i < lanes; i++) r[i] = (int32_t)__builtin_rintf(a[i]);
  return r;
#endif
}
RUDA_INLINE I32 to_int_trunc(F32 a) {
#if RUDA_SIMD_AVX512
  return (I32)_mm512_cvttps_epi32(a);
#elif RUDA_SIMD_AVX2
  return (I32)_mm256_cvttps_epi32(a);
#elif defined(__x86_64__)
  return (I32)_mm_cvttps_epi32(a);
#elif RUDA_SIMD_NEON
  return (I32)vcvtq_s32_f32((float32x4_t)a);
#else
  I32 r;
  for (int i = 0; i < lanes; i++) r[i] = (int32_t)a[i];
  return r;
#endif
}

// Rounding to an integral float, any input; NaN stays NaN, zeros keep their sign.
#if RUDA_SIMD_AVX512
#define RUDA_SIMD_ROUND(name, mode, builtin, neon) \
  RUDA_INLINE F32 name(F32 a) { return _mm512_roundscale_ps(a, (mode) | _MM_FROUND_NO_EXC); }
#elif RUDA_SIMD_AVX2
#define RUDA_SIMD_ROUND(name, mode, builtin, neon) \
  RUDA_INLINE F32 name(F32 a) { return _mm256_round_ps(a, (mode) | _MM_FROUND_NO_EXC); }
#elif RUDA_SIMD_SSE4
#define RUDA_SIMD_ROUND(name, mode, builtin, neon) \
  RUDA_INLINE F32 name(F32 a) { return _mm_round_ps(a, (mode) | _MM_FROUND_NO_EXC); }
#elif RUDA_SIMD_NEON
#define RUDA_SIMD_ROUND(name, mode, builtin, neon) \
  RUDA_INLINE F32 name(F32 a) { return (F32)neon((float32x4_t)a); }
#else
#define RUDA_SIMD_ROUND(name, mode, builtin, neon)        \
  RUDA_INLINE F32 name(F32 a) {                           \
    F32 r = a;                                            \
    for (int i = 0; i < lanes; i++) r[i] = builtin(a[i]); \
    return r;                                             \
  }
#endif
RUDA_SIMD_ROUND(nearest, _MM_FROUND_TO_NEAREST_INT, __builtin_rintf, vrndnq_f32)
RUDA_SIMD_ROUND(floor, _MM_FROUND_TO_NEG_INF, __builtin_floorf, vrndmq_f32)
RUDA_SIMD_ROUND(ceil, _MM_FROUND_TO_POS_INF, __builtin_ceilf, vrndpq_f32)
RUDA_SIMD_ROUND(trunc, _MM_FROUND_TO_ZERO, __builtin_truncf, vrndq_f32)
#undef RUDA_SIMD_ROUND

// ---- reductions of one vector, in a fixed order: the upper half onto the lower, until one lane is left

typedef float F32x4 __attribute__((vector_size(16)));
typedef int32_t I32x4 __attribute__((vector_size(16)));

#if RUDA_SIMD_AVX512
#define RUDA_SIMD_FOLD(a, op)                                                          \
  const __m256 low8 = _mm512_castps512_ps256(a), high8 = _mm512_extractf32x8_ps(a, 1); \
  const __m256 sum8 = _mm256_##op##_ps(low8, high8);                                   \
  F32x4 v = _mm_##op##_ps(_mm256_castps256_ps128(sum8), _mm256_extractf128_ps(sum8, 1));
#elif RUDA_SIMD_AVX2
#define RUDA_SIMD_FOLD(a, op) F32x4 v = _mm_##op##_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
#else
#define RUDA_SIMD_FOLD(a, op) F32x4 v = a;
#endif

RUDA_INLINE float sum(F32 a) {
  RUDA_SIMD_FOLD(a, add)
  return (v[0] + v[2]) + (v[1] + v[3]);
}
// For vectors without a NaN; with one, the result is any of the lanes.
RUDA_INLINE float max_lane(F32 a) {
  RUDA_SIMD_FOLD(a, max)
  const float x = v[0] > v[2] ? v[0] : v[2], y = v[1] > v[3] ? v[1] : v[3];
  return x > y ? x : y;
}
RUDA_INLINE float min_lane(F32 a) {
  RUDA_SIMD_FOLD(a, min)
  const float x = v[0] < v[2] ? v[0] : v[2], y = v[1] < v[3] ? v[1] : v[3];
  return x < y ? x : y;
}
#undef RUDA_SIMD_FOLD

RUDA_INLINE int32_t min_lane(I32 a) {
  int32_t r = a[0];
  for (int i = 1; i < lanes; i++) r = a[i] < r ? a[i] : r;
  return r;
}
RUDA_INLINE int32_t max_lane(I32 a) {
  int32_t r = a[0];
  for (int i = 1; i < lanes; i++) r = a[i] > r ? a[i] : r;
  return r;
}
RUDA_INLINE int32_t sum(I32 a) {
  uint32_t r = 0;
  for (int i = 0; i < lanes; i++) r += (uint32_t)a[i];
  return (int32_t)r;
}

}  // namespace ruda::cpu::RUDA_ISA
