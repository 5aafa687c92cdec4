// src/cpu/attention/attention_table.hpp - kernels of the attention family, one table a level and file.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/cached_rows_table.hpp"

namespace ruda::cpu {

// Rows of one (sequence, kv head): query heads that read it, query by query. Row r is query r / group of the
// run, query head r % group of the kv head. Pointers lie at the first query of the run and the first query
// head.
struct AttentionRows {
  const void *q, *k, *v;  // k and v at the kv head
  void* out;
  float* lse;  // may be null
  int64_t q_stride, q_head_stride, out_stride, out_head_stride, lse_stride, lse_head_stride;
  int64_t head_dim, value_dim, group;
  PagedCache k_cache, v_cache;
  const uint32_t *table, *positions;
  uint32_t length;
  bool causal;
  float scale;
  int64_t row_begin, row_end;
  int64_t key_begin, key_end;  // this part of the history; key_begin is a multiple of attention_tile
  // One part of several: sums go to partial[r * partial_stride]: value_dim sums, the largest score, the sum
  // of weights.
  float* partial;
  int64_t partial_query_stride, partial_head_stride;
  // Whether the call must stop, asked before each tile of keys: the rows then stay unwritten. Null where
  // nothing can stop it.
  bool (*stopped)(void* sign);
  void* sign;
};

// Partials of rows, `parts` each, merged into out and lse.
struct AttentionMerge {
  const float* partial;  // [rows, parts, value_dim + 2]
  void* out;
  float* lse;
  int64_t heads, value_dim, parts;
  int64_t out_stride, out_head_stride, lse_stride, lse_head_stride;
};

constexpr int64_t attention_tile = 64;  // keys that share one step of the running softmax

// Floats of scratch that `attend` needs for up to `rows` rows.
constexpr int64_t attention_scratch(int64_t rows, int64_t head_dim, int64_t value_dim) {
  const int64_t wide = (value_dim + 15) / 16 * 16;
  return rows * (head_dim + wide + 16 + 4) + attention_tile * (head_dim + wide) + 16 * attention_tile + 64;
}

// Index: 0 F32, 1 F16, 2 BF16.
struct AttentionTable {
  void (*attend[3][3])(const AttentionRows& rows, float* scratch);  // [dtype of q][dtype of the cache]
  void (*merge[3])(const AttentionMerge& merge, int64_t begin, int64_t end);
};

RUDA_ISA_TABLE(AttentionTable, attention_table)

// The same with the AMX tile unit: dims are multiples of 32.
constexpr int64_t attention_group = 16;  // rows that share a tile

constexpr int64_t attention_tile_scratch(int64_t rows, int64_t head_dim, int64_t value_dim) {
  const int64_t groups = (rows + attention_group - 1) / attention_group;
  const int64_t lines = attention_group * value_dim,
                packed = attention_tile * (attention_group + 16 + head_dim + value_dim);
  return (packed > lines ? packed : lines) + groups * attention_group * (head_dim + value_dim + 16);
}

struct AttentionTileTable {
  void (*attend[3][3])(const AttentionRows& rows, float* scratch);
};

#if defined(__x86_64__)
namespace amx {
extern const AttentionTileTable attention_tiles;
}
#endif

}  // namespace ruda::cpu
