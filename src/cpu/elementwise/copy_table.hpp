// src/cpu/elementwise/copy_table.hpp - conversions of dense rows, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

using ConvertRow = void (*)(const void* x, void* y, int64_t count);

struct Conversion {
  uint32_t from, to;  // dtype codes
  ConvertRow row;
};

constexpr int copy_conversions = 25;

struct CopyTable {
  Conversion conversions[copy_conversions];
  // `count` elements, whole blocks of a format named by its BlockType, to floats.
  void (*decode)(int32_t block_type, const uint8_t* x, int64_t count, float* y);
};

RUDA_ISA_TABLE(CopyTable, copy_table)

}  // namespace ruda::cpu
