// src/ops/norm/log_softmax.cpp - contract of log_softmax: y = x - log(sum(e^x)) over the last axis.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/norm.h>

RUDA_DECLARE_KERNELS(log_softmax)

namespace ruda::ops {

extern const OpDef log_softmax{"log_softmax", RUDA_KERNELS(log_softmax)};

namespace {

Problem check(ruda_context context, const ruda_log_softmax_desc* desc) {
  Contract c(log_softmax, context, desc);
  const auto d = c.options<ruda_log_softmax_desc>();
  c.in("x", d.x);
  c.dtype(RUDA_LOG_SOFTMAX_X, Types<float, f16, bf16>{})
      .rank(RUDA_LOG_SOFTMAX_X, 1, RUDA_MAX_RANK)
      .dense_rows(RUDA_LOG_SOFTMAX_X);
  c.out_like("y", d.y, RUDA_LOG_SOFTMAX_X)
      .dense_rows(RUDA_LOG_SOFTMAX_Y)
      .alias(RUDA_LOG_SOFTMAX_Y, RUDA_LOG_SOFTMAX_X);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_log_softmax_plan_create(ruda_context context, const ruda_log_softmax_desc* desc,
                                                    ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_log_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::log_softmax, stream);
    call.in(RUDA_LOG_SOFTMAX_X, x, 1, "x");
    call.plan([&] {
      ruda_log_softmax_desc desc = RUDA_LOG_SOFTMAX_DESC_INIT;
      desc.x = call.desc(RUDA_LOG_SOFTMAX_X);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_LOG_SOFTMAX_Y);
  });
}
