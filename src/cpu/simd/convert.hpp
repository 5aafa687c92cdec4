// src/cpu/simd/convert.hpp - loads and stores of f16 and bf16 as vectors of floats.
// SPDX-License-Identifier: Apache-2.0
//
// Stores round to nearest even; what overflows becomes infinity, subnormal results are exact to their last
// bit. Every NaN becomes the same one, 0x7e00 or 0x7fc0: which of two an operation passes on is the
// compiler's choice, and may differ between a loop and its last turn. The bf16 instruction of AVX-512 is not
// used: it flushes subnormals.
#pragma once
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

typedef uint16_t U16 __attribute__((vector_size(2 * lanes)));

// ---- 16-bit lanes and 32-bit lanes

RUDA_INLINE U16 load_u16(const void* p) {
  U16 r;
  __builtin_memcpy(&r, p, sizeof r);
  return r;
}
RUDA_INLINE void store_u16(void* p, U16 a) { __builtin_memcpy(p, &a, sizeof a); }

RUDA_INLINE U16 load_u16(const uint16_t* p, int count) {
#if RUDA_SIMD_AVX512
  return (U16)_mm256_maskz_loadu_epi16(first(count), p);
#else
  U16 r = {};
  for (int i = 0; i < lanes; i++)
    if (i < count) r[i] = p[i];
  return r;
#endif
}
RUDA_INLINE void store_u16(uint16_t* p, U16 a, int count) {
#if RUDA_SIMD_AVX512
  _mm256_mask_storeu_epi16(p, first(count), (__m256i)a);
#else
  for (int i = 0; i < lanes; i++)
    if (i < count) p[i] = a[i];
#endif
}

RUDA_INLINE U32 widen(U16 a) {
#if RUDA_SIMD_AVX512
  return (U32)_mm512_cvtepu16_epi32((__m256i)a);
#elif RUDA_SIMD_AVX2
  return (U32)_mm256_cvtepu16_epi32((__m128i)a);
#else
  return __builtin_convertvector(a, U32);
#endif
}

// The lower half of each lane, whose upper half is zero.
RUDA_INLINE U16 narrow(U32 a) {
#if RUDA_SIMD_AVX512
  return (U16)_mm512_cvtepi32_epi16((__m512i)a);
#elif RUDA_SIMD_AVX2
  return (U16)_mm_packus_epi32(_mm256_castsi256_si128((__m256i)a), _mm256_extracti128_si256((__m256i)a, 1));
#else
  return __builtin_convertvector(a, U16);
#endif
}

// Every NaN made the same one, for results of which two operands may have been NaN.
RUDA_INLINE F32 one_nan(F32 a) {
  const F32 nan = from_bits(set_u32(0x7fc00000u));
#if RUDA_SIMD_AVX512
  // The classes of quiet and signalling NaN keep the first operand, all others take the second.
  return _mm512_fixupimm_ps(nan, a, _mm512_set1_epi32(0x11111100), 0);
#else
  return select(is_nan(a), nan, a);
#endif
}

// ---- bf16

RUDA_INLINE F32 from_bf16(U16 a) { return from_bits(widen(a) << 16); }

RUDA_INLINE U16 to_bf16(F32 a) {
  const U32 u = ubits(a);
  const U32 rounded = (u + (((u >> 16) & 1u) + 0x7fffu)) >> 16;
  return narrow(select(is_nan(a), set_u32(0x7fc0u), rounded));
}

// ---- f16

RUDA_INLINE F32 from_f16(U16 a) {
#if RUDA_SIMD_AVX512
  return _mm512_cvtph_ps((__m256i)a);
#elif RUDA_SIMD_AVX2
  return _mm256_cvtph_ps((__m128i)a);
#else
  const U32 u = widen(a);
  const U32 sign = (u & 0x8000u) << 16, magnitude = u & 0x7fffu;
  const U32 normal = (magnitude << 13) + (112u << 23);
  const U32 small = ubits(to_float((I32)magnitude) * 0x1p-24f);  // exact: at most 10 bits
  const U32 infinite = (magnitude << 13) | 0x7f800000u;
  U32 r = select(less(magnitude, set_u32(0x400u)), small, normal);
  r = select(greater_equal(magnitude, set_u32(0x7c00u)), infinite, r);
  r = select(greater(magnitude, set_u32(0x7c00u)), r | 0x400000u, r);
  return from_bits(r | sign);
#endif
}

RUDA_INLINE U16 to_f16(F32 a) {
#if RUDA_SIMD_AVX512
  return (U16)_mm512_cvtps_ph(one_nan(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif RUDA_SIMD_AVX2
  return (U16)_mm256_cvtps_ph(one_nan(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  const U32 u = ubits(a), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
  const U32 normal = (magnitude - (112u << 23) + (((magnitude >> 13) & 1u) + 0xfffu)) >> 13;
  // Adding 0.5 puts the last bit of an f16 subnormal at the last bit of the sum, which the addition rounds.
  const U32 small = ubits(abs(a) + set(0.5f)) - 0x3f000000u;
  U32 r = select(less(magnitude, set_u32(0x38800000u)), small, normal);
  r = select(greater_equal(magnitude, set_u32(0x477ff000u)), set_u32(0x7c00u), r);
  return narrow(select(greater(magnitude, set_u32(0x7f800000u)), set_u32(0x7e00u), r | sign));
#endif
}

// ---- the loads and stores that kernels use: the same names for float, f16 and bf16

RUDA_INLINE F32 load(const bf16* p) { return from_bf16(load_u16(p)); }
RUDA_INLINE F32 load(const f16* p) { return from_f16(load_u16(p)); }
RUDA_INLINE void store(bf16* p, F32 a) { store_u16(p, to_bf16(a)); }
RUDA_INLINE void store(f16* p, F32 a) { store_u16(p, to_f16(a)); }

// Lanes 0..count-1 of memory, zero in the others.
RUDA_INLINE F32 load(const bf16* p, int count) { return from_bf16(load_u16(&p->bits, count)); }
RUDA_INLINE F32 load(const f16* p, int count) { return from_f16(load_u16(&p->bits, count)); }
RUDA_INLINE void store(bf16* p, F32 a, int count) { store_u16(&p->bits, to_bf16(a), count); }
RUDA_INLINE void store(f16* p, F32 a, int count) { store_u16(&p->bits, to_f16(a), count); }

// One element.
RUDA_INLINE float load_one(const float* p) { return *p; }
RUDA_INLINE float load_one(const bf16* p) { return load(p, 1)[0]; }
RUDA_INLINE float load_one(const f16* p) { return load(p, 1)[0]; }
RUDA_INLINE void store_one(float* p, float a) { *p = a; }
RUDA_INLINE void store_one(bf16* p, float a) { store(p, set(a), 1); }
RUDA_INLINE void store_one(f16* p, float a) { store(p, set(a), 1); }

}  // namespace ruda::cpu::RUDA_ISA
