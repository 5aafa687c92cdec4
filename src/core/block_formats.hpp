// src/core/block_formats.hpp - the GGUF block formats that kernels compute with: sizes and dtype codes,
// nothing else.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <stdint.h>

namespace ruda {

// Dense numbers of the formats, for tables of functions.
enum BlockType : int32_t {
  block_q4_0,
  block_q4_1,
  block_q5_0,
  block_q5_1,
  block_q8_0,
  block_q4_k,
  block_q5_k,
  block_q6_k,
  block_type_count
};

struct BlockFormat {
  uint32_t dtype;
  int32_t elements;  // of a block
  int32_t bytes;     // of a block
};

// Indexed by BlockType.
constexpr BlockFormat block_formats[block_type_count] = {
    {RUDA_Q4_0, 32, 18}, {RUDA_Q4_1, 32, 20},   {RUDA_Q5_0, 32, 22},   {RUDA_Q5_1, 32, 24},
    {RUDA_Q8_0, 32, 34}, {RUDA_Q4_K, 256, 144}, {RUDA_Q5_K, 256, 176}, {RUDA_Q6_K, 256, 210},
};

// The BlockType of a dtype code; -1 where there is none.
constexpr int32_t block_type(uint32_t dtype) {
  for (int32_t i = 0; i < block_type_count; ++i)
    if (block_formats[i].dtype == dtype) return i;
  return -1;
}

}  // namespace ruda
