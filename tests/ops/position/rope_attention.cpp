// tests/ops/position/rope_attention.cpp - rope_attention against attention in double over what rope and
// paged_append leave.
// SPDX-License-Identifier: Apache-2.0
#include "support/paged_attention.hpp"
#include "support/rope_append.hpp"

using namespace ruda::test;

namespace {

namespace slot {
constexpr uint32_t Q = RUDA_ROPE_ATTENTION_Q, K = RUDA_ROPE_ATTENTION_K, V = RUDA_ROPE_ATTENTION_V,
                   SCHEDULE = RUDA_ROPE_ATTENTION_SCHEDULE, FREQUENCIES = RUDA_ROPE_ATTENTION_FREQUENCIES,
                   OUT = RUDA_ROPE_ATTENTION_OUT, K_CACHE = RUDA_ROPE_ATTENTION_K_CACHE,
                   V_CACHE = RUDA_ROPE_ATTENTION_V_CACHE;
}

struct Turned {
  Case base;
  int64_t rotary = 0;
  uint32_t pairing = RUDA_ROPE_HALF;
  bool tensor = false;
  Shape k_strides = {}, v_strides = {};
};

// The call of `op`'s operands; a tensor of frequencies is the caller's to add.
ruda_rope_attention_desc desc_of(const OpRun& op, const ruda_rope_params& params, double scale,
                                 const ruda_plan_options* options = nullptr) {
  ruda_rope_attention_desc desc = RUDA_ROPE_ATTENTION_DESC_INIT;
  desc.options = options;
  desc.q = op.desc(slot::Q);
  desc.k = op.desc(slot::K);
  desc.v = op.desc(slot::V);
  desc.out = op.desc(slot::OUT);
  desc.k_cache = op.desc(slot::K_CACHE);
  desc.v_cache = op.desc(slot::V_CACHE);
  desc.params = &params;
  desc.scale = scale;
  return desc;
}

ruda_rope_params params_of(const Turned& c) {
  ruda_rope_params p = RUDA_ROPE_PARAMS_INIT;
  p.theta = 10000;
  p.pairing = c.pairing;
  p.rotary_dim = c.rotary;
  return p;
}

// Normal values where a history has keys, NaN elsewhere and where the new ones go.
std::vector<double> old_rows(Env& env, const Case& c, const Layout& l, int64_t width) {
  std::vector<double> cache(size_t(int64_t(l.pages) * c.page_size * width), NAN);
  const auto row = [&](uint32_t s, uint32_t j) {
    return cache.begin() + (int64_t(l.tables[s][j / c.page_size]) * c.page_size + j % c.page_size) * width;
  };
  for (uint32_t s = 0; s < l.lengths.size(); ++s)
    for (uint32_t j = 0; j < l.lengths[s]; ++j) {
      const auto values = env.normal(width);
      std::copy(values.begin(), values.end(), row(s, j));
    }
  for (const auto& [s, position] : l.queries) std::fill_n(row(s, position), width, NAN);
  return cache;
}

void check_turned(Env& env, const Turned& t, const Layout& l) {
  const Case& c = t.base;
  if (env.settings.backend == RUDA_BACKEND_CUDA && c.dtype != RUDA_F32) return;  // that kernel takes F32 rows
  PagedCase paged(env, c.page_size, l);
  const int64_t queries = int64_t(l.queries.size()), rows = queries + c.spare_rows, pages = l.pages,
                half = (t.rotary ? t.rotary : c.dim) / 2;
  OpRun op(env, "rope_attention");
  op.random_input(slot::Q, c.dtype, {rows, c.q_heads, c.dim}, 1.0, c.q_strides);
  op.random_input(slot::K, c.dtype, {rows, c.kv_heads, c.dim}, 1.0, t.k_strides);
  op.random_input(slot::V, c.dtype, {rows, c.kv_heads, c.value_dim}, 1.0, t.v_strides);
  const int64_t k_width = c.kv_heads * c.dim, v_width = c.kv_heads * c.value_dim;
  op.inout(slot::K_CACHE, c.cache_dtype, {pages, c.page_size, c.kv_heads, c.dim},
           old_rows(env, c, l, k_width));
  op.inout(slot::V_CACHE, c.cache_dtype, {pages, c.page_size, c.kv_heads, c.value_dim},
           old_rows(env, c, l, v_width));
  op.output(slot::OUT, c.dtype, {rows, c.q_heads, c.value_dim}, c.out_strides);
  op.bind_handle(slot::SCHEDULE, paged.schedule);
  if (t.tensor) {
    std::vector<double> frequencies;
    for (int64_t i = 0; i < half; ++i) frequencies.push_back(env.uniform(0, 1));
    op.input(slot::FREQUENCIES, RUDA_F32, {half}, frequencies);
  }
  const ruda_rope_params params = params_of(t);
  const Appended before = append_by_two(env, op, paged, l, params, t.tensor);
  const Expected e = oracle(c, l, before.q, before.k_cache, before.v_cache);

  const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_rope_attention_desc desc = desc_of(op, params, c.scale, options);
    desc.frequencies = t.tensor ? op.desc(slot::FREQUENCIES) : nullptr;
    return ruda_rope_attention_plan_create(env.context, &desc, out);
  };
  op.each_kernel(create, [&](const std::string& kernel) {
    const auto exactly = [](size_t) { return 0.0; };
    check_close((kernel + " k").c_str(), op.read(slot::K_CACHE), before.k_cache, exactly);
    check_close((kernel + " v").c_str(), op.read(slot::V_CACHE), before.v_cache, exactly);
    auto out = op.read(slot::OUT);
    out.resize(e.out.size());  // the rest stays as it was
    check_close((kernel + " out").c_str(), out, e.out, [&](size_t i) { return e.out_bound[i]; });
  });
}

}  // namespace

RUDA_TEST(rope_attention_dtypes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
        check_turned(env, {.base = {.dtype = dtype, .cache_dtype = cache}, .pairing = pairing},
                     make_layout(env, 4, {9, 0, 1, 30}, 1));
}

// Groups of 1, 3, 4, 5 and 8 heads, and of several tiles.
RUDA_TEST(rope_attention_heads) {
  for (int64_t group : {1, 2, 3, 4, 5, 8, 11, 16})
    for (int64_t dim : {64, 128})
      check_turned(env,
                   {.base = {.cache_dtype = RUDA_F16,
                             .q_heads = 2 * group,
                             .kv_heads = 2,
                             .dim = dim,
                             .value_dim = dim,
                             .page_size = 16,
                             .scale = 0.125},
                    .pairing = RUDA_ROPE_INTERLEAVED},
                   make_layout(env, 16, {100, 7}, 1));
}

RUDA_TEST(rope_attention_shapes) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    for (int64_t dim : {16, 32, 48, 64, 80, 96, 128})
      for (int64_t value_dim : {8, 64, 120})
        check_turned(env,
                     {.base = {.q_heads = 3, .kv_heads = 1, .dim = dim, .value_dim = value_dim},
                      .pairing = pairing,
                      .tensor = value_dim == 8},
                     make_layout(env, 4, {13, 5}, 1));
}

RUDA_TEST(rope_attention_partial) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    for (int64_t rotary : {16, 32, 48})
      check_turned(env,
                   {.base = {.cache_dtype = RUDA_BF16, .dim = 64, .value_dim = 64, .page_size = 8},
                    .rotary = rotary,
                    .pairing = pairing},
                   make_layout(env, 8, {40, 3}, 1));
}

// The new token in each place of a stretch of keys, in the first and later ones, over all parts.
RUDA_TEST(rope_attention_lengths) {
  const Turned c{.base = {.cache_dtype = RUDA_F16,
                          .q_heads = 9,
                          .kv_heads = 3,
                          .dim = 64,
                          .value_dim = 64,
                          .page_size = 64,
                          .scale = 0.125},
                 .pairing = RUDA_ROPE_INTERLEAVED};
  for (uint32_t length :
       {1u, 2u, 15u, 16u, 17u, 63u, 64u, 65u, 127u, 128u, 129u, 511u, 512u, 513u, 1000u, 1537u}) {
    Layout l = make_layout(env, 64, {length}, 1);
    check_turned(env, c, l);
    // Reserve pages make the cache that of a long history, so that it is cut into more parts.
    l.pages += 64;
    check_turned(env, c, l);
  }
}

RUDA_TEST(rope_attention_rows) {
  check_turned(env, {.base = {.spare_rows = 5}}, make_layout(env, 4, {9, 2, 17}, 1));
  check_turned(env,
               {.base = {.q_heads = 3, .kv_heads = 1, .q_strides = {80, 16, 1}, .out_strides = {21, 84, 1}},
                .k_strides = {80, 16, 1},
                .v_strides = {80, 16, 1}},
               make_layout(env, 4, {9, 2, 17, 30}, 1));
  std::vector<uint32_t> lengths;
  for (uint32_t i = 0; i < 70; ++i) lengths.push_back(1 + i * 7 % 50);
  check_turned(env, {.base = {.page_size = 7}}, make_layout(env, 7, lengths, 1));
  Layout none = make_layout(env, 4, {9, 2}, 1);
  none.queries.clear();
  check_turned(env, {.base = {.spare_rows = 2}}, none);
}

// Every score of finite operands is minus infinity: no key has a weight, and the row is 0, as it is in
// paged_attention. Powers of two, which two bf16 hold with nothing left.
RUDA_TEST(rope_attention_scores_below_range) {
  const double far = std::ldexp(1.0, 120);
  PagedCase paged(env, 16, {2, {{1}}, {1}, {{0, 0}}});
  const std::vector<double> q(2 * 64, far), k(64, -far), v(64, 3.0), cache(2 * 16 * 64, NAN);
  OpRun op(env, "rope_attention");
  op.input(slot::Q, RUDA_F32, {1, 2, 64}, q);
  op.input(slot::K, RUDA_F32, {1, 1, 64}, k);
  op.input(slot::V, RUDA_F32, {1, 1, 64}, v);
  op.inout(slot::K_CACHE, RUDA_F32, {2, 16, 1, 64}, cache);
  op.inout(slot::V_CACHE, RUDA_F32, {2, 16, 1, 64}, cache);
  op.output(slot::OUT, RUDA_F32, {1, 2, 64});
  op.bind_handle(slot::SCHEDULE, paged.schedule);
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 10000;
  const auto zero = [](const std::string& kernel, const std::vector<double>& out) {
    check_close(kernel.c_str(), out, std::vector<double>(out.size(), 0.0), [](size_t) { return 0.0; });
  };
  op.each_kernel(
      [&](const ruda_plan_options* options, ruda_plan* out) {
        const ruda_rope_attention_desc desc = desc_of(op, params, 1, options);
        return ruda_rope_attention_plan_create(env.context, &desc, out);
      },
      [&](const std::string& kernel) { zero(kernel, op.read(slot::OUT)); });

  OpRun apart(env, "paged_attention");
  apart.input(Q, RUDA_F32, {1, 2, 64}, q);
  apart.input(K, RUDA_F32, {2, 16, 1, 64}, std::vector<double>(2 * 16 * 64, -far));
  apart.input(V, RUDA_F32, {2, 16, 1, 64}, std::vector<double>(2 * 16 * 64, 3.0));
  apart.output(OUT, RUDA_F32, {1, 2, 64});
  apart.bind_handle(SCHEDULE, paged.schedule);
  apart.each_kernel(
      [&](const ruda_plan_options* options, ruda_plan* out) {
        ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
        desc.options = options;
        desc.q = apart.desc(Q);
        desc.k = apart.desc(K);
        desc.v = apart.desc(V);
        desc.out = apart.desc(OUT);
        desc.causal = 1;
        desc.scale = 1;
        return ruda_paged_attention_plan_create(env.context, &desc, out);
      },
      [&](const std::string& kernel) { zero(kernel, apart.read(OUT)); });
}

RUDA_TEST(rope_attention_errors) {
  OpRun op(env, "rope_attention"), other(env, "rope_attention");
  op.random_input(slot::Q, RUDA_F32, {2, 4, 16});
  op.random_input(slot::K, RUDA_F32, {2, 2, 16});
  op.random_input(slot::V, RUDA_F32, {2, 2, 8});
  op.output(slot::OUT, RUDA_F32, {2, 4, 8});
  op.inout(slot::K_CACHE, RUDA_F16, {4, 2, 2, 16}, std::vector<double>(256, 0));
  op.inout(slot::V_CACHE, RUDA_F16, {4, 2, 2, 8}, std::vector<double>(128, 0));
  other.random_input(slot::Q, RUDA_F32, {2, 3, 16});
  other.random_input(slot::K, RUDA_F16, {2, 2, 16});
  other.output(slot::OUT, RUDA_F32, {2, 4, 16});
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 10000;
  const auto with = [&](ruda_plan* plan, auto change) {
    ruda_rope_attention_desc desc = desc_of(op, params, 0.25);
    change(desc);
    return ruda_rope_attention_plan_create(env.context, &desc, plan);
  };
  const auto attempt = [&](auto change) {
    ruda_plan plan = nullptr;
    const ruda_status status = with(&plan, change);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_rope_attention_desc;
  CHECK_FAILS(attempt([&](D& d) { d.k = nullptr; }), RUDA_E_NULL, 1, "k is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.params = nullptr; }), RUDA_E_NULL, 1, "params");
  CHECK_FAILS(attempt([&](D& d) { d.q = other.desc(slot::Q); }), RUDA_E_SHAPE, 1,
              "q has 3 heads, expected a multiple of the 2 of k");
  CHECK_FAILS(attempt([&](D& d) { d.k = other.desc(slot::K); }), RUDA_E_DTYPE, 1,
              "k has dtype F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) { d.out = other.desc(slot::OUT); }), RUDA_E_SHAPE, 1, "out has shape");
  CHECK_FAILS(attempt([&](D& d) { d.v_cache = op.desc(slot::K_CACHE); }), RUDA_E_SHAPE, 1,
              "v_cache dim 3 is 16, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.scale = 0; }), RUDA_E_ARGUMENT, 1, "scale is 0");
  params.scaling = RUDA_ROPE_SCALING_LINEAR;
  params.factor = 1e-308;
  CHECK_FAILS(attempt([](D&) {}), RUDA_E_ARGUMENT, 1,
              "rope_attention: frequency 0 is 1e+308, expected at most 3.40282e+38");
  params.scaling = RUDA_ROPE_SCALING_LONGROPE;
  params.factor = 2;
  params.original_positions = 1;
  CHECK_FAILS(attempt([](D&) {}), RUDA_E_ARGUMENT, 1,
              "rope_attention: original_positions is 1, expected above 1");
  params.scaling = RUDA_ROPE_SCALING_NONE;

  ruda_plan plan = nullptr;
  MUST(with(&plan, [](D&) {}));
  ruda_paged_schedule schedule = make_schedule(env, 2, 4, 2, 4, 2);
  op.bind_handle(slot::SCHEDULE, schedule);
  const auto run = [&] { return op.execute(plan); };
  CHECK_FAILS(run(), RUDA_E_STATE, 3, "rope_attention: schedule was never set");
  const uint32_t tables[] = {0, 3, 1, 2}, lengths[] = {4, 2};
  const auto set = [&](std::vector<uint32_t> ids, std::vector<uint32_t> positions) {
    MUST(ruda_paged_schedule_set(schedule, env.stream, tables, 2, lengths, 2, ids.data(), positions.data(),
                                 uint32_t(ids.size())));
  };
  set({0, 0}, {2, 3});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "rope_attention: query 1 is of sequence 0, expected one above 0");
  set({1, 0}, {1, 3});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "query 1 is of sequence 0, expected one above 1");
  set({0, 0}, {3, 3});
  CHECK_FAILS(run(), RUDA_E_ARGUMENT, 3, "rope_attention: query 1 writes position 3 of sequence 0");
  set({0, 1}, {3, 1});
  MUST(run());
  MUST(ruda_stream_sync(env.stream));
  ruda_release(schedule);
  ruda_release(plan);
}

RUDA_BENCH(rope_attention_bench) {
  for (uint32_t length : {64u, 512u, 1024u}) {
    Layout l = make_layout(env, 64, {length}, 1);
    l.pages = 128;
    PagedCase paged(env, 64, l);
    OpRun op(env, "rope_attention");
    op.random_input(slot::Q, RUDA_F32, {1, 9, 64});
    op.random_input(slot::K, RUDA_F32, {1, 3, 64});
    op.random_input(slot::V, RUDA_F32, {1, 3, 64});
    op.output(slot::OUT, RUDA_F32, {1, 9, 64});
    op.inout(slot::K_CACHE, RUDA_F16, {128, 64, 3, 64}, env.normal(128 * 64 * 192));
    op.inout(slot::V_CACHE, RUDA_F16, {128, 64, 3, 64}, env.normal(128 * 64 * 192));
    op.bind_handle(slot::SCHEDULE, paged.schedule);
    ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
    params.theta = 10000;
    params.pairing = RUDA_ROPE_INTERLEAVED;
    op.bench("rope_attention 1 x h9/3 s" + std::to_string(length) + " d64 f16", length * 2.0 * 192 * 2, 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               const ruda_rope_attention_desc desc = desc_of(op, params, 0.125, options);
               return ruda_rope_attention_plan_create(env.context, &desc, out);
             });
  }
}
