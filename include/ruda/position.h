/* include/ruda/position.h - rotary position embedding, its frequency tables, its way into a paged cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_POSITION_H
#define RUDA_POSITION_H

#include "ruda/plan.h"

RUDA_BEGIN

/* ---- rope ---- */

/** Slots of rope. */
enum { RUDA_ROPE_X = 0, RUDA_ROPE_POSITIONS = 1, RUDA_ROPE_FREQUENCIES = 2, RUDA_ROPE_Y = 3 };

/** Which elements of a head form pair i of 0..rotary_dim/2-1. */
enum {
  RUDA_ROPE_HALF = 0,       /* x[i] and x[i + rotary_dim/2]: Llama, Qwen, NeoX */
  RUDA_ROPE_INTERLEAVED = 1 /* x[2i] and x[2i + 1]: GPT-J, DeepSeek, GGUF files of Llama */
};

/** Whether pairs are turned by the angle or back by it. */
enum {
  RUDA_ROPE_FORWARD = 0,
  RUDA_ROPE_INVERSE = 1 /* by the negative angle, times the same attention factor: the gradient of FORWARD */
};

/** How the frequencies f_i = theta^(-2i / rotary_dim) are changed for contexts longer than the trained
 *  one. */
enum {
  RUDA_ROPE_SCALING_NONE = 0,
  RUDA_ROPE_SCALING_LINEAR = 1,  /* f_i / factor */
  RUDA_ROPE_SCALING_DYNAMIC = 2, /* theta * (1 + factor * (s - original) / original)^(r / (r - 2)), r =
                                    rotary_dim, s = max(seq_len, original) */
  RUDA_ROPE_SCALING_YARN = 3,    /* a ramp over i between f_i (fast) and f_i / factor (slow) */
  RUDA_ROPE_SCALING_LLAMA3 = 4,  /* by wavelength: kept, divided by factor, or in between */
  RUDA_ROPE_SCALING_LONGROPE = 5 /* f_i / short_factors[i], or / long_factors[i] when seq_len > original */
};

/** Flags of ruda_rope_params. */
enum { RUDA_ROPE_EXACT_RAMP = 1 /* yarn: the ends of the ramp are not rounded outward to whole pairs */ };

/** What turns by how much. The names follow the keys of rope_parameters in a Hugging Face config.json. A
 *  number that the scaling reads is refused by name where it is not finite or out of its range; those under
 *  "always" whatever the scaling:
 *
 *  rotary_dim             always: even, 0..head_dim, which is at most 65536; dynamic: at least 4
 *  theta                  above 0, yarn: above 1
 *  factor                 linear, dynamic, yarn, llama3: above 0; longrope: 0 or more
 *  attention_factor       always: 0, or above 0 as F32 and not above the largest F32
 *  low_frequency_factor   llama3: 0 or more
 *  high_frequency_factor  llama3: above low_frequency_factor
 *  beta_fast, beta_slow   yarn: above 0, beta_fast not below beta_slow
 *  mscale, mscale_all_dim always: 0 or more
 *  original_positions     dynamic, yarn, llama3, longrope: above 0; longrope: above 1 where the attention
 *                         factor divides by its logarithm: with attention_factor 0 and a factor above 1
 *  seq_len                always: 0 or more
 *  short, long factors    longrope: above 0
 *  flags                  always: no unknown bits
 *
 *  What follows from them is checked as well: a frequency above the largest F32 (a factor near 0 or a small
 *  theta makes one), a theta that dynamic makes infinite and an attention factor out of its range are
 *  refused. */
typedef struct ruda_rope_params {
  uint32_t struct_size, pairing; /* RUDA_ROPE_HALF (default), RUDA_ROPE_INTERLEAVED */
  const ruda_ext* next;
  uint32_t direction, scaling;  /* RUDA_ROPE_FORWARD (default), ...; RUDA_ROPE_SCALING_NONE (default), ... */
  int64_t rotary_dim;           /* leading elements of a head that turn, even; 0 = all */
  double theta;                 /* above 0, no default; not read when the frequencies are a tensor */
  double factor;                /* linear, dynamic, yarn, llama3: above 0, no default; longrope: longest
                                  context over original_positions, 0 = 1 */
  double attention_factor;      /* times cos and sin, above 0 as F32; 0 = by the scaling: yarn 0.1 ln(factor)
                                  + 1 (or by mscale), longrope sqrt(1 + ln(factor) / ln(original_positions)),
                                  else 1 */
  double low_frequency_factor;  /* llama3; 0 = 1 */
  double high_frequency_factor; /* llama3; 0 = 4 */
  double beta_fast, beta_slow;  /* yarn: turns over the trained context at the ends of the ramp; 0 = 32, 1 */
  double mscale;              /* yarn, when this and the next are above 0: (0.1 mscale ln(factor) + 1) over */
  double mscale_all_dim;      /* the same of mscale_all_dim is the attention factor */
  int64_t original_positions; /* trained context of dynamic, yarn, llama3, longrope; above 0, no default */
  int64_t seq_len;            /* dynamic, longrope: the length that the table is made for; 0 = original */
  const double* short_factors;  /* longrope: factor_count values above 0 */
  const double* long_factors;   /* longrope: as short_factors; NULL = the short ones */
  uint32_t factor_count, flags; /* rotary_dim / 2 when factors are given; RUDA_ROPE_EXACT_RAMP */
} ruda_rope_params;
#define RUDA_ROPE_PARAMS_INIT \
  { (uint32_t)sizeof(ruda_rope_params), 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0 }

/** Rotary embedding: with a = positions[t] * f_i, c = factor * cos(a), s = factor * sin(a) and (u, v)
 *  pair i of a head,
 *    (u, v) -> (u c - v s, u s + v c)          RUDA_ROPE_FORWARD
 *    (u, v) -> (u c + v s, v c - u s)          RUDA_ROPE_INVERSE
 *  Elements past rotary_dim are copied.
 *
 *  x            in   [tokens, heads, head_dim], any extent may be 0, head_dim at most 65536; F32, F16, BF16;
 *                    last stride 1, others any
 *  positions    in   [tokens], contiguous; I32, I64; any sign
 *  frequencies  in   optional [rotary_dim / 2], contiguous; F32; used instead of theta and scaling
 *  y            out  as x; may be the very tensor bound to X
 *
 *  The angle is a product in F64, reduced there; cos, sin and the rotation are F32; the result is rounded
 *  once. The tables are made with the plan: dynamic and longrope use params->seq_len, so a plan serves
 *  one length class. A frequency tensor is data and not checked: a number that is not finite makes NaN. */
typedef struct ruda_rope_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *x, *positions;
  const ruda_tensor_desc* frequencies; /* NULL = from params */
  const ruda_tensor_desc* y;           /* NULL = contiguous, as x */
  const ruda_rope_params* params;
} ruda_rope_desc;
#define RUDA_ROPE_DESC_INIT \
  { (uint32_t)sizeof(ruda_rope_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for rope. Deterministic; capturable; a token's result depends on that token alone. Error
 *  of an element before rounding: at most (|u| + |v|) * factor * (2^-22 + |position| * f_i * 2^-51).
 *  Source: Su et al., "RoFormer", 2021; scaling kinds as in Hugging Face transformers, whose tables are
 *  F32 where these are F64. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE,
 *  RUDA_E_DTYPE, RUDA_E_ARGUMENT (a value of params), RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rope_plan_create(ruda_context context, const ruda_rope_desc* desc,
                                                     ruda_plan* out) RUDA_NX;

/** Eager form: *out is a new contiguous tensor. `frequencies` may be NULL. params may not carry factor
 *  arrays: give the numbers of ruda_rope_frequencies as a tensor. Status: as the plan form and
 *  ruda_plan_execute. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rope(ruda_stream stream, ruda_tensor x, ruda_tensor positions,
                                         ruda_tensor frequencies, const ruda_rope_params* params,
                                         ruda_tensor* out) RUDA_NX;

/** The frequencies f_i after scaling, `count` = params->rotary_dim / 2 of them (rotary_dim 0 = 2 * count), at
 *  most 32768, and the attention factor. Checks params as a plan of rope without a tensor of frequencies
 *  does, also with count 0. Either out may be NULL; `frequencies` NULL gives the factor alone and checks as a
 *  plan with a tensor does, which does not read what makes frequencies. Both may be NULL with count 0.
 *  Status: RUDA_E_NULL, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE (count differs, a bound), RUDA_E_ARGUMENT. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rope_frequencies(const ruda_rope_params* params, double* frequencies,
                                                     int64_t count, double* out_factor) RUDA_NX;

/* ---- rope_append ---- */

/** Slots of rope_append. */
enum {
  RUDA_ROPE_APPEND_Q = 0,
  RUDA_ROPE_APPEND_K = 1,
  RUDA_ROPE_APPEND_V = 2,
  RUDA_ROPE_APPEND_SCHEDULE = 3,
  RUDA_ROPE_APPEND_FREQUENCIES = 4,
  RUDA_ROPE_APPEND_Y = 5,
  RUDA_ROPE_APPEND_K_CACHE = 6,
  RUDA_ROPE_APPEND_V_CACHE = 7
};

/** What stands between the projections of a layer and its attention: rope of q and k at the positions of a
 *  paged schedule, and paged_append of the turned k and of v, in one pass. Row i is query i of the schedule:
 *    y[i] = rope(q[i], positions[i])
 *    k_cache[page, positions[i] % page_size] = rope(k[i], positions[i]),   v_cache[same] = v[i]
 *  with page = tables[sequence_ids[i]][positions[i] / page_size].
 *
 *  q            in     [rows, q_heads, head_dim]; F32, F16, BF16; last stride 1, others any
 *  k            in     [rows, kv_heads, head_dim]; dtype of q; strides as q; stays as it is
 *  v            in     [rows, kv_heads, value_dim]; dtype of q; strides as q
 *  schedule     in     ruda_paged_schedule of the caches' page_size, at most their pages, at most `rows`
 *                      queries
 *  frequencies  in     optional [rotary_dim / 2], contiguous; F32; used instead of theta and scaling
 *  y            out    as q; may be the very tensor bound to Q
 *  k_cache      inout  [pages, page_size, kv_heads, head_dim]; F32, F16, BF16; last stride 1, others writable
 *  v_cache      inout  [pages, page_size, kv_heads, value_dim]; dtype of k_cache; strides as k_cache
 *
 *  The turned k is rounded to the dtype of k, then to that of the cache, as the two operators do. Rows at and
 *  past the schedule's query count are neither used nor written. head_dim is at most 65536 and
 *  params->rotary_dim may be less. */
typedef struct ruda_rope_append_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *q, *k, *v;
  const ruda_tensor_desc* frequencies; /* NULL = from params */
  const ruda_tensor_desc* y;           /* NULL = contiguous, as q */
  const ruda_tensor_desc *k_cache, *v_cache;
  const ruda_rope_params* params;
} ruda_rope_append_desc;
#define RUDA_ROPE_APPEND_DESC_INIT \
  { (uint32_t)sizeof(ruda_rope_append_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Makes a plan for rope_append, which has no eager form: eager callers have ruda_rope and ruda_paged_append.
 *  Deterministic; capturable; a row's result depends on that row alone; errors as of rope. Execute fails and
 *  writes nothing with RUDA_E_STATE when the schedule was never set, with RUDA_E_ARGUMENT where paged_append
 *  does, and with RUDA_E_OVERLAP where both caches are one tensor. Source: as rope; Kwon et al.,
 *  "PagedAttention", 2023.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (a value of params), RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rope_append_plan_create(ruda_context context,
                                                            const ruda_rope_append_desc* desc,
                                                            ruda_plan* out) RUDA_NX;

/* ---- rope_attention ---- */

/** Slots of rope_attention. */
enum {
  RUDA_ROPE_ATTENTION_Q = 0,
  RUDA_ROPE_ATTENTION_K = 1,
  RUDA_ROPE_ATTENTION_V = 2,
  RUDA_ROPE_ATTENTION_SCHEDULE = 3,
  RUDA_ROPE_ATTENTION_FREQUENCIES = 4,
  RUDA_ROPE_ATTENTION_OUT = 5,
  RUDA_ROPE_ATTENTION_K_CACHE = 6,
  RUDA_ROPE_ATTENTION_V_CACHE = 7
};

/** One new token of each sequence from its projections to the result of attention, in one pass: rope_append,
 *  then causal paged_attention over the caches. Row i is query i of the schedule, at p = positions[i]:
 *    k_cache[page, p % page_size] = rope(k[i], p),   v_cache[same] = v[i]
 *    out[i] = attention of rope(q[i], p) over keys 0..p of its sequence, the new one among them
 *
 *  q            in     [rows, q_heads, head_dim]; F32, F16, BF16; last stride 1, others any
 *  k            in     [rows, kv_heads, head_dim]; dtype of q; strides as q
 *  v            in     [rows, kv_heads, value_dim]; dtype of q; strides as q
 *  schedule     in     ruda_paged_schedule of the caches' page_size, at most their pages, at most `rows`
 *                      queries, one a sequence, sequence_ids ascending (as advance leaves them)
 *  frequencies  in     optional [rotary_dim / 2], contiguous; F32; used instead of theta and scaling
 *  out          out    [rows, q_heads, value_dim]; dtype of q; last stride 1, others writable
 *  k_cache      inout  [pages, page_size, kv_heads, head_dim]; F32, F16, BF16; last stride 1, others writable
 *  v_cache      inout  [pages, page_size, kv_heads, value_dim]; dtype of k_cache; strides as k_cache
 *
 *  head_dim and value_dim are 1..1024, q_heads is a multiple of kv_heads. Roundings are those of the three
 *  operators: the turned q and k to their dtype, k and v to that of the cache. Rows at and past the
 *  schedule's query count are neither used nor written. */
typedef struct ruda_rope_attention_desc {
  uint32_t struct_size, reserved;
  const ruda_ext* next;
  const ruda_plan_options* options; /* NULL = defaults */
  const ruda_tensor_desc *q, *k, *v;
  const ruda_tensor_desc* frequencies; /* NULL = from params */
  const ruda_tensor_desc* out;         /* NULL = contiguous */
  const ruda_tensor_desc *k_cache, *v_cache;
  const ruda_rope_params* params;
  double scale; /* of the scores, finite and above 0 as F32; has no default */
} ruda_rope_attention_desc;
#define RUDA_ROPE_ATTENTION_DESC_INIT                                                                    \
  {                                                                                                      \
    (uint32_t)sizeof(ruda_rope_attention_desc), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, 0                                                                                          \
  }

/** Makes a plan for rope_attention, which has no eager form. Deterministic; capturable; a row's bits depend
 *  on its token, its history and the number of rows, on a GPU also on the slots of the cache and the GPU's
 *  model. Where no kernel takes the problem, rope_append and paged_attention do. Execute fails and writes
 *  nothing with RUDA_E_STATE when the schedule was never set, with RUDA_E_ARGUMENT where paged_append does or
 *  a sequence has two queries, and with RUDA_E_OVERLAP where both caches are one tensor. Source: as rope,
 *  paged_append and paged_attention.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_SHAPE, RUDA_E_DTYPE, RUDA_E_ARGUMENT
 *  (scale, a value of params), RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_rope_attention_plan_create(ruda_context context,
                                                               const ruda_rope_attention_desc* desc,
                                                               ruda_plan* out) RUDA_NX;

RUDA_END
#endif
