// src/cpu/elementwise/silu_mul_table.hpp - row kernels of silu_mul, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

using SiluMulRow = void (*)(const void* gate, const void* up, void* y, int64_t count);

// Dense rows. Index: 0 F32, 1 F16, 2 BF16.
struct SiluMulTable {
  SiluMulRow rows[3];
};

RUDA_ISA_TABLE(SiluMulTable, silu_mul_table)

}  // namespace ruda::cpu
