// src/cpu/runtime/allocator.hpp - host memory for tensors: freed blocks are kept and given out again.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/fork.hpp"

#include <ruda/context.h>

#include <cstdint>
#include <vector>

namespace ruda::cpu {

// Blocks are 256-byte aligned and rounded up to a size class (four a power of two), so that a freed block
// fits the next request of about its size. At most `cache_limit` bytes wait for reuse.
class Allocator {
 public:
  Allocator(const ruda_host_allocator* host, uint64_t limit_bytes);
  ~Allocator();
  void* allocate(uint64_t bytes);
  void release(void* data, uint64_t bytes) noexcept;
  void trim() noexcept;
  void memory(ruda_context_info& info) const;

 private:
  void* system_allocate(uint64_t bytes);
  void system_release(void* data, uint64_t bytes) noexcept;

  static constexpr uint64_t cache_limit = uint64_t(256) << 20;
  static constexpr int class_count = 4 * 48;
  const bool has_host_;
  ruda_host_allocator host_{};
  const uint64_t limit_;
  mutable Mutex mutex_;
  uint64_t allocated_ = 0, cached_ = 0, peak_ = 0;
  std::vector<void*> free_[class_count];
};

}  // namespace ruda::cpu
