// src/infer/decoder.hpp - runs a decoder model over batches of tokens with a paged key-value cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "infer/calls.hpp"
#include "infer/step.hpp"
#include "model/llm/language_model.hpp"

#include <ruda/infer.h>

#include <memory>
#include <span>
#include <vector>

namespace ruda::infer {

// One sequence: positions 0, 1, ... in pages taken in order.
class Decoder {
 public:
  Decoder(const model::LanguageModel& model, const ruda_session_desc& desc);

  // Computes tokens at positions start.., writes their keys and values, leaves the logits after the last one.
  void run(std::span<const int32_t> tokens, uint64_t start, const StopSign& stop);
  std::span<const float> logits() const { return logits_; }
  uint64_t capacity() const { return capacity_; }
  uint32_t batch_tokens() const { return batch_tokens_; }
  uint64_t cache_bytes() const { return cache_bytes_; }

 private:
  Step& step_for(int64_t tokens);

  const model::LanguageModel& model_;
  uint64_t capacity_;
  uint32_t batch_tokens_;
  Ref<Stream> stream_;
  Cache cache_;
  uint64_t cache_bytes_ = 0;
  std::vector<std::unique_ptr<Step>> steps_;  // newest use first
  std::vector<float> logits_;
};

}  // namespace ruda::infer
