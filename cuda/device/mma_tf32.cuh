// cuda/device/mma_tf32.cuh - products of small tiles on the matrix units; copies into shared memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda {

// F32 rounded to the 11 significant bits that a TF32 operand keeps.
__device__ inline uint32_t to_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

// c += a b with a [16, 8], b [8, 8] of TF32. With g = lane / 4, t = lane % 4 a lane holds a at rows g, g + 8,
// g, g + 8 and columns t, t, t + 4, t + 4; b at rows t, t + 4 of column g; c at rows g, g, g + 8, g + 8 and
// columns 2 t, 2 t + 1, 2 t, 2 t + 1.
__device__ inline void mma_16x8x8(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Starts a copy of 16 bytes into shared memory; zeros where `valid` is false.
__device__ inline void load_async_16(void* shared, const void* from, bool valid) {
  const uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Ends a group of copies; wait_async<n> returns when at most the n newest groups are under way.
__device__ inline void commit_async() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Newest>
__device__ inline void wait_async() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Newest) : "memory");
}

}  // namespace ruda::cuda
