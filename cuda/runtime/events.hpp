// cuda/runtime/events.hpp - events without timing, kept for reuse: making one costs far more than recording
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"
#include "runtime/error.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace ruda::cuda {

// Whether a query says that work is still under way. The answer may stay behind as the thread's last error,
// where check_launch() would take it for a failure of its own.
inline bool not_ready(cudaError_t error) noexcept {
  if (error != cudaErrorNotReady) return false;
  static_cast<void>(cudaGetLastError());
  return true;
}

// An event that goes back to its pool with the last reference.
using Mark = std::shared_ptr<CUevent_st>;

class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  ~EventPool() {
    if (forked_since(generation_)) return;
    for (cudaEvent_t event : free_) quiet(cudaEventDestroy(event));
  }

  Mark take() {
    return Mark(take_raw(), [pool = shared_from_this()](cudaEvent_t event) { pool->give(event); });
  }

 private:
  cudaEvent_t take_raw() {
    {
      std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        cudaEvent_t event = free_.back();
        free_.pop_back();
        return event;
      }
    }
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    return event;
  }
  void give(cudaEvent_t event) noexcept {
    if (forked_since(generation_)) return;
    std::lock_guard lock(mutex_);
    try {
      free_.push_back(event);
    } catch (...) {
      quiet(cudaEventDestroy(event));
    }
  }
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
  // A forked child touches neither its parent's events nor a mutex that a lost thread may have held.
  const uint32_t generation_ = fork_generation_now();
};

}  // namespace ruda::cuda
