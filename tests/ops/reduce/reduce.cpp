// tests/ops/reduce/reduce.cpp - every reduction against loops in double or in 128-bit integers.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_REDUCE_X, Y = RUDA_REDUCE_Y;
constexpr uint32_t last_op = RUDA_REDUCE_ALL;
using Values = std::vector<double>;

bool is_index(uint32_t op) { return op == RUDA_REDUCE_ARGMAX || op == RUDA_REDUCE_ARGMIN; }
bool is_bool(uint32_t op) { return op == RUDA_REDUCE_ANY || op == RUDA_REDUCE_ALL; }

struct Expected {
  Values y, magnitude;  // of sums: of the absolute values
  int64_t count = 1;
  Shape shape;
};

double reduce_list(uint32_t op, const Values& v, double& magnitude) {
  const auto nan = std::find_if(v.begin(), v.end(), [](double x) { return std::isnan(x); });
  long double sum = 0, product = 1;
  magnitude = 0;
  for (double x : v) {
    sum += x;
    product *= x;
    magnitude += std::fabs(x);
  }
  const auto less_abs = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
  switch (op) {
    case RUDA_REDUCE_SUM: return double(sum);
    case RUDA_REDUCE_MEAN: magnitude /= double(v.size()); return double(sum / (long double)(v.size()));
    case RUDA_REDUCE_PROD: magnitude = std::fabs(double(product)); return double(product);
    case RUDA_REDUCE_MAX: return nan != v.end() ? NAN : *std::max_element(v.begin(), v.end());
    case RUDA_REDUCE_MIN: return nan != v.end() ? NAN : *std::min_element(v.begin(), v.end());
    case RUDA_REDUCE_MAX_ABS:
      return nan != v.end() ? NAN : std::fabs(*std::max_element(v.begin(), v.end(), less_abs));
    case RUDA_REDUCE_ARGMAX:
      return double((nan != v.end() ? nan : std::max_element(v.begin(), v.end())) - v.begin());
    case RUDA_REDUCE_ARGMIN:
      return double((nan != v.end() ? nan : std::min_element(v.begin(), v.end())) - v.begin());
    case RUDA_REDUCE_ANY: return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; });
    default: return std::all_of(v.begin(), v.end(), [](double x) { return x != 0; });
  }
}

Expected oracle(uint32_t op, const Values& x, const Shape& shape, uint32_t axes, bool keepdims) {
  Expected e;
  std::vector<int64_t> kept_shape;
  for (size_t a = 0; a < shape.size(); ++a) {
    const bool reduced = !axes || (axes >> a & 1);
    if (reduced) e.count *= shape[a];
    if (!reduced) kept_shape.push_back(shape[a]);
    if (!reduced || keepdims) e.shape.push_back(reduced ? 1 : shape[a]);
  }
  std::vector<Values> lists(size_t(count_of(kept_shape)));
  std::vector<int64_t> index(shape.size(), 0);
  for (double value : x) {
    int64_t at = 0;
    for (size_t a = 0; a < shape.size(); ++a)
      if (axes && !(axes >> a & 1)) at = at * shape[a] + index[a];
    lists[size_t(at)].push_back(value);
    for (size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  for (const Values& list : lists) {
    double magnitude = 0;
    e.y.push_back(reduce_list(op, list, magnitude));
    e.magnitude.push_back(magnitude);
  }
  return e;
}

OpRun::Create creator(Env& env, const OpRun& op, uint32_t code, uint32_t axes, bool keepdims) {
  return [&env, &op, code, axes, keepdims](const ruda_plan_options* options, ruda_plan* out) {
    ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
    desc.op = code;
    desc.options = options;
    desc.x = op.desc(X);
    desc.y = op.desc(Y);
    desc.axes = axes;
    desc.keepdims = keepdims;
    return ruda_reduce_plan_create(env.context, &desc, out);
  };
}

void verify(const std::string& kernel, uint32_t op, uint32_t dtype, const Values& got, const Expected& e) {
  const bool inexact = op <= RUDA_REDUCE_PROD;
  check_close(kernel.c_str(), got, e.y, [&](size_t i) {
    if (!inexact) return 0.0;
    if (dtype == RUDA_F64) return e.magnitude[i] * double(e.count) * epsilon(RUDA_F64);
    // F32 adds at most 128 terms in a row before the sum goes to double; products round at every step.
    const double steps = op == RUDA_REDUCE_PROD ? double(e.count) : 132;
    return e.magnitude[i] * std::min(steps, double(e.count) + 8) * epsilon(RUDA_F32) / 2 +
           std::fabs(e.y[i]) * epsilon(dtype) / 2 * 1.01 + (dtype == RUDA_F16 ? 6e-8 : 1e-40);
  });
}

uint32_t y_dtype(uint32_t op, uint32_t dtype) {
  return is_index(op) ? uint32_t(RUDA_I64) : is_bool(op) ? uint32_t(RUDA_BOOL) : dtype;
}

void check_case(Env& env, uint32_t op, uint32_t dtype, Shape shape, uint32_t axes, bool keepdims = false,
                Shape strides = {}, uint32_t index_dtype = 0) {
  std::string text =
      "op " + std::to_string(op) + " dtype " + std::to_string(dtype) + " axes " + std::to_string(axes) + " [";
  for (int64_t extent : shape) text += std::to_string(extent) + " ";
  set_case(text + "]");
  OpRun run(env, "reduce");
  Values values = env.normal(count_of(shape));
  for (double& v : values) {
    if (op == RUDA_REDUCE_PROD) v = 1 + v / 20;
    if (is_index(op) || is_bool(op)) v = double(env.integer(-40, 40));  // ties
    if (op == RUDA_REDUCE_ANY && env.integer(0, 20)) v = 0;
    if (op == RUDA_REDUCE_ALL && v == 0 && env.integer(0, 20)) v = 1;
  }
  const auto x = run.input(X, dtype, shape, values, std::move(strides));
  const auto expected = oracle(op, x, shape, axes, keepdims);
  run.output(Y, index_dtype ? index_dtype : y_dtype(op, dtype), expected.shape);
  run.each_kernel(creator(env, run, op, axes, keepdims),
                  [&](const std::string& kernel) { verify(kernel, op, dtype, run.read(Y), expected); });
}

}  // namespace

RUDA_TEST(reduce_last_axis) {
  for (uint32_t op = 1; op <= last_op; ++op)
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
      for (int64_t cols : {1, 2, 4, 5, 15, 16, 17, 33, 128, 129, 300})
        check_case(env, op, dtype, {3, cols}, 2);
}

RUDA_TEST(reduce_first_axis) {
  for (uint32_t op = 1; op <= last_op; ++op)
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
      for (int64_t cols : {1, 3, 4, 15, 17, 64, 130}) {
        check_case(env, op, dtype, {1, cols}, 1);
        check_case(env, op, dtype, {7, cols}, 1);
        check_case(env, op, dtype, {67, cols}, 1, true);
      }
}

RUDA_TEST(reduce_axes) {
  for (uint32_t op = 1; op <= last_op; ++op)
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64}) {
      for (uint32_t axes = 0; axes < 16; ++axes)
        check_case(env, op, dtype, {3, 5, 4, 9}, axes, axes % 3 == 0);
      check_case(env, op, dtype, {}, 0);
      check_case(env, op, dtype, {3, 5, 17}, 2, false, {17, 60, 1});
      check_case(env, op, dtype, {5, 33}, 2, false, {1, 5});
      check_case(env, op, dtype, {5, 33}, 1, true, {1, 5});
      check_case(env, op, dtype, {4, 5, 33}, 0, false,
                 {1, 4, 20});  // indices count in row-major order all the same
      check_case(env, op, dtype, {5, 33}, 2, false, {0, 1});
      check_case(env, op, dtype, {5, 33}, 2, false, {1, 0});
    }
}

RUDA_TEST(reduce_long) {
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (op == RUDA_REDUCE_PROD) continue;
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64}) {
      check_case(env, op, dtype, {200003}, 0);
      check_case(env, op, dtype, {3, 70001}, 2);
      check_case(env, op, dtype, {1000, 37}, 1);
      check_case(env, op, dtype, {300, 1030}, 1);
      check_case(env, op, dtype, {2, 513, 33}, 2);
      check_case(env, op, dtype, {20, 7, 40}, 5);
      check_case(env, op, dtype, {20, 300, 40}, 3);
      check_case(env, op, dtype, {5, 9001}, 2, false, {18002, 2});
    }
  }
}

// Results of several blocks joined: parts of rows, parts of columns, many rows.
RUDA_TEST(reduce_parts) {
  for (uint32_t op : {RUDA_REDUCE_SUM, RUDA_REDUCE_MEAN, RUDA_REDUCE_MAX, RUDA_REDUCE_ARGMIN})
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
      check_case(env, op, dtype, {600011}, 0);
      check_case(env, op, dtype, {1100, 128}, 2);
      check_case(env, op, dtype, {515, 24}, 2);
      check_case(env, op, dtype, {2, 300008}, 2, false, {300016, 1});
      check_case(env, op, dtype, {300, 1023}, 2);
      check_case(env, op, dtype, {200, 2056}, 2);
      check_case(env, op, dtype, {9001, 40}, 1);
      check_case(env, op, dtype, {2, 3000, 72}, 2, true);
    }
}

RUDA_TEST(reduce_integers) {
  for (uint32_t dtype : {RUDA_I8, RUDA_U8, RUDA_I16, RUDA_U16, RUDA_I32, RUDA_U32, RUDA_I64, RUDA_U64})
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (op == RUDA_REDUCE_MEAN) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      const bool is_signed = dtype % 2 == 0;
      Values values;
      for (int i = 0; i < 6 * 40; ++i)
        values.push_back(double(env.integer(is_signed && op != RUDA_REDUCE_PROD ? -9 : 1, 9)));
      if (is_bool(op)) values[30] = 0;
      if (op == RUDA_REDUCE_PROD)
        for (size_t i = 0; i < values.size(); ++i) values[i] = i % 20 ? 1 : 2;
      OpRun run(env, "reduce");
      const auto x = run.input(X, dtype, {6, 40}, values);
      const auto expected = oracle(op, x, {6, 40}, 2, false);
      const bool overflows = op == RUDA_REDUCE_SUM && (dtype == RUDA_I8 || dtype == RUDA_U8);
      run.output(Y, overflows ? uint32_t(RUDA_I64) : y_dtype(op, dtype), {6});
      run.each_kernel(creator(env, run, op, 2, false), [&](const std::string& kernel) {
        check_close(kernel.c_str(), run.read(Y), expected.y, [](size_t) { return 0.0; });
      });
    }
  // A sum in the operand's dtype wraps.
  OpRun run(env, "reduce");
  run.input(X, RUDA_U8, {3}, {200, 100, 7});
  run.output(Y, RUDA_U8, {});
  run.each_kernel(creator(env, run, RUDA_REDUCE_SUM, 0, false), [&](const std::string& kernel) {
    check_close(kernel.c_str(), run.read(Y), {51}, [](size_t) { return 0.0; });
  });
  for (uint32_t op : {RUDA_REDUCE_ANY, RUDA_REDUCE_ALL}) {
    OpRun both(env, "reduce");
    both.input(X, RUDA_BOOL, {4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
    both.output(Y, RUDA_BOOL, {4});
    both.each_kernel(creator(env, both, op, 2, false), [&](const std::string& kernel) {
      const Values want = op == RUDA_REDUCE_ANY ? Values{0, 1, 1, 1} : Values{0, 0, 0, 1};
      check_close(kernel.c_str(), both.read(Y), want, [](size_t) { return 0.0; });
    });
  }
}

// [outer, rows, cols] over the rows, integers of the whole range in 128 bits: sums, products and magnitudes
// of the lowest number wrap into y.
void check_integer_columns(Env& env, uint32_t op, uint32_t dtype, Shape shape, bool wide = false) {
  using Wide = __int128;
  set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype) + " rows " +
           std::to_string(shape[1]) + " columns " + std::to_string(shape[2]));
  const uint32_t bytes = size_of(dtype), to = wide ? uint32_t(RUDA_I64) : y_dtype(op, dtype);
  const bool is_signed = dtype % 2 == 0 && dtype != RUDA_BOOL;
  const int shift = 128 - int(8 * bytes);
  const uint64_t lowest = uint64_t(1) << (8 * bytes - 1);
  std::vector<uint8_t> data(size_t(count_of(shape)) * bytes);
  std::vector<Wide> x;
  for (size_t i = 0; i < data.size() / bytes; ++i) {
    const uint64_t ends[] = {lowest, lowest - 1, ~uint64_t(0), uint64_t(env.integer(0, 3)), env.random()};
    uint64_t bits = ends[env.integer(0, 4)];
    if (op == RUDA_REDUCE_PROD) bits = env.integer(0, 20) ? 1 : bits | 1;
    if (is_bool(op) && env.integer(0, 500)) bits = op == RUDA_REDUCE_ALL;
    if (dtype == RUDA_BOOL) bits = bits != 0;
    std::memcpy(&data[i * bytes], &bits, bytes);
    const auto raw = static_cast<unsigned __int128>(bits) << shift;
    x.push_back(is_signed ? static_cast<Wide>(raw) >> shift : static_cast<Wide>(raw >> shift));
  }
  const auto size = [&](Wide v) { return v < 0 && !(bytes == 8 && v == -(Wide(1) << 63)) ? -v : v; };
  const size_t y_bytes = size_of(to);
  std::vector<uint8_t> want;
  for (int64_t o = 0; o < shape[0]; ++o)
    for (int64_t c = 0; c < shape[2]; ++c) {
      const auto at = [&](int64_t r) { return x[size_t((o * shape[1] + r) * shape[2] + c)]; };
      unsigned __int128 sum = 0, product = 1;
      int64_t high = 0, low = 0;
      Wide largest = size(at(0));
      bool some = false, every = true;
      for (int64_t r = 0; r < shape[1]; ++r) {
        sum += static_cast<unsigned __int128>(at(r));
        product *= static_cast<unsigned __int128>(at(r));
        if (at(r) > at(high)) high = r;
        if (at(r) < at(low)) low = r;
        largest = std::max(largest, size(at(r)));
        some |= at(r) != 0;
        every &= at(r) != 0;
      }
      const uint64_t results[] = {uint64_t(sum),
                                  0,
                                  uint64_t(product),
                                  uint64_t(at(high)),
                                  uint64_t(at(low)),
                                  uint64_t(largest),
                                  uint64_t(high),
                                  uint64_t(low),
                                  some,
                                  every};
      const auto* from = reinterpret_cast<const uint8_t*>(&results[op - 1]);
      want.insert(want.end(), from, from + y_bytes);
    }
  OpRun run(env, "reduce");
  run.input_bytes(X, dtype, shape, data);
  run.output(Y, to, {shape[0], shape[2]});
  run.each_kernel(creator(env, run, op, 2, false), [&](const std::string& kernel) {
    const auto got = run.read_bytes(Y);
    const auto differs = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
    CHECK(got == want, "%s: output %zu is wrong", kernel.c_str(), size_t(differs) / y_bytes);
  });
}

RUDA_TEST(reduce_integer_columns) {
  for (uint32_t dtype :
       {RUDA_I8, RUDA_U8, RUDA_I16, RUDA_U16, RUDA_I32, RUDA_U32, RUDA_I64, RUDA_U64, RUDA_BOOL})
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (op == RUDA_REDUCE_MEAN || (dtype == RUDA_BOOL && !is_bool(op))) continue;
      for (Shape shape : {Shape{1, 1, 4}, {1, 7, 37}, {3, 66, 5}, {1, 300, 70}, {2, 256, 16}, {1, 513, 1030}})
        check_integer_columns(env, op, dtype, shape);
      if (op == RUDA_REDUCE_SUM || op == RUDA_REDUCE_PROD)
        check_integer_columns(env, op, dtype, {2, 300, 40}, true);
    }
}

RUDA_TEST(reduce_special_values) {
  for (int64_t cols : {5, 40, 300})
    for (uint32_t variant = 0; variant < 4; ++variant)
      for (uint32_t op = 1; op <= last_op; ++op) {
        const uint32_t axes = 1 + variant % 2, dtype = variant < 2 ? RUDA_F32 : RUDA_F64;
        set_case("op " + std::to_string(op) + " axes " + std::to_string(axes) + " dtype " +
                 std::to_string(dtype));
        const size_t n = size_t(cols);
        Values rows(6 * n, -2.0);
        rows[3] = NAN, rows[n - 1] = NAN;                       // two NaN
        rows[n + 2] = INFINITY;                                 // one infinity
        std::fill_n(rows.begin() + long(2 * n), n, -INFINITY);  // only -inf
        for (size_t i = 0; i < n; ++i) rows[3 * n + i] = 1;     // all alike: the first counts
        rows[4 * n + 1] = NAN, rows[4 * n + 2] = INFINITY;      // NaN beats infinity
        for (size_t i = 0; i < n; ++i) rows[5 * n + i] = i % 2 ? -0.0 : 0.0;
        Values x = rows;
        Shape shape{6, cols};
        if (axes == 1) {
          shape = {cols, 6};
          for (size_t r = 0; r < 6; ++r)
            for (size_t c = 0; c < n; ++c) x[c * 6 + r] = rows[r * n + c];
        }
        OpRun run(env, "reduce");
        const auto seen = run.input(X, dtype, shape, x);
        auto expected = oracle(op, seen, shape, axes, false);
        run.output(Y, y_dtype(op, dtype), {6});
        run.each_kernel(creator(env, run, op, axes, false), [&](const std::string& kernel) {
          const auto got = run.read(Y);
          check_close(kernel.c_str(), got, expected.y, [&](size_t i) {
            return op <= RUDA_REDUCE_PROD ? std::fabs(expected.y[i]) * 1e-4 : 0.0;
          });
        });
      }
}

RUDA_TEST(reduce_of_nothing) {
  const Values want = {0, NAN, 1, 0, 0, 0, 0, 0, 0, 1};
  for (uint32_t op = 1; op <= last_op; ++op) {
    OpRun run(env, "reduce");
    run.input(X, RUDA_F32, {3, 0}, {});
    run.output(Y, y_dtype(op, RUDA_F32), {3});
    if (op <= RUDA_REDUCE_PROD || is_bool(op)) {
      run.each_kernel(creator(env, run, op, 2, false), [&](const std::string& kernel) {
        check_close(kernel.c_str(), run.read(Y), Values(3, want[op - 1]), [](size_t) { return 0.0; });
      });
    } else {
      ruda_plan plan = nullptr;
      CHECK_FAILS(creator(env, run, op, 2, false)(nullptr, &plan), RUDA_E_SHAPE, 1,
                  "of no elements is not defined");
    }
    OpRun none(env, "reduce");
    none.input(X, RUDA_F32, {0, 3}, {});
    none.output(Y, y_dtype(op, RUDA_F32), {0});
    none.each_kernel(creator(env, none, op, 2, false), [&](const std::string&) {});
  }
}

RUDA_TEST(reduce_index_dtypes) {
  check_case(env, RUDA_REDUCE_ARGMAX, RUDA_F32, {3, 500}, 2, false, {}, RUDA_I32);
  check_case(env, RUDA_REDUCE_ARGMIN, RUDA_BF16, {500, 30}, 1, true, {}, RUDA_I32);
}

RUDA_TEST(reduce_eager) {
  OpRun run(env, "reduce");
  const auto x = run.random_input(X, RUDA_F32, {4, 25});
  for (int round = 0; round < 2; ++round) {
    ruda_tensor sum = nullptr, place = nullptr;
    MUST(ruda_reduce(env.stream, run.tensor(X), RUDA_REDUCE_SUM, 1, 0, &sum));
    MUST(ruda_reduce(env.stream, run.tensor(X), RUDA_REDUCE_ARGMAX, 2, 1, &place));
    float got[25];
    int64_t index[4];
    MUST(ruda_tensor_read(env.stream, sum, got, sizeof got));
    MUST(ruda_tensor_read(env.stream, place, index, sizeof index));
    verify("eager", RUDA_REDUCE_SUM, RUDA_F32, {got, got + 25},
           oracle(RUDA_REDUCE_SUM, x, {4, 25}, 1, false));
    verify("eager", RUDA_REDUCE_ARGMAX, RUDA_F32, {index, index + 4},
           oracle(RUDA_REDUCE_ARGMAX, x, {4, 25}, 2, true));
    ruda_release(sum);
    ruda_release(place);
  }
}

RUDA_TEST(reduce_errors) {
  OpRun run(env, "reduce"), other(env, "reduce");
  run.random_input(X, RUDA_F32, {2, 8});
  run.output(Y, RUDA_F32, {2});
  other.input(X, RUDA_BOOL, {2, 8}, Values(16, 0));
  const auto attempt = [&](auto change) {
    ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
    desc.op = RUDA_REDUCE_SUM;
    desc.x = run.desc(X);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_reduce_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_reduce_desc;
  CHECK_FAILS(attempt([&](D& d) { d.op = 0; }), RUDA_E_ARGUMENT, 1, "op is 0, expected 1..10");
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "reduce: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_DTYPE, 1, "x has dtype BOOL, sum takes");
  CHECK_FAILS(attempt([&](D& d) { d.axes = 4; }), RUDA_E_ARGUMENT, 1, "axes is 0x4, x has rank 2");
  CHECK_FAILS(attempt([&](D& d) { d.keepdims = 2; }), RUDA_E_ARGUMENT, 1, "keepdims is 2, expected 0 or 1");
  CHECK_FAILS(attempt([&](D& d) { d.dtype = RUDA_F16; }), RUDA_E_DTYPE, 1, "dtype is F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) {
                d.op = RUDA_REDUCE_ARGMAX;
                d.dtype = RUDA_F32;
              }),
              RUDA_E_DTYPE, 1, "dtype is F32, expected I64 or I32");
  CHECK_FAILS(attempt([&](D& d) {
                d.y = run.desc(Y);
                d.axes = 1;
              }),
              RUDA_E_SHAPE, 1, "y has shape [2], expected [8]");
}

RUDA_BENCH(reduce_bench) {
  const struct {
    const char* name;
    uint32_t op, dtype;
    Shape shape;
    uint32_t axes;
  } cases[] = {{"sum f32 8 MiB all", RUDA_REDUCE_SUM, RUDA_F32, {2097152}, 0},
               {"sum f32 8 MiB dim0", RUDA_REDUCE_SUM, RUDA_F32, {2048, 1024}, 1},
               {"sum f32 8 MiB dim1", RUDA_REDUCE_SUM, RUDA_F32, {2048, 1024}, 2},
               {"sum bf16 8 MiB dim1", RUDA_REDUCE_SUM, RUDA_BF16, {4096, 1024}, 2},
               {"max f32 8 MiB dim1", RUDA_REDUCE_MAX, RUDA_F32, {2048, 1024}, 2},
               {"argmax f32 [64, 49152]", RUDA_REDUCE_ARGMAX, RUDA_F32, {64, 49152}, 2},
               {"argmax f32 [1, 49152]", RUDA_REDUCE_ARGMAX, RUDA_F32, {1, 49152}, 2},
               {"sum f32 256 MiB all", RUDA_REDUCE_SUM, RUDA_F32, {67108864}, 0},
               {"sum f32 256 MiB dim0", RUDA_REDUCE_SUM, RUDA_F32, {65536, 1024}, 1}};
  for (const auto& c : cases) {
    OpRun run(env, "reduce");
    Values values(size_t(count_of(c.shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((i * 2654435761u) % 1000003) / 1000003;
    run.input(X, c.dtype, c.shape, values);
    run.output(Y, y_dtype(c.op, c.dtype), c.axes == 0 ? Shape{} : Shape{c.shape[c.axes == 1]});
    run.bench(std::string("reduce ") + c.name, double(count_of(c.shape)) * size_of(c.dtype), 0,
              creator(env, run, c.op, c.axes, false));
  }
}
