// src/ops/position/rope_table.cpp - the scaling kinds of rotary embedding, in double.
// SPDX-License-Identifier: Apache-2.0
#include "ops/position/rope_table.hpp"

#include "core/error.hpp"
#include "core/rope_constants.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>

namespace ruda::ops {
namespace {

constexpr int64_t widest_vector = 16;  // pairs that a kernel may read at once

struct Checks {
  int arg;
  const char* label;

  void positive(const char* name, double value) const {
    RUDA_CHECK(std::isfinite(value) && value > 0, RUDA_E_ARGUMENT, arg,
               "%s: %s is %g, expected finite and above 0", label, name, value);
  }
  void not_negative(const char* name, double value) const {
    RUDA_CHECK(std::isfinite(value) && value >= 0, RUDA_E_ARGUMENT, arg,
               "%s: %s is %g, expected finite and 0 or more", label, name, value);
  }
};

double or_default(double value, double fallback) { return value == 0 ? fallback : value; }

// Natural growth of the attention logits' temperature with the stretch of the context.
double yarn_mscale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// The attention factor of longrope is a quotient by ln(original_positions).
bool derives_from_original(const ruda_rope_params& p) {
  return p.scaling == RUDA_ROPE_SCALING_LONGROPE && p.attention_factor == 0 && p.factor > 1;
}

double attention_factor(const ruda_rope_params& p) {
  if (p.attention_factor != 0) return p.attention_factor;
  if (p.scaling == RUDA_ROPE_SCALING_YARN)
    return p.mscale > 0 && p.mscale_all_dim > 0
               ? yarn_mscale(p.factor, p.mscale) / yarn_mscale(p.factor, p.mscale_all_dim)
               : yarn_mscale(p.factor, 1);
  if (derives_from_original(p))
    return std::sqrt(1 + std::log(p.factor) / std::log(double(p.original_positions)));
  return 1;
}

void check(const ruda_rope_params& p, int64_t half, bool with_frequencies, const Checks& c) {
  RUDA_CHECK(p.scaling <= RUDA_ROPE_SCALING_LONGROPE, RUDA_E_ARGUMENT, c.arg,
             "%s: scaling is %u, expected 0..%u", c.label, p.scaling, RUDA_ROPE_SCALING_LONGROPE);
  RUDA_CHECK((p.flags & ~uint32_t(RUDA_ROPE_EXACT_RAMP)) == 0, RUDA_E_ARGUMENT, c.arg,
             "%s: flags are 0x%x, which holds unknown bits", c.label, p.flags);
  RUDA_CHECK(p.pairing <= RUDA_ROPE_INTERLEAVED, RUDA_E_ARGUMENT, c.arg, "%s: pairing is %u, expected 0..%u",
             c.label, p.pairing, RUDA_ROPE_INTERLEAVED);
  RUDA_CHECK(p.direction <= RUDA_ROPE_INVERSE, RUDA_E_ARGUMENT, c.arg, "%s: direction is %u, expected 0..%u",
             c.label, p.direction, RUDA_ROPE_INVERSE);
  c.not_negative("attention_factor", p.attention_factor);
  c.not_negative("mscale", p.mscale);
  c.not_negative("mscale_all_dim", p.mscale_all_dim);
  if (p.scaling == RUDA_ROPE_SCALING_LONGROPE)
    c.not_negative("factor", p.factor);
  else if (p.scaling != RUDA_ROPE_SCALING_NONE)
    c.positive("factor", p.factor);
  if (p.scaling >= RUDA_ROPE_SCALING_DYNAMIC)
    RUDA_CHECK(p.original_positions > 0, RUDA_E_ARGUMENT, c.arg,
               "%s: original_positions is %lld, expected above 0", c.label, (long long)p.original_positions);
  RUDA_CHECK(
      !derives_from_original(p) || p.original_positions > 1, RUDA_E_ARGUMENT, c.arg,
      "%s: original_positions is %lld, expected above 1: the attention factor of longrope divides by its "
      "logarithm; or give attention_factor",
      c.label, (long long)p.original_positions);
  RUDA_CHECK(p.seq_len >= 0, RUDA_E_ARGUMENT, c.arg, "%s: seq_len is %lld, expected 0 or more", c.label,
             (long long)p.seq_len);
  if (!with_frequencies) return;
  c.positive("theta", p.theta);
  if (p.scaling == RUDA_ROPE_SCALING_YARN) {
    RUDA_CHECK(p.theta > 1, RUDA_E_ARGUMENT, c.arg, "%s: theta is %g, expected above 1 for yarn", c.label,
               p.theta);
    const double fast = or_default(p.beta_fast, 32), slow = or_default(p.beta_slow, 1);
    c.positive("beta_slow", slow);
    RUDA_CHECK(std::isfinite(fast) && fast >= slow, RUDA_E_ARGUMENT, c.arg,
               "%s: beta_fast is %g, expected finite and at least beta_slow, which is %g", c.label, fast,
               slow);
  }
  if (p.scaling == RUDA_ROPE_SCALING_LLAMA3) {
    const double low = or_default(p.low_frequency_factor, 1), high = or_default(p.high_frequency_factor, 4);
    c.positive("low_frequency_factor", low);
    RUDA_CHECK(std::isfinite(high) && high > low, RUDA_E_ARGUMENT, c.arg,
               "%s: high_frequency_factor is %g, expected finite and above low_frequency_factor, which is %g",
               c.label, high, low);
  }
  if (p.scaling == RUDA_ROPE_SCALING_DYNAMIC)
    RUDA_CHECK(half > 1, RUDA_E_ARGUMENT, c.arg,
               "%s: rotary_dim is %lld, expected at least 4 for dynamic scaling", c.label,
               (long long)(2 * half));
  if (p.scaling == RUDA_ROPE_SCALING_LONGROPE) {
    RUDA_CHECK(p.short_factors, RUDA_E_NULL, c.arg, "%s: short_factors is NULL", c.label);
    RUDA_CHECK(p.factor_count == uint64_t(half), RUDA_E_ARGUMENT, c.arg,
               "%s: factor_count is %u, expected %lld", c.label, p.factor_count, (long long)half);
    for (int64_t i = 0; i < half; ++i) {
      c.positive("a value of short_factors", p.short_factors[i]);
      if (p.long_factors) c.positive("a value of long_factors", p.long_factors[i]);
    }
  }
}

void yarn(const ruda_rope_params& p, int64_t dim, std::vector<double>& f) {
  // The pair that turns `turns` times over the trained context.
  const auto pair_of = [&](double turns) {
    return double(dim) * std::log(double(p.original_positions) / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(p.theta));
  };
  double low = pair_of(or_default(p.beta_fast, 32)), high = pair_of(or_default(p.beta_slow, 1));
  if (!(p.flags & RUDA_ROPE_EXACT_RAMP)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(dim - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < f.size(); ++i) {
    const double slow = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    f[i] = (slow == 0 ? 0 : f[i] / p.factor * slow) + f[i] * (1 - slow);
  }
}

void llama3(const ruda_rope_params& p, std::vector<double>& f) {
  const double low = or_default(p.low_frequency_factor, 1), high = or_default(p.high_frequency_factor, 4);
  const double original = double(p.original_positions);
  for (double& value : f) {
    const double wavelength = 2 * std::numbers::pi / value;
    if (wavelength < original / high) continue;
    if (wavelength > original / low) {
      value /= p.factor;
    } else {
      const double keep = (original / wavelength - low) / (high - low);
      value = (1 - keep) * value / p.factor + keep * value;
    }
  }
}

}  // namespace

RopeTable rope_table(const ruda_rope_params& p, int64_t rotary_dim, bool with_frequencies, int arg,
                     const char* label) {
  const int64_t half = rotary_dim / 2;
  check(p, half, with_frequencies, {arg, label});
  RopeTable table;
  table.factor = attention_factor(p);
  RUDA_CHECK(table.factor >= double(FLT_TRUE_MIN) && table.factor <= double(FLT_MAX), RUDA_E_ARGUMENT, arg,
             "%s: the attention factor is %g, expected finite and above 0 as F32", label, table.factor);
  if (!with_frequencies) return table;

  double theta = p.theta;
  const double original = double(p.original_positions);
  if (p.scaling == RUDA_ROPE_SCALING_DYNAMIC) {
    const double length = std::max(double(p.seq_len), original);
    const double stretch = 1 + p.factor * ((length - original) / original);
    theta *= std::pow(stretch, double(rotary_dim) / double(rotary_dim - 2));
    RUDA_CHECK(std::isfinite(theta), RUDA_E_ARGUMENT, arg,
               "%s: dynamic scaling makes theta %g, expected finite; theta is %g, factor %g, seq_len %lld, "
               "original_positions %lld",
               label, theta, p.theta, p.factor, (long long)p.seq_len, (long long)p.original_positions);
  }
  table.frequencies.resize(size_t(half));
  for (int64_t i = 0; i < half; ++i)
    table.frequencies[size_t(i)] = std::pow(theta, -2.0 * double(i) / double(rotary_dim));
  if (p.scaling == RUDA_ROPE_SCALING_LINEAR)
    for (double& f : table.frequencies) f /= p.factor;
  if (p.scaling == RUDA_ROPE_SCALING_YARN) yarn(p, rotary_dim, table.frequencies);
  if (p.scaling == RUDA_ROPE_SCALING_LLAMA3) llama3(p, table.frequencies);
  const bool longrope = p.scaling == RUDA_ROPE_SCALING_LONGROPE;
  const double* factors =
      p.long_factors && p.seq_len > p.original_positions ? p.long_factors : p.short_factors;
  for (size_t i = 0; i < table.frequencies.size(); ++i) {
    double& f = table.frequencies[i];
    if (longrope) f /= factors[i];
    // So its product with every position is finite, and a tensor of F32 can hold it.
    RUDA_CHECK(f <= double(FLT_MAX), RUDA_E_ARGUMENT, arg,
               "%s: frequency %zu is %g, expected at most %g, the largest F32; theta is %g, its factor %g",
               label, i, f, double(FLT_MAX), theta, longrope ? factors[i] : p.factor);
  }
  return table;
}

int64_t check_rotation(Contract& c, const ruda_rope_params& params, uint32_t x, uint32_t frequencies) {
  const int64_t head_dim = c[x].dim(-1), rotary_dim = params.rotary_dim ? params.rotary_dim : head_dim;
  c.require(head_dim <= rope_max_dim, RUDA_E_SHAPE, "%s has head_dim %lld, expected 0..%lld", c[x].name,
            (long long)head_dim, (long long)rope_max_dim);
  c.require(rotary_dim >= 0 && rotary_dim <= head_dim && rotary_dim % 2 == 0, RUDA_E_SHAPE,
            "rotary_dim is %lld%s, expected even and 0..%lld, the head_dim of %s", (long long)rotary_dim,
            params.rotary_dim ? "" : " (0 stands for head_dim)", (long long)head_dim, c[x].name);
  c.dtype(frequencies, Types<float>{}).rank(frequencies, 1, 1);
  c.dim(frequencies, 0, rotary_dim / 2).contiguous(frequencies);
  return rotary_dim;
}

Problem take_rope(Contract& c, const ruda_rope_params& params, int64_t rotary_dim, uint32_t frequencies) {
  const bool own_table = !c.has(frequencies);
  Problem problem = c.take();
  const RopeTable table = rope_table(params, rotary_dim, own_table, Contract::arg_desc, problem.op->name);
  RopeConstants constants{};
  constants.factor = table.factor;
  constants.half = rotary_dim / 2;
  constants.padded = own_table ? (constants.half + widest_vector - 1) / widest_vector * widest_vector : 0;
  constants.pairing = params.pairing;
  constants.direction = params.direction;
  const size_t at = problem.options.size();
  problem.options.resize(at + sizeof constants + size_t(constants.padded) * sizeof(double));
  std::memcpy(problem.options.data() + at, &constants, sizeof constants);
  if (own_table && constants.half)
    std::memcpy(problem.options.data() + at + sizeof constants, table.frequencies.data(),
                size_t(constants.half) * sizeof(double));
  return problem;
}

}  // namespace ruda::ops
