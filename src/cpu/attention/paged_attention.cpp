// src/cpu/attention/paged_attention.cpp - paged_attention on the CPU: blocks of rows and parts of histories
// as tasks.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/attention/attention_table.hpp"
#include "cpu/cached_rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/attention.h>

#include <algorithm>
#include <cmath>
#include <exception>

namespace ruda::cpu {
namespace {

constexpr uint32_t Q = RUDA_PAGED_ATTENTION_Q, K = RUDA_PAGED_ATTENTION_K, V = RUDA_PAGED_ATTENTION_V,
                   OUT = RUDA_PAGED_ATTENTION_OUT, LSE = RUDA_PAGED_ATTENTION_LSE;

const PagedSchedule& checked_schedule(const Launch& l) {
  return fitting_schedule(l, RUDA_PAGED_ATTENTION_SCHEDULE, K, Q);
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

namespace vector_rows {

constexpr uint32_t largest_tile_block = 256;  // rows
constexpr int64_t smallest_block = 12;        // rows; below it a tile's transposition outweighs its use
constexpr int64_t auto_keys = 256;            // keys that AUTO gives a part
constexpr int64_t auto_rows = 512;            // rows times parts up to which AUTO splits
constexpr int64_t serial_cost = 1 << 13;      // vector steps (about 3 us) below which one thread does all
constexpr int64_t tasks_per_thread = 4;

// A block of rows of a run.
struct Item {
  uint32_t run, row_begin;
};

struct State {
  AttentionRows rows;  // all but the pointers and ranges
  AttentionMerge merge;
  int64_t kv_heads, queries, scratch_floats;
  uint32_t largest_block, splits;
  int q_index, cache_index, threads;
  bool tiles;
  WorkspaceSlot scratch, items, partials;
};

Verdict prepare_with(const Problem& p, Prepare& prep, bool tiles) {
  const Operand &q = p[Q], &k = p[K], &v = p[V], &out = p[OUT], &lse = p[LSE];
  const auto& d = p.as<ruda_paged_attention_desc>();
  if (q.dim(0) * std::max<int64_t>(q.dim(1), 1) > INT32_MAX) return "more than 2^31 - 1 rows";
  State& s = prep.state<State>();
  AttentionRows& r = s.rows;
  r.q_stride = q.stride(0);
  r.q_head_stride = q.stride(1);
  r.out_stride = out.stride(0);
  r.out_head_stride = out.stride(1);
  r.lse_stride = lse.present ? lse.stride(0) : 0;
  r.lse_head_stride = lse.present ? lse.stride(1) : 0;
  r.head_dim = q.dim(2);
  r.value_dim = v.dim(3);
  r.group = q.dim(1) / k.dim(2);
  r.k_cache = paged_cache_of(k);
  r.v_cache = paged_cache_of(v);
  r.causal = d.causal;
  r.scale = float(d.scale);
  s.merge = {nullptr, nullptr,      nullptr,           q.dim(1),     r.value_dim,
             0,       r.out_stride, r.out_head_stride, r.lse_stride, r.lse_head_stride};
  s.kv_heads = k.dim(2);
  s.queries = q.dim(0);
  s.splits = d.splits;
  s.q_index = row_dtype_index(q.dtype());
  s.cache_index = row_dtype_index(k.dtype());
  s.threads = thread_count(p);

  s.tiles = tiles;

  const int64_t rows = s.queries * r.group;
  if (tiles) {
    s.largest_block = attention_group;
    while (s.largest_block < rows && s.largest_block < largest_tile_block) s.largest_block *= 2;
    s.scratch_floats = attention_tile_scratch(s.largest_block, r.head_dim, r.value_dim);
  } else {
    s.largest_block =
        uint32_t(std::clamp<int64_t>(ceil_div(rows, 6) * 6, 6, r.head_dim + r.value_dim > 512 ? 24 : 96));
    s.scratch_floats = ceil_div(attention_scratch(s.largest_block, r.head_dim, r.value_dim), 16) * 16;
  }
  s.scratch = prep.book<float>(s.scratch_floats * s.threads);
  s.items = prep.book<Item>(s.queries + ceil_div(rows, smallest_block));
  const int64_t all_rows = s.queries * q.dim(1);
  const int64_t parts =
      s.splits == RUDA_SPLITS_AUTO ? std::min(all_rows * 32, auto_rows) : all_rows * s.splits;
  s.partials = prep.book<float>(parts * (r.value_dim + 2));
  prep.note(std::string(isa_name(isa())) + (s.splits ? ", split" : ""));
  return nullptr;
}

Verdict prepare(const Problem& p, Prepare& prep) { return prepare_with(p, prep, false); }

// The stop sign for the kernels, which are built without exceptions.
struct Look {
  const StopSign& sign;
  std::exception_ptr error;

  static bool stopped(void* look) noexcept {
    auto& self = *static_cast<Look*>(look);
    try {
      self.sign.check();
    } catch (...) {
      self.error = std::current_exception();
    }
    return self.error != nullptr;
  }
};

// What one step comes to.
struct Step {
  int64_t rows = 0, longest = 0, cost = 0;
};

Step measure(const State& s, const PagedSchedule& schedule) {
  Step step;
  for (const PagedSchedule::Run& run : schedule.runs()) {
    const int64_t length = schedule.lengths()[run.sequence], rows = run.count * s.rows.group;
    step.rows += rows;
    step.longest = std::max(step.longest, length);
    step.cost += length * s.kv_heads * (s.rows.head_dim + s.rows.value_dim) * (rows + 4) / 16;
  }
  return step;
}

int64_t count_parts(const State& s, const Step& step) {
  if (s.splits != RUDA_SPLITS_AUTO) return std::max<int64_t>(s.splits, 1);
  const int64_t all_rows = step.rows * s.kv_heads;
  return std::clamp<int64_t>(
      std::min(ceil_div(step.longest, auto_keys), auto_rows / std::max<int64_t>(all_rows, 1)), 1, 32);
}

// Rows a block: large blocks use each tile more often, small ones keep the threads busy. No result depends on
// it.
int64_t choose_block(const State& s, const Step& step, int64_t parts) {
  int64_t block = s.largest_block;
  while (block / 2 >= (s.tiles ? attention_group : smallest_block) &&
         ceil_div(step.rows, block) * s.kv_heads * parts < tasks_per_thread * s.threads)
    block /= 2;
  return block;
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  const State& s = l.state<State>();
  const auto runs = schedule.runs();
  const Step step = measure(s, schedule);
  const int64_t parts = count_parts(s, step), block = choose_block(s, step, parts);
  const bool split = parts > 1;

  Item* items = l.at<Item>(s.items);
  int64_t item_count = 0;
  for (uint32_t i = 0; i < runs.size(); ++i)
    for (int64_t row = 0; row < runs[i].count * s.rows.group; row += block)
      items[item_count++] = {i, uint32_t(row)};

  AttentionRows common = s.rows;
  common.stopped = l.stop.armed() ? Look::stopped : nullptr;
  common.k_cache.table_stride = common.v_cache.table_stride = schedule.table_stride();
  float* const partials = split ? l.at<float>(s.partials) : nullptr;
  const int64_t part_floats = s.rows.value_dim + 2;
  common.partial_head_stride = parts * part_floats;
  common.partial_query_stride = s.kv_heads * s.rows.group * common.partial_head_stride;
  const int64_t q_bytes = dtype_info(l.problem[Q].dtype()).block_bytes,
                cache_bytes = dtype_info(l.problem[K].dtype()).block_bytes;
  const AttentionTable& table = RUDA_ISA_PICK(AttentionTable, attention_table);
  auto attend = table.attend[s.q_index][s.cache_index];
#if defined(__x86_64__)
  if (s.tiles) attend = amx::attention_tiles.attend[s.q_index][s.cache_index];
#endif

  const auto task = [&](int64_t index, float* scratch) {
    const int64_t part = index % parts, head = index / parts % s.kv_heads;
    const Item& item = items[item_count - 1 - index / (parts * s.kv_heads)];  // causal: the longest first
    const PagedSchedule::Run& run = runs[item.run];
    AttentionRows a = common;
    const int64_t q_head = head * a.group;
    a.q = l.ptr<const std::byte>(Q) + (run.first * a.q_stride + q_head * a.q_head_stride) * q_bytes;
    a.out = l.ptr<std::byte>(OUT) + (run.first * a.out_stride + q_head * a.out_head_stride) * q_bytes;
    a.k = l.ptr<const std::byte>(K) + head * a.k_cache.head_stride * cache_bytes;
    a.v = l.ptr<const std::byte>(V) + head * a.v_cache.head_stride * cache_bytes;
    a.lse = l.ptr<float>(LSE);
    if (a.lse) a.lse += run.first * a.lse_stride + q_head * a.lse_head_stride;
    a.table = schedule.table(run.sequence);
    a.positions = schedule.positions() + run.first;
    a.length = schedule.lengths()[run.sequence];
    a.row_begin = item.row_begin;
    a.row_end = std::min<int64_t>(item.row_begin + block, run.count * a.group);
    const int64_t keys = ceil_div(ceil_div(a.length, parts), attention_tile) * attention_tile;
    a.key_begin = part * keys;
    a.key_end = split ? (part + 1) * keys : a.length;
    a.partial = nullptr;
    if (split)
      a.partial =
          partials + run.first * a.partial_query_stride + q_head * a.partial_head_stride + part * part_floats;
    Look look{l.stop, nullptr};
    a.sign = &look;
    attend(a, scratch);
    if (look.error) std::rethrow_exception(look.error);
  };

  const int64_t tasks = item_count * s.kv_heads * parts;
  float* const scratch = l.at<float>(s.scratch);
  const int threads = step.cost < serial_cost ? 1 : int(std::min<int64_t>(s.threads, tasks));
  std::atomic<int64_t> next{0};
  pool_of(l).run(threads, [&](int thread) {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      l.stop.check();
      task(index, scratch + thread * s.scratch_floats);
    }
  });
  if (!split) return;
  AttentionMerge m = s.merge;
  m.partial = partials;
  m.parts = parts;
  m.out = l.ptr<void>(OUT);
  m.lse = l.ptr<float>(LSE);
  const auto merge = table.merge[s.q_index];
  parallel(l, int64_t(schedule.queries()) * m.heads,
           std::max<int64_t>(1, serial_cost / (parts * m.value_dim)),
           [&](int64_t begin, int64_t end) { merge(m, begin, end); });
}

}  // namespace vector_rows

namespace amx_tiles {

constexpr int64_t few_rows = 32;  // of one kv head; below, most of a tile would lie idle

Verdict prepare(const Problem& p, Prepare& prep) {
#if defined(__x86_64__)
  const auto& d = p.as<ruda_paged_attention_desc>();
  const int64_t group = p[Q].dim(1) / std::max<int64_t>(p[K].dim(2), 1);
  if (isa() < Isa::amx) return "needs AMX";
  if (p.math == RUDA_MATH_STRICT) return "strict arithmetic was asked for";
  if (p[Q].dim(2) % 32 || p[V].dim(3) % 32) return "a dim is no multiple of 32";
  if (p.forced_kernel.empty()) {
    // The bits of a row may depend on the number of queries under AUTO alone.
    if (d.splits != RUDA_SPLITS_AUTO) return "splits are not AUTO";
    if (p[Q].dim(0) * group < few_rows) return "few rows";
  }
  return vector_rows::prepare_with(p, prep, true);
#else
  (void)p, (void)prep;
  return "needs AMX";
#endif
}

}  // namespace amx_tiles

// The formula, one key at a time; a history is never split.
namespace plain {

constexpr uint32_t stop_keys = 1024;  // between two looks at the stop sign

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class T, class C>
void rows(const Launch& l, const PagedSchedule& schedule) {
  const Operand &q = l.problem[Q], &k = l.problem[K], &v = l.problem[V], &out = l.problem[OUT],
                &lse = l.problem[LSE];
  const auto& d = l.problem.as<ruda_paged_attention_desc>();
  const int64_t group = q.dim(1) / k.dim(2), head_dim = q.dim(2), value_dim = v.dim(3);
  const uint32_t page_size = schedule.page_size();
  float sums[1024];
  for (uint32_t i = 0; i < schedule.queries(); ++i) {
    const uint32_t sequence = schedule.sequence_ids()[i], length = schedule.lengths()[sequence];
    const uint32_t seen = d.causal && schedule.positions()[i] < length ? schedule.positions()[i] + 1 : length;
    for (int64_t h = 0; h < q.dim(1); ++h) {
      const T* x = l.ptr<const T>(Q) + i * q.stride(0) + h * q.stride(1);
      float largest = -INFINITY, weight = 0;
      std::fill_n(sums, value_dim, 0.0f);
      for (uint32_t j = 0; j < seen; ++j) {
        if (j % stop_keys == 0) l.stop.check();
        const int64_t page = schedule.table(sequence)[j / page_size], slot = j % page_size;
        const C* key = l.ptr<const C>(K) + page * k.stride(0) + slot * k.stride(1) + h / group * k.stride(2);
        const C* value =
            l.ptr<const C>(V) + page * v.stride(0) + slot * v.stride(1) + h / group * v.stride(2);
        float score = 0;
        for (int64_t e = 0; e < head_dim; ++e) score = std::fma(to_float(x[e]), to_float(key[e]), score);
        score *= float(d.scale);
        const float before = largest;
        if (score > largest) largest = score;
        const float factor = before == largest ? 1.0f : std::exp(before - largest);
        const float p = largest == -INFINITY ? std::exp(score) : std::exp(score - largest);
        weight = weight * factor + p;
        for (int64_t e = 0; e < value_dim; ++e) sums[e] = std::fma(p, to_float(value[e]), sums[e] * factor);
      }
      T* y = l.ptr<T>(OUT) + i * out.stride(0) + h * out.stride(1);
      const float inverse = weight == 0 ? 0.0f : 1.0f / weight;
      for (int64_t e = 0; e < value_dim; ++e) y[e] = from_float<T>(sums[e] * inverse);
      if (lse.present)
        l.ptr<float>(LSE)[i * lse.stride(0) + h * lse.stride(1)] =
            weight == 0 ? -INFINITY : largest + std::log(weight);
    }
  }
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  visit(l.problem[Q].dtype(), Types<float, f16, bf16>{}, [&](auto q) {
    visit(l.problem[K].dtype(), Types<float, f16, bf16>{},
          [&](auto c) { rows<decltype(q), decltype(c)>(l, schedule); });
  });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/paged_attention/amx", amx_tiles::prepare, vector_rows::run},
                           {"cpu/paged_attention/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/paged_attention/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels paged_attention{list};

}  // namespace ruda::cpu
