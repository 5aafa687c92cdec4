// src/cpu/embedding/embedding_isa.cpp - one row of embedding: decode or convert, at every instruction set
// level.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/embedding/embedding_table.hpp"
#include "cpu/simd/block_decode.hpp"
#include "cpu/simd/convert_run.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class From>
RUDA_INLINE void convert_to(const From* from, void* y, int32_t to, int64_t cols) {
  if (to == row_f32)
    convert_run(from, (float*)y, cols);
  else if (to == row_f16)
    convert_run(from, (f16*)y, cols);
  else
    convert_run(from, (bf16*)y, cols);
}

void row(const void* table_row, int32_t from, int32_t block, void* y, int32_t to, int64_t cols,
         float* scratch) {
  if (from == row_blocks) {
    float* floats = to == row_f32 ? (float*)y : scratch;
    decode_row(block, (const uint8_t*)table_row, cols, floats);
    if (to != row_f32) convert_to(floats, y, to, cols);
  } else if (from == to) {
    __builtin_memcpy(y, table_row, (size_t)cols * (from == row_f32 ? 4 : 2));
  } else if (from == row_f32) {
    convert_to((const float*)table_row, y, to, cols);
  } else if (from == row_f16) {
    convert_to((const f16*)table_row, y, to, cols);
  } else {
    convert_to((const bf16*)table_row, y, to, cols);
  }
}

}  // namespace

extern const EmbeddingTable embedding_table{row};

}  // namespace ruda::cpu::RUDA_ISA
