// cuda/runtime/probe.cu - a kernel that does nothing, to see whether the device can load this build's code.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/probe.hpp"

namespace ruda::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

cudaError_t probe_image(int& arch) {
  cudaFuncAttributes attributes{};
  const cudaError_t result = cudaFuncGetAttributes(&attributes, nothing);
  arch = attributes.ptxVersion;
  return result;
}

}  // namespace ruda::cuda
