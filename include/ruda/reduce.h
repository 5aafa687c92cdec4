/* include/ruda/reduce.h - reductions over axes: sums, extremes and their places. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_REDUCE_H
#define RUDA_REDUCE_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- reduce ---- */

/** Slots of reduce. */
enum { RUDA_REDUCE_X = 0, RUDA_REDUCE_Y = 1 };

/** Functions of reduce. MEAN takes floats; ANY and ALL also BOOL; the others floats and integers. */
enum {
  RUDA_REDUCE_SUM = 1,     /* sum; integers wrap */
  RUDA_REDUCE_MEAN = 2,    /* sum / count */
  RUDA_REDUCE_PROD = 3,    /* product; integers wrap */
  RUDA_REDUCE_MAX = 4,     /* largest; NaN where there is one */
  RUDA_REDUCE_MIN = 5,     /* smallest; NaN where there is one */
  RUDA_REDUCE_MAX_ABS = 6, /* largest |x|; NaN where there is one; of the lowest integer wraps */
  RUDA_REDUCE_ARGMAX = 7,  /* index of the first largest; the first NaN counts as largest */
  RUDA_REDUCE_ARGMIN = 8,  /* index of the first smallest; the first NaN counts as smallest */
  RUDA_REDUCE_ANY = 9,     /* 1 where some element is not 0 */
  RUDA_REDUCE_ALL = 10     /* 1 where no element is 0 */
};

/** y = f over the elements of x along the reduced axes.
 *
 *  x  in   any shape, any strides; F64, F32, F16, BF16, I8..U64 or BOOL, as the function takes
 *  y  out  shape of x without the reduced axes, or with extent 1 there (keepdims); any writable strides.
 *          ARGMAX, ARGMIN: I64 or I32; ANY, ALL: BOOL; else dtype of x, in which integers wrap; SUM and PROD
 *          of integers also I64, when asked for
 *
 *  Sums of F32, F16 and BF16 are made in F32 or wider and rounded once. With several reduced axes an index
 *  counts them in row-major order. Over no elements SUM is 0, PROD 1, MEAN NaN, ANY 0, ALL 1; the others are
 *  RUDA_E_SHAPE. */
typedef struct ruda_reduce_desc {
  uint32_t struct_size, op; /* RUDA_REDUCE_*; has no default */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc* y; /* NULL = contiguous */
  uint32_t axes;             /* bit i set = axis i is reduced; 0 = all axes */
  uint32_t keepdims;         /* 0 or 1 */
  uint32_t dtype;            /* of y when y is NULL; 0 = I64 for indices, else as x */
  uint32_t reserved;
} ruda_reduce_desc;
#define RUDA_REDUCE_DESC_INIT \
  { (uint32_t)sizeof(ruda_reduce_desc), 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0 }

/** Makes a plan for reduce. Deterministic: the order of a sum depends on shapes, strides and the level of the
 *  processor, on a GPU on its model and on whether x lies at a multiple of 16 bytes; capturable. Source: the
 *  definitions; ties and NaN as in PyTorch.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (op, axes, keepdims),
 *  RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_reduce_plan_create(ruda_context context, const ruda_reduce_desc* desc,
                                                       ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor of the default dtype. `axes` and `keepdims` as in the
 *  descriptor.
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_reduce(ruda_stream stream, ruda_tensor x, uint32_t op, uint32_t axes,
                                           ruda_bool keepdims, ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
