// cuda/device/dependent.cuh - kernels that start while the one before them in the stream ends (sm_90).
// SPDX-License-Identifier: Apache-2.0
//
// Such a kernel touches no memory but by prefetches until wait_for_previous(); then everything before it in
// the stream is done and visible. What others may have written it reads by plain loads, not as constants.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

namespace ruda::cuda {

__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may start once every block has said so; its own wait still is for the end of this one.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Brings 32 bytes to the second-level cache, where later writes are seen.
__device__ inline void prefetch_far(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

constexpr int dependent_arch = 90;  // the first compute capability, times ten, that knows how

inline cudaLaunchAttribute early_start() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

// cudaLaunchKernelEx without its copies: the driver reads arguments of the kernel's own types where they lie.
template <class... Formal>
cudaError_t launch_by_reference(const cudaLaunchConfig_t& config, void (*kernel)(Formal...),
                                const std::type_identity_t<Formal>&... actual) {
  void* arguments[] = {const_cast<void*>(static_cast<const void*>(&actual))...};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), arguments);
}

// Launches a kernel that calls wait_for_previous(); `early` where the GPU knows how (compute capability 9.0).
template <class... Formal>
cudaError_t launch_dependent(bool early, void (*kernel)(Formal...), unsigned blocks, unsigned threads,
                             cudaStream_t stream, const std::type_identity_t<Formal>&... actual) {
  cudaLaunchAttribute attribute = early_start();
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  return launch_by_reference(config, kernel, actual...);
}

}  // namespace ruda::cuda
