// tests/ops/position/rope_frequencies.cpp - the table of frequencies refuses what plans of rope refuse.
// SPDX-License-Identifier: Apache-2.0
#include "support/runner.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

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
              "rotary_dim is 7, expected even and 0 or more");
  p.rotary_dim = -8;
  CHECK_FAILS(ruda_rope_frequencies(&p, f, -4, nullptr), RUDA_E_SHAPE, 0, "rotary_dim is -8");
  p.rotary_dim = 0;
  CHECK_FAILS(ruda_rope_frequencies(&p, f, -4, nullptr), RUDA_E_SHAPE, 2, "count is -4, expected 0..");
}
