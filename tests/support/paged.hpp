// tests/support/paged.hpp - paged schedules from ragged host tables, and the tables that tests share.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/runner.hpp"

#include <algorithm>
#include <utility>

namespace ruda::test {

// Histories, their pages, and the queries as (sequence, position).
struct Layout {
  uint32_t pages = 0;
  std::vector<std::vector<uint32_t>> tables;
  std::vector<uint32_t> lengths;
  std::vector<std::pair<uint32_t, uint32_t>> queries;
};

// Three histories in pages of 4, one of them empty; new tokens of the first and the last, out of order.
inline Layout small_layout() {
  Layout l;
  l.pages = 9;
  l.tables = {{5, 2}, {}, {8, 0, 3}};
  l.lengths = {6, 0, 9};
  l.queries = {{2, 8}, {0, 5}, {0, 4}, {2, 3}};
  return l;
}

// All tokens of one history, `count` of them, and the last of another; enough pages of any size.
inline Layout whole_history(uint32_t count) {
  Layout l;
  l.pages = 2 * count;
  l.tables = {{}, {}};
  for (uint32_t p = 0; p < count; ++p) {
    l.tables[0].push_back(2 * count - 1 - p);
    l.tables[1].push_back(p);
  }
  l.lengths = {count, 13};
  for (uint32_t i = 0; i < count; ++i) l.queries.push_back({0, i});
  l.queries.push_back({1, 12});
  return l;
}

// The last `rows` tokens of a history of 1024 in pages of 16, for benchmarks.
inline Layout bench_layout(uint32_t rows) {
  Layout l;
  l.pages = 64;
  l.tables = {{}};
  for (uint32_t p = 0; p < 64; ++p) l.tables[0].push_back(63 - p);
  l.lengths = {1024};
  for (uint32_t i = 0; i < rows; ++i) l.queries.push_back({0, 1024 - rows + i});
  return l;
}

inline ruda_paged_schedule make_schedule(Env& env, uint32_t page_size, uint32_t pages, uint32_t sequences,
                                         uint32_t queries, uint32_t table_pages) {
  ruda_paged_schedule_desc d = RUDA_PAGED_SCHEDULE_DESC_INIT;
  d.page_size = page_size;
  d.pages = pages;
  d.max_sequences = sequences;
  d.max_queries = queries;
  d.max_table_pages = table_pages;
  ruda_paged_schedule out = nullptr;
  MUST(ruda_paged_schedule_create(env.context, &d, &out));
  return out;
}

class PagedCase {
 public:
  PagedCase(Env& env, uint32_t page_size, const Layout& layout) : env_(env) {
    uint32_t widest = 1;
    for (const auto& table : layout.tables) widest = std::max(widest, uint32_t(table.size()));
    schedule = make_schedule(env, page_size, layout.pages, uint32_t(layout.tables.size()) + 1,
                             uint32_t(layout.queries.size()) + 2, widest + 1);
    set(layout);
  }
  ~PagedCase() {
    ruda_stream_sync(env_.stream);
    ruda_release(schedule);
  }
  PagedCase(const PagedCase&) = delete;
  PagedCase& operator=(const PagedCase&) = delete;

  void set(const Layout& layout) {
    uint32_t widest = 1;
    for (const auto& table : layout.tables) widest = std::max(widest, uint32_t(table.size()));
    std::vector<uint32_t> tables, ids, positions;
    for (const auto& table : layout.tables) {
      tables.insert(tables.end(), table.begin(), table.end());
      tables.resize(tables.size() + widest - table.size(), RUDA_NO_PAGE);
    }
    for (const auto& [sequence, position] : layout.queries) {
      ids.push_back(sequence);
      positions.push_back(position);
    }
    MUST(ruda_paged_schedule_set(schedule, env_.stream, tables.data(), widest, layout.lengths.data(),
                                 uint32_t(layout.tables.size()), ids.data(), positions.data(),
                                 uint32_t(ids.size())));
  }

  ruda_paged_schedule schedule = nullptr;

 private:
  Env& env_;
};

}  // namespace ruda::test
