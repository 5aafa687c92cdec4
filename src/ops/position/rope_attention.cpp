// src/ops/position/rope_attention.cpp - contract of rope_attention: rope, append and attention of one new
// token a sequence.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_checks.hpp"
#include "ops/position/rope_append.hpp"
#include "ops/position/rope_table.hpp"

RUDA_DECLARE_KERNELS(rope_attention)

namespace ruda::ops {

extern const OpDef rope_attention{"rope_attention", RUDA_KERNELS(rope_attention)};

namespace {

constexpr uint32_t Q = RUDA_ROPE_ATTENTION_Q, K = RUDA_ROPE_ATTENTION_K, V = RUDA_ROPE_ATTENTION_V,
                   FREQUENCIES = RUDA_ROPE_ATTENTION_FREQUENCIES, OUT = RUDA_ROPE_ATTENTION_OUT,
                   K_CACHE = RUDA_ROPE_ATTENTION_K_CACHE, V_CACHE = RUDA_ROPE_ATTENTION_V_CACHE;

Problem check(ruda_context context, const ruda_rope_attention_desc* desc) {
  Contract c(rope_attention, context, desc);
  const auto d = c.options<ruda_rope_attention_desc>();
  const ruda_rope_params params = struct_in(d.params, Contract::arg_desc, "desc.params");
  declare_tokens(c, d, Q, K, V);
  const int64_t q_heads = c[Q].dim(1), value_dim = c[V].dim(2);
  check_heads(c, q_heads, c[K].dim(1), c[Q].dim(2), value_dim);
  const int64_t rotary_dim = check_rotation(c, params, Q, FREQUENCIES);
  check_scale(c, d.scale);
  const int64_t out_shape[] = {c[Q].dim(0), q_heads, value_dim};
  c.out("out", d.out, c[Q].dtype(), out_shape, 3).dense_rows(OUT);
  declare_caches(c, d, K, V, K_CACHE, V_CACHE);

  auto& kept = c.mutable_options<ruda_rope_attention_desc>();
  kept.q = kept.k = kept.v = kept.frequencies = kept.out = kept.k_cache = kept.v_cache = nullptr;
  kept.params = nullptr;
  return take_rope(c, params, rotary_dim, FREQUENCIES);
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_rope_attention_plan_create(ruda_context context,
                                                       const ruda_rope_attention_desc* desc,
                                                       ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check(context, desc); });
}
