// cuda/matmul/lt_product.hpp - one product by cuBLASLt: described and its algorithm chosen once, run often.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/cublaslt.hpp"

#include <string>

namespace ruda::cuda::lt {

// An operand as cuBLASLt sees it, by columns.
struct Matrix {
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0, batch = 0;
  int op = op_none;
  cudaDataType_t type = CUDA_R_32F;
  uint32_t alignment = 16;  // of the address, in bytes
};

// c = a * b in our order, row by row; cuBLASLt thinks in columns, so its first operand is our b.
struct Request {
  Matrix a, b, c;
  int64_t count = 1;
  bool tf32 = false, add_c = false;  // add_c: c = a * b + c
  int epilogue = epilogue_default;
  bool scales = false;  // of a and b, one F32 on the device each
  uint64_t workspace_limit = 0;
};

struct Product {
  Context* context;
  DescOpaque desc;
  LayoutOpaque a, b, c;
  Algo algo;
  uint64_t workspace_bytes;
  bool bias, scales, add_c;
};

struct Operands {
  const void *a, *b;
  void* c;
  const float* bias = nullptr;
  const float *a_scale = nullptr, *b_scale = nullptr;
};

// The library for the device, or nullptr where it cannot be had; throws when `needed`.
Context* context_of(CudaDevice& device, bool needed);
// False when cuBLASLt has no algorithm. `note` becomes what it chose.
bool make_product(Context* context, const Request& request, Product& product, std::string& note);
void run_product(const Product& product, const Operands& operands, void* workspace, cudaStream_t stream);

cudaDataType_t type_of(uint32_t dtype);

}  // namespace ruda::cuda::lt
