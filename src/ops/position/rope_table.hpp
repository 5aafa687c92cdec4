// src/ops/position/rope_table.hpp - frequencies of rotary embedding after scaling, and what contracts keep of
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/contract.hpp"

#include <ruda/position.h>

#include <cstdint>
#include <vector>

namespace ruda::ops {

// Widest head: what no model comes near, and a table of half as many doubles is made in a millisecond.
inline constexpr int64_t rope_max_dim = 65536;

struct RopeTable {
  std::vector<double> frequencies;
  double factor = 1;  // times cos and sin
};

// `label` starts the messages, `arg` is the argument at fault. Checks all of params but rotary_dim, which is
// even and not negative. with_frequencies false: only the attention factor, and what makes frequencies is
// not checked.
RopeTable rope_table(const ruda_rope_params& params, int64_t rotary_dim, bool with_frequencies, int arg,
                     const char* label);

// Of a contract whose operand `x` is [.., head_dim]: checks head_dim, rotary_dim and the optional tensor of
// frequencies; gives rotary_dim. take_rope checks the rest of params.
int64_t check_rotation(Contract& c, const ruda_rope_params& params, uint32_t x, uint32_t frequencies);
// The contract's problem, with RopeConstants and the table behind the descriptor.
Problem take_rope(Contract& c, const ruda_rope_params& params, int64_t rotary_dim, uint32_t frequencies);

}  // namespace ruda::ops
