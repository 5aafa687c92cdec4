// src/cpu/simd/block_decode.hpp - one row of a GGUF block format to floats, at the level of the including
// file.
// SPDX-License-Identifier: Apache-2.0
//
// Every value is scale * code + minimum with an exact product, so one rounding to F32 remains; it is the same
// with and without a fused multiply-add.
#pragma once
#include "core/block_formats.hpp"
#include "cpu/simd/convert.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

RUDA_INLINE float half_at(const uint8_t* p) {
  f16 h;
  __builtin_memcpy(&h, p, 2);
  return load_one(&h);
}
RUDA_INLINE uint32_t word_at(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}

// `lanes` consecutive bytes as integers.
RUDA_INLINE I32 codes_at(const uint8_t* p) {
#if RUDA_SIMD_AVX512
  return (I32)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
#elif RUDA_SIMD_AVX2
  return (I32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)p));
#elif RUDA_SIMD_SSE4
  return (I32)_mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)word_at(p)));
#else
  I32 r;
  for (int i = 0; i < lanes; ++i) r[i] = p[i];
  return r;
#endif
}
RUDA_INLINE I32 signed_codes(I32 codes) { return (codes << 24) >> 24; }

// Nibbles of `count` bytes, low ones to `low` and high ones to `high`; `fifth(i, upper)` gives bit 4 in
// place.
template <class Fifth>
RUDA_INLINE void nibbles(const uint8_t* p, int count, float scale0, float min0, float scale1, float min1,
                         int subtract, float* low, float* high, Fifth&& fifth) {
  for (int i = 0; i < count; i += lanes) {
    const I32 v = codes_at(p + i);
    const I32 a = ((v & 15) | fifth(i, 0)) - subtract, b = ((v >> 4) | fifth(i, 1)) - subtract;
    store(low + i, fma(set(scale0), to_float(a), set(min0)));
    store(high + i, fma(set(scale1), to_float(b), set(min1)));
  }
}

template <int Bytes, int Codes, int HighBits, int Subtract, bool HasMin>
RUDA_INLINE void decode_32(const uint8_t* p, float* to) {
  // -0.0 as the addend keeps the sign of a zero product.
  const float d = half_at(p), min = HasMin ? half_at(p + 2) : -0.0f;
  const I32 high = set_i32(HighBits ? (int32_t)word_at(p + HighBits) : 0);
  nibbles(p + Codes, 16, d, min, d, min, Subtract, to, to + 16, [&](int i, int upper) {
    if constexpr (HighBits == 0) return set_i32(0);
    I32 bit = iota() + (i + 16 * upper);
    return (I32)(((U32)high >> (U32)bit) << 4) & 16;
  });
}

RUDA_INLINE void decode_q8_0(const uint8_t* p, float* to) {
  const F32 d = set(half_at(p));
  for (int i = 0; i < 32; i += lanes) store(to + i, d * to_float(signed_codes(codes_at(p + 2 + i))));
}

template <bool Five>
RUDA_INLINE void decode_k(const uint8_t* p, float* to) {
  const float d = half_at(p), dmin = half_at(p + 2);
  const uint8_t *s = p + 4, *high = p + 16, *codes = p + (Five ? 48 : 16);
  float scale[8], min[8];
  for (int j = 0; j < 4; ++j) {
    scale[j] = d * (float)(s[j] & 63);
    min[j] = -(dmin * (float)(s[j + 4] & 63));
    scale[j + 4] = d * (float)((s[j + 8] & 15) | (s[j] >> 6) << 4);
    min[j + 4] = -(dmin * (float)((s[j + 8] >> 4) | (s[j + 4] >> 6) << 4));
  }
  for (int run = 0; run < 4; ++run, codes += 32, to += 64)
    nibbles(codes, 32, scale[2 * run], min[2 * run], scale[2 * run + 1], min[2 * run + 1], 0, to, to + 32,
            [&](int i, int upper) {
              if constexpr (!Five) return set_i32(0);
              return ((codes_at(high + i) >> (2 * run + upper)) & 1) << 4;
            });
}

RUDA_INLINE void decode_q6_k(const uint8_t* p, float* to) {
  const float d = half_at(p + 208);
  for (int half = 0; half < 2; ++half)
    for (int part = 0; part < 4; ++part)
      for (int i = 0; i < 32; i += lanes) {
        const I32 low = codes_at(p + 64 * half + 32 * (part & 1) + i);
        const I32 high = codes_at(p + 128 + 32 * half + i);
        const I32 code = ((part < 2 ? low & 15 : low >> 4) | (((high >> (2 * part)) & 3) << 4)) - 32;
        const float scale = d * (float)(int8_t)p[192 + 8 * half + 2 * part + i / 16];
        store(to + 128 * half + 32 * part + i, set(scale) * to_float(code));
      }
}

template <int Type>
void decode(const uint8_t* p, int64_t k, float* to) {
  constexpr int64_t elements = block_formats[Type].elements, bytes = block_formats[Type].bytes;
  for (int64_t i = 0; i < k; i += elements, p += bytes) {
    if constexpr (Type == block_q4_0) decode_32<18, 2, 0, 8, false>(p, to + i);
    if constexpr (Type == block_q4_1) decode_32<20, 4, 0, 0, true>(p, to + i);
    if constexpr (Type == block_q5_0) decode_32<22, 6, 2, 16, false>(p, to + i);
    if constexpr (Type == block_q5_1) decode_32<24, 8, 4, 0, true>(p, to + i);
    if constexpr (Type == block_q8_0) decode_q8_0(p, to + i);
    if constexpr (Type == block_q4_k) decode_k<false>(p, to + i);
    if constexpr (Type == block_q5_k) decode_k<true>(p, to + i);
    if constexpr (Type == block_q6_k) decode_q6_k(p, to + i);
  }
}

// k is a multiple of the format's block.
RUDA_INLINE void decode_row(int32_t type, const uint8_t* p, int64_t k, float* to) {
  switch (type) {
    case block_q4_0: return decode<block_q4_0>(p, k, to);
    case block_q4_1: return decode<block_q4_1>(p, k, to);
    case block_q5_0: return decode<block_q5_0>(p, k, to);
    case block_q5_1: return decode<block_q5_1>(p, k, to);
    case block_q8_0: return decode<block_q8_0>(p, k, to);
    case block_q4_k: return decode<block_q4_k>(p, k, to);
    case block_q5_k: return decode<block_q5_k>(p, k, to);
    case block_q6_k: return decode<block_q6_k>(p, k, to);
    default: return;
  }
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
