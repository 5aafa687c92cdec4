// tests/ops/matmul/matmul_block.cpp - matmul_block against a double loop over the format tables.
// SPDX-License-Identifier: Apache-2.0
#include "block_cases.hpp"

using namespace ruda::test;

RUDA_TEST(matmul_block_norm_and_gate) {
  for (const BlockSize& f : {block_sizes[1], block_sizes[4], block_sizes[7]})
    for (const auto& [normed, gated] : {std::pair{true, false}, {false, true}, {true, true}})
      for (int64_t m : {1, 2, 3, 4, 7, 70}) {
        check_around(env, {f.dtype, m, 19, 512, normed, gated});
        check_around(env, {f.dtype, m, 24, 2304, normed, gated, RUDA_BF16, RUDA_BF16, !gated});
      }
  check_around(env, {RUDA_Q4_1, 6, 20, 256, true, true, RUDA_F32, RUDA_F32, false, {300, 1}, {31, 1}});
  check_around(env, {RUDA_Q4_1, 3, 20, 256, true, true, RUDA_BF16, RUDA_F32, false, {288, 1}, {64, 1}});
  check_around(env, {RUDA_Q8_0, 2, 20, 256, true, true, RUDA_F32, RUDA_F32, false, {}, {}, RUDA_MATH_STRICT});
  check_around(env, {RUDA_Q4_0, 0, 8, 64, true, true});
  check_around(env, {RUDA_Q4_0, 3, 0, 64, true, true});
}

RUDA_TEST(matmul_block_norm_and_gate_rules) {
  OpRun op(env, "matmul_block");
  op.random_input(X, RUDA_F32, {2, 64});
  op.input_bytes(W, RUDA_Q4_0, {6, 64}, random_blocks(env, RUDA_Q4_0, 6, 64));
  op.random_input(BIAS, RUDA_F32, {6});
  op.random_input(GAMMA, RUDA_F32, {64});
  op.output(Y, RUDA_F32, {2, 3});
  const auto attempt = [&](ruda_status status, auto&& change) {
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.x = op.desc(X);
    desc.weights = op.desc(W);
    desc.gamma = op.desc(GAMMA);
    desc.eps = 1e-5;
    desc.gated = 1;
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status got = ruda_matmul_block_plan_create(env.context, &desc, &plan);
    CHECK(got == status, "status %s, expected %s", ruda_status_name(got), ruda_status_name(status));
    ruda_release(plan);
  };
  using Desc = ruda_matmul_block_desc&;
  attempt(RUDA_OK, [](Desc) {});
  attempt(RUDA_OK, [&](Desc d) { d.y = op.desc(Y); });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.gated = 2; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.reserved = 1; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.eps = 0; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.eps = NAN; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.eps = 1e-46; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.eps = 1e39; });
  attempt(RUDA_E_ARGUMENT, [](Desc d) { d.gamma = nullptr; });
  attempt(RUDA_E_ARGUMENT, [&](Desc d) { d.bias = op.desc(BIAS); });
  attempt(RUDA_E_SHAPE, [&](Desc d) { d.gamma = op.desc(BIAS); });
  attempt(RUDA_E_SHAPE, [&](Desc d) {
    d.gated = 0;
    d.y = op.desc(Y);
  });
}

RUDA_TEST(matmul_block_shapes) {
  for (const BlockSize& f : block_sizes)
    for (uint32_t x : {RUDA_F32, RUDA_BF16}) {
      const int64_t b = f.elements;
      // Around tiles of 16 and 32 rows and columns, groups of 128 elements, chunks of 512 and 640.
      check_case(env, {f.dtype, {1}, 1, b, x});
      check_case(env, {f.dtype, {1}, 37, 3 * b, x, RUDA_F32, true});
      check_case(env, {f.dtype, {2}, 16, 5 * b, x, x, true});
      check_case(env, {f.dtype, {4}, 19, 2 * b, x});
      check_case(env, {f.dtype, {5}, 33, 768, x, x});
      check_case(env, {f.dtype, {7}, 18, b == 32 ? 576 : 512, x, RUDA_F32, true});
      check_case(env, {f.dtype, {16}, 48, b == 32 ? 640 : 1024, x, RUDA_BF16});
      check_case(env, {f.dtype, {17}, 15, b == 32 ? 672 : 1280, x});
      check_case(env, {f.dtype, {33}, 65, b, x, x, true});
      check_case(env, {f.dtype, {48}, 34, 1536, x});
    }
}

// Every rest of a row that is taken in groups of four or eight blocks, and every rest of the rows.
RUDA_TEST(matmul_block_row_ends) {
  for (uint32_t format : {RUDA_Q4_0, RUDA_Q4_1, RUDA_Q5_1, RUDA_Q8_0})
    for (int64_t blocks = 1; blocks <= 17; ++blocks)
      for (int64_t m : {1, 2, 3, 4}) check_case(env, {format, {m}, 4 + blocks % 4, 32 * blocks});
}

// Where a GPU gives a warp several columns, shares k between warps, or takes rows in groups of 64.
RUDA_TEST(matmul_block_shares) {
  for (const BlockSize& f : {block_sizes[1], block_sizes[4], block_sizes[7]}) {
    check_case(env, {f.dtype, {1}, 33, 4352, RUDA_F32, RUDA_F32, true});
    check_case(env, {f.dtype, {3}, 35, 2304, RUDA_BF16});
    check_case(env, {f.dtype, {70}, 40, 512, RUDA_F32, RUDA_BF16, true});
    check_case(env, {f.dtype, {130}, 17, 256, RUDA_BF16});
    if (env.settings.backend == RUDA_BACKEND_CPU && !env.settings.level) continue;
    check_case(env, {f.dtype, {1}, 26001, 256});
    check_case(env, {f.dtype, {1}, 13001, 256, RUDA_F32, RUDA_BF16, true});
    check_case(env, {f.dtype, {2}, 4301, 256});
    check_case(env, {f.dtype, {4}, 2203, 256, RUDA_BF16, RUDA_F32, true});
    check_case(env, {f.dtype, {20}, 4241, 256});
  }
}

RUDA_TEST(matmul_block_leading_and_strides) {
  for (uint32_t format : {RUDA_Q4_1, RUDA_Q8_0, RUDA_Q6_K}) {
    check_case(env, {format, {}, 9, 256});
    check_case(env, {format, {3, 2, 2}, 20, 256, RUDA_BF16, RUDA_F32});
    check_case(env, {format, {6}, 20, 256, RUDA_F32, RUDA_F32, true, {300, 1}, {31, 1}});
    check_case(env, {format, {16}, 40, 256, RUDA_BF16, RUDA_BF16, false, {288, 1}, {64, 1}});
    // Outer axes that do not collapse to one stride.
    check_case(env, {format, {2, 3}, 20, 256, RUDA_F32, RUDA_F32, false, {256, 600, 1}, {}});
  }
}

// The bound of up to four rows holds whatever kernel is asked for, also by autotuning.
RUDA_TEST(matmul_block_few_rows_keep_their_bound) {
  for (int64_t m : {1, 4}) {
    OpRun op(env, "matmul_block");
    op.random_input(X, RUDA_F32, {m, 512});
    op.input_bytes(W, RUDA_Q8_0, {64, 512}, random_blocks(env, RUDA_Q8_0, 64, 512));
    op.output(Y, RUDA_F32, {m, 64});
    op.each_kernel(creator(env, op, false), [&](const std::string& kernel) {
      CHECK(!kernel.ends_with("amx") && !kernel.ends_with("bf16_dot") && !kernel.ends_with("mma"),
            "%s takes %lld rows", kernel.c_str(), (long long)m);
    });
  }
}

RUDA_TEST(matmul_block_strict) {
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {1, 6})
      check_case(env, {f.dtype, {m}, 21, 512, RUDA_F32, RUDA_F32, false, {}, {}, RUDA_MATH_STRICT});
}

RUDA_TEST(matmul_block_empty) {
  check_case(env, {RUDA_Q4_0, {0}, 5, 64});
  check_case(env, {RUDA_Q4_1, {3}, 0, 64});
  check_case(env, {RUDA_Q8_0, {0, 4}, 0, 32});
}

// No work needs no memory, however large the extents beside the 0 are.
RUDA_TEST(matmul_block_empty_beside_huge) {
  const int64_t huge = int64_t(1) << 38;
  const auto product = [&](ruda_tensor x, ruda_tensor weights, const char* what) {
    ruda_tensor y = nullptr;
    const ruda_status status = ruda_matmul_block(env.stream, x, weights, nullptr, 0, &y);
    CHECK(status == RUDA_OK, "%s: %s, %s", what, ruda_status_name(status), last_message().c_str());
    release({y, x, weights});
  };
  product(new_tensor(env.context, RUDA_F32, {0, huge}), new_tensor(env.context, RUDA_Q8_0, {0, huge}),
          "no rows, no columns");
  const ruda_tensor row = new_tensor(env.context, RUDA_F32, {1, 256});
  const int64_t rows[] = {int64_t(1) << 40, 256};
  ruda_tensor many = nullptr;
  MUST(ruda_tensor_broadcast(row, rows, 2, &many));
  ruda_release(row);
  product(many, new_tensor(env.context, RUDA_Q8_0, {0, 256}), "2^40 rows, no columns");
}

// Weights at addresses that no vector load is aligned to: a table of one format's rows cut at each row.
RUDA_TEST(matmul_block_addresses) {
  for (uint32_t format : {RUDA_Q4_0, RUDA_Q8_0, RUDA_Q6_K}) {
    const int64_t k = 256, rows = 9, row_bytes = block_row_bytes(format, k);
    const auto bytes = random_blocks(env, format, rows, k);
    for (int64_t first = 1; first < rows; ++first) {
      OpRun op(env, "matmul_block");
      const auto x = op.random_input(X, RUDA_F32, {5, k});
      const std::vector<uint8_t> part(bytes.begin() + first * row_bytes, bytes.end());
      Buffer whole(env, format, {rows, k}, bytes);
      const int64_t begin[] = {first, 0}, end[] = {rows, k};
      ruda_tensor view = nullptr;
      MUST(ruda_tensor_slice(whole.tensor, begin, end, nullptr, 2, &view));
      op.output(Y, RUDA_F32, {5, rows - first});
      ruda_tensor y = nullptr;
      MUST(ruda_matmul_block(env.stream, op.tensor(X), view, nullptr, 0, &y));
      std::vector<float> got(size_t(5 * (rows - first)));
      MUST(ruda_tensor_read(env.stream, y, got.data(), got.size() * 4));
      const Reference want = reference(format, x, part.data(), nullptr, 5, rows - first, k);
      check_close("slice", {got.begin(), got.end()}, want.expected,
                  [&](size_t i) { return bound("amx", want.elements[i], k, false, RUDA_F32); });
      ruda_release(y);
      ruda_release(view);
    }
  }
}

RUDA_TEST(matmul_block_errors) {
  OpRun op(env, "matmul_block");
  op.random_input(X, RUDA_F32, {2, 64});
  op.input_bytes(W, RUDA_Q4_0, {3, 64}, random_blocks(env, RUDA_Q4_0, 3, 64));
  op.random_input(BIAS, RUDA_F32, {4});
  op.output(Y, RUDA_F16, {2, 3});
  OpRun other(env, "matmul_block");
  other.random_input(X, RUDA_F16, {2, 64});
  other.random_input(W, RUDA_F32, {3, 64});
  other.random_input(BIAS, RUDA_F32, {2, 32});
  other.output(Y, RUDA_F32, {2, 4});
  const auto attempt = [&](auto change) {
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.x = op.desc(X);
    desc.weights = op.desc(W);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_matmul_block_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_matmul_block_desc;
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "matmul_block: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.weights = nullptr; }), RUDA_E_NULL, 1, "matmul_block: weights is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_DTYPE, 1,
              "x has dtype F16, expected one of F32, BF16");
  CHECK_FAILS(attempt([&](D& d) { d.weights = other.desc(W); }), RUDA_E_DTYPE, 1,
              "weights has dtype F32, expected");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(BIAS); }), RUDA_E_SHAPE, 1,
              "weights dim 1 is 64, expected 32");
  CHECK_FAILS(attempt([&](D& d) { d.bias = op.desc(BIAS); }), RUDA_E_SHAPE, 1, "bias dim 0 is 4, expected 3");
  CHECK_FAILS(attempt([&](D& d) { d.y = op.desc(Y); }), RUDA_E_DTYPE, 1,
              "y has dtype F16, expected one of F32, BF16");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(Y); }), RUDA_E_SHAPE, 1,
              "y has shape [2, 4], expected [2, 3]");
  CHECK_FAILS(attempt([&](D& d) { d.out_dtype = RUDA_I8; }), RUDA_E_DTYPE, 1, "y has dtype I8");
  CHECK_FAILS(ruda_matmul_block_plan_create(env.context, nullptr, nullptr), RUDA_E_NULL, 2, "out is NULL");
}

// The matrices of a 135M model: one row for generation, 512 for a prompt.
RUDA_BENCH(matmul_block_bench) {
  struct Size {
    int64_t n, k;
  };
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {1, 512})
      for (const Size& s :
           {Size{576, 576}, Size{192, 576}, Size{1536, 576}, Size{576, 1536}, Size{49152, 576}}) {
        if (m > 1 && s.n == 49152) continue;
        const int64_t k = f.elements == 256 ? (s.k == 576 ? 512 : s.k) : s.k;
        OpRun op(env, "matmul_block");
        op.random_input(X, RUDA_F32, {m, k});
        op.input_bytes(W, f.dtype, {s.n, k}, random_blocks(env, f.dtype, s.n, k));
        op.output(Y, RUDA_F32, {m, s.n});
        const std::string name = std::string("matmul_block ") + f.name + " [" + std::to_string(m) + ", " +
                                 std::to_string(k) + "] x [" + std::to_string(s.n) + "]";
        op.bench(name, double(s.n * block_row_bytes(f.dtype, k)) + 4.0 * double(m * (k + s.n)),
                 2.0 * double(m * s.n * k), creator(env, op, false));
      }
}
