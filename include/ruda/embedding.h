/* include/ruda/embedding.h - rows of a table chosen by ids. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_EMBEDDING_H
#define RUDA_EMBEDDING_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- embedding ---- */

/** Slots of embedding. */
enum { RUDA_EMBEDDING_TABLE = 0, RUDA_EMBEDDING_IDS = 1, RUDA_EMBEDDING_Y = 2 };

/** y[.., i] = table[ids[..], i]
 *
 *  table  in   [rows, cols]; F32, F16, BF16 with dense rows (last stride 1), or Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
 *              Q4_K, Q5_K, Q6_K, contiguous, at any address, read where it lies
 *  ids    in   [..], rank 0..15, each 0 <= id < rows; I32, I64, U32; any strides
 *  y      out  [.., cols]; F32, F16, BF16; last stride 1, others writable
 *
 *  A value is rounded once to the dtype of y; those of block formats are rounded to F32 before, in which they
 *  are defined. */
typedef struct ruda_embedding_desc {
  uint32_t struct_size, out_dtype; /* dtype of y where y is NULL; 0 = that of a plain table, F32 for blocks */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *table, *ids;
  const ruda_tensor_desc* y; /* NULL = contiguous */
} ruda_embedding_desc;
#define RUDA_EMBEDDING_DESC_INIT \
  { (uint32_t)sizeof(ruda_embedding_desc), 0, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for embedding. On the CPU an id outside its range is RUDA_E_INDEX from ruda_plan_execute,
 *  which names its position and value, before anything is written; on a GPU the next ruda_stream_sync or
 *  ruda_tensor_read of the stream reports it, by value (of several one), and its row is left unwritten.
 *  Deterministic; capturable; the same result on every device. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT (options), RUDA_E_UNSUPPORTED. Source:
 *  torch.nn.functional.embedding; the block formats of the GGUF project. [T] */
RUDA_API ruda_status RUDA_CALL ruda_embedding_plan_create(ruda_context context,
                                                          const ruda_embedding_desc* desc,
                                                          ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor of out_dtype (0 as in the descriptor).
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_embedding(ruda_stream stream, ruda_tensor table, ruda_tensor ids,
                                              uint32_t out_dtype, ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
