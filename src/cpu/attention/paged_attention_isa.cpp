// src/cpu/attention/paged_attention_isa.cpp - vector attention of a block of rows over the pages of one
// history.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: a row's bits depend on its query and history alone, pages are read once a block, one code for decode
// and prefill. A tile of 64 keys is transposed once and then serves all rows; each score is one chain of
// products over head_dim, each output one chain over the keys, so neither changes with the number of rows.
// Rejected: dot products along head_dim for few rows, which save the transposition but sum in another order
// than blocks of rows.
#include "cpu/attention/attention_parts.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr int columns = RUDA_SIMD_AVX512 ? 4 : 2;                         // vectors of a register block
constexpr int rows_at_once = RUDA_SIMD_AVX512 || RUDA_SIMD_AVX2 ? 6 : 4;  // rows of a register block
constexpr int64_t unroll = columns * lanes;

// ---- transposition of lanes x lanes

// One stage: lane l of `a` and `b` swap blocks of `step` lanes across the diagonal.
constexpr int low_lane(int lane, int step) { return lane & step ? lanes + lane - step : lane; }
constexpr int high_lane(int lane, int step) { return lane & step ? lanes + lane : lane + step; }

template <int step>
RUDA_INLINE void exchange(F32& a, F32& b) {
#define RUDA_LANES4(f, at) f(at, step), f((at) + 1, step), f((at) + 2, step), f((at) + 3, step)
#if RUDA_SIMD_AVX512
#define RUDA_LANES(f) RUDA_LANES4(f, 0), RUDA_LANES4(f, 4), RUDA_LANES4(f, 8), RUDA_LANES4(f, 12)
#elif RUDA_SIMD_AVX2
#define RUDA_LANES(f) RUDA_LANES4(f, 0), RUDA_LANES4(f, 4)
#else
#define RUDA_LANES(f) RUDA_LANES4(f, 0)
#endif
  const F32 low = __builtin_shufflevector(a, b, RUDA_LANES(low_lane));
  const F32 high = __builtin_shufflevector(a, b, RUDA_LANES(high_lane));
#undef RUDA_LANES
#undef RUDA_LANES4
  a = low;
  b = high;
}

template <int step>
RUDA_INLINE void transpose_stage(F32 (&v)[lanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i)
    if (!(i & step)) exchange<step>(v[i], v[i + step]);
}

RUDA_INLINE void transpose(F32 (&v)[lanes]) {
  transpose_stage<1>(v);
  transpose_stage<2>(v);
  if constexpr (lanes > 4) transpose_stage<4>(v);
  if constexpr (lanes > 8) transpose_stage<8>(v);
}

#if RUDA_SIMD_AVX512
// 16 words of 4 bytes at `offset` bytes of 16 rows, transposed: loads of quarters do the outer half of the
// work, which spares the shuffle port.
RUDA_INLINE void transpose_words(const char* const (&rows)[16], int64_t offset, F32 (&out)[16]) {
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    __m512 v[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const auto quarter = [&](int row) { return _mm_loadu_ps((const float*)(rows[row] + offset + 16 * c)); };
      v[r] = _mm512_castps128_ps512(quarter(r));
      v[r] = _mm512_insertf32x4(v[r], quarter(4 + r), 1);
      v[r] = _mm512_insertf32x4(v[r], quarter(8 + r), 2);
      v[r] = _mm512_insertf32x4(v[r], quarter(12 + r), 3);
    }
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1])),
                  b = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1]));
    const __m512d e = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3])),
                  f = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
    out[4 * c] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, e));
    out[4 * c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, e));
    out[4 * c + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, f));
    out[4 * c + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, f));
  }
}
#endif

// ---- one tile of keys

// Writes `width` rows of keys_t, which hold `lanes` keys each, from vectors of one key each.
template <class T>
RUDA_INLINE void transpose_edge(const T* const* keys, int count, int64_t d, int width, float* to) {
  F32 v[lanes];
  for (int i = 0; i < lanes; ++i) v[i] = i < count ? load(keys[i] + d, width) : zero();
  transpose(v);
  for (int i = 0; i < width; ++i) store(to + i * tile, v[i]);
}

template <class T>
RUDA_INLINE void transpose_block(const T* const* keys, int64_t d, float* to) {
  F32 v[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) v[i] = load(keys[i] + d);
  transpose(v);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) store(to + i * tile, v[i]);
}

// keys_t [head_dim, tile]: column j is key j; zero from t.count to the next vector, so that no slot past the
// history is read.
template <class T>
void transpose_keys(const Tile<T>& t, int64_t head_dim, float* keys_t) {
  for (int j = 0; j < t.count; j += lanes) {
    const int count = t.count - j;
    int64_t d = 0;
    if (count >= lanes) {
#if RUDA_SIMD_AVX512
      const char* rows[16];
      for (int i = 0; i < 16; ++i) rows[i] = (const char*)t.keys[j + i];
      F32 v[16];
      if constexpr (sizeof(T) == sizeof(float)) {
        for (; d + 16 <= head_dim; d += 16) {
          transpose_words(rows, d * 4, v);
#pragma GCC unroll 16
          for (int i = 0; i < 16; ++i) store(keys_t + (d + i) * tile + j, v[i]);
        }
      } else if constexpr (is_bf16<T>) {  // two neighbours of a key are one word
        for (; d + 32 <= head_dim; d += 32) {
          transpose_words(rows, d * 2, v);
#pragma GCC unroll 16
          for (int i = 0; i < 16; ++i) {
            store(keys_t + (d + 2 * i) * tile + j, from_bits(ubits(v[i]) << 16));
            store(keys_t + (d + 2 * i + 1) * tile + j, from_bits(ubits(v[i]) & 0xffff0000u));
          }
        }
      }
#endif
      for (; d + lanes <= head_dim; d += lanes) transpose_block(t.keys + j, d, keys_t + d * tile + j);
    }
    for (; d < head_dim; d += lanes)
      transpose_edge(t.keys + j, count, d, head_dim - d < lanes ? int(head_dim - d) : lanes,
                     keys_t + d * tile + j);
  }
}

// ---- scores: s[r][j] = q[r] . key j

template <int rows, int width>
RUDA_INLINE void score_block(const float* q, const float* keys_t, int64_t head_dim, float* s) {
  F32 sums[rows][width];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) sums[r][w] = zero();
  for (int64_t d = 0; d < head_dim; ++d) {
    F32 k[width];
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) k[w] = load(keys_t + d * tile + w * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const F32 x = set(q[r * head_dim + d]);
#pragma GCC unroll 4
      for (int w = 0; w < width; ++w) sums[r][w] = fma(x, k[w], sums[r][w]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) store(s + r * tile + w * lanes, sums[r][w]);
}

template <int rows>
void scores(const float* q, const float* keys_t, int64_t head_dim, int count, float* s) {
  int j = 0;
  for (; j + unroll <= count + lanes - 1 && j + unroll <= tile; j += unroll)
    score_block<rows, columns>(q, keys_t + j, head_dim, s + j);
  for (; j < count; j += lanes) score_block<rows, 1>(q, keys_t + j, head_dim, s + j);
}

// ---- weighted sums of values: out[r] = out[r] * factors[r] + sum_j p[r][j] v_j

template <int rows, int width, class T>
RUDA_INLINE void value_block(const float* p, const T* const* values, int count, int64_t d, int tail,
                             const float* factors, float* out, int64_t stride) {
  F32 sums[rows][width];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) sums[r][w] = load(out + r * stride + d + w * lanes) * factors[r];
  for (int j = 0; j < count; ++j) {
    F32 v[width];
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) v[w] = tail ? load(values[j] + d, tail) : load(values[j] + d + w * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const F32 x = set(p[r * tile + j]);
#pragma GCC unroll 4
      for (int w = 0; w < width; ++w) sums[r][w] = fma(x, v[w], sums[r][w]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int w = 0; w < width; ++w) store(out + r * stride + d + w * lanes, sums[r][w]);
}

template <int rows, class T>
void add_values(const float* p, const T* const* values, int count, int64_t value_dim, const float* factors,
                float* out, int64_t stride) {
  int64_t d = 0;
  for (; d + unroll <= value_dim; d += unroll)
    value_block<rows, columns>(p, values, count, d, 0, factors, out, stride);
  for (; d + lanes <= value_dim; d += lanes)
    value_block<rows, 1>(p, values, count, d, 0, factors, out, stride);
  if (d < value_dim) value_block<rows, 1>(p, values, count, d, int(value_dim - d), factors, out, stride);
}

// ---- running softmax

// Running state of one row.
struct Row {
  float largest;
  float reserved;
  int64_t limit;  // keys 0..limit-1 are seen
};

// Turns the scores of a tile's first `count` keys into weights, of which the row sees the first `seen`;
// updates the row and gives the factor for what was summed before.
template <bool whole>
RUDA_INLINE float soften(float* s, int count, int64_t seen, Row& row, float* sums) {
  const int end = whole ? tile : count;
  F32 top = set(-infinity);
#pragma GCC unroll 4
  for (int j = 0; j < end; j += lanes) {
    F32 x = load(s + j);
    if (!whole && j + lanes > seen) {
      x = select(first(int(seen < j ? 0 : seen - j)), x, set(-infinity));
      store(s + j, x);
    }
    top = max(x, top);
  }
  const float before = row.largest, tile_largest = max_lane(top);
  const float largest = tile_largest > before ? tile_largest : before;
  const float factor = before == largest ? 1.0f : weight_of(set(before - largest))[0];
  const F32 shift = set(largest == -infinity ? 0.0f : largest);
  F32 sum = load(sums) * factor;
#pragma GCC unroll 4
  for (int j = 0; j < end; j += lanes) {
    const F32 p = weight_of(load(s + j) - shift);
    store(s + j, p);
    sum = sum + p;
  }
  store(sums, sum);
  row.largest = largest;
  return factor;
}

template <int rows, class T>
void step(const Tile<T>& t, const T* const* values, const float* const* packed, int64_t begin,
          const AttentionRows& a, const float* q, const float* keys_t, Row* state, float* sums, float* out,
          int64_t stride, float* s) {
  int64_t seen = 0;
  for (int r = 0; r < rows; ++r) seen = state[r].limit > seen ? state[r].limit : seen;
  if (seen <= begin) return;
  const int count = seen - begin < t.count ? int(seen - begin) : t.count;
  scores<rows>(q, keys_t, a.head_dim, count, s);
  float factors[rows];
  for (int r = 0; r < rows; ++r) {
    const int64_t row_seen = state[r].limit - begin;
    factors[r] = row_seen >= tile && count == tile
                     ? soften<true>(s + r * tile, count, row_seen, state[r], sums + r * lanes)
                     : soften<false>(s + r * tile, count, row_seen, state[r], sums + r * lanes);
  }
  if (packed)
    add_values<rows>(s, packed, count, a.value_dim, factors, out, stride);
  else
    add_values<rows>(s, values, count, a.value_dim, factors, out, stride);
}

template <class T>
void step_any(int64_t rows, const Tile<T>& t, const float* const* packed, int64_t begin,
              const AttentionRows& a, const float* q, const float* keys_t, Row* state, float* sums,
              float* out, int64_t stride, float* s) {
  switch (rows) {
    case 1: return step<1>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
    case 2: return step<2>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
    case 3: return step<3>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
    case 4: return step<4>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
#if RUDA_SIMD_AVX512 || RUDA_SIMD_AVX2
    case 5: return step<5>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
    default: return step<6>(t, t.values, packed, begin, a, q, keys_t, state, sums, out, stride, s);
#else
    default: return;
#endif
  }
}

// ---- a block of rows

template <class Q, class T>
void attend(const AttentionRows& a, float* scratch) {
  const int64_t rows = a.row_end - a.row_begin, stride = (a.value_dim + 15) / 16 * 16;
  float* s = scratch;  // [rows_at_once, tile]
  float* keys_t = s + 16 * tile;
  float* values = keys_t + tile * a.head_dim;
  float* out = values + tile * stride;
  float* sums = out + rows * stride;
  float* q = sums + rows * 16;
  Row* state = reinterpret_cast<Row*>(q + (rows * a.head_dim + 3) / 4 * 4);

  int64_t seen = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t query = (a.row_begin + r) / a.group, head = (a.row_begin + r) % a.group;
    pack_query(static_cast<const Q*>(a.q) + query * a.q_stride + head * a.q_head_stride, q + r * a.head_dim,
               a.head_dim, a.scale);
    int64_t limit = a.length < a.key_end ? a.length : a.key_end;
    if (a.causal && int64_t(a.positions[query]) + 1 < limit) limit = int64_t(a.positions[query]) + 1;
    state[r] = {-infinity, 0, limit};
    if (limit > seen) seen = limit;
    for (int64_t d = 0; d < stride; d += 4) __builtin_memset(out + r * stride + d, 0, 16);
    store(sums + r * lanes, zero());
  }

  Tile<T> t;
  const bool pack = sizeof(T) < sizeof(float) && rows > rows_at_once;
  const float* packed[tile];
  for (int64_t begin = a.key_begin; begin < seen; begin += tile) {
    if (a.stopped && a.stopped(a.sign)) return;
    locate(a, begin, seen - begin < tile ? int(seen - begin) : tile, t);
    transpose_keys(t, a.head_dim, keys_t);
    if (pack)
      for (int j = 0; j < t.count; ++j) {
        pack_query(t.values[j], values + j * stride, a.value_dim, 1.0f);
        packed[j] = values + j * stride;
      }
    for (int64_t r = 0; r < rows; r += rows_at_once)
      step_any(rows - r < rows_at_once ? rows - r : rows_at_once, t, pack ? packed : nullptr, begin, a,
               q + r * a.head_dim, keys_t, state + r, sums + r * lanes, out + r * stride, stride, s);
  }

  for (int64_t r = 0; r < rows; ++r) {
    const int64_t query = (a.row_begin + r) / a.group, head = (a.row_begin + r) % a.group;
    const float weight = sum(load(sums + r * lanes));
    if (a.partial) {
      float* to = a.partial + query * a.partial_query_stride + head * a.partial_head_stride;
      if (weight != 0) __builtin_memcpy(to, out + r * stride, size_t(a.value_dim) * sizeof(float));
      to[a.value_dim] = state[r].largest;
      to[a.value_dim + 1] = weight;
    } else {
      finish_row(out + r * stride, weight, state[r].largest, a.value_dim,
                 static_cast<Q*>(a.out) + query * a.out_stride + head * a.out_head_stride,
                 a.lse ? a.lse + query * a.lse_stride + head * a.lse_head_stride : nullptr);
    }
  }
}

template <class Q>
void merge(const AttentionMerge& m, int64_t begin, int64_t end) {
  const int64_t step = m.value_dim + 2;
  alignas(64) float sums[1024];
  float factors[32];
  for (int64_t row = begin; row < end; ++row) {
    const float* parts = m.partial + row * m.parts * step;
    float largest = -infinity, weight = 0;
    for (int64_t i = 0; i < m.parts; ++i) {
      const float x = parts[i * step + m.value_dim];
      if (parts[i * step + m.value_dim + 1] != 0 && x > largest) largest = x;
    }
    for (int64_t i = 0; i < m.parts; ++i) {
      const float part = parts[i * step + m.value_dim + 1];
      factors[i] = part == 0 ? 0.0f : weight_of(set(parts[i * step + m.value_dim] - largest))[0];
      weight += part * factors[i];
    }
    for (int64_t d = 0; d < m.value_dim; d += lanes) {
      const int width = m.value_dim - d < lanes ? int(m.value_dim - d) : lanes;
      F32 total = zero();
      for (int64_t i = 0; i < m.parts; ++i)
        if (parts[i * step + m.value_dim + 1] != 0)
          total = fma(load(parts + i * step + d, width), set(factors[i]), total);
      store(sums + d, total, width);
    }
    const int64_t query = row / m.heads, head = row % m.heads;
    finish_row(sums, weight, largest, m.value_dim,
               static_cast<Q*>(m.out) + query * m.out_stride + head * m.out_head_stride,
               m.lse ? m.lse + query * m.lse_stride + head * m.lse_head_stride : nullptr);
  }
}

}  // namespace

extern const AttentionTable attention_table{{{attend<float, float>, attend<float, f16>, attend<float, bf16>},
                                             {attend<f16, float>, attend<f16, f16>, attend<f16, bf16>},
                                             {attend<bf16, float>, attend<bf16, f16>, attend<bf16, bf16>}},
                                            {merge<float>, merge<f16>, merge<bf16>}};

}  // namespace ruda::cpu::RUDA_ISA
