// src/ops/norm/softmax.cpp - contract of softmax: y = e^x / sum(e^x) over the last axis.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/norm.h>

RUDA_DECLARE_KERNELS(softmax)

namespace ruda::ops {

extern const OpDef softmax{"softmax", RUDA_KERNELS(softmax)};

namespace {

Problem check(ruda_context context, const ruda_softmax_desc* desc) {
  Contract c(softmax, context, desc);
  const auto d = c.options<ruda_softmax_desc>();
  c.in("x", d.x);
  c.dtype(RUDA_SOFTMAX_X, Types<float, f16, bf16>{})
      .rank(RUDA_SOFTMAX_X, 1, RUDA_MAX_RANK)
      .dense_rows(RUDA_SOFTMAX_X);
  c.out_like("y", d.y, RUDA_SOFTMAX_X).dense_rows(RUDA_SOFTMAX_Y).alias(RUDA_SOFTMAX_Y, RUDA_SOFTMAX_X);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_softmax_plan_create(ruda_context context, const ruda_softmax_desc* desc,
                                                ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::softmax, stream);
    call.in(RUDA_SOFTMAX_X, x, 1, "x");
    call.plan([&] {
      ruda_softmax_desc desc = RUDA_SOFTMAX_DESC_INIT;
      desc.x = call.desc(RUDA_SOFTMAX_X);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_SOFTMAX_Y);
  });
}
