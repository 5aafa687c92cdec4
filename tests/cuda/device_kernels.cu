// tests/cuda/device_kernels.cu - kernels of one tile each that use the headers of cuda/device.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_kernels.hpp"

#include "device/async_copy.cuh"
#include "device/mma.cuh"
#include "device/paging.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

#include <cuda_runtime_api.h>

#include <cstring>

namespace ruda::test {
namespace {

using namespace ruda::cuda;

// Device memory of one call, freed at its end.
struct Memory {
  void* data = nullptr;
  Memory(const void* from, size_t bytes) {
    if (cudaMalloc(&data, bytes) == cudaSuccess && from)
      cudaMemcpy(data, from, bytes, cudaMemcpyHostToDevice);
  }
  ~Memory() { cudaFree(data); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

const char* finish(const Memory& from, void* to, size_t bytes) {
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(to, from.data, bytes, cudaMemcpyDeviceToHost);
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

__global__ void warp_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  __shared__ __align__(16) __nv_bfloat16 left[16 * 16], right[16 * 16];
  const int lane = threadIdx.x;
  copy_async(left + 8 * lane, a + 8 * lane, true);
  // b has eight rows; the copies past them bring zeros.
  copy_async(right + 8 * lane, b + (lane < 16 ? 8 * lane : 0), lane < 16);
  commit_copies();
  wait_copies<0>();
  __syncwarp();
  uint32_t l[4], r[4];
  const int part = lane / 8;
  load_matrices(l, left + (8 * (part % 2) + lane % 8) * 16 + 8 * (part / 2));
  load_matrices(r, right + (8 * (part / 2) + lane % 8) * 16 + 8 * (part % 2));
  float sums[4] = {}, zero[4] = {};
  mma_16816<__nv_bfloat16>(sums, l, r[0], r[1]);
  mma_16816<__nv_bfloat16>(zero, l, r[2], r[3]);
  for (int i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i] + zero[i];
}

__global__ void __launch_bounds__(128)
    group_kernel(const __grid_constant__ TileMap a, const __grid_constant__ TileMap b, int row0, float* c) {
#if __CUDA_ARCH__ == 900 && defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(1024) __nv_bfloat16 left[64 * 64], right[64 * 64];
  __shared__ __align__(8) uint64_t barrier;
  if (threadIdx.x == 0) barrier_init(&barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    barrier_expect(&barrier, sizeof left + sizeof right);
    load_tile_async(left, a, 0, row0, &barrier);
    load_tile_async(right, b, 0, row0, &barrier);
  }
  barrier_wait(&barrier, 0);
  float sums[32] = {};
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) wgmma_64x64x16(sums, wgmma_tile(left, step), wgmma_tile(right, step));
  wgmma_commit();
  wgmma_wait<0>();
  const int lane = threadIdx.x % 32, row = int(threadIdx.x) / 32 * 16 + lane / 4;
#pragma unroll
  for (int i = 0; i < 32; ++i) c[(row + i % 4 / 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
#endif
}

__global__ void paged_kernel(const int32_t* cache, const Pages pages, int32_t* y, int length) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < length) y[i] = cache[pages.offset(i)];
}

// The driver's interface, declared here so that no header of it is needed.
using EncodeTiled = int (*)(TileMap*, int type, uint32_t rank, void* data, const uint64_t* extents,
                            const uint64_t* strides, const uint32_t* box, const uint32_t* steps,
                            int interleave, int swizzle, int promotion, int fill);

const char* encode(TileMap& map, void* data, int rows, int stride) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                       &found) != cudaSuccess ||
      !function)
    return "the driver has no cuTensorMapEncodeTiled";
  const uint64_t extents[] = {uint64_t(stride), uint64_t(rows)}, strides[] = {uint64_t(stride) * 2};
  const uint32_t box[] = {64, 64}, steps[] = {1, 1};
  constexpr int bfloat16 = 9, swizzle_128 = 3;
  const int result = reinterpret_cast<EncodeTiled>(function)(&map, bfloat16, 2, data, extents, strides, box,
                                                             steps, 0, swizzle_128, 0, 0);
  return result ? "cuTensorMapEncodeTiled failed" : nullptr;
}

}  // namespace

const char* warp_product(const uint16_t* a, const uint16_t* b, float* c) {
  const Memory left(a, 512), right(b, 256), out(nullptr, 512);
  warp_kernel<<<1, 32>>>(left.as<const __nv_bfloat16>(), right.as<const __nv_bfloat16>(), out.as<float>());
  return finish(out, c, 512);
}

const char* group_product(const uint16_t* a, const uint16_t* b, int rows, int stride, int row0, float* c) {
  const size_t bytes = size_t(rows) * size_t(stride) * 2;
  const Memory left(a, bytes), right(b, bytes), out(nullptr, 64 * 64 * 4);
  TileMap maps[2];
  if (const char* why = encode(maps[0], left.data, rows, stride)) return why;
  if (const char* why = encode(maps[1], right.data, rows, stride)) return why;
  group_kernel<<<1, 128>>>(maps[0], maps[1], row0, out.as<float>());
  return finish(out, c, 64 * 64 * 4);
}

const char* paged_rows(const int32_t* cache, int cache_pages, int page_size, const int32_t* table, int pages,
                       int32_t* y, int length) {
  const Memory from(cache, size_t(cache_pages) * size_t(page_size) * 4), list(table, size_t(pages) * 4);
  const Memory out(nullptr, size_t(length) * 4);
  const Pages walk{list.as<const int32_t>(), page_size, 1, page_size, page_shift(page_size)};
  paged_kernel<<<(length + 127) / 128, 128>>>(from.as<const int32_t>(), walk, out.as<int32_t>(), length);
  return finish(out, y, size_t(length) * 4);
}

bool has_group_product() {
  int major = 0, device = 0;
  return std::strstr(RUDA_GPU_ARCH, "sm_90a") && cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major == 9;
}

}  // namespace ruda::test
