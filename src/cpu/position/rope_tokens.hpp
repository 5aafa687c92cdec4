// src/cpu/position/rope_tokens.hpp - what the vector kernels of rope and of the append behind it take, from a
// plan's operands.
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

// All but the addresses and the schedule.
inline CachedRows cached_rows_of(const Operand& rows, const Operand& cache) {
  CachedRows r{};
  r.heads = rows.dim(1);
  r.dim = rows.dim(2);
  r.row_stride = rows.stride(0);
  r.head_stride = rows.stride(1);
  r.page_stride = cache.stride(0);
  r.slot_stride = cache.stride(1);
  r.cache_head_stride = cache.stride(2);
  r.page_size = uint32_t(cache.dim(1));
  return r;
}

}  // namespace ruda::cpu
