// src/plan/paged_schedule.cpp - checking and changing a paged schedule.
// SPDX-License-Identifier: Apache-2.0
#include "plan/paged_schedule.hpp"

#include <algorithm>

namespace ruda {
namespace {

constexpr int arg_tables = 2, arg_table_pages = 3, arg_lengths = 4, arg_sequences = 5, arg_ids = 6,
              arg_positions = 7, arg_queries = 8;
constexpr int arg_bindings = 3;  // of ruda_plan_execute

uint64_t count_words(const PagedSchedule::Capacity& d) {
  const auto positive = [](const char* name, uint32_t value, uint32_t most) {
    RUDA_CHECK(value >= 1 && value <= most, RUDA_E_ARGUMENT, 1, "desc.%s is %u, expected 1..%u", name, value,
               most);
  };
  positive("page_size", d.page_size, INT32_MAX);
  positive("pages", d.pages, INT32_MAX);
  positive("max_sequences", d.max_sequences, INT32_MAX);
  positive("max_table_pages", d.max_table_pages, INT32_MAX);
  const uint64_t words = PagedSchedule::ids_word + 2 * uint64_t(d.max_queries) + d.max_sequences +
                         uint64_t(d.max_sequences) * d.max_table_pages;
  RUDA_CHECK(
      words <= UINT32_MAX, RUDA_E_ARGUMENT, 1,
      "desc: max_sequences %u, max_table_pages %u and max_queries %u need %llu words, expected at most %u",
      d.max_sequences, d.max_table_pages, d.max_queries, (unsigned long long)words, UINT32_MAX);
  return words;
}

}  // namespace

PagedSchedule::PagedSchedule(Context& context, const Capacity& capacity)
    : capacity_(capacity),
      word_count_(count_words(capacity)),
      words_(word_count_),
      owners_(capacity.pages),
      marks_(capacity.pages) {
  if (!context.asynchronous()) return;
  device_ = StorageRef(new Storage(context, word_count_ * 4, nullptr));
  device_->set_unfenceable();
}

void PagedSchedule::check(const Given& g) {
  RUDA_CHECK(g.sequences >= 1 && g.sequences <= capacity_.max_sequences, RUDA_E_ARGUMENT, arg_sequences,
             "sequences is %u, expected 1..%u", g.sequences, capacity_.max_sequences);
  RUDA_CHECK(g.table_pages >= 1 && g.table_pages <= capacity_.max_table_pages, RUDA_E_ARGUMENT,
             arg_table_pages, "table_pages is %u, expected 1..%u", g.table_pages, capacity_.max_table_pages);
  RUDA_CHECK(g.queries <= capacity_.max_queries, RUDA_E_ARGUMENT, arg_queries,
             "queries is %u, expected 0..%u", g.queries, capacity_.max_queries);
  RUDA_CHECK(g.tables, RUDA_E_NULL, arg_tables, "tables is NULL");
  RUDA_CHECK(g.lengths, RUDA_E_NULL, arg_lengths, "lengths is NULL");
  RUDA_CHECK(g.sequence_ids || !g.queries, RUDA_E_NULL, arg_ids, "sequence_ids is NULL with %u queries",
             g.queries);
  RUDA_CHECK(g.positions || !g.queries, RUDA_E_NULL, arg_positions, "positions is NULL with %u queries",
             g.queries);
  if (epoch_ > UINT32_MAX - g.sequences) {
    std::fill_n(marks_.get(), capacity_.pages, 0u);
    epoch_ = 0;
  }
  for (uint32_t s = 0; s < g.sequences; ++s) {
    const uint32_t needed = needed_pages(g.lengths[s]);
    RUDA_CHECK(needed <= g.table_pages, RUDA_E_ARGUMENT, arg_lengths,
               "lengths[%u] is %u, which needs %u page%s of %u, the table has %u a row", s, g.lengths[s],
               needed, needed == 1 ? "" : "s", page_size(), g.table_pages);
    const uint32_t* row = g.tables + uint64_t(s) * g.table_pages;
    const uint32_t mark = ++epoch_;
    for (uint32_t j = 0; j < g.table_pages; ++j) {
      if (j >= needed) {
        RUDA_CHECK(row[j] < capacity_.pages || row[j] == no_page, RUDA_E_INDEX, arg_tables,
                   "tables[%u][%u] is %u, expected below %u, or RUDA_NO_PAGE past the length", s, j, row[j],
                   capacity_.pages);
        continue;
      }
      RUDA_CHECK(row[j] != no_page, RUDA_E_INDEX, arg_tables,
                 "tables[%u][%u] is RUDA_NO_PAGE, expected below %u: length %u needs %u page%s", s, j,
                 capacity_.pages, g.lengths[s], needed, needed == 1 ? "" : "s");
      RUDA_CHECK(row[j] < capacity_.pages, RUDA_E_INDEX, arg_tables,
                 "tables[%u][%u] is %u, expected below %u: length %u needs %u page%s", s, j, row[j],
                 capacity_.pages, g.lengths[s], needed, needed == 1 ? "" : "s");
      RUDA_CHECK(marks_[row[j]] != mark, RUDA_E_ARGUMENT, arg_tables,
                 "tables[%u][%u] is page %u, which stands at tables[%u][%u] already", s, j, row[j], s,
                 unsigned(std::find(row, row + j, row[j]) - row));
      marks_[row[j]] = mark;
    }
  }
  for (uint32_t i = 0; i < g.queries; ++i) {
    const uint32_t s = g.sequence_ids[i];
    RUDA_CHECK(s < g.sequences, RUDA_E_INDEX, arg_ids, "sequence_ids[%u] is %u, expected below %u", i, s,
               g.sequences);
    RUDA_CHECK(g.positions[i] < g.lengths[s] || !g.lengths[s], RUDA_E_INDEX, arg_positions,
               "positions[%u] is %u, expected below %u, the length of sequence %u", i, g.positions[i],
               g.lengths[s], s);
  }
}

void PagedSchedule::set(Stream& stream, const Given& g) {
  check(g);
  runs_.reserve(g.queries);
  slots_.reserve(g.queries);

  // Nothing below fails on the host.
  count_owners(-1);
  words_[0] = g.queries;
  words_[1] = g.sequences;
  std::copy_n(g.sequence_ids, g.queries, words_.get() + ids_word);
  std::copy_n(g.positions, g.queries, words_.get() + positions_word());
  std::copy_n(g.lengths, g.sequences, words_.get() + lengths_word());
  for (uint32_t s = 0; s < g.sequences; ++s) {
    uint32_t* row = const_cast<uint32_t*>(table(s));
    std::copy_n(g.tables + uint64_t(s) * g.table_pages, g.table_pages, row);
    std::fill(row + g.table_pages, row + capacity_.max_table_pages, no_page);
  }
  count_owners(1);
  find_runs();
  find_conflict();
  ++generation_;
  upload(stream, tables_word() + uint64_t(g.sequences) * capacity_.max_table_pages);
}

void PagedSchedule::check_advance() {
  RUDA_CHECK(generation_, RUDA_E_STATE, 0, "schedule: was never set");
  uint32_t live = 0;
  for (uint32_t s = 0; s < sequences(); ++s) {
    const uint32_t length = lengths()[s];
    if (!length) continue;
    ++live;
    RUDA_CHECK(length < UINT32_MAX, RUDA_E_STATE, 0, "schedule: sequence %u has the greatest length there is",
               s);
    if (length % page_size()) continue;
    const uint32_t next = length / page_size();
    const uint32_t* row = table(s);
    RUDA_CHECK(next < capacity_.max_table_pages && row[next] < capacity_.pages, RUDA_E_STATE, 0,
               "schedule: to grow to length %u, sequence %u needs tables[%u][%u], which holds no page",
               length + 1, s, s, next);
    const uint32_t* twin = std::find(row, row + next, row[next]);
    RUDA_CHECK(
        twin == row + next, RUDA_E_STATE, 0,
        "schedule: to grow to length %u, sequence %u needs tables[%u][%u], which repeats tables[%u][%u]",
        length + 1, s, s, next, s, unsigned(twin - row));
  }
  RUDA_CHECK(live <= capacity_.max_queries, RUDA_E_STATE, 0,
             "schedule: %u sequences have tokens, max_queries is %u", live, capacity_.max_queries);
  runs_.reserve(live);
  slots_.reserve(live);
}

void PagedSchedule::apply_advance() noexcept {
  uint32_t query = 0;
  for (uint32_t s = 0; s < sequences(); ++s) {
    const uint32_t length = lengths()[s];
    if (!length) continue;
    if (length % page_size() == 0) ++owners_[table(s)[length / page_size()]];
    words_[ids_word + query] = s;
    words_[positions_word() + query] = length;
    words_[lengths_word() + s] = length + 1;
    ++query;
  }
  words_[0] = query;
  find_runs();
  find_conflict();
  ++generation_;
}

void PagedSchedule::advance(Stream& stream) {
  if (stream.capturing()) {
    RUDA_CHECK(generation_, RUDA_E_STATE, 0, "schedule: was never set");
    stream.before_launch({this,
                          [this] {
                            check_advance();
                            check_pages_owned();
                          },
                          [this] { apply_advance(); }});
  } else {
    check_advance();
    apply_advance();
  }
  if (!device_.get()) return;
  use_on(stream);
  const DeviceScope scope(stream.device());
  try {
    stream.queue().advance(
        {reinterpret_cast<uint32_t*>(device_->data()), ids_word, positions_word(), lengths_word()});
  } catch (const Error& error) {
    if (error.status == RUDA_E_DEVICE) stream.poison(error);
    throw;
  }
  if (stream.capturing()) stream.keep_object(*this);
}

// A captured append was checked with the schedule of the capture: later steps may not meet a shared page.
void PagedSchedule::check_pages_owned() const {
  for (uint32_t s = 0; s < sequences(); ++s) {
    const uint32_t length = lengths()[s];
    if (!length) continue;
    const uint32_t page = table(s)[length / page_size()],
                   owners = owners_[page] + (length % page_size() == 0);
    RUDA_CHECK(
        owners <= 1, RUDA_E_STATE, 0,
        "schedule: the next token of sequence %u lies in page %u, which %u sequences share; give it its "
        "own copy first",
        s, page, owners);
  }
}

void PagedSchedule::count_owners(int change) {
  for (uint32_t s = 0; s < sequences(); ++s)
    for (uint32_t j = 0; j < needed_pages(lengths()[s]); ++j) owners_[table(s)[j]] += uint32_t(change);
}

void PagedSchedule::find_runs() {
  runs_.clear();
  for (uint32_t i = 0; i < queries(); ++i) {
    if (i == 0 || sequence_ids()[i] != runs_.back().sequence)
      runs_.push_back({i, 1, sequence_ids()[i]});
    else
      ++runs_.back().count;
  }
  run_count_ = uint32_t(runs_.size());
}

// The first query whose row may not be written.
void PagedSchedule::find_conflict() {
  conflict_ = Conflict::none;
  slots_.clear();
  const auto found = [&](Conflict conflict, uint32_t query) {
    conflict_ = conflict;
    conflict_query_ = query;
  };
  bool ascending = true;  // of (sequence, position): then no slot repeats
  for (uint32_t i = 0; i < queries(); ++i) {
    const uint32_t s = sequence_ids()[i], position = positions()[i];
    if (position >= lengths()[s]) return found(Conflict::position, i);
    if (owners_[table(s)[position / page_size()]] > 1) return found(Conflict::shared_page, i);
    slots_.push_back(uint64_t(s) << 32 | position);
    ascending = ascending && (i == 0 || slots_[i] > slots_[i - 1]);
  }
  if (ascending) return;
  std::vector<uint64_t>& sorted = slots_;
  std::sort(sorted.begin(), sorted.end());
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin == sorted.end()) return;
  uint32_t last = 0;
  for (uint32_t i = 0; i < queries(); ++i)
    if (*twin == (uint64_t(sequence_ids()[i]) << 32 | positions()[i])) last = i;
  found(Conflict::same_slot, last);
}

void PagedSchedule::upload(Stream& stream, uint64_t count) {
  if (!device_.get()) return;
  use_on(stream);
  stream.write(device_->data(), words_.get(), count * 4);
}

void PagedSchedule::use_on(Stream& stream) const {
  if (!device_.get()) return;
  // A launch of the graph orders itself after the last use that was submitted.
  if (stream.capturing()) return stream.keep(*device_.get(), true);
  device_->fence(stream);
  device_->note_use(stream, true);
}

Ref<Tensor> PagedSchedule::device_positions(int64_t count) const {
  if (!device_.get()) return {};
  auto& context = static_cast<Context&>(*cell()->root->object);
  return make<Tensor>(context.cell(), context, device_, context.layouts().contiguous(RUDA_I32, &count, 1),
                      device_->data() + positions_word() * 4, true);
}

void PagedSchedule::check_fits(int64_t page_size, int64_t pages, int64_t rows, int arg,
                               const char* op) const {
  RUDA_CHECK(generation_, RUDA_E_STATE, arg, "%s: schedule was never set", op);
  RUDA_CHECK(capacity_.page_size == page_size, RUDA_E_ARGUMENT, arg,
             "%s: schedule has page_size %u, the cache has %lld", op, capacity_.page_size,
             (long long)page_size);
  RUDA_CHECK(capacity_.pages <= pages, RUDA_E_ARGUMENT, arg, "%s: schedule has %u page%s, the cache has %lld",
             op, capacity_.pages, capacity_.pages == 1 ? "" : "s", (long long)pages);
  RUDA_CHECK(queries() <= rows, RUDA_E_ARGUMENT, arg, "%s: schedule has %u %s, the rows are %lld", op,
             queries(), queries() == 1 ? "query" : "queries", (long long)rows);
}

void PagedSchedule::check_appendable(int arg, const char* op) const {
  if (conflict_ == Conflict::none) return;
  const uint32_t i = conflict_query_, s = sequence_ids()[i], position = positions()[i];
  RUDA_CHECK(conflict_ != Conflict::position, RUDA_E_ARGUMENT, arg,
             "%s: position %u of query %u is not below %u, the length of sequence %u", op, position, i,
             lengths()[s], s);
  const uint32_t page = table(s)[position / page_size()];
  RUDA_CHECK(conflict_ != Conflict::shared_page, RUDA_E_ARGUMENT, arg,
             "%s: query %u writes page %u, which %u sequences share; give sequence %u its own copy first", op,
             i, page, owners_[page], s);
  fail(RUDA_E_ARGUMENT, arg, "%s: query %u writes position %u of sequence %u, which an earlier query writes",
       op, i, position, s);
}

const PagedSchedule& fitting_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows) {
  const auto& schedule = l.object<PagedSchedule>(slot);
  const Problem& p = l.problem;
  schedule.check_fits(p[cache].dim(1), p[cache].dim(0), p[rows].dim(0), arg_bindings, p.op->name);
  return schedule;
}

const PagedSchedule& appendable_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows) {
  const PagedSchedule& schedule = fitting_schedule(l, slot, cache, rows);
  schedule.check_appendable(arg_bindings, l.problem.op->name);
  return schedule;
}

const PagedSchedule& one_token_schedule(const Launch& l, uint32_t slot, uint32_t cache, uint32_t rows) {
  const PagedSchedule& schedule = appendable_schedule(l, slot, cache, rows);
  const uint32_t* ids = schedule.sequence_ids();
  for (uint32_t i = 1; i < schedule.queries(); ++i)
    RUDA_CHECK(ids[i] > ids[i - 1], RUDA_E_ARGUMENT, arg_bindings,
               "%s: query %u is of sequence %u, expected one above %u: one query a sequence, ascending",
               l.problem.op->name, i, ids[i], ids[i - 1]);
  return schedule;
}

}  // namespace ruda
