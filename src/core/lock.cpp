// src/core/lock.cpp - how a lock that is taken is waited for.
// SPDX-License-Identifier: Apache-2.0
#include "core/lock.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace ruda {
namespace {

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

// Most holders are done after some ten instructions. One that does not run at the moment needs a processor,
// and one that asks a driver for memory, or forks, takes its time.
void Lock::wait() noexcept {
  constexpr int quick_looks = 64, yields = 8;
  std::chrono::microseconds nap(10);
  for (int looks = 0;; ++looks) {
    if (!taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire)) return;
    if (looks < quick_looks) {
      relax();
    } else if (looks < quick_looks + yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(nap);
      nap = std::min(2 * nap, std::chrono::microseconds(1000));
      --looks;
    }
  }
}

}  // namespace ruda
