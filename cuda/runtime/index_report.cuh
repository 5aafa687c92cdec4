// cuda/runtime/index_report.cuh - a kernel's report of an index outside its range.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/index_word.hpp"

namespace ruda::cuda {

// True when 0 <= index < extent; else the host hears of it at its next synchronisation with the stream. Only
// threads of this device race for the word, and not every machine has atomics of the system on host memory.
__device__ inline bool index_in_range(int64_t index, int64_t extent, IndexWord* word, uint32_t site) {
  if (uint64_t(index) < uint64_t(extent)) [[likely]]
    return true;
  if (atomicCAS(&word->taken, 0u, 1u) == 0u) {
    word->site = site;
    word->index = index;
    word->extent = extent;
  }
  return false;
}

}  // namespace ruda::cuda
