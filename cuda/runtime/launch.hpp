// cuda/runtime/launch.hpp - what a kernel file needs of the runtime: stream, device facts, checks, the index
// report.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"
#include "runtime/error.hpp"
#include "runtime/index_word.hpp"
#include "tune/capability.hpp"

namespace ruda::cuda {

inline cudaStream_t stream_of(const Launch& launch) {
  return static_cast<cudaStream_t>(launch.stream.queue().native());
}

// Facts of the device that the problem is planned for.
const tune::Capability& capability_of(const Problem& problem);

// Where the launch's kernels report an index outside its range (runtime/index_report.cuh); pass it with a
// site from index_site(), called in prepare.
IndexWord* index_word_of(const Launch& launch);

// After every <<<>>>.
inline void check_launch(const Launch& launch) { check_cuda(cudaPeekAtLastError(), launch.problem.op->name); }

}  // namespace ruda::cuda
