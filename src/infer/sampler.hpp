// src/infer/sampler.hpp - chooses the next token from logits; the order of its steps is the contract of
// ruda_sampling.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/sample_row.hpp"

#include <ruda/infer.h>

#include <cstdint>
#include <span>
#include <vector>

namespace ruda::infer {

class Sampler {
 public:
  Sampler() { set(ruda_sampling(RUDA_SAMPLING_INIT), 0); }

  // Checks the options; a failure leaves the former ones active. Starts the random sequence anew.
  void set(const ruda_sampling& options, int arg);

  // history: tokens so far, oldest first. Throws RUDA_E_ARGUMENT when no logit can be chosen.
  int32_t choose(std::span<const float> logits, std::span<const int32_t> history);

  const SampleOptions& options() const { return options_; }

  // Where the random sequence stands, to save and to restore.
  uint64_t draws() const { return draws_; }
  void set_draws(uint64_t draws) { draws_ = draws; }

 private:
  SampleOptions options_;
  uint64_t draws_ = 0;
  std::vector<float> adjusted_;
  std::vector<uint32_t> seen_;
  std::vector<SampleCandidate> candidates_;
  std::vector<double> weights_;
};

}  // namespace ruda::infer
