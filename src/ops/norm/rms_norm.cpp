// src/ops/norm/rms_norm.cpp - contract of rms_norm: y = x / sqrt(mean(x^2) + eps) * gamma over the last axis.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/norm.h>

#include <cfloat>

RUDA_DECLARE_KERNELS(rms_norm)

namespace ruda::ops {

extern const OpDef rms_norm{"rms_norm", RUDA_KERNELS(rms_norm)};

namespace {

Problem check(ruda_context context, const ruda_rms_norm_desc* desc) {
  Contract c(rms_norm, context, desc);
  const auto d = c.options<ruda_rms_norm_desc>();
  c.in("x", d.x).in("gamma", d.gamma);
  c.dtype(RUDA_RMS_NORM_X, Types<float, f16, bf16>{}).rank(RUDA_RMS_NORM_X, 1, RUDA_MAX_RANK);
  c.require(c[RUDA_RMS_NORM_X].dim(-1) > 0, RUDA_E_SHAPE, "x has a last extent of 0, expected at least 1");
  c.dense_rows(RUDA_RMS_NORM_X);
  c.dtype(RUDA_RMS_NORM_GAMMA, Types<float>{})
      .rank(RUDA_RMS_NORM_GAMMA, 1, 1)
      .contiguous(RUDA_RMS_NORM_GAMMA);
  c.dim(RUDA_RMS_NORM_GAMMA, 0, c[RUDA_RMS_NORM_X].dim(-1));
  c.out_like("y", d.y, RUDA_RMS_NORM_X).dense_rows(RUDA_RMS_NORM_Y).alias(RUDA_RMS_NORM_Y, RUDA_RMS_NORM_X);
  // As F32, in which it is added: an eps that vanishes there would make NaN of a row of zeros.
  c.require(d.eps >= double(FLT_TRUE_MIN) && d.eps <= double(FLT_MAX), RUDA_E_ARGUMENT,
            "eps is %g, expected finite and above 0 as F32", d.eps);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_rms_norm_plan_create(ruda_context context, const ruda_rms_norm_desc* desc,
                                                 ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_rms_norm(ruda_stream stream, ruda_tensor x, ruda_tensor gamma, double eps,
                                     ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 4, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::rms_norm, stream);
    call.in(RUDA_RMS_NORM_X, x, 1, "x");
    call.in(RUDA_RMS_NORM_GAMMA, gamma, 2, "gamma");
    call.key(eps);
    call.plan([&] {
      ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
      desc.x = call.desc(RUDA_RMS_NORM_X);
      desc.gamma = call.desc(RUDA_RMS_NORM_GAMMA);
      desc.eps = eps;
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_RMS_NORM_Y);
  });
}
