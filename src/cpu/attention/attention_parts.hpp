// src/cpu/attention/attention_parts.hpp - what the vector and the tile kernels of attention share.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/attention/attention_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr int tile = int(attention_tile);
const float infinity = __builtin_inff();

template <class T>
constexpr bool is_bf16 = false;
template <>
constexpr bool is_bf16<bf16> = true;

template <class T>
struct Tile {
  const T* keys[tile];
  const T* values[tile];
  int count;  // keys that some row sees
};

template <class T>
void locate(const AttentionRows& a, int64_t begin, int count, Tile<T>& t) {
  const uint32_t page_size = a.k_cache.page_size;
  uint32_t page = uint32_t(begin / page_size), slot = uint32_t(begin % page_size);
  t.count = count;
  for (int j = 0; j < count; ++page, slot = 0) {
    const T* k = static_cast<const T*>(a.k) + a.table[page] * a.k_cache.page_stride;
    const T* v = static_cast<const T*>(a.v) + a.table[page] * a.v_cache.page_stride;
    for (; slot < page_size && j < count; ++slot, ++j) {
      t.keys[j] = k + slot * a.k_cache.slot_stride;
      t.values[j] = v + slot * a.v_cache.slot_stride;
    }
  }
}

// e^x for x <= 0, off by at most 2^-23, one part in the largest weight's last place: a power of two by a
// polynomial fitted for this interval. e^-infinity = 0.
RUDA_INLINE F32 weight_of(F32 x) {
  const F32 power = max(set(-150.0f), x * 1.44269504f);  // in this order a NaN passes
  const F32 n = nearest(power), f = power - n;
  F32 p = fma(set(1.535335905e-4f), f, set(1.339887502e-3f));
  p = fma(p, f, set(9.618436918e-3f));
  p = fma(p, f, set(5.550332367e-2f));
  p = fma(p, f, set(2.402264774e-1f));
  p = fma(p, f, set(6.931471825e-1f));
  return scale_by_power(fma(p, f, set(1.0f)), n);
}

template <class Q>
RUDA_INLINE void pack_query(const Q* from, float* to, int64_t count, float scale) {
  int64_t d = 0;
  for (; d + lanes <= count; d += lanes) store(to + d, load(from + d) * scale);
  if (const int tail = int(count - d)) store(to + d, load(from + d, tail) * scale, tail);
}

template <class Q>
RUDA_INLINE void finish_row(const float* sums, float weight, float largest, int64_t count, Q* out,
                            float* lse) {
  const float inverse = weight == 0 ? 0.0f : 1.0f / weight;
  int64_t d = 0;
  for (; d + lanes <= count; d += lanes) store(out + d, load(sums + d) * inverse);
  if (const int tail = int(count - d)) store(out + d, load(sums + d, tail) * inverse, tail);
  if (lse) *lse = weight == 0 ? -infinity : largest + log(set(weight))[0];
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
