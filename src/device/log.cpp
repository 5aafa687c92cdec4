// src/device/log.cpp - delivers log lines without ever failing the work that wrote them.
// SPDX-License-Identifier: Apache-2.0
#include "device/log.hpp"

#include "core/text.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace ruda {
namespace {

constexpr size_t kept_lines = 256;
constexpr size_t line_capacity =
    900;  // with level and component below the smallest buffer that drain accepts

const char* level_name(uint32_t level) {
  switch (level) {
    case RUDA_LOG_ERROR: return "error";
    case RUDA_LOG_WARNING: return "warning";
    case RUDA_LOG_INFO: return "info";
  }
  return "debug";
}

}  // namespace

// In a forked child nobody returns from the calls of the parent's other threads. Under the mutex.
void Log::forget_lost_calls() noexcept {
  if (!forked_since(generation_)) return;
  generation_ = fork_generation_now();
  in_flight_.store(0, std::memory_order_relaxed);
}

void Log::set(ruda_log_fn callback, void* user, uint32_t level) {
  {
    const std::lock_guard lock(mutex_);
    forget_lost_calls();
    callback_ = callback;
    user_ = user;
    level_ = level ? level : uint32_t(RUDA_LOG_WARNING);
  }
  for (uint32_t calls; (calls = in_flight_.load(std::memory_order_acquire)) != 0;)
    in_flight_.wait(calls, std::memory_order_acquire);
}

void Log::write(uint32_t level, const char* component, const char* format, ...) noexcept {
  if (!wants(level)) return;
  char raw[line_capacity], text[line_capacity];
  va_list list;
  va_start(list, format);
  std::vsnprintf(raw, sizeof raw, format, list);
  va_end(list);
  copy_escaped(raw, text, sizeof text);
  try {
    std::unique_lock lock(mutex_);
    if (callback_) {
      const auto callback = callback_;
      void* user = user_;
      forget_lost_calls();
      const uint32_t generation = generation_;
      in_flight_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      callback(user, level, component, text);
      lock.lock();
      const bool last = generation == generation_ && in_flight_.fetch_sub(1, std::memory_order_release) == 1;
      lock.unlock();
      if (last) in_flight_.notify_all();
      return;
    }
    if (lines_.size() == kept_lines) {
      lines_.pop_front();
      ++dropped_;
    }
    lines_.push_back(std::string(level_name(level)) + " " + component + " " + text + "\n");
  } catch (...) {
    // A line that cannot be stored is lost; the work it speaks of goes on.
  }
}

uint64_t Log::drain(char* text, uint64_t capacity) {
  const std::lock_guard lock(mutex_);
  uint64_t used = 0;
  if (dropped_) {
    used = uint64_t(std::snprintf(text, capacity, "warning log %llu older lines were dropped\n",
                                  (unsigned long long)dropped_));
    dropped_ = 0;
  }
  while (!lines_.empty() && used + lines_.front().size() < capacity) {
    std::memcpy(text + used, lines_.front().data(), lines_.front().size());
    used += lines_.front().size();
    lines_.pop_front();
  }
  text[used] = 0;
  return used;
}

}  // namespace ruda
