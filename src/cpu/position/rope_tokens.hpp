// src/cpu/position/rope_tokens.hpp - what the vector kernel of rope takes, from a plan's operands.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/rope_constants.hpp"
#include "cpu/position/position_table.hpp"
#include "plan/op.hpp"

#include <ruda/position.h>

namespace ruda::cpu {

// All but the addresses, the positions and where the result goes.
inline RopeTokens rope_tokens_of(const RopeConstants& c, bool given_frequencies, const Operand& x) {
  RopeTokens t{};
  t.frequencies = given_frequencies ? nullptr : c.frequencies();
  t.heads = x.dim(1);
  t.head_dim = x.dim(2);
  t.half = c.half;
  t.x_token = x.stride(0);
  t.x_head = x.stride(1);
  t.factor = float(c.factor);
  t.interleaved = c.pairing == RUDA_ROPE_INTERLEAVED;
  t.inverse = c.direction == RUDA_ROPE_INVERSE;
  return t;
}

}  // namespace ruda::cpu
