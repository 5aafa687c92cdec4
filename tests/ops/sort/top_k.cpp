// tests/ops/sort/top_k.cpp - top_k against a stable sort.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_TOP_K_X, VALUES = RUDA_TOP_K_VALUES, INDICES = RUDA_TOP_K_INDICES;
using Values = std::vector<double>;

struct Expected {
  Values values, indices;
};

Expected oracle(const Values& x, int64_t cols, int64_t k, bool smallest) {
  Expected e;
  for (size_t row = 0; row + 1 <= x.size(); row += size_t(cols)) {
    std::vector<int64_t> order(static_cast<size_t>(cols));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      const double a = x[row + size_t(i)], b = x[row + size_t(j)];
      const bool nan_a = std::isnan(a), nan_b = std::isnan(b);
      if (nan_a || nan_b) return smallest ? nan_b && !nan_a : nan_a && !nan_b;
      return smallest ? a < b : a > b;
    });
    for (int64_t n = 0; n < k; ++n) {
      e.values.push_back(x[row + size_t(order[size_t(n)])]);
      e.indices.push_back(double(order[size_t(n)]));
    }
  }
  return e;
}

OpRun::Create creator(Env& env, const OpRun& op, int64_t k, bool smallest) {
  return [&env, &op, k, smallest](const ruda_plan_options* options, ruda_plan* out) {
    ruda_top_k_desc desc = RUDA_TOP_K_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.values = op.desc(VALUES);
    desc.indices = op.desc(INDICES);
    desc.k = k;
    desc.smallest = smallest;
    return ruda_top_k_plan_create(env.context, &desc, out);
  };
}

void check_values(Env& env, uint32_t dtype, Shape shape, const Values& given, int64_t k, bool smallest,
                  Shape strides = {}, uint32_t index_dtype = RUDA_I64, Shape out_strides = {}) {
  OpRun op(env, "top_k");
  const int64_t cols = shape.back();
  const auto x = op.input(X, dtype, shape, given, std::move(strides));
  const auto expected = oracle(x, cols, k, smallest);
  shape.back() = k;
  op.output(VALUES, dtype, shape, out_strides);
  op.output(INDICES, index_dtype, shape, out_strides);
  op.each_kernel(creator(env, op, k, smallest), [&](const std::string& kernel) {
    check_close((kernel + " values").c_str(), op.read(VALUES), expected.values, [](size_t) { return 0.0; });
    check_close((kernel + " indices").c_str(), op.read(INDICES), expected.indices,
                [](size_t) { return 0.0; });
  });
}

Values random_values(Env& env, uint32_t dtype, int64_t count) {
  Values v = env.normal(count, 100);
  if (dtype == RUDA_I32)
    for (double& x : v) x = std::round(x);
  return v;
}

}  // namespace

RUDA_TEST(top_k_shapes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_I32})
    for (int64_t cols : {1, 2, 5, 16, 17, 63, 64, 65, 300, 1009})
      for (int64_t k : {int64_t(1), int64_t(2), int64_t(10), cols}) {
        if (k > cols) continue;
        for (bool smallest : {false, true})
          check_values(env, dtype, {3, cols}, random_values(env, dtype, 3 * cols), k, smallest);
      }
}

RUDA_TEST(top_k_long_rows) {
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
    check_values(env, dtype, {2, 49152}, random_values(env, dtype, 2 * 49152), 50, false);
    check_values(env, dtype, {2, 20000}, random_values(env, dtype, 40000), 1, true);
    check_values(env, dtype, {2, 5000}, random_values(env, dtype, 10000), 3000, false);
  }
  Values rising(30000), falling(30000);
  std::iota(rising.begin(), rising.end(), -15000.0);
  for (size_t i = 0; i < falling.size(); ++i) falling[i] = rising[falling.size() - 1 - i];
  for (bool smallest : {false, true}) {
    check_values(env, RUDA_F32, {30000}, rising, 100, smallest);
    check_values(env, RUDA_F32, {30000}, falling, 100, smallest);
  }
}

RUDA_TEST(top_k_ties_and_special_values) {
  for (bool smallest : {false, true}) {
    check_values(env, RUDA_F32, {6}, {5, 5, 5, 5, 5, 5}, 3, smallest);
    check_values(env, RUDA_F32, {6}, {0.0, -0.0, 0.0, -0.0, -1, 1}, 6, smallest);
    check_values(env, RUDA_F32, {8}, {NAN, 1, -NAN, INFINITY, -INFINITY, NAN, 2, 1}, 8, smallest);
    check_values(env, RUDA_F16, {8}, {NAN, 1, NAN, INFINITY, -INFINITY, NAN, 2, 1}, 7, smallest);
    check_values(env, RUDA_BF16, {4}, {NAN, NAN, NAN, NAN}, 3, smallest);
    check_values(env, RUDA_F32, {5}, Values(5, -INFINITY), 4, smallest);
    check_values(env, RUDA_I32, {6}, {2147483647.0, -2147483648.0, 0, -2147483648.0, 2147483647.0, -1}, 6,
                 smallest);
    Values few(5000);
    for (double& v : few) v = double(env.integer(0, 6));
    check_values(env, RUDA_F32, {5000}, few, 700, smallest);
    for (double& v : few)
      if (env.integer(0, 3)) v = NAN;
    check_values(env, RUDA_F32, {5000}, few, 4000, smallest);
  }
}

RUDA_TEST(top_k_strided) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16}) {
    check_values(env, dtype, {4, 33}, random_values(env, dtype, 132), 5, false, {40, 1}, RUDA_I32, {9, 1});
    check_values(env, dtype, {4, 33}, random_values(env, dtype, 132), 5, true, {1, 4});
    check_values(env, dtype, {3, 5, 17}, random_values(env, dtype, 255), 3, false, {17, 60, 1});
    check_values(env, dtype, {0, 17}, {}, 3, false);
  }
}

RUDA_TEST(top_k_eager) {
  OpRun op(env, "top_k");
  const auto x = op.random_input(X, RUDA_F32, {4, 25});
  const auto expected = oracle(x, 25, 3, false);
  for (int round = 0; round < 2; ++round) {
    ruda_tensor values = nullptr, indices = nullptr;
    MUST(ruda_top_k(env.stream, op.tensor(X), 3, 0, &values, &indices));
    float got[12];
    int64_t place[12];
    MUST(ruda_tensor_read(env.stream, values, got, sizeof got));
    MUST(ruda_tensor_read(env.stream, indices, place, sizeof place));
    check_close("values", {got, got + 12}, expected.values, [](size_t) { return 0.0; });
    check_close("indices", {place, place + 12}, expected.indices, [](size_t) { return 0.0; });
    ruda_release(values);
    ruda_release(indices);
  }
  ruda_tensor values = nullptr;
  CHECK_FAILS(ruda_top_k(env.stream, op.tensor(X), 3, 0, &values, nullptr), RUDA_E_NULL, 5,
              "out_indices is NULL");
}

RUDA_TEST(top_k_errors) {
  OpRun op(env, "top_k"), other(env, "top_k"), scalar(env, "top_k");
  op.random_input(X, RUDA_F32, {2, 8});
  op.output(VALUES, RUDA_F32, {2, 3});
  op.output(INDICES, RUDA_I64, {2, 3});
  other.input(X, RUDA_I64, {2, 8}, Values(16, 0));
  other.output(VALUES, RUDA_F32, {3, 2});
  other.output(INDICES, RUDA_F32, {2, 3});
  scalar.random_input(X, RUDA_F32, {});
  const auto attempt = [&](auto change) {
    ruda_top_k_desc desc = RUDA_TOP_K_DESC_INIT;
    desc.x = op.desc(X);
    desc.k = 3;
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_top_k_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_top_k_desc;
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "top_k: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.k = 0; }), RUDA_E_ARGUMENT, 1, "k is 0, expected 1..8");
  CHECK_FAILS(attempt([&](D& d) { d.k = 9; }), RUDA_E_ARGUMENT, 1, "k is 9, expected 1..8");
  CHECK_FAILS(attempt([&](D& d) { d.smallest = 2; }), RUDA_E_ARGUMENT, 1, "smallest is 2, expected 0 or 1");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_DTYPE, 1,
              "x has dtype I64, expected one of F32");
  CHECK_FAILS(attempt([&](D& d) { d.x = scalar.desc(X); }), RUDA_E_SHAPE, 1, "x has rank 0, expected 1..16");
  CHECK_FAILS(attempt([&](D& d) { d.values = other.desc(VALUES); }), RUDA_E_SHAPE, 1,
              "values has shape [3, 2], expected [2, 3]");
  CHECK_FAILS(attempt([&](D& d) { d.indices = other.desc(INDICES); }), RUDA_E_DTYPE, 1,
              "indices have dtype F32, expected I64 or I32");
}

RUDA_BENCH(top_k_bench) {
  for (Shape shape : {Shape{64, 49152}, Shape{1, 49152}})
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
      OpRun op(env, "top_k");
      op.random_input(X, dtype, shape);
      op.output(VALUES, dtype, {shape[0], 50});
      op.output(INDICES, RUDA_I64, {shape[0], 50});
      const std::string name = std::string("top_k ") + (dtype == RUDA_F32 ? "f32" : "bf16") + " [" +
                               std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "] k 50";
      op.bench(name, double(count_of(shape)) * size_of(dtype), 0, creator(env, op, 50, false));
    }
}
