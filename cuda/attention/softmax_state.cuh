// cuda/attention/softmax_state.cuh - parts of a running softmax and their merge.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <ruda/tensor.h>

#include <cstdint>

namespace ruda::cuda::attention {

// The weight of a part is relative to its own largest score.
__device__ inline float rescale(float largest, float total_largest) {
  return expf(largest == total_largest ? 0.0f : largest - total_largest);
}

__device__ inline float score_weight(float score, float largest) {
  return expf(largest == -INFINITY ? score : score - largest);
}

__device__ inline float log_sum(float largest, float weight) {
  return weight == 0 ? -INFINITY : largest + logf(weight);
}

__device__ inline float load_as_float(const void* from, int64_t i, uint32_t dtype) {
  switch (dtype) {
    case RUDA_F32: return static_cast<const float*>(from)[i];
    case RUDA_F16: return __half2float(static_cast<const __half*>(from)[i]);
    default: return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[i]);
  }
}

__device__ inline void store_float(void* to, int64_t i, uint32_t dtype, float x) {
  switch (dtype) {
    case RUDA_F32: static_cast<float*>(to)[i] = x; return;
    case RUDA_F16: static_cast<__half*>(to)[i] = __float2half_rn(x); return;
    default: static_cast<__nv_bfloat16*>(to)[i] = __float2bfloat16_rn(x); return;
  }
}

}  // namespace ruda::cuda::attention
