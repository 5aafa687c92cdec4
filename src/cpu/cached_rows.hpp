// src/cpu/cached_rows.hpp - rows of new keys or values and the cache that takes them, from a plan's operands.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/cached_rows_table.hpp"
#include "plan/paged_schedule.hpp"

namespace ruda::cpu {

// All but the stride between the rows of a schedule's tables.
inline PagedCache paged_cache_of(const Operand& cache) {
  return {cache.stride(0), cache.stride(1), cache.stride(2), uint32_t(cache.dim(1)), 0};
}

// All but the addresses and the schedule.
inline CachedRows cached_rows_of(const Operand& rows, const Operand& cache) {
  CachedRows r{};
  r.heads = rows.dim(1);
  r.dim = rows.dim(2);
  r.row_stride = rows.stride(0);
  r.head_stride = rows.stride(1);
  r.to = paged_cache_of(cache);
  return r;
}

// `plan` with what an execution adds.
inline CachedRows bind_rows(CachedRows plan, const void* rows, void* cache, const PagedSchedule& schedule) {
  plan.rows = rows;
  plan.cache = cache;
  plan.to.table_stride = schedule.table_stride();
  plan.sequence_ids = schedule.sequence_ids();
  plan.positions = schedule.positions();
  plan.tables = schedule.table(0);
  return plan;
}

}  // namespace ruda::cpu
