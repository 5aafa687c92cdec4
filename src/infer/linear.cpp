// src/infer/linear.cpp - products with weights, plain or in blocks, behind one call.
// SPDX-License-Identifier: Apache-2.0
#include "infer/step.hpp"

#include <ruda/matmul.h>

namespace ruda::infer {

Linear::Linear(const Product& p) : block_(is_block(p.weight->layout().dtype)) {
  const ruda_tensor_desc xd = describe(p.x), wd = describe(p.weight), yd = describe(p.y);
  ruda_tensor_desc bd = RUDA_TENSOR_DESC_INIT, gd = RUDA_TENSOR_DESC_INIT;
  if (p.bias) bd = describe(p.bias);
  if (p.gamma) gd = describe(p.gamma);
  const ruda_context context = handle_of<ruda_context>(p.x->context());
  if (block_) {
    ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
    desc.x = &xd;
    desc.weights = &wd;
    desc.bias = p.bias ? &bd : nullptr;
    desc.y = &yd;
    desc.gamma = p.gamma ? &gd : nullptr;
    desc.eps = p.eps;
    desc.gated = p.gated;
    ok(ruda_matmul_block_plan_create(context, &desc, plan_.out()));
  } else {
    ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
    desc.a = &xd;
    desc.b = &wd;
    desc.bias = p.bias ? &bd : nullptr;
    desc.c = &yd;
    desc.transpose_b = 1;
    ok(ruda_matmul_plan_create(context, &desc, plan_.out()));
  }
}

Call Linear::call(const Product& p) const {
  Call call;
  call.program = get<Plan>(plan_.get(), -1, "plan").program.get();
  const auto add = [&](uint32_t block_slot, uint32_t slot, const Ref<Tensor>& tensor) {
    if (tensor) call.bindings[call.count++] = bind(block_ ? block_slot : slot, tensor);
  };
  add(RUDA_MATMUL_BLOCK_X, RUDA_MATMUL_A, p.x);
  add(RUDA_MATMUL_BLOCK_WEIGHTS, RUDA_MATMUL_B, p.weight);
  add(RUDA_MATMUL_BLOCK_Y, RUDA_MATMUL_C, p.y);
  add(RUDA_MATMUL_BLOCK_BIAS, RUDA_MATMUL_BIAS, p.bias);
  if (block_) add(RUDA_MATMUL_BLOCK_GAMMA, 0, p.gamma);
  return call;
}

ruda_plan_info Linear::info() const {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  ok(ruda_plan_query(plan_.get(), &info));
  return info;
}

}  // namespace ruda::infer
