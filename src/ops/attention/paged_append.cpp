// src/ops/attention/paged_append.cpp - contract of paged_append: new key and value rows into the pages of a
// schedule.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"
#include "plan/paged_schedule.hpp"

#include <ruda/attention.h>

RUDA_DECLARE_KERNELS(paged_append)

namespace ruda::ops {

extern const OpDef paged_append{"paged_append", RUDA_KERNELS(paged_append)};

namespace {

constexpr uint32_t K = RUDA_PAGED_APPEND_K, V = RUDA_PAGED_APPEND_V, K_CACHE = RUDA_PAGED_APPEND_K_CACHE,
                   V_CACHE = RUDA_PAGED_APPEND_V_CACHE;

Problem check(ruda_context context, const ruda_paged_append_desc* desc) {
  Contract c(paged_append, context, desc);
  const auto d = c.options<ruda_paged_append_desc>();
  c.require(!d.v == !d.v_cache, RUDA_E_NULL, "%s is NULL, expected v and v_cache together",
            d.v ? "v_cache" : "v");
  c.in("k", d.k).in_optional("v", d.v).handle("schedule", Kind::paged_schedule).inout("k_cache", d.k_cache);
  if (d.v_cache)
    c.inout("v_cache", d.v_cache);
  else
    c.in_optional("v_cache", nullptr);
  c.dtype(K, Types<float, f16, bf16>{}).rank(K, 3, 3).dense_rows(K);
  c.same_dtype(V, K).rank(V, 3, 3).dense_rows(V);
  c.dtype(K_CACHE, Types<float, f16, bf16>{}).rank(K_CACHE, 4, 4).dense_rows(K_CACHE);
  c.same_dtype(V_CACHE, K_CACHE).rank(V_CACHE, 4, 4).dense_rows(V_CACHE);
  c.dim(K_CACHE, 2, c[K].dim(1)).dim(K_CACHE, 3, c[K].dim(2));
  if (c.has(V)) {
    c.dim(V, 0, c[K].dim(0)).dim(V, 1, c[K].dim(1));
    for (int axis = 0; axis < 3; ++axis) c.dim(V_CACHE, axis, c[K_CACHE].dim(axis));
    c.dim(V_CACHE, 3, c[V].dim(2));
    c.alias(K_CACHE, V_CACHE).alias(V_CACHE, K_CACHE);
  }
  auto& kept = c.mutable_options<ruda_paged_append_desc>();
  kept.k = kept.v = kept.k_cache = kept.v_cache = nullptr;
  return c.take();
}

// A contiguous copy of a cache that others share.
Ref<Tensor> copy_of(Stream& stream, ruda_tensor handle, ruda_status& status) {
  const Layout& layout = get_tensor(handle, -1).layout();
  Context& context = stream.context();
  auto copy =
      make_tensor(context, context.layouts().contiguous(layout.dtype, layout.shape, layout.rank), &stream);
  status = ruda_tensor_copy(handle_of<ruda_stream>(stream), handle, handle_of<ruda_tensor>(*copy));
  return copy;
}

// The cache to write: the caller's own, or its copy.
struct Cache {
  ruda_tensor given;
  bool copied = false;
  Ref<Tensor> kept;

  ruda_status take(Stream& stream) {
    ruda_status status = RUDA_OK;
    kept = copied ? copy_of(stream, given, status) : Ref<Tensor>(&get_tensor(given, -1));
    return status;
  }
  ruda_tensor handle() const { return kept ? handle_of<ruda_tensor>(*kept) : nullptr; }
  uint64_t copied_bytes() const { return copied ? kept->layout().packed_bytes() : 0; }
};

Problem check_call(Eager& call) {
  ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
  desc.k = call.desc(K);
  desc.v = call.desc(V);
  desc.k_cache = call.desc(K_CACHE);
  desc.v_cache = call.desc(V_CACHE);
  return check(call.context_handle(), &desc);
}

// What both eager forms do. `arg_out_v` is the place of out_v_cache among their arguments.
ruda_status append(ruda_stream stream, ruda_paged_schedule schedule, ruda_tensor k, ruda_tensor v,
                   ruda_tensor k_cache, ruda_tensor v_cache, int arg_out_v, ruda_paged_append_report& facts,
                   ruda_tensor* out_k_cache, ruda_tensor* out_v_cache) {
  RUDA_CHECK(!v == !v_cache, RUDA_E_NULL, v ? 5 : 3, "%s is NULL and %s is not, expected both or none",
             v ? "v_cache" : "v", v ? "v" : "v_cache");
  RUDA_CHECK(!v || out_v_cache, RUDA_E_NULL, arg_out_v, "out_v_cache is NULL");

  // Everything that can be refused is refused before a cache is copied.
  Eager call(paged_append, stream);
  call.in(K, k, 2, "k");
  call.in(V, v, 3, "v", true);
  const auto& s = call.handle<PagedSchedule>(RUDA_PAGED_APPEND_SCHEDULE, schedule, 1, "schedule");
  call.in(K_CACHE, k_cache, 4, "k_cache");
  call.in(V_CACHE, v_cache, 5, "v_cache", true);
  call.plan([&] { return check_call(call); });
  const Layout& cache_layout = get_tensor(k_cache, 4).layout();
  s.check_fits(cache_layout.dim(1), cache_layout.dim(0), get_tensor(k, 2).layout().dim(0), 1, "paged_append");
  s.check_appendable(1, "paged_append");

  Cache key{k_cache}, value{v_cache};
  const auto shared = [](ruda_tensor handle, int arg) {
    const Tensor& t = get_tensor(handle, arg);
    return t.read_only() || t.storage().users() > 1;
  };
  const bool one_storage = v_cache && &get_tensor(k_cache, 4).storage() == &get_tensor(v_cache, 5).storage();
  key.copied = one_storage || shared(k_cache, 4);
  value.copied = v_cache && (one_storage || shared(v_cache, 5));
  Stream& queue = get_stream(stream, 0);
  if (const ruda_status status = key.take(queue)) return status;
  if (v_cache)
    if (const ruda_status status = value.take(queue)) return status;

  Eager write(paged_append, stream);
  write.in(K, k, 2, "k");
  write.in(V, v, 3, "v", true);
  write.handle<PagedSchedule>(RUDA_PAGED_APPEND_SCHEDULE, schedule, 1, "schedule");
  write.inout(K_CACHE, key.handle(), 4, "k_cache");
  if (v_cache) write.inout(V_CACHE, value.handle(), 5, "v_cache");
  write.plan([&] { return check_call(write); });
  write.run(nullptr, nullptr, 0);

  facts.k_copied = key.copied;
  facts.v_copied = value.copied;
  facts.k_copied_bytes = key.copied_bytes();
  facts.v_copied_bytes = v_cache ? value.copied_bytes() : 0;
  *out_k_cache = key.kept.detach<ruda_tensor>();
  if (v_cache) *out_v_cache = value.kept.detach<ruda_tensor>();
  return RUDA_OK;
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;
using namespace ruda::ops;

extern "C" ruda_status ruda_paged_append_plan_create(ruda_context context, const ruda_paged_append_desc* desc,
                                                     ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return check(context, desc); });
}

extern "C" ruda_status ruda_paged_append(ruda_stream stream, ruda_paged_schedule schedule, ruda_tensor k,
                                         ruda_tensor v, ruda_tensor k_cache, ruda_tensor v_cache,
                                         ruda_tensor* out_k_cache, ruda_tensor* out_v_cache) noexcept {
  return guard(__func__, [&] {
    if (out_k_cache) *out_k_cache = nullptr;
    if (out_v_cache) *out_v_cache = nullptr;
    RUDA_CHECK(out_k_cache, RUDA_E_NULL, 6, "out_k_cache is NULL");
    ruda_paged_append_report facts;
    return append(stream, schedule, k, v, k_cache, v_cache, 7, facts, out_k_cache, out_v_cache);
  });
}

extern "C" ruda_status ruda_paged_append_with_report(ruda_stream stream, ruda_paged_schedule schedule,
                                                     ruda_tensor k, ruda_tensor v, ruda_tensor k_cache,
                                                     ruda_tensor v_cache,
                                                     ruda_paged_append_report* inout_report,
                                                     ruda_tensor* out_k_cache,
                                                     ruda_tensor* out_v_cache) noexcept {
  return guard(__func__, [&] {
    if (out_k_cache) *out_k_cache = nullptr;
    if (out_v_cache) *out_v_cache = nullptr;
    RUDA_CHECK(out_k_cache, RUDA_E_NULL, 7, "out_k_cache is NULL");
    ruda_paged_append_report facts = RUDA_PAGED_APPEND_REPORT_INIT;
    struct_out(inout_report, facts, 6, "inout_report");
    const ruda_status status =
        append(stream, schedule, k, v, k_cache, v_cache, 8, facts, out_k_cache, out_v_cache);
    if (status == RUDA_OK) struct_out(inout_report, facts, 6, "inout_report");
    return status;
  });
}
