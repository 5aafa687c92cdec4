// src/infer/decoder.hpp - runs a decoder model over batches of tokens with a paged key-value cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "infer/calls.hpp"
#include "infer/replay.hpp"
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
  // Of the token computed last: downloaded when they are asked for.
  std::span<const float> logits();

  // run() for the last token of a history. An asynchronous device also chooses what follows.
  void step(const Choice& choice, const StopSign& stop);
  // The device chose what follows the token computed last.
  bool has_choice() const { return replay_ && replay_->has_choice(); }
  // Computes the device's choice at `position` before the host knows it.
  void step_ahead(uint64_t position);
  // Waits for the oldest choice not taken.
  int32_t take_choice() { return replay_->take_choice(); }
  void forget_choices() {
    if (replay_) replay_->forget_choices();
  }
  // After a choice of -1.
  void drop_ahead() { replay_->drop_ahead(); }
  uint64_t capacity() const { return capacity_; }
  uint32_t batch_tokens() const { return batch_tokens_; }
  uint64_t cache_bytes() const { return cache_bytes_; }

 private:
  Step& step_for(int64_t tokens);
  Replay& replay();
  void check_room(uint64_t end) const;

  const model::LanguageModel& model_;
  uint64_t capacity_;
  uint32_t batch_tokens_;
  Ref<Stream> stream_;
  Cache cache_;
  uint64_t cache_bytes_ = 0;
  std::vector<std::unique_ptr<Step>> steps_;  // newest use first
  std::unique_ptr<Replay> replay_;            // asynchronous devices; holds their step of one token
  Ref<Tensor> latest_;                        // logits on the device
  bool downloaded_ = false;
  std::vector<float> logits_;
};

}  // namespace ruda::infer
