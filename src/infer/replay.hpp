// src/infer/replay.hpp - decode steps on a device that runs behind the host: each token is chosen there and
// feeds the next step.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: the host submits step i + 1 before it reads token i, and a step costs it one submission. Non-goals:
// several sequences. Rejected: one event a token, since waiting for it costs more than reading a word of
// pinned memory.
#pragma once
#include "core/sample_row.hpp"
#include "infer/step.hpp"

#include <span>

namespace ruda::infer {

// How the device chooses what follows a token: the options, the draws so far, and all tokens up to that one.
struct Choice {
  SampleOptions options;
  uint64_t draws = 0;
  std::span<const int32_t> history;
};

class Replay {
 public:
  Replay(const model::LanguageModel& model, const Cache& cache, const Ref<Stream>& stream,
         uint64_t token_capacity);
  ~Replay();

  Step& step() { return *step_; }
  // Submits the step of the last token of the history, which lies at a position above 0. Older choices that
  // were not taken are forgotten.
  void submit(const Choice& choice);
  // Submits the step of the device's own choice, which goes to `position`.
  void submit_ahead(uint32_t position);
  // The device holds a choice that follows the newest step.
  bool has_choice() const { return taken_ < posted_; }
  // The oldest choice not taken: waits for it. -1 when no logit could be chosen.
  int32_t take_choice();
  void forget_choices() { taken_ = posted_; }
  // After a choice of -1: waits for the steps ahead of it, which had no token to compute.
  void drop_ahead();

 private:
  void write_choice(const Choice& choice);
  void launch(uint32_t position);
  void set_schedule(uint32_t position);
  void enqueue();
  void capture();

  const Cache& cache_;
  Ref<Stream> stream_;
  std::unique_ptr<Step> step_;
  Ref<Tensor> params_, random_, history_, lengths_;  // of the operator sample, one row
  Owned<ruda_plan> choose_;
  Owned<ruda_workspace> workspace_;
  std::unique_ptr<DeviceRing> ring_;
  Ref<Graph> graph_;
  bool warm_ = false, refused_ = false;
  uint64_t posted_ = 0, taken_ = 0;
};

}  // namespace ruda::infer
