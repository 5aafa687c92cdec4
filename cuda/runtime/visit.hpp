// cuda/runtime/visit.hpp - from the dtype codes of operands to the types that kernels are compiled for.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace ruda::cuda {

// f(T{}) for F32, F16 or BF16.
template <class F>
void visit_float(uint32_t dtype, F&& f) {
  switch (dtype) {
    case RUDA_F32: return f(float{});
    case RUDA_F16: return f(__half{});
    default: return f(__nv_bfloat16{});
  }
}

// f(T{}) for F64, F32, F16, BF16, an integer dtype or BOOL, which is a byte.
template <class F>
void visit_element(uint32_t dtype, F&& f) {
  switch (dtype) {
    case RUDA_F64: return f(double{});
    case RUDA_I8: return f(int8_t{});
    case RUDA_I16: return f(int16_t{});
    case RUDA_U16: return f(uint16_t{});
    case RUDA_I32: return f(int32_t{});
    case RUDA_U32: return f(uint32_t{});
    case RUDA_I64: return f(int64_t{});
    case RUDA_U64: return f(uint64_t{});
    case RUDA_U8:
    case RUDA_BOOL: return f(uint8_t{});
    default: return visit_float(dtype, f);
  }
}

}  // namespace ruda::cuda
