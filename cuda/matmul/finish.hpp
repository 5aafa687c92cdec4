// cuda/matmul/finish.hpp - what follows a product: bias and the one rounding to the dtype of the result.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace ruda::cuda {

struct Finish {
  const float* from;  // rows * count rows of n, dense; may be `to` where that is F32
  void* to;           // row i of product p at p * to_batch + i * to_row
  const void* bias;   // n elements, or nullptr
  uint32_t bias_dtype, to_dtype, activation;
  int64_t rows, count, n, from_row, from_batch, to_row, to_batch;
};

// to = activation(from + bias), rounded once.
void run_finish(const Finish& f, cudaStream_t stream);
// to = bias, in 16 bits: every row.
void run_lay_down(const Finish& f, cudaStream_t stream);
// x as F32 or bf16, dense rows; x is F32, F16 or BF16 with rows at any stride.
void run_widen(const void* x, uint32_t dtype, float* to, int64_t n, cudaStream_t stream);
void run_narrow(const float* x, int64_t stride, void* to_bf16, int64_t rows, int64_t n, cudaStream_t stream);

}  // namespace ruda::cuda
