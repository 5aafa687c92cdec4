// src/api/paged_schedule.cpp - C entries of the paged schedule.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "plan/paged_schedule.hpp"

#include <ruda/attention.h>

using namespace ruda;

namespace {

Stream& stream_for(PagedSchedule& schedule, ruda_stream handle) {
  Stream& stream = get_stream(handle, 1);
  RUDA_CHECK(stream.context().cell() == schedule.cell()->root, RUDA_E_ARGUMENT, 1,
             "stream: belongs to another context than the schedule");
  stream.check_healthy();
  return stream;
}

PagedSchedule& get_schedule(ruda_paged_schedule handle) { return get<PagedSchedule>(handle, 0, "schedule"); }

}  // namespace

extern "C" {

ruda_status ruda_paged_schedule_create(ruda_context context, const ruda_paged_schedule_desc* desc,
                                       ruda_paged_schedule* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context, 0);
    const ruda_paged_schedule_desc d = struct_in(desc, 1, "desc");
    const PagedSchedule::Capacity capacity{d.page_size, d.pages, d.max_sequences, d.max_queries,
                                           d.max_table_pages};
    *out = make<PagedSchedule>(c.cell(), c, capacity).detach<ruda_paged_schedule>();
  });
}

ruda_status ruda_paged_schedule_set(ruda_paged_schedule schedule, ruda_stream stream, const uint32_t* tables,
                                    uint32_t table_pages, const uint32_t* lengths, uint32_t sequences,
                                    const uint32_t* sequence_ids, const uint32_t* positions,
                                    uint32_t queries) noexcept {
  return guard(__func__, [&] {
    PagedSchedule& s = get_schedule(schedule);
    Stream& on = stream_for(s, stream);
    on.check_not_capturing("ruda_paged_schedule_set");
    s.set(on, {tables, table_pages, lengths, sequences, sequence_ids, positions, queries});
  });
}

ruda_status ruda_paged_schedule_advance(ruda_paged_schedule schedule, ruda_stream stream) noexcept {
  return guard(__func__, [&] {
    PagedSchedule& s = get_schedule(schedule);
    s.advance(stream_for(s, stream));
  });
}

ruda_status ruda_paged_schedule_get_info(ruda_paged_schedule schedule,
                                         ruda_paged_schedule_info* inout) noexcept {
  return guard(__func__, [&] {
    const PagedSchedule& s = get_schedule(schedule);
    const PagedSchedule::Capacity& d = s.capacity();
    ruda_paged_schedule_info info = RUDA_PAGED_SCHEDULE_INFO_INIT;
    info.page_size = d.page_size;
    info.pages = d.pages;
    info.max_sequences = d.max_sequences;
    info.max_queries = d.max_queries;
    info.max_table_pages = d.max_table_pages;
    info.sequences = s.sequences();
    info.queries = s.queries();
    info.generation = s.generation();
    info.device_data = s.device_words();
    info.sequence_ids_word = uint32_t(PagedSchedule::ids_word);
    info.positions_word = uint32_t(s.positions_word());
    info.lengths_word = uint32_t(s.lengths_word());
    info.tables_word = uint32_t(s.tables_word());
    struct_out(inout, info, 1, "inout");
  });
}

ruda_status ruda_paged_schedule_get_packed(ruda_paged_schedule schedule, uint32_t* data, uint64_t capacity,
                                           uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const PagedSchedule& s = get_schedule(schedule);
    const uint64_t tables = uint64_t(s.sequences()) * s.table_stride();
    const uint64_t needed = 2 * uint64_t(s.queries()) + s.sequences() + tables;
    if (out_needed) *out_needed = needed;
    if (!capacity) return;
    RUDA_CHECK(data, RUDA_E_NULL, 1, "data is NULL with capacity %llu", (unsigned long long)capacity);
    RUDA_CHECK(capacity >= needed, RUDA_E_ARGUMENT, 2, "capacity is %llu words, expected at least %llu",
               (unsigned long long)capacity, (unsigned long long)needed);
    uint32_t* at = std::copy_n(s.sequence_ids(), s.queries(), data);
    at = std::copy_n(s.positions(), s.queries(), at);
    at = std::copy_n(s.lengths(), s.sequences(), at);
    std::copy_n(s.table(0), tables, at);
    const auto reserve = [&](uint32_t sequence) {  // pages past the length are not part of the packed form
      uint32_t* row = at + uint64_t(sequence) * s.table_stride();
      const uint64_t used = (uint64_t(s.lengths()[sequence]) + s.page_size() - 1) / s.page_size();
      std::fill(row + used, row + s.table_stride(), RUDA_NO_PAGE);
    };
    for (uint32_t i = 0; i < s.sequences(); ++i) reserve(i);
  });
}

}  // extern "C"
