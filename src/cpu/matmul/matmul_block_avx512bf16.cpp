// src/cpu/matmul/matmul_block_avx512bf16.cpp - matmul_block with AVX-512 VNNI (few rows) and BF16 dot
// products (many rows).
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/matmul_block_q4_1.hpp"
#include "cpu/matmul/matmul_block_row.hpp"
#include "cpu/matmul/matmul_block_loop.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// ---- activations to 16-bit integers

RUDA_INLINE F32 load_x(const BlockMatmul& call, int64_t row, int64_t at) {
  if (call.x_bf16) {
    const uint16_t* p = (const uint16_t*)call.x + row * call.x_stride + at;
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
  }
  return _mm512_loadu_ps((const float*)call.x + row * call.x_stride + at);
}

// Where the even and the odd elements of block b (0..3) of a group go.
RUDA_INLINE void place(int32_t type, int b, Words q, BlockActivations& to) {
  const Words even_odd =
      _mm512_permutexvar_epi16(_mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30,
                                                28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0),
                               q);
  const __m256i even = _mm512_castsi512_si256(even_odd), odd = _mm512_extracti64x4_epi64(even_odd, 1);
  switch (type) {
    case block_q8_0: _mm512_store_si512(to.q + 32 * b, q); break;
    case block_q4_1: {
      const __m256i upper =
          _mm512_cvtepi16_epi8(_mm512_srai_epi16(_mm512_add_epi16(q, _mm512_set1_epi16(128)), 8));
      const __m256i lower = _mm512_cvtepi16_epi8(q);
      _mm_store_si128((__m128i*)(to.q + 8 * b), _mm256_castsi256_si128(upper));
      _mm_store_si128((__m128i*)(to.q + 32 + 8 * b), _mm256_extracti128_si256(upper, 1));
      _mm_store_si128((__m128i*)(to.q + 64 + 8 * b), _mm256_castsi256_si128(lower));
      _mm_store_si128((__m128i*)(to.q + 96 + 8 * b), _mm256_extracti128_si256(lower, 1));
      break;
    }
    case block_q4_k:
    case block_q5_k:
      _mm256_store_si256((__m256i*)(to.q + 32 * (b & 1) + 16 * (b >> 1)), even);
      _mm256_store_si256((__m256i*)(to.q + 32 * (2 + (b & 1)) + 16 * (b >> 1)), odd);
      break;
    case block_q6_k:
      _mm256_store_si256((__m256i*)(to.q + 32 * (b >> 1) + 16 * (b & 1)), even);
      _mm256_store_si256((__m256i*)(to.q + 32 * (2 + (b >> 1)) + 16 * (b & 1)), odd);
      break;
    default:
      _mm_store_si128((__m128i*)(to.q + 8 * b), _mm256_castsi256_si128(even));
      _mm_store_si128((__m128i*)(to.q + 32 + 8 * b), _mm256_extracti128_si256(even, 1));
      _mm_store_si128((__m128i*)(to.q + 64 + 8 * b), _mm256_castsi256_si128(odd));
      _mm_store_si128((__m128i*)(to.q + 96 + 8 * b), _mm256_extracti128_si256(odd, 1));
  }
}

constexpr int32_t infinity_bits = 0x7f800000;

bool quantize(const BlockMatmul& call, int64_t row, BlockActivations* to) {
  const int32_t type = call.type;
  const int subtract = type == block_q4_0 ? 8 : type == block_q5_0 ? 16 : type == block_q6_k ? 32 : 0;
  const Words minus = _mm512_set1_epi16((short)-subtract);
  bool fits = true;
  for (int64_t at = 0; at < call.k; at += 128, ++to) {
    for (int b = 0; b < 4; ++b) {
      if (at + 32 * b >= call.k) {
        to->scale[b] = to->sum[b] = 0;
        place(type, b, _mm512_setzero_si512(), *to);
        continue;
      }
      const F32 lower = load_x(call, row, at + 32 * b), upper = load_x(call, row, at + 32 * b + 16);
      // As integers, magnitudes order like the floats, with Inf and NaN on top.
      const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
      const int32_t top =
          _mm512_reduce_max_epi32(_mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(lower), magnitude),
                                                   _mm512_and_si512(_mm512_castps_si512(upper), magnitude)));
      // Of the largest magnitude, biased; of the next power of two where two bytes could not hold 32640
      // units.
      const int exponent = (top + (type == block_q4_1 && top < infinity_bits ? 0x10100 : 0)) >> 23;
      const bool zero_block = top == 0;
      if (top >= infinity_bits || (exponent < 15 && !zero_block)) {
        fits = false;
        break;
      }
      // The largest magnitude lies in [2^14, 2^15) units.
      const float unit =
          zero_block ? 0.0f : _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((exponent - 14) << 23)));
      const float inverse =
          zero_block ? 0.0f : _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((254 + 14 - exponent) << 23)));
      const __m512 by = _mm512_set1_ps(inverse);
      const __m256i low = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(lower, by)));
      const __m256i high = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(upper, by)));
      place(type, b, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1), *to);
      to->scale[b] = unit;
      to->sum[b] = sum(_mm512_add_ps(lower, upper));
      if (((_mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(to->sum[b]))) >> 23) & 255) == 255) fits = false;
    }
    if (!fits) break;
    if (type == block_q6_k) {
      _mm512_store_si512(to->offset0, dot(dot(_mm512_setzero_si512(), minus, to->q), minus, to->q + 64));
      _mm512_store_si512(to->offset1, dot(dot(_mm512_setzero_si512(), minus, to->q + 32), minus, to->q + 96));
      continue;
    }
    if (subtract)
      _mm512_store_si512(
          to->offset0,
          dot(dot(dot(dot(_mm512_setzero_si512(), minus, to->q), minus, to->q + 32), minus, to->q + 64),
              minus, to->q + 96));
    _mm512_store_ps(to->scale16,
                    _mm512_permutexvar_ps(_mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0),
                                          _mm512_castps128_ps512(_mm_load_ps(to->scale))));
    const __m128 scales = _mm_load_ps(to->scale), sums = _mm_load_ps(to->sum);
    _mm_store_ps(to->scale_sum, _mm_unpacklo_ps(scales, sums));
    _mm_store_ps(to->scale_sum + 4, _mm_unpackhi_ps(scales, sums));
  }
  return fits;
}

// ---- few rows

template <int Type, int M>
RUDA_INLINE void weight_row(const uint8_t* p, int64_t k, const BlockActivations* from, int64_t groups,
                            F32* sums) {
  if constexpr (Type == block_q4_0) row_of_32<FormatQ4_0, M>(p, k, from, groups, sums);
  if constexpr (Type == block_q5_0) row_of_32<FormatQ5_0, M>(p, k, from, groups, sums);
  if constexpr (Type == block_q5_1) row_of_32<FormatQ5_1, M>(p, k, from, groups, sums);
  if constexpr (Type == block_q4_k) row_k<false, M>(p, k, from, groups, sums);
  if constexpr (Type == block_q5_k) row_k<true, M>(p, k, from, groups, sums);
  if constexpr (Type == block_q6_k) row_q6_k<M>(p, k, from, groups, sums);
}

// Lane sums of four vectors, all in one order.
RUDA_INLINE __m128 sum_of_each(const F32* v) {
  const F32 s01 = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
  const F32 s23 = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
  const F32 each = _mm512_add_ps(_mm512_shuffle_ps(s01, s23, 0x44), _mm512_shuffle_ps(s01, s23, 0xee));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(each), _mm512_extractf32x8_ps(each, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

// Four results, `apart` columns from each other.
RUDA_INLINE void store_four(const BlockMatmul& call, int64_t m, int64_t n, int64_t apart, int count,
                            __m128 value) {
  alignas(16) float each[4];
  _mm_store_ps(each, value);
  for (int c = 0; c < count; ++c) {
    const int64_t column = n + c * apart, at = m * call.y_stride + column;
    if (call.bias) each[c] += load_bias(call, column);
    store_y(call, at, each[c]);
  }
}

// Rows n, n + apart, .. of the weights, `count` of them.
template <int Type, int M>
RUDA_INLINE void four_rows(const BlockMatmul& call, int64_t m_begin, const BlockActivations* from, int64_t n,
                           int64_t apart, int count) {
  const int64_t groups = (call.k + 127) / 128;
  const uint8_t* p = call.weights + n * call.weight_row_bytes;
  F32 sums[M][4];
  if constexpr (Type == block_q4_1 || Type == block_q8_0) {
    constexpr int side = M == 1 ? 4 : 2;
    RUDA_UNROLL
    for (int c = 0; c < 4; c += side) {
      const uint8_t* rows[side];
      RUDA_UNROLL
      for (int i = 0; i < side; ++i)
        rows[i] = p + (c + i < count ? c + i : count - 1) * apart * call.weight_row_bytes;
      if constexpr (Type == block_q8_0) {
        F32 lanes[side][M];
        rows_q8_0<M, side>(rows, call.k, from, groups, lanes);
        RUDA_UNROLL
        for (int m = 0; m < M; ++m) RUDA_UNROLL
        for (int i = 0; i < side; ++i) sums[m][c + i] = lanes[i][m];
      } else {
        F32 lanes[M][side], ends[M][side / 2];
        rows_q4_1<M, side>(rows, call.k, from, groups, lanes, ends);
        RUDA_UNROLL
        for (int m = 0; m < M; ++m) RUDA_UNROLL
        for (int i = 0; i < side; ++i) {
          // Into the lower lanes for each row, so that its bits do not depend on its place.
          const F32 end = ends[m][i / 2];
          const F32 low = i % 2 ? _mm512_castps256_ps512(_mm512_extractf32x8_ps(end, 1)) : end;
          sums[m][c + i] = _mm512_mask_add_ps(lanes[m][i], 0x00ff, lanes[m][i], low);
        }
      }
    }
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) store_four(call, m_begin + m, n, apart, count, sum_of_each(sums[m]));
    return;
  }
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) {
    RUDA_UNROLL
    for (int c = 0; c < 4; ++c) sums[m][c] = _mm512_setzero_ps();
  }
  for (int c = 0; c < count; ++c, p += apart * call.weight_row_bytes) {
    F32 row[M];
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) row[m] = _mm512_setzero_ps();
    weight_row<Type, M>(p, call.k, from, groups, row);
    RUDA_UNROLL
    for (int m = 0; m < M; ++m) sums[m][c] = row[m];
  }
  RUDA_UNROLL
  for (int m = 0; m < M; ++m) store_four(call, m_begin + m, n, apart, count, sum_of_each(sums[m]));
}

// Four streams of rows at once: the processor fetches only so far ahead in each.
template <int Type, int M>
void rows(const BlockMatmul& call, int64_t m_begin, const BlockActivations* from, int64_t begin,
          int64_t end) {
  const int64_t apart = (end - begin) / 4;
  for (int64_t n = begin; n < begin + apart; ++n) four_rows<Type, M>(call, m_begin, from, n, apart, 4);
  const int64_t rest = begin + 4 * apart;
  if (rest < end) four_rows<Type, M>(call, m_begin, from, rest, 1, (int)(end - rest));
}

// The first lines of each stream.
void prefetch_rows(const BlockMatmul& call, int64_t begin, int64_t end) {
  const int64_t apart = (end - begin) / 4;
  for (int64_t n = begin; apart && n < begin + 4 * apart; n += apart)
    for (int line = 0; line < prefetch_distance / 2; line += 64)
      _mm_prefetch((const char*)call.weights + n * call.weight_row_bytes + line, _MM_HINT_T0);
}

template <int Type>
void rows_of_type(const BlockMatmul& call, int64_t m_begin, int64_t count, const BlockActivations* from,
                  int64_t begin, int64_t end) {
  const int64_t groups = (call.k + 127) / 128;
  for (; count >= 4; count -= 4, m_begin += 4, from += 4 * groups)
    rows<Type, 4>(call, m_begin, from, begin, end);
  if (count & 2) {
    rows<Type, 2>(call, m_begin, from, begin, end);
    m_begin += 2, from += 2 * groups;
  }
  if (count & 1) rows<Type, 1>(call, m_begin, from, begin, end);
}

void run_rows(const BlockMatmul& call, int64_t m_begin, int64_t count, const BlockActivations* from,
              int64_t begin, int64_t end) {
  switch (call.type) {
    case block_q4_0: return rows_of_type<block_q4_0>(call, m_begin, count, from, begin, end);
    case block_q4_1: return rows_of_type<block_q4_1>(call, m_begin, count, from, begin, end);
    case block_q5_0: return rows_of_type<block_q5_0>(call, m_begin, count, from, begin, end);
    case block_q5_1: return rows_of_type<block_q5_1>(call, m_begin, count, from, begin, end);
    case block_q8_0: return rows_of_type<block_q8_0>(call, m_begin, count, from, begin, end);
    case block_q4_k: return rows_of_type<block_q4_k>(call, m_begin, count, from, begin, end);
    case block_q5_k: return rows_of_type<block_q5_k>(call, m_begin, count, from, begin, end);
    case block_q6_k: return rows_of_type<block_q6_k>(call, m_begin, count, from, begin, end);
    default: return;
  }
}

// ---- many rows

struct DotMicro {
  static void start() {}
  static void stop() {}
  template <int Rows16, int Cols16>
  static void tile(const uint16_t* x, const uint8_t* panel0, const uint8_t* panel1, int64_t steps,
                   float* sums, bool add) {
    for (int r0 = 0; r0 < 16 * Rows16; r0 += 8) {
      F32 acc[8][Cols16];
      RUDA_UNROLL
      for (int r = 0; r < 8; ++r) RUDA_UNROLL
      for (int c = 0; c < Cols16; ++c)
        acc[r][c] = add ? _mm512_load_ps(sums + 32 * (r0 + r) + 16 * c) : zero();
      for (int64_t p = 0; p < 16 * steps; ++p) {
        const __m512bh b0 = (__m512bh)_mm512_load_si512(panel0 + 64 * p);
        const __m512bh b1 = Cols16 > 1 ? (__m512bh)_mm512_load_si512(panel1 + 64 * p) : b0;
        RUDA_UNROLL
        for (int r = 0; r < 8; ++r) {
          int32_t pair;
          __builtin_memcpy(&pair, x + 1024 * (p / 16) + 32 * (r0 + r) + 2 * (p % 16), 4);
          const __m512bh a = (__m512bh)_mm512_set1_epi32(pair);
          acc[r][0] = _mm512_dpbf16_ps(acc[r][0], a, b0);
          if constexpr (Cols16 > 1) acc[r][1] = _mm512_dpbf16_ps(acc[r][1], a, b1);
        }
      }
      RUDA_UNROLL
      for (int r = 0; r < 8; ++r) RUDA_UNROLL
      for (int c = 0; c < Cols16; ++c) _mm512_store_ps(sums + 32 * (r0 + r) + 16 * c, acc[r][c]);
    }
  }
};

void run_panels(const BlockMatmul& call, const uint16_t* x, int64_t begin, int64_t end, void* scratch) {
  panel_loop<DotMicro>(call, x, begin, end, scratch);
}

}  // namespace

extern const BlockPanelTable block_panel{convert_rows, run_panels};
extern const BlockRowTable block_row{quantize, prefetch_rows, run_rows};

}  // namespace ruda::cpu::RUDA_ISA
