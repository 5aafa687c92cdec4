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

/* ---- silu_mul ---- */

/** Slots of silu_mul. */
enum { RUDA_SILU_MUL_GATE = 0, RUDA_SILU_MUL_UP = 1, RUDA_SILU_MUL_Y = 2 };

/** y[i] = round(round(silu(gate[i])) * up[i]), silu(x) = x / (1 + e^-x): the gate of a SwiGLU block.
 *
 *  gate  in   any shape, any strides; F32, F16, BF16
 *  up    in   shape and dtype of gate, any strides; gate and up may be two halves of one [rows, 2 * width] tensor
 *  y     out  as gate, any writable strides; may be the very tensor bound to GATE or to UP
 *
 *  silu is computed in F32 and rounded to the dtype, then multiplied by up in F32 and rounded again. */
typedef struct ruda_silu_mul_desc {
  uint32_t struct_size, reserved;
  const ruda_ext *next;
  const ruda_plan_options *options; /* NULL = defaults */
  const ruda_tensor_desc *gate, *up;
  const ruda_tensor_desc *y; /* NULL = contiguous, as gate */
} ruda_silu_mul_desc;
#define RUDA_SILU_MUL_DESC_INIT { (uint32_t)sizeof(ruda_silu_mul_desc), 0, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for silu_mul. silu is within 4 units in the last place of F32 before its rounding to the dtype;
 *  silu(-inf) is NaN, as x * sigmoid(x) is. Deterministic; capturable; an element depends on its two inputs only.
 *  Source: Shazeer, "GLU Variants Improve Transformer", 2020; rounding as PyTorch's separate silu and mul round.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (options), RUDA_E_SHAPE, RUDA_E_DTYPE,
 *  RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_silu_mul_plan_create(ruda_context context, const ruda_silu_mul_desc *desc,
                                                         ruda_plan *out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_silu_mul(ruda_stream stream, ruda_tensor gate, ruda_tensor up,
                                             ruda_tensor *out) RUDA_NX;

RUDA_END
#endif
