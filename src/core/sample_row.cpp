// src/core/sample_row.cpp - repetition penalty, temperature, top-k, top-p, min-p, then one draw.
// SPDX-License-Identifier: Apache-2.0
#include "core/sample_row.hpp"

#include "core/philox.hpp"

#include <algorithm>
#include <cmath>

namespace ruda {
namespace {

bool better(const SampleCandidate& a, const SampleCandidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

void penalise(float* logits, int64_t vocab, const int32_t* history, int64_t count,
              const SampleOptions& options, uint32_t* seen) {
  if (options.repetition_window && uint64_t(count) > options.repetition_window) {
    history += count - int64_t(options.repetition_window);
    count = int64_t(options.repetition_window);
  }
  std::fill_n(seen, (vocab + 31) / 32, 0u);
  const float penalty = float(options.repetition_penalty);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t token = history[i];
    if (token < 0 || token >= vocab) continue;
    uint32_t& word = seen[token / 32];
    if (word >> (token % 32) & 1) continue;
    word |= 1u << (token % 32);
    float& logit = logits[token];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

// How many stay; ties with the k-th do.
int64_t keep_top_k(SampleCandidate* c, int64_t count, uint64_t k) {
  if (k == 0 || k >= uint64_t(count)) return count;
  std::nth_element(c, c + (k - 1), c + count, better);
  const float bound = c[k - 1].logit;
  return std::partition(c + k, c + count, [&](const SampleCandidate& x) { return x.logit == bound; }) - c;
}

// Sorted best first until `mass` of the probability is covered, or all. Returns how many are kept; weights
// become sums of probabilities.
int64_t keep_top_p(SampleCandidate* c, int64_t count, double top_p, double* weights) {
  const double top = std::min_element(c, c + count, better)->logit;
  double total = 0, sum = 0;
  for (int64_t i = 0; i < count; ++i) total += std::exp(double(c[i].logit) - top);
  // Sort a growing head: few tokens carry nearly all of the mass.
  int64_t sorted = 0;
  for (int64_t head = std::min<int64_t>(64, count);; head = std::min(head * 8, count)) {
    if (head < count) std::nth_element(c + sorted, c + head, c + count, better);
    std::sort(c + sorted, c + head, better);
    for (; sorted < head; ++sorted) {
      sum += std::exp(double(c[sorted].logit) - top) / total;
      weights[sorted] = sum;
      if (top_p > 0 && top_p < 1 && sum >= top_p) return sorted + 1;
    }
    if (head == count) return head;
  }
}

// The first of the largest; -1 where all are NaN or minus infinity. Eight maxima side by side wait for each
// other less.
int64_t first_largest(const float* logits, int64_t count) {
  constexpr int64_t lanes = 8;
  float top[lanes];
  std::fill_n(top, lanes, -INFINITY);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t j = 0; j < lanes; ++j) top[j] = logits[i + j] > top[j] ? logits[i + j] : top[j];
  for (; i < count; ++i) top[0] = logits[i] > top[0] ? logits[i] : top[0];
  const float largest = *std::max_element(top, top + lanes);
  if (largest == -INFINITY) return -1;
  return std::find(logits, logits + count, largest) - logits;
}

}  // namespace

int32_t sample_row(float* logits, int64_t vocab, const int32_t* history, int64_t count,
                   const SampleOptions& options, uint64_t& draws, const SampleScratch& scratch) noexcept {
  if (options.penalises()) penalise(logits, vocab, history, count, options, scratch.seen);
  const int64_t best = first_largest(logits, vocab);
  const float scale = float(1 / options.temperature);
  if (best < 0 || options.greedy() || !std::isfinite(logits[best] * scale)) return int32_t(best);

  SampleCandidate* const c = scratch.candidates;
  int64_t kept = 0;
  for (int64_t i = 0; i < vocab; ++i)
    if (logits[i] > -INFINITY) c[kept++] = {logits[i] * scale, int32_t(i)};
  kept = keep_top_k(c, kept, options.top_k);
  kept = keep_top_p(c, kept, options.top_p, scratch.weights);
  if (options.min_p > 0 && options.min_p < 1) {
    const double bound = double(c[0].logit) + std::log(options.min_p);
    int64_t n = 1;
    while (n < kept && c[n].logit >= bound) ++n;
    kept = n;
  }
  const double u = philox_uniform(options.seed, draws++) * scratch.weights[kept - 1];
  const int64_t at = std::upper_bound(scratch.weights, scratch.weights + kept, u) - scratch.weights;
  return c[std::min(at, kept - 1)].token;
}

}  // namespace ruda
