// cuda/device/wgmma.cuh - matrix products of four warps with both operands in shared memory (sm_90a only).
// SPDX-License-Identifier: Apache-2.0
//
// Operands are tiles of 64 lines of 64 16-bit elements of k, 128 bytes a line, aligned to 1024 bytes, their
// 16-byte pieces permuted as the copy engine's 128-byte mode does: piece p of line i lies at p ^ (i % 8).
#pragma once
#include "device/tma.cuh"

namespace ruda::cuda {

// Describes a tile, from element 16 * step of k on.
__device__ inline uint64_t wgmma_tile(const void* shared, int step) {
  const uint64_t start = (shared_address(shared) + 32u * uint32_t(step)) >> 4 & 0x3FFF;
  constexpr uint64_t group_bytes = 1024;  // of eight lines
  return start | uint64_t(1) << 16 | (group_bytes >> 4) << 32 | uint64_t(1) << 62;
}

// Before the first product: registers and shared memory written by these threads are seen by it.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// d += a * b^T over 16 columns of k: a [64, 16], b [64, 16], bf16, F32 sums. Thread t of the four warps
// holds row r = 16 * (t / 32) + t % 32 / 4, columns c = 8j + t % 4 * 2 and c + 1 in d[4j], d[4j + 1]; the
// same of row r + 8 in d[4j + 2], d[4j + 3].
__device__ inline void wgmma_64x64x16(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

}  // namespace ruda::cuda
