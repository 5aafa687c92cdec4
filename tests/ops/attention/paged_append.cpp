// tests/ops/attention/paged_append.cpp - paged schedules and the rows written by them, against plain host
// loops.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/op_run.hpp"
#include "support/paged.hpp"

#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t K = RUDA_PAGED_APPEND_K, V = RUDA_PAGED_APPEND_V, SCHEDULE = RUDA_PAGED_APPEND_SCHEDULE,
                   K_CACHE = RUDA_PAGED_APPEND_K_CACHE, V_CACHE = RUDA_PAGED_APPEND_V_CACHE;

struct Case {
  uint32_t rows_dtype = RUDA_F32, cache_dtype = RUDA_F32;
  int64_t heads = 2, dim = 8, value_dim = 8;
  uint32_t page_size = 4;
  bool values = true;
  int64_t spare_rows = 0;  // rows of the plan past the schedule's queries
};

std::vector<double> rounded(uint32_t dtype, std::vector<double> values) {
  uint8_t bytes[8];
  for (double& v : values) {
    encode(dtype, v, bytes);
    v = decode(dtype, bytes);
  }
  return values;
}

void check_case(Env& env, const Case& c, const Layout& layout) {
  PagedCase paged(env, c.page_size, layout);
  const int64_t queries = int64_t(layout.queries.size()), rows = queries + c.spare_rows, pages = layout.pages;
  OpRun op(env, "paged_append");
  const auto k = op.random_input(K, c.rows_dtype, {rows, c.heads, c.dim});
  std::vector<double> v;
  if (c.values) v = op.random_input(V, c.rows_dtype, {rows, c.heads, c.value_dim});
  auto k_cache = op.inout(K_CACHE, c.cache_dtype, {pages, c.page_size, c.heads, c.dim},
                          env.normal(pages * c.page_size * c.heads * c.dim));
  std::vector<double> v_cache;
  if (c.values)
    v_cache = op.inout(V_CACHE, c.cache_dtype, {pages, c.page_size, c.heads, c.value_dim},
                       env.normal(pages * c.page_size * c.heads * c.value_dim));
  op.bind_handle(SCHEDULE, paged.schedule);
  const auto put = [&](const std::vector<double>& from, std::vector<double>& cache, int64_t width) {
    const auto stored = rounded(c.cache_dtype, from);
    for (int64_t i = 0; i < queries; ++i) {
      const auto [s, position] = layout.queries[size_t(i)];
      const int64_t page = layout.tables[s][position / c.page_size];
      for (int64_t e = 0; e < width; ++e)
        cache[size_t((page * c.page_size + position % c.page_size) * width + e)] =
            stored[size_t(i * width + e)];
    }
  };
  put(k, k_cache, c.heads * c.dim);
  if (c.values) put(v, v_cache, c.heads * c.value_dim);
  const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
    desc.options = options;
    desc.k = op.desc(K);
    desc.k_cache = op.desc(K_CACHE);
    desc.v = c.values ? op.desc(V) : nullptr;
    desc.v_cache = c.values ? op.desc(V_CACHE) : nullptr;
    return ruda_paged_append_plan_create(env.context, &desc, out);
  };
  op.each_kernel(create, [&](const std::string& kernel) {
    check_close((kernel + " k").c_str(), op.read(K_CACHE), k_cache, [](size_t) { return 0.0; });
    if (c.values) check_close((kernel + " v").c_str(), op.read(V_CACHE), v_cache, [](size_t) { return 0.0; });
  });
}

ruda_paged_schedule small_schedule(Env& env) { return make_schedule(env, 4, 8, 3, 4, 3); }

std::vector<uint32_t> packed(ruda_paged_schedule s) {
  uint64_t needed = 0;
  MUST(ruda_paged_schedule_get_packed(s, nullptr, 0, &needed));
  std::vector<uint32_t> words(needed);
  MUST(ruda_paged_schedule_get_packed(s, words.data(), needed, nullptr));
  return words;
}

constexpr uint32_t none = RUDA_NO_PAGE;

}  // namespace

RUDA_TEST(paged_append_dtypes) {
  for (uint32_t rows : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache : {RUDA_F32, RUDA_F16, RUDA_BF16})
      check_case(env, {.rows_dtype = rows, .cache_dtype = cache, .dim = 33, .value_dim = 17}, small_layout());
}

RUDA_TEST(paged_append_shapes) {
  for (int64_t dim : {1, 15, 16, 17, 64, 65}) {
    check_case(env, {.heads = 3, .dim = dim, .value_dim = dim + 1}, small_layout());
    check_case(env, {.heads = 1, .dim = dim, .values = false}, small_layout());
  }
  check_case(env, {.spare_rows = 5}, small_layout());
  for (uint32_t page_size : {1u, 2u, 7u, 16u}) check_case(env, {.page_size = page_size}, whole_history(20));
}

RUDA_TEST(paged_append_none) {
  Layout l = small_layout();
  l.queries.clear();
  check_case(env, {}, l);
  check_case(env, {.spare_rows = 3}, l);
}

// Two queries on one slot, a shared page, a position past the history: refused, and nothing is written.
RUDA_TEST(paged_append_conflicts) {
  OpRun op(env, "paged_append");
  op.random_input(K, RUDA_F32, {4, 1, 4});
  const auto before = op.inout(K_CACHE, RUDA_F32, {8, 4, 1, 4}, env.normal(8 * 16));
  ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
  desc.k = op.desc(K);
  desc.k_cache = op.desc(K_CACHE);
  ruda_plan plan = nullptr;
  MUST(ruda_paged_append_plan_create(env.context, &desc, &plan));
  ruda_paged_schedule s = small_schedule(env);
  op.bind_handle(SCHEDULE, s);
  const auto run = [&] { return op.execute(plan); };
  CHECK_FAILS(run(), RUDA_E_STATE, 3, "schedule was never set");
  const uint32_t tables[] = {0, 1, 2, 1};
  const auto set = [&](std::vector<uint32_t> lengths, std::vector<uint32_t> ids,
                       std::vector<uint32_t> positions) {
    MUST(ruda_paged_schedule_set(s, env.stream, tables, 2, lengths.data(), 2, ids.data(), positions.data(),
                                 uint32_t(ids.size())));
  };
  set({8, 4}, {0, 1, 0}, {3, 0, 3});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3,
              "query 2 writes position 3 of sequence 0, which an earlier query writes");
  set({8, 5}, {0, 0}, {3, 4});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "query 1 writes page 1, which 2 sequences share; give sequence 0");
  set({8, 0}, {0, 1}, {3, 0});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "position 0 of query 1 is not below 0, the length of sequence 1");
  check_close("cache", op.read(K_CACHE), before, [](size_t) { return 0.0; });
  set({8, 4}, {1, 0, 0}, {0, 7, 6});  // page 1 is a mere reserve of sequence 1
  MUST(run());
  set({4, 8}, {1, 0}, {7, 3});
  MUST(run());
  ruda_release(plan);

  // A schedule of another geometry.
  OpRun other(env, "paged_append");
  other.random_input(K, RUDA_F32, {1, 1, 4});
  other.inout(K_CACHE, RUDA_F32, {8, 5, 1, 4}, std::vector<double>(160, 0));
  const auto attempt = [&](ruda_tensor k, ruda_tensor cache) {
    ruda_tensor out = nullptr;
    const ruda_status status = ruda_paged_append(env.stream, s, k, nullptr, cache, nullptr, &out, nullptr);
    CHECK(!out, "a failed call gave a tensor");
    return status;
  };
  CHECK_FAILS(attempt(other.tensor(K), other.tensor(K_CACHE)), RUDA_E_ARGUMENT, 1,
              "schedule has page_size 4, the cache has 5");
  CHECK_FAILS(attempt(other.tensor(K), op.tensor(K_CACHE)), RUDA_E_ARGUMENT, 1,
              "schedule has 2 queries, the rows are 1");
  OpRun few(env, "paged_append");
  few.inout(K_CACHE, RUDA_F32, {7, 4, 1, 4}, std::vector<double>(112, 0));
  CHECK_FAILS(attempt(op.tensor(K), few.tensor(K_CACHE)), RUDA_E_ARGUMENT, 1,
              "schedule has 8 pages, the cache has 7");
  ruda_release(s);
}

RUDA_TEST(paged_append_eager) {
  ruda_paged_schedule s = small_schedule(env);
  const uint32_t tables[] = {6, 1}, lengths[] = {5}, ids[] = {0}, positions[] = {4};
  MUST(ruda_paged_schedule_set(s, env.stream, tables, 2, lengths, 1, ids, positions, 1));
  OpRun op(env, "paged_append");
  const auto k = op.random_input(K, RUDA_F32, {1, 1, 2});
  const auto v = op.random_input(V, RUDA_F32, {1, 1, 2});
  const auto fill = [&](ruda_tensor t) {
    const std::vector<float> sevens(64, 7);
    MUST(ruda_tensor_write(env.stream, t, sevens.data(), 256));
  };
  const auto fresh = [&] {
    ruda_tensor t = new_tensor(env.context, RUDA_F32, {8, 4, 1, 2});
    fill(t);
    return t;
  };
  const auto at_slot = [&](ruda_tensor t) {  // page 1, slot 0
    float data[64];
    MUST(ruda_tensor_read(env.stream, t, data, sizeof data));
    return std::vector<double>{data[8], data[9]};
  };
  const auto exactly = [](const char* name, const std::vector<double>& got, const std::vector<double>& want) {
    check_close(name, got, want, [](size_t) { return 0.0; });
  };
  ruda_tensor kc = fresh(), vc = fresh(), kept_k = nullptr, kept_v = nullptr;
  ruda_paged_append_report report = RUDA_PAGED_APPEND_REPORT_INIT;
  // Nobody shares: written in place.
  MUST(ruda_paged_append_with_report(env.stream, s, op.tensor(K), op.tensor(V), kc, vc, &report, &kept_k,
                                     &kept_v));
  CHECK(kept_k == kc && kept_v == vc, "caches that nobody shares were replaced");
  CHECK(!report.k_copied && !report.v_copied && !report.k_copied_bytes && !report.v_copied_bytes,
        "a copy was reported");
  exactly("k in place", at_slot(kc), k);
  exactly("v in place", at_slot(vc), v);
  ruda_release(kept_k);
  ruda_release(kept_v);

  // A view of k_cache's storage: only k is copied, the view keeps the old contents.
  fill(kc);
  ruda_tensor view = nullptr;
  const int64_t flat[] = {64};
  MUST(ruda_tensor_view(kc, flat, 1, &view));
  MUST(ruda_paged_append_with_report(env.stream, s, op.tensor(K), op.tensor(V), kc, vc, &report, &kept_k,
                                     &kept_v));
  CHECK(kept_k != kc && kept_v == vc, "expected a new k cache and the old v cache");
  CHECK(report.k_copied && !report.v_copied, "k_copied %u, v_copied %u", report.k_copied, report.v_copied);
  CHECK(report.k_copied_bytes == 256 && report.v_copied_bytes == 0, "bytes %llu and %llu",
        (unsigned long long)report.k_copied_bytes, (unsigned long long)report.v_copied_bytes);
  exactly("k copy", at_slot(kept_k), k);
  exactly("k shared", at_slot(kc), {7, 7});
  exactly("k view", at_slot(view), {7, 7});
  ruda_release(kept_k);
  ruda_release(kept_v);

  // One tensor as both caches: two copies, each with its own rows.
  ruda_release(view);
  MUST(ruda_paged_append_with_report(env.stream, s, op.tensor(K), op.tensor(V), kc, kc, &report, &kept_k,
                                     &kept_v));
  CHECK(report.k_copied && report.v_copied && kept_k != kept_v, "one storage for both was not copied twice");
  exactly("aliased k", at_slot(kept_k), k);
  exactly("aliased v", at_slot(kept_v), v);
  exactly("aliased source", at_slot(kc), {7, 7});
  ruda_release(kept_k);
  ruda_release(kept_v);

  // Keys alone; then half a pair.
  MUST(ruda_paged_append(env.stream, s, op.tensor(K), nullptr, kc, nullptr, &kept_k, nullptr));
  ruda_release(kept_k);
  CHECK_FAILS(ruda_paged_append(env.stream, s, op.tensor(K), op.tensor(V), kc, nullptr, &kept_k, &kept_v),
              RUDA_E_NULL, 5, "v_cache is NULL and v is not, expected both or none");
  CHECK_FAILS(ruda_paged_append(env.stream, s, op.tensor(K), op.tensor(V), kc, vc, &kept_k, nullptr),
              RUDA_E_NULL, 7, "out_v_cache is NULL");
  kept_v = kc;
  MUST(ruda_paged_append(env.stream, s, op.tensor(K), nullptr, kc, nullptr, &kept_k, &kept_v));
  CHECK(!kept_v, "keys alone gave a cache of values");
  ruda_release(kept_k);
  CHECK_FAILS(ruda_paged_append(env.stream, s, op.tensor(K), nullptr, kc, nullptr, nullptr, nullptr),
              RUDA_E_NULL, 6, "out_k_cache is NULL");
  CHECK_FAILS(ruda_paged_append(env.stream, nullptr, op.tensor(K), nullptr, kc, nullptr, &kept_k, nullptr),
              RUDA_E_NULL, 1, "schedule");
  ruda_release(kc);
  ruda_release(vc);
  ruda_release(s);
}

RUDA_TEST(paged_append_errors) {
  OpRun op(env, "paged_append"), other(env, "paged_append");
  op.random_input(K, RUDA_F32, {3, 2, 8});
  op.random_input(V, RUDA_F32, {3, 2, 5});
  op.inout(K_CACHE, RUDA_F16, {4, 2, 2, 8}, std::vector<double>(128, 0));
  op.inout(V_CACHE, RUDA_F16, {4, 2, 2, 5}, std::vector<double>(80, 0));
  other.input(K, RUDA_I32, {3, 2, 8}, std::vector<double>(48, 0));
  other.random_input(V, RUDA_F16, {3, 2, 5});
  other.inout(K_CACHE, RUDA_F16, {4, 2, 2, 7}, std::vector<double>(112, 0));
  other.inout(V_CACHE, RUDA_F32, {4, 2, 2, 5}, std::vector<double>(80, 0));
  const auto attempt = [&](auto change) {
    ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
    desc.k = op.desc(K);
    desc.v = op.desc(V);
    desc.k_cache = op.desc(K_CACHE);
    desc.v_cache = op.desc(V_CACHE);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_paged_append_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_paged_append_desc;
  CHECK_FAILS(attempt([&](D& d) { d.k = nullptr; }), RUDA_E_NULL, 1, "k is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.v = nullptr; }), RUDA_E_NULL, 1,
              "v is NULL, expected v and v_cache together");
  CHECK_FAILS(attempt([&](D& d) { d.v_cache = nullptr; }), RUDA_E_NULL, 1, "v_cache is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.k = other.desc(K); }), RUDA_E_DTYPE, 1, "k has dtype I32");
  CHECK_FAILS(attempt([&](D& d) { d.v = other.desc(V); }), RUDA_E_DTYPE, 1, "v has dtype F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) { d.k_cache = other.desc(K_CACHE); }), RUDA_E_SHAPE, 1,
              "k_cache dim 3 is 7, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.v_cache = other.desc(V_CACHE); }), RUDA_E_DTYPE, 1,
              "v_cache has dtype F32");
  CHECK_FAILS(attempt([&](D& d) { d.k_cache = op.desc(K); }), RUDA_E_SHAPE, 1,
              "k_cache has rank 3, expected 4");
}

RUDA_TEST(paged_schedule_set_and_packed) {
  ruda_paged_schedule s = small_schedule(env);
  ruda_paged_schedule_info info = RUDA_PAGED_SCHEDULE_INFO_INIT;
  MUST(ruda_paged_schedule_get_info(s, &info));
  CHECK(info.generation == 0 && info.queries == 0 && info.max_table_pages == 3, "facts of an empty schedule");
  const void* address = info.device_data;
  const uint32_t tables[] = {3, 7, none, 0}, lengths[] = {5, 0}, ids[] = {0, 0}, positions[] = {4, 1};
  MUST(ruda_paged_schedule_set(s, env.stream, tables, 2, lengths, 2, ids, positions, 2));
  CHECK(packed(s) == (std::vector<uint32_t>{0, 0, 4, 1, 5, 0, 3, 7, none, none, none, none}),
        "packed form differs");
  MUST(ruda_paged_schedule_get_info(s, &info));
  CHECK(info.generation == 1 && info.queries == 2 && info.sequences == 2, "facts after a set");
  CHECK(info.device_data == address, "the device address moved");

  // The image at the fixed address, in memory of the device.
  {
    const int64_t count = int64_t(info.tables_word) + 2 * 3;
    ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
    desc.dtype = RUDA_U32;
    desc.rank = 1;
    desc.shape = &count;
    ruda_tensor image = nullptr;
    std::vector<uint32_t> words(size_t(count), 0);
    MUST(ruda_tensor_wrap(env.context, &desc, const_cast<void*>(address), words.size() * 4, nullptr, nullptr,
                          &image));
    MUST(ruda_tensor_read(env.stream, image, words.data(), words.size() * 4));
    ruda_release(image);
    CHECK(words[0] == 2 && words[1] == 2, "counts of the image");
    CHECK(words[info.positions_word] == 4 && words[info.lengths_word] == 5, "arrays of the image");
    CHECK(words[info.tables_word + 3] == none && words[info.tables_word + 4] == 0, "tables of the image");
  }
  uint32_t word = 0;
  CHECK_FAILS(ruda_paged_schedule_get_packed(s, &word, 1, nullptr), RUDA_E_ARGUMENT, 2,
              "capacity is 1 words, expected at least 12");
  CHECK_FAILS(ruda_paged_schedule_get_packed(s, nullptr, 1, nullptr), RUDA_E_NULL, 1, "data is NULL");
  ruda_release(s);
}

// Every rule of the host plan; after each refusal the former schedule stands.
RUDA_TEST(paged_schedule_hostile) {
  ruda_paged_schedule s = small_schedule(env);
  const uint32_t good_tables[] = {3, 7}, good_lengths[] = {5}, good_ids[] = {0}, good_positions[] = {4};
  MUST(ruda_paged_schedule_set(s, env.stream, good_tables, 2, good_lengths, 1, good_ids, good_positions, 1));
  const auto before = packed(s);
  struct Args {
    std::vector<uint32_t> tables = {3, 7, 1, 2};
    uint32_t table_pages = 2;
    std::vector<uint32_t> lengths = {8, 7};
    uint32_t sequences = 2;
    std::vector<uint32_t> ids = {0, 1}, positions = {7, 6};
    uint32_t queries = 2;
  };
  const auto attempt = [&](auto change) {
    Args a;
    change(a);
    const auto pointer = [](const std::vector<uint32_t>& v) { return v.empty() ? nullptr : v.data(); };
    const ruda_status status =
        ruda_paged_schedule_set(s, env.stream, pointer(a.tables), a.table_pages, pointer(a.lengths),
                                a.sequences, pointer(a.ids), pointer(a.positions), a.queries);
    if (status != RUDA_OK) CHECK(packed(s) == before, "a refused set changed the schedule");
    return status;
  };
  CHECK_FAILS(attempt([](Args& a) { a.sequences = 0; }), RUDA_E_ARGUMENT, 5, "sequences is 0, expected 1..3");
  CHECK_FAILS(attempt([](Args& a) { a.sequences = 4; }), RUDA_E_ARGUMENT, 5, "sequences is 4, expected 1..3");
  CHECK_FAILS(attempt([](Args& a) { a.table_pages = 0; }), RUDA_E_ARGUMENT, 3,
              "table_pages is 0, expected 1..3");
  CHECK_FAILS(attempt([](Args& a) { a.table_pages = 4; }), RUDA_E_ARGUMENT, 3,
              "table_pages is 4, expected 1..3");
  CHECK_FAILS(attempt([](Args& a) { a.queries = 5; }), RUDA_E_ARGUMENT, 8, "queries is 5, expected 0..4");
  CHECK_FAILS(attempt([](Args& a) { a.tables.clear(); }), RUDA_E_NULL, 2, "tables is NULL");
  CHECK_FAILS(attempt([](Args& a) { a.lengths.clear(); }), RUDA_E_NULL, 4, "lengths is NULL");
  CHECK_FAILS(attempt([](Args& a) { a.ids.clear(); }), RUDA_E_NULL, 6, "sequence_ids is NULL with 2 queries");
  CHECK_FAILS(attempt([](Args& a) { a.positions.clear(); }), RUDA_E_NULL, 7,
              "positions is NULL with 2 queries");
  CHECK_FAILS(attempt([](Args& a) { a.lengths[0] = 9; }), RUDA_E_ARGUMENT, 4,
              "lengths[0] is 9, which needs 3 pages of 4, the table has 2 a row");
  CHECK_FAILS(attempt([](Args& a) { a.lengths[0] = 0xFFFFFFFF; }), RUDA_E_ARGUMENT, 4,
              "needs 1073741824 pages of 4");
  CHECK_FAILS(attempt([](Args& a) { a.tables[3] = 8; }), RUDA_E_INDEX, 2,
              "tables[1][1] is 8, expected below 8");
  CHECK_FAILS(attempt([](Args& a) { a.tables[3] = none; }), RUDA_E_INDEX, 2,
              "tables[1][1] is RUDA_NO_PAGE, expected below 8");
  CHECK_FAILS(attempt([](Args& a) {
                a.lengths[1] = 4;
                a.positions[1] = 3;
                a.tables[3] = 9;
              }),
              RUDA_E_INDEX, 2, "tables[1][1] is 9, expected below 8, or RUDA_NO_PAGE");
  CHECK_FAILS(attempt([](Args& a) { a.tables[1] = 3; }), RUDA_E_ARGUMENT, 2,
              "tables[0][1] is page 3, which stands at tables[0][0] already");
  CHECK_FAILS(attempt([](Args& a) { a.ids[1] = 2; }), RUDA_E_INDEX, 6,
              "sequence_ids[1] is 2, expected below 2");
  CHECK_FAILS(attempt([](Args& a) { a.positions[1] = 7; }), RUDA_E_INDEX, 7,
              "positions[1] is 7, expected below 7, the length of sequence 1");
  MUST(attempt([](Args& a) { a.lengths[1] = 0; }));         // any position of an empty history
  MUST(attempt([](Args& a) { a.tables = {3, 7, 7, 3}; }));  // shared pages may be read
  MUST(attempt([](Args& a) { a.queries = 0; }));
  CHECK_FAILS(ruda_paged_schedule_set(nullptr, env.stream, good_tables, 2, good_lengths, 1, good_ids,
                                      good_positions, 1),
              RUDA_E_NULL, 0, "schedule");
  CHECK_FAILS(
      ruda_paged_schedule_set(s, nullptr, good_tables, 2, good_lengths, 1, good_ids, good_positions, 1),
      RUDA_E_NULL, 1, "stream");
  ruda_release(s);

  const auto create = [&](auto change) {
    ruda_paged_schedule_desc d = RUDA_PAGED_SCHEDULE_DESC_INIT;
    d.page_size = 4;
    d.pages = 8;
    d.max_sequences = d.max_queries = d.max_table_pages = 2;
    change(d);
    ruda_paged_schedule out = nullptr;
    const ruda_status status = ruda_paged_schedule_create(env.context, &d, &out);
    CHECK(!out, "a failed call gave a schedule");
    return status;
  };
  using D = ruda_paged_schedule_desc;
  CHECK_FAILS(create([](D& d) { d.page_size = 0; }), RUDA_E_ARGUMENT, 1, "desc.page_size is 0");
  CHECK_FAILS(create([](D& d) { d.pages = 0; }), RUDA_E_ARGUMENT, 1, "desc.pages is 0");
  CHECK_FAILS(create([](D& d) { d.pages = 0xFFFFFFFF; }), RUDA_E_ARGUMENT, 1, "desc.pages is 4294967295");
  CHECK_FAILS(create([](D& d) { d.max_sequences = 0; }), RUDA_E_ARGUMENT, 1, "desc.max_sequences is 0");
  CHECK_FAILS(create([](D& d) { d.max_table_pages = 0; }), RUDA_E_ARGUMENT, 1, "desc.max_table_pages is 0");
  CHECK_FAILS(create([](D& d) { d.max_table_pages = d.max_sequences = 1u << 20; }), RUDA_E_ARGUMENT, 1,
              "words");
}

RUDA_TEST(paged_schedule_advance) {
  ruda_paged_schedule s = small_schedule(env);
  CHECK_FAILS(ruda_paged_schedule_advance(s, env.stream), RUDA_E_STATE, 0, "was never set");
  // Sequence 0 fills its page, 1 is unused, 2 has room; a prefill of three tokens came first.
  const uint32_t tables[] = {3, 7, none, none, none, none, 1, 2, none}, lengths[] = {4, 0, 2};
  const uint32_t ids[] = {0, 0, 2}, positions[] = {2, 3, 1};
  MUST(ruda_paged_schedule_set(s, env.stream, tables, 3, lengths, 3, ids, positions, 3));
  MUST(ruda_paged_schedule_advance(s, env.stream));
  CHECK(
      packed(s) == (std::vector<uint32_t>{0, 2, 4, 2, 5, 0, 3, 3, 7, none, none, none, none, 1, none, none}),
      "first advance");
  for (int i = 0; i < 3; ++i) MUST(ruda_paged_schedule_advance(s, env.stream));
  CHECK(packed(s) == (std::vector<uint32_t>{0, 2, 7, 5, 8, 0, 6, 3, 7, none, none, none, none, 1, 2, none}),
        "fourth advance");
  const auto before = packed(s);
  CHECK_FAILS(ruda_paged_schedule_advance(s, env.stream), RUDA_E_STATE, 0,
              "to grow to length 9, sequence 0 needs tables[0][2], which holds no page");
  CHECK(packed(s) == before, "a refused advance changed the schedule");

  const uint32_t twins[] = {3, 3}, four[] = {4};
  MUST(ruda_paged_schedule_set(s, env.stream, twins, 2, four, 1, nullptr, nullptr, 0));
  CHECK_FAILS(ruda_paged_schedule_advance(s, env.stream), RUDA_E_STATE, 0, "which repeats tables[0][0]");
  ruda_release(s);
  s = make_schedule(env, 4, 8, 3, 1, 1);
  const uint32_t two[] = {0, 1}, ones[] = {1, 1};
  MUST(ruda_paged_schedule_set(s, env.stream, two, 1, ones, 2, nullptr, nullptr, 0));
  CHECK_FAILS(ruda_paged_schedule_advance(s, env.stream), RUDA_E_STATE, 0,
              "2 sequences have tokens, max_queries is 1");
  ruda_release(s);
}

RUDA_BENCH(paged_append_bench) {
  for (uint32_t cache : {RUDA_F32, RUDA_BF16})
    for (uint32_t rows : {1u, 512u}) {
      PagedCase paged(env, 16, bench_layout(rows));
      OpRun op(env, "paged_append");
      op.random_input(K, RUDA_F32, {rows, 3, 64});
      op.random_input(V, RUDA_F32, {rows, 3, 64});
      op.inout(K_CACHE, cache, {64, 16, 3, 64}, std::vector<double>(64 * 16 * 192, 0));
      op.inout(V_CACHE, cache, {64, 16, 3, 64}, std::vector<double>(64 * 16 * 192, 0));
      op.bind_handle(SCHEDULE, paged.schedule);
      op.bench("paged_append f32 to " + std::string(cache == RUDA_F32 ? "f32 " : "bf16 ") +
                   std::to_string(rows) + " rows of 2 x 3 x 64",
               2.0 * rows * 192 * (4 + size_of(cache)), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
                 desc.options = options;
                 desc.k = op.desc(K);
                 desc.v = op.desc(V);
                 desc.k_cache = op.desc(K_CACHE);
                 desc.v_cache = op.desc(V_CACHE);
                 return ruda_paged_append_plan_create(env.context, &desc, out);
               });
    }
}
