// src/cpu/cached_rows_isa.cpp - vector rows on their way into a cache: copies, or conversions between float
// dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/cached_rows_table.hpp"
#include "cpu/simd/convert_run.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class From, class To>
void put(const CachedRows& r, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t position = r.positions[i];
    const uint32_t page =
        r.tables[uint64_t(r.sequence_ids[i]) * r.to.table_stride + position / r.to.page_size];
    const From* from = static_cast<const From*>(r.rows) + i * r.row_stride;
    To* to =
        static_cast<To*>(r.cache) + page * r.to.page_stride + position % r.to.page_size * r.to.slot_stride;
    for (int64_t h = 0; h < r.heads; ++h)
      convert_run(from + h * r.head_stride, to + h * r.to.head_stride, r.dim);
  }
}

}  // namespace

extern const CachedRowsTable cached_rows_table{{{put<float, float>, put<float, f16>, put<float, bf16>},
                                                {put<f16, float>, put<f16, f16>, put<f16, bf16>},
                                                {put<bf16, float>, put<bf16, f16>, put<bf16, bf16>}}};

}  // namespace ruda::cpu::RUDA_ISA
