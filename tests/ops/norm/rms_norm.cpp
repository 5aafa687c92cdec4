// tests/ops/norm/rms_norm.cpp - rms_norm against the formula in double.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_RMS_NORM_X, GAMMA = RUDA_RMS_NORM_GAMMA, Y = RUDA_RMS_NORM_Y;

std::vector<double> oracle(const std::vector<double>& x, const std::vector<double>& gamma, int64_t cols,
                           double eps) {
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += size_t(cols)) {
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum += x[row + size_t(c)] * x[row + size_t(c)];
    const double scale = 1 / std::sqrt(sum / double(cols) + eps);
    for (int64_t c = 0; c < cols; ++c) y[row + size_t(c)] = x[row + size_t(c)] * scale * gamma[size_t(c)];
  }
  return y;
}

OpRun::Create creator(Env& env, const OpRun& op, double eps) {
  return [&env, &op, eps](const ruda_plan_options* options, ruda_plan* out) {
    ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.gamma = op.desc(GAMMA);
    desc.y = op.desc(Y);
    desc.eps = eps;
    return ruda_rms_norm_plan_create(env.context, &desc, out);
  };
}

// The sum of n squares in F32 is off by at most n ulp relative, half of which reaches the root; the chain of
// square root, division and two products adds four roundings; then one rounding to the storage dtype.
double relative_bound(uint32_t dtype, int64_t cols) {
  return epsilon(RUDA_F32) * (double(cols) / 4 + 4) + epsilon(dtype) / 2 * 1.01;
}

void check_case(Env& env, uint32_t dtype, Shape shape, Shape x_strides = {}, Shape y_strides = {}) {
  const int64_t cols = shape.back();
  const double eps = 1e-5;
  OpRun op(env, "rms_norm");
  const auto x = op.random_input(X, dtype, shape, 2.0, std::move(x_strides));
  const auto gamma = op.random_input(GAMMA, RUDA_F32, {cols});
  op.output(Y, dtype, shape, std::move(y_strides));
  const auto expected = oracle(x, gamma, cols, eps);
  op.each_kernel(creator(env, op, eps), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), expected,
                [&](size_t i) { return std::fabs(expected[i]) * relative_bound(dtype, cols) + 1e-7; });
  });
}

}  // namespace

RUDA_TEST(rms_norm_shapes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (int64_t cols : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 127, 257, 576, 1536})
      for (int64_t rows : {0, 1, 5}) check_case(env, dtype, {rows, cols});
}

RUDA_TEST(rms_norm_many_rows) {
  check_case(env, RUDA_F32, {3, 7, 11, 129});
  check_case(env, RUDA_BF16, {1031, 64});
}

RUDA_TEST(rms_norm_strided) {
  check_case(env, RUDA_F32, {4, 33}, {40, 1}, {50, 1});
  check_case(env, RUDA_F16, {3, 5, 17}, {17, 60, 1}, {});  // outer axes swapped
  check_case(env, RUDA_BF16, {3, 5, 17}, {200, 20, 1}, {100, 17, 1});
}

RUDA_TEST(rms_norm_in_place) {
  OpRun op(env, "rms_norm");
  const auto values = env.normal(5 * 96);
  const auto x = op.inout(X, RUDA_F32, {5, 96}, values);
  const auto gamma = op.random_input(GAMMA, RUDA_F32, {96});
  op.bind_same(Y, X);
  const auto expected = oracle(x, gamma, 96, 1e-6);
  const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.gamma = op.desc(GAMMA);
    desc.y = op.desc(X);
    desc.eps = 1e-6;
    return ruda_rms_norm_plan_create(env.context, &desc, out);
  };
  op.each_kernel(create, [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(X), expected,
                [&](size_t i) { return std::fabs(expected[i]) * relative_bound(RUDA_F32, 96) + 1e-7; });
  });
}

// eps stands inside the root: [3, 4] gives 0.848528, 1.131371.
RUDA_TEST(rms_norm_published) {
  OpRun op(env, "rms_norm");
  op.input(X, RUDA_F32, {1, 2}, {3, 4});
  op.input(GAMMA, RUDA_F32, {2}, {1, 1});
  op.output(Y, RUDA_F32, {1, 2});
  op.each_kernel(creator(env, op, 1e-6), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), {0.848528, 1.131371}, [](size_t) { return 1e-6; });
  });
}

// 4096 x 8.0 in F16: squares would overflow an F16 sum.
RUDA_TEST(rms_norm_f16_sum) {
  OpRun op(env, "rms_norm");
  op.input(X, RUDA_F16, {1, 4096}, std::vector<double>(4096, 8.0));
  op.input(GAMMA, RUDA_F32, {4096}, std::vector<double>(4096, 1.0));
  op.output(Y, RUDA_F16, {1, 4096});
  op.each_kernel(creator(env, op, 1e-6), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), std::vector<double>(4096, 1.0), [](size_t) { return 0.0; });
  });
}

RUDA_TEST(rms_norm_non_finite_rows) {
  OpRun op(env, "rms_norm");
  std::vector<double> values(3 * 40, 1.0);
  values[7] = NAN;
  values[40 + 3] = INFINITY;
  op.input(X, RUDA_F32, {3, 40}, values);
  op.input(GAMMA, RUDA_F32, {40}, std::vector<double>(40, 2.0));
  op.output(Y, RUDA_F32, {3, 40});
  std::vector<double> expected(120, 2.0);
  std::fill_n(expected.begin(), 40, NAN);
  std::fill_n(expected.begin() + 40, 40, 0.0);
  expected[43] = NAN;  // inf * 0
  op.each_kernel(creator(env, op, 1e-12), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), expected, [](size_t) { return 1e-6; });
  });
}

RUDA_TEST(rms_norm_eager) {
  OpRun op(env, "rms_norm");
  const auto x = op.random_input(X, RUDA_F32, {3, 20});
  const auto gamma = op.random_input(GAMMA, RUDA_F32, {20});
  const auto expected = oracle(x, gamma, 20, 1e-5);
  for (int round = 0; round < 3; ++round) {
    ruda_tensor y = nullptr;
    MUST(ruda_rms_norm(env.stream, op.tensor(X), op.tensor(GAMMA), 1e-5, &y));
    float got[60];
    MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
    check_close("eager", {got, got + 60}, expected, [](size_t) { return 1e-5; });
    ruda_release(y);
  }
}

RUDA_TEST(rms_norm_errors) {
  OpRun op(env, "rms_norm");
  op.random_input(X, RUDA_F32, {2, 8});
  op.random_input(GAMMA, RUDA_F32, {8});
  op.output(Y, RUDA_F32, {2, 8});
  OpRun other(env, "rms_norm");
  other.random_input(X, RUDA_F32, {8, 2}, 1.0, {1, 8});
  other.random_input(GAMMA, RUDA_F32, {7});
  other.input(Y, RUDA_I32, {2, 8}, std::vector<double>(16, 0));
  const auto attempt = [&](auto change) {
    ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
    desc.x = op.desc(X);
    desc.gamma = op.desc(GAMMA);
    desc.eps = 1e-5;
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_rms_norm_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_rms_norm_desc;
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "rms_norm: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.gamma = other.desc(GAMMA); }), RUDA_E_SHAPE, 1,
              "gamma dim 0 is 7, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(Y); }), RUDA_E_DTYPE, 1,
              "x has dtype I32, expected one of F32");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_SHAPE, 1,
              "x has last stride 8, expected 1");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(GAMMA); }), RUDA_E_SHAPE, 1,
              "y has shape [7], expected [2, 8]");
  for (double eps : {0.0, -1.0, 1e-50, 1e39, double(INFINITY), double(NAN)})
    CHECK_FAILS(attempt([&](D& d) { d.eps = eps; }), RUDA_E_ARGUMENT, 1,
                "expected finite and above 0 as F32");
  CHECK_FAILS(attempt([&](D& d) { d.struct_size = 4; }), RUDA_E_ARGUMENT, 1, "desc.struct_size is 4");
  CHECK_FAILS(ruda_rms_norm_plan_create(env.context, nullptr, nullptr), RUDA_E_NULL, 2, "out is NULL");
}

RUDA_BENCH(rms_norm_bench) {
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (Shape shape : {Shape{1, 576}, Shape{512, 576}, Shape{2048, 4096}}) {
      OpRun op(env, "rms_norm");
      op.random_input(X, dtype, shape);
      op.random_input(GAMMA, RUDA_F32, {shape[1]});
      op.output(Y, dtype, shape);
      const std::string name = std::string("rms_norm ") + (dtype == RUDA_F32 ? "f32" : "bf16") + " [" +
                               std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]";
      op.bench(name, 2.0 * double(count_of(shape)) * size_of(dtype), 0, creator(env, op, 1e-5));
    }
}
