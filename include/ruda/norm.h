/* include/ruda/norm.h - normalisations along the last axis. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_NORM_H
#define RUDA_NORM_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- rms_norm ---- */

/** Slots of rms_norm. */
enum { RUDA_RMS_NORM_X = 0, RUDA_RMS_NORM_GAMMA = 1, RUDA_RMS_NORM_Y = 2 };

/** y[.., i] = x[.., i] / sqrt(mean_j(x[.., j]^2) + eps) * gamma[i], over the last axis.
 *
 *  x      in   [.., cols], rank 1..16, cols > 0; F32, F16, BF16; rows dense (last stride 1), others any
 *  gamma  in   [cols], contiguous; F32
 *  y      out  as x; may be the very tensor bound to X
 *
 *  Statistics and affine part in F32; the result is rounded once to the dtype of x. */
typedef struct ruda_rms_norm_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *x, *gamma;
  const ruda_tensor_desc* y; /* NULL = contiguous, as x */
  double eps;                /* finite and above 0 as F32; has no default */
} ruda_rms_norm_desc;
#define RUDA_RMS_NORM_DESC_INIT \
  { (uint32_t)sizeof(ruda_rms_norm_desc), 0, NULL, NULL, NULL, NULL, NULL, 0 }

/** Makes a plan for rms_norm. Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019; F32
 *  gamma even for 16-bit inputs. Deterministic; capturable; a row's result depends on that row alone. A row
 *  with NaN or with squares that overflow F32 gives NaN or 0 as F32 arithmetic does.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (eps), RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rms_norm_plan_create(ruda_context context, const ruda_rms_norm_desc* desc,
                                                         ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rms_norm(ruda_stream stream, ruda_tensor x, ruda_tensor gamma, double eps,
                                             ruda_tensor* out) RUDA_NX;

/* ---- softmax ---- */

/** Slots of softmax. */
enum { RUDA_SOFTMAX_X = 0, RUDA_SOFTMAX_Y = 1 };

/** y[.., i] = e^x[.., i] / sum_j(e^x[.., j]), over the last axis.
 *
 *  x  in   [.., cols], rank 1..16; F32, F16, BF16; rows dense (last stride 1), others any
 *  y  out  as x; may be the very tensor bound to X
 *
 *  Computed in F32; the result is rounded once to the dtype of x. */
typedef struct ruda_softmax_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc* y; /* NULL = contiguous, as x */
} ruda_softmax_desc;
#define RUDA_SOFTMAX_DESC_INIT \
  { (uint32_t)sizeof(ruda_softmax_desc), 0, NULL, NULL, NULL, NULL }

/** Makes a plan for softmax. The row's maximum is taken off first. A row with NaN or +inf, and a row of -inf
 *  only, gives NaN in all its elements; -inf beside finite elements gives 0. Deterministic; capturable; a
 *  row's result depends on that row alone. Source: the definition; NaN rules of PyTorch.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (options), RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_softmax_plan_create(ruda_context context, const ruda_softmax_desc* desc,
                                                        ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) RUDA_NX;

/* ---- log_softmax ---- */

/** Slots of log_softmax. */
enum { RUDA_LOG_SOFTMAX_X = 0, RUDA_LOG_SOFTMAX_Y = 1 };

/** y[.., i] = x[.., i] - log(sum_j(e^x[.., j])), over the last axis.
 *
 *  x  in   [.., cols], rank 1..16; F32, F16, BF16; rows dense (last stride 1), others any
 *  y  out  as x; may be the very tensor bound to X
 *
 *  Computed in F32; the result is rounded once to the dtype of x. */
typedef struct ruda_log_softmax_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc* x;
  const ruda_tensor_desc* y; /* NULL = contiguous, as x */
} ruda_log_softmax_desc;
#define RUDA_LOG_SOFTMAX_DESC_INIT \
  { (uint32_t)sizeof(ruda_log_softmax_desc), 0, NULL, NULL, NULL, NULL }

/** Makes a plan for log_softmax. The row's maximum is taken off first. A row with NaN or +inf, and a row of
 *  -inf only, gives NaN in all its elements; -inf beside finite elements gives -inf. Deterministic;
 *  capturable; a row's result depends on that row alone. Source: the definition; NaN rules of PyTorch.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (options), RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_log_softmax_plan_create(ruda_context context,
                                                            const ruda_log_softmax_desc* desc,
                                                            ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_log_softmax(ruda_stream stream, ruda_tensor x, ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
