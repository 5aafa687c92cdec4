// src/core/lock.hpp - a lock for moments: one atomic operation and no call while nobody else wants it.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: taking a free lock is one atomic operation, giving it back a plain store; who finds it taken looks
// again, then lets others run, then sleeps for moments that grow up to a millisecond. Not goals: fairness,
// taking it twice, and forks: a Mutex is a Lock that a fork takes too. Rejected: waking sleepers, since each
// unlock then needs an atomic operation of its own, which is most of what a lock costs.
#pragma once
#include <atomic>
#include <mutex>

namespace ruda {

class Lock {
 public:
  constexpr Lock() noexcept = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept;
  std::atomic<bool> taken_{false};
};

}  // namespace ruda
