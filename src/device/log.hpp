// src/device/log.hpp - a context's log: a callback, or a queue of lines that the caller drains.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/context.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
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
  std::mutex mutex_;
  std::condition_variable idle_;
  ruda_log_fn callback_ = nullptr;
  void* user_ = nullptr;
  std::atomic<uint32_t> level_{RUDA_LOG_WARNING};
  uint32_t in_flight_ = 0;
  uint64_t dropped_ = 0;
  std::deque<std::string> lines_;
};

}  // namespace ruda
