// cuda/runtime/steps.hpp - kernels that keep a decode loop on the device: a schedule's step, a word for the
// host.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/device.hpp"

#include <cuda_runtime_api.h>

namespace ruda::cuda {

cudaError_t launch_advance(const ScheduleImage& image, cudaStream_t stream);

// ring[n % slots] = the word tagged n + 1, with n from *count, which rises. `ring` is host memory.
cudaError_t launch_post(const uint32_t* word, uint64_t* ring, uint32_t* count, cudaStream_t stream);

}  // namespace ruda::cuda
