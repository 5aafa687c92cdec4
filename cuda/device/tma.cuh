// cuda/device/tma.cuh - tiles of a matrix brought to shared memory by the copy engine (sm_90).
// SPDX-License-Identifier: Apache-2.0
//
// One thread starts a copy; it completes on a barrier in shared memory that everyone may wait for.
#pragma once
#include <cstdint>

namespace ruda::cuda {

// What cuTensorMapEncodeTiled fills in; passed to kernels by value as a __grid_constant__.
struct alignas(64) TileMap {
  uint64_t opaque[16];
};

__device__ inline uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// A barrier that `arrivals` threads complete; a block barrier must follow before others use it.
__device__ inline void barrier_init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and lets the phase end only when `bytes` have been copied as well.
__device__ inline void barrier_expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

// Waits for the end of the phase with this parity: 0 for the first, then alternating.
__device__ inline void barrier_wait(uint64_t* barrier, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
}

// The tile whose first element is (col, row); what lies outside the matrix comes as zeros.
__device__ inline void load_tile_async(void* shared, const TileMap& map, int col, int row,
                                       uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(shared_address(shared)),
      "l"(&map), "r"(col), "r"(row), "r"(shared_address(barrier))
      : "memory");
}

}  // namespace ruda::cuda
