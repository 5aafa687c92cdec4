/* include/ruda/matmul.h - products of matrices. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_MATMUL_H
#define RUDA_MATMUL_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- matmul ---- */

/** Slots of matmul. */
enum {
  RUDA_MATMUL_A = 0,
  RUDA_MATMUL_B = 1,
  RUDA_MATMUL_BIAS = 2,
  RUDA_MATMUL_C = 3,
  RUDA_MATMUL_A_SCALE = 4,
  RUDA_MATMUL_B_SCALE = 5
};

/** What is applied to an element after the bias, as the rows of the same name of unary (elementwise.h). */
enum {
  RUDA_ACTIVATION_NONE = 0,
  RUDA_ACTIVATION_RELU = 1,      /* max(x, 0); NaN stays */
  RUDA_ACTIVATION_GELU = 2,      /* with the error function */
  RUDA_ACTIVATION_GELU_TANH = 3, /* with the hyperbolic tangent */
  RUDA_ACTIVATION_SILU = 4
};

/** c[.., i, j] = activation(a_scale * b_scale * sum_k a[.., i, k] * b[.., k, j] + bias[j])
 *
 *  a        in   [.., m, k], or [.., k, m] with transpose_a; rank 2..16; F32, F16, BF16, F8E4M3, F8E5M2;
 *                any strides
 *  b        in   [.., k, n], or [.., n, k] with transpose_b (the usual form of weights); rank 2..16; the
 *                dtype of a; F16 or BF16 with an F32 a; either FP8 with an FP8 a; any strides
 *  bias     in   [n], optional; F32, F16 or BF16; contiguous
 *  c        out  [.., m, n]; F32 or the dtype of a; with FP8 operands F32, F16 or BF16 (the default
 *                there); last stride 1, others writable
 *  a_scale  in   [1], optional, F32, FP8 operands only: what an element of a is multiplied by; absent = 1
 *  b_scale  in   [1], likewise of b
 *
 *  The leading extents of a and b are broadcast against each other: aligned at the last, an extent of 1 or a
 *  missing one is repeated. m, n or a leading extent may be 0; with k = 0 the sum is 0.
 *  Products, sums, scales, bias and activation are F32; the result is rounded once to the dtype of c. */
typedef struct ruda_matmul_desc {
  uint32_t struct_size, out_dtype; /* dtype of c where the descriptor c is NULL; 0 = the default */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults; strategies: AUTO, SCALAR, on a GPU TENSOR_CORE */
  const ruda_tensor_desc *a, *b;
  const ruda_tensor_desc* bias; /* NULL = none */
  const ruda_tensor_desc* c;    /* NULL = contiguous */
  ruda_bool transpose_a, transpose_b;
  uint32_t activation, reserved;             /* RUDA_ACTIVATION_*; reserved must be 0 */
  const ruda_tensor_desc *a_scale, *b_scale; /* NULL = none */
} ruda_matmul_desc;
#define RUDA_MATMUL_DESC_INIT \
  { (uint32_t)sizeof(ruda_matmul_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL }

/** Makes a plan for matmul. Error of an element before activation and rounding: at most
 *  (k + 2) * 2^-24 * sum_k |a| |b|, with scales (k + 4) in place of (k + 2). FP8 operands on a GPU's tensor
 *  cores (math not STRICT): 2^-9 * sum_k |a| |b| more; F32 operands with math TF32: as much more. An
 *  activation adds the error of its row in unary. Then one rounding to c.
 *  The bits of an element do not depend on the thread count nor on the other elements of its matrix, but may
 *  on m, n and k, and on a GPU also on strides and the alignment of addresses, on its model and on NVIDIA's
 *  library. On processors with bf16 instructions BF16 products treat subnormal operands, sums and results as
 *  zero. Infinities and NaN travel as in F32 arithmetic. Deterministic; capturable.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (a flag that is neither 0 nor 1, an unknown activation), RUDA_E_UNSUPPORTED. Source: the usual definition;
 *  broadcasting as in NumPy. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul_plan_create(ruda_context context, const ruda_matmul_desc* desc,
                                                       ruda_plan* out) RUDA_NX;

/** Scalars of the eager form. NULL = all defaults. */
typedef struct ruda_matmul_options {
  uint32_t struct_size, out_dtype; /* 0 = the dtype of a, BF16 for FP8 operands */
  ruda_bool transpose_a, transpose_b;
  uint32_t activation, reserved; /* RUDA_ACTIVATION_*; reserved must be 0 */
} ruda_matmul_options;
#define RUDA_MATMUL_OPTIONS_INIT \
  { (uint32_t)sizeof(ruda_matmul_options), 0, 0, 0, 0, 0 }

/** Eager form: *out is a new contiguous tensor. `bias` may be NULL; no scales.
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul(ruda_stream stream, ruda_tensor a, ruda_tensor b, ruda_tensor bias,
                                           const ruda_matmul_options* options, ruda_tensor* out) RUDA_NX;

/* ---- matmul_block ---- */

/** Slots of matmul_block. */
enum {
  RUDA_MATMUL_BLOCK_X = 0,
  RUDA_MATMUL_BLOCK_WEIGHTS = 1,
  RUDA_MATMUL_BLOCK_BIAS = 2,
  RUDA_MATMUL_BLOCK_Y = 3,
  RUDA_MATMUL_BLOCK_GAMMA = 4
};

/** y[.., j] = sum_i x[.., i] * weights[j, i] + bias[j], the weights packed in blocks as a GGUF file has them.
 *
 *  With gamma, x[.., i] is first replaced by x[.., i] / sqrt(mean_l(x[.., l]^2) + eps) * gamma[i], as
 *  rms_norm computes it. With gated = 1, weights has the rows of a gate, then as many of its partner, and
 *  y[.., j] = g / (1 + e^-g) * p with g the product of row j and p that of row n / 2 + j. Both save launches
 *  and passes over memory where one token goes through a layer.
 *
 *  x        in   [.., k], rank 1..16; F32, BF16; rows dense (last stride 1), others any
 *  weights  in   [n, k], contiguous, at any even address; Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 (k a multiple of 32),
 *                Q4_K, Q5_K, Q6_K (k a multiple of 256); read where they lie, never copied
 *  bias     in   [n], optional; F32, BF16; contiguous; none where gated
 *  y        out  [.., n]; F32, BF16; rows dense; [.., n / 2] where gated, n then is even
 *  gamma    in   [k], optional; F32, contiguous; k then is above 0
 *
 *  A weight is the exact value of its format. Sums are F32; the result is rounded once to the dtype of y. n
 *  and the extents before k may be 0. */
typedef struct ruda_matmul_block_desc {
  uint32_t struct_size, out_dtype; /* dtype of y where the descriptor y is NULL; 0 = the dtype of x */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults; math STRICT: no rounding of x or of weights */
  const ruda_tensor_desc *x, *weights;
  const ruda_tensor_desc* bias;  /* NULL = none */
  const ruda_tensor_desc* y;     /* NULL = contiguous */
  const ruda_tensor_desc* gamma; /* NULL = x as it is */
  double eps;                    /* 0 = without gamma; with it finite and above 0 as F32 */
  uint32_t gated;                /* 0, 1 */
  uint32_t reserved;             /* 0 */
} ruda_matmul_block_desc;
#define RUDA_MATMUL_BLOCK_DESC_INIT \
  { (uint32_t)sizeof(ruda_matmul_block_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0 }

/** Makes a plan for matmul_block. Error of an element, before the rounding of y, with u = 2^-24 and
 *  S = sum_i |x| |w|:
 *    math STRICT        (k + 2) u S
 *    up to 4 rows of x  2^-14 sum_b max_b|x| sum_b|w| over the blocks b of 32 elements, plus (k + 2) u T:
 *                       activations become 16-bit integers with one power-of-two scale a block; T sums the
 *                       magnitudes of scale * code * x and minimum * x instead of those of w * x
 *    more rows          (2^-7 + 2^-16) S + (k + 2) u S: both operands are rounded to bf16 (2^-8 S less for a
 *                       bf16 x); subnormal operands and sums count as 0
 *  The last two are allowances: up to 4 rows are rounded on processors with VNNI only, more rows on
 *  processors with BF16 instructions and on GPUs; the rest computes as STRICT. On the CPU the bits of an
 *  element depend on its row of x and of weights alone, on the processor's level, and on whether x has more
 *  than 4 rows, never on the thread count; on a GPU on its row of x and of weights, on n, k, the GPU's model,
 *  whether outer axes have one stride, whether rows of x, weights and gamma lie at multiples of 16 bytes, and
 *  whether x has up to 4, 16, 64, 128 or more rows, the last also on how many, their stride and the version
 *  of NVIDIA's library. A row of x with NaN or Inf is STRICT if among up to 4. Where the scale of a block is
 *  not finite, elements that use it are Inf or NaN. With gamma, x stands for its exact normalised row, a bf16
 *  x counts as F32, and (k / 2 + 6) u S is added. Where gated, with E_g and E_p those bounds of g and p: (1.1
 *  E_g + 8 u |silu(g)|) (|p| + E_p) + |silu(g)| E_p. On a GPU the workspace of more than 16 rows may hold the
 *  weights as bf16. Deterministic; capturable. Source: the block formats of the GGUF project.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (options, eps, gated, bias, reserved), RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul_block_plan_create(ruda_context context,
                                                             const ruda_matmul_block_desc* desc,
                                                             ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor of out_dtype (0 = the dtype of x). `bias` may be NULL.
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_matmul_block(ruda_stream stream, ruda_tensor x, ruda_tensor weights,
                                                 ruda_tensor bias, uint32_t out_dtype,
                                                 ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
