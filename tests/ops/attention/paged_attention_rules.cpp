// tests/ops/attention/paged_attention_rules.cpp - promises of paged_attention beside the formula.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/paged_attention.hpp"

#include <cstring>

using namespace ruda::test;

// Unused slots of pages hold NaN.
RUDA_TEST(paged_attention_tails) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t splits : {0u, 3u})
      for (uint32_t fresh : {1u, 30u})
        check_case(env,
                   {.dtype = dtype,
                    .cache_dtype = dtype,
                    .dim = 40,
                    .value_dim = 40,
                    .page_size = 16,
                    .splits = splits,
                    .nan_tails = true},
                   make_layout(env, 16, {1, 65, 130, 47}, fresh));
}

// Dims that the tile kernel takes: groups of rows cut by the mask, odd ends of tiles, parts, mixed dtypes.
RUDA_TEST(paged_attention_tiles) {
  const uint32_t splits[] = {0, 3, RUDA_SPLITS_AUTO};
  size_t at = 0;
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache_dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (uint32_t fresh : {1u, 45u})
        check_case(env,
                   {.dtype = dtype,
                    .cache_dtype = cache_dtype,
                    .q_heads = 6,
                    .kv_heads = 2,
                    .dim = fresh == 1 ? 32 : 96,
                    .value_dim = fresh == 1 ? 96 : 64,
                    .page_size = 16,
                    .scale = 0.2,
                    .causal = fresh != 1,
                    .splits = splits[at++ % 3],
                    .nan_tails = true},
                   make_layout(env, 16, {1, 65, 208, 47, 16}, fresh));
  check_case(env, {.q_heads = 3, .kv_heads = 1, .dim = 64, .value_dim = 128, .page_size = 16, .scale = 0.125},
             make_layout(env, 16, {300}, 200));
}

// No visible key: exactly 0 and -infinity; the neighbours in the batch do not notice.
RUDA_TEST(paged_attention_no_keys) {
  for (uint32_t splits : {0u, 2u, RUDA_SPLITS_AUTO}) {
    Layout l = make_layout(env, 4, {3, 0, 2}, 2);
    l.queries.insert(l.queries.begin() + 2, {{1, 0}, {1, 77}});
    check_case(env, {.splits = splits}, l);
    Layout empty = make_layout(env, 4, {0}, 0);
    empty.queries = {{0, 0}};
    check_case(env, {.causal = false, .splits = splits}, empty);
  }
}

// Absolute positions: both corners of a causal mask are a choice of positions.
RUDA_TEST(paged_attention_causal_corners) {
  const Case c{.q_heads = 1, .kv_heads = 1, .scale = 1};
  check_tiny(env, c, simple_layout(4, {0, 1}), {0, 0}, {0, 0, 0, 0}, {1, 2, 3, 4}, {1, 1.5},
             {0, std::log(2.0)});
  check_tiny(env, c, simple_layout(4, {2, 3}), {0, 0}, {0, 0, 0, 0}, {1, 2, 3, 4}, {2, 2.5},
             {std::log(3.0), std::log(4.0)});
}

RUDA_TEST(paged_attention_head_map) {
  const Case c{.q_heads = 4, .kv_heads = 2, .scale = 1};
  check_tiny(env, c, simple_layout(1, {0}), {1, 1, 1, 1}, {0, 0}, {10, 20}, {10, 10, 20, 20});
}

// Scores far below any finite stand-in for -infinity: weights 1/3 and 2/3; and far above.
RUDA_TEST(paged_attention_extreme_scores) {
  const Case c{.q_heads = 1, .kv_heads = 1, .scale = 1};
  for (double base : {-60000.0, 60000.0, -3e38, 3e38}) {
    const double second = float(base + std::log(2.0)), low = float(base);
    const double ratio = std::exp(second - low);
    check_tiny(env, c, simple_layout(2, {1}), {1}, {low, second}, {3, 6},
               {3 / (1 + ratio) + 6 * ratio / (1 + ratio)});
  }
  check_tiny(env, c, simple_layout(2, {1}), {1}, {-100000, 0}, {3, 5}, {5}, {0});
}

// The caller's scale is the one used, whatever the dims are.
RUDA_TEST(paged_attention_scale) {
  for (double scale : {1e-3, 1.0, 20.0})
    check_case(env, {.dim = 64, .value_dim = 16, .scale = scale}, make_layout(env, 4, {80}, 3));
}

// Two histories share pages; reading them is legal.
RUDA_TEST(paged_attention_shared_pages) {
  Layout l = make_layout(env, 4, {20, 14}, 4);
  for (size_t p = 0; p < 3; ++p) l.tables[1][p] = l.tables[0][p];
  check_case(env, {}, l);
}

// A row's bits are its own: alone, in a batch, among other queries of its history, on one thread or many.
RUDA_TEST(paged_attention_batch_independence) {
  for (const uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (const uint32_t splits : {0u, 4u}) {
      const Case c{.dtype = dtype,
                   .cache_dtype = dtype,
                   .q_heads = 6,
                   .kv_heads = 2,
                   .dim = 64,
                   .value_dim = 48,
                   .page_size = 16,
                   .scale = 0.125,
                   .splits = splits};
      const Layout all = make_layout(env, 16, {300, 40, 513}, 70);
      const int64_t queries = int64_t(all.queries.size()), slots = int64_t(all.pages) * 16 * 2;
      const auto q = env.normal(queries * 6 * 64), k = env.normal(slots * 64), v = env.normal(slots * 48);
      const auto compute = [&](ruda_context context, ruda_stream stream, const Layout& l,
                               const std::vector<double>& rows) {
        const auto tensor = [&](const Shape& shape, const std::vector<double>* values) {
          ruda_tensor t = new_tensor(context, dtype, shape);
          const uint32_t size = size_of(dtype);
          std::vector<uint8_t> bytes(values->size() * size);
          for (size_t i = 0; i < values->size(); ++i) encode(dtype, (*values)[i], &bytes[i * size]);
          MUST(ruda_tensor_write(stream, t, bytes.data(), bytes.size()));
          return t;
        };
        Env local(env.settings);
        std::swap(local.context, context);
        std::swap(local.stream, stream);
        const int64_t n = int64_t(l.queries.size());
        std::vector<uint8_t> bytes(size_t(n * 6 * 48) * size_of(dtype));
        {
          PagedCase paged(local, 16, l);
          std::swap(local.context, context);
          std::swap(local.stream, stream);
          ruda_tensor tq = tensor({n, 6, 64}, &rows), tk = tensor({all.pages, 16, 2, 64}, &k),
                      tv = tensor({all.pages, 16, 2, 48}, &v), out = nullptr;
          MUST(ruda_paged_attention(stream, paged.schedule, tq, tk, tv, c.scale, 1, splits, &out, nullptr));
          MUST(ruda_tensor_read(stream, out, bytes.data(), bytes.size()));
          release({tq, tk, tv, out});
        }
        return bytes;
      };
      const auto batch = compute(env.context, env.stream, all, q);
      const size_t row_bytes = 6 * 48 * size_of(dtype);
      const auto same = [&](const char* what, const std::vector<uint8_t>& got, size_t at, size_t count) {
        CHECK(!std::memcmp(got.data(), batch.data() + at * row_bytes, count * row_bytes),
              "%s: rows from %zu differ", what, at);
      };
      for (int run = 0; run < 20; ++run)
        CHECK(compute(env.context, env.stream, all, q) == batch, "run %d differs", run);
      for (size_t i : {size_t(0), size_t(33), size_t(69), size_t(100), size_t(queries) - 1}) {
        Layout one = all;
        one.queries = {all.queries[i]};
        same("alone",
             compute(env.context, env.stream, one,
                     {q.begin() + int64_t(i) * 384, q.begin() + int64_t(i + 1) * 384}),
             i, 1);
      }
      Layout some = all;
      some.queries.assign(all.queries.begin() + 20, all.queries.begin() + 37);
      same("some", compute(env.context, env.stream, some, {q.begin() + 20 * 384, q.begin() + 37 * 384}), 20,
           17);
      for (uint32_t threads : {1u, 3u}) {
        if (env.settings.backend != RUDA_BACKEND_CPU) break;
        ruda_context_desc d = RUDA_CONTEXT_DESC_INIT;
        d.backend = RUDA_BACKEND_CPU;
        d.host_threads = threads;
        ruda_context context = nullptr;
        ruda_stream stream = nullptr;
        MUST(ruda_context_create(&d, &context));
        MUST(ruda_stream_create(context, 0, &stream));
        same("threads", compute(context, stream, all, q), 0, size_t(queries));
        ruda_release(stream);
        ruda_release(context);
      }
    }
}

// One plan and schedule through decode steps by advance.
RUDA_TEST(paged_attention_advance) {
  Case c{.q_heads = 3, .kv_heads = 1, .dim = 8, .value_dim = 8, .lse = false};
  Layout l;
  l.pages = 12;
  l.tables = {{3, 7, 1, 0}, {4, 2, 9, 5}};
  l.lengths = {3, 6};
  l.queries = {{0, 2}, {1, 5}};
  PagedCase paged(env, 4, l);
  OpRun op(env, "paged_attention");
  const auto q = op.random_input(Q, RUDA_F32, {2, 3, 8});
  const auto k = op.random_input(K, RUDA_F32, {12, 4, 1, 8}), v = op.random_input(V, RUDA_F32, {12, 4, 1, 8});
  op.output(OUT, RUDA_F32, {2, 3, 8});
  op.bind_handle(SCHEDULE, paged.schedule);
  for (int step = 0; step < 6; ++step) {
    const Expected e = oracle(c, l, q, k, v);
    op.each_kernel(creator(env, op, c), [&](const std::string& kernel) {
      check_close(kernel.c_str(), op.read(OUT), e.out, [&](size_t i) { return e.out_bounds(kernel)[i]; });
    });
    MUST(ruda_paged_schedule_advance(paged.schedule, env.stream));
    for (uint32_t s = 0; s < 2; ++s) l.queries[s] = {s, l.lengths[s]++};
  }
}

RUDA_TEST(paged_attention_errors) {
  OpRun op(env, "paged_attention"), other(env, "paged_attention");
  op.random_input(Q, RUDA_F32, {3, 4, 8});
  op.random_input(K, RUDA_F16, {5, 4, 2, 8});
  op.random_input(V, RUDA_F16, {5, 4, 2, 6});
  op.output(OUT, RUDA_F32, {3, 4, 6});
  op.output(LSE, RUDA_F32, {3, 4});
  other.random_input(Q, RUDA_F32, {3, 3, 8});
  other.random_input(K, RUDA_F16, {5, 4, 2, 7});
  other.random_input(V, RUDA_F32, {5, 4, 2, 6});
  other.output(OUT, RUDA_F16, {3, 4, 6});
  other.output(LSE, RUDA_F32, {3, 5});
  const auto attempt = [&](auto change) {
    ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
    desc.q = op.desc(Q);
    desc.k = op.desc(K);
    desc.v = op.desc(V);
    desc.scale = 0.5;
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_paged_attention_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_paged_attention_desc;
  CHECK_FAILS(attempt([&](D& d) { d.q = nullptr; }), RUDA_E_NULL, 1, "q is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.k = nullptr; }), RUDA_E_NULL, 1, "k is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.v = nullptr; }), RUDA_E_NULL, 1, "v is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.q = op.desc(K); }), RUDA_E_SHAPE, 1, "q has rank 4, expected 3");
  CHECK_FAILS(attempt([&](D& d) { d.k = op.desc(Q); }), RUDA_E_SHAPE, 1, "k has rank 3, expected 4");
  CHECK_FAILS(attempt([&](D& d) { d.k = other.desc(K); }), RUDA_E_SHAPE, 1, "k dim 3 is 7, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.v = other.desc(V); }), RUDA_E_DTYPE, 1,
              "v has dtype F32, expected F16 as k has");
  CHECK_FAILS(attempt([&](D& d) { d.q = other.desc(Q); }), RUDA_E_SHAPE, 1,
              "q has 3 heads, expected a multiple of the 2 of k");
  CHECK_FAILS(attempt([&](D& d) { d.out = other.desc(OUT); }), RUDA_E_DTYPE, 1,
              "out has dtype F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) { d.out = op.desc(Q); }), RUDA_E_SHAPE, 1,
              "out has shape [3, 4, 8], expected [3, 4, 6]");
  CHECK_FAILS(attempt([&](D& d) { d.lse = op.desc(LSE); }), RUDA_E_ARGUMENT, 1,
              "lse is described but not asked for");
  CHECK_FAILS(attempt([&](D& d) {
                d.lse = other.desc(LSE);
                d.outputs = RUDA_PAGED_ATTENTION_WANT_LSE;
              }),
              RUDA_E_SHAPE, 1, "lse has shape [3, 5], expected [3, 4]");
  CHECK_FAILS(attempt([&](D& d) { d.outputs = 2; }), RUDA_E_ARGUMENT, 1, "outputs is 0x2");
  for (double scale : {0.0, -1.0, 1e-50, 1e39, double(NAN), double(INFINITY)})
    CHECK_FAILS(attempt([&](D& d) { d.scale = scale; }), RUDA_E_ARGUMENT, 1, "expected finite and above 0");
  CHECK_FAILS(attempt([&](D& d) { d.causal = 2; }), RUDA_E_ARGUMENT, 1, "causal is 2");
  for (uint32_t splits : {1u, 33u, 0xFFFFFFFEu})
    CHECK_FAILS(attempt([&](D& d) { d.splits = splits; }), RUDA_E_ARGUMENT, 1,
                "expected 0, 2..32 or RUDA_SPLITS_AUTO");
  const auto described = [](std::vector<int64_t> shape) {
    ruda_tensor_desc d = RUDA_TENSOR_DESC_INIT;
    d.dtype = RUDA_F32;
    d.rank = uint32_t(shape.size());
    static std::vector<std::vector<int64_t>> kept;
    kept.push_back(std::move(shape));
    d.shape = kept.back().data();
    return d;
  };
  const ruda_tensor_desc wide_q = described({3, 4, 1025}), wide_k = described({5, 4, 2, 1025}),
                         v32 = described({5, 4, 2, 6});
  CHECK_FAILS(attempt([&](D& d) {
                d.q = &wide_q;
                d.k = &wide_k;
                d.v = &v32;
              }),
              RUDA_E_SHAPE, 1, "head_dim is 1025, expected 1..1024");
  const ruda_tensor_desc k32 = described({5, 4, 2, 8});
  CHECK_FAILS(attempt([&](D& d) {
                d.k = &k32;
                d.v = &wide_k;
              }),
              RUDA_E_SHAPE, 1, "value_dim is 1025");
  const ruda_tensor_desc many_q = described({100000, 4, 8});
  CHECK_FAILS(attempt([&](D& d) {
                d.q = &many_q;
                d.splits = 32;
              }),
              RUDA_E_BUDGET, 1,
              "32 splits of 400000 rows and value_dim 6 need 409600000 bytes, expected at most 67108864");

  // At execute: the schedule of another geometry, or none.
  ruda_paged_schedule s = make_schedule(env, 3, 5, 1, 4, 1);
  ruda_tensor out = nullptr;
  const auto call = [&] {
    const ruda_status status = ruda_paged_attention(env.stream, s, op.tensor(Q), op.tensor(K), op.tensor(V),
                                                    1.0, 1, 0, &out, nullptr);
    CHECK(status == RUDA_OK || !out, "a failed call gave a tensor");
    return status;
  };
  CHECK_FAILS(call(), RUDA_E_STATE, 1, "schedule was never set");
  const uint32_t table[] = {0}, length[] = {2}, ids[] = {0, 0, 0, 0}, positions[] = {0, 0, 1, 1};
  MUST(ruda_paged_schedule_set(s, env.stream, table, 1, length, 1, ids, positions, 4));
  CHECK_FAILS(call(), RUDA_E_ARGUMENT, 1, "schedule has page_size 3, the cache has 4");
  ruda_release(s);
  s = make_schedule(env, 4, 5, 1, 4, 1);
  MUST(ruda_paged_schedule_set(s, env.stream, table, 1, length, 1, ids, positions, 4));
  CHECK_FAILS(call(), RUDA_E_ARGUMENT, 1, "schedule has 4 queries, the rows are 3");
  MUST(ruda_paged_schedule_set(s, env.stream, table, 1, length, 1, ids, positions, 3));
  MUST(call());
  ruda_release(out);
  ruda_release(s);
  CHECK_FAILS(ruda_paged_attention(env.stream, nullptr, op.tensor(Q), op.tensor(K), op.tensor(V), 1.0, 1, 0,
                                   &out, nullptr),
              RUDA_E_NULL, 1, "schedule");
}
