// cuda/runtime/probe.hpp - asks whether this build has code for the current device.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace ruda::cuda {

// cudaErrorNoKernelImageForDevice when not; else the compute capability, times ten, that it was compiled for.
cudaError_t probe_image(int& arch);

}  // namespace ruda::cuda
