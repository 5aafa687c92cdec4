// src/ops/norm/log_softmax.cpp - contract of log_softmax: y = x - log(sum(e^x)) over the last axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/softmax_form.hpp"

RUDA_DECLARE_KERNELS(log_softmax)

namespace ruda::ops {

extern const OpDef log_softmax{"log_softmax", RUDA_KERNELS(log_softmax)};

}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_log_softmax_plan_create(ruda_context context, const ruda_log_softmax_desc* desc,
                                                    ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check_softmax(ops::log_softmax, context, desc); });
}

extern "C" ruda_status ruda_log_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    const ruda_log_softmax_desc empty = RUDA_LOG_SOFTMAX_DESC_INIT;
    ops::run_softmax(ops::log_softmax, stream, x, empty, out);
  });
}
