// cuda/runtime/launch.hpp - what kernel files need of the runtime: native stream, check after a launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

#include <cuda_runtime_api.h>

namespace ruda::cuda {

inline cudaStream_t stream_of(const Launch& launch) {
  return static_cast<cudaStream_t>(launch.stream.queue().native());
}

[[noreturn]] void fail_cuda(cudaError_t error, const char* what);

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail_cuda(error, what);
}

inline void check_launch(const Launch& launch) { check_cuda(cudaPeekAtLastError(), launch.problem.op->name); }

}  // namespace ruda::cuda
