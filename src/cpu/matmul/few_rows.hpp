// src/cpu/matmul/few_rows.hpp - plain structs for products of few rows, which read the matrix once, where it
// lies.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/matmul/gemm.hpp"

namespace ruda::cpu {

// Columns first..last-1 of y[row, col] = sum over k of x[row, k] * w(k, col) + bias[col], all sums in F32.
struct FewRows {
  int64_t rows, k;
  const float* x;  // [rows, k], x_stride floats apart
  int64_t x_stride;
  GemmMatrix w;
  void* y;
  int64_t y_stride;
  GemmType y_type;
  const float* bias;  // null for none
};

struct FewRowsKernels {
  int max_rows_dots, max_rows_sums;  // what the two take
  int column_step;                   // threads meet at multiples of it
  // w has contiguous k (w.row is 1): dot products
  void (*dots)(const FewRows* job, int64_t first, int64_t last);
  // w has contiguous columns (w.col is 1): sums of scaled rows
  void (*sums)(const FewRows* job, int64_t first, int64_t last);
  // `count` elements to floats
  void (*widen)(GemmType type, const void* from, float* to, int64_t count);
};

RUDA_ISA_TABLE(FewRowsKernels, few_rows_kernels)

}  // namespace ruda::cpu
