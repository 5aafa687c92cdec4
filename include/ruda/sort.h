/* include/ruda/sort.h - operators that order elements. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_SORT_H
#define RUDA_SORT_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- top_k ---- */

/** Slots of top_k. */
enum { RUDA_TOP_K_X = 0, RUDA_TOP_K_VALUES = 1, RUDA_TOP_K_INDICES = 2 };

/** The k largest (or smallest) elements of each row along the last axis, best first, and their places in the
 *  row. Equal elements come in the order of their places; -0 equals 0; NaN counts as larger than all
 *  numbers.
 *
 *  x        in   [.., cols], rank 1..16, any strides; F32, F16, BF16, I32
 *  values   out  [.., k], dtype of x; last stride 1, others writable
 *  indices  out  [.., k], I64 or I32; last stride 1, others writable */
typedef struct ruda_top_k_desc {
  uint32_t struct_size, smallest; /* 0 = the largest, 1 = the smallest */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc *values, *indices; /* NULL = contiguous */
  int64_t k;                                /* 1..cols; has no default */
  uint32_t index_dtype;                     /* of indices when they are NULL; 0 = I64 */
  uint32_t reserved;
} ruda_top_k_desc;
#define RUDA_TOP_K_DESC_INIT \
  { (uint32_t)sizeof(ruda_top_k_desc), 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/** Makes a plan for top_k. Exact; deterministic; capturable; a row's result depends on that row alone.
 *  Source: order of NaN as in PyTorch; order of ties as in a stable sort, which PyTorch does not promise.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (k, smallest),
 *  RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_top_k_plan_create(ruda_context context, const ruda_top_k_desc* desc,
                                                      ruda_plan* out) RUDA_NX;

/** Eager form: new contiguous tensors, indices I64. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_top_k(ruda_stream stream, ruda_tensor x, int64_t k, ruda_bool smallest,
                                          ruda_tensor* out_values, ruda_tensor* out_indices) RUDA_NX;

RUDA_END
#endif
