// src/cpu/attention/paged_append.cpp - paged_append on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/cached_rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/attention.h>

namespace ruda::cpu {
namespace {

constexpr int64_t grain_elements = 32768;  // below this a second thread costs more than it brings
constexpr uint32_t K = RUDA_PAGED_APPEND_K, V = RUDA_PAGED_APPEND_V, K_CACHE = RUDA_PAGED_APPEND_K_CACHE,
                   V_CACHE = RUDA_PAGED_APPEND_V_CACHE;

const PagedSchedule& checked_schedule(const Launch& l) {
  return appendable_schedule(l, RUDA_PAGED_APPEND_SCHEDULE, K_CACHE, K);
}

namespace vector_rows {

struct State {
  CachedRows k, v;
  int64_t grain;
  int from, to;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.k = cached_rows_of(p[K], p[K_CACHE]);
  s.v = p[V].present ? cached_rows_of(p[V], p[V_CACHE]) : CachedRows{};
  s.from = row_dtype_index(p[K].dtype());
  s.to = row_dtype_index(p[K_CACHE].dtype());
  const int64_t elements = s.k.heads * (s.k.dim + s.v.dim);
  s.grain = elements >= grain_elements || !elements ? 1 : grain_elements / elements;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  const State& s = l.state<State>();
  const CachedRows k = bind_rows(s.k, l.ptr<const void>(K), l.ptr<void>(K_CACHE), schedule),
                   v = bind_rows(s.v, l.ptr<const void>(V), l.ptr<void>(V_CACHE), schedule);
  const auto put = RUDA_ISA_PICK(CachedRowsTable, cached_rows_table).put[s.from][s.to];
  parallel(l, schedule.queries(), s.grain, [&](int64_t begin, int64_t end) {
    put(k, begin, end);
    if (v.rows) put(v, begin, end);  // after k: one cache for both holds the rows of v
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class From, class To>
void append(const Launch& l, const PagedSchedule& schedule, uint32_t from, uint32_t to) {
  const Operand &rows = l.problem[from], &cache = l.problem[to];
  for (uint32_t i = 0; i < schedule.queries(); ++i) {
    l.stop.check();
    const uint32_t position = schedule.positions()[i];
    const uint32_t page = schedule.table(schedule.sequence_ids()[i])[position / schedule.page_size()];
    for (int64_t h = 0; h < rows.dim(1); ++h) {
      const From* x = l.ptr<const From>(from) + i * rows.stride(0) + h * rows.stride(1);
      To* y = l.ptr<To>(to) + page * cache.stride(0) + position % schedule.page_size() * cache.stride(1) +
              h * cache.stride(2);
      for (int64_t d = 0; d < rows.dim(2); ++d) y[d] = from_float<To>(to_float(x[d]));
    }
  }
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  visit(l.problem[K].dtype(), Types<float, f16, bf16>{}, [&](auto from) {
    visit(l.problem[K_CACHE].dtype(), Types<float, f16, bf16>{}, [&](auto to) {
      append<decltype(from), decltype(to)>(l, schedule, K, K_CACHE);
      if (l.problem[V].present) append<decltype(from), decltype(to)>(l, schedule, V, V_CACHE);
    });
  });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/paged_append/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/paged_append/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels paged_append{list};

}  // namespace ruda::cpu
