// cuda/device/cluster.cuh - blocks that run together and read each other's shared memory (compute capability
// 9.0 on).
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/dependent.cuh"

#include <cstdint>

namespace ruda::cuda {

constexpr int cluster_arch = 90;

// The two halves of a barrier of all threads of the running cluster: what they wrote to shared memory before
// they arrived is seen after the wait. No code in between may depend on the others.
__device__ inline void cluster_arrive() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
#endif
}
__device__ inline void cluster_wait() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// The same variable in shared memory of the cluster's block `rank`, which must have begun.
template <class T>
__device__ inline T* cluster_address(T* mine, uint32_t rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(rank));
  return there;
#else
  return mine;
#endif
}

// A group of Blocks neighbouring blocks of the grid; a group of one needs no hardware for it.
template <int Blocks>
struct Cluster {
  __device__ static int rank() { return Blocks == 1 ? 0 : int(blockIdx.x % Blocks); }

  // A barrier of all threads of the group; what they wrote to shared memory before it is seen after it. A
  // block must not end while another may still read its memory.
  __device__ static void sync() {
    if constexpr (Blocks == 1) {
      __syncthreads();
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      cluster_arrive();
      cluster_wait();
#endif
    }
  }

  // The same variable in shared memory of the block `rank`.
  template <class T>
  __device__ static const T* of(const T* mine, int rank) {
    if constexpr (Blocks == 1)
      return mine;
    else
      return cluster_address(mine, uint32_t(rank));
  }
};

// Launches `blocks` blocks in groups of Blocks; `early` as in launch_dependent.
template <int Blocks, class... Formal>
cudaError_t launch_clusters(bool early, void (*kernel)(Formal...), unsigned blocks, unsigned threads,
                            size_t shared_bytes, cudaStream_t stream,
                            const std::type_identity_t<Formal>&... actual) {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (early) attributes[count++] = early_start();
  if (Blocks > 1) {
    cudaLaunchAttribute& attribute = attributes[count++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = Blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  return launch_by_reference(config, kernel, actual...);
}

}  // namespace ruda::cuda
