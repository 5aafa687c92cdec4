// src/cpu/matmul/matmul_block_q4_1.hpp - several Q4_1 weight rows at once against 16-bit integer activations,
// AVX-512 VNNI.
// SPDX-License-Identifier: Apache-2.0
//
// Q4_1, the commonest format, takes whole bytes of codes: an activation is 256 times a signed byte plus
// another, and a group's sum over the upper bytes is shifted before the lower ones are added, which saves the
// split of the codes inside 16-bit lanes. Rows go side by side: they share the activations in registers, and
// the last one or two blocks of two rows make one group.
#pragma once
#include "cpu/matmul/matmul_block_row.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Codes of the lower and the upper nibbles.
struct Bytes {
  Words low, high;
};
RUDA_INLINE Bytes bytes_of(Words v) {
  const Words nibble = _mm512_set1_epi8(15);
  return {_mm512_and_si512(v, nibble), _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble)};
}

// The digits of a group's activations: upper bytes that belong to the low and the high nibbles, then lower
// bytes alike.
struct Digits {
  Words upper_low, upper_high, lower_low, lower_high;
};
RUDA_INLINE Digits digits_of(const int16_t* q) {
  return {_mm512_load_si512(q), _mm512_load_si512(q + 32), _mm512_load_si512(q + 64),
          _mm512_load_si512(q + 96)};
}
RUDA_INLINE F32 dot_digits(Bytes codes, const Digits& q) {
  Words sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes.low, q.upper_low);
  sum = _mm512_slli_epi32(_mm512_dpbusd_epi32(sum, codes.high, q.upper_high), 8);
  sum = _mm512_dpbusd_epi32(sum, codes.low, q.lower_low);
  return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(sum, codes.high, q.lower_high));
}

// A group of four blocks is 20 words: `low` begins with the first 16, `high` with the last 4.
struct WordsQ4_1 {
  Words low, high;
};
RUDA_INLINE WordsQ4_1 group_q4_1(const uint8_t* p) {
  return {_mm512_loadu_si512(p), _mm512_castsi128_si512(load_128(p + 64))};
}
RUDA_INLINE Words codes_q4_1(WordsQ4_1 w) {
  return _mm512_permutex2var_epi32(
      w.low, _mm512_set_epi32(19, 18, 17, 16, 14, 13, 12, 11, 9, 8, 7, 6, 4, 3, 2, 1), w.high);
}

// Scales and minima of eight blocks, in turn, as floats.
RUDA_INLINE F32 scale_min_q4_1(Words a, Words b) {
  const Words heads =
      _mm512_permutex2var_epi32(a, _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 31, 26, 21, 16, 15, 10, 5, 0), b);
  return _mm512_cvtph_ps(_mm512_castsi512_si256(heads));
}

// Rows p[0..C-1] of k weights; to be folded with half a vector of ends. Blocks go by eight, then by four
// while there are more than two, and the rest of two rows is a group of its own: lanes 0..7 of `ends` are of
// the first row, the others of the second. The order does not depend on C nor M.
template <int M, int C>
RUDA_INLINE void rows_q4_1(const uint8_t* const* rows, int64_t k, const BlockActivations* x, int64_t groups,
                           F32 (*sums)[C], F32 (*ends)[(C + 1) / 2]) {
  const Words pick = _mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0);
  const Words pick_b = _mm512_add_epi32(pick, _mm512_set1_epi32(8));
  F32 pairs[M][C];
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) RUDA_UNROLL
  for (int c = 0; c < C; ++c) sums[m][c] = pairs[m][c] = _mm512_setzero_ps();

  int64_t left = k / 32, at = 0;
  for (; left >= 8; left -= 8, at += 160, x += 2) {
    RUDA_UNROLL
    for (int c = 0; c < C; ++c) {
      const uint8_t* p = rows[c] + at;
      _mm_prefetch((const char*)p + prefetch_distance, _MM_HINT_T0);
      _mm_prefetch((const char*)p + prefetch_distance + 64, _MM_HINT_T0);
      _mm_prefetch((const char*)p + prefetch_distance + 128, _MM_HINT_T0);
      const WordsQ4_1 a = group_q4_1(p), b = group_q4_1(p + 80);
      const F32 scale_min = scale_min_q4_1(a.low, b.low);
      const Bytes s = bytes_of(codes_q4_1(a)), t = bytes_of(codes_q4_1(b));
      RUDA_UNROLL
      for (int m = 0; m < M; ++m) {
        const BlockActivations *xa = x + m * groups, *xb = xa + 1;
        const F32 by = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_load_ps(xa->scale_sum)),
                                          _mm256_load_ps(xb->scale_sum), 1);
        const F32 scaled = _mm512_mul_ps(scale_min, by);
        pairs[m][c] = _mm512_add_ps(pairs[m][c], scaled);
        sums[m][c] =
            _mm512_fmadd_ps(dot_digits(s, digits_of(xa->q)), _mm512_permutexvar_ps(pick, scaled), sums[m][c]);
        sums[m][c] = _mm512_fmadd_ps(dot_digits(t, digits_of(xb->q)), _mm512_permutexvar_ps(pick_b, scaled),
                                     sums[m][c]);
      }
    }
  }
  for (; left > 2; left -= 4, at += 80, ++x) {
    const uint32_t exist = left >= 4 ? 0xfffff : 0x7fff;
    RUDA_UNROLL
    for (int c = 0; c < C; ++c) {
      const WordsQ4_1 a{_mm512_maskz_loadu_epi32((__mmask16)exist, rows[c] + at),
                        _mm512_maskz_loadu_epi32((__mmask16)(exist >> 16), rows[c] + at + 64)};
      const F32 scale_min = scale_min_q4_1(a.low, a.low);
      const Bytes s = bytes_of(codes_q4_1(a));
      RUDA_UNROLL
      for (int m = 0; m < M; ++m) {
        const BlockActivations* xa = x + m * groups;
        const F32 scaled = _mm512_mul_ps(scale_min, _mm512_zextps256_ps512(_mm256_load_ps(xa->scale_sum)));
        pairs[m][c] = _mm512_add_ps(pairs[m][c], scaled);
        sums[m][c] =
            _mm512_fmadd_ps(dot_digits(s, digits_of(xa->q)), _mm512_permutexvar_ps(pick, scaled), sums[m][c]);
      }
    }
  }
  // Odd lanes hold minimum times sum.
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) RUDA_UNROLL
  for (int c = 0; c < C; ++c) sums[m][c] = _mm512_mask_add_ps(sums[m][c], 0xaaaa, sums[m][c], pairs[m][c]);

  RUDA_UNROLL
  for (int m = 0; m < M; ++m) RUDA_UNROLL
  for (int c = 0; c < C; c += 2) ends[m][c / 2] = _mm512_setzero_ps();
  if (left <= 0) return;
  const __mmask16 exist = left == 2 ? 0x3ff : 0x1f;
  RUDA_UNROLL
  for (int c = 0; c < C; c += 2) {
    const Words a = _mm512_maskz_loadu_epi32(exist, rows[c] + at),
                b = _mm512_maskz_loadu_epi32(exist, rows[c + 1 < C ? c + 1 : c] + at);
    const Words heads = _mm512_permutex2var_epi32(
        a, _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 31, 31, 21, 16, 15, 15, 5, 0), b);
    const F32 scale_min = _mm512_cvtph_ps(_mm512_castsi512_si256(heads));
    const Bytes s = bytes_of(_mm512_permutex2var_epi32(
        a, _mm512_set_epi32(25, 24, 23, 22, 20, 19, 18, 17, 9, 8, 7, 6, 4, 3, 2, 1), b));
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) {
      const BlockActivations* xa = x + m * groups;
      const __m256 each = _mm256_load_ps(xa->scale_sum);
      const F32 scaled = _mm512_mul_ps(scale_min, _mm512_insertf32x8(_mm512_castps256_ps512(each), each, 1));
      Digits q = digits_of(xa->q);
      q.upper_low = _mm512_shuffle_i64x2(q.upper_low, q.upper_low, 0x44);
      q.upper_high = _mm512_shuffle_i64x2(q.upper_high, q.upper_high, 0x44);
      q.lower_low = _mm512_shuffle_i64x2(q.lower_low, q.lower_low, 0x44);
      q.lower_high = _mm512_shuffle_i64x2(q.lower_high, q.lower_high, 0x44);
      const F32 product =
          _mm512_mul_ps(dot_digits(s, q),
                        _mm512_permutexvar_ps(
                            _mm512_set_epi32(10, 10, 10, 10, 8, 8, 8, 8, 2, 2, 2, 2, 0, 0, 0, 0), scaled));
      ends[m][c / 2] = _mm512_mask_add_ps(product, 0xaaaa, product, scaled);
    }
  }
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
