// cuda/runtime/error.cpp - which status a CUDA error becomes.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/error.hpp"

#include "core/error.hpp"

namespace ruda::cuda {
namespace {

ruda_status status_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return RUDA_E_OOM_DEVICE;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorStubLibrary: return RUDA_E_BACKEND_MISSING;
    case cudaErrorNoKernelImageForDevice: return RUDA_E_UNSUPPORTED;
    default:
      return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorCapturedEvent
                 ? RUDA_E_CAPTURE_UNSAFE
                 : RUDA_E_DEVICE;
  }
}

}  // namespace

void fail_cuda(cudaError_t error, const char* what) {
  static_cast<void>(cudaGetLastError());
  fail_native(status_of(error), "cuda", int(error), "%s: %s: %s", what, cudaGetErrorName(error),
              cudaGetErrorString(error));
}

}  // namespace ruda::cuda
