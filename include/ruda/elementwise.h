/* include/ruda/elementwise.h - operators on single elements: copies, arithmetic, functions, gates. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_ELEMENTWISE_H
#define RUDA_ELEMENTWISE_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- copy ---- */

/** Slots of copy. */
enum { RUDA_COPY_X = 0, RUDA_COPY_Y = 1 };

/** y[i] = convert(x[i]): conversions as ruda_tensor_cast says.
 *
 *  x  in   any shape, any strides; any dtype
 *  y  out  shape of x, any writable strides; any dtype but block formats (those only from the same dtype) */
typedef struct ruda_copy_desc {
  uint32_t struct_size, dtype; /* dtype of y when y is NULL; 0 = as x */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc* y; /* NULL = contiguous, of `dtype` */
  uint32_t overflow;         /* RUDA_OVERFLOW_*, where y is F8E4M3 or F8E5M2; 0 = RUDA_OVERFLOW_DEFAULT */
  uint32_t reserved;
} ruda_copy_desc;
#define RUDA_COPY_DESC_INIT \
  { (uint32_t)sizeof(ruda_copy_desc), 0, NULL, NULL, NULL, NULL, 0, 0 }

/** Makes a plan for copy. Exact where the dtypes allow it, else one rounding to nearest even; deterministic;
 *  capturable.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (options, overflow),
 *  RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_copy_plan_create(ruda_context context, const ruda_copy_desc* desc,
                                                     ruda_plan* out) RUDA_NX;

/* ---- silu_mul ---- */

/** Slots of silu_mul. */
enum { RUDA_SILU_MUL_GATE = 0, RUDA_SILU_MUL_UP = 1, RUDA_SILU_MUL_Y = 2 };

/** y[i] = round(round(silu(gate[i])) * up[i]), silu(x) = x / (1 + e^-x): the gate of a SwiGLU block.
 *
 *  gate  in   any shape, any strides; F32, F16, BF16
 *  up    in   shape and dtype of gate, any strides; gate and up may be two halves of one [rows, 2 *
 *             width] tensor
 *  y     out  as gate, any writable strides; may be the very tensor bound to GATE or to UP
 *
 *  silu is computed in F32 and rounded to the dtype, then multiplied by up in F32 and rounded again. */
typedef struct ruda_silu_mul_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *gate, *up;
  const ruda_tensor_desc* y; /* NULL = contiguous, as gate */
} ruda_silu_mul_desc;
#define RUDA_SILU_MUL_DESC_INIT \
  { (uint32_t)sizeof(ruda_silu_mul_desc), 0, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for silu_mul. silu is within 4 units in the last place of F32, or 1.5e-45, before its
 *  rounding to the dtype; silu(-inf) is NaN, as x * sigmoid(x) is. Deterministic; capturable; an
 *  element depends on its two inputs only. Source: Shazeer, "GLU Variants Improve Transformer", 2020;
 *  rounding as PyTorch's separate silu and mul round.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (options), RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_silu_mul_plan_create(ruda_context context, const ruda_silu_mul_desc* desc,
                                                         ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_silu_mul(ruda_stream stream, ruda_tensor gate, ruda_tensor up,
                                             ruda_tensor* out) RUDA_NX;

/* ---- binary ---- */

/** Slots of binary. SCALAR is bound instead of B when the plan was made without b. */
enum { RUDA_BINARY_A = 0, RUDA_BINARY_B = 1, RUDA_BINARY_Y = 2, RUDA_BINARY_SCALAR = 3 };

/** Functions of binary. ADD to MUL and REMAINDER to FLOOR_DIV take floats and integers; DIV, POW, ATAN2
 *  floats; MINIMUM, MAXIMUM and the comparisons also BOOL; AND, OR, XOR integers and BOOL; shifts
 *  integers. */
enum {
  RUDA_BINARY_ADD = 1,            /* a + b; integers wrap */
  RUDA_BINARY_SUB = 2,            /* a - b; integers wrap */
  RUDA_BINARY_MUL = 3,            /* a * b; integers wrap */
  RUDA_BINARY_DIV = 4,            /* a / b */
  RUDA_BINARY_MINIMUM = 5,        /* the smaller; NaN where either is NaN */
  RUDA_BINARY_MAXIMUM = 6,        /* the larger; NaN where either is NaN */
  RUDA_BINARY_POW = 7,            /* a to the power b, as C pow */
  RUDA_BINARY_REMAINDER = 8,      /* a - floor(a / b) * b, with the sign of b; integer b = 0 gives 0 */
  RUDA_BINARY_FMOD = 9,           /* a - trunc(a / b) * b, with the sign of a; integer b = 0 gives 0 */
  RUDA_BINARY_FLOOR_DIV = 10,     /* floor(a / b) of the exact quotient; integer b = 0 gives 0 */
  RUDA_BINARY_ATAN2 = 11,         /* angle of the point (b, a), in radians */
  RUDA_BINARY_EQUAL = 12,         /* a == b; false for NaN */
  RUDA_BINARY_NOT_EQUAL = 13,     /* a != b; true for NaN */
  RUDA_BINARY_LESS = 14,          /* a < b; false for NaN */
  RUDA_BINARY_LESS_EQUAL = 15,    /* a <= b; false for NaN */
  RUDA_BINARY_GREATER = 16,       /* a > b; false for NaN */
  RUDA_BINARY_GREATER_EQUAL = 17, /* a >= b; false for NaN */
  RUDA_BINARY_AND = 18,           /* a & b, bit by bit */
  RUDA_BINARY_OR = 19,            /* a | b, bit by bit */
  RUDA_BINARY_XOR = 20,           /* a ^ b, bit by bit */
  RUDA_BINARY_SHIFT_LEFT = 21,    /* a << b; 0 where b is negative or not below the width */
  RUDA_BINARY_SHIFT_RIGHT = 22    /* a >> b, filled with the sign; all sign where b is as above */
};

/** y[i] = f(a[i], b[i]), shapes broadcast as NumPy does: axes align at the last, an extent of 1 is repeated.
 *
 *  a, b    in   any strides; one dtype: F64, F32, F16, BF16, I8..U64 or BOOL, as the function takes
 *  y       out  the broadcast shape, any writable strides; BOOL for comparisons, else dtype of a; may be
 *               the very tensor bound to A or to B
 *  scalar       F64 binding, only when b is NULL: the second operand, converted to the dtype of a as
 *               ruda_tensor_fill does
 *
 *  F16 and BF16 are computed in F32 and rounded once. */
typedef struct ruda_binary_desc {
  uint32_t struct_size, op; /* RUDA_BINARY_*; has no default */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* a;
  const ruda_tensor_desc* b; /* NULL = a scalar bound at each call */
  const ruda_tensor_desc* y; /* NULL = contiguous */
} ruda_binary_desc;
#define RUDA_BINARY_DESC_INIT \
  { (uint32_t)sizeof(ruda_binary_desc), 0, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for binary. Deterministic; capturable; error bounds stand on the operator's page. Integers
 *  wrap, and a division by integer zero gives 0. Source: NumPy's broadcasting; NaN rules of PyTorch.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (op), RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_binary_plan_create(ruda_context context, const ruda_binary_desc* desc,
                                                       ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_binary(ruda_stream stream, ruda_tensor a, ruda_tensor b, uint32_t op,
                                           ruda_tensor* out) RUDA_NX;

/** Eager form with a number as the second operand. Status: as ruda_binary. [T] */
RUDA_API ruda_status RUDA_CALL ruda_binary_scalar(ruda_stream stream, ruda_tensor a, double b, uint32_t op,
                                                  ruda_tensor* out) RUDA_NX;

/* ---- unary ---- */

/** Slots of unary. */
enum { RUDA_UNARY_X = 0, RUDA_UNARY_Y = 1 };

/** Functions of unary. NEG to RELU take floats and integers, NOT integers and BOOL, the others floats. */
enum {
  RUDA_UNARY_NEG = 1,        /* -x; integers wrap */
  RUDA_UNARY_ABS = 2,        /* |x|; the lowest integer stays */
  RUDA_UNARY_SIGN = 3,       /* -1, 0 or 1; NaN stays */
  RUDA_UNARY_SQUARE = 4,     /* x * x; integers wrap */
  RUDA_UNARY_RELU = 5,       /* x above 0, else 0; NaN stays */
  RUDA_UNARY_NOT = 6,        /* ~x bit by bit; of BOOL the other value */
  RUDA_UNARY_RECIPROCAL = 7, /* 1 / x */
  RUDA_UNARY_SQRT = 8,       /* square root; NaN below 0 */
  RUDA_UNARY_RSQRT = 9,      /* 1 / sqrt(x) */
  RUDA_UNARY_EXP = 10,       /* e^x */
  RUDA_UNARY_EXP2 = 11,      /* 2^x */
  RUDA_UNARY_EXPM1 = 12,     /* e^x - 1 */
  RUDA_UNARY_LOG = 13,       /* natural logarithm */
  RUDA_UNARY_LOG2 = 14,      /* logarithm to base 2 */
  RUDA_UNARY_LOG10 = 15,     /* logarithm to base 10 */
  RUDA_UNARY_LOG1P = 16,     /* log(1 + x) */
  RUDA_UNARY_SIN = 17,       /* sine of radians; NaN for infinities */
  RUDA_UNARY_COS = 18,       /* cosine of radians; NaN for infinities */
  RUDA_UNARY_TAN = 19,       /* tangent of radians; NaN for infinities */
  RUDA_UNARY_ASIN = 20,      /* inverse sine; NaN outside -1..1 */
  RUDA_UNARY_ACOS = 21,      /* inverse cosine; NaN outside -1..1 */
  RUDA_UNARY_ATAN = 22,      /* inverse tangent */
  RUDA_UNARY_SINH = 23,      /* (e^x - e^-x) / 2 */
  RUDA_UNARY_COSH = 24,      /* (e^x + e^-x) / 2 */
  RUDA_UNARY_TANH = 25,      /* (e^x - e^-x) / (e^x + e^-x) */
  RUDA_UNARY_ASINH = 26,     /* log(x + sqrt(x^2 + 1)) */
  RUDA_UNARY_ACOSH = 27,     /* log(x + sqrt(x^2 - 1)); NaN below 1 */
  RUDA_UNARY_ATANH = 28,     /* log((1 + x) / (1 - x)) / 2; NaN outside -1..1 */
  RUDA_UNARY_SIGMOID = 29,   /* 1 / (1 + e^-x) */
  RUDA_UNARY_SILU = 30,      /* x / (1 + e^-x); NaN for -inf */
  RUDA_UNARY_GELU = 31,      /* x / 2 * (1 + erf(x / sqrt 2)); NaN for -inf */
  RUDA_UNARY_GELU_TANH = 32, /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))); NaN for -inf */
  RUDA_UNARY_SOFTPLUS = 33,  /* log(1 + e^x) */
  RUDA_UNARY_ERF = 34,       /* 2 / sqrt(pi) * the integral of e^(-t^2) over 0..x */
  RUDA_UNARY_FLOOR = 35,     /* largest whole number not above x */
  RUDA_UNARY_CEIL = 36,      /* smallest whole number not below x */
  RUDA_UNARY_ROUND = 37,     /* nearest whole number, halves to even */
  RUDA_UNARY_TRUNC = 38,     /* whole part of x */
  RUDA_UNARY_IS_NAN = 39,    /* x is NaN */
  RUDA_UNARY_IS_INF = 40,    /* x is infinite */
  RUDA_UNARY_IS_FINITE = 41  /* x is neither NaN nor infinite */
};

/** y[i] = f(x[i]).
 *
 *  x  in   any shape, any strides; F64, F32, F16, BF16, I8..U64 or BOOL, as the function takes
 *  y  out  shape of x, any writable strides; BOOL for the IS_ functions, else dtype of x; may be the very
 *          tensor bound to X
 *
 *  F16 and BF16 are computed in F32 and rounded once. */
typedef struct ruda_unary_desc {
  uint32_t struct_size, op; /* RUDA_UNARY_*; has no default */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc* y; /* NULL = contiguous */
} ruda_unary_desc;
#define RUDA_UNARY_DESC_INIT \
  { (uint32_t)sizeof(ruda_unary_desc), 0, NULL, NULL, NULL, NULL }

/** Makes a plan for unary. Deterministic; capturable; error bounds stand on the operator's page. NaN gives
 *  NaN. Source: the definitions of the functions; edge values as in PyTorch, but for sign of NaN.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (op), RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_unary_plan_create(ruda_context context, const ruda_unary_desc* desc,
                                                      ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_unary(ruda_stream stream, ruda_tensor x, uint32_t op,
                                          ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
