// src/cpu/runtime/allocator.cpp - size classes, the cache of freed blocks, the caller's allocator.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/runtime/allocator.hpp"

#include "core/error.hpp"
#include "core/struct_in.hpp"

#include <bit>
#include <cstdlib>
#include <sys/mman.h>

namespace ruda::cpu {
namespace {

constexpr uint64_t alignment = 256, huge_page = uint64_t(2) << 20;

struct SizeClass {
  int index;
  uint64_t bytes;
};

// Four steps a power of two: at most a quarter is lost.
SizeClass size_class(uint64_t bytes) {
  if (bytes <= alignment) return {0, alignment};
  const int top = 63 - std::countl_zero(bytes - 1);  // 2^top < bytes <= 2^(top+1)
  const uint64_t step = uint64_t(1) << (top - 2);
  const uint64_t quarter = (bytes - 1 - (uint64_t(1) << top)) / step;  // 0..3
  return {(top - 8) * 4 + int(quarter) + 1, (uint64_t(1) << top) + (quarter + 1) * step};
}

}  // namespace

Allocator::Allocator(const ruda_host_allocator* host, uint64_t limit_bytes)
    : has_host_(host != nullptr), limit_(limit_bytes) {
  if (!host) return;
  host_ = struct_in(host, 0, "desc.allocator");
  RUDA_CHECK(host_.alloc && host_.free, RUDA_E_NULL, 0, "desc.allocator: alloc or free is NULL");
}

Allocator::~Allocator() { trim(); }

void* Allocator::allocate(uint64_t bytes) {
  RUDA_CHECK(bytes <= uint64_t(1) << 46, RUDA_E_OOM_HOST, -1, "out of host memory: %llu bytes asked for",
             (unsigned long long)bytes);
  const SizeClass size = size_class(bytes);
  {
    std::lock_guard lock(mutex_);
    RUDA_CHECK(!limit_ || allocated_ + size.bytes <= limit_, RUDA_E_BUDGET, -1,
               "memory limit of the context: %llu bytes held, %llu asked for, limit %llu",
               (unsigned long long)allocated_, (unsigned long long)size.bytes, (unsigned long long)limit_);
    allocated_ += size.bytes;
    if (!free_[size.index].empty()) {
      void* data = free_[size.index].back();
      free_[size.index].pop_back();
      cached_ -= size.bytes;
      peak_ = allocated_ > peak_ ? allocated_ : peak_;
      return data;
    }
  }
  try {
    void* data = system_allocate(size.bytes);
    std::lock_guard lock(mutex_);
    peak_ = allocated_ > peak_ ? allocated_ : peak_;
    return data;
  } catch (...) {
    std::lock_guard lock(mutex_);
    allocated_ -= size.bytes;
    throw;
  }
}

void Allocator::release(void* data, uint64_t bytes) noexcept {
  if (!data) return;
  const SizeClass size = size_class(bytes);
  {
    std::lock_guard lock(mutex_);
    allocated_ -= size.bytes;
    if (!has_host_ && cached_ + size.bytes <= cache_limit) {
      try {
        free_[size.index].push_back(data);
        cached_ += size.bytes;
        return;
      } catch (...) {
        // No room to remember the block: give it back to the system.
      }
    }
  }
  system_release(data, size.bytes);
}

void Allocator::trim() noexcept {
  std::lock_guard lock(mutex_);
  for (int i = 0; i < class_count; ++i) {
    for (void* data : free_[i]) std::free(data);
    free_[i].clear();
  }
  cached_ = 0;
}

void Allocator::memory(ruda_context_info& info) const {
  std::lock_guard lock(mutex_);
  info.allocated_bytes = allocated_;
  info.cached_bytes = cached_;
  info.peak_bytes = peak_;
}

void* Allocator::system_allocate(uint64_t bytes) {
  void* data = nullptr;
  if (has_host_) {
    const int32_t status = host_.alloc(host_.user, bytes, alignment, &data);
    if (status != 0) {
      Error error;
      error.status = RUDA_E_CALLBACK;
      error.native_code = status;
      error.text = format("host allocator returned %d for %llu bytes", status, (unsigned long long)bytes);
      throw error;
    }
    if (!data || reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      if (data) host_.free(host_.user, data, bytes, alignment);
      fail(RUDA_E_OOM_HOST, -1, "host allocator gave address %p for %llu bytes, expected a multiple of %llu",
           data, (unsigned long long)bytes, (unsigned long long)alignment);
    }
    return data;
  }
  const uint64_t align = bytes >= huge_page ? huge_page : alignment;
  RUDA_CHECK(posix_memalign(&data, align, bytes) == 0, RUDA_E_OOM_HOST, -1,
             "out of host memory: %llu bytes asked for", (unsigned long long)bytes);
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return data;
}

void Allocator::system_release(void* data, uint64_t bytes) noexcept {
  if (has_host_)
    host_.free(host_.user, data, bytes, alignment);
  else
    std::free(data);
}

}  // namespace ruda::cpu
