// src/cpu/cached_rows_table.hpp - putting rows into the pages of a cache, one table a level.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/isa.hpp"

#include <stdint.h>

namespace ruda::cpu {

// Where the tokens of a schedule lie in a cache [pages, page_size, heads, dim]; strides in elements.
struct PagedCache {
  int64_t page_stride, slot_stride, head_stride;
  uint32_t page_size, table_stride;
};

// Rows of one tensor [rows, heads, dim] and the cache that takes them.
struct CachedRows {
  const void* rows;
  void* cache;
  int64_t heads, dim, row_stride, head_stride;
  PagedCache to;
  const uint32_t *sequence_ids, *positions, *tables;
};

// [dtype of the rows][dtype of the cache]: 0 F32, 1 F16, 2 BF16.
struct CachedRowsTable {
  void (*put[3][3])(const CachedRows& rows, int64_t begin, int64_t end);
};

RUDA_ISA_TABLE(CachedRowsTable, cached_rows_table)

}  // namespace ruda::cpu
