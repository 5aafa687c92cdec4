// src/infer/decoder.cpp - the cache, the schedule of one sequence, and a step for each batch size in use.
// SPDX-License-Identifier: Apache-2.0
#include "infer/decoder.hpp"

#include <algorithm>
#include <numeric>

namespace ruda::infer {
namespace {

constexpr int64_t page_size = 64;
constexpr size_t kept_steps = 4;  // one token, whole batches, and two odd ends of prompts

}  // namespace

Decoder::Decoder(const model::LanguageModel& model, const ruda_session_desc& desc) : model_(model) {
  const model::DecoderConfig& c = model.config();
  constexpr uint64_t most = uint64_t(1) << 24;
  capacity_ = desc.token_capacity ? desc.token_capacity : std::min<uint64_t>(uint64_t(c.context), 8192);
  RUDA_CHECK(capacity_ <= most, RUDA_E_ARGUMENT, 1, "desc.token_capacity is %llu, expected at most %llu",
             (unsigned long long)capacity_, (unsigned long long)most);
  batch_tokens_ = desc.batch_tokens ? desc.batch_tokens : 512;
  RUDA_CHECK(batch_tokens_ <= 4096, RUDA_E_ARGUMENT, 1, "desc.batch_tokens is %u, expected 1..4096",
             batch_tokens_);
  batch_tokens_ = uint32_t(std::min<uint64_t>(batch_tokens_, capacity_));
  cache_.dtype = desc.cache_dtype ? desc.cache_dtype : uint32_t(RUDA_F16);
  RUDA_CHECK(cache_.dtype == RUDA_F16 || cache_.dtype == RUDA_BF16 || cache_.dtype == RUDA_F32,
             RUDA_E_ARGUMENT, 1, "desc.cache_dtype is %s, expected F16, BF16 or F32",
             dtype_name(cache_.dtype));

  Context& context = model.context();
  stream_ = make<Stream>(context.cell(), context, context.device().open_stream());
  cache_.page_size = page_size;
  cache_.pages = int64_t((capacity_ + page_size - 1) / page_size);
  const int64_t shape[] = {cache_.pages, page_size, c.kv_heads, c.head_dim};
  const LayoutRef layout = context.layouts().contiguous(cache_.dtype, shape, 4);
  for (int64_t i = 0; i < c.layers; ++i) {
    cache_.keys.push_back(make_tensor(context, layout, stream_.get()));
    cache_.values.push_back(make_tensor(context, layout, stream_.get()));
    cache_bytes_ += 2 * layout->packed_bytes();
  }
  ruda_paged_schedule_desc schedule = RUDA_PAGED_SCHEDULE_DESC_INIT;
  schedule.page_size = uint32_t(page_size);
  schedule.pages = uint32_t(cache_.pages);
  schedule.max_table_pages = uint32_t(cache_.pages);
  schedule.max_sequences = 1;
  schedule.max_queries = batch_tokens_;
  ok(ruda_paged_schedule_create(handle_of<ruda_context>(context), &schedule, cache_.schedule.out()));
  logits_.resize(size_t(c.vocab));
}

Replay& Decoder::replay() {
  if (!replay_) replay_ = std::make_unique<Replay>(model_, cache_, stream_, capacity_);
  return *replay_;
}

Step& Decoder::step_for(int64_t tokens) {
  if (tokens == 1 && stream_->context().asynchronous()) return replay().step();
  const auto found =
      std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) { return step->tokens() == tokens; });
  if (found != steps_.end()) {
    std::rotate(steps_.begin(), found, found + 1);
  } else {
    if (steps_.size() == kept_steps) steps_.pop_back();
    steps_.insert(steps_.begin(), std::make_unique<Step>(model_, cache_, stream_, tokens));
  }
  return *steps_.front();
}

void Decoder::check_room(uint64_t end) const {
  RUDA_CHECK(end <= capacity_, RUDA_E_BUDGET, -1, "session: %llu tokens, it holds %llu",
             (unsigned long long)end, (unsigned long long)capacity_);
}

void Decoder::run(std::span<const int32_t> tokens, uint64_t start, const StopSign& stop) {
  const uint64_t end = start + tokens.size();
  check_room(end);
  forget_choices();
  // All pages: those past the end are the reserve of later steps.
  const uint32_t length = uint32_t(end);
  std::vector<uint32_t> pages(static_cast<size_t>(cache_.pages)), sequences(tokens.size(), 0),
      positions(tokens.size());
  std::iota(pages.begin(), pages.end(), 0u);
  std::iota(positions.begin(), positions.end(), uint32_t(start));
  ok(ruda_paged_schedule_set(cache_.schedule.get(), handle_of<ruda_stream>(*stream_), pages.data(),
                             uint32_t(pages.size()), &length, 1, sequences.data(), positions.data(),
                             uint32_t(tokens.size())));
  const std::vector<int32_t> signed_positions(positions.begin(), positions.end());
  Step& step = step_for(int64_t(tokens.size()));
  step.write_inputs(tokens.data(), signed_positions.data());
  step.run(cache_, stop);
  latest_ = step.logits();
  downloaded_ = false;
}

void Decoder::step(const Choice& choice, const StopSign& stop) {
  const size_t count = choice.history.size();
  if (!stream_->context().asynchronous() || count < 2) return run(choice.history.last(1), count - 1, stop);
  check_room(count);
  replay().submit(choice);
  latest_ = replay_->step().logits();
  downloaded_ = false;
}

void Decoder::step_ahead(uint64_t position) {
  check_room(position + 1);
  replay_->submit_ahead(uint32_t(position));
  downloaded_ = false;
}

std::span<const float> Decoder::logits() {
  if (!downloaded_)
    ok(ruda_tensor_read(handle_of<ruda_stream>(*stream_), handle(latest_), logits_.data(),
                        logits_.size() * sizeof(float)));
  downloaded_ = true;
  return logits_;
}

}  // namespace ruda::infer
