// tests/ops/matmul/block_cases.hpp - matmul_block against a double loop over the format tables: cases, oracle
// and bounds.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/blocks.hpp"
#include "support/objects.hpp"

#include <algorithm>
#include <cmath>

namespace ruda::test {

inline constexpr uint32_t X = RUDA_MATMUL_BLOCK_X, W = RUDA_MATMUL_BLOCK_WEIGHTS,
                          BIAS = RUDA_MATMUL_BLOCK_BIAS, Y = RUDA_MATMUL_BLOCK_Y,
                          GAMMA = RUDA_MATMUL_BLOCK_GAMMA;

inline OpRun::Create creator(Env& env, const OpRun& op, bool bias, uint32_t math = RUDA_MATH_DEFAULT) {
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

inline Reference reference(uint32_t format, const std::vector<double>& x, const uint8_t* weights,
                           const double* bias, int64_t m, int64_t n, int64_t k) {
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
inline double bound(const std::string& kernel, const Element& e, int64_t k, bool x_bf16, uint32_t y_dtype) {
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

inline void check_case(Env& env, const Case& c) {
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

inline void check_around(Env& env, const Around& c) {
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

}  // namespace ruda::test
