// tests/support/paged.hpp - a paged schedule from ragged host tables.
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

class PagedCase {
 public:
  PagedCase(Env& env, uint32_t page_size, const Layout& layout) : env_(env) {
    uint32_t widest = 1;
    for (const auto& table : layout.tables) widest = std::max(widest, uint32_t(table.size()));
    ruda_paged_schedule_desc d = RUDA_PAGED_SCHEDULE_DESC_INIT;
    d.page_size = page_size;
    d.pages = layout.pages;
    d.max_sequences = uint32_t(layout.tables.size()) + 1;
    d.max_queries = uint32_t(layout.queries.size()) + 2;
    d.max_table_pages = widest + 1;
    MUST(ruda_paged_schedule_create(env.context, &d, &schedule));
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
