// cuda/runtime/error.hpp - turns CUDA's error codes into the library's, and lets clean-up ignore them.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace ruda::cuda {

// Throws: memory, missing driver, capture or device error, with CUDA's name and text. Clears CUDA's last
// error.
[[noreturn]] void fail_cuda(cudaError_t error, const char* what);

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    fail_cuda(error, what);
}

// For destructors: whatever CUDA says (a fault elsewhere, the process at its end) there is nothing to do
// about it.
inline void quiet(cudaError_t error) noexcept {
  if (error != cudaSuccess) [[unlikely]]
    static_cast<void>(cudaGetLastError());
}

}  // namespace ruda::cuda
