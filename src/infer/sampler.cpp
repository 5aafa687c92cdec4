// src/infer/sampler.cpp - repetition penalty, temperature, top-k, top-p, min-p, then one draw.
// SPDX-License-Identifier: Apache-2.0
#include "infer/sampler.hpp"

#include "core/error.hpp"
#include "core/philox.hpp"

#include <algorithm>
#include <cmath>

namespace ruda::infer {

void Sampler::set(const ruda_sampling& given, int arg) {
  ruda_sampling o = given;
  if (o.top_p == 0) o.top_p = 1;
  if (o.repetition_penalty == 0) o.repetition_penalty = 1;
  RUDA_CHECK(std::isfinite(o.temperature) && o.temperature >= 0, RUDA_E_ARGUMENT, arg,
             "sampling.temperature is %g, expected finite and 0 or more", o.temperature);
  RUDA_CHECK(o.top_p > 0 && o.top_p <= 1, RUDA_E_ARGUMENT, arg,
             "sampling.top_p is %g, expected above 0, at most 1", o.top_p);
  RUDA_CHECK(o.min_p >= 0 && o.min_p < 1, RUDA_E_ARGUMENT, arg,
             "sampling.min_p is %g, expected 0 or more, below 1", o.min_p);
  RUDA_CHECK(std::isfinite(o.repetition_penalty) && o.repetition_penalty > 0, RUDA_E_ARGUMENT, arg,
             "sampling.repetition_penalty is %g, expected finite and above 0", o.repetition_penalty);
  options_ = o;
  options_.next = nullptr;
  draws_ = 0;
}

void Sampler::penalise(std::span<const int32_t> history) {
  if (options_.repetition_window && history.size() > options_.repetition_window)
    history = history.last(options_.repetition_window);
  seen_.assign((adjusted_.size() + 31) / 32, 0);
  const float penalty = float(options_.repetition_penalty);
  for (int32_t token : history) {
    if (token < 0 || size_t(token) >= adjusted_.size()) continue;
    uint32_t& word = seen_[size_t(token) / 32];
    if (word >> (token % 32) & 1) continue;
    word |= 1u << (token % 32);
    float& logit = adjusted_[size_t(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

void Sampler::keep_top_k() {
  const size_t k = options_.top_k;
  if (k == 0 || k >= candidates_.size()) return;
  std::nth_element(candidates_.begin(), candidates_.begin() + int64_t(k - 1), candidates_.end(), better);
  const float bound = candidates_[k - 1].logit;  // ties with the k-th stay
  const auto end = std::partition(candidates_.begin() + int64_t(k), candidates_.end(),
                                  [&](const Candidate& c) { return c.logit == bound; });
  candidates_.erase(end, candidates_.end());
}

size_t Sampler::keep_top_p(double top_p) {
  const auto best = std::min_element(candidates_.begin(), candidates_.end(), better);
  const double top = best->logit;
  double total = 0;
  for (const Candidate& c : candidates_) total += std::exp(double(c.logit) - top);
  // Sort a growing head: few tokens carry nearly all of the mass.
  size_t sorted = 0;
  for (size_t head = std::min<size_t>(64, candidates_.size());;
       head = std::min(head * 8, candidates_.size())) {
    if (head < candidates_.size())
      std::nth_element(candidates_.begin() + int64_t(sorted), candidates_.begin() + int64_t(head),
                       candidates_.end(), better);
    std::sort(candidates_.begin() + int64_t(sorted), candidates_.begin() + int64_t(head), better);
    for (; sorted < head; ++sorted) {
      const double weight = std::exp(double(candidates_[sorted].logit) - top) / total;
      weights_.push_back((weights_.empty() ? 0 : weights_.back()) + weight);
      if (top_p < 1 && weights_.back() >= top_p) return sorted + 1;
    }
    if (head == candidates_.size()) return head;
  }
}

int32_t Sampler::choose(std::span<const float> logits, std::span<const int32_t> history) {
  adjusted_.assign(logits.begin(), logits.end());
  if (options_.repetition_penalty != 1) penalise(history);

  int32_t best = -1;
  for (size_t i = 0; i < adjusted_.size(); ++i)
    if (adjusted_[i] > (best < 0 ? -INFINITY : adjusted_[size_t(best)])) best = int32_t(i);
  RUDA_CHECK(best >= 0, RUDA_E_ARGUMENT, -1, "sampling: all %zu logits are NaN or minus infinity",
             adjusted_.size());
  if (options_.temperature == 0 || options_.top_k == 1 || std::isinf(adjusted_[size_t(best)])) return best;

  candidates_.clear();
  const float scale = float(1 / options_.temperature);
  for (size_t i = 0; i < adjusted_.size(); ++i)
    if (adjusted_[i] > -INFINITY) candidates_.push_back({adjusted_[i] * scale, int32_t(i)});
  keep_top_k();
  weights_.clear();
  size_t kept = keep_top_p(options_.top_p);
  if (options_.min_p > 0) {
    const double bound = candidates_[0].logit + std::log(options_.min_p);
    size_t n = 1;
    while (n < kept && candidates_[n].logit >= bound) ++n;
    kept = n;
  }
  const double u = philox_uniform(options_.seed, draws_++) * weights_[kept - 1];
  const size_t at =
      size_t(std::upper_bound(weights_.begin(), weights_.begin() + int64_t(kept), u) - weights_.begin());
  return candidates_[std::min(at, kept - 1)].token;
}

}  // namespace ruda::infer
