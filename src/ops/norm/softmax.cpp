// src/ops/norm/softmax.cpp - contract of softmax: y = e^x / sum(e^x) over the last axis.
// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/softmax_form.hpp"

RUDA_DECLARE_KERNELS(softmax)

namespace ruda::ops {

extern const OpDef softmax{"softmax", RUDA_KERNELS(softmax)};

}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_softmax_plan_create(ruda_context context, const ruda_softmax_desc* desc,
                                                ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check_softmax(ops::softmax, context, desc); });
}

extern "C" ruda_status ruda_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    const ruda_softmax_desc empty = RUDA_SOFTMAX_DESC_INIT;
    ops::run_softmax(ops::softmax, stream, x, empty, out);
  });
}
