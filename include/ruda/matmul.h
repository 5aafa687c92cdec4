/* include/ruda/matmul.h - products of matrices. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_MATMUL_H
#define RUDA_MATMUL_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- matmul ---- */

/** Slots of matmul. */
enum { RUDA_MATMUL_A = 0, RUDA_MATMUL_B = 1, RUDA_MATMUL_BIAS = 2, RUDA_MATMUL_C = 3 };

/** c[.., i, j] = sum_k a[.., i, k] * b[.., k, j] + bias[j]
 *
 *  a     in   [.., m, k], or [.., k, m] with transpose_a; rank 2..16; F32, F16, BF16; any strides
 *  b     in   [.., k, n], or [.., n, k] with transpose_b (the usual form of weights); rank 2..16; the dtype of
 *             a, or F16 or BF16 with an F32 a; any strides
 *  bias  in   [n], optional; F32, F16 or BF16; contiguous
 *  c     out  [.., m, n]; F32 or the dtype of a; last stride 1, other strides free
 *
 *  The leading extents of a and b are broadcast against each other: aligned at the last, an extent of 1 or a
 *  missing one is repeated. m, n or a leading extent may be 0; with k = 0 the sum is 0 and c is the bias.
 *  Products and sums are F32; the result is rounded once to the dtype of c. */
typedef struct ruda_matmul_desc {
  uint32_t struct_size, out_dtype; /* dtype of c where the descriptor c is NULL; 0 = the dtype of a */
  const ruda_ext *next;
  const ruda_plan_options *options; /* NULL = defaults; strategies on the CPU: AUTO, SCALAR */
  const ruda_tensor_desc *a, *b;
  const ruda_tensor_desc *bias; /* NULL = none */
  const ruda_tensor_desc *c;    /* NULL = contiguous */
  ruda_bool transpose_a, transpose_b;
} ruda_matmul_desc;
#define RUDA_MATMUL_DESC_INIT { (uint32_t)sizeof(ruda_matmul_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Makes a plan for matmul. Error of an element: at most (k + 2) * 2^-24 * sum_k |a| |b|, plus the rounding of
 *  c. The bits of an element do not depend on the thread count nor on the other elements of its matrix, but may
 *  on m. On processors with bf16 instructions BF16 products treat subnormal operands, sums and results as zero.
 *  Infinities and NaN travel as in F32 arithmetic. Deterministic; capturable.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT (a
 *  flag that is neither 0 nor 1), RUDA_E_UNSUPPORTED. Source: the usual definition; broadcasting as in NumPy. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul_plan_create(ruda_context context, const ruda_matmul_desc *desc,
                                                       ruda_plan *out) RUDA_NX;

/** Scalars of the eager form. NULL = all defaults. */
typedef struct ruda_matmul_options {
  uint32_t struct_size, out_dtype; /* 0 = the dtype of a */
  ruda_bool transpose_a, transpose_b;
} ruda_matmul_options;
#define RUDA_MATMUL_OPTIONS_INIT { (uint32_t)sizeof(ruda_matmul_options), 0, 0, 0 }

/** Eager form: *out is a new contiguous tensor. `bias` may be NULL.
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul(ruda_stream stream, ruda_tensor a, ruda_tensor b, ruda_tensor bias,
                                           const ruda_matmul_options *options, ruda_tensor *out) RUDA_NX;

RUDA_END
#endif
