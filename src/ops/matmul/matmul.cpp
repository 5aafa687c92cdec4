// src/ops/matmul/matmul.cpp - contract of matmul: c = a x b + bias over the last two axes, the others
// broadcast.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/matmul.h>

#include <algorithm>

RUDA_DECLARE_KERNELS(matmul)

namespace ruda::ops {

extern const OpDef matmul{"matmul", RUDA_KERNELS(matmul)};

namespace {

Problem check(ruda_context context, const ruda_matmul_desc* desc) {
  Contract c(matmul, context, desc);
  const auto d = c.options<ruda_matmul_desc>();
  c.require(d.transpose_a <= 1, RUDA_E_ARGUMENT, "transpose_a is %u, expected 0 or 1", d.transpose_a);
  c.require(d.transpose_b <= 1, RUDA_E_ARGUMENT, "transpose_b is %u, expected 0 or 1", d.transpose_b);
  c.require(d.activation <= RUDA_ACTIVATION_SILU, RUDA_E_ARGUMENT, "activation is %u, expected 0..%u",
            d.activation, RUDA_ACTIVATION_SILU);
  c.require(d.reserved == 0, RUDA_E_ARGUMENT, "reserved is %u, expected 0", d.reserved);
  c.in("a", d.a).in("b", d.b).in_optional("bias", d.bias);
  c.dtypes(RUDA_MATMUL_A, {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_F8E4M3, RUDA_F8E5M2});
  c.rank(RUDA_MATMUL_A, 2, RUDA_MAX_RANK).rank(RUDA_MATMUL_B, 2, RUDA_MAX_RANK);
  const uint32_t dtype = c[RUDA_MATMUL_A].dtype();
  const bool fp8 = dtype == RUDA_F8E4M3 || dtype == RUDA_F8E5M2;
  if (dtype == RUDA_F32)
    c.dtype(RUDA_MATMUL_B, Types<float, f16, bf16>{});
  else if (fp8)
    c.dtypes(RUDA_MATMUL_B, {RUDA_F8E4M3, RUDA_F8E5M2});
  else
    c.same_dtype(RUDA_MATMUL_B, RUDA_MATMUL_A);
  c.require(fp8 || (!d.a_scale && !d.b_scale), RUDA_E_DTYPE,
            "scales are given, but a has dtype %s, expected FP8", dtype_name(dtype));

  const Operand &a = c[RUDA_MATMUL_A], &b = c[RUDA_MATMUL_B];
  const int64_t m = a.dim(d.transpose_a ? -1 : -2), k = a.dim(d.transpose_a ? -2 : -1);
  const int64_t n = b.dim(d.transpose_b ? -2 : -1);
  c.dim(RUDA_MATMUL_B, d.transpose_b ? -1 : -2, k);

  // leading axes, aligned at the last
  const int rank = std::max(a.rank(), b.rank());
  int64_t shape[RUDA_MAX_RANK];
  for (int axis = 3; axis <= rank; ++axis) {
    const int64_t x = axis <= a.rank() ? a.dim(-axis) : 1, y = axis <= b.rank() ? b.dim(-axis) : 1;
    c.require(x == y || x == 1 || y == 1, RUDA_E_SHAPE,
              "a dim %d is %lld and b dim %d is %lld, expected equal or 1", a.rank() - axis, (long long)x,
              b.rank() - axis, (long long)y);
    shape[rank - axis] = x == 1 ? y : x;
  }
  shape[rank - 2] = m;
  shape[rank - 1] = n;

  c.dtype(RUDA_MATMUL_BIAS, Types<float, f16, bf16>{}).rank(RUDA_MATMUL_BIAS, 1, 1);
  c.dim(RUDA_MATMUL_BIAS, 0, n).contiguous(RUDA_MATMUL_BIAS);

  uint32_t out = d.out_dtype ? d.out_dtype : fp8 ? uint32_t(RUDA_BF16) : dtype;
  if (d.c) {
    const uint32_t given = struct_in(d.c, Contract::arg_desc, "desc.c").dtype;
    if (!d.out_dtype) out = given;
  }
  if (fp8)
    c.require(out == RUDA_F32 || out == RUDA_F16 || out == RUDA_BF16, RUDA_E_DTYPE,
              "c has dtype %s, expected F32, F16 or BF16 with FP8 operands", dtype_name(out));
  else
    c.require(out == RUDA_F32 || out == dtype, RUDA_E_DTYPE, "c has dtype %s, expected F32%s%s",
              dtype_name(out), dtype == RUDA_F32 ? "" : " or, as a has, ",
              dtype == RUDA_F32 ? "" : dtype_name(dtype));
  c.out("c", d.c, out, shape, rank).dense_rows(RUDA_MATMUL_C);
  c.in_optional("a_scale", d.a_scale).in_optional("b_scale", d.b_scale);
  for (const uint32_t slot : {RUDA_MATMUL_A_SCALE, RUDA_MATMUL_B_SCALE})
    c.dtype(slot, Types<float>{}).rank(slot, 1, 1).dim(slot, 0, 1);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_matmul_plan_create(ruda_context context, const ruda_matmul_desc* desc,
                                               ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_matmul(ruda_stream stream, ruda_tensor a, ruda_tensor b, ruda_tensor bias,
                                   const ruda_matmul_options* options, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    ruda_matmul_options o = RUDA_MATMUL_OPTIONS_INIT;
    if (options) o = ruda::struct_in(options, 4, "options");
    ruda::Eager call(ruda::ops::matmul, stream);
    call.in(RUDA_MATMUL_A, a, 1, "a");
    call.in(RUDA_MATMUL_B, b, 2, "b");
    call.in(RUDA_MATMUL_BIAS, bias, 3, "bias", true);
    call.key(o.out_dtype);
    call.key(o.transpose_a);
    call.key(o.transpose_b);
    call.key(o.activation);
    call.key(o.reserved);
    call.plan([&] {
      ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
      desc.out_dtype = o.out_dtype;
      desc.a = call.desc(RUDA_MATMUL_A);
      desc.b = call.desc(RUDA_MATMUL_B);
      desc.bias = call.desc(RUDA_MATMUL_BIAS);
      desc.transpose_a = o.transpose_a;
      desc.transpose_b = o.transpose_b;
      desc.activation = o.activation;
      desc.reserved = o.reserved;
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_MATMUL_C);
  });
}
