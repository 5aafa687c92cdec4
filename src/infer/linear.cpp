// src/infer/linear.cpp - products with weights, plain or in blocks, behind one call.
// SPDX-License-Identifier: Apache-2.0
#include "infer/step.hpp"

#include <ruda/matmul.h>

namespace ruda::infer {

Linear::Linear(const Ref<Tensor>& x, const Ref<Tensor>& weight, const Ref<Tensor>& bias, const Ref<Tensor>& y)
    : block_(is_block(weight->layout().dtype)) {
  const ruda_tensor_desc xd = describe(x), wd = describe(weight), yd = describe(y);
  ruda_tensor_desc bd = RUDA_TENSOR_DESC_INIT;
  if (bias) bd = describe(bias);
  const ruda_context context = handle_of<ruda_context>(x->context());
  if (block_) {
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.x = &xd;
    desc.weights = &wd;
    desc.bias = bias ? &bd : nullptr;
    desc.y = &yd;
    ok(ruda_matmul_block_plan_create(context, &desc, plan_.out()));
  } else {
    ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
    desc.a = &xd;
    desc.b = &wd;
    desc.bias = bias ? &bd : nullptr;
    desc.c = &yd;
    desc.transpose_b = 1;
    ok(ruda_matmul_plan_create(context, &desc, plan_.out()));
  }
}

void Linear::run(ruda_stream stream, ruda_workspace workspace, const Ref<Tensor>& x,
                 const Ref<Tensor>& weight, const Ref<Tensor>& bias, const Ref<Tensor>& y,
                 const ruda_exec_opts* opts) const {
  ruda_binding bindings[4] = {
      bind(block_ ? uint32_t(RUDA_MATMUL_BLOCK_X) : uint32_t(RUDA_MATMUL_A), x),
      bind(block_ ? uint32_t(RUDA_MATMUL_BLOCK_WEIGHTS) : uint32_t(RUDA_MATMUL_B), weight),
      bind(block_ ? uint32_t(RUDA_MATMUL_BLOCK_Y) : uint32_t(RUDA_MATMUL_C), y),
      bind(block_ ? uint32_t(RUDA_MATMUL_BLOCK_BIAS) : uint32_t(RUDA_MATMUL_BIAS), bias)};
  ok(ruda_plan_execute(plan_.get(), stream, workspace, bindings, bias ? 4 : 3, opts));
}

ruda_plan_info Linear::info() const {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  ok(ruda_plan_query(plan_.get(), &info));
  return info;
}

}  // namespace ruda::infer
