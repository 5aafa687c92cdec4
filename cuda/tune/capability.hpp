// cuda/tune/capability.hpp - the facts of a GPU that choices of tiles and splits depend on; no CUDA header.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda::tune {

struct Capability {
  int arch = 0;       // 90 for compute capability 9.0
  int code_arch = 0;  // what the code that runs was compiled for, when less: it lacks what came later
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int64_t l2_bytes = 0;
  int shared_bytes_per_block = 0;  // with opt-in
  int shared_bytes_per_multiprocessor = 0;
};

}  // namespace ruda::cuda::tune
