// cuda/runtime/launch.hpp - what a kernel file needs of the runtime: stream, device facts, checks, the index
// report.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"
#include "runtime/device.hpp"
#include "runtime/error.hpp"
#include "runtime/stream.hpp"

namespace ruda::cuda {

inline cudaStream_t stream_of(const Launch& launch) {
  return static_cast<CudaStream&>(launch.stream.queue()).handle();
}

inline CudaDevice& device_of(const Problem& problem) { return static_cast<CudaDevice&>(problem.device()); }

inline const tune::Capability& capability_of(const Problem& problem) {
  return device_of(problem).capability();
}

// Where the launch's kernels report an index outside its range; pass it with a site from index_site().
inline IndexWord* index_word_of(const Launch& launch) {
  return static_cast<CudaStream&>(launch.stream.queue()).index_word();
}

// After every <<<>>>.
inline void check_launch(const Launch& launch) { check_cuda(cudaPeekAtLastError(), launch.problem.op->name); }

}  // namespace ruda::cuda
