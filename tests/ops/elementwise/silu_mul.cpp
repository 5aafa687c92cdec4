// tests/ops/elementwise/silu_mul.cpp - silu_mul against the formula in double, with both roundings.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t GATE = RUDA_SILU_MUL_GATE, UP = RUDA_SILU_MUL_UP, Y = RUDA_SILU_MUL_Y;
using Values = std::vector<double>;

double rounded(uint32_t dtype, double value) {
  uint8_t bytes[8];
  encode(dtype, value, bytes);
  return decode(dtype, bytes);
}

double silu(double x) { return x / (1 + std::exp(-x)); }

Values oracle(uint32_t dtype, const Values& gate, const Values& up) {
  Values y(gate.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = rounded(dtype, rounded(dtype, silu(gate[i])) * up[i]);
  return y;
}

OpRun::Create creator(Env& env, const OpRun& op, uint32_t y_slot = Y) {
  return [&env, &op, y_slot](const ruda_plan_options* options, ruda_plan* out) {
    ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
    desc.options = options;
    desc.gate = op.desc(GATE);
    desc.up = op.desc(UP);
    desc.y = op.desc(y_slot);
    return ruda_silu_mul_plan_create(env.context, &desc, out);
  };
}

// F32: 4 ulp of silu and one rounding of the product. 16 bits: those 4 ulp can push the first rounding over a
// tie, a step of at most epsilon relative, after which the two products are rounded by half an epsilon each.
double relative_bound(uint32_t dtype) {
  return dtype == RUDA_F32 ? epsilon(RUDA_F32) * 5 : epsilon(dtype) * 2.01;
}

void verify(const std::string& kernel, const Values& got, const Values& expected, uint32_t dtype) {
  check_close(kernel.c_str(), got, expected,
              [&](size_t i) { return std::fabs(expected[i]) * relative_bound(dtype) + 1e-37; });
  // A first rounding in the wrong place would move many elements, a near tie moves few.
  if (dtype == RUDA_F32) return;
  size_t different = 0;
  for (size_t i = 0; i < got.size(); ++i) different += got[i] != expected[i] && !std::isnan(expected[i]);
  CHECK(different <= got.size() / 200 + 2, "%s: %zu of %zu elements differ from the two roundings",
        kernel.c_str(), different, got.size());
}

void check_case(Env& env, uint32_t dtype, Shape shape, Shape gate_strides = {}, Shape up_strides = {},
                Shape y_strides = {}) {
  OpRun op(env, "silu_mul");
  const auto gate = op.random_input(GATE, dtype, shape, 4.0, std::move(gate_strides));
  const auto up = op.random_input(UP, dtype, shape, 2.0, std::move(up_strides));
  op.output(Y, dtype, shape, std::move(y_strides));
  const auto expected = oracle(dtype, gate, up);
  op.each_kernel(creator(env, op),
                 [&](const std::string& kernel) { verify(kernel, op.read(Y), expected, dtype); });
}

}  // namespace

RUDA_TEST(silu_mul_shapes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
    for (int64_t count : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 257, 1009, 40000})
      check_case(env, dtype, {count});
    check_case(env, dtype, {});
    check_case(env, dtype, {3, 5, 7, 11});
  }
}

RUDA_TEST(silu_mul_strided) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
    check_case(env, dtype, {5, 33}, {66, 1}, {66, 1}, {40, 1});
    check_case(env, dtype, {5, 33}, {1, 5}, {1, 5}, {1, 5});  // transposed alike: still dense in memory
    check_case(env, dtype, {5, 33}, {1, 5}, {33, 1}, {});
    check_case(env, dtype, {4, 9}, {0, 1}, {1, 0}, {});  // repeated elements
    check_case(env, dtype, {300, 129}, {258, 1}, {258, 1});
  }
}

// gate and up as the two halves of one [rows, 2 * width] tensor; y lies over the gate.
RUDA_TEST(silu_mul_halves_of_one) {
  const int64_t rows = 7, width = 96;
  const auto values = env.normal(rows * 2 * width, 3.0);
  OpRun both(env, "silu_mul");
  const auto stored = both.inout(GATE, RUDA_BF16, {rows, 2 * width}, values);
  Values gate, up;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      gate.push_back(stored[size_t(r * 2 * width + c)]);
      up.push_back(stored[size_t(r * 2 * width + width + c)]);
    }
  const auto half = [&](int64_t from) {
    const int64_t begin[] = {0, from}, end[] = {rows, from + width};
    ruda_tensor view = nullptr;
    MUST(ruda_tensor_slice(both.tensor(GATE), begin, end, nullptr, 2, &view));
    return view;
  };
  ruda_tensor g = half(0), u = half(width);
  ruda_tensor_desc desc_g = RUDA_TENSOR_DESC_INIT, desc_u = RUDA_TENSOR_DESC_INIT;
  MUST(ruda_tensor_get_desc(g, &desc_g));
  MUST(ruda_tensor_get_desc(u, &desc_u));
  ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
  desc.gate = &desc_g;
  desc.up = &desc_u;
  desc.y = &desc_g;
  ruda_plan plan = nullptr;
  MUST(ruda_silu_mul_plan_create(env.context, &desc, &plan));
  ruda_binding bindings[3] = {
      {GATE, RUDA_BIND_TENSOR, {g}}, {UP, RUDA_BIND_TENSOR, {u}}, {Y, RUDA_BIND_TENSOR, {g}}};
  MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr));
  const auto after = both.read(GATE);
  Values y, rest;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      y.push_back(after[size_t(r * 2 * width + c)]);
      rest.push_back(after[size_t(r * 2 * width + width + c)]);
    }
  verify("halves", y, oracle(RUDA_BF16, gate, up), RUDA_BF16);
  CHECK(rest == up, "the half of up was changed");
  for (void* handle : {(void*)plan, (void*)g, (void*)u}) ruda_release(handle);
}

RUDA_TEST(silu_mul_in_place) {
  for (uint32_t over : {GATE, UP}) {
    OpRun op(env, "silu_mul");
    const auto values = env.normal(1000, 2.0);
    const uint32_t other = over == GATE ? UP : GATE;
    const auto a = op.inout(over, RUDA_F16, {1000}, values);
    const auto b = op.random_input(other, RUDA_F16, {1000});
    op.bind_same(Y, over);
    const auto expected = over == GATE ? oracle(RUDA_F16, a, b) : oracle(RUDA_F16, b, a);
    op.each_kernel(creator(env, op, over),
                   [&](const std::string& kernel) { verify(kernel, op.read(over), expected, RUDA_F16); });
  }
}

RUDA_TEST(silu_mul_extremes) {
  const Values gate = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 100, -100, 1e30, -1e30, 88.8, -88.8, 3};
  const Values up = {1, 2, 1, 5, 5, 2, 1, 1, 1, 1, 1, INFINITY};
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) {
    OpRun op(env, "silu_mul");
    const int64_t count = int64_t(gate.size());
    const auto g = op.input(GATE, dtype, {count}, gate);
    const auto u = op.input(UP, dtype, {count}, up);
    op.output(Y, dtype, {count});
    auto expected = oracle(dtype, g, u);
    expected[2] = NAN;  // -inf * sigmoid(-inf) = -inf * 0
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      check_close(kernel.c_str(), op.read(Y), expected,
                  [&](size_t i) { return std::fabs(expected[i]) * relative_bound(dtype) + 1e-37; });
    });
  }
}

// Where sigmoid is subnormal or zero and silu is not: 4 ulp, or the smallest subnormal, and no 0 * inf. A GPU
// is allowed the bound of unary's silu, as the argument of its power of two is long there.
RUDA_TEST(silu_mul_lower_tail) {
  Values gate, up;
  for (int i = 0; i < 4000; ++i) {
    gate.push_back(-80 - 28 * i / 4000.0);
    up.push_back(1);
  }
  gate.push_back(-104), up.push_back(INFINITY);
  gate.push_back(-103.972f), up.push_back(1);
  OpRun op(env, "silu_mul");
  const int64_t count = int64_t(gate.size());
  const auto g = op.input(GATE, RUDA_F32, {count}, gate);
  op.input(UP, RUDA_F32, {count}, up);
  op.output(Y, RUDA_F32, {count});
  op.each_kernel(creator(env, op), [&](const std::string& kernel) {
    Values expected(gate.size());
    for (size_t i = 0; i < gate.size(); ++i) expected[i] = silu(g[i]) * up[i];
    check_close(kernel.c_str(), op.read(Y), expected, [&](size_t i) {
      int exponent = 0;
      std::frexp(expected[i], &exponent);
      if (kernel.starts_with("cuda/")) return 5 * 0x1p-23 * std::fabs(expected[i]) + 0x1p-149;
      return std::max(4 * std::ldexp(1.0, exponent - 24), 0x1p-149);
    });
  });
}

// silu has the bits of unary, and the product those of binary: in pieces, by rows and by element.
RUDA_TEST(silu_mul_is_silu_then_mul) {
  if (env.settings.backend == RUDA_BACKEND_CPU) throw Skip("of one code on GPUs only");
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
    constexpr int64_t count = 20011;
    OpRun op(env, "silu_mul");
    op.random_input(GATE, dtype, {count}, 20.0);
    op.random_input(UP, dtype, {count});
    op.output(Y, dtype, {count});
    ruda_tensor silu = nullptr, product = nullptr;
    MUST(ruda_unary(env.stream, op.tensor(GATE), RUDA_UNARY_SILU, &silu));
    MUST(ruda_binary(env.stream, silu, op.tensor(UP), RUDA_BINARY_MUL, &product));
    std::vector<uint8_t> want(count * size_of(dtype));
    MUST(ruda_tensor_read(env.stream, product, want.data(), want.size()));
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      CHECK(op.read_bytes(Y) == want, "%s: not the bits of silu and mul", kernel.c_str());
    });
    ruda_release(silu), ruda_release(product);
  }
}

RUDA_TEST(silu_mul_eager) {
  OpRun op(env, "silu_mul");
  const auto g = op.random_input(GATE, RUDA_F32, {4, 25});
  const auto u = op.random_input(UP, RUDA_F32, {4, 25});
  for (int round = 0; round < 2; ++round) {
    ruda_tensor y = nullptr;
    MUST(ruda_silu_mul(env.stream, op.tensor(GATE), op.tensor(UP), &y));
    float got[100];
    MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
    verify("eager", {got, got + 100}, oracle(RUDA_F32, g, u), RUDA_F32);
    ruda_release(y);
  }
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_silu_mul(env.stream, nullptr, op.tensor(UP), &y), RUDA_E_NULL, 1, "gate: handle is NULL");
  CHECK_FAILS(ruda_silu_mul(env.stream, op.tensor(GATE), op.tensor(UP), nullptr), RUDA_E_NULL, 3,
              "out is NULL");
}

RUDA_TEST(silu_mul_errors) {
  OpRun op(env, "silu_mul"), other(env, "silu_mul");
  op.random_input(GATE, RUDA_F32, {2, 8});
  op.random_input(UP, RUDA_F32, {2, 8});
  op.output(Y, RUDA_F32, {2, 8});
  other.random_input(GATE, RUDA_F16, {2, 8});
  other.random_input(UP, RUDA_F32, {2, 7});
  other.input(Y, RUDA_I32, {2, 8}, Values(16, 0));
  const auto attempt = [&](auto change) {
    ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
    desc.gate = op.desc(GATE);
    desc.up = op.desc(UP);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_silu_mul_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_silu_mul_desc;
  CHECK_FAILS(attempt([&](D& d) { d.gate = nullptr; }), RUDA_E_NULL, 1, "silu_mul: gate is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.up = nullptr; }), RUDA_E_NULL, 1, "silu_mul: up is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.gate = other.desc(Y); }), RUDA_E_DTYPE, 1,
              "gate has dtype I32, expected one of F32");
  CHECK_FAILS(attempt([&](D& d) { d.gate = other.desc(GATE); }), RUDA_E_DTYPE, 1,
              "up has dtype F32, expected F16");
  CHECK_FAILS(attempt([&](D& d) { d.up = other.desc(UP); }), RUDA_E_SHAPE, 1,
              "up has shape [2, 7], expected [2, 8]");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(UP); }), RUDA_E_SHAPE, 1,
              "y has shape [2, 7], expected [2, 8]");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(GATE); }), RUDA_E_DTYPE, 1,
              "y has dtype F16, expected F32");
  CHECK_FAILS(attempt([&](D& d) { d.struct_size = 4; }), RUDA_E_ARGUMENT, 1, "desc.struct_size is 4");
}

RUDA_BENCH(silu_mul_bench) {
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (Shape shape : {Shape{1, 1536}, Shape{512, 1536}, Shape{2097152}, Shape{67108864}}) {
      OpRun op(env, "silu_mul");
      op.random_input(GATE, dtype, shape);
      op.random_input(UP, dtype, shape);
      op.output(Y, dtype, shape);
      const double bytes = double(count_of(shape)) * size_of(dtype);
      const std::string name = std::string("silu_mul ") + (dtype == RUDA_F32 ? "f32 " : "bf16 ") +
                               std::to_string(int64_t(bytes) >> 10) + " KiB";
      op.bench(name, 3 * bytes, 0, creator(env, op));
    }
}
