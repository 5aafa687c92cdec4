// cuda/runtime/backend.cpp - finds CUDA devices through the static runtime and reports why there is none.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.hpp"

#include "device/device.hpp"

namespace ruda::cuda {

void fail_cuda(cudaError_t error, const char* what) {
  fail_native(error == cudaErrorMemoryAllocation ? RUDA_E_OOM_DEVICE : RUDA_E_DEVICE, "cuda", error,
              "%s: %s: %s", what, cudaGetErrorName(error), cudaGetErrorString(error));
}

namespace {

int probe(std::string& why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  why = error == cudaSuccess ? "the driver sees no device"
                             : std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error) +
                                   "; install NVIDIA's driver for CUDA 13 (580 or newer)";
  return 0;
}

std::unique_ptr<Device> open(const ruda_context_desc& desc) {
  std::string why;
  const int count = probe(why);
  RUDA_CHECK(count > 0, RUDA_E_BACKEND_MISSING, 0, "backend CUDA: %s", why.c_str());
  RUDA_CHECK(desc.device >= 0 && desc.device < count, RUDA_E_ARGUMENT, 0,
             "desc.device is %d, this machine has %d", desc.device, count);
  fail(RUDA_E_NOT_BUILT, 0, "backend CUDA: this build has kernels but no device runtime");
}

void report(std::string& text) {
  std::string why;
  const int count = probe(why);
  text += "CUDA: " + (count ? std::to_string(count) + " devices" : why) + "\n";
}

}  // namespace

extern const Backend backend{RUDA_BACKEND_CUDA, "CUDA", probe, open, report};

}  // namespace ruda::cuda
