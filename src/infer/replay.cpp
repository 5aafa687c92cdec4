// src/infer/replay.cpp - one warm step, then a captured graph; chosen tokens come back through a ring.
// SPDX-License-Identifier: Apache-2.0
#include "infer/replay.hpp"

#include "plan/paged_schedule.hpp"

#include <ruda/sample.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <thread>

namespace ruda::infer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto spin_time = std::chrono::microseconds(30);
constexpr auto look_time = std::chrono::milliseconds(2);

}  // namespace

Replay::Replay(const model::LanguageModel& model, const Cache& cache, const Ref<Stream>& stream,
               uint64_t token_capacity)
    : cache_(cache), stream_(stream), step_(std::make_unique<Step>(model, cache, stream, 1)) {
  const auto make = [&](uint32_t dtype, std::initializer_list<int64_t> shape) {
    LayoutTable& layouts = stream->context().layouts();
    return make_tensor(stream->context(), layouts.contiguous(dtype, shape.begin(), int(shape.size())),
                       stream.get());
  };
  params_ = make(RUDA_F64, {1, RUDA_SAMPLE_PARAM_COUNT});
  random_ = make(RUDA_U64, {1, 2});
  history_ = make(RUDA_I32, {1, int64_t(token_capacity)});
  lengths_ = make(RUDA_I32, {1});
  const ruda_tensor_desc logits = describe(step_->logits()), params = describe(params_),
                         random = describe(random_), history = describe(history_),
                         lengths = describe(lengths_), ids = describe(step_->ids());
  ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
  desc.append = 1;
  desc.logits = &logits;
  desc.params = &params;
  desc.random = &random;
  desc.history = &history;
  desc.lengths = &lengths;
  desc.tokens = &ids;
  const ruda_context context = handle_of<ruda_context>(stream->context());
  ok(ruda_sample_plan_create(context, &desc, choose_.out()));
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  ok(ruda_plan_query(choose_.get(), &info));
  ok(ruda_workspace_create(context, info.workspace_bytes, workspace_.out()));
  refused_ = !step_->capturable() || !info.capturable;
  ring_ = stream->device().open_ring(stream->queue());
}

// The graph's work may still write to the ring: both end in stream order.
Replay::~Replay() = default;

void Replay::set_schedule(uint32_t position) {
  auto& schedule = get<PagedSchedule>(cache_.schedule.get(), -1, "schedule");
  if (schedule.sequences() == 1 && schedule.lengths()[0] == position) return;
  std::vector<uint32_t> pages(static_cast<size_t>(cache_.pages));
  std::iota(pages.begin(), pages.end(), 0u);
  schedule.set(*stream_, {pages.data(), uint32_t(pages.size()), &position, 1, nullptr, nullptr, 0});
}

// All of a step: what a graph holds.
void Replay::enqueue() {
  const ruda_stream stream = handle_of<ruda_stream>(*stream_);
  ok(ruda_paged_schedule_advance(cache_.schedule.get(), stream));
  step_->run(cache_, StopSign{});
  const ruda_binding bindings[] = {
      bind(RUDA_SAMPLE_LOGITS, step_->logits()), bind(RUDA_SAMPLE_PARAMS, params_),
      bind(RUDA_SAMPLE_RANDOM, random_),         bind(RUDA_SAMPLE_HISTORY, history_),
      bind(RUDA_SAMPLE_LENGTHS, lengths_),       bind(RUDA_SAMPLE_TOKENS, step_->ids())};
  ok(ruda_plan_execute(choose_.get(), stream, workspace_.get(), bindings, std::size(bindings), nullptr));
  const DeviceScope scope(stream_->device());
  try {
    ring_->post(stream_->queue(), step_->ids()->data());
  } catch (const Error& error) {
    if (error.status == RUDA_E_DEVICE) stream_->poison(error);
    throw;
  }
}

// A step that cannot be captured is submitted piece by piece for good.
void Replay::capture() {
  Log& log = stream_->context().log();
  stream_->begin_capture();
  try {
    enqueue();
    graph_ = make<Graph>(stream_->context().cell(), stream_->context(), stream_->end_capture());
    log.write(RUDA_LOG_INFO, "session", "decode step captured: %llu kernels and copies",
              (unsigned long long)graph_->captured.graph->nodes());
  } catch (const Error& error) {
    refused_ = true;
    if (stream_->capturing()) {
      try {
        stream_->end_capture();
      } catch (const Error&) {
        // Only the first failure is told.
      }
    }
    stream_->check_healthy();
    log.write(RUDA_LOG_WARNING, "session", "the decode step is not captured and runs slower: %s",
              error.text.c_str());
  }
}

// The device goes on from here by itself: it appends what it chooses and counts its draws.
void Replay::write_choice(const Choice& choice) {
  const ruda_stream stream = handle_of<ruda_stream>(*stream_);
  const SampleOptions& o = choice.options;
  double params[RUDA_SAMPLE_PARAM_COUNT] = {};
  params[RUDA_SAMPLE_TEMPERATURE] = o.temperature;
  params[RUDA_SAMPLE_TOP_K] = double(o.top_k);
  params[RUDA_SAMPLE_TOP_P] = o.top_p;
  params[RUDA_SAMPLE_MIN_P] = o.min_p;
  params[RUDA_SAMPLE_REPETITION_PENALTY] = o.repetition_penalty;
  params[RUDA_SAMPLE_REPETITION_WINDOW] = double(o.repetition_window);
  const uint64_t random[] = {o.seed, choice.draws};
  const int32_t length = o.penalises() ? int32_t(choice.history.size()) : 0;
  ok(ruda_tensor_write(stream, handle(params_), params, sizeof params));
  ok(ruda_tensor_write(stream, handle(random_), random, sizeof random));
  ok(ruda_tensor_write(stream, handle(lengths_), &length, sizeof length));
  if (!length) return;
  std::vector<int32_t> all(static_cast<size_t>(history_->layout().elements));
  std::copy(choice.history.begin(), choice.history.end(), all.begin());
  ok(ruda_tensor_write(stream, handle(history_), all.data(), all.size() * sizeof(int32_t)));
}

void Replay::launch(uint32_t position) {
  set_schedule(position);
  if (!graph_ && warm_ && !refused_) capture();
  if (graph_)
    graph_->launch(*stream_);
  else
    enqueue();
  warm_ = true;
  ++posted_;
}

void Replay::submit(const Choice& choice) {
  stream_->check_healthy();
  forget_choices();
  ok(ruda_tensor_write(handle_of<ruda_stream>(*stream_), handle(step_->ids()), &choice.history.back(),
                       sizeof(int32_t)));
  write_choice(choice);
  launch(uint32_t(choice.history.size() - 1));
}

void Replay::submit_ahead(uint32_t position) {
  stream_->check_healthy();
  launch(position);
}

void Replay::drop_ahead() {
  forget_choices();
  try {
    stream_->sync();
  } catch (const Error& error) {
    if (error.status != RUDA_E_INDEX) throw;  // the report of the token that was none
  }
}

int32_t Replay::take_choice() {
  const uint64_t n = taken_;
  const auto started = Clock::now();
  auto look = started + look_time;
  uint32_t word = 0;
  while (!ring_->read(n, word)) {
    const auto now = Clock::now();
    if (now - started < spin_time) continue;
    if (now >= look) {
      // A stream that failed never posts.
      if (stream_->query() && !ring_->read(n, word))
        fail(RUDA_E_INTERNAL, -1, "session: the device's step ended without a token");
      look = now + look_time;
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
  ++taken_;
  return int32_t(word);
}

}  // namespace ruda::infer
