// src/device/fork.cpp - counts forks by a handler that runs in the child.
// SPDX-License-Identifier: Apache-2.0
#include "device/fork.hpp"

#include <pthread.h>

namespace ruda {

std::atomic<uint32_t> fork_generation{0};

uint32_t watch_forks() {
  [[maybe_unused]] static const int watching =
      pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  return fork_generation.load(std::memory_order_relaxed);
}

}  // namespace ruda
