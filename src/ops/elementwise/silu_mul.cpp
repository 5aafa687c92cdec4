// src/ops/elementwise/silu_mul.cpp - contract of silu_mul: y = round(round(silu(gate)) * up).
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/elementwise.h>

RUDA_DECLARE_KERNELS(silu_mul)

namespace ruda::ops {

extern const OpDef silu_mul{"silu_mul", RUDA_KERNELS(silu_mul)};

namespace {

Problem check(ruda_context context, const ruda_silu_mul_desc* desc) {
  Contract c(silu_mul, context, desc);
  const auto d = c.options<ruda_silu_mul_desc>();
  c.in("gate", d.gate).in("up", d.up);
  c.dtype(RUDA_SILU_MUL_GATE, Types<float, f16, bf16>{});
  c.same_dtype(RUDA_SILU_MUL_UP, RUDA_SILU_MUL_GATE).same_shape(RUDA_SILU_MUL_UP, RUDA_SILU_MUL_GATE);
  c.out_like("y", d.y, RUDA_SILU_MUL_GATE);
  c.alias(RUDA_SILU_MUL_Y, RUDA_SILU_MUL_GATE).alias(RUDA_SILU_MUL_Y, RUDA_SILU_MUL_UP);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_silu_mul_plan_create(ruda_context context, const ruda_silu_mul_desc* desc,
                                                 ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_silu_mul(ruda_stream stream, ruda_tensor gate, ruda_tensor up,
                                     ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::silu_mul, stream);
    call.in(RUDA_SILU_MUL_GATE, gate, 1, "gate");
    call.in(RUDA_SILU_MUL_UP, up, 2, "up");
    call.plan([&] {
      ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
      desc.gate = call.desc(RUDA_SILU_MUL_GATE);
      desc.up = call.desc(RUDA_SILU_MUL_UP);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_SILU_MUL_Y);
  });
}
