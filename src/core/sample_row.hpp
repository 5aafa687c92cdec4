// src/core/sample_row.hpp - chooses a token from one row of logits; the order of its steps is the contract of
// ruda_sampling.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cfloat>
#include <cstdint>

namespace ruda {

// Values outside the ranges of ruda_sampling turn a step off.
struct SampleOptions {
  double temperature = 0, top_p = 1, min_p = 0, repetition_penalty = 1;
  uint64_t top_k = 0, repetition_window = 0;  // 0 = off, all
  uint64_t seed = 0;

  bool penalises() const {
    return repetition_penalty >= double(FLT_MIN) && repetition_penalty <= double(FLT_MAX) &&
           repetition_penalty != 1;
  }
  bool greedy() const { return !(temperature > 0) || top_k == 1; }
};

struct SampleCandidate {
  float logit;
  int32_t token;
};

// Memory that the caller lends; `vocab` elements each, `seen` a bit for each.
struct SampleScratch {
  uint32_t* seen;
  SampleCandidate* candidates;
  double* weights;
};

// `logits` are changed. history: tokens so far, oldest first; others than 0..vocab-1 are passed over. A draw
// increases `draws`. -1 when every logit is NaN or minus infinity.
int32_t sample_row(float* logits, int64_t vocab, const int32_t* history, int64_t count,
                   const SampleOptions& options, uint64_t& draws, const SampleScratch& scratch) noexcept;

}  // namespace ruda
