// src/cpu/attention/paged_attention_amx.cpp - attention of many rows over the pages of one history, with the
// AMX tile unit.
// SPDX-License-Identifier: Apache-2.0
//
// The unit multiplies bf16, so every operand is a sum of two: x = high + low, high the nearest bf16 of x and
// low the nearest of what is left, which for BF16 is 0 and for F16 exact. Of the four products the one of the
// two low parts is left out. Scores come out transposed, a query a lane: maxima, sums and factors of the
// softmax then are plain vectors, and the weights of two keys side by side are what the second product reads.
#include "cpu/attention/attention_parts.hpp"
#include "cpu/simd/transpose.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr int side = 16;  // rows of a tile
constexpr int64_t tile_bytes = 1024, row_bytes = 64;
constexpr int sub_tiles = tile / side;  // of keys

struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t column_bytes[16];
  uint8_t rows[16];
};
constexpr TileConfig config = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

// GCC 12 declares its tile intrinsics without the memory they touch, and drops stores before them: this keeps
// both sides in order.
RUDA_INLINE void fence() { __asm__ volatile("" ::: "memory"); }

// ---- two bf16 for one float

// Lane i holds `even` in its lower and `odd` in its upper half.
RUDA_INLINE __m512i pair_up(F32 even, F32 odd) {
  alignas(64) static const uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                 21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(order), (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}
RUDA_INLINE F32 even_of(__m512i pairs) { return (F32)_mm512_slli_epi32(pairs, 16); }
RUDA_INLINE F32 odd_of(__m512i pairs) {
  return (F32)_mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u));
}

// 32 elements as they lie: high parts, and what is left.
template <class T>
RUDA_INLINE void split(const T* from, __m512i& high, __m512i& low) {
  if constexpr (is_bf16<T>) {
    high = _mm512_loadu_si512(from);
    low = _mm512_setzero_si512();
  } else {
    const F32 a = load(from), b = load(from + lanes);
    high = (__m512i)_mm512_cvtne2ps_pbh(b, a);
    const F32 a_high = (F32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)), 16);
    const F32 b_high = (F32)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(high, 1)), 16);
    low = (__m512i)_mm512_cvtne2ps_pbh(b - b_high, a - a_high);
  }
}

// ---- packing

// Keys as they lie: [dim / 32][sub-tile][key][32].
template <class T>
void pack_keys(const Tile<T>& t, int64_t dim, uint8_t* high, uint8_t* low) {
  for (int j = 0; j < tile; ++j)
    for (int64_t d = 0; d < dim; d += 32) {
      const int64_t at = (d / 32 * sub_tiles + j / side) * tile_bytes + j % side * row_bytes;
      __m512i h = _mm512_setzero_si512(), l = h;
      if (j < t.count) split(t.keys[j] + d, h, l);
      _mm512_store_si512(high + at, h);
      if constexpr (!is_bf16<T>) _mm512_store_si512(low + at, l);
    }
}

// Values transposed: [half of the keys][dim / 16][dim][32 keys]; zero past the count, where a weight is 0.
template <class T>
void pack_values(const Tile<T>& t, int64_t dim, uint8_t* high, uint8_t* low) {
  for (int half = 0; half < 2; ++half)
    for (int64_t d = 0; d < dim; d += side) {
      const int64_t at = (half * (dim / side) + d / side) * tile_bytes;
      F32 h[16], l[16];
      for (int i = 0; i < 16; ++i) {
        const int j = half * 32 + 2 * i;
        const F32 even = j < t.count ? load(t.values[j] + d) : zero();
        const F32 odd = j + 1 < t.count ? load(t.values[j + 1] + d) : zero();
        const __m512i pairs = pair_up(even, odd);
        h[i] = (F32)pairs;
        if constexpr (!is_bf16<T>) l[i] = (F32)pair_up(even - even_of(pairs), odd - odd_of(pairs));
      }
      transpose(h);
      for (int i = 0; i < 16; ++i) store((float*)(high + at + i * row_bytes), h[i]);
      if constexpr (is_bf16<T>) continue;
      transpose(l);
      for (int i = 0; i < 16; ++i) store((float*)(low + at + i * row_bytes), l[i]);
    }
}

// 16 queries transposed: [dim / 32][pair of elements][query].
template <class Q>
void pack_queries(const Q* const* rows, int64_t dim, uint8_t* high, uint8_t* low) {
  for (int64_t d = 0; d < dim; d += 32) {
    F32 h[16], l[16];
    for (int i = 0; i < 16; ++i) {
      __m512i a, b;
      split(rows[i] + d, a, b);
      h[i] = (F32)a;
      l[i] = (F32)b;
    }
    transpose(h);
    for (int i = 0; i < 16; ++i) store((float*)(high + d / 32 * tile_bytes + i * row_bytes), h[i]);
    if constexpr (is_bf16<Q>) continue;
    transpose(l);
    for (int i = 0; i < 16; ++i) store((float*)(low + d / 32 * tile_bytes + i * row_bytes), l[i]);
  }
}

// ---- products: registers 0..3 hold sums, 4 and 5 the two parts of B, 6 and 7 those of A

// One part of up to four tiles of A times one of B: a sum takes part in every fourth product only, since the
// next waits for the last. Macros, since the compilers print the number of a register as it stands.
#define RUDA_MULTIPLY(sum, a, from, b)                      \
  if (count > (sum)) {                                      \
    _tile_loadd(a, (from) + tile_bytes * (sum), row_bytes); \
    _tile_dpbf16ps(sum, a, b);                              \
  }
#define RUDA_MULTIPLY_ALL(from, b) \
  RUDA_MULTIPLY(0, 6, from, b)     \
  RUDA_MULTIPLY(1, 7, from, b)     \
  RUDA_MULTIPLY(2, 6, from, b)     \
  RUDA_MULTIPLY(3, 7, from, b)

// Up to four tiles of A, one after the other, times one of B, for each step; sums[tile][16][16].
template <bool a_low, bool b_low>
void product(const uint8_t* a_high, const uint8_t* a_low_part, int64_t a_step, const uint8_t* b_high,
             const uint8_t* b_low_part, int64_t steps, int count, float* sums, bool add) {
  if (add) {
    _tile_loadd(0, sums, row_bytes);
    if (count > 1) _tile_loadd(1, sums + 256, row_bytes);
    if (count > 2) _tile_loadd(2, sums + 512, row_bytes);
    if (count > 3) _tile_loadd(3, sums + 768, row_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t s = 0; s < steps; ++s) {
    const uint8_t *high = a_high + s * a_step, *low = a_low_part + s * a_step;
    _tile_loadd(4, b_high + s * tile_bytes, row_bytes);
    if constexpr (b_low) _tile_loadd(5, b_low_part + s * tile_bytes, row_bytes);
    RUDA_MULTIPLY_ALL(high, 4)
    if constexpr (b_low) {
      RUDA_MULTIPLY_ALL(high, 5)
    }
    if constexpr (a_low) {
      RUDA_MULTIPLY_ALL(low, 4)
    }
  }
  _tile_stored(0, sums, row_bytes);
  if (count > 1) _tile_stored(1, sums + 256, row_bytes);
  if (count > 2) _tile_stored(2, sums + 512, row_bytes);
  if (count > 3) _tile_stored(3, sums + 768, row_bytes);
}

#undef RUDA_MULTIPLY_ALL
#undef RUDA_MULTIPLY

// ---- softmax, a query a lane

struct Group {
  F32 largest, weight;
  I32 limit;  // keys 0..limit-1 are seen
  int64_t most, least;
};

// Turns scores[key][query] of `keys` keys (a multiple of 16) into pairs of weights; gives the factor for what
// was summed before.
template <bool masked, bool low_parts>
RUDA_INLINE F32 soften(float* scores, int keys, int64_t begin, float scale, Group& g, uint8_t* high,
                       uint8_t* low) {
  F32 top[4] = {g.largest, g.largest, g.largest, g.largest};
  for (int j = 0; j < keys; j += 4) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      F32 x = load(scores + (j + i) * lanes) * scale;
      if constexpr (masked) x = select(less(set_i32(int32_t(begin + j + i)), g.limit), x, set(-infinity));
      store(scores + (j + i) * lanes, x);
      top[i] = max(x, top[i]);
    }
  }
  const F32 largest = max(max(top[0], top[1]), max(top[2], top[3]));
  const F32 factor = select(equal(g.largest, largest), set(1.0f), weight_of(g.largest - largest));
  const F32 shift = select(equal(largest, set(-infinity)), zero(), largest);
  F32 even_sum = zero(), odd_sum = zero();
#pragma GCC unroll 2
  for (int j = 0; j < keys; j += 2) {
    const F32 even = weight_of(load(scores + j * lanes) - shift),
              odd = weight_of(load(scores + (j + 1) * lanes) - shift);
    even_sum = even_sum + even;
    odd_sum = odd_sum + odd;
    const __m512i pairs = pair_up(even, odd);
    _mm512_store_si512(high + j / 2 * row_bytes, pairs);
    if constexpr (low_parts)
      _mm512_store_si512(low + j / 2 * row_bytes, pair_up(even - even_of(pairs), odd - odd_of(pairs)));
  }
  if (keys % 32)
    for (int j = keys / 2; j < keys / 2 + 8; ++j) {
      _mm512_store_si512(high + j * row_bytes, _mm512_setzero_si512());
      _mm512_store_si512(low + j * row_bytes, _mm512_setzero_si512());
    }
  g.weight = fma(g.weight, factor, even_sum + odd_sum);
  g.largest = largest;
  return factor;
}

// ---- a block of rows

template <class Q, class T>
void attend(const AttentionRows& a, float* scratch) {
  const int64_t rows = a.row_end - a.row_begin, groups = (rows + side - 1) / side;
  const int64_t head_dim = a.head_dim, value_dim = a.value_dim;
  float* scores = scratch;
  uint8_t* weights_high = (uint8_t*)(scores + tile * side);
  uint8_t* weights_low = weights_high + 2 * tile_bytes;
  uint8_t* keys_high = weights_low + 2 * tile_bytes;
  uint8_t* keys_low = keys_high + tile * head_dim * 2;
  uint8_t* values_high = keys_low + tile * head_dim * 2;
  uint8_t* values_low = values_high + tile * value_dim * 2;
  uint8_t* queries = values_low + tile * value_dim * 2;
  float* sums = (float*)(queries + groups * head_dim * side * 4);  // [group][value_dim][16]
  Group* states = (Group*)(sums + groups * value_dim * side);

  int64_t seen = 0;
  for (int64_t g = 0; g < groups; ++g) {
    const Q* from[side];
    alignas(64) int32_t limits[side];
    states[g].most = 0;
    states[g].least = INT32_MAX;
    for (int i = 0; i < side; ++i) {
      const int64_t r = a.row_begin + g * side + i;
      const int64_t row = r < a.row_end ? r : a.row_end - 1;
      const int64_t query = row / a.group;
      from[i] = (const Q*)a.q + query * a.q_stride + row % a.group * a.q_head_stride;
      int64_t limit = a.length < a.key_end ? a.length : a.key_end;
      if (a.causal && int64_t(a.positions[query]) + 1 < limit) limit = int64_t(a.positions[query]) + 1;
      limits[i] = int32_t(limit);
      if (limit > states[g].most) states[g].most = limit;
      if (limit < states[g].least) states[g].least = limit;
    }
    states[g].limit = load(limits);
    states[g].largest = set(-infinity);
    states[g].weight = zero();
    if (states[g].most > seen) seen = states[g].most;
    uint8_t* high = queries + g * head_dim * side * 4;
    pack_queries(from, head_dim, high, high + head_dim * side * 2);
  }

  fence();
  __asm__ volatile("ldtilecfg %0" ::"m"(config));
  Tile<T> t;
  for (int64_t begin = a.key_begin; begin < seen; begin += tile) {
    if (a.stopped && a.stopped(a.sign)) {
      _tile_release();
      return;
    }
    locate(a, begin, seen - begin < tile ? int(seen - begin) : tile, t);
    pack_keys(t, head_dim, keys_high, keys_low);
    pack_values(t, value_dim, values_high, values_low);
    for (int64_t g = 0; g < groups; ++g) {
      Group& state = states[g];
      if (state.most <= begin) continue;
      const int count = state.most - begin < tile ? int((state.most - begin + side - 1) / side) : sub_tiles;
      const uint8_t* query = queries + g * head_dim * side * 4;
      fence();
      product<!is_bf16<T>, !is_bf16<Q>>(keys_high, keys_low, sub_tiles * tile_bytes, query,
                                        query + head_dim * side * 2, head_dim / 32, count, scores, false);
      fence();
      const F32 factor =
          state.least >= begin + tile
              ? soften<false, !is_bf16<Q>>(scores, tile, begin, a.scale, state, weights_high, weights_low)
              : soften<true, !is_bf16<Q>>(scores, count * side, begin, a.scale, state, weights_high,
                                          weights_low);
      float* out = sums + g * value_dim * side;
      const bool add = begin != a.key_begin;
      if (add && !all(equal(factor, set(1.0f))))
        for (int64_t d = 0; d < value_dim; ++d) store(out + d * lanes, load(out + d * lanes) * factor);
      fence();
      for (int64_t d = 0; d < value_dim; d += 64)
        product<!is_bf16<T>, !is_bf16<Q>>(values_high + d * row_bytes, values_low + d * row_bytes,
                                          value_dim * row_bytes, weights_high, weights_low, (count + 1) / 2,
                                          value_dim - d < 64 ? int(value_dim - d) / side : 4, out + d * side,
                                          add);
      fence();
    }
  }
  _tile_release();

  for (int64_t g = 0; g < groups; ++g) {
    const Group& state = states[g];
    alignas(64) float weight[side], largest[side];
    store(weight, state.weight);
    store(largest, state.largest);
    float* const transposed = sums + g * value_dim * side;
    float* const lines = scratch;  // [16][value_dim], over what is no longer needed
    if (state.most > a.key_begin)
      for (int64_t d = 0; d < value_dim; d += side) {
        F32 v[16];
        for (int i = 0; i < 16; ++i) v[i] = load(transposed + (d + i) * lanes);
        transpose(v);
        for (int i = 0; i < 16; ++i) store(lines + i * value_dim + d, v[i]);
      }
    for (int i = 0; i < side && g * side + i < rows; ++i) {
      const int64_t query = (a.row_begin + g * side + i) / a.group,
                    head = (a.row_begin + g * side + i) % a.group;
      float* const line = lines + i * value_dim;
      if (weight[i] == 0)
        for (int64_t d = 0; d < value_dim; d += lanes) store(line + d, zero());
      if (a.partial) {
        float* to = a.partial + query * a.partial_query_stride + head * a.partial_head_stride;
        if (weight[i] != 0) __builtin_memcpy(to, line, size_t(value_dim) * sizeof(float));
        to[value_dim] = largest[i];
        to[value_dim + 1] = weight[i];
      } else {
        finish_row(line, weight[i], largest[i], value_dim,
                   (Q*)a.out + query * a.out_stride + head * a.out_head_stride,
                   a.lse ? a.lse + query * a.lse_stride + head * a.lse_head_stride : nullptr);
      }
    }
  }
}

}  // namespace

extern const AttentionTileTable attention_tiles{
    {{attend<float, float>, attend<float, f16>, attend<float, bf16>},
     {attend<f16, float>, attend<f16, f16>, attend<f16, bf16>},
     {attend<bf16, float>, attend<bf16, f16>, attend<bf16, bf16>}}};

}  // namespace ruda::cpu::RUDA_ISA
