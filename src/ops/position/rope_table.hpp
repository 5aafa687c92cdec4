// src/ops/position/rope_table.hpp - frequencies of rotary embedding after scaling.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/position.h>

#include <cstdint>
#include <vector>

namespace ruda::ops {

struct RopeTable {
  std::vector<double> frequencies;
  double factor = 1;  // times cos and sin
};

// `label` starts the messages, `arg` is the argument at fault. Checks what it reads; rotary_dim is even and
// not negative. with_frequencies false: only the attention factor.
RopeTable rope_table(const ruda_rope_params& params, int64_t rotary_dim, bool with_frequencies, int arg,
                     const char* label);

}  // namespace ruda::ops
