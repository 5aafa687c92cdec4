// tests/ops/elementwise/copy.cpp - copies of any strides and conversions between all pairs of dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_COPY_X, Y = RUDA_COPY_Y;
using Values = std::vector<double>;

struct BlockVector {
  uint32_t dtype;
  size_t bytes;
  const uint8_t* blocks;
  const uint32_t* values;  // bits of floats
  size_t count;
};
#include "../../data/vectors/block_formats.inc"

constexpr uint32_t plain_dtypes[] = {RUDA_F64,    RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F8E4M3,
                                     RUDA_F8E5M2, RUDA_I8,  RUDA_U8,  RUDA_I16,  RUDA_U16,
                                     RUDA_I32,    RUDA_U32, RUDA_I64, RUDA_U64,  RUDA_BOOL};

bool is_float(uint32_t dtype) { return dtype <= RUDA_F4E2M1; }

OpRun::Create creator(Env& env, const OpRun& op) {
  return [&env, &op](const ruda_plan_options* options, ruda_plan* out) {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.y = op.desc(Y);
    return ruda_copy_plan_create(env.context, &desc, out);
  };
}

// The rules of ruda_tensor_cast, on doubles: every value used here is one in every dtype that holds it.
double converted(uint32_t to, double v) {
  if (to == RUDA_BOOL) return v != 0;
  if (is_float(to)) {
    uint8_t bytes[8];
    encode(to, v, bytes);
    return decode(to, bytes);
  }
  if (std::isnan(v)) return 0;
  const int bits = int(8 * size_of(to)) - (to % 2 == 0);  // signed dtypes have even codes
  const double high = std::ldexp(1.0, bits), low = to % 2 == 0 ? -high : 0.0;
  if (v >= high) return bits > 53 ? high : high - 1;  // as a double: the highest of 64 bits is not one
  return v <= low ? low : std::trunc(v);
}

Values interesting(uint32_t dtype) {
  Values v;
  if (dtype == RUDA_BOOL) return {0, 1, 1, 0, 1, 0, 0};
  for (double x : {0.0,
                   1.0,
                   2.0,
                   3.0,
                   5.0,
                   7.0,
                   100.0,
                   127.0,
                   128.0,
                   200.0,
                   255.0,
                   256.0,
                   32767.0,
                   32768.0,
                   65504.0,
                   65519.0,
                   65520.0,
                   65535.0,
                   65536.0,
                   1e6,
                   16777216.0,
                   16777217.0,
                   16777219.0,
                   2147483520.0,
                   2147483647.0,
                   2147483648.0,
                   4294967295.0,
                   4294967296.0,
                   9007199254740992.0,
                   4611686018427387904.0})
    for (double sign : {1.0, -1.0}) v.push_back(sign * x);
  if (is_float(dtype)) {
    for (double x : {0.25,  0.5,    0.75,  1.5,     2.5,     1e-3,    1.0000001, 0.99999994, 448.0,
                     449.0, 464.0,  465.0, 57344.0, 61440.0, 61441.0, 6e-8,      2.9e-8,     1.5e-5,
                     1e-40, 3.4e38, 1e39,  9.3e18,  1.9e19,  127.5,   255.5,     254.99})
      for (double sign : {1.0, -1.0}) v.push_back(sign * x);
    for (double x : {double(NAN), double(INFINITY), -double(INFINITY)}) v.push_back(x);
  } else {
    const int bits = int(8 * size_of(dtype)) - (dtype % 2 == 0);
    const double high = std::ldexp(1.0, bits), low = dtype % 2 == 0 ? -high : 0.0;
    std::erase_if(v, [&](double x) { return x < low || x >= high; });
    v.push_back(low);
    if (bits <= 53) v.push_back(high - 1);
  }
  return v;
}

void check_case(Env& env, uint32_t from, uint32_t to, Shape shape, const Values& given, Shape x_strides = {},
                Shape y_strides = {}) {
  set_case("from " + std::to_string(from) + " to " + std::to_string(to));
  OpRun op(env, "copy");
  const auto x = op.input(X, from, shape, given, std::move(x_strides));
  op.output(Y, to, shape, std::move(y_strides));
  Values expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = from == to ? x[i] : converted(to, x[i]);
  op.each_kernel(creator(env, op), [&](const std::string& kernel) {
    const auto y = op.read(Y);
    check_close(kernel.c_str(), y, expected, [](size_t) { return 0.0; });
    for (size_t i = 0; i < y.size(); ++i)
      if (is_float(from) && is_float(to) && !std::isnan(y[i]))
        CHECK(std::signbit(y[i]) == std::signbit(expected[i]), "%s: sign of element %zu", kernel.c_str(), i);
  });
}

Values small_values(Env& env, uint32_t dtype, int64_t count) {
  Values v;
  for (int64_t i = 0; i < count; ++i)
    v.push_back(dtype == RUDA_BOOL ? double(env.integer(0, 1)) : double(env.integer(0, 15)));
  return v;
}

}  // namespace

RUDA_TEST(copy_all_pairs) {
  for (uint32_t from : plain_dtypes)
    for (uint32_t to : plain_dtypes) {
      const Values some = interesting(from);
      Values v = some;  // again and again: several blocks of a GPU and a rest
      while (v.size() < 4200) v.insert(v.end(), some.begin(), some.end());
      check_case(env, from, to, {int64_t(some.size())}, some);
      check_case(env, from, to, {int64_t(v.size())}, v);
    }
}

RUDA_TEST(copy_lengths) {
  for (uint32_t from : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64, RUDA_I32, RUDA_U8, RUDA_F8E4M3})
    for (uint32_t to : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64, RUDA_I8, RUDA_I32, RUDA_BOOL})
      for (int64_t n : {0, 1, 2, 15, 16, 17, 33, 63, 64, 65, 1009})
        check_case(env, from, to, {n}, small_values(env, from, n));
  check_case(env, RUDA_F32, RUDA_BF16, {70001}, small_values(env, RUDA_F32, 70001));
}

RUDA_TEST(copy_strided) {
  for (uint32_t from : {RUDA_F32, RUDA_BF16, RUDA_I64, RUDA_U8})
    for (uint32_t to : {RUDA_F32, RUDA_BF16, RUDA_U8, RUDA_I64}) {
      check_case(env, from, to, {}, small_values(env, from, 1));
      check_case(env, from, to, {5, 33}, small_values(env, from, 165), {66, 2}, {40, 1});
      check_case(env, from, to, {5, 33}, small_values(env, from, 165), {1, 5}, {33, 1});
      check_case(env, from, to, {37, 70}, small_values(env, from, 37 * 70), {1, 37}, {});
      check_case(env, from, to, {3, 37, 4, 70}, small_values(env, from, 3 * 37 * 4 * 70),
                 {148 * 70, 1, 37, 148}, {});
      check_case(env, from, to, {3, 5, 700}, small_values(env, from, 10500), {1, 3, 15}, {7000, 1400, 2});
      check_case(env, from, to, {4, 9}, small_values(env, from, 1).front() ? Values(36, 1) : Values(36, 0),
                 {0, 0}, {});
      OpRun op(env, "copy");  // repeated rows and repeated columns
      Values row = small_values(env, from, 9), all;
      for (int r = 0; r < 4; ++r) all.insert(all.end(), row.begin(), row.end());
      check_case(env, from, to, {4, 9}, all, {0, 1}, {});
      all.clear();
      for (double v : row) all.insert(all.end(), 6, v);
      check_case(env, from, to, {9, 6}, all, {1, 0}, {8, 1});
    }
}

// Views that walk backward.
RUDA_TEST(copy_reversed) {
  OpRun op(env, "copy");
  const auto x = op.random_input(X, RUDA_F32, {6, 40});
  const int64_t begin[] = {-1, -1}, end[] = {-7, -41}, step[] = {-1, -2};
  ruda_tensor view = nullptr;
  MUST(ruda_tensor_slice(op.tensor(X), begin, end, step, 2, &view));
  for (uint32_t to : {RUDA_F32, RUDA_BF16, RUDA_F64, RUDA_I64}) {
    ruda_tensor cast = nullptr;
    MUST(ruda_tensor_cast(env.stream, view, to, &cast));
    uint8_t bytes[6 * 20 * 8];
    MUST(ruda_tensor_read(env.stream, cast, bytes, 6 * 20 * size_of(to)));
    for (size_t r = 0; r < 6; ++r)
      for (size_t c = 0; c < 20; ++c) {
        const double want = converted(to, x[(5 - r) * 40 + 39 - 2 * c]);
        CHECK(decode(to, bytes + (r * 20 + c) * size_of(to)) == want, "row %zu column %zu of dtype %u", r, c,
              to);
      }
    ruda_release(cast);
  }
  ruda_release(view);
}

RUDA_TEST(copy_integers_keep_their_bits) {
  const std::vector<uint64_t> bits = {
      0, 1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x123456789abcdef0};
  for (uint32_t dtype : {RUDA_I64, RUDA_U64, RUDA_F64}) {
    std::vector<uint8_t> bytes(bits.size() * 8);
    std::memcpy(bytes.data(), bits.data(), bytes.size());
    OpRun op(env, "copy");
    op.input_bytes(X, dtype, {2, 3}, bytes);
    op.output(Y, dtype, {2, 3});
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      CHECK(op.read_bytes(Y) == bytes, "%s: bits changed", kernel.c_str());
    });
  }
  // Between 64-bit integers: saturating, not through doubles.
  for (bool to_signed : {false, true}) {
    std::vector<uint8_t> bytes(bits.size() * 8);
    std::memcpy(bytes.data(), bits.data(), bytes.size());
    OpRun op(env, "copy");
    op.input_bytes(X, to_signed ? RUDA_U64 : RUDA_I64, {6}, bytes);
    op.output(Y, to_signed ? RUDA_I64 : RUDA_U64, {6});
    std::vector<uint64_t> want = bits;
    for (uint64_t& b : want)
      if (b >> 63) b = to_signed ? 0x7fffffffffffffff : 0;
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      CHECK(std::memcmp(op.read_bytes(Y).data(), want.data(), bytes.size()) == 0, "%s: not saturated",
            kernel.c_str());
    });
  }
}

RUDA_TEST(copy_fp4) {
  const double table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  std::vector<uint8_t> codes(256);
  for (size_t i = 0; i < 256; ++i) codes[i] = uint8_t(i);
  Values values;
  for (int byte = 0; byte < 256; ++byte)
    for (int half : {byte & 15, byte >> 4}) values.push_back(half & 8 ? -table[half & 7] : table[half & 7]);
  for (uint32_t to : plain_dtypes) {
    set_case("FP4 to " + std::to_string(to));
    OpRun op(env, "copy");
    op.input_bytes(X, RUDA_F4E2M1, {4, 128}, codes);
    op.output(Y, to, {4, 128});
    Values expected;
    for (double v : values) expected.push_back(converted(to, v));
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      check_close(kernel.c_str(), op.read(Y), expected, [](size_t) { return 0.0; });
    });
  }
  // To FP4: the nearest code, of two the even one, found by trying all.
  Values given = {0, -0.0, 0.25, 0.2500001, 0.75,      -0.75,    1.25, 1.75, 2.5,  3.5,
                  5, -5,   5.01, 100,       -INFINITY, INFINITY, 0.3,  1.2,  -2.2, 6};
  for (uint32_t from : {RUDA_F32, RUDA_F64, RUDA_BF16, RUDA_I8}) {
    set_case("FP4 from " + std::to_string(from));
    Values in = given;
    if (from == RUDA_I8) in = {0, 1, -1, 2, 3, -3, 4, 5, -5, 6, 7, -128};
    OpRun op(env, "copy");
    const auto x = op.input(X, from, {2, int64_t(in.size() / 2)}, in);
    std::vector<uint8_t> want(in.size() / 2);
    for (size_t i = 0; i < in.size(); ++i) {
      int best = 0;
      for (int code = 1; code < 8; ++code) {
        const double d = std::fabs(std::fabs(x[i]) - table[code]),
                     b = std::fabs(std::fabs(x[i]) - table[best]);
        if (d < b || (d == b && code % 2 == 0)) best = code;
      }
      if (std::isinf(x[i])) best = 7;
      want[i / 2] |= uint8_t((best | (std::signbit(x[i]) ? 8 : 0)) << (i % 2 * 4));
    }
    ruda_tensor y = nullptr;
    MUST(ruda_tensor_cast(env.stream, op.tensor(X), RUDA_F4E2M1, &y));
    std::vector<uint8_t> got(want.size());
    MUST(ruda_tensor_read(env.stream, y, got.data(), got.size()));
    for (size_t i = 0; i < got.size(); ++i)
      CHECK(got[i] == want[i], "byte %zu is %02x, expected %02x", i, got[i], want[i]);
    ruda_release(y);
  }
}

// Rows of FP4 apart from each other, turned axes, and back.
RUDA_TEST(copy_fp4_strided) {
  OpRun op(env, "copy");
  std::vector<uint8_t> codes(6 * 5 * 16);
  for (uint8_t& byte : codes) byte = uint8_t(env.integer(0, 255));
  op.input_bytes(X, RUDA_F4E2M1, {6, 5, 32}, codes);
  const auto value = [&](int64_t a, int64_t b, int64_t c) {
    const double table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const int code = codes[size_t((a * 5 + b) * 16 + c / 2)] >> (c % 2 * 4) & 15;
    return code & 8 ? -table[code & 7] : table[code & 7];
  };
  const int64_t begin[] = {-1, 1, 8}, end[] = {-7, 5, 24}, step[] = {-2, 1, 1};
  const uint32_t axes[] = {1, 0, 2};
  ruda_tensor part = nullptr, turned = nullptr, packed = nullptr;
  MUST(ruda_tensor_slice(op.tensor(X), begin, end, step, 3, &part));
  MUST(ruda_tensor_permute(part, axes, 3, &turned));
  MUST(ruda_tensor_contiguous(env.stream, turned, &packed));
  for (uint32_t to : {RUDA_F32, RUDA_BF16, RUDA_I8, RUDA_F64}) {
    ruda_tensor wide[2] = {}, back = nullptr;
    for (int k = 0; k < 2; ++k) {
      MUST(ruda_tensor_cast(env.stream, k ? packed : turned, to, &wide[k]));
      std::vector<uint8_t> got(4 * 3 * 16 * size_of(to));
      MUST(ruda_tensor_read(env.stream, wide[k], got.data(), got.size()));
      for (int64_t i = 0; i < 4 * 3 * 16; ++i) {
        const double want = converted(to, value(5 - i / 16 % 3 * 2, 1 + i / 48, 8 + i % 16));
        CHECK(decode(to, &got[size_t(i) * size_of(to)]) == want,
              "element %lld of dtype %u is %g, expected %g", (long long)i, to,
              decode(to, &got[size_t(i) * size_of(to)]), want);
      }
    }
    MUST(ruda_tensor_cast(env.stream, wide[0], RUDA_F4E2M1, &back));
    std::vector<uint8_t> got(4 * 3 * 8), kept(4 * 3 * 8);
    MUST(ruda_tensor_read(env.stream, back, got.data(), got.size()));
    MUST(ruda_tensor_read(env.stream, packed, kept.data(), kept.size()));
    if (to != RUDA_I8) CHECK(got == kept, "FP4 changed on its way through dtype %u", to);
    for (ruda_tensor t : {wide[0], wide[1], back}) ruda_release(t);
  }
  for (ruda_tensor t : {part, turned, packed}) ruda_release(t);
}

// Turned matrices around the extents of tiles, of every size of element, aligned and not.
RUDA_TEST(copy_turned) {
  for (uint32_t dtype : {RUDA_U8, RUDA_BF16, RUDA_F32, RUDA_I64})
    for (const Shape& shape :
         {Shape{16, 16}, Shape{64, 64}, Shape{65, 63}, Shape{127, 200}, Shape{256, 128}, Shape{3, 130, 66}}) {
      const int64_t rows = shape[shape.size() - 2], cols = shape.back();
      Shape turned{1, rows}, padded{1, rows + 3};
      if (shape.size() == 3) {
        turned.insert(turned.begin(), rows * cols);
        padded.insert(padded.begin(), (rows + 3) * cols);
      }
      const Values v = small_values(env, dtype, count_of(shape));
      check_case(env, dtype, dtype, shape, v, turned, {});
      check_case(env, dtype, dtype, shape, v, {}, turned);
      check_case(env, dtype, dtype, shape, v, padded, {});
      check_case(env, dtype, dtype, shape, v, {}, padded);
    }
}

RUDA_TEST(copy_block_formats) {
  for (const BlockVector& v : block_vectors)
    for (uint32_t to : {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F64}) {
      set_case("block format " + std::to_string(v.dtype) + " to " + std::to_string(to));
      Values values(v.count);
      for (size_t i = 0; i < v.count; ++i) {
        float f;
        std::memcpy(&f, &v.values[i], 4);
        values[i] = converted(to, f);
      }
      OpRun op(env, "copy");
      op.input_bytes(X, v.dtype, {2, int64_t(v.count / 2)}, {v.blocks, v.blocks + v.bytes});
      op.output(Y, to, {2, int64_t(v.count / 2)});
      op.each_kernel(creator(env, op), [&](const std::string& kernel) {
        check_close(kernel.c_str(), op.read(Y), values, [](size_t) { return 0.0; });
      });
    }
  OpRun op(env, "copy");  // the blocks themselves
  const BlockVector& v = block_vectors[0];
  const std::vector<uint8_t> bytes(v.blocks, v.blocks + v.bytes);
  op.input_bytes(X, v.dtype, {2, int64_t(v.count / 2)}, bytes);
  ruda_tensor y = nullptr;
  MUST(ruda_tensor_cast(env.stream, op.tensor(X), v.dtype, &y));
  std::vector<uint8_t> got(v.bytes);
  MUST(ruda_tensor_read(env.stream, y, got.data(), got.size()));
  CHECK(got == bytes, "a copy of blocks changed them");
  ruda_release(y);
}

RUDA_TEST(copy_fill) {
  const struct {
    uint32_t dtype;
    double value, want;
  } cases[] = {{RUDA_F32, 0.1, double(0.1f)},
               {RUDA_BF16, 1.00390625, 1.0},
               {RUDA_F16, 1e9, INFINITY},
               {RUDA_I8, 2.5, 2},
               {RUDA_I8, 3.5, 4},
               {RUDA_U8, -7, 0},
               {RUDA_I16, 1e9, 32767},
               {RUDA_I32, NAN, 0},
               {RUDA_BOOL, 0.5, 1},
               {RUDA_F8E4M3, 1e9, 448},
               {RUDA_F64, NAN, NAN},
               {RUDA_I64, -9e15, -9e15}};
  for (const auto& c : cases) {
    set_case("fill dtype " + std::to_string(c.dtype));
    Buffer buffer(env, c.dtype, {3, 700}, Shape{1500, 2});
    MUST(ruda_tensor_fill(env.stream, buffer.tensor, c.value));
    check_close("fill", buffer.read(), Values(2100, c.want), [](size_t) { return 0.0; });
    buffer.check_untouched("fill", false);
  }
}

RUDA_TEST(copy_tensor_calls) {
  OpRun op(env, "copy");
  const auto x = op.random_input(X, RUDA_F32, {4, 6});
  op.output(Y, RUDA_F16, {4, 6}, {7, 1});
  MUST(ruda_tensor_copy(env.stream, op.tensor(X), op.tensor(Y)));
  Values expected;
  for (double v : x) expected.push_back(converted(RUDA_F16, v));
  check_close("copy", op.read(Y), expected, [](size_t) { return 0.0; });

  const uint32_t axes[] = {1, 0};
  ruda_tensor turned = nullptr, packed = nullptr, flat = nullptr;
  MUST(ruda_tensor_permute(op.tensor(X), axes, 2, &turned));
  MUST(ruda_tensor_contiguous(env.stream, turned, &packed));
  float got[24];
  MUST(ruda_tensor_read(env.stream, packed, got, sizeof got));
  for (size_t i = 0; i < 24; ++i) CHECK(got[i] == float(x[i % 4 * 6 + i / 4]), "contiguous element %zu", i);
  const int64_t shape[] = {24};
  ruda_bool copied = 0;
  MUST(ruda_tensor_reshape(env.stream, turned, shape, 1, &copied, &flat));
  CHECK(copied == 1, "a reshape that cannot be a view said that it is one");
  for (ruda_tensor t : {turned, packed, flat}) ruda_release(t);
}

RUDA_TEST(copy_errors) {
  OpRun op(env, "copy"), other(env, "copy");
  op.random_input(X, RUDA_F32, {2, 32});
  op.output(Y, RUDA_F32, {2, 32});
  other.output(Y, RUDA_F32, {32, 2});
  other.input_bytes(X, RUDA_Q4_0, {2, 32}, std::vector<uint8_t>(36));
  const auto attempt = [&](auto change) {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.x = op.desc(X);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_copy_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_copy_desc;
  CHECK_FAILS(attempt([&](D& d) { d.x = nullptr; }), RUDA_E_NULL, 1, "copy: x is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(Y); }), RUDA_E_SHAPE, 1,
              "y has shape [32, 2], expected [2, 32]");
  CHECK_FAILS(attempt([&](D& d) { d.dtype = RUDA_Q4_0; }), RUDA_E_DTYPE, 1,
              "F32 cannot be converted to block format Q4_0");
  CHECK_FAILS(attempt([&](D& d) {
                d.x = other.desc(X);
                d.dtype = RUDA_I32;
              }),
              RUDA_E_DTYPE, 1, "block format Q4_0 cannot be converted to I32, expected a float dtype");
  CHECK_FAILS(attempt([&](D& d) { d.dtype = 99; }), RUDA_E_DTYPE, 1, "dtype is 99, which is no known code");
  ruda_tensor out = nullptr;
  CHECK_FAILS(ruda_tensor_cast(env.stream, op.tensor(X), 99, &out), RUDA_E_DTYPE, 2, "dtype is 99");
  CHECK_FAILS(ruda_tensor_copy(env.stream, op.tensor(X), other.tensor(Y)), RUDA_E_SHAPE, 2,
              "shape [32, 2], expected [2, 32]");
  CHECK_FAILS(ruda_tensor_copy(env.stream, op.tensor(X), op.tensor(X)), RUDA_E_OVERLAP, 2,
              "memory overlaps from");
}

RUDA_BENCH(copy_bench) {
  const struct {
    const char* name;
    uint32_t from, to;
    Shape shape, strides;
  } cases[] = {{"f32 8 MiB", RUDA_F32, RUDA_F32, {2097152}, {}},
               {"f32 to bf16 8 MiB", RUDA_F32, RUDA_BF16, {2097152}, {}},
               {"bf16 to f32 4 MiB", RUDA_BF16, RUDA_F32, {2097152}, {}},
               {"f32 to f16 8 MiB", RUDA_F32, RUDA_F16, {2097152}, {}},
               {"i32 to f32 8 MiB", RUDA_I32, RUDA_F32, {2097152}, {}},
               {"f32 to i32 8 MiB", RUDA_F32, RUDA_I32, {2097152}, {}},
               {"f8e4m3 to bf16 2 MiB", RUDA_F8E4M3, RUDA_BF16, {2097152}, {}},
               {"f32 transposed 2048", RUDA_F32, RUDA_F32, {2048, 2048}, {1, 2048}},
               {"bf16 transposed 2048", RUDA_BF16, RUDA_BF16, {2048, 2048}, {1, 2048}},
               {"f32 to bf16 256 MiB", RUDA_F32, RUDA_BF16, {67108864}, {}},
               {"f32 256 MiB", RUDA_F32, RUDA_F32, {67108864}, {}}};
  for (const auto& c : cases) {
    OpRun op(env, "copy");
    op.input(X, c.from, c.shape, Values(size_t(count_of(c.shape)), 1.0), c.strides);
    op.output(Y, c.to, c.shape);
    op.bench(std::string("copy ") + c.name, double(count_of(c.shape)) * (size_of(c.from) + size_of(c.to)), 0,
             creator(env, op));
  }
}
