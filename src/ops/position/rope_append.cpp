// src/ops/position/rope_append.cpp - contract of rope_append: q turned in place, k turned and v as it is into
// the pages of a schedule.
// SPDX-License-Identifier: Apache-2.0
#include "ops/position/rope_table.hpp"

#include "plan/contract.hpp"
#include "plan/paged_schedule.hpp"

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
  c.in("q", d.q).in("k", d.k).in("v", d.v).handle("schedule", Kind::paged_schedule);
  c.in_optional("frequencies", d.frequencies);
  c.dtype(Q, Types<float, f16, bf16>{}).rank(Q, 3, 3).dense_rows(Q);
  c.same_dtype(K, Q).rank(K, 3, 3).dense_rows(K).dim(K, 0, c[Q].dim(0)).dim(K, 2, c[Q].dim(2));
  c.same_dtype(V, Q).rank(V, 3, 3).dense_rows(V).dim(V, 0, c[Q].dim(0)).dim(V, 1, c[K].dim(1));
  const int64_t rotary_dim = check_rotation(c, params, Q, FREQUENCIES);
  c.out_like("y", d.y, Q).dense_rows(Y).alias(Y, Q);
  c.inout("k_cache", d.k_cache).inout("v_cache", d.v_cache);
  c.dtype(K_CACHE, Types<float, f16, bf16>{}).rank(K_CACHE, 4, 4).dense_rows(K_CACHE);
  c.dim(K_CACHE, 2, c[K].dim(1)).dim(K_CACHE, 3, c[K].dim(2));
  c.same_dtype(V_CACHE, K_CACHE).rank(V_CACHE, 4, 4).dense_rows(V_CACHE);
  for (int axis = 0; axis < 3; ++axis) c.dim(V_CACHE, axis, c[K_CACHE].dim(axis));
  c.dim(V_CACHE, 3, c[V].dim(2));

  const bool own_table = !c.has(FREQUENCIES);
  auto& kept = c.mutable_options<ruda_rope_append_desc>();
  kept.q = kept.k = kept.v = kept.frequencies = kept.y = kept.k_cache = kept.v_cache = nullptr;
  kept.params = nullptr;
  Problem problem = c.take();
  keep_rope_constants(problem, params, rotary_dim, own_table);
  return problem;
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_rope_append_plan_create(ruda_context context, const ruda_rope_append_desc* desc,
                                                    ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check(context, desc); });
}
