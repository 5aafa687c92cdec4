// src/ops/norm/softmax_form.hpp - what the contracts of softmax and log_softmax share.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/norm.h>

namespace ruda::ops {

// Both number their slots alike.
constexpr uint32_t softmax_x = RUDA_SOFTMAX_X, softmax_y = RUDA_SOFTMAX_Y;
static_assert(softmax_x == uint32_t(RUDA_LOG_SOFTMAX_X) && softmax_y == uint32_t(RUDA_LOG_SOFTMAX_Y));

template <class D>
Problem check_softmax(const OpDef& op, ruda_context context, const D* desc) {
  Contract c(op, context, desc);
  const auto d = c.options<D>();
  c.in("x", d.x);
  c.dtype(softmax_x, Types<float, f16, bf16>{}).rank(softmax_x, 1, RUDA_MAX_RANK).dense_rows(softmax_x);
  c.out_like("y", d.y, softmax_x).dense_rows(softmax_y).alias(softmax_y, softmax_x);
  return c.take();
}

// `desc` is the empty descriptor.
template <class D>
void run_softmax(const OpDef& op, ruda_stream stream, ruda_tensor x, D desc, ruda_tensor* out) {
  RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
  *out = nullptr;
  Eager call(op, stream);
  call.in(softmax_x, x, 1, "x");
  call.plan([&] {
    desc.x = call.desc(softmax_x);
    return check_softmax(op, call.context_handle(), &desc);
  });
  *out = call.run(softmax_y);
}

}  // namespace ruda::ops
