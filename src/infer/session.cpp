// src/infer/session.cpp - prompts, single tokens, whole answers.
// SPDX-License-Identifier: Apache-2.0
#include "infer/session.hpp"

#include "infer/stop_text.hpp"

#include <algorithm>
#include <chrono>

namespace ruda::infer {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Session::Session(Ref<model::LanguageModel> model, const ruda_session_desc& desc)
    : model_(std::move(model)), decoder_(*model_, desc) {}

void Session::compute_pending(const StopSign& stop) {
  if (!pending_) return;
  decoder_.step({sampler_.options(), sampler_.draws(), tokens_}, stop);
  pending_ = false;
  has_logits_ = true;
}

std::span<const float> Session::logits() {
  compute_pending(StopSign{});
  RUDA_CHECK(has_logits_, RUDA_E_STATE, 0, "session: has no logits, give it a prompt first");
  return decoder_.logits();
}

void Session::prompt(std::span<const int32_t> tokens, ruda_progress_fn progress, void* user,
                     const StopSign& stop) {
  const int64_t vocab = model_->config().vocab;
  RUDA_CHECK(!tokens.empty(), RUDA_E_ARGUMENT, 2, "count is 0, expected at least 1 token");
  RUDA_CHECK(tokens.size() <= decoder_.capacity(), RUDA_E_ARGUMENT, 2,
             "the prompt has %zu tokens, the session room for %llu (token_capacity)", tokens.size(),
             (unsigned long long)decoder_.capacity());
  for (size_t i = 0; i < tokens.size(); ++i)
    RUDA_CHECK(tokens[i] >= 0 && tokens[i] < vocab, RUDA_E_INDEX, 1,
               "tokens[%zu] is %d, the vocabulary has %lld", i, tokens[i], (long long)vocab);
  prompt_seconds_ = generate_seconds_ = 0;
  generated_tokens_ = 0;
  finish_ = RUDA_FINISH_NONE;
  forget_text();
  const Stopwatch watch(prompt_seconds_);

  // Keep the common beginning, but compute at least the last token: its logits are wanted.
  if (pending_) tokens_.pop_back();
  pending_ = false;
  decoder_.forget_choices();
  size_t same = 0;
  while (same < tokens_.size() && same + 1 < tokens.size() && tokens_[same] == tokens[same]) ++same;
  tokens_.resize(same);
  has_logits_ = false;
  reused_tokens_ = same;
  prompt_tokens_ = 0;
  while (tokens_.size() < tokens.size()) {
    const size_t at = tokens_.size();
    const auto batch = tokens.subspan(at, std::min<size_t>(decoder_.batch_tokens(), tokens.size() - at));
    decoder_.run(batch, at, stop);
    tokens_.insert(tokens_.end(), batch.begin(), batch.end());
    prompt_tokens_ += batch.size();
    const int32_t answer = progress ? progress(user, tokens_.size(), tokens.size()) : 0;
    if (answer) {
      has_logits_ = tokens_.size() == tokens.size();
      Error error;
      error.status = RUDA_E_CALLBACK;
      error.native_code = answer;
      error.text = format("progress callback returned %d after %zu of %zu tokens", answer, tokens_.size(),
                          tokens.size());
      throw error;
    }
  }
  has_logits_ = true;
}

int32_t Session::take_choice(bool more) {
  try {
    if (more) decoder_.step_ahead(tokens_.size());
    const int32_t token = decoder_.take_choice();
    if (token < 0) decoder_.drop_ahead();
    RUDA_CHECK(token >= 0, RUDA_E_ARGUMENT, -1, "sampling: all %lld logits are NaN or minus infinity",
               (long long)model_->config().vocab);
    if (!sampler_.options().greedy()) sampler_.set_draws(sampler_.draws() + 1);
    return token;
  } catch (...) {
    // The logits after the last token may be gone: it is computed anew.
    decoder_.forget_choices();
    pending_ = true;
    has_logits_ = false;
    throw;
  }
}

Session::Next Session::next(const StopSign& stop, bool more) {
  RUDA_CHECK(has_logits_ || pending_, RUDA_E_STATE, 0, "session: has no logits, give it a prompt first");
  const Stopwatch watch(generate_seconds_);
  stop.check();
  compute_pending(stop);
  if (tokens_.size() >= decoder_.capacity()) {
    finish_ = RUDA_FINISH_CAPACITY;
    return {-1, finish_};
  }
  Next step;
  const bool chosen = decoder_.has_choice();
  step.token = chosen ? take_choice(more) : sampler_.choose(decoder_.logits(), tokens_);
  if (model_->tokenizer().is_end(step.token)) step.finish = RUDA_FINISH_EOS;
  tokens_.push_back(step.token);
  pending_ = !(chosen && more);
  has_logits_ = !pending_;
  ++generated_tokens_;
  finish_ = step.finish;
  return step;
}

std::string Session::take_text(const Next& step) {
  std::string text;
  if (step.token >= 0) text = stream_.push(model_->tokenizer(), step.token);
  if (step.finish != RUDA_FINISH_NONE) text += stream_.flush();
  text.insert(0, kept_);
  kept_.clear();
  return text;
}

std::string Session::rest() {
  std::string text = kept_ + stream_.flush();
  kept_.clear();
  return text;
}

void Session::forget_text() {
  stream_ = text::TextStream(RUDA_DECODE_SKIP_SPECIAL);
  kept_.clear();
}

uint32_t Session::generate(const ruda_generate_options& options, const StopSign& stop) {
  StopText filter(options.stops, options.stop_count);
  const auto deliver = [&](const std::string& text, int32_t token) {
    return options.on_text ? options.on_text(options.user, text.data(), text.size(), token) : 0;
  };
  for (uint64_t made = 0;; ++made) {
    Next step;
    if (options.max_new_tokens && made == options.max_new_tokens)
      step.finish = RUDA_FINISH_LENGTH;
    else
      step = next(stop, made + 1 != options.max_new_tokens);
    std::string text = filter.push(take_text(step));
    if (filter.stopped()) step.finish = RUDA_FINISH_STOP;
    // While generation goes on, what may begin a stop text is the session's: an end by the callback, by
    // cancel or by a failure does not lose it.
    if (step.finish == RUDA_FINISH_NONE)
      kept_ = filter.finish();
    else
      text += filter.finish();
    if ((step.token >= 0 || !text.empty()) && deliver(text, step.token) != 0 &&
        step.finish == RUDA_FINISH_NONE)
      step.finish = RUDA_FINISH_CALLBACK;
    if (step.finish == RUDA_FINISH_NONE) continue;
    finish_ = step.finish;
    return finish_;
  }
}

void Session::rewind(uint64_t count) {
  RUDA_CHECK(count <= tokens_.size(), RUDA_E_ARGUMENT, 1, "count is %llu, the session holds %zu tokens",
             (unsigned long long)count, tokens_.size());
  if (pending_ && count < tokens_.size()) pending_ = false;
  if (count < tokens_.size()) {
    has_logits_ = false;
    decoder_.forget_choices();
  }
  tokens_.resize(count);
  forget_text();
}

void Session::info(ruda_session_info& info) const {
  info.finish = finish_;
  info.token_count = tokens_.size();
  info.token_capacity = decoder_.capacity();
  info.prompt_tokens = prompt_tokens_;
  info.reused_tokens = reused_tokens_;
  info.generated_tokens = generated_tokens_;
  info.prompt_seconds = prompt_seconds_;
  info.generate_seconds = generate_seconds_;
  info.cache_bytes = decoder_.cache_bytes();
}

}  // namespace ruda::infer
