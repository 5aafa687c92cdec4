// src/core/fork.cpp - the list of living mutexes and the handlers that hold them over a fork.
// SPDX-License-Identifier: Apache-2.0
#include "core/fork.hpp"

#include <pthread.h>

namespace ruda {

constinit std::atomic<uint32_t> fork_generation{0};

namespace {

constinit Lock list_lock;
constinit Mutex* first = nullptr;

}  // namespace

struct ForkHandlers {
  static void prepare() {
    list_lock.lock();
    for (Mutex* each = first; each; each = each->next_) each->lock_.lock();
  }
  static void resume() {
    for (Mutex* each = first; each; each = each->next_) each->lock_.unlock();
    list_lock.unlock();
  }
  static void resume_child() {
    fork_generation.fetch_add(1, std::memory_order_relaxed);
    resume();
  }
};

namespace {

[[maybe_unused]] const int watching =
    pthread_atfork(ForkHandlers::prepare, ForkHandlers::resume, ForkHandlers::resume_child);

}  // namespace

thread_local int Mutex::held = 0;

Mutex::Mutex() noexcept {
  expect_none_held();
  const std::lock_guard lock(list_lock);
  next_ = first;
  if (first) first->before_ = this;
  first = this;
}

Mutex::~Mutex() {
  expect_none_held();
  const std::lock_guard lock(list_lock);
  (before_ ? before_->next_ : first) = next_;
  if (next_) next_->before_ = before_;
}

uint32_t Turn::take() noexcept {
  for (;;) {
    const uint32_t mine = fork_generation_now() + 1;
    uint32_t holder = holder_.load(std::memory_order_relaxed);
    if (holder == mine)
      holder_.wait(holder, std::memory_order_relaxed);
    else if (holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire,
                                           std::memory_order_relaxed))
      return mine;
  }
}

// A holder that forked may find that a thread of the child has the turn by now.
void Turn::give(uint32_t token) noexcept {
  if (holder_.compare_exchange_strong(token, 0, std::memory_order_release, std::memory_order_relaxed))
    holder_.notify_one();
}

}  // namespace ruda
