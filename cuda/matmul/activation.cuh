// cuda/matmul/activation.cuh - the functions that may follow a product, in F32, and the reading of a bias.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/scalar_math.hpp"
#include "device/convert.cuh"

#include <ruda/matmul.h>

namespace ruda::cuda {

__device__ inline float bias_value(const void* bias, uint32_t dtype, int64_t i) {
  if (dtype == RUDA_F32) return static_cast<const float*>(bias)[i];
  if (dtype == RUDA_F16) return to_f32(static_cast<const __half*>(bias)[i]);
  return to_f32(static_cast<const __nv_bfloat16*>(bias)[i]);
}

__device__ inline float activate(uint32_t activation, float x) {
  switch (activation) {
    case RUDA_ACTIVATION_RELU: return x > 0 || x != x ? x : 0.0f;
    case RUDA_ACTIVATION_GELU: return scalar_math::gelu(x);
    case RUDA_ACTIVATION_GELU_TANH: return scalar_math::gelu_tanh(x);
    case RUDA_ACTIVATION_SILU: return scalar_math::silu(x);
    default: return x;
  }
}

}  // namespace ruda::cuda
