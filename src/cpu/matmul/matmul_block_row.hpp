// src/cpu/matmul/matmul_block_row.hpp - one weight row of each block format against 16-bit integer
// activations, AVX-512 VNNI.
// SPDX-License-Identifier: Apache-2.0
//
// A group is 128 weights. Their codes are split inside 16-bit lanes (code & 15, >> 4, >> 8, >> 12), so
// activations lie in the order that the split gives: for each format the even and the odd elements of the low
// and of the high nibbles. A group's products are summed exactly in 32 bits, at most 8 * 255 * 2^15 a lane,
// and scaled in F32. Q4_1 has a file of its own.
#pragma once
#include "cpu/matmul/matmul_block.hpp"
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

typedef __m512i Words;

// Bytes ahead of the reads in each of four streams; the weights come from memory once. On Emerald Rapids, 80
// MB of Q4_1 [1536, 576] in turn, two threads: 36 us a product with one stream and 8 KiB, 30 with four and 1
// KiB.
constexpr int prefetch_distance = 1024;

struct FormatQ4_0 {
  static constexpr int bytes = 18, codes = 2, high_bits = 0, subtract = 8;
  static constexpr bool has_min = false;
};
struct FormatQ5_0 {
  static constexpr int bytes = 22, codes = 6, high_bits = 2, subtract = 16;
  static constexpr bool has_min = false;
};
struct FormatQ5_1 {
  static constexpr int bytes = 24, codes = 8, high_bits = 4, subtract = 0;
  static constexpr bool has_min = true;
};

RUDA_INLINE uint64_t load_16(const uint8_t* p) {
  uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}
RUDA_INLINE int32_t load_32(const uint8_t* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
RUDA_INLINE uint32_t load_u32(const uint8_t* p) { return (uint32_t)load_32(p); }

RUDA_INLINE __m128i load_128(const uint8_t* p) { return _mm_loadu_si128((const __m128i*)p); }

// 16 bytes from each of four addresses, one in each 128-bit lane.
RUDA_INLINE Words load_lanes(const uint8_t* p0, const uint8_t* p1, const uint8_t* p2, const uint8_t* p3) {
  Words v = _mm512_castsi128_si512(load_128(p0));
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load_128(p1));
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load_128(p2));
  return _mm512_mask_broadcast_i32x4(v, 0xf000, load_128(p3));
}

struct Split {
  Words low_even, high_even, low_odd, high_odd;
};
RUDA_INLINE Split split(Words v) {
  const Words nibble = _mm512_set1_epi16(15);
  return {_mm512_and_si512(v, nibble), _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble),
          _mm512_and_si512(_mm512_srli_epi16(v, 8), nibble), _mm512_srli_epi16(v, 12)};
}

RUDA_INLINE Words dot(Words sum, Words codes, const int16_t* q) {
  return _mm512_dpwssd_epi32(sum, codes, _mm512_load_si512(q));
}

// Formats of 32-element blocks: lane = block, `count` of the group's four blocks exist.
template <class F, int M>
RUDA_INLINE void group_of_32(const uint8_t* p, int count, const BlockActivations* x, int64_t groups,
                             F32* sums, __m256* mins) {
  const uint8_t* p1 = count > 1 ? p + F::bytes : p;
  const uint8_t* p2 = count > 2 ? p + 2 * F::bytes : p;
  const uint8_t* p3 = count > 3 ? p + 3 * F::bytes : p;
  const Words v = load_lanes(p + F::codes, p1 + F::codes, p2 + F::codes, p3 + F::codes);
  Split s = split(v);
  if constexpr (F::high_bits != 0) {
    const __m128i high = _mm_set_epi32(load_32(p3 + F::high_bits), load_32(p2 + F::high_bits),
                                       load_32(p1 + F::high_bits), load_32(p + F::high_bits));
    const Words each = _mm512_permutexvar_epi32(
        _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0), _mm512_castsi128_si512(high));
    const Words lower = _mm512_shuffle_epi8(each, _mm512_set1_epi16(0x0100));
    const Words upper = _mm512_shuffle_epi8(each, _mm512_set1_epi16(0x0302));
    const Words even = _mm512_set4_epi32(0x40001000, 0x04000100, 0x00400010, 0x00040001);
    const Words odd = _mm512_slli_epi16(even, 1), bit = _mm512_set1_epi16(16);
    s.low_even = _mm512_mask_add_epi16(s.low_even, _mm512_test_epi16_mask(lower, even), s.low_even, bit);
    s.high_even = _mm512_mask_add_epi16(s.high_even, _mm512_test_epi16_mask(upper, even), s.high_even, bit);
    s.low_odd = _mm512_mask_add_epi16(s.low_odd, _mm512_test_epi16_mask(lower, odd), s.low_odd, bit);
    s.high_odd = _mm512_mask_add_epi16(s.high_odd, _mm512_test_epi16_mask(upper, odd), s.high_odd, bit);
  }
  F32 scale;
  __m256 pairs = _mm256_setzero_ps();  // scale, minimum of each block
  if constexpr (F::has_min) {
    pairs = _mm256_cvtph_ps(_mm_set_epi32(count > 3 ? load_32(p3) : 0, count > 2 ? load_32(p2) : 0,
                                          count > 1 ? load_32(p1) : 0, load_32(p)));
    scale = _mm512_permutexvar_ps(_mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0),
                                  _mm512_castps256_ps512(pairs));
  } else {
    uint64_t d = load_16(p);
    if (count > 1) d |= load_16(p1) << 16;
    if (count > 2) d |= load_16(p2) << 32;
    if (count > 3) d |= load_16(p3) << 48;
    scale = _mm512_permutexvar_ps(_mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
                                  _mm512_castps128_ps512(_mm_cvtph_ps(_mm_cvtsi64_si128((int64_t)d))));
  }
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) {
    const BlockActivations& a = x[m * groups];
    Words sum = F::subtract ? _mm512_load_si512(a.offset0) : _mm512_setzero_si512();
    sum = dot(sum, s.low_even, a.q);
    sum = dot(sum, s.high_even, a.q + 32);
    sum = dot(sum, s.low_odd, a.q + 64);
    sum = dot(sum, s.high_odd, a.q + 96);
    sums[m] =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_mul_ps(scale, _mm512_load_ps(a.scale16)), sums[m]);
    if constexpr (F::has_min) mins[m] = _mm256_fmadd_ps(pairs, _mm256_load_ps(a.scale_sum), mins[m]);
  }
}

template <class F, int M>
RUDA_INLINE void row_of_32(const uint8_t* p, int64_t k, const BlockActivations* x, int64_t groups,
                           F32* sums) {
  __m256 mins[M];
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) mins[m] = _mm256_setzero_ps();
  const int64_t full = k / 128;
  for (int64_t g = 0; g < full; ++g, p += 4 * F::bytes) {
    _mm_prefetch((const char*)p + prefetch_distance, _MM_HINT_T0);
    _mm_prefetch((const char*)p + prefetch_distance + 64, _MM_HINT_T0);
    group_of_32<F, M>(p, 4, x + g, groups, sums, mins);
  }
  const int rest = (int)(k / 32 & 3);
  if (rest) group_of_32<F, M>(p, rest, x + full, groups, sums, mins);
  if constexpr (F::has_min) RUDA_UNROLL
  for (int m = 0; m < M; ++m)
    sums[m] = _mm512_mask_add_ps(sums[m], 0x00aa, sums[m], _mm512_castps256_ps512(mins[m]));
}

template <int M>
RUDA_INLINE void group_q8_0(const uint8_t* p, int count, const BlockActivations* x, int64_t groups,
                            F32* sums) {
  uint64_t d = load_16(p);
  if (count > 1) d |= load_16(p + 34) << 16;
  if (count > 2) d |= load_16(p + 68) << 32;
  if (count > 3) d |= load_16(p + 102) << 48;
  const __m128 scale = _mm_cvtph_ps(_mm_cvtsi64_si128((int64_t)d));
  __m512 scaled[M];
  RUDA_UNROLL
  for (int m = 0; m < M; ++m)
    scaled[m] = _mm512_castps128_ps512(_mm_mul_ps(scale, _mm_load_ps(x[m * groups].scale)));
  RUDA_UNROLL
  for (int b = 0; b < count; ++b) {
    const Words codes = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)(p + 34 * b + 2)));
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) {
      const Words sum = dot(_mm512_setzero_si512(), codes, x[m * groups].q + 32 * b);
      sums[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum),
                                _mm512_permutexvar_ps(_mm512_set1_epi32(b), scaled[m]), sums[m]);
    }
  }
}

// Rows p[0..C-1] of k weights side by side: what one waits for, the others fill. The sums of a row do not
// depend on C nor M.
template <int M, int C>
RUDA_INLINE void rows_q8_0(const uint8_t* const* rows, int64_t k, const BlockActivations* x, int64_t groups,
                           F32 (*sums)[M]) {
  RUDA_UNROLL
  for (int c = 0; c < C; ++c) RUDA_UNROLL
  for (int m = 0; m < M; ++m) sums[c][m] = _mm512_setzero_ps();
  const int64_t full = k / 128;
  for (int64_t g = 0; g < full; ++g) RUDA_UNROLL
  for (int c = 0; c < C; ++c) {
    const uint8_t* p = rows[c] + 4 * 34 * g;
    _mm_prefetch((const char*)p + prefetch_distance, _MM_HINT_T0);
    _mm_prefetch((const char*)p + prefetch_distance + 64, _MM_HINT_T0);
    _mm_prefetch((const char*)p + prefetch_distance + 128, _MM_HINT_T0);
    group_q8_0<M>(p, 4, x + g, groups, sums[c]);
  }
  const int rest = (int)(k / 32 & 3);
  if (rest) RUDA_UNROLL
  for (int c = 0; c < C; ++c) group_q8_0<M>(rows[c] + 4 * 34 * full, rest, x + full, groups, sums[c]);
}

// The eight 6-bit scales and minima of a Q4_K or Q5_K block as floats.
struct ScaleMin {
  __m256 scale, min;
};
RUDA_INLINE ScaleMin scales_k(const uint8_t* p) {
  const uint32_t s0 = load_u32(p + 4), s1 = load_u32(p + 8), s2 = load_u32(p + 12);
  const uint64_t scale_bytes =
      (uint64_t)((s2 & 0x0f0f0f0f) | ((s0 >> 2) & 0x30303030)) << 32 | (s0 & 0x3f3f3f3f);
  const uint64_t min_bytes =
      (uint64_t)(((s2 >> 4) & 0x0f0f0f0f) | ((s1 >> 2) & 0x30303030)) << 32 | (s1 & 0x3f3f3f3f);
  const __m128 d = _mm_cvtph_ps(_mm_cvtsi32_si128(load_32(p)));
  const __m256 scale = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)scale_bytes)));
  const __m256 min = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)min_bytes)));
  return {_mm256_mul_ps(scale, _mm256_broadcastss_ps(d)),
          _mm256_mul_ps(min, _mm256_broadcastss_ps(_mm_movehdup_ps(d)))};
}

// Four values from each of two records.
RUDA_INLINE __m256 both(const float* a, const float* b) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(a)), _mm_load_ps(b), 1);
}

template <bool Five, int M>
RUDA_INLINE void row_k(const uint8_t* p, int64_t k, const BlockActivations* x, int64_t groups, F32* sums) {
  constexpr int bytes = Five ? 176 : 144, codes = Five ? 48 : 16;
  __m256 mins[M];
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) mins[m] = _mm256_setzero_ps();
  for (int64_t g = 0; g < k / 128; g += 2, p += bytes) {
    RUDA_UNROLL
    for (int line = 0; line < bytes; line += 64)
      _mm_prefetch((const char*)p + prefetch_distance + line, _MM_HINT_T0);
    const ScaleMin s = scales_k(p);
    __m512 scaled[M];
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) {
      const BlockActivations &a = x[m * groups + g], &b = x[m * groups + g + 1];
      scaled[m] = _mm512_castps256_ps512(_mm256_mul_ps(s.scale, both(a.scale, b.scale)));
      mins[m] = _mm256_fnmadd_ps(s.min, both(a.sum, b.sum), mins[m]);
    }
    Words fifth = _mm512_setzero_si512();
    if constexpr (Five) fifth = _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(p + 16)));
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) {
      Split w = split(_mm512_loadu_si512(p + codes + 64 * half));
      if constexpr (Five) {
        // Group 4*half + 0, 1 in the lower lanes, + 2, 3 in the upper; bit g for even bytes, g + 8 for odd
        // ones.
        const Words low = _mm512_inserti64x4(_mm512_set1_epi16((short)(1 << (4 * half))),
                                             _mm256_set1_epi16((short)(4 << (4 * half))), 1);
        const Words bit = _mm512_set1_epi16(16);
        w.low_even = _mm512_mask_add_epi16(w.low_even, _mm512_test_epi16_mask(fifth, low), w.low_even, bit);
        const Words high = _mm512_slli_epi16(low, 1);
        w.high_even =
            _mm512_mask_add_epi16(w.high_even, _mm512_test_epi16_mask(fifth, high), w.high_even, bit);
        const Words low_odd = _mm512_slli_epi16(low, 8);
        w.low_odd = _mm512_mask_add_epi16(w.low_odd, _mm512_test_epi16_mask(fifth, low_odd), w.low_odd, bit);
        const Words high_odd = _mm512_slli_epi16(low, 9);
        w.high_odd =
            _mm512_mask_add_epi16(w.high_odd, _mm512_test_epi16_mask(fifth, high_odd), w.high_odd, bit);
      }
      const Words pick = half ? _mm512_set_epi32(6, 6, 6, 6, 6, 6, 6, 6, 4, 4, 4, 4, 4, 4, 4, 4)
                              : _mm512_set_epi32(2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0);
      const Words pick_high = _mm512_add_epi32(pick, _mm512_set1_epi32(1));
      RUDA_UNROLL
      for (int m = 0; m < M; ++m) {
        const BlockActivations& a = x[m * groups + g + half];
        const Words low = dot(dot(_mm512_setzero_si512(), w.low_even, a.q), w.low_odd, a.q + 64);
        const Words high = dot(dot(_mm512_setzero_si512(), w.high_even, a.q + 32), w.high_odd, a.q + 96);
        sums[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(low), _mm512_permutexvar_ps(pick, scaled[m]), sums[m]);
        sums[m] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_permutexvar_ps(pick_high, scaled[m]), sums[m]);
      }
    }
  }
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) sums[m] = _mm512_add_ps(sums[m], _mm512_zextps256_ps512(mins[m]));
}

template <int M>
RUDA_INLINE void row_q6_k(const uint8_t* p, int64_t k, const BlockActivations* x, int64_t groups, F32* sums) {
  const Words three = _mm512_set1_epi16(0x30);
  for (int64_t g = 0; g < k / 128; g += 2, p += 210) {
    for (int line = 0; line < 210; line += 64)
      _mm_prefetch((const char*)p + prefetch_distance + line, _MM_HINT_T0);
    const __m512 d = _mm512_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128((int)load_16(p + 208))));
    const __m512 scale = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_128(p + 192))), d);
    __m512 scaled[M];
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) {
      const __m512 each = _mm512_permutexvar_ps(
          _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0),
          _mm512_castps256_ps512(both(x[m * groups + g].scale, x[m * groups + g + 1].scale)));
      scaled[m] = _mm512_mul_ps(scale, each);
    }
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) {
      Split w = split(_mm512_loadu_si512(p + 64 * half));
      // Two more bits a code: elements 0..31 at bit 0, 32..63 at 2, 64..95 at 4, 96..127 at 6 of the same
      // byte.
      const Words top =
          _mm512_srlv_epi16(_mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i*)(p + 128 + 32 * half))),
                            _mm512_inserti64x4(_mm512_setzero_si512(), _mm256_set1_epi16(2), 1));
      constexpr int a_or_b_and_c = 0xf8;
      w.low_even = _mm512_ternarylogic_epi32(w.low_even, _mm512_slli_epi16(top, 4), three, a_or_b_and_c);
      w.high_even = _mm512_ternarylogic_epi32(w.high_even, top, three, a_or_b_and_c);
      w.low_odd = _mm512_ternarylogic_epi32(w.low_odd, _mm512_srli_epi16(top, 4), three, a_or_b_and_c);
      w.high_odd = _mm512_ternarylogic_epi32(w.high_odd, _mm512_srli_epi16(top, 8), three, a_or_b_and_c);
      const Words pick = _mm512_add_epi32(_mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
                                          _mm512_set1_epi32(8 * half));
      const Words pick_high = _mm512_add_epi32(pick, _mm512_set1_epi32(4));
      RUDA_UNROLL
      for (int m = 0; m < M; ++m) {
        const BlockActivations& a = x[m * groups + g + half];
        const Words low = dot(dot(_mm512_load_si512(a.offset0), w.low_even, a.q), w.low_odd, a.q + 64);
        const Words high =
            dot(dot(_mm512_load_si512(a.offset1), w.high_even, a.q + 32), w.high_odd, a.q + 96);
        sums[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(low), _mm512_permutexvar_ps(pick, scaled[m]), sums[m]);
        sums[m] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(high), _mm512_permutexvar_ps(pick_high, scaled[m]), sums[m]);
      }
    }
  }
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
