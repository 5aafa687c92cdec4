// src/infer/session.hpp - the object behind ruda_session: tokens, cache, sampler, and the text that comes
// out.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "infer/sampler.hpp"
#include "infer/decoder.hpp"
#include "model/llm/language_model.hpp"

#include <ruda/infer.h>

#include <atomic>
#include <string>
#include <vector>

namespace ruda::infer {

class Session final : public Object {
 public:
  static constexpr Kind kind = Kind::session;
  Session(Ref<model::LanguageModel> model, const ruda_session_desc& desc);

  // Between enter() and leave() a call is on; false when one already is.
  bool enter() noexcept { return !busy_.exchange(true, std::memory_order_acquire); }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }

  const model::LanguageModel& model() const { return *model_; }
  void set_sampling(const ruda_sampling& options, int arg) {
    sampler_.set(options, arg);
    decoder_.forget_choices();  // made with the former options
  }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  // Logits after the latest token; RUDA_E_STATE when there are none.
  std::span<const float> logits();

  void prompt(std::span<const int32_t> tokens, ruda_progress_fn progress, void* user, const StopSign& stop);
  // One token; the finish reason is not NONE when nothing follows.
  struct Next {
    int32_t token = -1;
    uint32_t finish = RUDA_FINISH_NONE;
  };
  // more: another call is likely, so the device may go ahead.
  Next next(const StopSign& stop, bool more = true);
  // Text that became certain with the token just returned by next(), after what generate() kept.
  std::string take_text(const Next& step);
  // Text that is held back until more tokens come: an end that the caller chose gives it out.
  std::string rest();
  // Bytes that generate() held back, as they may begin a stop text, and did not deliver before it was ended.
  uint64_t kept_bytes() const { return kept_.size(); }
  uint32_t generate(const ruda_generate_options& options, const StopSign& stop);
  void rewind(uint64_t count);
  void info(ruda_session_info& info) const;

 private:
  Ref<model::LanguageModel> model_;
  Decoder decoder_;
  Sampler sampler_;
  void compute_pending(const StopSign& stop);
  void forget_text();
  // The device's choice; `more` submits the step that follows it first.
  int32_t take_choice(bool more);

  std::atomic<bool> busy_ = false;
  std::vector<int32_t> tokens_;  // all in the cache, but the last one while `pending_`
  bool pending_ = false;         // the last token was chosen and not yet computed
  bool has_logits_ = false;
  text::TextStream stream_{RUDA_DECODE_SKIP_SPECIAL};
  std::string kept_;  // out of stream_ and not delivered
  uint32_t finish_ = RUDA_FINISH_NONE;
  uint64_t prompt_tokens_ = 0, reused_tokens_ = 0, generated_tokens_ = 0;
  double prompt_seconds_ = 0, generate_seconds_ = 0;
};

}  // namespace ruda::infer
