// tests/ops/elementwise/binary.cpp - every binary function in double or in 128-bit integers.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t A = RUDA_BINARY_A, B = RUDA_BINARY_B, Y = RUDA_BINARY_Y, SCALAR = RUDA_BINARY_SCALAR;
constexpr uint32_t last_op = RUDA_BINARY_SHIFT_RIGHT;
using Values = std::vector<double>;

bool is_compare(uint32_t op) { return op >= RUDA_BINARY_EQUAL && op <= RUDA_BINARY_GREATER_EQUAL; }
bool takes_real(uint32_t op) { return op < RUDA_BINARY_AND; }
bool takes_int(uint32_t op) {
  return op != RUDA_BINARY_DIV && op != RUDA_BINARY_POW && op != RUDA_BINARY_ATAN2;
}
bool takes_bool(uint32_t op) {
  return op == RUDA_BINARY_MINIMUM || op == RUDA_BINARY_MAXIMUM || is_compare(op) ||
         (op >= RUDA_BINARY_AND && op <= RUDA_BINARY_XOR);
}

double real_oracle(uint32_t op, double a, double b) {
  switch (op) {
    case RUDA_BINARY_ADD: return a + b;
    case RUDA_BINARY_SUB: return a - b;
    case RUDA_BINARY_MUL: return a * b;
    case RUDA_BINARY_DIV: return a / b;
    case RUDA_BINARY_MINIMUM: return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
    case RUDA_BINARY_MAXIMUM: return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
    case RUDA_BINARY_POW: return std::pow(a, b);
    case RUDA_BINARY_REMAINDER: {
      const double r = std::fmod(a, b);
      return r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
    }
    case RUDA_BINARY_FMOD: return std::fmod(a, b);
    case RUDA_BINARY_FLOOR_DIV: return std::floor(a / b);
    case RUDA_BINARY_ATAN2: return std::atan2(a, b);
    case RUDA_BINARY_EQUAL: return a == b;
    case RUDA_BINARY_NOT_EQUAL: return a != b;
    case RUDA_BINARY_LESS: return a < b;
    case RUDA_BINARY_LESS_EQUAL: return a <= b;
    case RUDA_BINARY_GREATER: return a > b;
    case RUDA_BINARY_GREATER_EQUAL: return a >= b;
  }
  throw Fatal("no float form");
}

// In units of the last place of F32, from the operator's page; F64 is plain C library.
double ulp_bound(uint32_t op) {
  switch (op) {
    case RUDA_BINARY_POW: return 4;
    case RUDA_BINARY_ATAN2: return 3;
    default: return 0.5;
  }
}

using Wide = __int128;

struct IntType {
  uint32_t dtype;
  int bits;
  bool is_signed;
};
constexpr IntType int_types[] = {{RUDA_I8, 8, true},    {RUDA_U8, 8, false},  {RUDA_I16, 16, true},
                                 {RUDA_U16, 16, false}, {RUDA_I32, 32, true}, {RUDA_U32, 32, false},
                                 {RUDA_I64, 64, true},  {RUDA_U64, 64, false}};

Wide wrap(const IntType& t, Wide v) {
  const Wide range = Wide(1) << t.bits;
  v = ((v % range) + range) % range;
  return t.is_signed && v >= range / 2 ? v - range : v;
}

Wide floor_quotient(Wide a, Wide b) {
  const Wide q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

Wide int_oracle(uint32_t op, const IntType& t, Wide a, Wide b) {
  const bool wide_shift = b < 0 || b >= t.bits;
  switch (op) {
    case RUDA_BINARY_ADD: return wrap(t, a + b);
    case RUDA_BINARY_SUB: return wrap(t, a - b);
    case RUDA_BINARY_MUL: return wrap(t, wrap(t, a) * wrap(t, b));
    case RUDA_BINARY_MINIMUM: return std::min(a, b);
    case RUDA_BINARY_MAXIMUM: return std::max(a, b);
    case RUDA_BINARY_REMAINDER: return b == 0 ? 0 : a - floor_quotient(a, b) * b;
    case RUDA_BINARY_FMOD: return b == 0 ? 0 : a - a / b * b;
    case RUDA_BINARY_FLOOR_DIV: return b == 0 ? 0 : wrap(t, floor_quotient(a, b));
    case RUDA_BINARY_EQUAL: return a == b;
    case RUDA_BINARY_NOT_EQUAL: return a != b;
    case RUDA_BINARY_LESS: return a < b;
    case RUDA_BINARY_LESS_EQUAL: return a <= b;
    case RUDA_BINARY_GREATER: return a > b;
    case RUDA_BINARY_GREATER_EQUAL: return a >= b;
    case RUDA_BINARY_AND: return a & b;
    case RUDA_BINARY_OR: return a | b;
    case RUDA_BINARY_XOR: return a ^ b;
    case RUDA_BINARY_SHIFT_LEFT: return wide_shift ? 0 : wrap(t, a * (Wide(1) << int(b)));
    case RUDA_BINARY_SHIFT_RIGHT: return wide_shift ? (a < 0 ? -1 : 0) : floor_quotient(a, Wide(1) << int(b));
  }
  throw Fatal("no integer form");
}

OpRun::Create creator(Env& env, const OpRun& op, uint32_t code, bool with_b = true, uint32_t y_slot = Y) {
  return [&env, &op, code, with_b, y_slot](const ruda_plan_options* options, ruda_plan* out) {
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.op = code;
    desc.options = options;
    desc.a = op.desc(A);
    desc.b = with_b ? op.desc(B) : nullptr;
    desc.y = op.desc(y_slot);
    return ruda_binary_plan_create(env.context, &desc, out);
  };
}

double stored(uint32_t dtype, double value) {
  uint8_t bytes[8];
  encode(dtype, value, bytes);
  return decode(dtype, bytes);
}

// Values of a broadcast operand in the order of y.
Values spread(const Values& values, const Shape& shape, const Shape& y_shape) {
  Values out;
  std::vector<int64_t> index(y_shape.size(), 0);
  const size_t added = y_shape.size() - shape.size();
  for (int64_t n = count_of(y_shape); n > 0; --n) {
    int64_t at = 0;
    for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + (shape[i] == 1 ? 0 : index[added + i]);
    out.push_back(values[size_t(at)]);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < y_shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

Values expected_real(uint32_t op, uint32_t dtype, const Values& a, const Values& b) {
  Values y(a.size());
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = real_oracle(op, a[i], b[i]);
    if (!is_compare(op)) y[i] = stored(dtype, y[i]);
  }
  return y;
}

void verify_real(const std::string& kernel, uint32_t op, uint32_t dtype, const Values& got,
                 const Values& expected) {
  if (is_compare(op) || op == RUDA_BINARY_MINIMUM || op == RUDA_BINARY_MAXIMUM) {
    check_close(kernel.c_str(), got, expected, [](size_t) { return 0.0; });
    return;
  }
  // A function's error in F32 can cross a tie of the rounding to 16 bits, one step at the most.
  const double relative = dtype == RUDA_F64   ? epsilon(RUDA_F64) * 2
                          : dtype == RUDA_F32 ? epsilon(RUDA_F32) * (ulp_bound(op) + 0.5)
                                              : epsilon(dtype) * 1.01;
  const double tiny = dtype == RUDA_F16 ? 6e-8 : dtype == RUDA_F64 ? 0 : 1e-40;
  check_close(kernel.c_str(), got, expected,
              [&](size_t i) { return std::fabs(expected[i]) * relative + tiny; });
}

Values operands_of(Env& env, uint32_t op, int64_t count, bool second) {
  Values v = env.normal(count, 2.0);
  for (double& x : v) {
    if (op == RUDA_BINARY_POW && !second && env.integer(0, 1)) x = std::fabs(x);
    if (op == RUDA_BINARY_POW && second && env.integer(0, 1)) x = std::nearbyint(x);
    if ((op == RUDA_BINARY_FLOOR_DIV || is_compare(op)) && env.integer(0, 3)) x = double(env.integer(-4, 4));
    if (op == RUDA_BINARY_FLOOR_DIV && second && x == 0) x = 1;
  }
  return v;
}

void check_real(Env& env, uint32_t op, uint32_t dtype, Shape a_shape, Shape b_shape, Shape y_shape,
                Shape a_strides = {}, Shape b_strides = {}, Shape y_strides = {}) {
  set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
  OpRun run(env, "binary");
  const auto a =
      run.input(A, dtype, a_shape, operands_of(env, op, count_of(a_shape), false), std::move(a_strides));
  const auto b =
      run.input(B, dtype, b_shape, operands_of(env, op, count_of(b_shape), true), std::move(b_strides));
  run.output(Y, is_compare(op) ? uint32_t(RUDA_BOOL) : dtype, y_shape, std::move(y_strides));
  // floor_div of nearly whole quotients is a matter of one rounding: only far ones are compared.
  auto spread_a = spread(a, a_shape, y_shape), spread_b = spread(b, b_shape, y_shape);
  const auto expected = expected_real(op, dtype, spread_a, spread_b);
  run.each_kernel(creator(env, run, op),
                  [&](const std::string& kernel) { verify_real(kernel, op, dtype, run.read(Y), expected); });
}

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<Wide>& values, size_t) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T v = T(values[i]);
    std::copy_n(reinterpret_cast<const uint8_t*>(&v), sizeof v, &bytes[i * sizeof v]);
  }
  return bytes;
}
std::vector<uint8_t> pack(const IntType& t, const std::vector<Wide>& values) {
  switch (t.bits) {
    case 8: return bytes_of<uint8_t>(values, 0);
    case 16: return bytes_of<uint16_t>(values, 0);
    case 32: return bytes_of<uint32_t>(values, 0);
    default: return bytes_of<uint64_t>(values, 0);
  }
}

}  // namespace

RUDA_TEST(binary_real) {
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (!takes_real(op)) continue;
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
      for (int64_t n : {0, 1, 5, 8, 15, 16, 17, 33, 64, 130, 8191}) check_real(env, op, dtype, {n}, {n}, {n});
  }
}

RUDA_TEST(binary_long_rows) {
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
    check_real(env, RUDA_BINARY_ADD, dtype, {70001}, {70001}, {70001});
    check_real(env, RUDA_BINARY_LESS, dtype, {257, 301}, {257, 301}, {257, 301});
  }
}

RUDA_TEST(binary_broadcast) {
  for (uint32_t op : {RUDA_BINARY_SUB, RUDA_BINARY_DIV, RUDA_BINARY_LESS, RUDA_BINARY_ATAN2})
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64}) {
      check_real(env, op, dtype, {7, 33}, {33}, {7, 33});
      check_real(env, op, dtype, {33}, {7, 33}, {7, 33});
      check_real(env, op, dtype, {7, 33}, {7, 1}, {7, 33});
      check_real(env, op, dtype, {7, 1}, {1, 600}, {7, 600});
      check_real(env, op, dtype, {7, 33}, {}, {7, 33});
      check_real(env, op, dtype, {7, 64}, {64}, {7, 64});
      check_real(env, op, dtype, {}, {}, {});
      check_real(env, op, dtype, {2, 1, 5, 1}, {3, 1, 65}, {2, 3, 5, 65});
      check_real(env, op, dtype, {1}, {0, 4}, {0, 4});
    }
}

RUDA_TEST(binary_strided) {
  for (uint32_t op : {RUDA_BINARY_SUB, RUDA_BINARY_GREATER, RUDA_BINARY_POW})
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_F64}) {
      check_real(env, op, dtype, {5, 33}, {5, 33}, {5, 33}, {66, 2}, {1, 5}, {40, 1});
      check_real(env, op, dtype, {5, 33}, {5, 33}, {5, 33}, {1, 5}, {1, 5}, {1, 5});
      check_real(env, op, dtype, {3, 4, 1100}, {3, 4, 1100}, {3, 4, 1100}, {1, 3, 12}, {}, {9000, 2200, 2});
      check_real(env, op, dtype, {4, 9}, {4, 9}, {4, 9}, {0, 1}, {1, 0}, {});
    }
}

RUDA_TEST(binary_integers) {
  for (const IntType& t : int_types)
    for (uint32_t op = 1; op <= last_op; ++op) {
      if (!takes_int(op)) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(t.dtype));
      const Wide low = t.is_signed ? -(Wide(1) << (t.bits - 1)) : 0, high = low + (Wide(1) << t.bits) - 1;
      std::vector<Wide> a, b, expected;
      std::vector<Wide> edges = {low,          Wide(low + 1),  Wide(-1), 0, 1, 2, 3, 7, 8, Wide(t.bits - 1),
                                 Wide(t.bits), Wide(high - 1), high};
      for (Wide x : edges)
        for (Wide z : edges)
          if (x >= low && z >= low) a.push_back(x), b.push_back(z);
      for (int i = 0; i < 5000; ++i) {
        a.push_back(wrap(t, Wide(env.random()) * 3));
        const bool small = i % 2;
        b.push_back(small ? Wide(env.integer(0, 9)) : wrap(t, Wide(env.random())));
      }
      for (size_t i = 0; i < a.size(); ++i) expected.push_back(int_oracle(op, t, a[i], b[i]));
      const int64_t n = int64_t(a.size());
      OpRun run(env, "binary");
      run.input_bytes(A, t.dtype, {n}, pack(t, a));
      run.input_bytes(B, t.dtype, {n}, pack(t, b));
      run.output(Y, is_compare(op) ? uint32_t(RUDA_BOOL) : t.dtype, {n});
      const auto want = is_compare(op) ? pack({RUDA_BOOL, 8, false}, expected) : pack(t, expected);
      run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
        const auto got = run.read_bytes(Y);
        const auto differs = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
        const size_t i = size_t(differs) / (got.size() / size_t(n));
        CHECK(got == want, "%s: element %zu of f(%lld, %lld) is wrong, expected %lld", kernel.c_str(), i,
              (long long)a[i % a.size()], (long long)b[i % b.size()], (long long)expected[i % a.size()]);
      });
    }
}

RUDA_TEST(binary_bool) {
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (!takes_bool(op)) continue;
    OpRun run(env, "binary");
    constexpr int64_t count = 5003;
    Values a, b, expected;
    const IntType t{RUDA_BOOL, 8, false};
    for (int i = 0; i < count; ++i) {
      a.push_back(i / 2 % 2), b.push_back(i % 2);
      expected.push_back(double(int_oracle(op, t, i / 2 % 2, i % 2)));
    }
    run.input(A, RUDA_BOOL, {count}, a);
    run.input(B, RUDA_BOOL, {count}, b);
    run.output(Y, RUDA_BOOL, {count});
    run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
      check_close(kernel.c_str(), run.read(Y), expected, [](size_t) { return 0.0; });
    });
  }
}

RUDA_TEST(binary_extremes) {
  const Values ends = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1, -1, 2.5, -7, 3e38};
  for (uint32_t op = 1; op <= last_op; ++op) {
    if (!takes_real(op)) continue;
    set_case("op " + std::to_string(op));
    Values a, b;
    for (double x : ends)
      for (double z : ends) a.push_back(x), b.push_back(z);
    OpRun run(env, "binary");
    a = run.input(A, RUDA_F32, {100}, a);
    b = run.input(B, RUDA_F32, {100}, b);
    run.output(Y, is_compare(op) ? uint32_t(RUDA_BOOL) : uint32_t(RUDA_F32), {100});
    auto expected = expected_real(op, RUDA_F32, a, b);
    for (size_t i = 0; i < 100; ++i)
      if (op == RUDA_BINARY_FLOOR_DIV) {  // as Python: from the remainder, which is NaN for an infinite a
        if (std::isinf(a[i]) && b[i] != 0) expected[i] = NAN;
        if (std::isinf(b[i]) && std::isfinite(a[i]))
          expected[i] = a[i] != 0 && std::signbit(a[i]) != std::signbit(b[i]) ? -1 : 0;
      }
    run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
      verify_real(kernel, op, RUDA_F32, run.read(Y), expected);
    });
  }
}

// Any two floats: a remainder is exact or rounded once, and the whole part of a quotient is that of the exact
// one, rounded once, also where the quotient is far beyond the integers of a float or next to a whole number.
RUDA_TEST(binary_quotients_of_any_floats) {
  constexpr int count = 6000;
  Values a, b;
  for (int i = 0; i < count; ++i) {
    const auto any = [&] {
      const uint32_t bits = uint32_t(env.integer(0, 0xFFFFFFFF));
      float value;
      std::memcpy(&value, &bits, 4);
      return std::isfinite(value) ? value : 1.5f;
    };
    const float divisor = i % 3 == 2 ? float(env.integer(1, 4000)) / 16 : any();
    float x = any();
    if (i % 3) x = divisor * float(env.integer(-(1 << 20), 1 << 20));  // rounded: next to a whole quotient
    if (i % 7 == 0) x = divisor * float(env.integer(1 << 22, 1 << 26)) * float(env.integer(1, 1 << 12));
    if (i % 9 == 4) x = std::nextafter(x, 0.0f);
    a.push_back(std::isfinite(x) ? x : 3);
    b.push_back(divisor);
  }
  for (uint32_t op : {RUDA_BINARY_FMOD, RUDA_BINARY_REMAINDER, RUDA_BINARY_FLOOR_DIV}) {
    set_case("op " + std::to_string(op));
    OpRun run(env, "binary");
    run.input(A, RUDA_F32, {count}, a);
    run.input(B, RUDA_F32, {count}, b);
    run.output(Y, RUDA_F32, {count});
    Values expected;
    for (int i = 0; i < count; ++i) {
      const double rest = std::fmod(a[size_t(i)], b[size_t(i)]), z = b[size_t(i)];
      const bool down = rest != 0 && (rest < 0) != (z < 0);
      // Quotients are exact below 2^53 in this form; above, the rest is beyond their last place.
      const double whole = std::nearbyint((a[size_t(i)] - rest) / z) - (down ? 1 : 0);
      const double up = std::copysign(down ? rest + z : rest, z);
      expected.push_back(op == RUDA_BINARY_FMOD ? rest
                         : op == RUDA_BINARY_REMAINDER
                             ? double(float(up))
                             : double(float(std::copysign(whole, a[size_t(i)] / z))));
    }
    run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
      const auto got = run.read(Y);
      for (size_t i = 0; i < count; ++i)
        CHECK(got[i] == expected[i] && std::signbit(got[i]) == std::signbit(expected[i]),
              "%s: %a and %a give %a, expected %a", kernel.c_str(), a[i], b[i], got[i], expected[i]);
    });
  }
}

RUDA_TEST(binary_signs_of_zeros) {
  const Values a = {0.0, 0.0, -0.0, -0.0, 6.0, 6.0, -6.0, -6.0, 1.0, -1.0, 0.0, -0.0};
  const Values b = {3.0, -3.0, 3.0, -3.0, 3.0, -3.0, 3.0, -3.0, INFINITY, -INFINITY, -INFINITY, INFINITY};
  const bool quotient[] = {false, true, true, false, false, true, true, false, false, false, true, true};
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64})
    for (uint32_t op : {RUDA_BINARY_FMOD, RUDA_BINARY_REMAINDER, RUDA_BINARY_FLOOR_DIV}) {
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      OpRun run(env, "binary");
      run.input(A, dtype, {12}, a);
      run.input(B, dtype, {12}, b);
      run.output(Y, dtype, {12});
      run.each_kernel(creator(env, run, op), [&](const std::string& kernel) {
        const auto got = run.read(Y);
        for (size_t i = 0; i < 12; ++i) {
          const bool sign = op == RUDA_BINARY_FMOD        ? std::signbit(a[i])
                            : op == RUDA_BINARY_REMAINDER ? std::signbit(b[i])
                                                          : quotient[i];
          const bool zero = op == RUDA_BINARY_FLOOR_DIV ? i < 4 || i > 7 : i < 8 || i > 9;
          CHECK((got[i] == 0) == zero && std::signbit(got[i]) == sign, "%s: %g and %g give %g",
                kernel.c_str(), a[i], b[i], got[i]);
        }
      });
    }
}

RUDA_TEST(binary_in_place) {
  for (uint32_t over : {A, B})
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64}) {
      OpRun run(env, "binary");
      const auto x = run.inout(over, dtype, {3, 6701}, env.normal(3 * 6701));
      const auto z = run.random_input(over == A ? B : A, dtype, {3, 6701});
      run.bind_same(Y, over);
      const auto expected = expected_real(RUDA_BINARY_SUB, dtype, over == A ? x : z, over == A ? z : x);
      run.each_kernel(creator(env, run, RUDA_BINARY_SUB, true, over), [&](const std::string& kernel) {
        verify_real(kernel, RUDA_BINARY_SUB, dtype, run.read(over), expected);
      });
    }
}

RUDA_TEST(binary_with_scalar) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_F64}) {
    OpRun run(env, "binary");
    const auto a = run.random_input(A, dtype, {5, 300}, 1.0, {600, 2});
    run.output(Y, dtype, {5, 300});
    run.bind_f64(SCALAR, 0.1);
    const auto expected = expected_real(RUDA_BINARY_MUL, dtype, a, Values(a.size(), stored(dtype, 0.1)));
    run.each_kernel(creator(env, run, RUDA_BINARY_MUL, false), [&](const std::string& kernel) {
      verify_real(kernel, RUDA_BINARY_MUL, dtype, run.read(Y), expected);
    });
  }
  for (uint32_t op = 1; op <= last_op; ++op)
    for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64}) {
      if (!takes_real(op)) continue;
      set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
      OpRun run(env, "binary");
      const auto a = run.input(A, dtype, {5003}, operands_of(env, op, 5003, false));
      run.output(Y, is_compare(op) ? uint32_t(RUDA_BOOL) : dtype, {5003});
      run.bind_f64(SCALAR, 2);
      const auto expected = expected_real(op, dtype, a, Values(a.size(), 2));
      run.each_kernel(creator(env, run, op, false), [&](const std::string& kernel) {
        verify_real(kernel, op, dtype, run.read(Y), expected);
      });
    }
  OpRun run(env, "binary");
  run.input(A, RUDA_U8, {3}, {1, 200, 255});
  run.output(Y, RUDA_U8, {3});
  run.bind_f64(SCALAR, 300);  // saturates to 255
  run.each_kernel(creator(env, run, RUDA_BINARY_MINIMUM, false), [&](const std::string& kernel) {
    check_close(kernel.c_str(), run.read(Y), {1, 200, 255}, [](size_t) { return 0.0; });
  });
}

RUDA_TEST(binary_scalar_is_rounded) {
  OpRun run(env, "binary");
  run.input(A, RUDA_I32, {3}, {1, -2, 7});
  run.output(Y, RUDA_I32, {3});
  run.bind_f64(SCALAR, 2.6);
  run.each_kernel(creator(env, run, RUDA_BINARY_ADD, false), [&](const std::string& kernel) {
    check_close(kernel.c_str(), run.read(Y), {4, 1, 10}, [](size_t) { return 0.0; });
  });
}

RUDA_TEST(binary_eager) {
  OpRun run(env, "binary");
  const auto a = run.random_input(A, RUDA_F32, {4, 25});
  const auto b = run.random_input(B, RUDA_F32, {25});
  for (int round = 0; round < 2; ++round) {
    ruda_tensor sum = nullptr, twice = nullptr, less = nullptr;
    MUST(ruda_binary(env.stream, run.tensor(A), run.tensor(B), RUDA_BINARY_ADD, &sum));
    MUST(ruda_binary_scalar(env.stream, sum, 2.0 + round, RUDA_BINARY_MUL, &twice));
    MUST(ruda_binary(env.stream, run.tensor(A), run.tensor(B), RUDA_BINARY_LESS, &less));
    float got[100];
    uint8_t smaller[100];
    MUST(ruda_tensor_read(env.stream, twice, got, sizeof got));
    MUST(ruda_tensor_read(env.stream, less, smaller, sizeof smaller));
    for (size_t i = 0; i < 100; ++i) {
      CHECK(got[i] == (float(a[i]) + float(b[i % 25])) * float(2 + round), "element %zu", i);
      CHECK(smaller[i] == (a[i] < b[i % 25]), "comparison %zu", i);
    }
    for (ruda_tensor t : {sum, twice, less}) ruda_release(t);
  }
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_binary(env.stream, run.tensor(A), nullptr, 1, &y), RUDA_E_NULL, 2, "b: handle is NULL");
  CHECK_FAILS(ruda_binary(env.stream, run.tensor(A), run.tensor(B), 1, nullptr), RUDA_E_NULL, 4,
              "out is NULL");
  CHECK_FAILS(ruda_binary(env.stream, run.tensor(A), run.tensor(B), 99, &y), RUDA_E_ARGUMENT, -1,
              "op is 99, expected 1..22");
}

RUDA_TEST(binary_errors) {
  OpRun run(env, "binary"), other(env, "binary");
  run.random_input(A, RUDA_F32, {2, 8});
  run.random_input(B, RUDA_F32, {2, 8});
  run.output(Y, RUDA_F32, {2, 8});
  other.random_input(A, RUDA_F16, {2, 8});
  other.random_input(B, RUDA_F32, {7});
  other.input(Y, RUDA_I32, {2, 8}, Values(16, 0));
  const auto attempt = [&](auto change) {
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.op = RUDA_BINARY_ADD;
    desc.a = run.desc(A);
    desc.b = run.desc(B);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_binary_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_binary_desc;
  CHECK_FAILS(attempt([&](D& d) { d.op = 0; }), RUDA_E_ARGUMENT, 1, "op is 0, expected 1..22");
  CHECK_FAILS(attempt([&](D& d) { d.a = nullptr; }), RUDA_E_NULL, 1, "binary: a is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.a = other.desc(A); }), RUDA_E_DTYPE, 1,
              "b has dtype F32, expected F16 as a has");
  CHECK_FAILS(attempt([&](D& d) { d.b = other.desc(B); }), RUDA_E_SHAPE, 1,
              "a has shape [2, 8] and b has shape [7], expected extents that are equal or 1");
  CHECK_FAILS(attempt([&](D& d) { d.op = RUDA_BINARY_AND; }), RUDA_E_DTYPE, 1,
              "a has dtype F32, and takes an integer dtype or BOOL");
  CHECK_FAILS(attempt([&](D& d) {
                d.op = RUDA_BINARY_DIV;
                d.a = d.b = other.desc(Y);
              }),
              RUDA_E_DTYPE, 1, "a has dtype I32, div takes F64, F32, F16 or BF16");
  CHECK_FAILS(attempt([&](D& d) {
                d.op = RUDA_BINARY_LESS;
                d.y = run.desc(Y);
              }),
              RUDA_E_DTYPE, 1, "y has dtype F32, expected BOOL");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(B); }), RUDA_E_SHAPE, 1,
              "y has shape [7], expected [2, 8]");
}

RUDA_BENCH(binary_bench) {
  const struct {
    const char* name;
    uint32_t op, dtype;
    int64_t count;
  } cases[] = {{"add f32 1", RUDA_BINARY_ADD, RUDA_F32, 1},
               {"add f32 1536", RUDA_BINARY_ADD, RUDA_F32, 1536},
               {"add f32 8 MiB", RUDA_BINARY_ADD, RUDA_F32, 2097152},
               {"add bf16 4 MiB", RUDA_BINARY_ADD, RUDA_BF16, 2097152},
               {"add i32 8 MiB", RUDA_BINARY_ADD, RUDA_I32, 2097152},
               {"less f32 8 MiB", RUDA_BINARY_LESS, RUDA_F32, 2097152},
               {"pow f32 1 MiB", RUDA_BINARY_POW, RUDA_F32, 262144},
               {"add f32 256 MiB", RUDA_BINARY_ADD, RUDA_F32, 67108864}};
  for (const auto& c : cases) {
    OpRun run(env, "binary");
    const Values values(size_t(c.count), 1.0);
    run.input(A, c.dtype, {c.count}, values);
    run.input(B, c.dtype, {c.count}, values);
    const uint32_t y_dtype = is_compare(c.op) ? uint32_t(RUDA_BOOL) : c.dtype;
    run.output(Y, y_dtype, {c.count});
    run.bench(std::string("binary ") + c.name, double(c.count) * (2 * size_of(c.dtype) + size_of(y_dtype)), 0,
              creator(env, run, c.op));
  }
  OpRun run(env, "binary");
  run.input(A, RUDA_F32, {1}, {1});
  run.input(B, RUDA_F32, {1}, {2});
  const auto start = std::chrono::steady_clock::now();
  constexpr int calls = 200000;
  for (int i = 0; i < calls; ++i) {
    ruda_tensor y = nullptr;
    MUST(ruda_binary(env.stream, run.tensor(A), run.tensor(B), RUDA_BINARY_ADD, &y));
    ruda_release(y);
  }
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
  std::printf("binary eager add f32 1: %.0f ns a call with release of the result\n", ns);
}
