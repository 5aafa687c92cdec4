// src/cpu/matmul/matmul_block_panel.hpp - weight blocks to bf16 panels, and the loop over panels and rows;
// AVX-512.
// SPDX-License-Identifier: Apache-2.0
//
// A panel is 16 weight rows by 32 elements: 16 lines of 64 bytes, line p holds elements 2p and 2p + 1 of each
// row in turn, what both the tile unit and the bf16 dot product read. Weights are computed in F32, exactly as
// the format says, and rounded once to bf16.
#pragma once
#include "cpu/matmul/matmul_block.hpp"
#include "cpu/simd/convert.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Codes of 16 rows by 32 elements: z[half][i], 128-bit lane l = elements 16 * half.. of row row_of(i, l),
// signed bytes.
struct PanelCodes {
  __m512i z[2][4];
};

// Where 16 weight rows lie; rows past the last one repeat it.
struct PanelRows {
  const uint8_t* row[16];
  __m512i offset;  // of each from row[0]
};

RUDA_INLINE PanelRows panel_rows(const BlockMatmul& call, int64_t begin, int64_t end) {
  PanelRows rows;
  alignas(64) int32_t offset[16];
  for (int r = 0; r < 16; ++r) {
    const int64_t at = begin + r < end ? r : end - 1 - begin;
    rows.row[r] = call.weights + (begin + at) * call.weight_row_bytes;
    offset[r] = (int32_t)(at * call.weight_row_bytes);
  }
  rows.offset = _mm512_load_si512(offset);
  return rows;
}

RUDA_INLINE __m128i bytes16(const uint8_t* p) { return _mm_loadu_si128((const __m128i*)p); }
RUDA_INLINE uint64_t word16(const uint8_t* p) {
  uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}

// Even rows and odd rows apart, so that an interleave of 64-bit halves puts neighbours side by side.
RUDA_INLINE int row_of(int i, int lane) { return 8 * (i >> 1) + (i & 1) + 2 * lane; }

RUDA_INLINE __m512i four_rows(const PanelRows& rows, int i, int64_t at) {
  __m512i v = _mm512_castsi128_si512(bytes16(rows.row[row_of(i, 0)] + at));
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, bytes16(rows.row[row_of(i, 1)] + at));
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, bytes16(rows.row[row_of(i, 2)] + at));
  return _mm512_mask_broadcast_i32x4(v, 0xf000, bytes16(rows.row[row_of(i, 3)] + at));
}
// 16 bits of each of four rows as a mask of bytes.
RUDA_INLINE __mmask64 four_masks(const PanelRows& rows, int i, int64_t at) {
  return word16(rows.row[row_of(i, 0)] + at) | word16(rows.row[row_of(i, 1)] + at) << 16 |
         word16(rows.row[row_of(i, 2)] + at) << 32 | word16(rows.row[row_of(i, 3)] + at) << 48;
}
RUDA_INLINE __m512i gather32(const PanelRows& rows, int64_t at) {
  return _mm512_i32gather_epi32(rows.offset, rows.row[0] + at, 1);
}
RUDA_INLINE F32 lower_f16(__m512i v) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v)); }
RUDA_INLINE F32 upper_f16(__m512i v) {
  return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16)));
}

RUDA_INLINE __m512i low_nibbles(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
RUDA_INLINE __m512i high_nibbles(__m512i v) { return low_nibbles(_mm512_srli_epi16(v, 4)); }

// Writes one panel: scale[half] * code + min, each vector one value a row.
template <bool HasMin>
RUDA_INLINE void write_panel(const PanelCodes& codes, const F32* scale, F32 min, uint8_t* to) {
  // Codes go to the top byte of a 32-bit lane, 2^24 too large; lanes 2j and 2j + 1 belong to row j.
  const __m512i lower = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
  // In a 128-bit lane: bytes 0..7 of one row, 8..15 of the next; bytes e and e + 1 of both, the rest zero.
  const __m512i first = _mm512_set4_epi32(0x09808080, 0x08808080, 0x01808080, (int)0x00808080);
  const F32 min0 = _mm512_permutexvar_ps(lower, min), min1 = _mm512_permutexvar_ps(upper, min);
  RUDA_UNROLL
  for (int half = 0; half < 2; ++half) {
    const F32 small = _mm512_mul_ps(scale[half], _mm512_set1_ps(0x1p-24f));
    const F32 scale0 = _mm512_permutexvar_ps(lower, small), scale1 = _mm512_permutexvar_ps(upper, small);
    const __m512i* z = codes.z[half];
    RUDA_UNROLL
    for (int quarter = 0; quarter < 2; ++quarter) {
      const __m512i rows0 = quarter ? _mm512_unpackhi_epi64(z[0], z[1]) : _mm512_unpacklo_epi64(z[0], z[1]);
      const __m512i rows1 = quarter ? _mm512_unpackhi_epi64(z[2], z[3]) : _mm512_unpacklo_epi64(z[2], z[3]);
      RUDA_UNROLL
      for (int pair = 0; pair < 4; ++pair) {
        const __m512i pick = _mm512_add_epi32(first, _mm512_set1_epi32(2 * pair << 24));
        const F32 q0 = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(rows0, pick));
        const F32 q1 = _mm512_cvtepi32_ps(_mm512_shuffle_epi8(rows1, pick));
        const F32 w0 = HasMin ? _mm512_fmadd_ps(q0, scale0, min0) : _mm512_mul_ps(q0, scale0);
        const F32 w1 = HasMin ? _mm512_fmadd_ps(q1, scale1, min1) : _mm512_mul_ps(q1, scale1);
        _mm512_store_si512(to + 64 * (8 * half + 4 * quarter + pair), (__m512i)_mm512_cvtne2ps_pbh(w1, w0));
      }
    }
  }
}

// ---- formats of 32-element blocks

template <int Bytes, int Codes, int HighBits, int Subtract, bool HasMin>
RUDA_INLINE void unpack_32(const PanelRows& rows, int64_t block, uint8_t* to) {
  const int64_t at = block * Bytes;
  PanelCodes codes;
  RUDA_UNROLL
  for (int i = 0; i < 4; ++i) {
    const __m512i v = four_rows(rows, i, at + Codes);
    codes.z[0][i] = low_nibbles(v);
    codes.z[1][i] = high_nibbles(v);
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) {
      __m512i& z = codes.z[half][i];
      if constexpr (HighBits != 0)
        z = _mm512_mask_add_epi8(z, four_masks(rows, i, at + HighBits + 2 * half), z, _mm512_set1_epi8(16));
      if constexpr (Subtract != 0) z = _mm512_sub_epi8(z, _mm512_set1_epi8(Subtract));
    }
  }
  const __m512i head = gather32(rows, at);
  const F32 d = lower_f16(head), scale[2] = {d, d};
  write_panel<HasMin>(codes, scale, HasMin ? upper_f16(head) : zero(), to);
}

RUDA_INLINE void unpack_q8_0(const PanelRows& rows, int64_t block, uint8_t* to) {
  const int64_t at = block * 34;
  PanelCodes codes;
  RUDA_UNROLL
  for (int i = 0; i < 4; ++i) {
    codes.z[0][i] = four_rows(rows, i, at + 2);
    codes.z[1][i] = four_rows(rows, i, at + 18);
  }
  const F32 d = lower_f16(gather32(rows, at)), scale[2] = {d, d};
  write_panel<false>(codes, scale, zero(), to);
}

// ---- formats of 256-element blocks: eight panels each

template <bool Five>
RUDA_INLINE void unpack_k(const PanelRows& rows, int64_t block, uint8_t* to) {
  const int64_t at = block * (Five ? 176 : 144), codes_at = at + (Five ? 48 : 16);
  const __m512i head = gather32(rows, at);
  const F32 d = lower_f16(head), minus_dmin = neg(upper_f16(head));
  const __m512i s0 = gather32(rows, at + 4), s1 = gather32(rows, at + 8), s2 = gather32(rows, at + 12);
  const __m512i low4 = _mm512_set1_epi32(0x0f0f0f0f), top2 = _mm512_set1_epi32(0x30303030);
  const __m512i low6 = _mm512_set1_epi32(63);
  // Byte j of scales[g] and mins[g]: sub-block 4 * g + j.
  const __m512i scales[2] = {
      s0, _mm512_or_si512(_mm512_and_si512(s2, low4), _mm512_and_si512(_mm512_srli_epi32(s0, 2), top2))};
  const __m512i mins[2] = {s1, _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(s2, 4), low4),
                                               _mm512_and_si512(_mm512_srli_epi32(s1, 2), top2))};
  for (int run = 0; run < 4; ++run) {
    __m512i packed[2][4];
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) RUDA_UNROLL
    for (int i = 0; i < 4; ++i) packed[half][i] = four_rows(rows, i, codes_at + 32 * run + 16 * half);
    RUDA_UNROLL
    for (int nibble = 0; nibble < 2; ++nibble) {
      const int sub = 2 * run + nibble;
      PanelCodes codes;
      RUDA_UNROLL
      for (int half = 0; half < 2; ++half) RUDA_UNROLL
      for (int i = 0; i < 4; ++i) {
        __m512i z = nibble ? high_nibbles(packed[half][i]) : low_nibbles(packed[half][i]);
        if constexpr (Five)
          z = _mm512_mask_add_epi8(z,
                                   _mm512_test_epi8_mask(four_rows(rows, i, at + 16 + 16 * half),
                                                         _mm512_set1_epi8((char)(1 << sub))),
                                   z, _mm512_set1_epi8(16));
        codes.z[half][i] = z;
      }
      const __m128i shift = _mm_cvtsi32_si128(8 * (sub & 3));
      const __m512i s = _mm512_and_si512(_mm512_srl_epi32(scales[sub >> 2], shift), low6);
      const __m512i m = _mm512_and_si512(_mm512_srl_epi32(mins[sub >> 2], shift), low6);
      const F32 a = _mm512_mul_ps(_mm512_cvtepi32_ps(s), d), scale[2] = {a, a};
      write_panel<true>(codes, scale, _mm512_mul_ps(_mm512_cvtepi32_ps(m), minus_dmin), to + 1024 * sub);
    }
  }
}

RUDA_INLINE void unpack_q6_k(const PanelRows& rows, int64_t block, uint8_t* to) {
  const int64_t at = block * 210;
  const F32 d = upper_f16(gather32(rows, at + 206));
  for (int half_block = 0; half_block < 2; ++half_block) RUDA_UNROLL
  for (int part = 0; part < 4; ++part) {
    const int64_t low_at = at + 64 * half_block + 32 * (part & 1), high_at = at + 128 + 32 * half_block;
    PanelCodes codes;
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) RUDA_UNROLL
    for (int i = 0; i < 4; ++i) {
      const __m512i low = four_rows(rows, i, low_at + 16 * half),
                    high = four_rows(rows, i, high_at + 16 * half);
      const __m512i top = _mm512_and_si512(
          _mm512_slli_epi16(_mm512_srl_epi16(high, _mm_cvtsi32_si128(2 * part)), 4), _mm512_set1_epi8(0x30));
      const __m512i z = _mm512_or_si512(part < 2 ? low_nibbles(low) : high_nibbles(low), top);
      codes.z[half][i] = _mm512_sub_epi8(z, _mm512_set1_epi8(32));
    }
    const int sub = 8 * half_block + 2 * part;  // of 16 scales
    const __m512i four = gather32(rows, at + 192 + (sub & ~3));
    F32 scale[2];
    RUDA_UNROLL
    for (int half = 0; half < 2; ++half) {
      const __m128i shift = _mm_cvtsi32_si128(24 - 8 * ((sub + half) & 3));
      scale[half] =
          _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_sll_epi32(four, shift), 24)), d);
    }
    write_panel<false>(codes, scale, zero(), to + 1024 * (4 * half_block + part));
  }
}

// `steps` panels of 32 elements from element 32 * step of 16 weight rows.
template <int Type>
void unpack(const PanelRows& rows, int64_t step, int64_t steps, uint8_t* to) {
  constexpr int64_t each = block_formats[Type].elements / 32;
  for (int64_t i = 0; i < steps; i += each, to += 1024 * each) {
    const int64_t block = (step + i) / each;
    if constexpr (Type == block_q4_0) unpack_32<18, 2, 0, 8, false>(rows, block, to);
    if constexpr (Type == block_q4_1) unpack_32<20, 4, 0, 0, true>(rows, block, to);
    if constexpr (Type == block_q5_0) unpack_32<22, 6, 2, 16, false>(rows, block, to);
    if constexpr (Type == block_q5_1) unpack_32<24, 8, 4, 0, true>(rows, block, to);
    if constexpr (Type == block_q8_0) unpack_q8_0(rows, block, to);
    if constexpr (Type == block_q4_k) unpack_k<false>(rows, block, to);
    if constexpr (Type == block_q5_k) unpack_k<true>(rows, block, to);
    if constexpr (Type == block_q6_k) unpack_q6_k(rows, block, to);
  }
}

constexpr void (*unpack_table[block_type_count])(const PanelRows&, int64_t, int64_t, uint8_t*) = {
    unpack<block_q4_0>, unpack<block_q4_1>, unpack<block_q5_0>, unpack<block_q5_1>,
    unpack<block_q8_0>, unpack<block_q4_k>, unpack<block_q5_k>, unpack<block_q6_k>};

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
