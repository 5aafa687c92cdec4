// cuda/attention/paged_attention.hpp - what the kernels of paged_attention share: arguments and the merge of
// parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/paged_schedule.hpp"
#include "runtime/launch.hpp"

#include <ruda/attention.h>

namespace ruda::cuda::attention {

struct Args {
  const void *q, *k, *v;
  void* out;
  float* lse;
  float* partials;  // [queries, q_heads, parts, value_dim + 2]; null when unsplit
  int64_t q_stride, q_head_stride, out_stride, out_head_stride, lse_stride, lse_head_stride;
  int64_t k_page, k_slot, k_head, v_page, v_slot, v_head;
  const uint32_t* words;  // the schedule's image
  uint64_t positions_word, lengths_word, tables_word;
  uint32_t page_size, table_stride, group, q_heads, head_dim, value_dim, parts;
  uint32_t q_dtype;  // of out too
  float scale;
  bool causal;
  // Of paged_attention_decode.cu: pages of the cache; 16-byte loads fit q; starts while the kernel before it
  // ends.
  uint32_t pages;
  uint32_t last_query;  // that the schedule's image has room for: a plan may have more rows
  bool q_vectors, early;
};

// What the plan fixes.
Args plan_args(const Problem& problem);
// With the addresses of a launch.
Args bind_args(const Launch& launch, Args args);
// Writes the outputs from the parts, in ascending order.
void merge_parts(const Launch& launch, const Args& args);

struct State {
  Args args;
  WorkspaceSlot partials;
};

// False when there is nothing to do; throws when the schedule does not fit.
bool ready(const Launch& launch);

// A block a query, kv head and part: for few queries a history (paged_attention_decode.cu).
struct Decode {
  State base;
  bool cluster;
  uint8_t lanes, heads;
};
Verdict plan_decode(const Problem& problem, Prepare& prep, Decode& decode);
void launch_decode(const Launch& launch, const Decode& decode);

// A block a tile of queries, on the matrix units (paged_attention_tile.cu).
Verdict prepare_tile(const Problem& problem, Prepare& prep);
void run_tile(const Launch& launch);

}  // namespace ruda::cuda::attention
