// src/cpu/norm/norm_table.hpp - row kernels of the norm family, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// Rows begin..end-1 of a matrix with dense rows; strides in elements.
struct RmsNormRows {
  const void* x;
  const float* gamma;
  void* y;
  int64_t cols, x_stride, y_stride;
  float eps;
};

// Index: 0 F32, 1 F16, 2 BF16.
struct NormTable {
  void (*rms_norm[3])(const RmsNormRows& rows, int64_t begin, int64_t end);
};

RUDA_ISA_TABLE(NormTable, norm_table)

}  // namespace ruda::cpu
