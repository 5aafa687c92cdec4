// src/tensor/context.cpp - life of contexts and streams.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.hpp"

namespace ruda {
namespace {

Lasting<Mutex> poison_mutex;  // of the rare texts of all streams

template <class F>
auto poisoning(Stream& stream, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    if (error.status == RUDA_E_DEVICE) stream.poison(error);
    throw;
  }
}

}  // namespace

Context::Context(const ruda_context_desc& desc, std::unique_ptr<Device> opened)
    : device_(std::move(opened)),
      backend_(device_->backend()),
      asynchronous_(device_->asynchronous()),
      plan_cache_capacity_(desc.plan_cache_capacity ? desc.plan_cache_capacity : 1024),
      tune_file_(desc.tune_file ? desc.tune_file : "") {
  log_.set(desc.log, desc.log_user, desc.log_level);
}

void Context::trim() {
  if (ContextPart* part = part_.load(std::memory_order_acquire)) part->trim();
  device_->trim();
}

Stream::Stream(Context& context, std::unique_ptr<DeviceStream> opened)
    : context_(context), queue_(std::move(opened)) {}

void Stream::poison(const Error& error) noexcept {
  const std::lock_guard lock(*poison_mutex);
  if (poison_.load(std::memory_order_relaxed)) return;
  try {
    poison_text_ = error.text;
  } catch (...) {
    poison_text_.clear();
  }
  poison_.store(error.status, std::memory_order_release);
}

void Stream::fail_unhealthy() const {
  context_.device().check_usable();
  const std::lock_guard lock(*poison_mutex);
  const ruda_status first = poison_.load(std::memory_order_relaxed);
  if (!first) return;  // a child of a process whose device survives forks
  fail_native(RUDA_E_STREAM_POISONED, "ruda", first,
              "stream: an earlier call failed with %s: %s; release the stream and make a new one",
              status_name(first), poison_text_.c_str());
}

void Stream::fail_capturing(const char* what) {
  fail(RUDA_E_CAPTURE_UNSAFE, -1,
       "%s: waits or allocates, which a stream under capture does not allow; end the capture first", what);
}

void Stream::begin_capture() {
  check_healthy();
  RUDA_CHECK(!capturing(), RUDA_E_STATE, 0, "stream: is under capture already");
  kept_.clear();
  kept_storages_.clear();
  steps_.clear();
  queue_->begin_capture();
  capturing_.store(true, std::memory_order_release);
}

Stream::Captured Stream::end_capture() {
  RUDA_CHECK(capturing(), RUDA_E_STATE, 0, "stream: is not under capture");
  capturing_.store(false, std::memory_order_release);
  Captured captured;
  captured.kept = std::exchange(kept_, {});
  captured.storages = std::exchange(kept_storages_, {});
  captured.steps = std::exchange(steps_, {});
  captured.graph = queue_->end_capture();
  return captured;
}

void Stream::before_launch(LaunchStep step) {
  for (const LaunchStep& other : steps_)
    RUDA_CHECK(other.owner != step.owner, RUDA_E_STATE, 0,
               "schedule: this capture advances it already, a graph holds one step of a schedule");
  steps_.push_back(std::move(step));
}

void Stream::keep(Storage& storage, bool written) {
  const auto [at, added] = kept_storages_.try_emplace(&storage, written);
  at->second |= written;
  if (!added) return;
  storage.add_keeper();
  kept_.emplace_back(&storage, [](Storage* kept) { kept->drop_keeper(); });
}

// Everything that a handle names hangs below the context, so the graph's own parent keeps the way back.
void Stream::keep_object(const Object& object) {
  retain(object.cell());
  kept_.emplace_back(object.cell(), [](Cell* cell) { release(cell); });
}

void Graph::launch(Stream& stream) {
  stream.check_healthy();
  stream.check_not_capturing("ruda_graph_launch");
  for (const auto& [storage, written] : captured.storages) {
    if (!storage->fenceable()) storage->order(stream);
    storage->check_stream(stream, written, 1, "graph");
  }
  for (const LaunchStep& step : captured.steps) step.check();
  for (const LaunchStep& step : captured.steps) step.apply();
  const DeviceScope scope(stream.device());
  poisoning(stream, [&] { stream.queue().launch(*captured.graph); });
  for (const auto& [storage, written] : captured.storages) storage->note_use(stream, written);
}

bool Stream::query() {
  check_healthy();
  check_not_capturing("ruda_stream_query");
  return poisoning(*this, [&] { return queue_->done(); });
}

void Stream::sync() {
  check_healthy();
  check_not_capturing("ruda_stream_sync");
  poisoning(*this, [&] { queue_->sync(); });
}

void Stream::write(void* to, const void* from, uint64_t bytes) {
  poisoning(*this, [&] { device().write(*queue_, to, from, bytes); });
}

void Stream::read(void* to, const void* from, uint64_t bytes) {
  poisoning(*this, [&] { device().read(*queue_, to, from, bytes); });
}

}  // namespace ruda
