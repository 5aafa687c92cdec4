// cuda/runtime/probe.cu - a kernel that does nothing, to see whether the device can load this build's code.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/probe.hpp"

namespace ruda::cuda {
namespace {

__global__ void nothing() {}

}  // namespace

cudaError_t probe_image() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, nothing);
}

}  // namespace ruda::cuda
