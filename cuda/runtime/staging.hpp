// cuda/runtime/staging.hpp - pinned host memory between the caller's buffers and the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/events.hpp"
#include "runtime/index_word.hpp"

#include <cstdint>

namespace ruda::cuda {

// One pinned buffer on loan; hand it back with the mark of the last copy that uses it.
struct PinnedChunk {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
  Mark busy;
};

// Pinned memory belongs to the process and is never given back: freeing it would wait for every device.
class PinnedMemory {
 public:
  static constexpr uint64_t small_bytes = 64 << 10, large_bytes = 4 << 20;
  static PinnedMemory& get();

  // A chunk whose last copy has ended; waits for one when many are in flight.
  PinnedChunk take(bool large);
  void give(PinnedChunk chunk, Mark last) noexcept;
  // A word that kernels can write; it goes back with the last reference.
  std::shared_ptr<IndexWord> index_word();

 private:
  struct Kind {
    std::vector<PinnedChunk> free;  // oldest first
    int made = 0;
  };
  static std::byte* allocate(uint64_t bytes);
  std::mutex mutex_;
  const uint32_t generation_ = fork_generation_now();  // a forked child leaves the mutex alone
  Kind small_, large_;
  std::vector<IndexWord*> words_;
};

}  // namespace ruda::cuda
