/* include/ruda/elementwise.h - operators that treat each element by itself: copies and conversions, arithmetic, gates. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_ELEMENTWISE_H
#define RUDA_ELEMENTWISE_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- copy ---- */

/** Slots of copy. */
enum { RUDA_COPY_X = 0, RUDA_COPY_Y = 1 };

/** y[i] = convert(x[i]): any strides on both sides, conversions as ruda_tensor_cast says.
 *
 *  x  in   any shape, any strides; any dtype
 *  y  out  shape of x, any writable strides; any dtype but block formats (those only from the same dtype) */
typedef struct ruda_copy_desc {
  uint32_t struct_size, dtype; /* dtype of y when y is NULL; 0 = as x */
  const ruda_ext *next;
  const ruda_plan_options *options; /* NULL = defaults */
  const ruda_tensor_desc *x;
  const ruda_tensor_desc *y; /* NULL = contiguous, of `dtype` */
} ruda_copy_desc;
#define RUDA_COPY_DESC_INIT { (uint32_t)sizeof(ruda_copy_desc), 0, NULL, NULL, NULL, NULL }

/** Makes a plan for copy. Exact where the dtypes allow it, else one rounding to nearest even; deterministic; capturable.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_copy_plan_create(ruda_context context, const ruda_copy_desc *desc,
                                                     ruda_plan *out) RUDA_NX;

RUDA_END
#endif
