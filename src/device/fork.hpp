// src/device/fork.hpp - tells a forked child from the process that opened a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>

namespace ruda {

// Rises by one in every forked child.
extern std::atomic<uint32_t> fork_generation;

// The generation now; from the first call on forks are counted.
uint32_t watch_forks();

inline bool forked_since(uint32_t generation) noexcept {
  return fork_generation.load(std::memory_order_relaxed) != generation;
}

}  // namespace ruda
