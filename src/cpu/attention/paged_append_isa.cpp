// src/cpu/attention/paged_append_isa.cpp - vector rows of paged_append: copies, or conversions between float
// dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/attention/attention_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class From, class To>
RUDA_INLINE void convert_row(const From* from, To* to, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(to + i, load(from + i));
  if (const int tail = int(count - i)) store(to + i, load(from + i, tail), tail);
}
template <class T>
RUDA_INLINE void convert_row(const T* from, T* to, int64_t count) {
  __builtin_memcpy(to, from, size_t(count) * sizeof(T));
}

template <class From, class To>
void append(const AppendRows& r, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t position = r.positions[i];
    const uint32_t page =
        r.tables[uint64_t(r.sequence_ids[i]) * r.to.table_stride + position / r.to.page_size];
    const From* from = static_cast<const From*>(r.rows) + i * r.row_stride;
    To* to =
        static_cast<To*>(r.cache) + page * r.to.page_stride + position % r.to.page_size * r.to.slot_stride;
    for (int64_t h = 0; h < r.heads; ++h)
      convert_row(from + h * r.head_stride, to + h * r.to.head_stride, r.dim);
  }
}

}  // namespace

extern const AppendTable append_table{{{append<float, float>, append<float, f16>, append<float, bf16>},
                                       {append<f16, float>, append<f16, f16>, append<f16, bf16>},
                                       {append<bf16, float>, append<bf16, f16>, append<bf16, bf16>}}};

}  // namespace ruda::cpu::RUDA_ISA
