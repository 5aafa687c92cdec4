// tests/ops/position/rope_frequencies.cpp - the table of frequencies refuses what plans of rope refuse.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace ruda::test;

namespace {

ruda_rope_params with_theta() {
  ruda_rope_params p = RUDA_ROPE_PARAMS_INIT;
  p.theta = 10000;
  return p;
}

}  // namespace

// What a plan refuses the table refuses too, with the same words behind the name: in every field, also where
// the table is empty, and where only the factor is asked for as a plan with a tensor of frequencies does.
RUDA_TEST(rope_frequencies_check_as_plans) {
  static const double ones[4] = {1, 1, 1, 1}, zeros[4] = {};
  const std::function<void(ruda_rope_params&)> faults[] = {
      [](auto&) {},
      [](auto& p) { p.pairing = 2; },
      [](auto& p) { p.direction = 7; },
      [](auto& p) { p.scaling = 6; },
      [](auto& p) { p.flags = 2; },
      [](auto& p) { p.theta = 0; },
      [](auto& p) { p.theta = NAN; },
      [](auto& p) { p.attention_factor = -1; },
      [](auto& p) { p.mscale = -1; },
      [](auto& p) { p.mscale_all_dim = INFINITY; },
      [](auto& p) { p.seq_len = -1; },
      [](auto& p) { p.scaling = RUDA_ROPE_SCALING_LINEAR; },
      [](auto& p) { p.scaling = RUDA_ROPE_SCALING_DYNAMIC, p.factor = 2; },
      [](auto& p) { p.scaling = RUDA_ROPE_SCALING_YARN, p.factor = 2; },
      [](auto& p) {
        p.scaling = RUDA_ROPE_SCALING_YARN, p.factor = 2, p.original_positions = 8, p.theta = 1;
      },
      [](auto& p) {
        p.scaling = RUDA_ROPE_SCALING_LLAMA3, p.factor = 2, p.original_positions = 8,
        p.low_frequency_factor = 5;
      },
      [](auto& p) { p.scaling = RUDA_ROPE_SCALING_LONGROPE, p.original_positions = 8; },
      [](auto& p) {
        p.scaling = RUDA_ROPE_SCALING_LONGROPE, p.original_positions = 8, p.short_factors = ones,
        p.factor_count = 3;
      },
      [](auto& p) {
        p.scaling = RUDA_ROPE_SCALING_LONGROPE, p.original_positions = 8, p.short_factors = zeros,
        p.factor_count = 4;
      },
  };
  for (const int64_t head_dim : {8, 0}) {
    const int64_t x_shape[] = {2, 1, head_dim}, tokens[] = {2}, half[] = {head_dim / 2};
    ruda_tensor_desc x = RUDA_TENSOR_DESC_INIT, positions = RUDA_TENSOR_DESC_INIT, table;
    x.dtype = RUDA_F32, x.rank = 3, x.shape = x_shape;
    positions.dtype = RUDA_I32, positions.rank = 1, positions.shape = tokens;
    table = positions;
    table.dtype = RUDA_F32, table.shape = half;
    for (size_t i = 0; i < std::size(faults); ++i)
      for (const bool factor_only : {false, true}) {
        ruda_rope_params p = with_theta();
        faults[i](p);
        ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
        desc.x = &x;
        desc.positions = &positions;
        desc.frequencies = factor_only ? &table : nullptr;
        desc.params = &p;
        ruda_plan plan = nullptr;
        const ruda_status want = ruda_rope_plan_create(env.context, &desc, &plan);
        const std::string words = want ? last_message() : "";
        ruda_release(plan);
        if (!factor_only && head_dim) CHECK((want != RUDA_OK) == (i > 0), "fault %zu is none", i);
        double f[4] = {}, factor = 0;
        const ruda_status got = ruda_rope_frequencies(&p, factor_only ? nullptr : f, head_dim / 2, &factor);
        const std::string said = got ? last_message() : "";
        CHECK(got == want, "fault %zu, head_dim %lld: %s, a plan gives %s", i, (long long)head_dim,
              ruda_status_name(got), ruda_status_name(want));
        const auto behind = [](const std::string& text) {
          return text.substr(std::min(text.find(": "), text.size()));
        };
        CHECK(behind(said) == behind(words), "\"%s\" beside \"%s\"", said.c_str(), words.c_str());
      }
  }
  ruda_rope_params p = with_theta();
  double f[4];
  MUST(ruda_rope_frequencies(&p, nullptr, 0, nullptr));
  p.theta = 0;
  CHECK_FAILS(ruda_rope_frequencies(&p, nullptr, 0, nullptr), RUDA_E_ARGUMENT, 0, "theta is 0");
  p = with_theta();
  CHECK_FAILS(ruda_rope_frequencies(&p, nullptr, 4, nullptr), RUDA_E_NULL, 1,
              "frequencies and out_factor are NULL with count 4");
  p.rotary_dim = 7;
  CHECK_FAILS(ruda_rope_frequencies(&p, f, 3, nullptr), RUDA_E_SHAPE, 0,
              "rotary_dim is 7, expected even and 0..65536");
  p.rotary_dim = -8;
  CHECK_FAILS(ruda_rope_frequencies(&p, f, -4, nullptr), RUDA_E_SHAPE, 0, "rotary_dim is -8");
  p.rotary_dim = 0;
  CHECK_FAILS(ruda_rope_frequencies(&p, f, -4, nullptr), RUDA_E_SHAPE, 2, "count is -4, expected 0..32768");
}

// Neither a head nor a table may be so wide that a plan takes seconds and gigabytes, tokens or not.
RUDA_TEST(rope_widest_head) {
  constexpr int64_t widest = 65536;
  const auto plan_status = [&](int64_t rows, int64_t head_dim, int64_t rotary_dim, bool given) {
    const int64_t x_shape[] = {rows, 1, head_dim}, tokens[] = {rows}, half[] = {rotary_dim / 2};
    ruda_tensor_desc x = RUDA_TENSOR_DESC_INIT, positions = RUDA_TENSOR_DESC_INIT, table;
    x.dtype = RUDA_F32, x.rank = 3, x.shape = x_shape;
    positions.dtype = RUDA_I32, positions.rank = 1, positions.shape = tokens;
    table = positions;
    table.dtype = RUDA_F32, table.shape = half;
    ruda_rope_params p = with_theta();
    p.rotary_dim = rotary_dim;
    ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
    desc.x = &x, desc.positions = &positions, desc.params = &p;
    desc.frequencies = given ? &table : nullptr;
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_rope_plan_create(env.context, &desc, &plan);
    ruda_release(plan);
    return status;
  };
  for (const int64_t rows : {0, 2}) {
    MUST(plan_status(rows, widest, widest, false));
    MUST(plan_status(rows, widest, 128, true));
    for (const int64_t wide : {widest + 1, widest + 2, int64_t{1} << 28, int64_t{1} << 40})
      for (const bool given : {false, true}) {
        const std::string text = "rope: x has head_dim " + std::to_string(wide) + ", expected 0..65536";
        CHECK_FAILS(plan_status(rows, wide, 128, given), RUDA_E_SHAPE, 1, text.c_str());
      }
  }
  ruda_rope_params p = with_theta();
  std::vector<double> f(widest / 2);
  MUST(ruda_rope_frequencies(&p, f.data(), widest / 2, nullptr));
  CHECK(f[0] == 1 && f[widest / 2 - 1] > 0.99 / 10000, "the table ends at %g", f[widest / 2 - 1]);
  double factor = 0;
  CHECK_FAILS(ruda_rope_frequencies(&p, nullptr, widest / 2 + 1, &factor), RUDA_E_SHAPE, 2,
              "count is 32769, expected 0..32768");
  p.rotary_dim = widest + 2;
  CHECK_FAILS(ruda_rope_frequencies(&p, nullptr, widest / 2 + 1, &factor), RUDA_E_SHAPE, 0,
              "rotary_dim is 65538, expected even and 0..65536");
}

// A table belongs to a plan, which other threads may find in the cache: it is made in the usual mode too.
RUDA_TEST(rope_frequencies_in_every_float_mode) {
#if defined(__x86_64__)
  constexpr int64_t half = 64, position = int64_t{1} << 40;  // far enough to show the last bit of a frequency
  ruda_rope_params p = with_theta();
  p.theta = 500000;
  p.scaling = RUDA_ROPE_SCALING_YARN, p.factor = 3, p.original_positions = 100;
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {1, 1, 2 * half}),
              positions = new_tensor(env.context, RUDA_I64, {1}), y = nullptr;
  const std::vector<float> ones(2 * half, 1);
  MUST(ruda_tensor_write(env.stream, x, ones.data(), ones.size() * 4));
  MUST(ruda_tensor_write(env.stream, positions, &position, sizeof position));
  const auto in_mode = [](uint32_t bits, const auto& call) {
    const uint32_t former = _mm_getcsr();
    _mm_setcsr(former | bits);
    const ruda_status status = call();
    const uint32_t found = _mm_getcsr();
    _mm_setcsr(former);
    MUST(status);
    CHECK((found & ~0x3Fu) == ((former | bits) & ~0x3Fu), "the mode is 0x%x after the call, it was 0x%x",
          found, former | bits);
  };
  std::vector<double> want;
  std::vector<float> want_y;
  for (const uint32_t bits : {0x0000u, 0x8040u, 0x2000u, 0x4000u, 0x6000u}) {
    std::vector<double> table(half + 1);
    in_mode(bits, [&] { return ruda_rope_frequencies(&p, table.data(), half, &table[half]); });
    std::vector<float> turned(2 * half);
    MUST(ruda_context_trim(env.context));  // no plan of another mode
    in_mode(bits, [&] { return ruda_rope(env.stream, x, positions, nullptr, &p, &y); });
    MUST(ruda_tensor_read(env.stream, y, turned.data(), turned.size() * 4));
    ruda_release(y);
    if (bits == 0) want = table, want_y = turned;
    CHECK(table == want, "other frequencies in mode 0x%x", bits);
    CHECK(turned == want_y, "another rotation in mode 0x%x", bits);
  }
  ruda_release(x);
  ruda_release(positions);
#else
  (void)env;
  throw Skip("the mode is set by instructions of x86-64");
#endif
}
