// src/infer/replay.hpp - decode steps on a device that runs behind the host: each token is chosen there and
// feeds the next step.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: the host submits step i + 1 before it reads token i, and a step costs it one submission. Non-goals:
// several sequences; choices that need the host's history. Rejected: one event a token, since waiting for it
// costs more than reading a word of pinned memory.
#pragma once
#include "infer/step.hpp"

namespace ruda::infer {

class Replay {
 public:
  Replay(const model::LanguageModel& model, const Cache& cache, const Ref<Stream>& stream);
  ~Replay();

  Step& step() { return *step_; }
  // Submits the step of `token`, or of the device's own choice where `token` is null, at a position above 0.
  // Older choices that were not taken are forgotten when `token` is given.
  void submit(const int32_t* token, uint32_t position);
  // The device holds a choice that follows the newest step.
  bool has_choice() const { return taken_ < posted_; }
  // The oldest choice not taken: waits for it. -1 when no logit could be chosen.
  int32_t take_choice();
  void forget_choices() { taken_ = posted_; }

 private:
  void set_schedule(uint32_t position);
  void enqueue();
  void capture();

  const Cache& cache_;
  Ref<Stream> stream_;
  std::unique_ptr<Step> step_;
  Owned<ruda_plan> choose_;
  Owned<ruda_workspace> workspace_;
  std::unique_ptr<DeviceRing> ring_;
  Ref<Graph> graph_;
  bool warm_ = false, refused_ = false;
  uint64_t posted_ = 0, taken_ = 0;
};

}  // namespace ruda::infer
