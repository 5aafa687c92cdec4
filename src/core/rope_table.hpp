// src/core/rope_table.hpp - frequencies of rotary embedding after scaling, for contracts, kernels and
// callers. SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/position.h>

#include <cstdint>
#include <vector>

namespace ruda {

struct RopeTable {
  std::vector<double> frequencies;
  double factor = 1;  // times cos and sin
};

// `label` starts the messages, `arg` is the argument at fault. Checks what it reads; rotary_dim is even and
// not negative. with_frequencies false: only the attention factor.
RopeTable rope_table(const ruda_rope_params& params, int64_t rotary_dim, bool with_frequencies, int arg,
                     const char* label);

// What a contract leaves behind the descriptor in Problem::options: this header and `padded` frequencies.
struct RopeConstants {
  double factor;
  int64_t half, padded;  // pairs; and rounded up to whole vectors, the rest zero
  uint32_t pairing, direction;

  const double* frequencies() const { return reinterpret_cast<const double*>(this + 1); }
};

}  // namespace ruda
