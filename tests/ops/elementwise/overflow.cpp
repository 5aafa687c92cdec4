// tests/ops/elementwise/overflow.cpp - what becomes of numbers beyond the largest of an FP8 dtype.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_COPY_X, Y = RUDA_COPY_Y;
using Bytes = std::vector<uint8_t>;

// A number, and its codes as PyTorch 2.13 makes them with .to(torch.float8_e4m3fn) and
// .to(torch.float8_e5m2), whose rule is RUDA_OVERFLOW_DEFAULT.
const struct {
  double value;
  uint8_t e4m3, e5m2;
} published[] = {{0x1.c000000000000p+8, 0x7E, 0x5F},
                 {0x1.c100000000000p+8, 0x7E, 0x5F},
                 {0x1.cffffe0000000p+8, 0x7E, 0x5F},
                 {0x1.d000000000000p+8, 0x7E, 0x5F},
                 {0x1.d000020000000p+8, 0x7E, 0x5F},
                 {0x1.d100000000000p+8, 0x7E, 0x5F},
                 {0x1.df00000000000p+8, 0x7E, 0x5F},
                 {0x1.e000000000000p+8, 0x7E, 0x60},
                 {0x1.f400000000000p+9, 0x7E, 0x64},
                 {0x1.93e5940000000p+99, 0x7E, 0x7C},
                 {INFINITY, 0x7E, 0x7C},
                 {0x1.c000000000000p+15, 0x7E, 0x7B},
                 {0x1.c002000000000p+15, 0x7E, 0x7B},
                 {0x1.dffffe0000000p+15, 0x7E, 0x7B},
                 {0x1.e000000000000p+15, 0x7E, 0x7C},
                 {0x1.e000020000000p+15, 0x7E, 0x7C},
                 {0x1.ffc0000000000p+15, 0x7E, 0x7C},
                 {0x1.2ced320000000p+126, 0x7E, 0x7C},
                 {0x1.0000000000000p-4, 0x18, 0x2C},
                 {0x1.0000000000000p-9, 0x01, 0x18},
                 {0x1.0000000000000p-10, 0x00, 0x14},
                 {0x1.0000020000000p-10, 0x01, 0x14},
                 {0x1.0000000000000p-16, 0x00, 0x01},
                 {0x1.0000000000000p-17, 0x00, 0x00},
                 {0x1.0000020000000p-17, 0x00, 0x01},
                 {0x1.2c00000000000p+8, 0x79, 0x5D},
                 {0x1.1000000000000p+0, 0x38, 0x3C},
                 {0x1.2000000000000p+0, 0x39, 0x3C},
                 {-0x1.c000000000000p+8, 0xFE, 0xDF},
                 {-0x1.c100000000000p+8, 0xFE, 0xDF},
                 {-0x1.cffffe0000000p+8, 0xFE, 0xDF},
                 {-0x1.d000000000000p+8, 0xFE, 0xDF},
                 {-0x1.d000020000000p+8, 0xFE, 0xDF},
                 {-0x1.d100000000000p+8, 0xFE, 0xDF},
                 {-0x1.df00000000000p+8, 0xFE, 0xDF},
                 {-0x1.e000000000000p+8, 0xFE, 0xE0},
                 {-0x1.f400000000000p+9, 0xFE, 0xE4},
                 {-0x1.93e5940000000p+99, 0xFE, 0xFC},
                 {-INFINITY, 0xFE, 0xFC},
                 {-0x1.c000000000000p+15, 0xFE, 0xFB},
                 {-0x1.c002000000000p+15, 0xFE, 0xFB},
                 {-0x1.dffffe0000000p+15, 0xFE, 0xFB},
                 {-0x1.e000000000000p+15, 0xFE, 0xFC},
                 {-0x1.e000020000000p+15, 0xFE, 0xFC},
                 {-0x1.ffc0000000000p+15, 0xFE, 0xFC},
                 {-0x1.2ced320000000p+126, 0xFE, 0xFC},
                 {-0x1.0000000000000p-4, 0x98, 0xAC},
                 {-0x1.0000000000000p-9, 0x81, 0x98},
                 {-0x1.0000000000000p-10, 0x80, 0x94},
                 {-0x1.0000020000000p-10, 0x81, 0x94},
                 {-0x1.0000000000000p-16, 0x80, 0x81},
                 {-0x1.0000000000000p-17, 0x80, 0x80},
                 {-0x1.0000020000000p-17, 0x80, 0x81},
                 {-0x1.2c00000000000p+8, 0xF9, 0xDD},
                 {-0x1.1000000000000p+0, 0xB8, 0xBC},
                 {-0x1.2000000000000p+0, 0xB9, 0xBC}};

// The nearest code without sign, of two the even one, found by trying all: 0x7F and 0x7C stand for the number
// that would follow the largest.
uint8_t nearest(uint32_t dtype, double magnitude) {
  const bool e4m3 = dtype == RUDA_F8E4M3;
  const int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15, beyond = e4m3 ? 0x7F : 0x7C;
  if (std::isinf(magnitude)) return uint8_t(beyond);
  int best = 0;
  double distance = HUGE_VAL;
  for (int code = 0; code <= beyond; ++code) {
    const int exponent = code >> mantissa_bits, part = code & ((1 << mantissa_bits) - 1);
    const double value = exponent ? std::ldexp(part + (1 << mantissa_bits), exponent - bias - mantissa_bits)
                                  : std::ldexp(part, 1 - bias - mantissa_bits);
    const double d = std::fabs(value - magnitude);
    if (d < distance || (d == distance && code % 2 == 0)) best = code, distance = d;
  }
  return magnitude > 1e6 ? uint8_t(beyond) : uint8_t(best);
}

// NaN is 0x7F in F8E4M3; in F8E5M2 every code above 0x7C is one, which `same` takes for 0x7F.
uint8_t expected(uint32_t dtype, uint32_t overflow, double value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return sign | 0x7F;
  const uint8_t code = nearest(dtype, std::fabs(value));
  if (dtype == RUDA_F8E4M3 && code == 0x7F) return sign | (overflow == RUDA_OVERFLOW_NONFINITE ? 0x7F : 0x7E);
  if (dtype == RUDA_F8E5M2 && code == 0x7C) return sign | (overflow == RUDA_OVERFLOW_SATURATE ? 0x7B : 0x7C);
  return sign | code;
}

bool same(uint32_t dtype, uint8_t code, uint8_t want) {
  if ((want & 0x7F) == 0x7F) return dtype == RUDA_F8E4M3 ? (code & 0x7F) == 0x7F : (code & 0x7F) > 0x7C;
  return code == want;
}

OpRun::Create creator(Env& env, const OpRun& op, uint32_t overflow) {
  return [&env, &op, overflow](const ruda_plan_options* options, ruda_plan* out) {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.y = op.desc(Y);
    desc.overflow = overflow;
    return ruda_copy_plan_create(env.context, &desc, out);
  };
}

void check_codes(const char* what, uint32_t dtype, uint32_t overflow, const std::vector<double>& x,
                 const Bytes& codes) {
  for (size_t i = 0; i < x.size(); ++i) {
    const uint8_t want = expected(dtype, overflow, x[i]);
    CHECK(same(dtype, codes[i], want), "%s: %.9g becomes %02x, expected %02x", what, x[i], codes[i], want);
  }
}

std::vector<double> values() {
  std::vector<double> v;
  for (const auto& p : published) v.push_back(p.value);
  // A bit beside the ties, which only F64 holds.
  for (double x : {0x1.d000000000001p+8, -0x1.d000000000001p+8, 0x1.dffffffffffffp+15}) v.push_back(x);
  for (double x :
       {0.0, -0.0, 1.0, 17.0, 127.0, 200.0, 255.0, 32767.0, 65504.0, 2147483647.0, 1e300, double(NAN)})
    v.push_back(x);
  return v;
}

}  // namespace

RUDA_TEST(overflow_rules) {
  for (const auto& p : published) {
    CHECK(p.e4m3 == expected(RUDA_F8E4M3, RUDA_OVERFLOW_DEFAULT, p.value), "the oracle at %g", p.value);
    CHECK(p.e5m2 == expected(RUDA_F8E5M2, RUDA_OVERFLOW_DEFAULT, p.value), "the oracle at %g", p.value);
  }
  for (uint32_t from : {RUDA_F64, RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F8E4M3, RUDA_F8E5M2, RUDA_I8, RUDA_I32,
                        RUDA_I64, RUDA_U8, RUDA_BOOL})
    for (uint32_t to : {RUDA_F8E4M3, RUDA_F8E5M2})
      for (uint32_t overflow : {RUDA_OVERFLOW_DEFAULT, RUDA_OVERFLOW_SATURATE, RUDA_OVERFLOW_NONFINITE}) {
        if (from == to) continue;
        set_case("dtype " + std::to_string(from) + " to " + std::to_string(to) + ", overflow " +
                 std::to_string(overflow));
        std::vector<double> v;
        for (double x : values()) {
          const bool real = from < RUDA_I8;
          const double high = from == RUDA_BOOL ? 1
                              : from == RUDA_I8 ? 127
                              : from == RUDA_U8 ? 255
                                                : 2147483647;
          const double low = from == RUDA_BOOL || from == RUDA_U8 ? 0 : -high;
          if (real || (x == std::trunc(x) && x >= low && x <= high)) v.push_back(x);
        }
        OpRun op(env, "copy");
        const auto x = op.input(X, from, {int64_t(v.size())}, v);
        op.output(Y, to, {int64_t(v.size())});
        op.each_kernel(creator(env, op, overflow), [&](const std::string& kernel) {
          check_codes(kernel.c_str(), to, overflow, x, op.read_bytes(Y));
        });
        ruda_tensor y = nullptr;
        MUST(ruda_tensor_convert(env.stream, op.tensor(X), to, overflow, &y));
        Bytes codes(v.size());
        MUST(ruda_tensor_read(env.stream, y, codes.data(), codes.size()));
        check_codes("convert", to, overflow, x, codes);
        ruda_release(y);
      }
}

// One element everywhere, gaps, and blocks take other ways.
RUDA_TEST(overflow_layouts) {
  for (uint32_t to : {RUDA_F8E4M3, RUDA_F8E5M2})
    for (uint32_t overflow : {RUDA_OVERFLOW_DEFAULT, RUDA_OVERFLOW_SATURATE, RUDA_OVERFLOW_NONFINITE}) {
      set_case("to " + std::to_string(to) + ", overflow " + std::to_string(overflow));
      const auto run = [&](const Shape& shape, const std::vector<double>& v, const Shape& x_strides,
                           const Shape& y_strides) {
        OpRun op(env, "copy");
        const auto x = op.input(X, RUDA_F32, shape, v, x_strides);
        op.output(Y, to, shape, y_strides);
        op.each_kernel(creator(env, op, overflow), [&](const std::string& kernel) {
          const auto y = op.read(Y);
          for (size_t i = 0; i < y.size(); ++i) {
            const uint8_t want = expected(to, overflow, x[i]);
            uint8_t code;
            encode(to, y[i], &code);
            CHECK(std::isnan(y[i]) == ((want & 0x7F) == 0x7F), "%s: %g is %g", kernel.c_str(), x[i], y[i]);
            if (!std::isnan(y[i])) CHECK(code == want, "%s: %g is %g", kernel.c_str(), x[i], y[i]);
          }
        });
      };
      run({4, 9}, std::vector<double>(36, -1e6), {0, 0}, {});
      run({4, 9}, std::vector<double>(36, INFINITY), {}, {20, 2});
      OpRun op(env, "copy");  // Q8_0: a scale of 1000 and codes from -3 on
      Bytes block(34);
      block[0] = 0xD0, block[1] = 0x63;  // 1000 as F16
      for (int i = 0; i < 32; ++i) block[size_t(i) + 2] = uint8_t(i - 3);
      op.input_bytes(X, RUDA_Q8_0, {32}, block);
      op.output(Y, to, {32});
      std::vector<double> x;
      for (int i = 0; i < 32; ++i) x.push_back(1000.0 * (i - 3));
      op.each_kernel(creator(env, op, overflow), [&](const std::string& kernel) {
        check_codes(kernel.c_str(), to, overflow, x, op.read_bytes(Y));
      });
    }
}

// A plan and the eager calls keep their answers apart, and a program of before the field gets the default.
RUDA_TEST(overflow_calls) {
  OpRun op(env, "copy");
  op.input(X, RUDA_F32, {2}, {1000, -1e9});
  const auto answer = [&](uint32_t dtype, uint32_t overflow) {
    ruda_tensor y = nullptr;
    uint8_t codes[2];
    MUST(ruda_tensor_convert(env.stream, op.tensor(X), dtype, overflow, &y));
    MUST(ruda_tensor_read(env.stream, y, codes, 2));
    ruda_release(y);
    return codes[0] << 8 | codes[1];
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(answer(RUDA_F8E4M3, RUDA_OVERFLOW_DEFAULT) == 0x7EFE, "default of F8E4M3");
    CHECK(answer(RUDA_F8E4M3, RUDA_OVERFLOW_NONFINITE) == 0x7FFF, "NaN of F8E4M3");
    CHECK(answer(RUDA_F8E5M2, RUDA_OVERFLOW_SATURATE) == 0x64FB, "largest of F8E5M2");
    CHECK(answer(RUDA_F8E5M2, RUDA_OVERFLOW_DEFAULT) == 0x64FC, "default of F8E5M2");
  }
  ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
  desc.struct_size = uint32_t(offsetof(ruda_copy_desc, overflow));
  desc.x = op.desc(X);
  desc.dtype = RUDA_F8E4M3;
  desc.overflow = 77;  // past the size that the caller gives: not read
  ruda_plan plan = nullptr;
  MUST(ruda_copy_plan_create(env.context, &desc, &plan));
  ruda_release(plan);
  desc.struct_size = sizeof desc;
  CHECK_FAILS(ruda_copy_plan_create(env.context, &desc, &plan), RUDA_E_ARGUMENT, 1,
              "copy: overflow is 77, expected 0..2");
  desc.overflow = RUDA_OVERFLOW_SATURATE;
  desc.dtype = RUDA_F16;
  CHECK_FAILS(ruda_copy_plan_create(env.context, &desc, &plan), RUDA_E_ARGUMENT, 1,
              "copy: overflow is 1 with dtype F16, expected 0: F8E4M3 and F8E5M2 have the choice");
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_tensor_convert(env.stream, op.tensor(X), RUDA_F4E2M1, 2, &y), RUDA_E_ARGUMENT, 3,
              "overflow is 2 with dtype F4E2M1");
  CHECK_FAILS(ruda_tensor_convert(env.stream, op.tensor(X), RUDA_F8E4M3, 3, &y), RUDA_E_ARGUMENT, 3,
              "overflow is 3, expected 0..2");
  CHECK_FAILS(ruda_tensor_convert(env.stream, op.tensor(X), 99, 0, &y), RUDA_E_DTYPE, 2, "dtype is 99");
  CHECK_FAILS(ruda_tensor_convert(env.stream, op.tensor(X), RUDA_F8E4M3, 0, nullptr), RUDA_E_NULL, 4,
              "out is NULL");
}
