// tests/ops/matmul/matmul_block.cpp - matmul_block against a double loop over the format tables.
// SPDX-License-Identifier: Apache-2.0
#include "support/blocks.hpp"
#include "support/objects.hpp"

#include <algorithm>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_MATMUL_BLOCK_X, W = RUDA_MATMUL_BLOCK_WEIGHTS, BIAS = RUDA_MATMUL_BLOCK_BIAS,
                   Y = RUDA_MATMUL_BLOCK_Y, GAMMA = RUDA_MATMUL_BLOCK_GAMMA;

OpRun::Create creator(Env& env, const OpRun& op, bool bias, uint32_t math = RUDA_MATH_DEFAULT) {
  return [&env, &op, bias, math](const ruda_plan_options* given, ruda_plan* out) {
    ruda_plan_options options = given ? *given : ruda_plan_options RUDA_PLAN_OPTIONS_INIT;
    options.math = math;
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.options = &options;
    desc.x = op.desc(X);
    desc.weights = op.desc(W);
    desc.bias = bias ? op.desc(BIAS) : nullptr;
    desc.y = op.desc(Y);
    return ruda_matmul_block_plan_create(env.context, &desc, out);
  };
}

// What the bounds of the header need of one element.
struct Element {
  double value = 0, products = 0, parts = 0, blocks = 0;
};

struct Reference {
  std::vector<double> expected;
  std::vector<Element> elements;
};

Reference reference(uint32_t format, const std::vector<double>& x, const uint8_t* weights, const double* bias,
                    int64_t m, int64_t n, int64_t k) {
  Reference out;
  std::vector<double> row(static_cast<size_t>(k)), parts(static_cast<size_t>(k));
  out.elements.resize(size_t(m * n));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      const BlockValue v = block_value(format, weights + j * block_row_bytes(format, k), i);
      row[size_t(i)] = v.value();
      parts[size_t(i)] = std::fabs(v.scale * v.code) + std::fabs(v.minimum);
    }
    for (int64_t r = 0; r < m; ++r) {
      Element& e = out.elements[size_t(r * n + j)];
      const double* xs = x.data() + r * k;
      for (int64_t b = 0; b < k; b += 32) {
        double largest = 0, sum = 0;
        for (int64_t i = b; i < b + 32; ++i) {
          e.value += xs[i] * row[size_t(i)];
          e.products += std::fabs(xs[i] * row[size_t(i)]);
          e.parts += std::fabs(xs[i]) * parts[size_t(i)];
          largest = std::max(largest, std::fabs(xs[i]));
          sum += std::fabs(row[size_t(i)]);
        }
        e.blocks += largest * sum;
      }
      if (bias) e.value += bias[j], e.products += std::fabs(bias[j]), e.parts += std::fabs(bias[j]);
    }
  }
  for (const Element& e : out.elements) out.expected.push_back(e.value);
  return out;
}

// The bounds of the header, by the arithmetic that a kernel uses.
double bound(const std::string& kernel, const Element& e, int64_t k, bool x_bf16, uint32_t y_dtype) {
  const double unit = std::ldexp(1.0, -24), sums = double(k + 3) * unit;
  double error = sums * e.products;
  if (kernel.ends_with("vnni")) error = std::ldexp(e.blocks, -14) + sums * e.parts;
  if (kernel.ends_with("amx") || kernel.ends_with("bf16_dot") || kernel.ends_with("mma") ||
      kernel.ends_with("gemm"))
    error += (std::ldexp(1.0, x_bf16 ? -8 : -7) + std::ldexp(1.0, -16)) * e.products;
  return error + (std::fabs(e.value) + error) * epsilon(y_dtype) / 2 * 1.01 + 1e-30;
}

struct Case {
  uint32_t format;
  Shape lead;
  int64_t n, k;
  uint32_t x = RUDA_F32, y = RUDA_F32;
  bool bias = false;
  Shape x_strides = {}, y_strides = {};
  uint32_t math = RUDA_MATH_DEFAULT;
};

void check_case(Env& env, const Case& c) {
  const int64_t m = count_of(c.lead);
  Shape x_shape = c.lead, y_shape = c.lead;
  x_shape.push_back(c.k);
  y_shape.push_back(c.n);
  OpRun op(env, "matmul_block");
  const auto x = op.random_input(X, c.x, x_shape, 1.0, c.x_strides);
  const auto weights = random_blocks(env, c.format, c.n, c.k);
  op.input_bytes(W, c.format, {c.n, c.k}, weights);
  std::vector<double> bias;
  if (c.bias) bias = op.random_input(BIAS, c.y, {c.n});
  op.output(Y, c.y, y_shape, c.y_strides);
  const Reference want = reference(c.format, x, weights.data(), c.bias ? bias.data() : nullptr, m, c.n, c.k);
  op.each_kernel(creator(env, op, c.bias, c.math), [&](const std::string& kernel) {
    if (c.math == RUDA_MATH_STRICT)
      CHECK(kernel.ends_with("f32") || kernel.ends_with("scalar") || kernel.starts_with("cuda"),
            "%s took a strict problem", kernel.c_str());
    check_close((kernel + " " + block_size(c.format).name).c_str(), op.read(Y), want.expected,
                [&](size_t i) { return bound(kernel, want.elements[i], c.k, c.x == RUDA_BF16, c.y); });
  });
}

// ---- a norm before the product, a gate after it ----

struct Around {
  uint32_t format;
  int64_t m, n, k;
  bool normed, gated;
  uint32_t x = RUDA_F32, y = RUDA_F32;
  bool bias = false;
  Shape x_strides = {}, y_strides = {};
  uint32_t math = RUDA_MATH_DEFAULT;
};

void check_around(Env& env, const Around& c) {
  constexpr double eps = 1e-5;
  const int64_t rows = c.gated ? 2 * c.n : c.n;
  OpRun op(env, "matmul_block");
  auto x = op.random_input(X, c.x, {c.m, c.k}, 1.0, c.x_strides);
  const auto weights = random_blocks(env, c.format, rows, c.k);
  op.input_bytes(W, c.format, {rows, c.k}, weights);
  std::vector<double> bias, gamma;
  if (c.bias) bias = op.random_input(BIAS, RUDA_F32, {c.n});
  if (c.normed) gamma = op.random_input(GAMMA, RUDA_F32, {c.k});
  op.output(Y, c.y, {c.m, c.n}, c.y_strides);
  for (int64_t r = 0; c.normed && r < c.m; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < c.k; ++i) squares += x[size_t(r * c.k + i)] * x[size_t(r * c.k + i)];
    for (int64_t i = 0; i < c.k; ++i)
      x[size_t(r * c.k + i)] *= gamma[size_t(i)] / std::sqrt(squares / double(c.k) + eps);
  }
  const Reference products =
      reference(c.format, x, weights.data(), c.bias ? bias.data() : nullptr, c.m, rows, c.k);
  // A row of x is normalised in F32: a sum of squares of k terms, a root, a division, two products.
  const auto product_bound = [&](const std::string& kernel, const Element& e) {
    const double norm = c.normed ? double(c.k / 2 + 6) * std::ldexp(e.products, -24) : 0.0;
    return bound(kernel, e, c.k, c.x == RUDA_BF16 && !c.normed, RUDA_F32) + norm;
  };
  const auto silu = [](double g) { return g / (1 + std::exp(-g)); };
  std::vector<double> want;
  for (int64_t i = 0; i < c.m * c.n; ++i) {
    const size_t g = size_t(c.gated ? i / c.n * rows + i % c.n : i);
    want.push_back(c.gated ? silu(products.elements[g].value) * products.elements[g + size_t(c.n)].value
                           : products.elements[g].value);
  }
  const auto create = [&](const ruda_plan_options* given, ruda_plan* out) {
    ruda_plan_options options = given ? *given : ruda_plan_options RUDA_PLAN_OPTIONS_INIT;
    options.math = c.math;
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.options = &options;
    desc.x = op.desc(X);
    desc.weights = op.desc(W);
    desc.bias = c.bias ? op.desc(BIAS) : nullptr;
    desc.y = op.desc(Y);
    desc.gamma = c.normed ? op.desc(GAMMA) : nullptr;
    desc.eps = c.normed ? eps : 0.0;
    desc.gated = c.gated;
    return ruda_matmul_block_plan_create(env.context, &desc, out);
  };
  op.each_kernel(create, [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), want, [&](size_t i) {
      const size_t g = c.gated ? i / size_t(c.n) * size_t(rows) + i % size_t(c.n) : i;
      double error = product_bound(kernel, products.elements[g]);
      if (c.gated) {
        // The slope of silu is at most 1.1; its own error is 8 units of its value.
        const Element &gate = products.elements[g], &up = products.elements[g + size_t(c.n)];
        const double up_error = product_bound(kernel, up), gate_value = std::fabs(silu(gate.value));
        const double gate_error = 1.1 * error + std::ldexp(gate_value, -21);
        error = gate_error * (std::fabs(up.value) + up_error) + gate_value * up_error;
      }
      return error + (std::fabs(want[i]) + error) * epsilon(c.y) * 1.01 + 1e-30;
    });
  });
}

}  // namespace

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

// NaN and Inf in rows of x, zero rows, tiny rows: each row alone.
RUDA_TEST(matmul_block_special_rows) {
  const int64_t n = 18, k = 256;
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {4, 6}) {
      auto values = env.normal(m * k);
      values[3] = NAN;
      values[size_t(k) + 40] = INFINITY;
      std::fill_n(values.begin() + 2 * k, k, 0.0);
      for (int64_t i = 0; i < k; ++i) values[size_t(3 * k + i)] *= 1e-36;
      OpRun op(env, "matmul_block");
      const auto x = op.input(X, RUDA_F32, {m, k}, values);
      const auto weights = random_blocks(env, f.dtype, n, k);
      op.input_bytes(W, f.dtype, {n, k}, weights);
      op.output(Y, RUDA_F32, {m, n});
      const Reference want = reference(f.dtype, x, weights.data(), nullptr, m, n, k);
      op.each_kernel(creator(env, op, false), [&](const std::string& kernel) {
        const auto y = op.read(Y);
        for (int64_t i = 0; i < m * n; ++i) {
          const Element& e = want.elements[size_t(i)];
          const double got = y[size_t(i)];
          const bool same = std::isnan(e.value) ? std::isnan(got)
                            : std::isinf(e.value)
                                ? got == e.value
                                : std::fabs(got - e.value) <= bound(kernel, e, k, false, RUDA_F32);
          CHECK(same, "%s %s row %lld: got %g, expected %g", kernel.c_str(), f.name,
                static_cast<long long>(i / n), got, e.value);
        }
      });
    }
}

// The same around a norm and a gate: a row with NaN is NaN (and one with Inf under a norm), tiny rows are
// finite, and no other row notices.
RUDA_TEST(matmul_block_special_rows_around) {
  const int64_t n = 9, k = 256;
  for (const int around : {1, 2, 3})
    for (int64_t m : {4, 7}) {
      const bool normed = around & 1, gated = around & 2;
      const int64_t rows = gated ? 2 * n : n;
      const auto weights = random_blocks(env, RUDA_Q4_1, rows, k);
      const auto gamma = env.normal(k), clean = env.normal(m * k);
      auto spoilt = clean;
      spoilt[3] = NAN;
      spoilt[size_t(k) + 40] = -INFINITY;
      for (int64_t i = 0; i < k; ++i) spoilt[size_t(2 * k + i)] = std::ldexp(double(i % 9), -149);
      std::map<std::string, std::vector<double>> before;
      for (const auto& values : {clean, spoilt}) {
        OpRun op(env, "matmul_block");
        op.input(X, RUDA_F32, {m, k}, values);
        op.input_bytes(W, RUDA_Q4_1, {rows, k}, weights);
        if (normed) op.input(GAMMA, RUDA_F32, {k}, gamma);
        op.output(Y, RUDA_F32, {m, n});
        const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
          ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
          desc.options = options, desc.x = op.desc(X), desc.weights = op.desc(W), desc.y = op.desc(Y);
          desc.gamma = normed ? op.desc(GAMMA) : nullptr;
          desc.eps = normed ? 1e-5 : 0.0, desc.gated = gated;
          return ruda_matmul_block_plan_create(env.context, &desc, out);
        };
        op.each_kernel(create, [&](const std::string& kernel) {
          const auto y = op.read(Y);
          if (!before.count(kernel)) {
            before[kernel] = y;
            return;
          }
          for (int64_t i = 0; i < m * n; ++i) {
            const int64_t row = i / n;
            const double got = y[size_t(i)];
            const bool right = row == 0   ? std::isnan(got)
                               : row == 1 ? (normed ? std::isnan(got) : !std::isfinite(got))
                               : row == 2 ? std::fabs(got) < 1e-30
                                          : got == before[kernel][size_t(i)];
            CHECK(right, "%s row %lld: got %g", kernel.c_str(), (long long)row, got);
          }
        });
      }
    }
}

// A weight row with an infinite or NaN scale is not finite; its neighbours do not notice.
RUDA_TEST(matmul_block_special_scales) {
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {1, 6})
      for (uint32_t half : {0x7C00u, 0x7E00u, 0xFC00u}) {
        const int64_t n = 7, k = 512;
        OpRun op(env, "matmul_block");
        const auto x = op.random_input(X, RUDA_F32, {m, k});
        auto weights = random_blocks(env, f.dtype, n, k);
        const size_t at = size_t(3 * block_row_bytes(f.dtype, k)) + (f.dtype == RUDA_Q6_K ? 208 : 0);
        weights[at] = uint8_t(half), weights[at + 1] = uint8_t(half >> 8);
        op.input_bytes(W, f.dtype, {n, k}, weights);
        op.output(Y, RUDA_F32, {m, n});
        const Reference want = reference(f.dtype, x, weights.data(), nullptr, m, n, k);
        op.each_kernel(creator(env, op, false), [&](const std::string& kernel) {
          const auto y = op.read(Y);
          for (int64_t i = 0; i < m * n; ++i) {
            const double got = y[size_t(i)], value = want.expected[size_t(i)];
            const bool same = i % n == 3 ? !std::isfinite(got)
                                         : std::fabs(got - value) <=
                                               bound(kernel, want.elements[size_t(i)], k, false, RUDA_F32);
            CHECK(same, "%s %s column %lld: got %g, expected %g", kernel.c_str(), f.name,
                  static_cast<long long>(i % n), got, value);
          }
        });
      }
}

// The bits of a row do not depend on the threads, nor on how many rows there are within each of the two
// ranges.
RUDA_TEST(matmul_block_same_bits) {
  const bool cpu = env.settings.backend == RUDA_BACKEND_CPU;
  struct Weights {
    uint32_t format;
    int64_t n, k;
  };
  const int64_t most = 37;
  for (const auto& [format, n, k] :
       {Weights{RUDA_Q4_1, 200, 768}, Weights{RUDA_Q4_1, 203, 576}, Weights{RUDA_Q4_1, 199, 672},
        Weights{RUDA_Q4_0, 201, 608}, Weights{RUDA_Q4_K, 200, 768}, Weights{RUDA_Q8_0, 203, 736}}) {
    OpRun op(env, "matmul_block");
    const auto x = op.random_input(X, RUDA_F32, {most, k});
    op.input_bytes(W, format, {n, k}, random_blocks(env, format, n, k));
    std::vector<float> whole;
    std::vector<float> few;
    for (int64_t m : {int64_t(4), int64_t(1), int64_t(3), most, int64_t(5), int64_t(16), int64_t(20)}) {
      const int64_t begin[] = {0, 0}, end[] = {m, k};
      ruda_tensor rows = nullptr, y = nullptr;
      MUST(ruda_tensor_slice(op.tensor(X), begin, end, nullptr, 2, &rows));
      MUST(ruda_matmul_block(env.stream, rows, op.tensor(W), nullptr, 0, &y));
      std::vector<float> got(size_t(m * n));
      MUST(ruda_tensor_read(env.stream, y, got.data(), got.size() * 4));
      std::vector<float>& first = m <= 4 ? few : whole;
      if (first.empty()) first = got;
      CHECK(std::memcmp(got.data(), first.data(), got.size() * 4) == 0, "%lld rows give other bits",
            static_cast<long long>(m));
      ruda_release(y);
      ruda_release(rows);
    }
    if (!cpu) continue;
    for (uint32_t threads : {1u, 2u, 3u, 7u}) {
      ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
      desc.backend = RUDA_BACKEND_CPU;
      desc.host_threads = threads;
      ruda_context context = nullptr;
      MUST(ruda_context_create(&desc, &context));
      ruda_stream stream = nullptr;
      MUST(ruda_stream_create(context, 0, &stream));
      for (int64_t m : {int64_t(4), most}) {
        const int64_t x_shape[] = {m, k}, w_shape[] = {n, k};
        ruda_tensor_desc xd = RUDA_TENSOR_DESC_INIT, wd = RUDA_TENSOR_DESC_INIT;
        xd.dtype = RUDA_F32, xd.rank = 2, xd.shape = x_shape;
        wd.dtype = format, wd.rank = 2, wd.shape = w_shape;
        std::vector<float> values;
        for (int64_t i = 0; i < m * k; ++i) values.push_back(float(x[size_t(i)]));
        auto bytes = op.read_bytes(W);
        ruda_tensor xt = nullptr, wt = nullptr, y = nullptr;
        MUST(ruda_tensor_wrap(context, &xd, values.data(), values.size() * 4, nullptr, nullptr, &xt));
        MUST(ruda_tensor_wrap(context, &wd, bytes.data(), bytes.size(), nullptr, nullptr, &wt));
        MUST(ruda_matmul_block(stream, xt, wt, nullptr, 0, &y));
        std::vector<float> got(size_t(m * n));
        MUST(ruda_tensor_read(stream, y, got.data(), got.size() * 4));
        CHECK(got == (m <= 4 ? few : whole), "%u threads give other bits", threads);
        ruda_release(y), ruda_release(xt), ruda_release(wt);
      }
      ruda_release(stream);
      ruda_release(context);
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
