// src/cpu/runtime/memory.hpp - aligned host memory that the system may back with huge pages.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <utility>

namespace ruda::cpu {

inline constexpr size_t host_alignment = 64;

// At least 64-byte aligned; blocks of 2 MiB and more are aligned to and offered as huge pages. Zero bytes
// give a valid block. Throws std::bad_alloc. The contents are not defined.
void* host_allocate(size_t bytes);
void host_free(void* block) noexcept;  // null is fine

// Owns one block.
class HostBuffer {
 public:
  HostBuffer() = default;
  explicit HostBuffer(size_t bytes) : data_(host_allocate(bytes)), bytes_(bytes) {}
  HostBuffer(HostBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostBuffer() { host_free(data_); }

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  size_t bytes() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace ruda::cpu
