// src/ops/attention/attention_checks.hpp - what contracts of attention check of heads, dims and the scale.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/contract.hpp"

#include <cfloat>

namespace ruda::ops {

inline void check_heads(Contract& c, int64_t q_heads, int64_t kv_heads, int64_t head_dim, int64_t value_dim) {
  constexpr int64_t max_dim = 1024;
  const auto in_range = [&](const char* name, int64_t dim) {
    c.require(dim >= 1 && dim <= max_dim, RUDA_E_SHAPE, "%s is %lld, expected 1..%lld", name, (long long)dim,
              (long long)max_dim);
  };
  in_range("head_dim", head_dim);
  in_range("value_dim", value_dim);
  c.require(kv_heads >= 1 && q_heads % kv_heads == 0, RUDA_E_SHAPE,
            "q has %lld heads, expected a multiple of the %lld of k", (long long)q_heads,
            (long long)kv_heads);
}

inline void check_scale(Contract& c, double scale) {
  c.require(scale >= double(FLT_TRUE_MIN) && scale <= double(FLT_MAX), RUDA_E_ARGUMENT,
            "scale is %g, expected finite and above 0 as F32", scale);
}

}  // namespace ruda::ops
