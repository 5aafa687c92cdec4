// src/infer/sampler.cpp - checks of the options, and memory for the steps of sampling.
// SPDX-License-Identifier: Apache-2.0
#include "infer/sampler.hpp"

#include "core/error.hpp"
#include "core/float_mode.hpp"

#include <cfloat>

namespace ruda::infer {
namespace {

// Logits are F32: what they are divided by must be normal there.
void check_f32(double value, const char* field, int arg) {
  RUDA_CHECK(value >= double(FLT_MIN) && value <= double(FLT_MAX), RUDA_E_ARGUMENT, arg,
             "sampling.%s is %g, expected 0 or %g..%g", field, value, double(FLT_MIN), double(FLT_MAX));
}

}  // namespace

void Sampler::set(const ruda_sampling& given, int arg) {
  ruda_sampling o = given;
  if (o.top_p == 0) o.top_p = 1;
  if (o.repetition_penalty == 0) o.repetition_penalty = 1;
  if (o.temperature != 0) check_f32(o.temperature, "temperature", arg);
  RUDA_CHECK(o.top_p > 0 && o.top_p <= 1, RUDA_E_ARGUMENT, arg,
             "sampling.top_p is %g, expected above 0, at most 1", o.top_p);
  RUDA_CHECK(o.min_p >= 0 && o.min_p < 1, RUDA_E_ARGUMENT, arg,
             "sampling.min_p is %g, expected 0 or more, below 1", o.min_p);
  check_f32(o.repetition_penalty, "repetition_penalty", arg);
  options_ = {o.temperature, o.top_p, o.min_p, o.repetition_penalty, o.top_k, o.repetition_window, o.seed};
  draws_ = 0;
}

int32_t Sampler::choose(std::span<const float> logits, std::span<const int32_t> history) {
  const FloatMode mode;
  adjusted_.assign(logits.begin(), logits.end());
  seen_.resize((logits.size() + 31) / 32);
  if (!options_.greedy()) {
    candidates_.resize(logits.size());
    weights_.resize(logits.size());
  }
  const int32_t token =
      sample_row(adjusted_.data(), int64_t(logits.size()), history.data(), int64_t(history.size()), options_,
                 draws_, {seen_.data(), candidates_.data(), weights_.data()});
  RUDA_CHECK(token >= 0, RUDA_E_ARGUMENT, -1, "sampling: all %zu logits are NaN or minus infinity",
             logits.size());
  return token;
}

}  // namespace ruda::infer
