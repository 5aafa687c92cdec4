// src/cpu/embedding/embedding_table.hpp - plain structs between the dispatching file of embedding and its
// kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/block_formats.hpp"
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// What a table or an output holds.
enum RowType : int32_t { row_f32, row_f16, row_bf16, row_blocks };

// One row from the table to the output.
struct EmbeddingTable {
  // `from` is a RowType, `block` a BlockType where it is row_blocks; scratch holds cols floats, used for
  // blocks only.
  void (*row)(const void* table_row, int32_t from, int32_t block, void* y, int32_t to, int64_t cols,
              float* scratch);
};

RUDA_ISA_TABLE(EmbeddingTable, embedding_table)

}  // namespace ruda::cpu
