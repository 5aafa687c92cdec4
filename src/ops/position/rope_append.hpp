// src/ops/position/rope_append.hpp - what the contracts of rope_append and rope_attention declare and check
// alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/contract.hpp"
#include "plan/paged_schedule.hpp"

namespace ruda::ops {

// q [rows, q_heads, head_dim], k [rows, kv_heads, head_dim] and v [rows, kv_heads, value_dim] of new tokens,
// their schedule and the frequencies.
template <class D>
void declare_tokens(Contract& c, const D& d, uint32_t q, uint32_t k, uint32_t v) {
  c.in("q", d.q).in("k", d.k).in("v", d.v).handle("schedule", Kind::paged_schedule);
  c.in_optional("frequencies", d.frequencies);
  c.dtype(q, Types<float, f16, bf16>{}).rank(q, 3, 3).dense_rows(q);
  c.same_dtype(k, q).rank(k, 3, 3).dense_rows(k).dim(k, 0, c[q].dim(0)).dim(k, 2, c[q].dim(2));
  c.same_dtype(v, q).rank(v, 3, 3).dense_rows(v).dim(v, 0, c[q].dim(0)).dim(v, 1, c[k].dim(1));
}

// The caches [pages, page_size, kv_heads, head_dim or value_dim] that take k and v.
template <class D>
void declare_caches(Contract& c, const D& d, uint32_t k, uint32_t v, uint32_t k_cache, uint32_t v_cache) {
  c.inout("k_cache", d.k_cache).inout("v_cache", d.v_cache);
  c.dtype(k_cache, Types<float, f16, bf16>{}).rank(k_cache, 4, 4).dense_rows(k_cache);
  c.dim(k_cache, 2, c[k].dim(1)).dim(k_cache, 3, c[k].dim(2));
  c.same_dtype(v_cache, k_cache).rank(v_cache, 4, 4).dense_rows(v_cache);
  for (int axis = 0; axis < 3; ++axis) c.dim(v_cache, axis, c[k_cache].dim(axis));
  c.dim(v_cache, 3, c[v].dim(2));
}

}  // namespace ruda::ops
