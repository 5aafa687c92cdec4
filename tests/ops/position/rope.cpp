// tests/ops/position/rope.cpp - rope against the rotation in double, and its frequency tables against
// published values.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t X = RUDA_ROPE_X, POSITIONS = RUDA_ROPE_POSITIONS, FREQUENCIES = RUDA_ROPE_FREQUENCIES,
                   Y = RUDA_ROPE_Y;

struct Case {
  uint32_t dtype = RUDA_F32;
  Shape shape;  // [tokens, heads, head_dim]
  int64_t rotary = 0;
  uint32_t pairing = RUDA_ROPE_HALF, direction = RUDA_ROPE_FORWARD;
  uint32_t position_dtype = RUDA_I32;
  double top_position = 4096;
  double attention_factor = 0;
  bool tensor = false;
  Shape x_strides = {}, y_strides = {};
  bool in_place = false;
};

ruda_rope_params base_params(double theta = 10000) {
  ruda_rope_params p = RUDA_ROPE_PARAMS_INIT;
  p.theta = theta;
  return p;
}

ruda_rope_params params_of(const Case& c) {
  ruda_rope_params p = base_params();
  p.pairing = c.pairing;
  p.direction = c.direction;
  p.rotary_dim = c.rotary;
  p.attention_factor = c.attention_factor;
  return p;
}

OpRun::Create creator(Env& env, const OpRun& op, const Case& c) {
  return [&env, &op, c](const ruda_plan_options* options, ruda_plan* out) {
    const ruda_rope_params p = params_of(c);
    ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
    desc.options = options;
    desc.x = op.desc(X);
    desc.positions = op.desc(POSITIONS);
    desc.frequencies = c.tensor ? op.desc(FREQUENCIES) : nullptr;
    desc.y = c.in_place ? op.desc(X) : op.desc(Y);
    desc.params = &p;
    return ruda_rope_plan_create(env.context, &desc, out);
  };
}

void check_case(Env& env, const Case& c) {
  const int64_t tokens = c.shape[0], heads = c.shape[1], dim = c.shape[2], rotary = c.rotary ? c.rotary : dim;
  OpRun op(env, "rope");
  std::vector<double> x;
  if (c.in_place)
    x = op.inout(X, c.dtype, c.shape, env.normal(count_of(c.shape), 2.0));
  else
    x = op.random_input(X, c.dtype, c.shape, 2.0, c.x_strides);
  std::vector<double> positions;
  for (int64_t t = 0; t < tokens; ++t)
    positions.push_back(t == 0   ? c.top_position
                        : t == 1 ? -3
                                 : double(env.integer(0, int64_t(c.top_position))));
  positions = op.input(POSITIONS, c.position_dtype, {tokens}, positions);
  std::vector<double> frequencies(static_cast<size_t>(rotary / 2));
  for (size_t i = 0; i < frequencies.size(); ++i)
    frequencies[i] = std::pow(10000.0, -2.0 * double(i) / double(rotary));
  if (c.tensor) {
    for (double& f : frequencies) f = env.uniform(0, 1);
    frequencies = op.input(FREQUENCIES, RUDA_F32, {rotary / 2}, frequencies);
  }
  if (c.in_place)
    op.bind_same(Y, X);
  else
    op.output(Y, c.dtype, c.shape, c.y_strides);

  std::vector<double> expected = x, bound(x.size());
  const double factor = c.attention_factor ? c.attention_factor : 1;
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rotary / 2; ++i) {
        const size_t head = size_t((t * heads + h) * dim);
        const size_t a = head + size_t(c.pairing == RUDA_ROPE_HALF ? i : 2 * i);
        const size_t b = head + size_t(c.pairing == RUDA_ROPE_HALF ? i + rotary / 2 : 2 * i + 1);
        const long double angle = (long double)positions[size_t(t)] * (long double)frequencies[size_t(i)];
        const double cosine = double(cosl(angle)), sine = (c.direction ? -1 : 1) * double(sinl(angle));
        expected[a] = factor * (x[a] * cosine - x[b] * sine);
        expected[b] = factor * (x[a] * sine + x[b] * cosine);
        // The documented bound, then one rounding to the dtype.
        const double before = (std::fabs(x[a]) + std::fabs(x[b])) * factor *
                              (std::ldexp(1.0, -22) + std::fabs(double(angle)) * std::ldexp(1.0, -51));
        bound[a] = before + std::fabs(expected[a]) * epsilon(c.dtype) * 0.51;
        bound[b] = before + std::fabs(expected[b]) * epsilon(c.dtype) * 0.51;
      }
  const auto create = creator(env, op, c);
  op.each_kernel(create, [&](const std::string& kernel) {
    // F16 results below its normal range round to its grid.
    const double grid = c.dtype == RUDA_F16 ? std::ldexp(1.0, -25) : 0;
    check_close(kernel.c_str(), op.read(c.in_place ? X : Y), expected,
                [&](size_t i) { return bound[i] + grid; });
  });
}

// Turning ones by any angle gives at most sqrt(2).
void check_length(Env& env, const Case& c) {
  OpRun op(env, "rope");
  op.input(X, c.dtype, c.shape, std::vector<double>(size_t(count_of(c.shape)), 1.0));
  std::vector<double> positions(size_t(c.shape[0]), c.top_position);
  for (size_t t = 0; t < positions.size(); ++t)
    positions[t] *= (t % 2 ? -1 : 1) * (1 - double(t) / double(2 * positions.size()));
  op.input(POSITIONS, c.position_dtype, {c.shape[0]}, positions);
  op.output(Y, c.dtype, c.shape);
  const auto create = creator(env, op, c);
  op.each_kernel(create, [&](const std::string& kernel) {
    for (double y : op.read(Y)) CHECK(std::fabs(y) <= 1.41422, "%s: %g of ones turned", kernel.c_str(), y);
  });
}

std::vector<double> table(const ruda_rope_params& params, int64_t count, double* factor = nullptr) {
  std::vector<double> f(static_cast<size_t>(count));
  MUST(ruda_rope_frequencies(&params, f.data(), count, factor));
  return f;
}

void check_value(const char* name, double got, double want, double relative) {
  CHECK(std::fabs(got - want) <= relative * std::fabs(want), "%s is %.12g, expected %.12g", name, got, want);
}

}  // namespace

RUDA_TEST(rope_shapes) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
      for (int64_t dim : {2, 4, 6, 14, 16, 30, 32, 34, 62, 64, 66, 96, 128, 514})
        check_case(env, {.dtype = dtype, .shape = {3, 2, dim}, .pairing = pairing});
  check_case(env, {.shape = {5, 3, 1030}});
  check_case(env, {.shape = {5, 3, 1030}, .pairing = RUDA_ROPE_INTERLEAVED, .tensor = true});
}

RUDA_TEST(rope_empty) {
  check_case(env, {.shape = {0, 2, 64}});
  check_case(env, {.shape = {3, 0, 64}});
  check_case(env, {.shape = {3, 2, 0}});
}

RUDA_TEST(rope_partial) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    for (int64_t rotary : {2, 10, 32, 48})
      check_case(env, {.dtype = RUDA_BF16, .shape = {4, 3, 50}, .rotary = rotary, .pairing = pairing});
}

RUDA_TEST(rope_inverse_and_factor) {
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED}) {
    check_case(env, {.shape = {4, 3, 64}, .pairing = pairing, .direction = RUDA_ROPE_INVERSE});
    check_case(
        env,
        {.shape = {4, 3, 64}, .pairing = pairing, .direction = RUDA_ROPE_INVERSE, .attention_factor = 1.3});
    check_case(env, {.dtype = RUDA_F16, .shape = {4, 3, 64}, .pairing = pairing, .attention_factor = 0.7});
  }
}

RUDA_TEST(rope_far_positions) {
  check_case(env, {.shape = {40, 1, 128}, .top_position = 1e6});
  check_case(env, {.shape = {40, 1, 128}, .top_position = 2147483647.0});
  check_case(env, {.shape = {40, 1, 128}, .position_dtype = RUDA_I64, .top_position = 1e6 + 1});
  check_case(env, {.shape = {40, 1, 128}, .position_dtype = RUDA_I64, .top_position = 1e12});
  // beyond 2^51 an F64 angle is known to whole turns only: the bound admits any rotation, but nothing longer
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    for (double top : {0x1p50, 0x1.8p51, 0x1p54, 0x1p57, 0x1.8p62}) {
      const Case c{
          .shape = {40, 1, 128}, .pairing = pairing, .position_dtype = RUDA_I64, .top_position = top};
      check_case(env, c);
      check_length(env, c);
    }
}

RUDA_TEST(rope_strided_and_in_place) {
  check_case(env, {.shape = {5, 3, 64}, .x_strides = {400, 70, 1}, .y_strides = {64, 400, 1}});
  check_case(env, {.dtype = RUDA_F16, .shape = {5, 3, 34}, .rotary = 20, .x_strides = {34, 170, 1}});
  for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
    check_case(env,
               {.dtype = RUDA_BF16, .shape = {7, 2, 40}, .rotary = 36, .pairing = pairing, .in_place = true});
}

RUDA_TEST(rope_many_tokens) {
  check_case(env, {.shape = {1031, 3, 64}});
  check_case(env, {.shape = {257, 9, 64}, .pairing = RUDA_ROPE_INTERLEAVED, .tensor = true});
}

// The kinds of Llama 3.1 and DeepSeek: values computed apart from this library.
RUDA_TEST(rope_published_tables) {
  ruda_rope_params p = base_params(5e5);
  p.scaling = RUDA_ROPE_SCALING_LLAMA3;
  p.factor = 8;
  p.original_positions = 8192;
  const auto llama = table(p, 64);
  check_value("llama3 28", llama[28], 0.003211446, 2e-7);
  check_value("llama3 29", llama[29], 0.00216657075, 2e-7);
  check_value("llama3 31", llama[31], 0.00085675141, 2e-7);
  check_value("llama3 34", llama[34], 0.00017850781, 2e-7);
  check_value("llama3 35", llama[35], 9.5562124e-05, 2e-7);
  check_value("llama3 63", llama[63], 3.0689260e-07, 2e-7);

  p = base_params(1e4);
  p.scaling = RUDA_ROPE_SCALING_YARN;
  p.factor = 40;
  p.original_positions = 4096;
  double factor = 0;
  const auto yarn = table(p, 32, &factor);
  check_value("yarn 0", yarn[0], 1.0, 1e-12);
  check_value("yarn 10", yarn[10], 0.0562341325, 1e-8);
  check_value("yarn 16", yarn[16], 0.0055, 1e-8);
  check_value("yarn 23", yarn[23], 3.3338036e-05, 1e-7);
  check_value("yarn factor", factor, 0.1 * std::log(40.0) + 1, 1e-12);
  p.mscale = p.mscale_all_dim = 1;
  table(p, 32, &factor);
  check_value("yarn factor with mscale", factor, 1.0, 1e-12);
  p.mscale = 0.707;
  table(p, 32, &factor);
  check_value("yarn factor with mscale", factor, (0.0707 * std::log(40.0) + 1) / (0.1 * std::log(40.0) + 1),
              1e-12);
}

RUDA_TEST(rope_scaling_kinds) {
  ruda_rope_params p = base_params();
  const auto plain = table(p, 32);
  p.scaling = RUDA_ROPE_SCALING_LINEAR;
  p.factor = 4;
  const auto linear = table(p, 32);
  for (size_t i = 0; i < 32; ++i) check_value("linear", linear[i], plain[i] / 4, 1e-14);

  p.scaling = RUDA_ROPE_SCALING_DYNAMIC;
  p.factor = 2;
  p.original_positions = 2048;
  p.seq_len = 1000;  // short: nothing changes
  for (size_t i = 0; i < 32; ++i) check_value("dynamic, short", table(p, 32)[i], plain[i], 1e-12);
  p.seq_len = 8192;
  const double stretched = 1e4 * std::pow(2.0 * 8192 / 2048 - 1, 64.0 / 62);
  for (size_t i = 0; i < 32; ++i)
    check_value("dynamic, long", table(p, 32)[i], std::pow(stretched, -double(i) / 32), 1e-12);

  std::vector<double> shorts, longs;
  for (int i = 0; i < 32; ++i) {
    shorts.push_back(1 + 0.01 * i);
    longs.push_back(1 + i);
  }
  p = base_params();
  p.scaling = RUDA_ROPE_SCALING_LONGROPE;
  p.original_positions = 4096;
  p.factor = 32;
  p.short_factors = shorts.data();
  p.long_factors = longs.data();
  p.factor_count = 32;
  double factor = 0;
  p.seq_len = 4096;
  auto f = table(p, 32, &factor);
  for (size_t i = 0; i < 32; ++i) check_value("longrope, short", f[i], plain[i] / shorts[i], 1e-14);
  check_value("longrope factor", factor, std::sqrt(1 + std::log(32.0) / std::log(4096.0)), 1e-12);
  p.seq_len = 4097;
  f = table(p, 32);
  for (size_t i = 0; i < 32; ++i) check_value("longrope, long", f[i], plain[i] / longs[i], 1e-14);
}

RUDA_TEST(rope_eager) {
  OpRun op(env, "rope");
  const auto x = op.input(X, RUDA_F32, {1, 1, 4}, {1, 2, 3, 4});
  op.input(POSITIONS, RUDA_I32, {1}, {1});
  op.input(FREQUENCIES, RUDA_F32, {2}, {0.5, 0});
  ruda_rope_params p = base_params();
  for (int round = 0; round < 2; ++round) {
    ruda_tensor y = nullptr;
    MUST(ruda_rope(env.stream, op.tensor(X), op.tensor(POSITIONS), op.tensor(FREQUENCIES), &p, &y));
    float got[4];
    MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
    check_close("eager", {got, got + 4},
                {std::cos(0.5) - 3 * std::sin(0.5), 2, std::sin(0.5) + 3 * std::cos(0.5), 4},
                [](size_t) { return 1e-6; });
    ruda_release(y);
  }
  const double factors[2] = {1, 1};
  p.short_factors = factors;
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_rope(env.stream, op.tensor(X), op.tensor(POSITIONS), nullptr, &p, &y), RUDA_E_ARGUMENT, 4,
              "takes no factor arrays");
  CHECK_FAILS(ruda_rope(env.stream, op.tensor(X), op.tensor(POSITIONS), nullptr, nullptr, &y), RUDA_E_NULL, 4,
              "params is NULL");
  CHECK_FAILS(ruda_rope(env.stream, nullptr, op.tensor(POSITIONS), op.tensor(FREQUENCIES), &p, nullptr),
              RUDA_E_NULL, 5, "out is NULL");
}

RUDA_TEST(rope_errors) {
  OpRun op(env, "rope");
  op.random_input(X, RUDA_F32, {3, 2, 8});
  op.input(POSITIONS, RUDA_I32, {3}, {0, 1, 2});
  op.input(FREQUENCIES, RUDA_F32, {3}, {1, 1, 1});
  op.output(Y, RUDA_F32, {3, 2, 7});
  OpRun other(env, "rope");
  other.input(X, RUDA_I32, {3, 2, 8}, std::vector<double>(48, 0));
  other.input(POSITIONS, RUDA_I32, {4}, {0, 1, 2, 3});
  other.random_input(FREQUENCIES, RUDA_F32, {3, 8, 2}, 1, {16, 1, 8});
  other.input(Y, RUDA_U32, {3}, {0, 1, 2});
  const auto attempt = [&](auto change) {
    ruda_rope_params p = base_params();
    ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
    desc.x = op.desc(X);
    desc.positions = op.desc(POSITIONS);
    desc.params = &p;
    change(desc, p);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_rope_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_rope_desc;
  using P = ruda_rope_params;
  CHECK_FAILS(attempt([&](D& d, P&) { d.x = nullptr; }), RUDA_E_NULL, 1, "rope: x is NULL");
  CHECK_FAILS(attempt([&](D& d, P&) { d.positions = nullptr; }), RUDA_E_NULL, 1, "rope: positions is NULL");
  CHECK_FAILS(attempt([&](D& d, P&) { d.params = nullptr; }), RUDA_E_NULL, 1, "desc.params is NULL");
  CHECK_FAILS(attempt([&](D& d, P&) { d.x = other.desc(X); }), RUDA_E_DTYPE, 1, "x has dtype I32");
  CHECK_FAILS(attempt([&](D& d, P&) { d.x = op.desc(POSITIONS); }), RUDA_E_DTYPE, 1, "x has dtype I32");
  CHECK_FAILS(attempt([&](D& d, P&) { d.x = op.desc(FREQUENCIES); }), RUDA_E_SHAPE, 1,
              "x has rank 1, expected 3");
  CHECK_FAILS(attempt([&](D& d, P&) { d.x = other.desc(FREQUENCIES); }), RUDA_E_SHAPE, 1,
              "last stride 8, expected 1");
  CHECK_FAILS(attempt([&](D& d, P&) { d.positions = other.desc(POSITIONS); }), RUDA_E_SHAPE, 1,
              "positions dim 0 is 4, expected 3");
  CHECK_FAILS(attempt([&](D& d, P&) { d.positions = other.desc(Y); }), RUDA_E_DTYPE, 1,
              "positions has dtype U32");
  CHECK_FAILS(attempt([&](D& d, P&) { d.frequencies = op.desc(FREQUENCIES); }), RUDA_E_SHAPE, 1,
              "frequencies dim 0 is 3, expected 4");
  CHECK_FAILS(attempt([&](D& d, P&) { d.y = op.desc(Y); }), RUDA_E_SHAPE, 1,
              "y has shape [3, 2, 7], expected [3, 2, 8]");
  CHECK_FAILS(attempt([&](D&, P& p) { p.rotary_dim = 10; }), RUDA_E_SHAPE, 1,
              "rotary_dim is 10, expected even and 0..8");
  CHECK_FAILS(attempt([&](D&, P& p) { p.rotary_dim = 5; }), RUDA_E_SHAPE, 1, "rotary_dim is 5");
  CHECK_FAILS(attempt([&](D&, P& p) { p.rotary_dim = -2; }), RUDA_E_SHAPE, 1, "rotary_dim is -2");
  CHECK_FAILS(attempt([&](D&, P& p) { p.pairing = 2; }), RUDA_E_ARGUMENT, 1, "pairing is 2, expected 0..1");
  CHECK_FAILS(attempt([&](D&, P& p) { p.direction = 2; }), RUDA_E_ARGUMENT, 1,
              "direction is 2, expected 0..1");
  CHECK_FAILS(attempt([&](D&, P& p) { p.scaling = 6; }), RUDA_E_ARGUMENT, 1, "scaling is 6, expected 0..5");
  CHECK_FAILS(attempt([&](D&, P& p) { p.flags = 2; }), RUDA_E_ARGUMENT, 1, "flags are 0x2");
  for (double theta : {0.0, -1.0, double(NAN), double(INFINITY)})
    CHECK_FAILS(attempt([&](D&, P& p) { p.theta = theta; }), RUDA_E_ARGUMENT, 1, "theta is");
  CHECK_FAILS(attempt([&](D&, P& p) { p.attention_factor = -1; }), RUDA_E_ARGUMENT, 1,
              "attention_factor is -1");
  for (double factor : {1e-50, 1e39})
    CHECK_FAILS(attempt([&](D&, P& p) { p.attention_factor = factor; }), RUDA_E_ARGUMENT, 1,
                "expected finite and above 0 as F32");
  CHECK_FAILS(attempt([&](D&, P& p) {
                p.theta = 1e-300;
                p.scaling = RUDA_ROPE_SCALING_LINEAR;
                p.factor = 1e-300;
              }),
              RUDA_E_ARGUMENT, 1,
              "rope: frequency 0 is 1e+300, expected at most 3.40282e+38, the largest F32; "
              "theta is 1e-300, its factor 1e-300");
  CHECK_FAILS(attempt([&](D&, P& p) { p.scaling = RUDA_ROPE_SCALING_LINEAR; }), RUDA_E_ARGUMENT, 1,
              "factor is 0");
  CHECK_FAILS(attempt([&](D&, P& p) {
                p.scaling = RUDA_ROPE_SCALING_YARN;
                p.factor = 2;
              }),
              RUDA_E_ARGUMENT, 1, "original_positions is 0");
  CHECK_FAILS(attempt([&](D&, P& p) {
                p.scaling = RUDA_ROPE_SCALING_LLAMA3;
                p.factor = 2;
                p.original_positions = 10;
                p.low_frequency_factor = 4;
              }),
              RUDA_E_ARGUMENT, 1, "high_frequency_factor is 4");
  const auto longrope = [](P& p) {
    p.scaling = RUDA_ROPE_SCALING_LONGROPE;
    p.original_positions = 10;
  };
  const double zeros[4] = {1, 1, 0, 1};
  CHECK_FAILS(attempt([&](D&, P& p) { longrope(p); }), RUDA_E_NULL, 1, "short_factors is NULL");
  CHECK_FAILS(attempt([&](D&, P& p) {
                longrope(p);
                p.short_factors = zeros;
                p.factor_count = 3;
              }),
              RUDA_E_ARGUMENT, 1, "factor_count is 3, expected 4");
  CHECK_FAILS(attempt([&](D&, P& p) {
                longrope(p);
                p.short_factors = zeros;
                p.factor_count = 4;
              }),
              RUDA_E_ARGUMENT, 1, "short_factors is 0");
  ruda_rope_params p = base_params();
  p.rotary_dim = 8;
  double f[4];
  CHECK_FAILS(ruda_rope_frequencies(&p, f, 3, nullptr), RUDA_E_SHAPE, 2,
              "count is 3, expected rotary_dim / 2, which is 4");
  CHECK_FAILS(ruda_rope_frequencies(nullptr, f, 4, nullptr), RUDA_E_NULL, 0, "params is NULL");
}

// Every value of every scaling at and past the ends of its range: a table is finite, or refused with a text
// that names the value.
RUDA_TEST(rope_ranges) {
  using P = ruda_rope_params;
  const auto of = [](uint32_t scaling, auto change) {
    P p = base_params();
    p.scaling = scaling;
    p.factor = 2;
    p.original_positions = scaling >= RUDA_ROPE_SCALING_DYNAMIC ? 64 : 0;
    change(p);
    return p;
  };
  const auto attempt = [](const P& p) {
    double f[4] = {-1, -1, -1, -1}, factor = -1;
    const ruda_status status = ruda_rope_frequencies(&p, f, 4, &factor);
    CHECK(status == RUDA_OK || (factor == 0 && f[0] == -1), "a failed call left factor %g, frequency %g",
          factor, f[0]);
    if (status == RUDA_OK)
      for (double value : {f[0], f[1], f[2], f[3], factor})
        CHECK(std::isfinite(value) && value >= 0 && value <= 3.4028235e38, "a table holds %g", value);
    return status;
  };
  constexpr uint32_t LINEAR = RUDA_ROPE_SCALING_LINEAR, DYNAMIC = RUDA_ROPE_SCALING_DYNAMIC,
                     YARN = RUDA_ROPE_SCALING_YARN, LLAMA3 = RUDA_ROPE_SCALING_LLAMA3,
                     LONGROPE = RUDA_ROPE_SCALING_LONGROPE;
  CHECK_FAILS(
      attempt(of(LINEAR, [](P& p) { p.factor = 1e-308; })), RUDA_E_ARGUMENT, 0,
      "frequency 0 is 1e+308, expected at most 3.40282e+38, the largest F32; theta is 10000, its factor "
      "1e-308");
  CHECK_FAILS(attempt(of(LINEAR, [](P& p) { p.factor = 1e-39; })), RUDA_E_ARGUMENT, 0,
              "frequency 0 is 1e+39");
  CHECK_FAILS(attempt(of(LINEAR, [](P& p) { p.factor = 5e-324; })), RUDA_E_ARGUMENT, 0, "frequency 0 is inf");
  MUST(attempt(of(LINEAR, [](P& p) { p.factor = 1e-38; })));
  MUST(attempt(of(LINEAR, [](P& p) { p.factor = 1e308; })));
  CHECK_FAILS(attempt(of(0, [](P& p) { p.theta = 1e-60; })), RUDA_E_ARGUMENT, 0, "frequency 3 is 1e+45");
  MUST(attempt(of(0, [](P& p) { p.theta = 1e308; })));

  CHECK_FAILS(attempt(of(DYNAMIC, [](P& p) { p.factor = 1e308, p.seq_len = 640; })), RUDA_E_ARGUMENT, 0,
              "dynamic scaling makes theta inf, expected finite; theta is 10000, factor 1e+308, seq_len 640, "
              "original_positions 64");
  // What is not stretched stays, however large the factor: 1 and not factor - factor.
  double f[4];
  const P still = of(DYNAMIC, [](P& p) { p.factor = 1e300, p.seq_len = 64; });
  MUST(ruda_rope_frequencies(&still, f, 4, nullptr));
  for (int i = 0; i < 4; ++i) check_value("dynamic, not stretched", f[i], std::pow(1e4, -i / 4.0), 1e-12);
  MUST(
      attempt(of(DYNAMIC, [](P& p) { p.factor = 5e-324, p.seq_len = INT64_MAX, p.original_positions = 1; })));

  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.theta = 1; })), RUDA_E_ARGUMENT, 0,
              "theta is 1, expected above 1 for yarn");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.theta = 0.5; })), RUDA_E_ARGUMENT, 0,
              "theta is 0.5, expected above 1 for yarn");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.factor = 1e-310; })), RUDA_E_ARGUMENT, 0, "expected at most");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.beta_fast = 0.5; })), RUDA_E_ARGUMENT, 0,
              "beta_fast is 0.5, expected finite and at least beta_slow, which is 1");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.beta_fast = INFINITY; })), RUDA_E_ARGUMENT, 0,
              "beta_fast is inf");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.beta_slow = -1; })), RUDA_E_ARGUMENT, 0, "beta_slow is -1");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.mscale = 1e308, p.mscale_all_dim = 1e308, p.factor = 1e300; })),
              RUDA_E_ARGUMENT, 0, "attention factor is");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.mscale = NAN; })), RUDA_E_ARGUMENT, 0, "mscale is nan");
  CHECK_FAILS(attempt(of(YARN, [](P& p) { p.mscale_all_dim = -1; })), RUDA_E_ARGUMENT, 0,
              "mscale_all_dim is -1");
  MUST(attempt(of(YARN, [](P& p) { p.factor = 1e300; })));
  // Pairs that keep their frequency do not meet a factor that the others cannot have.
  const P kept =
      of(YARN, [](P& p) { p.factor = 5e-324, p.beta_slow = 1e-300, p.original_positions = 63000000; });
  MUST(ruda_rope_frequencies(&kept, f, 4, nullptr));
  for (int i = 0; i < 4; ++i) check_value("yarn, kept", f[i], std::pow(1e4, -i / 4.0), 1e-12);

  CHECK_FAILS(attempt(of(LLAMA3, [](P& p) { p.factor = 1e-308; })), RUDA_E_ARGUMENT, 0, "expected at most");
  CHECK_FAILS(attempt(of(LLAMA3, [](P& p) { p.low_frequency_factor = NAN; })), RUDA_E_ARGUMENT, 0,
              "low_frequency_factor is nan");
  CHECK_FAILS(attempt(of(LLAMA3, [](P& p) { p.high_frequency_factor = INFINITY; })), RUDA_E_ARGUMENT, 0,
              "high_frequency_factor is inf");
  MUST(attempt(of(LLAMA3, [](P& p) { p.low_frequency_factor = 5e-324, p.high_frequency_factor = 1e-323; })));
  MUST(attempt(of(LLAMA3, [](P& p) { p.high_frequency_factor = 1e308, p.factor = 1e308; })));

  static const double ones[4] = {1, 1, 1, 1}, tiny[4] = {1, 1, 1e-300, 1};
  const auto longrope = [&](auto change) {
    return of(LONGROPE, [&](P& p) {
      p.short_factors = ones;
      p.factor_count = 4;
      change(p);
    });
  };
  CHECK_FAILS(
      attempt(longrope([](P& p) { p.short_factors = tiny; })), RUDA_E_ARGUMENT, 0,
      "frequency 2 is 1e+298, expected at most 3.40282e+38, the largest F32; theta is 10000, its factor "
      "1e-300");
  CHECK_FAILS(attempt(longrope([](P& p) { p.long_factors = tiny, p.seq_len = 65; })), RUDA_E_ARGUMENT, 0,
              "frequency 2 is 1e+298");
  CHECK_FAILS(attempt(longrope([](P& p) { p.factor = -1; })), RUDA_E_ARGUMENT, 0, "factor is -1");
  // sqrt(1 + ln(factor) / ln(original)): no value where ln(original) is 0.
  CHECK_FAILS(attempt(longrope([](P& p) { p.original_positions = 1; })), RUDA_E_ARGUMENT, 0,
              "original_positions is 1, expected above 1");
  double factor = 0;
  P p = longrope([](P& q) { q.original_positions = 1, q.attention_factor = 1.5; });
  MUST(ruda_rope_frequencies(&p, f, 4, &factor));
  check_value("longrope, given factor", factor, 1.5, 0);
  p = longrope([](P& q) { q.original_positions = 1, q.factor = 1; });
  MUST(ruda_rope_frequencies(&p, f, 4, &factor));
  check_value("longrope, not stretched", factor, 1, 0);
  p = longrope([](P& q) { q.original_positions = 2; });
  MUST(ruda_rope_frequencies(&p, f, 4, &factor));
  check_value("longrope, smallest context", factor, std::sqrt(2.0), 1e-15);

  CHECK_FAILS(attempt(of(0, [](P& q) { q.seq_len = -1; })), RUDA_E_ARGUMENT, 0, "seq_len is -1");
  CHECK_FAILS(attempt(of(DYNAMIC, [](P& q) { q.original_positions = -5; })), RUDA_E_ARGUMENT, 0,
              "original_positions is -5");
  for (uint32_t scaling : {LINEAR, DYNAMIC, YARN, LLAMA3})
    for (double wrong : {0.0, -1.0, double(NAN), double(INFINITY)})
      CHECK_FAILS(attempt(of(scaling, [&](P& q) { q.factor = wrong; })), RUDA_E_ARGUMENT, 0, "factor is");

  // The largest frequency at the farthest position is still a rotation.
  OpRun op(env, "rope");
  op.input(X, RUDA_F32, {1, 1, 2}, {1, 0});
  op.input(POSITIONS, RUDA_I64, {1}, {9.2e18});
  P far = of(LINEAR, [](P& q) { q.factor = 2.94e-39; });
  ruda_tensor y = nullptr;
  MUST(ruda_rope(env.stream, op.tensor(X), op.tensor(POSITIONS), nullptr, &far, &y));
  float got[2];
  MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
  CHECK(std::fabs(std::hypot(got[0], got[1]) - 1) < 1e-6, "(1, 0) became (%g, %g)", double(got[0]),
        double(got[1]));
  ruda_release(y);
}

RUDA_BENCH(rope_bench) {
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (uint32_t pairing : {RUDA_ROPE_HALF, RUDA_ROPE_INTERLEAVED})
      for (Shape shape : {Shape{1, 9, 64}, Shape{512, 9, 64}, Shape{2048, 32, 128}}) {
        OpRun op(env, "rope");
        op.random_input(X, dtype, shape);
        std::vector<double> positions;
        for (int64_t t = 0; t < shape[0]; ++t) positions.push_back(double(t));
        op.input(POSITIONS, RUDA_I32, {shape[0]}, positions);
        op.output(Y, dtype, shape);
        const std::string name = std::string("rope ") + (dtype == RUDA_F32 ? "f32 " : "bf16 ") +
                                 (pairing ? "interleaved [" : "half [") + std::to_string(shape[0]) + ", " +
                                 std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + "]";
        op.bench(name, 2.0 * double(count_of(shape)) * size_of(dtype), 0,
                 creator(env, op, {.shape = shape, .pairing = pairing}));
      }
}
