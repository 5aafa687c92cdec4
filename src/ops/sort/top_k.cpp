// src/ops/sort/top_k.cpp - contract of top_k: the best k elements of each row, and their places.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/sort.h>

#include <algorithm>

RUDA_DECLARE_KERNELS(top_k)

namespace ruda::ops {

extern const OpDef top_k{"top_k", RUDA_KERNELS(top_k)};

namespace {

Problem check(ruda_context context, const ruda_top_k_desc* desc) {
  Contract c(top_k, context, desc);
  const auto d = c.options<ruda_top_k_desc>();
  c.in("x", d.x);
  c.dtype(RUDA_TOP_K_X, Types<float, f16, bf16, int32_t>{}).rank(RUDA_TOP_K_X, 1, RUDA_MAX_RANK);
  const Operand x = c[RUDA_TOP_K_X];
  c.require(d.smallest <= 1, RUDA_E_ARGUMENT, "smallest is %u, expected 0 or 1", d.smallest);
  c.require(d.k >= 1 && d.k <= x.dim(-1), RUDA_E_ARGUMENT,
            "k is %lld, expected 1..%lld, the last extent of x", (long long)d.k, (long long)x.dim(-1));
  int64_t shape[RUDA_MAX_RANK];
  std::copy_n(x.layout->shape, x.rank(), shape);
  shape[x.rank() - 1] = d.k;
  uint32_t index = d.index_dtype ? d.index_dtype : uint32_t(RUDA_I64);
  if (!d.index_dtype && d.indices) index = struct_in(d.indices, Contract::arg_desc, "desc.indices").dtype;
  c.require(index == RUDA_I64 || index == RUDA_I32, RUDA_E_DTYPE,
            "indices have dtype %s, expected I64 or I32", dtype_name(index));
  c.require(index == RUDA_I64 || x.dim(-1) <= INT32_MAX, RUDA_E_DTYPE,
            "indices have dtype I32, which cannot number %lld elements", (long long)x.dim(-1));
  c.out("values", d.values, x.dtype(), shape, x.rank()).dense_rows(RUDA_TOP_K_VALUES);
  c.out("indices", d.indices, index, shape, x.rank()).dense_rows(RUDA_TOP_K_INDICES);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_top_k_plan_create(ruda_context context, const ruda_top_k_desc* desc,
                                              ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_top_k(ruda_stream stream, ruda_tensor x, int64_t k, ruda_bool smallest,
                                  ruda_tensor* out_values, ruda_tensor* out_indices) noexcept {
  return ruda::guard(__func__, [&] {
    if (out_values) *out_values = nullptr;
    if (out_indices) *out_indices = nullptr;
    RUDA_CHECK(out_values, RUDA_E_NULL, 4, "out_values is NULL");
    RUDA_CHECK(out_indices, RUDA_E_NULL, 5, "out_indices is NULL");
    ruda::Eager call(ruda::ops::top_k, stream);
    call.in(RUDA_TOP_K_X, x, 1, "x");
    call.key(k);
    call.key(smallest);
    call.plan([&] {
      ruda_top_k_desc desc = RUDA_TOP_K_DESC_INIT;
      desc.x = call.desc(RUDA_TOP_K_X);
      desc.k = k;
      desc.smallest = smallest;
      return ruda::ops::check(call.context_handle(), &desc);
    });
    const uint32_t slots[] = {RUDA_TOP_K_VALUES, RUDA_TOP_K_INDICES};
    ruda_tensor* const outs[] = {out_values, out_indices};
    call.run(slots, outs, 2);
  });
}
