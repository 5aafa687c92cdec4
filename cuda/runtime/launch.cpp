// cuda/runtime/launch.cpp - what kernel files ask of device and stream.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.hpp"

#include "runtime/stream.hpp"
#include "runtime/device.hpp"

namespace ruda::cuda {

const tune::Capability& capability_of(const Problem& problem) {
  return static_cast<CudaDevice&>(problem.device()).capability();
}

IndexWord* index_word_of(const Launch& launch) {
  return static_cast<CudaStream&>(launch.stream.queue()).index_word();
}

}  // namespace ruda::cuda
