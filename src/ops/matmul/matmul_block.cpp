// src/ops/matmul/matmul_block.cpp - contract of matmul_block: y = x * weights^T + bias with weights in GGUF
// blocks.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/matmul.h>

#include <cfloat>

RUDA_DECLARE_KERNELS(matmul_block)

namespace ruda::ops {

extern const OpDef matmul_block{"matmul_block", RUDA_KERNELS(matmul_block)};

namespace {

// Block layouts and their value rules: the GGUF format as documented by its project (docs/gguf.md, block
// structs).
Problem check(ruda_context context, const ruda_matmul_block_desc* desc) {
  Contract c(matmul_block, context, desc);
  const auto d = c.options<ruda_matmul_block_desc>();
  c.require(d.gated <= 1, RUDA_E_ARGUMENT, "gated is %u, expected 0 or 1", d.gated);
  c.require(d.reserved == 0, RUDA_E_ARGUMENT, "reserved is %u, expected 0", d.reserved);
  c.require(!d.gated || !d.bias, RUDA_E_ARGUMENT, "bias is given, but gated is 1, which takes none");
  if (d.gamma)
    c.require(d.eps >= double(FLT_TRUE_MIN) && d.eps <= double(FLT_MAX), RUDA_E_ARGUMENT,
              "eps is %g, expected finite and above 0 as F32", d.eps);
  else
    c.require(d.eps == 0, RUDA_E_ARGUMENT, "eps is %g, but gamma is NULL, expected 0", d.eps);
  c.in("x", d.x).in("weights", d.weights).in_optional("bias", d.bias);
  c.dtype(RUDA_MATMUL_BLOCK_X, Types<float, bf16>{}).rank(RUDA_MATMUL_BLOCK_X, 1, RUDA_MAX_RANK);
  c.dense_rows(RUDA_MATMUL_BLOCK_X);
  c.dtypes(RUDA_MATMUL_BLOCK_WEIGHTS,
           {RUDA_Q4_0, RUDA_Q4_1, RUDA_Q5_0, RUDA_Q5_1, RUDA_Q8_0, RUDA_Q4_K, RUDA_Q5_K, RUDA_Q6_K});
  c.rank(RUDA_MATMUL_BLOCK_WEIGHTS, 2, 2).contiguous(RUDA_MATMUL_BLOCK_WEIGHTS);
  const Operand& x = c[RUDA_MATMUL_BLOCK_X];
  c.dim(RUDA_MATMUL_BLOCK_WEIGHTS, 1, x.dim(-1));
  const int64_t rows = c[RUDA_MATMUL_BLOCK_WEIGHTS].dim(0), n = d.gated ? rows / 2 : rows;
  c.require(!d.gated || rows % 2 == 0, RUDA_E_SHAPE, "weights has %lld rows, expected an even number",
            (long long)rows);
  if (c.has(RUDA_MATMUL_BLOCK_BIAS)) {
    c.dtype(RUDA_MATMUL_BLOCK_BIAS, Types<float, bf16>{}).rank(RUDA_MATMUL_BLOCK_BIAS, 1, 1);
    c.dim(RUDA_MATMUL_BLOCK_BIAS, 0, n).contiguous(RUDA_MATMUL_BLOCK_BIAS);
  }
  const uint32_t given = d.y ? d.y->dtype : d.out_dtype;
  const uint32_t out = given ? given : x.dtype();
  c.require(out == RUDA_F32 || out == RUDA_BF16, RUDA_E_DTYPE, "y has dtype %s, expected one of F32, BF16",
            dtype_name(out));
  c.require(!d.out_dtype || d.out_dtype == out, RUDA_E_DTYPE, "out_dtype is %s, but y has dtype %s",
            dtype_name(d.out_dtype), dtype_name(out));
  int64_t shape[RUDA_MAX_RANK];
  for (int i = 0; i < x.rank(); ++i) shape[i] = x.dim(i);
  shape[x.rank() - 1] = n;
  c.out("y", d.y, out, shape, c[RUDA_MATMUL_BLOCK_X].rank()).dense_rows(RUDA_MATMUL_BLOCK_Y);
  c.in_optional("gamma", d.gamma);
  if (c.has(RUDA_MATMUL_BLOCK_GAMMA)) {
    c.dtype(RUDA_MATMUL_BLOCK_GAMMA, Types<float>{}).rank(RUDA_MATMUL_BLOCK_GAMMA, 1, 1);
    c.contiguous(RUDA_MATMUL_BLOCK_GAMMA).dim(RUDA_MATMUL_BLOCK_GAMMA, 0, c[RUDA_MATMUL_BLOCK_X].dim(-1));
    c.require(c[RUDA_MATMUL_BLOCK_X].dim(-1) > 0, RUDA_E_SHAPE,
              "x has a last extent of 0, expected at least 1 with gamma");
  }
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_matmul_block_plan_create(ruda_context context, const ruda_matmul_block_desc* desc,
                                                     ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_matmul_block(ruda_stream stream, ruda_tensor x, ruda_tensor weights,
                                         ruda_tensor bias, uint32_t out_dtype, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::matmul_block, stream);
    call.in(RUDA_MATMUL_BLOCK_X, x, 1, "x");
    call.in(RUDA_MATMUL_BLOCK_WEIGHTS, weights, 2, "weights");
    call.in(RUDA_MATMUL_BLOCK_BIAS, bias, 3, "bias", true);
    call.key(out_dtype);
    call.plan([&] {
      ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
      desc.x = call.desc(RUDA_MATMUL_BLOCK_X);
      desc.weights = call.desc(RUDA_MATMUL_BLOCK_WEIGHTS);
      desc.bias = call.desc(RUDA_MATMUL_BLOCK_BIAS);
      desc.out_dtype = out_dtype;
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_MATMUL_BLOCK_Y);
  });
}
