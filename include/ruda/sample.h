/* include/ruda/sample.h - choosing tokens from logits on the device. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_SAMPLE_H
#define RUDA_SAMPLE_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- sample ---- */

/** Slots of sample. */
enum {
  RUDA_SAMPLE_LOGITS = 0,
  RUDA_SAMPLE_PARAMS = 1,
  RUDA_SAMPLE_RANDOM = 2,
  RUDA_SAMPLE_HISTORY = 3,
  RUDA_SAMPLE_LENGTHS = 4,
  RUDA_SAMPLE_TOKENS = 5
};

/** Columns of params. A value outside its range turns the step off, as 0 does. */
enum {
  RUDA_SAMPLE_TEMPERATURE = 0,        /* above 0; else the most likely token, no draw */
  RUDA_SAMPLE_TOP_K = 1,              /* 1 or more; 1 = the most likely token, no draw */
  RUDA_SAMPLE_TOP_P = 2,              /* above 0, below 1 */
  RUDA_SAMPLE_MIN_P = 3,              /* above 0, below 1 */
  RUDA_SAMPLE_REPETITION_PENALTY = 4, /* finite and normal as F32, above 0, not 1 */
  RUDA_SAMPLE_REPETITION_WINDOW = 5,  /* newest tokens of history that the penalty looks at; 0 = all */
  RUDA_SAMPLE_PARAM_COUNT = 8         /* columns of params; the rest is reserved, 0 */
};

/** Chooses a token for each row of logits by the steps of ruda_sampling (infer.h), with values that lie on
 *  the device, so that a captured graph draws anew at every replay.
 *
 *  logits   in               [rows, vocab], last stride 1, the other any; F32, F16, BF16; NaN and minus
 *                            infinity are never chosen
 *  params   in, optional     [rows, RUDA_SAMPLE_PARAM_COUNT], contiguous; F64; without it: the most likely
 *                            token
 *  random   inout            [rows, 2], contiguous; U64: the seed, and the draws so far, which a draw
 *                            increases by one. Given if and only if params is
 *  history  inout, optional  [rows, capacity], last stride 1, the other writable; I32: tokens so far, oldest
 *                            first. Tokens outside 0..vocab-1 are passed over
 *  lengths  inout            [rows], contiguous; I32: how many tokens of history count; values outside
 *                            0..capacity count as the nearest end. Given if and only if history is
 *  tokens   out              [rows], contiguous; I32; -1 where every logit is NaN or minus infinity
 *
 *  vocab is 1..2^31 - 1; rows may be 0. With `append` the chosen token goes to the end of its row of history
 *  and the length grows by one, if the token is not -1 and the capacity is not reached; else history and
 *  lengths are only read. */
typedef struct ruda_sample_desc {
  uint32_t struct_size, append; /* append: 0 or 1; 1 needs history */
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *logits, *params, *random, *history, *lengths;
  const ruda_tensor_desc* tokens; /* NULL = contiguous */
} ruda_sample_desc;
#define RUDA_SAMPLE_DESC_INIT \
  { (uint32_t)sizeof(ruda_sample_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for sample. Deterministic; capturable; a row's result depends on that row alone. A draw uses
 *  Philox4x32-10 with the row's seed and count of draws. On the CPU the sums of probabilities are F64 in
 *  sorted order, as a session makes them; on a GPU they are integers of 2^-44 of the highest probability, so
 *  the two choose differently only when a draw or a bound meets a sum within some 1e-11.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (append, a slot without
 *  the one that it needs), RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_sample_plan_create(ruda_context context, const ruda_sample_desc* desc,
                                                       ruda_plan* out) RUDA_NX;

/** Eager form: a new tensor of tokens; params, random, history and lengths may be NULL as in the plan form.
 *  Status: as the plan form and ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_sample(ruda_stream stream, ruda_tensor logits, ruda_tensor params,
                                           ruda_tensor random, ruda_tensor history, ruda_tensor lengths,
                                           ruda_bool append, ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
