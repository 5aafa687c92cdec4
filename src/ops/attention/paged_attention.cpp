// src/ops/attention/paged_attention.cpp - contract of paged_attention: softmax(q k^T) v over the pages of a
// schedule.
// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_checks.hpp"
#include "plan/eager.hpp"
#include "plan/paged_schedule.hpp"

#include <ruda/attention.h>

RUDA_DECLARE_KERNELS(paged_attention)

namespace ruda::ops {

extern const OpDef paged_attention{"paged_attention", RUDA_KERNELS(paged_attention)};

namespace {

constexpr uint32_t Q = RUDA_PAGED_ATTENTION_Q, K = RUDA_PAGED_ATTENTION_K, V = RUDA_PAGED_ATTENTION_V,
                   OUT = RUDA_PAGED_ATTENTION_OUT, LSE = RUDA_PAGED_ATTENTION_LSE;
constexpr int64_t split_budget_bytes = int64_t(64) << 20;

Problem check(ruda_context context, const ruda_paged_attention_desc* desc) {
  Contract c(paged_attention, context, desc);
  const auto d = c.options<ruda_paged_attention_desc>();
  c.in("q", d.q).in("k", d.k).in("v", d.v).handle("schedule", Kind::paged_schedule);
  c.dtype(Q, Types<float, f16, bf16>{}).rank(Q, 3, 3).dense_rows(Q);
  c.dtype(K, Types<float, f16, bf16>{}).rank(K, 4, 4).dense_rows(K);
  c.same_dtype(V, K).rank(V, 4, 4).dense_rows(V);
  const int64_t queries = c[Q].dim(0), q_heads = c[Q].dim(1), kv_heads = c[K].dim(2), value_dim = c[V].dim(3);
  c.dim(K, 3, c[Q].dim(2));
  for (int axis = 0; axis < 3; ++axis) c.dim(V, axis, c[K].dim(axis));
  check_heads(c, q_heads, kv_heads, c[Q].dim(2), value_dim);
  check_scale(c, d.scale);
  c.require(d.causal <= 1, RUDA_E_ARGUMENT, "causal is %u, expected 0 or 1", d.causal);
  c.require(d.splits == 0 || (d.splits >= 2 && d.splits <= 32) || d.splits == RUDA_SPLITS_AUTO,
            RUDA_E_ARGUMENT, "splits is %u, expected 0, 2..32 or RUDA_SPLITS_AUTO", d.splits);
  c.require((d.outputs & ~uint32_t(RUDA_PAGED_ATTENTION_WANT_LSE)) == 0, RUDA_E_ARGUMENT,
            "outputs is 0x%x, which holds unknown bits", d.outputs);
  const int64_t out_shape[] = {queries, q_heads, value_dim};
  c.out("out", d.out, c[Q].dtype(), out_shape, 3).dense_rows(OUT);
  c.out_optional("lse", d.lse, d.outputs & RUDA_PAGED_ATTENTION_WANT_LSE, RUDA_F32, out_shape, 2);
  if (d.splits && d.splits != RUDA_SPLITS_AUTO) {
    int64_t bytes = 0;
    const bool overflow =
        __builtin_mul_overflow(queries * q_heads, int64_t(d.splits) * (value_dim + 2) * 4, &bytes);
    c.require(!overflow && bytes <= split_budget_bytes, RUDA_E_BUDGET,
              "%u splits of %lld rows and value_dim %lld need %lld bytes, expected at most %lld", d.splits,
              (long long)(queries * q_heads), (long long)value_dim, (long long)bytes,
              (long long)split_budget_bytes);
  }
  auto& kept = c.mutable_options<ruda_paged_attention_desc>();
  kept.q = kept.k = kept.v = kept.out = kept.lse = nullptr;
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;
using namespace ruda::ops;

extern "C" ruda_status ruda_paged_attention_plan_create(ruda_context context,
                                                        const ruda_paged_attention_desc* desc,
                                                        ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return check(context, desc); });
}

extern "C" ruda_status ruda_paged_attention(ruda_stream stream, ruda_paged_schedule schedule, ruda_tensor q,
                                            ruda_tensor k, ruda_tensor v, double scale, uint32_t causal,
                                            uint32_t splits, ruda_tensor* out,
                                            ruda_tensor* out_lse) noexcept {
  return guard(__func__, [&] {
    if (out) *out = nullptr;
    if (out_lse) *out_lse = nullptr;
    RUDA_CHECK(out, RUDA_E_NULL, 8, "out is NULL");
    Eager call(paged_attention, stream);
    call.in(Q, q, 2, "q");
    call.in(K, k, 3, "k");
    call.in(V, v, 4, "v");
    const auto& s = call.handle<PagedSchedule>(RUDA_PAGED_ATTENTION_SCHEDULE, schedule, 1, "schedule");
    const uint32_t outputs = out_lse ? RUDA_PAGED_ATTENTION_WANT_LSE : 0;
    for (const uint32_t value : {causal, splits, outputs}) call.key(value);
    call.key(scale);
    call.plan([&] {
      ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
      desc.q = call.desc(Q);
      desc.k = call.desc(K);
      desc.v = call.desc(V);
      desc.scale = scale;
      desc.causal = causal;
      desc.splits = splits;
      desc.outputs = outputs;
      return check(call.context_handle(), &desc);
    });
    const ruda_tensor_desc &rows = *call.desc(Q), &cache = *call.desc(K);
    s.check_fits(cache.shape[1], cache.shape[0], rows.shape[0], 1, "paged_attention");
    const uint32_t slots[] = {OUT, LSE};
    ruda_tensor* const outs[] = {out, out_lse};
    call.run(slots, outs, 2);
  });
}
