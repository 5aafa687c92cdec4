// tests/ops/elementwise/unary.cpp - every unary function against its formula in double or integers.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_UNARY_X, Y = RUDA_UNARY_Y;
constexpr uint32_t last_op = RUDA_UNARY_IS_FINITE;
using Values = std::vector<double>;

bool is_test(uint32_t op) { return op >= RUDA_UNARY_IS_NAN; }
bool takes_int(uint32_t op) { return op <= RUDA_UNARY_NOT; }

// The formula and the bound of the operator's page: ulp of F32 and an absolute floor.
struct Oracle {
  double value, ulp, floor = 0;
};

Oracle oracle(uint32_t op, double x) {
  constexpr double tiny = 1.5e-45;
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (op) {
    case RUDA_UNARY_NEG: return {-x, 0};
    case RUDA_UNARY_ABS: return {x < 0 ? -x : x, 0};
    case RUDA_UNARY_SIGN: return {std::isnan(x) ? x : double((x > 0) - (x < 0)), 0};
    case RUDA_UNARY_SQUARE: return {x * x, 0.5, tiny};
    case RUDA_UNARY_RELU: return {std::isnan(x) ? x : x > 0 ? x : 0.0, 0};
    case RUDA_UNARY_RECIPROCAL: return {1 / x, 0.5, tiny};
    case RUDA_UNARY_SQRT: return {std::sqrt(x), 0.5};
    case RUDA_UNARY_RSQRT: return {1 / std::sqrt(x), 1.5};
    case RUDA_UNARY_EXP: return {std::exp(x), 2, tiny};
    case RUDA_UNARY_EXP2: return {std::pow(2.0, x), 2, tiny};
    case RUDA_UNARY_EXPM1: return {std::expm1(x), 2, tiny};
    case RUDA_UNARY_LOG: return {std::log(x), 2};
    case RUDA_UNARY_LOG2: return {std::log2(x), 2};
    case RUDA_UNARY_LOG10: return {std::log10(x), 2.5};
    case RUDA_UNARY_LOG1P: return {std::log1p(x), 2, tiny};
    case RUDA_UNARY_SIN: return {std::sin(x), 2};
    case RUDA_UNARY_COS: return {std::cos(x), 2};
    case RUDA_UNARY_TAN: return {std::tan(x), 4};
    case RUDA_UNARY_ASIN: return {std::asin(x), 4, tiny};
    case RUDA_UNARY_ACOS: return {std::acos(x), 3};
    case RUDA_UNARY_ATAN: return {std::atan(x), 3, tiny};
    case RUDA_UNARY_SINH: return {std::sinh(x), 4, tiny};
    case RUDA_UNARY_COSH: return {std::cosh(x), 3};
    case RUDA_UNARY_TANH: return {std::tanh(x), 3, tiny};
    case RUDA_UNARY_ASINH: return {std::asinh(x), 4, tiny};
    case RUDA_UNARY_ACOSH: return {std::acosh(x), 4};
    case RUDA_UNARY_ATANH: return {std::atanh(x), 4, tiny};
    case RUDA_UNARY_SIGMOID: return {sigmoid, 4, tiny};
    case RUDA_UNARY_SILU: return {std::isinf(x) && x < 0 ? NAN : x / (1 + std::exp(-x)), 5, 2e-43};
    case RUDA_UNARY_GELU:
      return {std::isinf(x) && x < 0 ? NAN : x / 2 * std::erfc(-x / std::sqrt(2.0)), 10, 2e-42};
    case RUDA_UNARY_GELU_TANH: {
      // 1 + tanh(u) = 2 / (1 + e^(-2u)), which does not cancel
      const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return {std::isinf(x) && x < 0 ? NAN : x / (1 + std::exp(-2 * u)), 240, 2e-42};
    }
    case RUDA_UNARY_SOFTPLUS: return {x > 40 ? x : std::log1p(std::exp(x)), 4, tiny};
    case RUDA_UNARY_ERF: return {std::erf(x), 3, tiny};
    case RUDA_UNARY_FLOOR: return {std::floor(x), 0};
    case RUDA_UNARY_CEIL: return {std::ceil(x), 0};
    case RUDA_UNARY_ROUND: return {std::isinf(x) ? x : x - std::remainder(x, 1.0), 0};
    case RUDA_UNARY_TRUNC: return {x < 0 ? std::ceil(x) : std::floor(x), 0};
    case RUDA_UNARY_IS_NAN: return {double(std::isnan(x)), 0};
    case RUDA_UNARY_IS_INF: return {double(std::isinf(x)), 0};
    case RUDA_UNARY_IS_FINITE: return {double(std::isfinite(x)), 0};
  }
  throw Fatal("no float form");
}

double stored(uint32_t dtype, double value) {
  uint8_t bytes[8];
  encode(dtype, value, bytes);
  return decode(dtype, bytes);
}

OpRun::Create creator(Env& env, const OpRun& op, uint32_t code, uint32_t y_slot = Y) {
  return [&env, &op, code, y_slot](const ruda_plan_options* options, ruda_plan* out) {
    ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
    desc.op = code;
    desc.options = options;
    desc.x = op.desc(X);
    desc.y = op.desc(y_slot);
    return ruda_unary_plan_create(env.context, &desc, out);
  };
}

void verify(const std::string& kernel, uint32_t op, uint32_t dtype, const Values& got, const Values& x) {
  Values expected(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[i] = is_test(op) ? oracle(op, x[i]).value : stored(dtype, oracle(op, x[i]).value);
  check_close(kernel.c_str(), got, expected, [&](size_t i) {
    const Oracle o = oracle(op, x[i]);
    // In F64 the argument of GELU's erfc is rounded, which counts x^2 times.
    if (dtype == RUDA_F64)
      return std::fabs(expected[i]) * epsilon(RUDA_F64) * (300 + 4 * x[i] * x[i]) + 1e-305;
    if (dtype == RUDA_F32) {
      const double ulp = epsilon(RUDA_F32) * std::fmax(std::fabs(expected[i]), o.floor > 0 ? 1.2e-38 : 0);
      return (o.ulp > 0.5 ? o.ulp + 0.5 : o.ulp) * ulp + o.floor;
    }
    // The error in F32 can cross a tie of the rounding to 16 bits, one step at the most.
    const double step = dtype == RUDA_F16 ? 6.0e-8 : 1e-40;
    return o.ulp ? std::fabs(expected[i]) * epsilon(dtype) * 1.01 + step : 0.0;
  });
}

// Values where the function is interesting: near 0, moderate, and far out.
Values inputs(Env& env, uint32_t op, int64_t count) {
  Values v = env.normal(count, 3.0);
  for (double& x : v) {
    switch (env.integer(0, 7)) {
      case 0: x *= 1e-3; break;
      case 1: x *= 10; break;
      case 2: x *= 1e-20; break;
      case 3: x = std::round(x * 2) / 2; break;
      default: break;
    }
    if (op == RUDA_UNARY_SQRT || op == RUDA_UNARY_RSQRT || (op >= RUDA_UNARY_LOG && op <= RUDA_UNARY_LOG10))
      x = std::fabs(x);
    if (op == RUDA_UNARY_ACOSH) x = 1 + std::fabs(x);
    if (op == RUDA_UNARY_ASIN || op == RUDA_UNARY_ACOS || op == RUDA_UNARY_ATANH) x = std::fmod(x, 1.0);
  }
  return v;
}

void check_case(Env& env, uint32_t op, uint32_t dtype, Shape shape, Shape x_strides = {},
                Shape y_strides = {}) {
  set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
  OpRun run(env, "unary");
  const auto x = run.input(X, dtype, shape, inputs(env, op, count_of(shape)), std::move(x_strides));
  run.output(Y, is_test(op) ? uint32_t(RUDA_BOOL) : dtype, shape, std::move(y_strides));
  run.each_kernel(creator(env, run, op),
                  [&](const std::string& kernel) { verify(kernel, op, dtype, run.read(Y), x); });
}

}  // namespace

RUDA_TEST(unary_real) {
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (op == RUDA_UNARY_NOT) continue;
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
      for (int64_t n : {0, 1, 5, 16, 17, 33, 3001}) check_case(env, op, dtype, {n});
  }
}

// Several blocks of a GPU, whole pieces and not.
RUDA_TEST(unary_dense) {
  for (uint32_t op :
       {RUDA_UNARY_NEG, RUDA_UNARY_RELU, RUDA_UNARY_RSQRT, RUDA_UNARY_EXP, RUDA_UNARY_SIN, RUDA_UNARY_SIGMOID,
        RUDA_UNARY_SILU, RUDA_UNARY_GELU, RUDA_UNARY_ROUND, RUDA_UNARY_IS_FINITE})
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
      for (int64_t n : {4096, 8191, 20481}) check_case(env, op, dtype, {n});
}

RUDA_TEST(unary_strided) {
  for (uint32_t op : {RUDA_UNARY_EXP, RUDA_UNARY_FLOOR, RUDA_UNARY_IS_NAN})
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64}) {
      check_case(env, op, dtype, {5, 33}, {66, 2}, {40, 1});
      check_case(env, op, dtype, {5, 33}, {1, 5}, {});
      check_case(env, op, dtype, {3, 4, 1100}, {1, 3, 12}, {9000, 2200, 2});
      check_case(env, op, dtype, {4, 9}, {0, 1}, {});
      check_case(env, op, dtype, {}, {}, {});
      check_case(env, op, dtype, {70001});
    }
}

RUDA_TEST(unary_extremes) {
  Values ends = {NAN,     INFINITY, -INFINITY, 0.0,        -0.0,      1,         -1,    0.5,
                 -0.5,    1.5,      2.5,       -2.5,       3e38,      -3e38,     1e-40, -1e-40,
                 1.2e-38, 88.7,     88.8,      -87.5,      -103.9,    -104.5,    1e4,   -1e4,
                 8191.99, 8192.5,   1e10,      16777216.0, 8388609.0, 0.99999994};
  for (double n : {1, 2, 11, 355, 710, 5000})
    ends.push_back(n * M_PI / 2);  // where sine or cosine nearly vanish
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (op == RUDA_UNARY_NOT) continue;
    set_case("op " + std::to_string(op));
    OpRun run(env, "unary");
    const auto x = run.input(X, RUDA_F32, {int64_t(ends.size())}, ends);
    run.output(Y, is_test(op) ? uint32_t(RUDA_BOOL) : uint32_t(RUDA_F32), {int64_t(ends.size())});
    run.each_kernel(creator(env, run, op),
                    [&](const std::string& kernel) { verify(kernel, op, RUDA_F32, run.read(Y), x); });
  }
}

// Bit patterns of F32 at even distances: every exponent, both signs, subnormals, NaN and infinities.
RUDA_TEST(unary_all_exponents) {
  constexpr uint32_t step = 0x1p32 / 40000;
  std::vector<float> patterns;
  for (uint64_t at = 0; at < uint64_t(1) << 32; at += step) {
    const uint32_t bits = uint32_t(at);
    float value;
    std::memcpy(&value, &bits, 4);
    patterns.push_back(value);
  }
  const int64_t count = int64_t(patterns.size());
  std::vector<uint8_t> bytes(4 * patterns.size());
  std::memcpy(bytes.data(), patterns.data(), bytes.size());
  const Values x(patterns.begin(), patterns.end());
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (op == RUDA_UNARY_NOT) continue;
    set_case("op " + std::to_string(op));
    OpRun run(env, "unary");
    run.input_bytes(X, RUDA_F32, {count}, bytes);
    run.output(Y, is_test(op) ? uint32_t(RUDA_BOOL) : uint32_t(RUDA_F32), {count});
    run.each_kernel(creator(env, run, op),
                    [&](const std::string& kernel) { verify(kernel, op, RUDA_F32, run.read(Y), x); });
  }
}

// Every 16-bit pattern once.
RUDA_TEST(unary_all_halves) {
  std::vector<uint8_t> bytes(2 * 65536);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i / 2 >> (i % 2 * 8));
  for (uint32_t dtype : {RUDA_F16, RUDA_BF16})
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (op == RUDA_UNARY_NOT) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      OpRun run(env, "unary");
      run.input_bytes(X, dtype, {65536}, bytes);
      Values x(65536);
      for (size_t i = 0; i < x.size(); ++i) x[i] = decode(dtype, &bytes[2 * i]);
      run.output(Y, is_test(op) ? uint32_t(RUDA_BOOL) : dtype, {65536});
      run.each_kernel(creator(env, run, op),
                      [&](const std::string& kernel) { verify(kernel, op, dtype, run.read(Y), x); });
    }
}

RUDA_TEST(unary_integers) {
  const struct {
    uint32_t dtype;
    double low, high;
  } types[] = {{RUDA_I8, -128, 127},
               {RUDA_U8, 0, 255},
               {RUDA_I16, -32768, 32767},
               {RUDA_U16, 0, 65535},
               {RUDA_I32, -2147483648.0, 2147483647.0},
               {RUDA_U32, 0, 4294967295.0}};
  for (const auto& t : types)
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (!takes_int(op)) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(t.dtype));
      Values x = {t.low, t.low + 1, t.high, t.high - 1, 0, 1, 2, 11};
      if (t.low < 0) x.push_back(-1), x.push_back(-11);
      for (int i = 0; i < 9001; ++i) x.push_back(double(env.integer(int64_t(t.low), int64_t(t.high))));
      const double range = t.high - t.low + 1;
      Values expected;
      for (double v : x) {
        __int128 wide = __int128(v);
        switch (op) {
          case RUDA_UNARY_NEG: wide = -wide; break;
          case RUDA_UNARY_ABS: wide = wide < 0 ? -wide : wide; break;
          case RUDA_UNARY_SIGN: wide = (wide > 0) - (wide < 0); break;
          case RUDA_UNARY_SQUARE: wide = wide * wide; break;
          case RUDA_UNARY_RELU: wide = wide > 0 ? wide : 0; break;
          default: wide = t.low < 0 ? -1 - wide : __int128(t.high) - wide; break;
        }
        const __int128 r = __int128(range);
        wide = (wide % r + r) % r;
        expected.push_back(double(wide > __int128(t.high) ? wide - r : wide));
      }
      OpRun run(env, "unary");
      run.input(X, t.dtype, {int64_t(x.size())}, x);
      run.output(Y, t.dtype, {int64_t(x.size())});
      run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
        check_close(kernel.c_str(), run.read(Y), expected, [](size_t) { return 0.0; });
      });
    }
  for (int64_t count : {5, 9001}) {
    Values x, expected;
    for (int64_t i = 0; i < count; ++i) {
      x.push_back(double(env.integer(0, 1)));
      expected.push_back(1 - x.back());
    }
    OpRun run(env, "unary");
    run.input(X, RUDA_BOOL, {count}, x);
    run.output(Y, RUDA_BOOL, {count});
    run.each_kernel(creator(env, run, RUDA_UNARY_NOT), [&](const std::string& kernel) {
      check_close(kernel.c_str(), run.read(Y), expected, [](size_t) { return 0.0; });
    });
  }
}

// As bits: no double holds them all.
RUDA_TEST(unary_integers_of_64_bits) {
  std::vector<uint64_t> x = {0, 1, ~0ull, 1ull << 63, (1ull << 63) - 1, 11};
  while (x.size() < 5003) x.push_back(env.random() * 0x9E3779B97F4A7C15ull + env.random());
  for (uint32_t dtype : {RUDA_I64, RUDA_U64})
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (!takes_int(op)) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      std::vector<uint8_t> given(x.size() * 8), want(x.size() * 8);
      for (size_t i = 0; i < x.size(); ++i) {
        const bool below = dtype == RUDA_I64 && x[i] >> 63;
        uint64_t y = 0;
        switch (op) {
          case RUDA_UNARY_NEG: y = 0 - x[i]; break;
          case RUDA_UNARY_ABS: y = below ? 0 - x[i] : x[i]; break;
          case RUDA_UNARY_SIGN: y = below ? ~0ull : x[i] != 0; break;
          case RUDA_UNARY_SQUARE: y = x[i] * x[i]; break;
          case RUDA_UNARY_RELU: y = below ? 0 : x[i]; break;
          default: y = ~x[i]; break;
        }
        std::memcpy(&given[8 * i], &x[i], 8);
        std::memcpy(&want[8 * i], &y, 8);
      }
      OpRun run(env, "unary");
      run.input_bytes(X, dtype, {int64_t(x.size())}, given);
      run.output(Y, dtype, {int64_t(x.size())});
      run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
        CHECK(run.read_bytes(Y) == want, "%s: other bits", kernel.c_str());
      });
    }
}

RUDA_TEST(unary_in_place) {
  for (uint32_t dtype : {RUDA_BF16, RUDA_F32, RUDA_F64}) {
    OpRun run(env, "unary");
    const auto x = run.inout(X, dtype, {3, 6701}, env.normal(3 * 6701));
    run.bind_same(Y, X);
    run.each_kernel(creator(env, run, RUDA_UNARY_TANH, X), [&](const std::string& kernel) {
      verify(kernel, RUDA_UNARY_TANH, dtype, run.read(X), x);
    });
  }
}

// A view that begins between two multiples of 16 bytes has the bits of the same numbers side by side.
RUDA_TEST(unary_of_unaligned_views) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t op : {RUDA_UNARY_SILU, RUDA_UNARY_RSQRT, RUDA_UNARY_EXP, RUDA_UNARY_IS_NAN}) {
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      constexpr int64_t count = 5003;
      OpRun run(env, "unary");
      run.input(X, dtype, {count}, inputs(env, op, count));
      const int64_t begin = 1, end = count;
      ruda_tensor view = nullptr, whole = nullptr, part = nullptr;
      MUST(ruda_tensor_slice(run.tensor(X), &begin, &end, nullptr, 1, &view));
      MUST(ruda_unary(env.stream, run.tensor(X), op, &whole));
      MUST(ruda_unary(env.stream, view, op, &part));
      const size_t size = is_test(op) ? 1 : size_of(dtype);
      std::vector<uint8_t> all(count * size), rest((count - 1) * size);
      MUST(ruda_tensor_read(env.stream, whole, all.data(), all.size()));
      MUST(ruda_tensor_read(env.stream, part, rest.data(), rest.size()));
      CHECK(std::equal(rest.begin(), rest.end(), all.begin() + int64_t(size)), "other bits from a view");
      for (ruda_tensor t : {view, whole, part}) ruda_release(t);
    }
}

RUDA_TEST(unary_eager) {
  OpRun run(env, "unary");
  const auto x = run.random_input(X, RUDA_F32, {4, 25});
  for (int round = 0; round < 2; ++round) {
    ruda_tensor y = nullptr;
    MUST(ruda_unary(env.stream, run.tensor(X), RUDA_UNARY_EXP, &y));
    float got[100];
    MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
    verify("eager", RUDA_UNARY_EXP, RUDA_F32, {got, got + 100}, x);
    ruda_release(y);
  }
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_unary(env.stream, nullptr, 1, &y), RUDA_E_NULL, 1, "x: handle is NULL");
  CHECK_FAILS(ruda_unary(env.stream, run.tensor(X), 1, nullptr), RUDA_E_NULL, 3, "out is NULL");
}

RUDA_TEST(unary_errors) {
  OpRun run(env, "unary"), other(env, "unary");
  run.random_input(X, RUDA_F32, {2, 8});
  run.output(Y, RUDA_F32, {2, 8});
  other.input(X, RUDA_I32, {2, 8}, Values(16, 0));
  other.output(Y, RUDA_F32, {7});
  const auto attempt = [&](auto change) {
    ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
    desc.op = RUDA_UNARY_EXP;
    desc.x = run.desc(X);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_unary_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_unary_desc;
  CHECK_FAILS(attempt([&](D& d) { d.op = 0; }), RUDA_E_ARGUMENT, 1, "op is 0, expected 1..41");
  CHECK_FAILS(attempt([&](D& d) { d.op = 42; }), RUDA_E_ARGUMENT, 1, "op is 42, expected 1..41");
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "unary: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.x = other.desc(X); }), RUDA_E_DTYPE, 1,
              "x has dtype I32, exp takes F64, F32, F16 or BF16");
  CHECK_FAILS(attempt([&](D& d) { d.op = RUDA_UNARY_NOT; }), RUDA_E_DTYPE, 1,
              "x has dtype F32, not takes an integer");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(Y); }), RUDA_E_SHAPE, 1,
              "y has shape [7], expected [2, 8]");
  CHECK_FAILS(attempt([&](D& d) {
                d.op = RUDA_UNARY_IS_INF;
                d.y = run.desc(Y);
              }),
              RUDA_E_DTYPE, 1, "y has dtype F32, expected BOOL");
}

RUDA_BENCH(unary_bench) {
  const struct {
    const char* name;
    uint32_t op, dtype;
  } cases[] = {{"neg f32", RUDA_UNARY_NEG, RUDA_F32},
               {"exp f32", RUDA_UNARY_EXP, RUDA_F32},
               {"log f32", RUDA_UNARY_LOG, RUDA_F32},
               {"gelu f32", RUDA_UNARY_GELU, RUDA_F32},
               {"gelu_tanh f32", RUDA_UNARY_GELU_TANH, RUDA_F32},
               {"silu bf16", RUDA_UNARY_SILU, RUDA_BF16},
               {"tanh f32", RUDA_UNARY_TANH, RUDA_F32},
               {"sin f32", RUDA_UNARY_SIN, RUDA_F32},
               {"rsqrt f32", RUDA_UNARY_RSQRT, RUDA_F32},
               {"exp bf16", RUDA_UNARY_EXP, RUDA_BF16}};
  for (const auto& c : cases) {
    OpRun run(env, "unary");
    const Shape shape{2097152};
    run.random_input(X, c.dtype, shape);
    run.output(Y, c.dtype, shape);
    run.bench(std::string("unary ") + c.name + " 2 Mi", 2.0 * double(shape[0]) * size_of(c.dtype), 0,
              creator(env, run, c.op));
  }
}
