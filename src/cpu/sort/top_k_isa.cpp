// src/cpu/sort/top_k_isa.cpp - scans a row for keys above a threshold and packs them.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd/simd.hpp"
#include "cpu/sort/top_k_table.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Monotone integers: adding zero makes -0 a 0; a NaN is above infinity.
RUDA_INLINE I32 order(F32 x) {
  const I32 b = bits(x + zero());
  return select(is_nan(x), set_i32(0x7fffffff), b ^ ((b >> 31) & 0x7fffffff));
}
template <class T>
RUDA_INLINE I32 load_order(const T* p) {
  return order(load(p));
}
template <class T>
RUDA_INLINE I32 load_order(const T* p, int n) {
  return order(load(p, n));
}
RUDA_INLINE I32 load_order(const int32_t* p) { return load(p); }
RUDA_INLINE I32 load_order(const int32_t* p, int n) { return load(p, n); }

template <class T, bool smallest>
int64_t scan(const void* row, int64_t begin, int64_t cols, int32_t threshold, TopKCandidates* found) {
  const T* x = static_cast<const T*>(row);
  const I32 limit = set_i32(threshold), flip = set_i32(smallest ? -1 : 0);
  const auto append = [&](I32 keys, Mask above, int64_t at) {
    compress_store(found->keys + found->count, above, keys);
    found->count += compress_store(found->places + found->count, above, iota() + set_i32(int32_t(at)));
  };
  int64_t i = begin;
  for (; i + 4 * lanes <= cols; i += 4 * lanes) {
    if (found->capacity - found->count < 64) return i;
    I32 keys[4];
    Mask above[4];
    for (int k = 0; k < 4; k++) {
      keys[k] = load_order(x + i + k * lanes) ^ flip;
      above[k] = greater(keys[k], limit);
    }
    if (!any(mask_or(mask_or(above[0], above[1]), mask_or(above[2], above[3])))) continue;
    for (int k = 0; k < 4; k++)
      if (any(above[k])) append(keys[k], above[k], i + k * lanes);
  }
  for (; i < cols; i += lanes) {
    if (found->capacity - found->count < 64) return i;
    const int n = cols - i < lanes ? int(cols - i) : lanes;
    const I32 keys = load_order(x + i, n) ^ flip;
    const Mask above = mask_and(greater(keys, limit), first(n));
    if (any(above)) append(keys, above, i);
  }
  return cols;
}

}  // namespace

extern const TopKTable top_k_table{
    {{scan<float, false>, scan<f16, false>, scan<bf16, false>, scan<int32_t, false>},
     {scan<float, true>, scan<f16, true>, scan<bf16, true>, scan<int32_t, true>}}};

}  // namespace ruda::cpu::RUDA_ISA
