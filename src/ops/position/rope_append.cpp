// src/ops/position/rope_append.cpp - contract of rope_append: q turned in place, k turned and v as it is into
// the pages of a schedule.
// SPDX-License-Identifier: Apache-2.0
#include "ops/position/rope_append.hpp"
#include "ops/position/rope_table.hpp"

RUDA_DECLARE_KERNELS(rope_append)

namespace ruda::ops {

extern const OpDef rope_append{"rope_append", RUDA_KERNELS(rope_append)};

namespace {

constexpr uint32_t Q = RUDA_ROPE_APPEND_Q, K = RUDA_ROPE_APPEND_K, V = RUDA_ROPE_APPEND_V,
                   FREQUENCIES = RUDA_ROPE_APPEND_FREQUENCIES, Y = RUDA_ROPE_APPEND_Y,
                   K_CACHE = RUDA_ROPE_APPEND_K_CACHE, V_CACHE = RUDA_ROPE_APPEND_V_CACHE;

Problem check(ruda_context context, const ruda_rope_append_desc* desc) {
  Contract c(rope_append, context, desc);
  const auto d = c.options<ruda_rope_append_desc>();
  const ruda_rope_params params = struct_in(d.params, Contract::arg_desc, "desc.params");
  declare_tokens(c, d, Q, K, V);
  const int64_t rotary_dim = check_rotation(c, params, Q, FREQUENCIES);
  c.out_like("y", d.y, Q).dense_rows(Y).alias(Y, Q);
  declare_caches(c, d, K, V, K_CACHE, V_CACHE);

  auto& kept = c.mutable_options<ruda_rope_append_desc>();
  kept.q = kept.k = kept.v = kept.frequencies = kept.y = kept.k_cache = kept.v_cache = nullptr;
  kept.params = nullptr;
  return take_rope(c, params, rotary_dim, FREQUENCIES);
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_rope_append_plan_create(ruda_context context, const ruda_rope_append_desc* desc,
                                                    ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check(context, desc); });
}
