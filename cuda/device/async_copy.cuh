// cuda/device/async_copy.cuh - copies from global to shared memory that run beside the computation.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda {

// 16 bytes, both sides aligned to them, past the first-level cache; zeros where `inside` is false.
__device__ inline void copy_async(void* shared, const void* global, bool inside) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const uint32_t bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
}

// The first `bytes` of 16, and zeros after them.
__device__ inline void copy_async_part(void* shared, const void* global, uint32_t bytes) {
  const auto to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
}

// The copies of this thread since the last call are a group.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `Pending` groups of this thread are under way; a barrier shows them to the others.
template <int Pending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace ruda::cuda
