/* include/ruda/attention.h - the paged key-value cache: schedules, appending rows, attention. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_ATTENTION_H
#define RUDA_ATTENTION_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- paged schedule ---- */

/** Which pages hold which tokens, and which queries are asked: what changes from step to step while plans
 *  stay. A history (sequence) s of lengths[s] tokens lies in pages tables[s][0], tables[s][1], ...,
 *  page_size tokens each; query i belongs to history sequence_ids[i] at the absolute position
 *  positions[i] inside it. Capacities and device addresses are fixed when the schedule is made; it is set
 *  whole, or advanced by one token. Bound at execute as RUDA_BIND_HANDLE. Any stream of the context may use
 *  it: calls order themselves after those of other streams. A captured call does not: launch its graph on the
 *  stream of the latest set or advance. */
typedef struct ruda_paged_schedule_desc {
  uint32_t struct_size, page_size; /* tokens a page, above 0 */
  const ruda_ext* next;
  uint32_t pages;           /* pages of the cache, above 0 */
  uint32_t max_sequences;   /* above 0 */
  uint32_t max_queries;     /* rows that one step may hold */
  uint32_t max_table_pages; /* pages a sequence may hold, above 0 */
} ruda_paged_schedule_desc;
#define RUDA_PAGED_SCHEDULE_DESC_INIT \
  { (uint32_t)sizeof(ruda_paged_schedule_desc), 0, NULL, 0, 0, 0, 0 }

/** A table entry without a page. */
#define RUDA_NO_PAGE 0xFFFFFFFFu

/** Facts of a schedule. `device_data` is its U32 image on the device, at an address that never changes:
 *  [queries, sequences, 0, 0], then from the word given by each field the arrays at full capacity. */
typedef struct ruda_paged_schedule_info {
  uint32_t struct_size, page_size;
  uint32_t pages, max_sequences, max_queries, max_table_pages;
  uint32_t sequences, queries; /* live counts; 0 before the first set */
  uint64_t generation;         /* rises with every set and advance; 0 before the first set */
  const void* device_data;
  uint32_t sequence_ids_word, positions_word, lengths_word, tables_word;
} ruda_paged_schedule_info;
#define RUDA_PAGED_SCHEDULE_INFO_INIT \
  { (uint32_t)sizeof(ruda_paged_schedule_info), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0 }

/** Makes an empty schedule. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW,
 *  RUDA_E_ARGUMENT (a capacity that must be above 0 is 0, pages above 2^31 - 1, more than 2^32 - 1 words
 *  in all), RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET. [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_schedule_create(ruda_context context,
                                                          const ruda_paged_schedule_desc* desc,
                                                          ruda_paged_schedule* out) RUDA_NX;

/** Replaces the whole schedule from host arrays, which may be reused on return; later work on `stream`
 *  sees the new one. On an error the former schedule stays active.
 *
 *  tables        [sequences, table_pages]: page ids; the ceil(length / page_size) that a length needs
 *                must be below `pages` and differ within their row; later entries are pages in reserve
 *                for advance, or RUDA_NO_PAGE. Sequences may share pages: reading them is legal, appending
 *                to them is not
 *  lengths       [sequences]: tokens, those of this step's queries included; 0 = an unused row
 *  sequence_ids  [queries], below `sequences`
 *  positions     [queries], below the length of their sequence (anything where that length is 0)
 *
 *  sequences is 1..max_sequences, table_pages 1..max_table_pages, queries 0..max_queries. Costs host time
 *  in the pages used and the queries. Not capturable. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_ARGUMENT, RUDA_E_INDEX (page, sequence id or position out of range), RUDA_E_CAPTURE_UNSAFE,
 *  RUDA_E_STREAM_POISONED, RUDA_E_DEVICE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_paged_schedule_set(ruda_paged_schedule schedule, ruda_stream stream,
                                                       const uint32_t* tables, uint32_t table_pages,
                                                       const uint32_t* lengths, uint32_t sequences,
                                                       const uint32_t* sequence_ids,
                                                       const uint32_t* positions, uint32_t queries) RUDA_NX;

/** The next decode step: every sequence of length above 0 grows by one token, and the queries become
 *  those tokens, one a sequence in ascending order. Pages come from the reserve of `set`. On an error
 *  nothing changes. Capturable on a GPU: then each launch of the graph is the step, on the device and in
 *  what the getters tell, and ruda_graph_launch answers RUDA_E_STATE, launching nothing, where this call
 *  would, or where the next token's page is shared; a graph holds one step of a schedule.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context), RUDA_E_STATE (not
 *  set yet, a sequence's table has no page left or repeats one, more sequences than max_queries, a second
 *  step under one capture), RUDA_E_STREAM_POISONED, RUDA_E_DEVICE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_paged_schedule_advance(ruda_paged_schedule schedule,
                                                           ruda_stream stream) RUDA_NX;

/** Fills `inout`. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size). [S] */
RUDA_API ruda_status RUDA_CALL ruda_paged_schedule_get_info(ruda_paged_schedule schedule,
                                                            ruda_paged_schedule_info* inout) RUDA_NX;

/** The live schedule as one U32 array: [sequence_ids, positions, lengths, tables padded with RUDA_NO_PAGE
 *  to max_table_pages a row]. Writes nothing when `capacity` words are too few; *out_needed (may be NULL)
 *  is their count.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (capacity above 0 and too small). [S] */
RUDA_API ruda_status RUDA_CALL ruda_paged_schedule_get_packed(ruda_paged_schedule schedule, uint32_t* data,
                                                              uint64_t capacity,
                                                              uint64_t* out_needed) RUDA_NX;

/* ---- paged_append ---- */

/** Slots of paged_append. */
enum {
  RUDA_PAGED_APPEND_K = 0,
  RUDA_PAGED_APPEND_V = 1,
  RUDA_PAGED_APPEND_SCHEDULE = 2,
  RUDA_PAGED_APPEND_K_CACHE = 3,
  RUDA_PAGED_APPEND_V_CACHE = 4
};

/** Row i of k and v is written at query i's position: cache[page, position % page_size] = row, with
 *  page = tables[sequence_ids[i]][positions[i] / page_size].
 *
 *  k         in     [rows, kv_heads, head_dim]; F32, F16, BF16; last stride 1, others any
 *  v         in     optional, with v_cache: [rows, kv_heads, value_dim]; dtype of k; strides as k
 *  schedule  in     ruda_paged_schedule of the cache's page_size, at most its pages, at most `rows` queries
 *  k_cache   inout  [pages, page_size, kv_heads, head_dim]; F32, F16, BF16; last stride 1, others writable
 *  v_cache   inout  [pages, page_size, kv_heads, value_dim]; dtype of k_cache; may be the very tensor of
 *                   k_cache, which then holds the rows of v
 *
 *  Writes in place, rounding to the dtype of the cache. Rows at and past the schedule's query count are
 *  not read. */
typedef struct ruda_paged_append_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* k;
  const ruda_tensor_desc* v; /* NULL = only keys */
  const ruda_tensor_desc* k_cache;
  const ruda_tensor_desc* v_cache; /* NULL with v */
} ruda_paged_append_desc;
#define RUDA_PAGED_APPEND_DESC_INIT \
  { (uint32_t)sizeof(ruda_paged_append_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for paged_append. Deterministic; capturable. Execute fails and writes nothing with
 *  RUDA_E_STATE when the schedule was never set, and with RUDA_E_ARGUMENT when two queries name one slot, a
 *  position is not below its sequence's length, or a page that is written belongs to two sequences (the
 *  caller copies shared pages first).
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE,
 *  RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_append_plan_create(ruda_context context,
                                                             const ruda_paged_append_desc* desc,
                                                             ruda_plan* out) RUDA_NX;

/** Eager form: *out_k_cache and *out_v_cache are the caches to keep for later calls. A cache whose storage no
 *  other tensor shares is written in place, and its out is a new reference to it; a shared or read-only one
 *  is copied first, so that the other tensors keep their contents. Both are tested before either is touched:
 *  k_cache and v_cache on one storage are both copied. v and v_cache may be NULL, then out_v_cache too.
 *  Status: as the plan form, ruda_plan_execute and ruda_tensor_copy. [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_append(ruda_stream stream, ruda_paged_schedule schedule,
                                                 ruda_tensor k, ruda_tensor v, ruda_tensor k_cache,
                                                 ruda_tensor v_cache, ruda_tensor* out_k_cache,
                                                 ruda_tensor* out_v_cache) RUDA_NX;

/** What an append copied before it wrote. */
typedef struct ruda_paged_append_report {
  uint32_t struct_size;
  ruda_bool k_copied, v_copied;
  uint32_t reserved;
  uint64_t k_copied_bytes, v_copied_bytes;
} ruda_paged_append_report;
#define RUDA_PAGED_APPEND_REPORT_INIT \
  { (uint32_t)sizeof(ruda_paged_append_report), 0, 0, 0, 0, 0 }

/** As ruda_paged_append, and fills `inout_report`. [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_append_with_report(ruda_stream stream, ruda_paged_schedule schedule,
                                                             ruda_tensor k, ruda_tensor v,
                                                             ruda_tensor k_cache, ruda_tensor v_cache,
                                                             ruda_paged_append_report* inout_report,
                                                             ruda_tensor* out_k_cache,
                                                             ruda_tensor* out_v_cache) RUDA_NX;

/* ---- paged_attention ---- */

/** Slots of paged_attention. */
enum {
  RUDA_PAGED_ATTENTION_Q = 0,
  RUDA_PAGED_ATTENTION_K = 1,
  RUDA_PAGED_ATTENTION_V = 2,
  RUDA_PAGED_ATTENTION_SCHEDULE = 3,
  RUDA_PAGED_ATTENTION_OUT = 4,
  RUDA_PAGED_ATTENTION_LSE = 5
};

/** Optional outputs of paged_attention. */
enum { RUDA_PAGED_ATTENTION_WANT_LSE = 1 };

/** Value of `splits`: cut histories when there are too few queries to keep the device busy. */
#define RUDA_SPLITS_AUTO 0xFFFFFFFFu

/** Attention over a paged cache. Query i of history s sees key j iff j < lengths[s] and, when causal,
 *  j <= positions[i]: absolute positions, so no corner of a mask is assumed. Query head h reads kv head
 *  h / (q_heads / kv_heads), rounded down. With x_j = scale * (q . k_j) over the keys seen:
 *    out = sum_j exp(x_j) v_j / sum_j exp(x_j),   lse = ln(sum_j exp(x_j))
 *  A query that sees no key gives out = 0 and lse = -infinity.
 *
 *  q         in   [queries, q_heads, head_dim]; F32, F16, BF16; last stride 1, others any
 *  k         in   [pages, page_size, kv_heads, head_dim]; F32, F16, BF16; last stride 1, others any
 *  v         in   [pages, page_size, kv_heads, value_dim]; dtype of k; strides as k
 *  schedule  in   ruda_paged_schedule of the cache's page_size, at most its pages, at most `queries` queries
 *  out       out  [queries, q_heads, value_dim]; dtype of q; last stride 1, others writable
 *  lse       out  optional [queries, q_heads]; F32; any writable strides; natural logarithm
 *
 *  head_dim and value_dim are 1..1024, q_heads is a multiple of kv_heads. Rows at and past the schedule's
 *  query count are neither read nor written, so one plan serves every step. Cache slots past a history's
 *  length are never read; keys and values inside it must be finite: others spoil the rows that see them, and
 *  may make rows NaN that a mask hides them from. Scores and sums are F32; a score beyond it gives NaN. */
typedef struct ruda_paged_attention_desc {
  uint32_t struct_size, causal; /* causal: 0 or 1 */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *q, *k, *v;
  const ruda_tensor_desc* out; /* NULL = contiguous */
  const ruda_tensor_desc* lse; /* NULL = contiguous; only with RUDA_PAGED_ATTENTION_WANT_LSE */
  double scale;                /* of the scores, finite and above 0 as F32; has no default */
  uint32_t splits;             /* parts of a history that are computed apart and merged in F32: 0 = unsplit,
                                  2..32, or RUDA_SPLITS_AUTO */
  uint32_t outputs;            /* RUDA_PAGED_ATTENTION_WANT_LSE or 0 */
} ruda_paged_attention_desc;
#define RUDA_PAGED_ATTENTION_DESC_INIT \
  { (uint32_t)sizeof(ruda_paged_attention_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/** Makes a plan for paged_attention. Deterministic; capturable. Unsplit or with fixed splits, a row's bits
 *  depend on its query and its history alone, not on the batch, the threads or the other queries; with AUTO
 *  also on the number of queries, on a GPU on the slots of the cache and the GPU's model too. Partials of
 *  fixed splits may take 64 MiB of workspace, above it RUDA_E_BUDGET. Source: Kwon et al., "PagedAttention",
 *  2023; Dao, "FlashAttention-2", 2023.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (scale, causal, splits, outputs), RUDA_E_BUDGET, RUDA_E_UNSUPPORTED. Execute adds RUDA_E_STATE (schedule
 *  never set) and RUDA_E_ARGUMENT (schedule of another geometry). [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_attention_plan_create(ruda_context context,
                                                                const ruda_paged_attention_desc* desc,
                                                                ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor, and *out_lse too unless out_lse is NULL. Rows at and past the
 *  schedule's query count are undefined. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_paged_attention(ruda_stream stream, ruda_paged_schedule schedule,
                                                    ruda_tensor q, ruda_tensor k, ruda_tensor v, double scale,
                                                    uint32_t causal, uint32_t splits, ruda_tensor* out,
                                                    ruda_tensor* out_lse) RUDA_NX;

RUDA_END
#endif
