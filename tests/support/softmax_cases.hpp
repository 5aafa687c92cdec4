// tests/support/softmax_cases.hpp - cases of softmax and log_softmax, which differ in formula and bound only.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/op_run.hpp"
#include "support/picks.hpp"

#include <algorithm>
#include <cmath>

// Form has: name, Desc, empty(), create(context, desc, plan), eager(stream, x, out), beside_zero, and
// element(difference to the row's maximum, sum of the row, columns) -> {value, error bound in F32}.
namespace ruda::test {

constexpr uint32_t X = 0, Y = 1;
using Values = std::vector<double>;

struct Expected {
  Values y, bound;
};

// The sum of n positive terms, in at least 16 running sums, is off by (n / 16 + 6) half ulp relative; each
// exponential by 1.1 ulp and by the rounding of x - max, which counts |x - max| times.
inline double sum_bound(double spread, int64_t cols) {
  return epsilon(RUDA_F32) * (double(cols) / 32 + 3 + 1.1 + spread / 2);
}

// How far a result near `y` may be: `error` before the rounding to the dtype, in whose neighbourhood ties can
// flip.
inline double stored_bound(uint32_t dtype, double y, double error) {
  const double smallest = dtype == RUDA_F16 ? 6e-8 : 1e-40;
  return error + std::fabs(y) * epsilon(dtype) / 2 * 1.01 + smallest;
}

struct Element {
  double y, error;
};

template <class Form>
struct SoftmaxCases {
  using Desc = typename Form::Desc;

  static Expected oracle(const Values& x, int64_t cols, uint32_t dtype) {
    Expected e;
    for (size_t row = 0; row + 1 <= x.size(); row += size_t(cols)) {
      double top = -INFINITY, sum = 0;
      for (int64_t c = 0; c < cols; ++c) top = std::max(top, x[row + size_t(c)]);
      for (int64_t c = 0; c < cols; ++c) sum += std::exp(x[row + size_t(c)] - top);
      for (int64_t c = 0; c < cols; ++c) {
        const Element element = Form::element(x[row + size_t(c)] - top, sum, cols);
        e.y.push_back(element.y);
        e.bound.push_back(stored_bound(dtype, element.y, element.error));
      }
    }
    return e;
  }

  static OpRun::Create creator(Env& env, const OpRun& op, uint32_t y_slot = Y) {
    return [&env, &op, y_slot](const ruda_plan_options* options, ruda_plan* out) {
      Desc desc = Form::empty();
      desc.options = options;
      desc.x = op.desc(X);
      desc.y = op.desc(y_slot);
      return Form::create(env.context, &desc, out);
    };
  }

  static void verify(const std::string& kernel, const Values& got, const Expected& expected) {
    check_close(kernel.c_str(), got, expected.y, [&](size_t i) { return expected.bound[i]; });
  }

  static void check_case(Env& env, uint32_t dtype, Shape shape, double scale, Shape x_strides = {},
                         Shape y_strides = {}) {
    OpRun op(env, Form::name);
    const auto x = op.random_input(X, dtype, shape, scale, std::move(x_strides));
    op.output(Y, dtype, shape, std::move(y_strides));
    const auto expected = oracle(x, shape.back(), dtype);
    op.each_kernel(creator(env, op),
                   [&](const std::string& kernel) { verify(kernel, op.read(Y), expected); });
  }

  static void shapes(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (int64_t cols : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 257, 1009})
        for (int64_t rows : {0, 1, 5}) check_case(env, dtype, {rows, cols}, 3);
  }

  static void large(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
      check_case(env, dtype, {3, 7, 5, 129}, 10);
      check_case(env, dtype, {2, 8192}, 4);
      check_case(env, dtype, {2, 8193}, 4);  // 16-bit rows this long are computed twice
      check_case(env, dtype, {3, 49152}, 4);
      check_case(env, dtype, {700, 33}, 100);
      check_case(env, dtype, {50}, 1);
    }
    check_case(env, RUDA_F32, {2, 151936}, 4);  // more pieces a thread on a GPU
    check_case(env, RUDA_F32, {4, 0}, 1);
  }

  static void strided(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_F16}) {
      check_case(env, dtype, {4, 33}, 2, {40, 1}, {50, 1});
      check_case(env, dtype, {3, 5, 17}, 2, {17, 60, 1}, {});  // outer axes swapped
      check_case(env, dtype, {3, 5, 17}, 2, {200, 20, 1}, {100, 17, 1});
      check_case(env, dtype, {3, 17}, 2, {0, 1}, {});
    }
  }

  static void in_place(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
      OpRun op(env, Form::name);
      const auto x = op.inout(X, dtype, {5, 96}, env.normal(5 * 96, 3));
      op.bind_same(Y, X);
      const auto expected = oracle(x, 96, dtype);
      op.each_kernel(creator(env, op, X),
                     [&](const std::string& kernel) { verify(kernel, op.read(X), expected); });
    }
  }

  // Rows with infinities and NaN disturb only themselves.
  static void special_rows(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
      for (int64_t cols : {5, 1024}) {
        const size_t n = size_t(cols);
        Values x(8 * n, 1.0);
        std::fill_n(x.begin(), n, -INFINITY);            // only -inf
        std::fill_n(x.begin() + long(n), n, -INFINITY);  // -inf and one 0
        x[2 * n - 1] = 0;
        x[2 * n + 3] = INFINITY;                                             // one +inf
        x[3 * n + 1] = NAN;                                                  // one NaN
        for (size_t i = 0; i < n; ++i) x[4 * n + i] = i % 2 ? 1e38 : -1e38;  // nearly the ends of the range
        for (size_t i = 0; i < n; ++i) x[5 * n + i] = -1e30;                 // far below 0, all alike
        for (size_t i = 0; i < n; ++i) x[6 * n + i] = double(i % 7) * 60;    // exponentials that overflow
        OpRun op(env, Form::name);
        x = op.input(X, dtype, {8, cols}, x);
        op.output(Y, dtype, {8, cols});
        const auto expected = oracle(x, cols, dtype);
        for (size_t i = 0; i < n; ++i) {
          CHECK(std::isnan(expected.y[i]) && std::isnan(expected.y[2 * n + i]) &&
                    std::isnan(expected.y[3 * n + i]),
                "the oracle of a special row");
          CHECK(expected.y[n + i] == (i + 1 == n ? Form::at_zero : Form::beside_zero),
                "the oracle of -inf beside 0");
        }
        op.each_kernel(creator(env, op),
                       [&](const std::string& kernel) { verify(kernel, op.read(Y), expected); });
      }
  }

  static void row_alone(Env& env) {
    // A row's bits do not depend on its neighbours.
    const auto values = env.normal(64 * 333, 3);
    OpRun many(env, Form::name), one(env, Form::name);
    many.input(X, RUDA_F32, {64, 333}, values);
    many.output(Y, RUDA_F32, {64, 333});
    one.input(X, RUDA_F32, {1, 333}, {values.begin() + 17 * 333, values.begin() + 18 * 333});
    one.output(Y, RUDA_F32, {1, 333});
    std::map<std::string, Values> rows;
    many.each_kernel(creator(env, many), [&](const std::string& kernel) {
      const auto y = many.read(Y);
      rows[kernel] = {y.begin() + 17 * 333, y.begin() + 18 * 333};
    });
    one.each_kernel(creator(env, one), [&](const std::string& kernel) {
      if (picks::picking() && !rows.count(kernel)) return;  // the other case was not picked
      CHECK(one.read(Y) == rows[kernel], "%s: a row alone has other bits", kernel.c_str());
    });
  }

  static void eager(Env& env) {
    OpRun op(env, Form::name);
    const auto x = op.random_input(X, RUDA_F32, {3, 20});
    const auto expected = oracle(x, 20, RUDA_F32);
    for (int round = 0; round < 2; ++round) {
      ruda_tensor y = nullptr;
      MUST(Form::eager(env.stream, op.tensor(X), &y));
      float got[60];
      MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
      verify("eager", {got, got + 60}, expected);
      ruda_release(y);
    }
  }

  static void errors(Env& env) {
    OpRun op(env, Form::name), other(env, Form::name), scalar(env, Form::name);
    op.random_input(X, RUDA_F32, {2, 8});
    other.random_input(X, RUDA_F32, {8, 2}, 1.0, {1, 8});
    other.input(Y, RUDA_I32, {2, 8}, Values(16, 0));
    scalar.random_input(X, RUDA_F32, {});
    const auto attempt = [&](auto change) {
      Desc desc = Form::empty();
      desc.x = op.desc(X);
      change(desc);
      ruda_plan plan = nullptr;
      const ruda_status status = Form::create(env.context, &desc, &plan);
      CHECK(!plan, "a failed call gave a plan");
      return status;
    };
    using D = Desc;
    CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "softmax: x is NULL");
    CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(Y); }), RUDA_E_DTYPE, 1,
                "x has dtype I32, expected one of F32");
    CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_SHAPE, 1,
                "x has last stride 8, expected 1");
    CHECK_FAILS(attempt([&](D& d) { d.x = scalar.desc(X); }), RUDA_E_SHAPE, 1,
                "x has rank 0, expected 1..16");
    CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(Y); }), RUDA_E_DTYPE, 1,
                "y has dtype I32, expected F32");
    CHECK_FAILS(Form::create(env.context, nullptr, nullptr), RUDA_E_NULL, 2, "out is NULL");
  }

  static void bench(Env& env) {
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
      for (Shape shape : {Shape{1, 49152}, Shape{512, 512}, Shape{2048, 4096}}) {
        OpRun op(env, Form::name);
        op.random_input(X, dtype, shape);
        op.output(Y, dtype, shape);
        const std::string name = Form::name + std::string(" ") + (dtype == RUDA_F32 ? "f32" : "bf16") + " [" +
                                 std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]";
        op.bench(name, 2.0 * double(count_of(shape)) * size_of(dtype), 0, creator(env, op));
      }
  }
};

}  // namespace ruda::test

#define RUDA_SOFTMAX_TESTS(op, Form)                                      \
  RUDA_TEST(op##_shapes) { SoftmaxCases<Form>::shapes(env); }             \
  RUDA_TEST(op##_large) { SoftmaxCases<Form>::large(env); }               \
  RUDA_TEST(op##_strided) { SoftmaxCases<Form>::strided(env); }           \
  RUDA_TEST(op##_in_place) { SoftmaxCases<Form>::in_place(env); }         \
  RUDA_TEST(op##_special_rows) { SoftmaxCases<Form>::special_rows(env); } \
  RUDA_TEST(op##_row_alone) { SoftmaxCases<Form>::row_alone(env); }       \
  RUDA_TEST(op##_eager) { SoftmaxCases<Form>::eager(env); }               \
  RUDA_TEST(op##_errors) { SoftmaxCases<Form>::errors(env); }             \
  RUDA_BENCH(op##_bench) { SoftmaxCases<Form>::bench(env); }
