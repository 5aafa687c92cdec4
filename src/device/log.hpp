// src/device/log.hpp - a context's log: a callback, or a queue of lines that the caller drains.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"

#include <ruda/context.h>

#include <atomic>
#include <deque>
#include <string>

namespace ruda {

class Log {
 public:
  void set(ruda_log_fn callback, void* user, uint32_t level);
  bool wants(uint32_t level) const { return level <= level_.load(std::memory_order_relaxed); }
  __attribute__((format(printf, 4, 5))) void write(uint32_t level, const char* component, const char* format,
                                                   ...) noexcept;
  // Whole lines only, as ruda_log_drain.
  uint64_t drain(char* text, uint64_t capacity);

 private:
  void forget_lost_calls() noexcept;
  Mutex mutex_;
  ruda_log_fn callback_ = nullptr;
  void* user_ = nullptr;
  std::atomic<uint32_t> level_{RUDA_LOG_WARNING};
  std::atomic<uint32_t> in_flight_{0};           // calls of the callback
  uint32_t generation_ = fork_generation_now();  // of in_flight_
  uint64_t dropped_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace ruda
