// tests/ops/attention/paged_attention.cpp - paged_attention against softmax(q k^T) v in double.
// SPDX-License-Identifier: Apache-2.0
#include "support/paged_attention.hpp"

using namespace ruda::test;

RUDA_TEST(paged_attention_dtypes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (uint32_t fresh : {1u, 40u})
        check_case(env, {.dtype = dtype, .cache_dtype = cache, .dim = 33, .value_dim = 50},
                   make_layout(env, 4, {70, 3, 129}, fresh));
}

RUDA_TEST(paged_attention_dims) {
  for (int64_t dim : {1, 2, 7, 15, 16, 17, 31, 64, 65, 100, 128, 192, 257, 1024})
    for (int64_t value_dim : {int64_t(1), dim, int64_t(63), int64_t(64)})
      check_case(env,
                 {.q_heads = 2,
                  .kv_heads = 1,
                  .dim = dim,
                  .value_dim = value_dim,
                  .scale = 1 / std::sqrt(double(dim))},
                 make_layout(env, 4, {67}, 5));
  check_case(env, {.q_heads = 1, .kv_heads = 1, .dim = 5, .value_dim = 1024}, make_layout(env, 4, {67}, 50));
  check_case(env,
             {.dtype = RUDA_BF16,
              .cache_dtype = RUDA_BF16,
              .q_heads = 8,
              .kv_heads = 1,
              .dim = 576,
              .value_dim = 512,
              .page_size = 16},
             make_layout(env, 16, {67}, 4));
}

RUDA_TEST(paged_attention_heads) {
  for (int64_t kv_heads : {1, 2, 3})
    for (int64_t group : {1, 2, 3, 5, 7, 12, 50})
      for (uint32_t fresh : {1u, 9u})
        check_case(env, {.q_heads = kv_heads * group, .kv_heads = kv_heads},
                   make_layout(env, 4, {33, 66}, fresh));
}

RUDA_TEST(paged_attention_pages) {
  for (uint32_t page_size : {1u, 2u, 3u, 16u, 63u, 64u, 65u, 128u, 1000u})
    for (uint32_t length : {1u, 63u, 64u, 65u, 200u})
      check_case(env, {.page_size = page_size}, make_layout(env, page_size, {length}, 3));
}

RUDA_TEST(paged_attention_prefill) {
  for (bool causal : {false, true}) {
    check_case(env,
               {.q_heads = 9,
                .kv_heads = 3,
                .dim = 64,
                .value_dim = 64,
                .page_size = 16,
                .scale = 0.125,
                .causal = causal},
               make_layout(env, 16, {257}, 257));
    check_case(env,
               {.dtype = RUDA_BF16,
                .cache_dtype = RUDA_BF16,
                .q_heads = 6,
                .kv_heads = 3,
                .dim = 64,
                .value_dim = 80,
                .page_size = 16,
                .scale = 0.125,
                .causal = causal},
               make_layout(env, 16, {130, 64, 1}, 128));
  }
  // Queries out of order, of mixed histories, some of them twice.
  Layout l = make_layout(env, 4, {50, 20, 90}, 0);
  for (int i = 0; i < 60; ++i) {
    const uint32_t s = uint32_t(env.integer(0, 2));
    l.queries.push_back({s, uint32_t(env.integer(0, l.lengths[s] - 1))});
  }
  check_case(env, {}, l);
}

RUDA_TEST(paged_attention_splits) {
  for (uint32_t splits : {0u, 2u, 3u, 7u, 32u, RUDA_SPLITS_AUTO})
    for (uint32_t fresh : {1u, 6u}) {
      check_case(env, {.q_heads = 6, .kv_heads = 2, .dim = 24, .value_dim = 40, .splits = splits},
                 make_layout(env, 4, {1, 2100, 300, 64}, fresh));
      check_case(env,
                 {.dtype = RUDA_F16,
                  .cache_dtype = RUDA_F16,
                  .page_size = 16,
                  .causal = false,
                  .splits = splits,
                  .lse = false},
                 make_layout(env, 16, {700}, fresh));
    }
}

// Many queries at once with AUTO: tiles of queries and heads meet the edges of sequences, pages and dims.
RUDA_TEST(paged_attention_tiles) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t cache : {RUDA_F16, RUDA_BF16})
      for (bool causal : {false, true})
        check_case(env,
                   {.dtype = dtype,
                    .cache_dtype = cache,
                    .q_heads = 6,
                    .kv_heads = 2,
                    .dim = 64,
                    .value_dim = 64,
                    .page_size = 16,
                    .scale = 0.125,
                    .causal = causal,
                    .splits = RUDA_SPLITS_AUTO},
                   make_layout(env, 16, {130, 64, 1}, 128));
  for (int64_t dim : {8, 72, 128, 200, 256})
    for (int64_t value_dim : {int64_t(16), dim})
      check_case(env,
                 {.cache_dtype = RUDA_F16,
                  .q_heads = 3,
                  .kv_heads = 1,
                  .dim = dim,
                  .value_dim = value_dim,
                  .scale = 1 / std::sqrt(double(dim)),
                  .splits = RUDA_SPLITS_AUTO},
                 make_layout(env, 4, {67}, 40));
  for (int64_t group : {1, 2, 5, 8, 64, 70})
    check_case(env,
               {.dtype = RUDA_BF16,
                .cache_dtype = RUDA_BF16,
                .q_heads = 2 * group,
                .kv_heads = 2,
                .dim = 16,
                .value_dim = 16,
                .splits = RUDA_SPLITS_AUTO,
                .spare_rows = 3},
               make_layout(env, 4, {33, 66, 90}, 30));
  Layout mixed = make_layout(env, 4, {50, 20, 90}, 0);
  for (int i = 0; i < 90; ++i) {
    const uint32_t s = uint32_t(env.integer(0, 2));
    mixed.queries.push_back({s, uint32_t(env.integer(0, mixed.lengths[s] - 1))});
  }
  check_case(env, {.cache_dtype = RUDA_F16, .splits = RUDA_SPLITS_AUTO}, mixed);
}

RUDA_TEST(paged_attention_strides) {
  check_case(env, {.q_strides = {100, 20, 1}, .out_strides = {16, 200, 1}, .lse_strides = {1, 30}},
             make_layout(env, 4, {30, 9}, 6));
  check_case(env, {.heads_first = true}, make_layout(env, 4, {30, 90}, 6));
  check_case(env, {.dtype = RUDA_BF16, .cache_dtype = RUDA_BF16, .splits = 2, .heads_first = true},
             make_layout(env, 4, {30, 90}, 6));
}

// A plan for more rows than the step has: the other rows are neither read nor written.
RUDA_TEST(paged_attention_spare_rows) {
  for (uint32_t splits : {0u, 2u, RUDA_SPLITS_AUTO}) {
    check_case(env, {.splits = splits, .spare_rows = 7}, make_layout(env, 4, {30, 9}, 3));
    check_case(env, {.splits = splits, .spare_rows = 5}, make_layout(env, 4, {30, 9}, 0));
    check_case(env, {.splits = splits}, make_layout(env, 4, {30, 9}, 0));
    // Far more than the schedule has room for.
    check_case(
        env, {.q_heads = 2, .kv_heads = 1, .dim = 16, .value_dim = 16, .splits = splits, .spare_rows = 20000},
        make_layout(env, 4, {30, 9}, 3));
  }
}

RUDA_BENCH(paged_attention_bench) {
  struct Shape6 {
    const char* name;
    uint32_t sequences, length, fresh, splits;
    int64_t q_heads, kv_heads, dim;
  };
  for (const Shape6& s :
       {Shape6{"prefill h9/3 s1024 d64", 1, 1024, 1024, 0, 9, 3, 64},
        Shape6{"prefill h9/3 s1024 d64 auto", 1, 1024, 1024, RUDA_SPLITS_AUTO, 9, 3, 64},
        Shape6{"prefill h16/4 s2048 d128 auto", 1, 2048, 2048, RUDA_SPLITS_AUTO, 16, 4, 128},
        Shape6{"prefill h16/4 s2048 d128", 1, 2048, 2048, 0, 16, 4, 128},
        Shape6{"decode 8 x h9/3 s1024 d64", 8, 1024, 1, 0, 9, 3, 64},
        Shape6{"decode 8 x h16/4 s2048 d128", 8, 2048, 1, 0, 16, 4, 128},
        Shape6{"decode 1 x h9/3 s64 d64", 1, 64, 1, RUDA_SPLITS_AUTO, 9, 3, 64},
        Shape6{"decode 1 x h9/3 s512 d64", 1, 512, 1, RUDA_SPLITS_AUTO, 9, 3, 64},
        Shape6{"decode 1 x h9/3 s1024 d64 unsplit", 1, 1024, 1, 0, 9, 3, 64},
        Shape6{"decode 1 x h9/3 s1024 d64", 1, 1024, 1, RUDA_SPLITS_AUTO, 9, 3, 64}})
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
      const Layout l = make_layout(env, 16, std::vector<uint32_t>(s.sequences, s.length), s.fresh);
      const int64_t rows = int64_t(l.queries.size()), pages = l.pages;
      PagedCase paged(env, 16, l);
      OpRun op(env, "paged_attention");
      op.random_input(Q, dtype, {rows, s.q_heads, s.dim});
      op.random_input(K, dtype, {pages, 16, s.kv_heads, s.dim});
      op.random_input(V, dtype, {pages, 16, s.kv_heads, s.dim});
      op.output(OUT, dtype, {rows, s.q_heads, s.dim});
      op.bind_handle(SCHEDULE, paged.schedule);
      const Case c{.scale = 0.125, .splits = s.splits, .lse = false};
      const double seen = s.fresh == 1 ? double(s.length) : (double(s.length) + 1) / 2;
      op.bench(std::string(s.name) + (dtype == RUDA_F32   ? " f32"
                                      : dtype == RUDA_F16 ? " f16"
                                                          : " bf16"),
               double(s.sequences) * s.length * double(s.kv_heads * s.dim) * 2 * size_of(dtype),
               4.0 * double(rows * s.q_heads * s.dim) * seen, creator(env, op, c));
    }
}
