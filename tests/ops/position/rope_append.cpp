// tests/ops/position/rope_append.cpp - rope_append against rotation and pages in double, and against the two
// operators that it joins.
// SPDX-License-Identifier: Apache-2.0
#include "support/rope_append.hpp"

#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t Q = RUDA_ROPE_APPEND_Q, K = RUDA_ROPE_APPEND_K, V = RUDA_ROPE_APPEND_V,
                   SCHEDULE = RUDA_ROPE_APPEND_SCHEDULE, FREQUENCIES = RUDA_ROPE_APPEND_FREQUENCIES,
                   Y = RUDA_ROPE_APPEND_Y, K_CACHE = RUDA_ROPE_APPEND_K_CACHE,
                   V_CACHE = RUDA_ROPE_APPEND_V_CACHE;

struct Case {
  uint32_t dtype = RUDA_F32, cache_dtype = RUDA_F32;
  int64_t q_heads = 4, kv_heads = 2, dim = 16, value_dim = 16, rotary = 0;
  uint32_t pairing = RUDA_ROPE_HALF, direction = RUDA_ROPE_FORWARD;
  uint32_t page_size = 4;
  double attention_factor = 0;
  bool tensor = false, in_place = false;
  int64_t spare_rows = 0;  // rows of the plan past the schedule's queries
  Shape q_strides = {}, k_strides = {}, v_strides = {}, y_strides = {};
};

ruda_rope_params params_of(const Case& c) {
  ruda_rope_params p = RUDA_ROPE_PARAMS_INIT;
  p.theta = 10000;
  p.pairing = c.pairing;
  p.direction = c.direction;
  p.rotary_dim = c.rotary;
  p.attention_factor = c.attention_factor;
  return p;
}

double grid_of(uint32_t dtype) { return dtype == RUDA_F16 ? std::ldexp(1.0, -25) : 0; }

// The rotation of rows [rows, heads, dim] with the error that rope documents and its rounding.
void rotate(const Case& c, const Layout& layout, const std::vector<double>& frequencies, int64_t heads,
            std::vector<double>& x, std::vector<double>& bounds) {
  const int64_t half = (c.rotary ? c.rotary : c.dim) / 2;
  const double factor = c.attention_factor ? c.attention_factor : 1;
  bounds.assign(x.size(), 0);
  for (size_t row = 0; row < layout.queries.size(); ++row)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < half; ++i) {
        const size_t head = size_t((int64_t(row) * heads + h) * c.dim);
        const size_t a = head + size_t(c.pairing == RUDA_ROPE_HALF ? i : 2 * i);
        const size_t b = head + size_t(c.pairing == RUDA_ROPE_HALF ? i + half : 2 * i + 1);
        const long double angle =
            (long double)layout.queries[row].second * (long double)frequencies[size_t(i)];
        const double cosine = double(cosl(angle)), sine = (c.direction ? -1 : 1) * double(sinl(angle));
        const double u = x[a], v = x[b];
        const double before = (std::fabs(u) + std::fabs(v)) * factor *
                              (std::ldexp(1.0, -22) + std::fabs(double(angle)) * std::ldexp(1.0, -51));
        x[a] = factor * (u * cosine - v * sine);
        x[b] = factor * (u * sine + v * cosine);
        for (const size_t e : {a, b})
          bounds[e] = before + std::fabs(x[e]) * epsilon(c.dtype) * 0.51 + grid_of(c.dtype);
      }
}

void check_same(const std::string& what, const std::vector<double>& got, const std::vector<double>& want,
                size_t count) {
  size_t at = 0;
  while (at < count && got[at] == want[at]) ++at;
  CHECK(at == count, "%s differs from rope and paged_append at element %zu of %zu", what.c_str(), at, count);
}

void check_case(Env& env, const Case& c, const Layout& layout) {
  PagedCase paged(env, c.page_size, layout);
  const int64_t queries = int64_t(layout.queries.size()), rows = queries + c.spare_rows, pages = layout.pages,
                half = (c.rotary ? c.rotary : c.dim) / 2;
  OpRun op(env, "rope_append");
  const Shape q_shape{rows, c.q_heads, c.dim};
  std::vector<double> q = c.in_place ? op.inout(Q, c.dtype, q_shape, env.normal(count_of(q_shape), 2.0))
                                     : op.random_input(Q, c.dtype, q_shape, 2.0, c.q_strides);
  std::vector<double> k = op.random_input(K, c.dtype, {rows, c.kv_heads, c.dim}, 2.0, c.k_strides);
  std::vector<double> v = op.random_input(V, c.dtype, {rows, c.kv_heads, c.value_dim}, 1.0, c.v_strides);
  const Shape k_shape{pages, c.page_size, c.kv_heads, c.dim},
      v_shape{pages, c.page_size, c.kv_heads, c.value_dim};
  auto k_cache = op.inout(K_CACHE, c.cache_dtype, k_shape, env.normal(count_of(k_shape)));
  auto v_cache = op.inout(V_CACHE, c.cache_dtype, v_shape, env.normal(count_of(v_shape)));
  op.bind_handle(SCHEDULE, paged.schedule);
  if (c.in_place)
    op.bind_same(Y, Q);
  else
    op.output(Y, c.dtype, q_shape, c.y_strides);
  std::vector<double> frequencies(static_cast<size_t>(half));
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = c.tensor ? env.uniform(0, 1) : std::pow(10000.0, -double(i) / double(half));
  if (c.tensor) frequencies = op.input(FREQUENCIES, RUDA_F32, {half}, frequencies);
  const ruda_rope_params params = params_of(c);
  const Appended pair = append_by_two(env, op, paged, layout, params, c.tensor);

  std::vector<double> q_bounds, k_bounds, key_bounds(k_cache.size(), 0), value_bounds(v_cache.size(), 0);
  rotate(c, layout, frequencies, c.q_heads, q, q_bounds);
  rotate(c, layout, frequencies, c.kv_heads, k, k_bounds);
  const auto put = [&](const std::vector<double>& from, const std::vector<double>* from_bounds,
                       std::vector<double>& cache, std::vector<double>& bounds, int64_t width) {
    for (int64_t i = 0; i < queries; ++i) {
      const auto [s, position] = layout.queries[size_t(i)];
      const int64_t slot = layout.tables[s][position / c.page_size] * c.page_size + position % c.page_size;
      for (int64_t e = 0; e < width; ++e) {
        const size_t at = size_t(i * width + e), to = size_t(slot * width + e);
        const double before = from_bounds ? (*from_bounds)[at] : 0;
        cache[to] = from[at];
        bounds[to] =
            before + (std::fabs(from[at]) + before) * epsilon(c.cache_dtype) * 0.51 + grid_of(c.cache_dtype);
      }
    }
  };
  put(k, &k_bounds, k_cache, key_bounds, c.kv_heads * c.dim);
  put(v, nullptr, v_cache, value_bounds, c.kv_heads * c.value_dim);
  const size_t live = size_t(queries * c.q_heads * c.dim);

  const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_rope_append_desc desc = RUDA_ROPE_APPEND_DESC_INIT;
    desc.options = options;
    desc.q = op.desc(Q);
    desc.k = op.desc(K);
    desc.v = op.desc(V);
    desc.frequencies = c.tensor ? op.desc(FREQUENCIES) : nullptr;
    desc.y = c.in_place ? op.desc(Q) : op.desc(Y);
    desc.k_cache = op.desc(K_CACHE);
    desc.v_cache = op.desc(V_CACHE);
    desc.params = &params;
    return ruda_rope_append_plan_create(env.context, &desc, out);
  };
  op.each_kernel(create, [&](const std::string& kernel) {
    const uint32_t y_slot = c.in_place ? Q : Y;
    auto y = op.read(y_slot);
    y.resize(live);
    std::vector<double> want = q;
    want.resize(live);
    check_close((kernel + " y").c_str(), y, want, [&](size_t i) { return q_bounds[i]; });
    check_close((kernel + " k").c_str(), op.read(K_CACHE), k_cache, [&](size_t i) { return key_bounds[i]; });
    check_close((kernel + " v").c_str(), op.read(V_CACHE), v_cache,
                [&](size_t i) { return value_bounds[i]; });
    if (kernel.find("scalar") != std::string::npos) return;  // its sines are of another library
    check_same(kernel + " y", y, pair.q, live);
    check_same(kernel + " k", op.read(K_CACHE), pair.k_cache, pair.k_cache.size());
    check_same(kernel + " v", op.read(V_CACHE), pair.v_cache, pair.v_cache.size());
  });
}

}  // namespace

RUDA_TEST(rope_append_dtypes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED}) {
        check_case(env, {.dtype = dtype, .cache_dtype = cache, .pairing = pairing, .in_place = true},
                   small_layout());
        check_case(env,
                   {.dtype = dtype, .cache_dtype = cache, .dim = 34, .value_dim = 17, .pairing = pairing},
                   small_layout());
      }
}

RUDA_TEST(rope_append_shapes) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED}) {
    for (int64_t dim : {2, 8, 30, 64, 66, 128, 512, 1030})
      check_case(env, {.dim = dim, .value_dim = dim + 1, .pairing = pairing}, small_layout());
    check_case(env,
               {.cache_dtype = RUDA_F16,
                .q_heads = 9,
                .kv_heads = 3,
                .dim = 64,
                .value_dim = 64,
                .pairing = pairing},
               small_layout());
    check_case(env,
               {.dtype = RUDA_BF16,
                .cache_dtype = RUDA_BF16,
                .q_heads = 32,
                .kv_heads = 8,
                .dim = 128,
                .value_dim = 96,
                .pairing = pairing,
                .in_place = true},
               small_layout());
  }
  check_case(env, {.dim = 1030, .value_dim = 8, .tensor = true}, small_layout());
  check_case(env, {.q_heads = 0, .kv_heads = 1}, small_layout());
  check_case(env, {.q_heads = 3, .kv_heads = 1, .value_dim = 0}, small_layout());
}

RUDA_TEST(rope_append_partial) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    for (uint32_t dtype : {RUDA_F32, RUDA_F16})
      for (int64_t rotary : {2, 16, 32, 48})
        for (bool in_place : {false, true})
          check_case(env,
                     {.dtype = dtype,
                      .cache_dtype = RUDA_F16,
                      .dim = 64,
                      .value_dim = 32,
                      .rotary = rotary,
                      .pairing = pairing,
                      .in_place = in_place},
                     small_layout());
}

RUDA_TEST(rope_append_factors) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED}) {
    check_case(env, {.dim = 64, .pairing = pairing, .direction = RUDA_ROPE_INVERSE, .attention_factor = 1.3},
               small_layout());
    check_case(env, {.dim = 64, .pairing = pairing, .tensor = true}, small_layout());
  }
}

RUDA_TEST(rope_append_rows) {
  check_case(env, {.spare_rows = 5}, small_layout());
  check_case(env, {.in_place = true, .spare_rows = 300}, small_layout());
  check_case(env,
             {.q_heads = 3,
              .kv_heads = 2,
              .dim = 32,
              .value_dim = 16,
              .q_strides = {200, 40, 1},
              .k_strides = {32, 200, 1},
              .v_strides = {100, 16, 1},
              .y_strides = {32, 160, 1}},
             small_layout());
  check_case(env, {.dim = 32, .value_dim = 16, .q_strides = {201, 40, 1}, .v_strides = {99, 33, 1}},
             small_layout());
  for (uint32_t page_size : {1u, 7u, 16u})
    check_case(env, {.page_size = page_size, .in_place = true}, whole_history(300));
}

RUDA_TEST(rope_append_none) {
  Layout l = small_layout();
  l.queries.clear();
  check_case(env, {}, l);
  check_case(env, {.spare_rows = 3}, l);
}

// q, k and v as neighbours in the rows of one product, q turned where it lies.
RUDA_TEST(rope_append_joined) {
  const int64_t rows = 4, q_heads = 3, kv_heads = 1, dim = 64, heads = q_heads + 2 * kv_heads;
  const Layout layout = small_layout();
  PagedCase paged(env, 4, layout);
  const auto make = [&](uint32_t dtype, const Shape& shape) { return new_tensor(env.context, dtype, shape); };
  const auto fill = [&](ruda_tensor t, const std::vector<float>& values) {
    MUST(ruda_tensor_write(env.stream, t, values.data(), values.size() * sizeof(float)));
  };
  const auto slice = [&](ruda_tensor all, int64_t begin, int64_t end) {
    const int64_t from[] = {0, begin, 0}, to[] = {rows, end, dim};
    ruda_tensor out = nullptr;
    MUST(ruda_tensor_slice(all, from, to, nullptr, 3, &out));
    return out;
  };
  std::vector<float> values;
  for (double x : env.normal(rows * heads * dim)) values.push_back(float(x));
  const size_t cache_count = size_t(layout.pages * 4 * kv_heads * dim);
  ruda_tensor all = make(RUDA_F32, {rows, heads, dim}), positions = make(RUDA_I32, {rows});
  ruda_tensor kc = make(RUDA_F32, {layout.pages, 4, kv_heads, dim}),
              vc = make(RUDA_F32, {layout.pages, 4, kv_heads, dim});
  ruda_tensor q = slice(all, 0, q_heads), k = slice(all, q_heads, q_heads + kv_heads),
              v = slice(all, q_heads + kv_heads, heads);
  fill(all, values);
  fill(kc, std::vector<float>(cache_count, 7));
  fill(vc, std::vector<float>(cache_count, 8));
  std::vector<int32_t> places;
  for (const auto& query : layout.queries) places.push_back(int32_t(query.second));
  MUST(ruda_tensor_write(env.stream, positions, places.data(), places.size() * sizeof(int32_t)));

  const Case c{.dim = dim};
  const ruda_rope_params params = params_of(c);
  const auto turned = [&](ruda_tensor x) {
    ruda_tensor out = nullptr;
    MUST(ruda_rope(env.stream, x, positions, nullptr, &params, &out));
    return out;
  };
  ruda_tensor want_q = turned(q), want_k = turned(k);
  const ruda_tensor_desc qd = desc_of(q), kd = desc_of(k), vd = desc_of(v), kcd = desc_of(kc);
  ruda_rope_append_desc desc = RUDA_ROPE_APPEND_DESC_INIT;
  desc.q = desc.y = &qd;
  desc.k = &kd;
  desc.v = &vd;
  desc.k_cache = desc.v_cache = &kcd;
  desc.params = &params;
  ruda_plan plan = nullptr;
  MUST(ruda_rope_append_plan_create(env.context, &desc, &plan));
  const auto bind = [](uint32_t slot, ruda_tensor tensor) {
    ruda_binding b{};
    b.slot = slot;
    b.kind = RUDA_BIND_TENSOR;
    b.v.handle = tensor;
    return b;
  };
  ruda_binding schedule{};
  schedule.slot = SCHEDULE;
  schedule.kind = RUDA_BIND_HANDLE;
  schedule.v.handle = paged.schedule;
  std::vector<ruda_binding> bindings = {bind(Q, q), bind(K, k),        bind(V, v),       schedule,
                                        bind(Y, q), bind(K_CACHE, kc), bind(V_CACHE, vc)};
  MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings.data(), uint32_t(bindings.size()), nullptr));

  const auto read = [&](ruda_tensor t, size_t count) {
    std::vector<float> data(count);
    MUST(ruda_tensor_read(env.stream, t, data.data(), count * sizeof(float)));
    return data;
  };
  const auto got = read(all, values.size());
  const auto y = read(want_q, size_t(rows * q_heads * dim)),
             keys = read(want_k, size_t(rows * kv_heads * dim));
  const auto got_keys = read(kc, cache_count), got_values = read(vc, cache_count);
  std::vector<float> want_keys(cache_count, 7), want_values(cache_count, 8);
  for (int64_t i = 0; i < rows; ++i) {
    const auto [s, position] = layout.queries[size_t(i)];
    const int64_t slot = layout.tables[s][position / 4] * 4 + position % 4;
    for (int64_t e = 0; e < heads * dim; ++e) {
      const float want =
          e < q_heads * dim ? y[size_t(i * q_heads * dim + e)] : values[size_t(i * heads * dim + e)];
      CHECK(got[size_t(i * heads * dim + e)] == want, "row %lld element %lld", (long long)i, (long long)e);
    }
    for (int64_t e = 0; e < dim; ++e) {
      want_keys[size_t(slot * dim + e)] = keys[size_t(i * dim + e)];
      want_values[size_t(slot * dim + e)] = values[size_t((i * heads + q_heads + kv_heads) * dim + e)];
    }
  }
  CHECK(got_keys == want_keys, "keys differ");
  CHECK(got_values == want_values, "values differ");

  // Outputs that meet: both caches in one tensor, y on k.
  bindings[6] = bind(V_CACHE, kc);
  CHECK_FAILS(ruda_plan_execute(plan, env.stream, nullptr, bindings.data(), 7, nullptr), RUDA_E_OVERLAP, 3,
              "overlaps");
  ruda_release(plan);
  release({q, k, v, all, positions, kc, vc, want_q, want_k});
}

RUDA_TEST(rope_append_errors) {
  OpRun op(env, "rope_append"), other(env, "rope_append");
  op.random_input(Q, RUDA_F32, {3, 4, 8});
  op.random_input(K, RUDA_F32, {3, 2, 8});
  op.random_input(V, RUDA_F32, {3, 2, 5});
  op.inout(K_CACHE, RUDA_F16, {4, 2, 2, 8}, std::vector<double>(128, 0));
  op.inout(V_CACHE, RUDA_F16, {4, 2, 2, 5}, std::vector<double>(80, 0));
  other.input(Q, RUDA_I32, {3, 4, 8}, std::vector<double>(96, 0));
  other.random_input(K, RUDA_F32, {3, 2, 6});
  other.random_input(V, RUDA_F16, {3, 2, 5});
  other.random_input(FREQUENCIES, RUDA_F32, {3});
  other.inout(K_CACHE, RUDA_F16, {4, 2, 2, 7}, std::vector<double>(112, 0));
  other.inout(V_CACHE, RUDA_F32, {4, 2, 2, 5}, std::vector<double>(80, 0));
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 10000;
  const auto with = [&](ruda_plan* plan, auto change) {
    ruda_rope_append_desc desc = RUDA_ROPE_APPEND_DESC_INIT;
    desc.q = op.desc(Q);
    desc.k = op.desc(K);
    desc.v = op.desc(V);
    desc.k_cache = op.desc(K_CACHE);
    desc.v_cache = op.desc(V_CACHE);
    desc.params = &params;
    change(desc);
    return ruda_rope_append_plan_create(env.context, &desc, plan);
  };
  const auto attempt = [&](auto change) {
    ruda_plan plan = nullptr;
    const ruda_status status = with(&plan, change);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_rope_append_desc;
  CHECK_FAILS(attempt([&](D& d) { d.q = nullptr; }), RUDA_E_NULL, 1, "q is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.v = nullptr; }), RUDA_E_NULL, 1, "v is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.k_cache = nullptr; }), RUDA_E_NULL, 1, "k_cache is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.params = nullptr; }), RUDA_E_NULL, 1, "params");
  CHECK_FAILS(attempt([&](D& d) { d.q = other.desc(Q); }), RUDA_E_DTYPE, 1, "q has dtype I32");
  CHECK_FAILS(attempt([&](D& d) { d.v = other.desc(V); }), RUDA_E_DTYPE, 1, "v has dtype F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) { d.k = other.desc(K); }), RUDA_E_SHAPE, 1, "k dim 2 is 6, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.k_cache = other.desc(K_CACHE); }), RUDA_E_SHAPE, 1,
              "k_cache dim 3 is 7, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.v_cache = other.desc(V_CACHE); }), RUDA_E_DTYPE, 1,
              "v_cache has dtype F32");
  CHECK_FAILS(attempt([&](D& d) { d.y = op.desc(K); }), RUDA_E_SHAPE, 1, "y has shape");
  CHECK_FAILS(attempt([&](D& d) { d.frequencies = other.desc(FREQUENCIES); }), RUDA_E_SHAPE, 1,
              "frequencies dim 0 is 3, expected 4");
  const auto with_params = [&](auto change) {
    const ruda_rope_params before = params;
    change(params);
    const ruda_status status = attempt([](D&) {});
    params = before;
    return status;
  };
  using P = ruda_rope_params;
  CHECK_FAILS(with_params([](P& p) { p.rotary_dim = 10; }), RUDA_E_SHAPE, 1,
              "rotary_dim is 10, expected even and 0..8, the head_dim of q");
  CHECK_FAILS(with_params([](P& p) { p.pairing = 2; }), RUDA_E_ARGUMENT, 1,
              "rope_append: pairing is 2, expected 0..1");
  CHECK_FAILS(with_params([](P& p) { p.direction = 7; }), RUDA_E_ARGUMENT, 1, "direction is 7");
  CHECK_FAILS(with_params([](P& p) { p.theta = -1; }), RUDA_E_ARGUMENT, 1, "theta");

  // At execute: a schedule that was never set, then one whose rows may not be written.
  ruda_plan plan = nullptr;
  MUST(with(&plan, [](D&) {}));
  ruda_paged_schedule schedule = make_schedule(env, 2, 4, 1, 4, 2);
  op.output(Y, RUDA_F32, {3, 4, 8});
  op.bind_handle(SCHEDULE, schedule);
  const auto run = [&] { return op.execute(plan); };
  CHECK_FAILS(run(), RUDA_E_STATE, 3, "rope_append: schedule was never set");
  const uint32_t tables[] = {0, 3}, lengths[] = {4}, ids[] = {0, 0, 0, 0};
  const auto set = [&](std::vector<uint32_t> positions) {
    MUST(ruda_paged_schedule_set(schedule, env.stream, tables, 2, lengths, 1, ids, positions.data(),
                                 uint32_t(positions.size())));
  };
  set({1, 1});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3,
              "rope_append: query 1 writes position 1 of sequence 0, which an earlier query writes");
  set({0, 1, 2, 3});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "rope_append: schedule has 4 queries, the rows are 3");
  set({3});
  MUST(run());
  MUST(ruda_stream_sync(env.stream));
  ruda_release(schedule);
  ruda_release(plan);
}

RUDA_BENCH(rope_append_bench) {
  for (uint32_t cache : {RUDA_F16, RUDA_F32})
    for (uint32_t rows : {1u, 512u}) {
      PagedCase paged(env, 16, bench_layout(rows));
      OpRun op(env, "rope_append");
      op.inout(Q, RUDA_F32, {rows, 9, 64}, env.normal(rows * 9 * 64));
      op.bind_same(Y, Q);
      op.random_input(K, RUDA_F32, {rows, 3, 64});
      op.random_input(V, RUDA_F32, {rows, 3, 64});
      op.inout(K_CACHE, cache, {64, 16, 3, 64}, std::vector<double>(64 * 16 * 192, 0));
      op.inout(V_CACHE, cache, {64, 16, 3, 64}, std::vector<double>(64 * 16 * 192, 0));
      op.bind_handle(SCHEDULE, paged.schedule);
      ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
      params.theta = 10000;
      op.bench("rope_append f32 to " + std::string(cache == RUDA_F32 ? "f32 " : "f16 ") +
                   std::to_string(rows) + " rows of 9 + 2 x 3 x 64",
               rows * (2.0 * 9 * 64 * 4 + 2.0 * 192 * (4 + size_of(cache))), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_rope_append_desc desc = RUDA_ROPE_APPEND_DESC_INIT;
                 desc.options = options;
                 desc.q = desc.y = op.desc(Q);
                 desc.k = op.desc(K);
                 desc.v = op.desc(V);
                 desc.k_cache = op.desc(K_CACHE);
                 desc.v_cache = op.desc(V_CACHE);
                 desc.params = &params;
                 return ruda_rope_append_plan_create(env.context, &desc, out);
               });
    }
}
