// cuda/runtime/allocator.cpp - size classes, free lists by stream, blocks that wait for events, memory of
// graphs.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/allocator.hpp"

#include "core/error.hpp"
#include "runtime/stream.hpp"

#include <bit>
#include <thread>

namespace ruda::cuda {
namespace {

constexpr int base_log2 = 9;  // 512 bytes
constexpr uint64_t largest = uint64_t(1) << 46;

bool happened(const std::vector<Mark>& marks) noexcept {
  for (const Mark& mark : marks) {
    const cudaError_t error = cudaEventQuery(mark.get());
    if (not_ready(error)) return false;
    quiet(error);  // a device that faulted has ended its work too
  }
  return true;
}

void run_all(std::vector<std::function<void()>>& calls) noexcept {
  for (auto& call : calls) call();
  calls.clear();
}

}  // namespace

SizeClass SizeClass::of(uint64_t bytes) {
  if (bytes <= uint64_t(1) << base_log2) return {0, uint64_t(1) << base_log2};
  const int top = 63 - std::countl_zero(bytes - 1);  // 2^top < bytes <= 2^(top + 1)
  const uint64_t step = uint64_t(1) << (top - 3);
  const uint64_t eighth = (bytes - 1 - (uint64_t(1) << top)) / step;  // 0..7
  return {(top - base_log2) * 8 + int(eighth) + 1, (uint64_t(1) << top) + (eighth + 1) * step};
}

uint64_t SizeClass::bytes_of(int index) {
  if (index == 0) return uint64_t(1) << base_log2;
  const int top = base_log2 + (index - 1) / 8;
  return (uint64_t(1) << top) + uint64_t((index - 1) % 8 + 1) * (uint64_t(1) << (top - 3));
}

void* Allocator::pop(FreeLists& lists, int index) noexcept {
  auto& bin = lists.bins[index];
  if (bin.empty()) return nullptr;
  void* data = bin.back();
  bin.pop_back();
  cached_ -= SizeClass::bytes_of(index);
  return data;
}

void Allocator::note_allocated(uint64_t bytes) noexcept {
  allocated_ += bytes;
  peak_ = allocated_ > peak_ ? allocated_ : peak_;
}

void* Allocator::allocate_cached(uint64_t bytes, CudaStream* stream) noexcept {
  if (bytes > largest) [[unlikely]]
    return nullptr;
  const SizeClass size = SizeClass::of(bytes);
  const std::lock_guard lock(lock_);
  if ((limit_ && allocated_ + size.bytes > limit_) || (stream && stream->capturing())) [[unlikely]]
    return nullptr;
  void* data = stream ? pop(stream->free_, size.index) : nullptr;
  if (!data) data = pop(idle_, size.index);
  if (data) [[likely]]
    note_allocated(size.bytes);
  return data;
}

void* Allocator::allocate(uint64_t bytes, CudaStream* stream) {
  RUDA_CHECK(bytes <= largest, RUDA_E_OOM_DEVICE, -1, "out of device memory: %llu bytes asked for",
             (unsigned long long)bytes);
  const SizeClass size = SizeClass::of(bytes);
  Calls done;
  std::unique_lock lock(lock_);
  RUDA_CHECK(!limit_ || allocated_ + size.bytes <= limit_, RUDA_E_BUDGET, -1,
             "memory limit of the context: %llu bytes held, %llu asked for, limit %llu",
             (unsigned long long)allocated_, (unsigned long long)size.bytes, (unsigned long long)limit_);
  void* data = nullptr;
  if (stream && stream->capturing()) [[unlikely]] {
    data = take_captured(size, *stream, bytes, done);
  } else {
    if (stream) data = pop(stream->free_, size.index);
    if (!data) data = pop(idle_, size.index);
    if (!data) [[unlikely]]
      data = take_new(size, stream, bytes, done);
  }
  note_allocated(size.bytes);
  if (!done.empty()) [[unlikely]] {
    lock.unlock();
    run_all(done);
  }
  return data;
}

// What has ended, what idle streams hold, new memory, and in need the blocks of busy streams.
void* Allocator::take_new(const SizeClass& size, CudaStream* stream, uint64_t asked, Calls& done) {
  collect(done);
  if (void* data = pop(idle_, size.index)) return data;
  collect_idle_streams(stream);
  if (void* data = pop(idle_, size.index)) return data;
  if (void* data = source_.take(size.bytes)) return data;
  drop_cached();
  if (void* data = source_.take(size.bytes)) return data;
  for (CudaStream* other : streams_) {
    if (!stream || other == stream || other->capturing() || other->free_.bins[size.index].empty()) continue;
    stream->follow(*other);
    return pop(other->free_, size.index);
  }
  uint64_t free_bytes = 0, total_bytes = 0;
  source_.room(free_bytes, total_bytes);
  fail_native(RUDA_E_OOM_DEVICE, "cuda", cudaErrorMemoryAllocation,
              "out of device memory: %llu bytes asked for (%llu with rounding); this context holds %llu and "
              "caches %llu, "
              "the device has %llu of %llu free; release tensors or other contexts, or ask for less at once",
              (unsigned long long)asked, (unsigned long long)size.bytes, (unsigned long long)allocated_,
              (unsigned long long)cached_, (unsigned long long)free_bytes, (unsigned long long)total_bytes);
}

// Under capture: blocks freed by earlier nodes, or blocks without pending work, which the graph then owns.
void* Allocator::take_captured(const SizeClass& size, CudaStream& stream, uint64_t asked, Calls& done) {
  GraphMemory& graph = *stream.graph_memory_;
  auto& bin = graph.free.bins[size.index];
  if (!bin.empty()) {
    void* data = bin.back();
    bin.pop_back();
    graph_blocks_.at(data).in_use = true;
    return data;
  }
  graph.blocks.reserve(graph.blocks.size() + 1);
  void* data = pop(idle_, size.index);
  if (!data) data = take_new(size, nullptr, asked, done);
  try {
    graph_blocks_.emplace(data, GraphBlock{stream.graph_memory_, true});
  } catch (...) {
    put_idle(data, size.index);
    throw;
  }
  graph.blocks.push_back({data, size.index});
  return data;
}

void Allocator::put_idle(void* data, int index) noexcept {
  try {
    idle_.bins[index].push_back(data);
    cached_ += SizeClass::bytes_of(index);
  } catch (...) {
    source_.give(data);
  }
}

std::function<void()> Allocator::wait_for(Pending&& pending) noexcept {
  try {
    pending_.emplace_back();
  } catch (...) {
    // No memory to remember them: waiting is the one safe way left.
    for (const Mark& mark : pending.marks) quiet(cudaEventSynchronize(mark.get()));
    for (const Block& block : pending.blocks) source_.give(block.data);
    return std::move(pending.done);
  }
  for (const Block& block : pending.blocks) cached_ += SizeClass::bytes_of(block.size_class);
  pending_.back() = std::move(pending);
  return {};
}

// True when a living graph keeps the block.
bool Allocator::release_to_graph(void* data, int index) noexcept {
  if (graph_blocks_.empty()) [[likely]]
    return false;
  const auto found = graph_blocks_.find(data);
  if (found == graph_blocks_.end()) return false;
  GraphMemory& graph = *found->second.graph;
  found->second.in_use = false;
  if (!graph.alive) {
    graph_blocks_.erase(found);
    return false;
  }
  if (!graph.capturing) return true;
  try {
    graph.free.bins[index].push_back(data);
  } catch (...) {
    // Later nodes of the capture take other blocks; the graph still owns this one.
  }
  return true;
}

void Allocator::release_after(void* data, uint64_t bytes, std::vector<Mark> marks) noexcept {
  if (!data) return;
  const SizeClass size = SizeClass::of(bytes);
  std::lock_guard lock(lock_);
  allocated_ -= size.bytes;
  if (release_to_graph(data, size.index)) return;
  if (marks.empty()) return put_idle(data, size.index);
  Pending pending{std::move(marks), {}, {}};
  try {
    pending.blocks.push_back({data, size.index});
  } catch (...) {
    for (const Mark& mark : pending.marks) quiet(cudaEventSynchronize(mark.get()));
    return source_.give(data);
  }
  static_cast<void>(wait_for(std::move(pending)));
}

void Allocator::release(void* data, uint64_t bytes, CudaStream* stream) noexcept {
  if (!data) return;
  const SizeClass size = SizeClass::of(bytes);
  std::lock_guard lock(lock_);
  allocated_ -= size.bytes;
  if (release_to_graph(data, size.index)) return;
  if (!stream) return put_idle(data, size.index);
  if (stream->closed_.load(std::memory_order_acquire)) {
    Pending pending;
    try {
      if (stream->last_) pending.marks.push_back(stream->last_);
      pending.blocks.push_back({data, size.index});
    } catch (...) {
      if (stream->last_) quiet(cudaEventSynchronize(stream->last_.get()));
      return source_.give(data);
    }
    static_cast<void>(wait_for(std::move(pending)));
    return;
  }
  try {
    stream->free_.bins[size.index].push_back(data);
    cached_ += size.bytes;
  } catch (...) {
    stream->drain();
    source_.give(data);
  }
}

void Allocator::collect(Calls& done) noexcept {
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (!happened(at->marks)) {
      ++at;
      continue;
    }
    for (const Block& block : at->blocks) {
      cached_ -= SizeClass::bytes_of(block.size_class);
      put_idle(block.data, block.size_class);
    }
    if (at->done) {
      try {
        done.push_back(std::move(at->done));
      } catch (...) {
        ++at;
        continue;
      }
    }
    at = pending_.erase(at);
  }
}

void Allocator::collect_idle_streams(const CudaStream* except) noexcept {
  for (CudaStream* stream : streams_) {
    if (stream == except || !stream->idle()) continue;
    for (int i = 0; i < SizeClass::count; ++i) {
      for (void* data : stream->free_.bins[i]) {
        cached_ -= SizeClass::bytes_of(i);
        put_idle(data, i);
      }
      stream->free_.bins[i].clear();
    }
  }
}

void Allocator::drop_cached() noexcept {
  for (int i = 0; i < SizeClass::count; ++i) {
    for (void* data : idle_.bins[i]) {
      source_.give(data);
      cached_ -= SizeClass::bytes_of(i);
    }
    idle_.bins[i].clear();
  }
  source_.flush();
}

void Allocator::trim() noexcept {
  Calls done;
  {
    std::lock_guard lock(lock_);
    collect(done);
    collect_idle_streams(nullptr);
    drop_cached();
  }
  run_all(done);
}

void Allocator::memory(ruda_context_info& info) const {
  std::lock_guard lock(lock_);
  info.allocated_bytes = allocated_;
  info.cached_bytes = cached_;
  info.peak_bytes = peak_;
}

void Allocator::retire(std::vector<Mark> marks, std::function<void()> done) noexcept {
  std::unique_lock lock(lock_);
  const auto now = wait_for({std::move(marks), {}, std::move(done), false});
  lock.unlock();
  if (now) now();
}

void Allocator::poll() noexcept {
  Calls done;
  {
    std::lock_guard lock(lock_);
    if (pending_.empty()) return;
    collect(done);
  }
  run_all(done);
}

void Allocator::add_stream(CudaStream& stream) {
  std::lock_guard lock(lock_);
  streams_.push_back(&stream);
}

void Allocator::drop_stream(CudaStream& stream, Mark last, std::function<void()> done) noexcept {
  std::unique_lock lock(lock_);
  std::erase(streams_, &stream);
  Pending pending;
  pending.done = std::move(done);
  pending.own = true;
  for (int i = 0; i < SizeClass::count; ++i) {
    for (void* data : stream.free_.bins[i]) {
      cached_ -= SizeClass::bytes_of(i);
      try {
        pending.blocks.push_back({data, i});
      } catch (...) {
        if (last) quiet(cudaEventSynchronize(last.get()));
        source_.give(data);
      }
    }
    stream.free_.bins[i] = {};
  }
  if (last) pending.marks.push_back(std::move(last));
  const auto now = wait_for(std::move(pending));
  lock.unlock();
  if (now) now();
}

void Allocator::end_capture(GraphMemory& graph) {
  std::lock_guard lock(lock_);
  graph.capturing = false;
  graph.free = {};
}

void Allocator::drop_graph(GraphMemory& graph, std::vector<Mark> marks, std::function<void()> done) noexcept {
  std::unique_lock lock(lock_);
  graph.alive = graph.capturing = false;
  Pending pending{std::move(marks), {}, std::move(done), true};
  for (const Block& block : graph.blocks) {
    const auto found = graph_blocks_.find(block.data);
    if (found == graph_blocks_.end() || found->second.in_use) continue;
    graph_blocks_.erase(found);
    try {
      pending.blocks.push_back(block);
    } catch (...) {
      for (const Mark& mark : pending.marks) quiet(cudaEventSynchronize(mark.get()));
      source_.give(block.data);
    }
  }
  graph.blocks.clear();
  const auto now = wait_for(std::move(pending));
  lock.unlock();
  if (now) now();
}

void Allocator::close(int device) noexcept {
  // What dead contexts' streams and graphs kept; never destroyed, since a process may end first.
  static auto& kept = *new std::deque<Pending>;
  static auto& kept_mutex = *new std::mutex;
  Calls done;
  collect(done);
  run_all(done);
  std::deque<Pending> rest;
  {
    std::lock_guard lock(kept_mutex);
    std::erase_if(kept, [](const Pending& pending) { return happened(pending.marks); });
    for (Pending& pending : pending_) {
      for (const Mark& mark : pending.marks) source_.after(mark.get());
      for (const Block& block : pending.blocks) source_.give(block.data);
      pending.blocks.clear();
      if (!pending.done) continue;
      try {
        (pending.own ? kept : rest).emplace_back();
      } catch (...) {
        for (const Mark& mark : pending.marks) quiet(cudaEventSynchronize(mark.get()));
        pending.done();
        continue;
      }
      (pending.own ? kept : rest).back() = std::move(pending);
    }
  }
  pending_.clear();
  drop_cached();
  if (rest.empty()) return;
  const auto finish = [device, rest = std::make_shared<std::deque<Pending>>(std::move(rest))] {
    quiet(cudaSetDevice(device));
    for (Pending& pending : *rest) {
      for (const Mark& mark : pending.marks) quiet(cudaEventSynchronize(mark.get()));
      pending.done();
    }
  };
  try {
    std::thread(finish).detach();
  } catch (...) {
    finish();
  }
}

}  // namespace ruda::cuda
