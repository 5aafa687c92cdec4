/* include/ruda/infer.h - sessions: a model, its key-value cache and a sampler that generate text. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_INFER_H
#define RUDA_INFER_H

#include "ruda/model.h"

RUDA_BEGIN

/** Why generation stopped. */
enum {
  RUDA_FINISH_NONE = 0,     /* it has not */
  RUDA_FINISH_EOS = 1,      /* the model ended its turn */
  RUDA_FINISH_STOP = 2,     /* a stop sequence appeared */
  RUDA_FINISH_LENGTH = 3,   /* max_new_tokens were generated */
  RUDA_FINISH_CAPACITY = 4, /* the session's token capacity is full */
  RUDA_FINISH_CALLBACK = 5  /* the callback asked to stop */
};

/** How a token is chosen, in this order: repetition penalty (a positive logit of a token seen in the window
 *  is divided by it, any other multiplied), temperature (logits divided), top_k (ties with the k-th stay),
 *  top_p (the most likely tokens until their probability reaches top_p, the one that crosses included), min_p
 *  (tokens below min_p times the highest probability leave), softmax of the rest, one draw by Philox4x32-10
 *  from `seed` and the number of draws so far. Among equal logits the lower token id comes first. NaN logits
 *  are never chosen. */
typedef struct ruda_sampling {
  uint32_t struct_size;
  uint32_t top_k; /* 0 = off */
  const ruda_ext* next;
  double temperature;         /* above 0, finite and normal as F32; 0 = the most likely token, no draw */
  double top_p;               /* (0, 1]; 0 or 1 = off */
  double min_p;               /* [0, 1); 0 = off */
  double repetition_penalty;  /* above 0, finite and normal as F32; 0 or 1 = off */
  uint64_t repetition_window; /* newest tokens that it looks at, prompt included; 0 = all */
  uint64_t seed;
} ruda_sampling;
#define RUDA_SAMPLING_INIT \
  { (uint32_t)sizeof(ruda_sampling), 0, NULL, 0, 0, 0, 0, 0, 0 }

/** What a session is made with. Zero in any field means its default. */
typedef struct ruda_session_desc {
  uint32_t struct_size;
  uint32_t cache_dtype; /* key-value cache: RUDA_F16, RUDA_BF16, RUDA_F32; 0 = RUDA_F16 */
  const ruda_ext* next;
  /* prompt and answer together; 0 = the model's context length, at most 8192. On a GPU attention is split by
     it, so that it may change the last bits of logits */
  uint64_t token_capacity;
  uint32_t batch_tokens; /* prompt tokens computed at once, 1..4096; 0 = 512 */
  uint32_t reserved;
} ruda_session_desc;
#define RUDA_SESSION_DESC_INIT \
  { (uint32_t)sizeof(ruda_session_desc), 0, NULL, 0, 0, 0 }

/** What a session holds and did. Times are wall-clock seconds of the latest prompt and of all tokens
 *  generated since. */
typedef struct ruda_session_info {
  uint32_t struct_size, finish; /* RUDA_FINISH_* of the latest ruda_session_next or ruda_session_generate */
  uint64_t token_count, token_capacity;
  uint64_t prompt_tokens;    /* of the latest prompt, computed anew */
  uint64_t reused_tokens;    /* of the latest prompt, found in the cache */
  uint64_t generated_tokens; /* since the latest prompt */
  double prompt_seconds, generate_seconds;
  uint64_t cache_bytes; /* reserved for keys and values */
} ruda_session_info;
#define RUDA_SESSION_INFO_INIT \
  { (uint32_t)sizeof(ruda_session_info), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Receives text as it is generated: whole UTF-8 characters, `bytes` long, not NUL-terminated; may be empty.
 *  A value other than 0 ends generation with RUDA_FINISH_CALLBACK. Called on the caller's thread. Calls on
 *  the session answer RUDA_E_STATE meanwhile; releasing it or its cancel token is safe. */
typedef int32_t(RUDA_CALL* ruda_text_fn)(void* user, const char* text, uint64_t bytes, int32_t token);

/** Options of ruda_session_generate. Zero in any field means its default. */
typedef struct ruda_generate_options {
  uint32_t struct_size;
  uint32_t stop_count;
  const ruda_ext* next;
  const char* const* stops; /* texts that end generation and are not delivered: valid UTF-8, not empty */
  uint64_t max_new_tokens;  /* 0 = until the capacity is full */
  ruda_text_fn on_text;     /* NULL = text is not delivered */
  void* user;
  ruda_cancel cancel; /* looked at before each token and inside long work */
} ruda_generate_options;
#define RUDA_GENERATE_OPTIONS_INIT \
  { (uint32_t)sizeof(ruda_generate_options), 0, NULL, NULL, 0, NULL, NULL, NULL }

/** Makes a session: one conversation with its own cache, sampler and stream. The model lives as long as the
 *  session. Every call on a session that is inside another call, from a callback or another thread, answers
 *  RUDA_E_STATE.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT, RUDA_E_OOM_HOST,
 *  RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK (the caller's allocator), RUDA_E_UNSUPPORTED,
 *  RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_session_create(ruda_model model, const ruda_session_desc* desc,
                                                   ruda_session* out) RUDA_NX;

/** Sets how tokens are chosen from now on and starts the random sequence anew. NULL = most likely token.
 *  Text repeats only from the same cache state: logits computed with a reused beginning may differ in the
 *  last bits. To repeat an answer call ruda_session_rewind(session, 0) before the prompt.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_set_sampling(ruda_session session,
                                                         const ruda_sampling* sampling) RUDA_NX;

/** Makes the session hold exactly these tokens: what it already holds as a common beginning is kept, the rest
 *  is computed. `progress` (may be NULL) is called after each batch with tokens done and to do. After a
 *  failure or a cancelled call the session holds the tokens finished so far. A kept beginning was computed in
 *  other batches, so logits may differ in the last bits: text repeats only from the same cache state, such as
 *  after ruda_session_rewind(session, 0).
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (no tokens, more than the capacity), RUDA_E_INDEX
 *  (a token outside the vocabulary), RUDA_E_CALLBACK, RUDA_E_CANCELLED, RUDA_E_OOM_HOST, RUDA_E_DEVICE.
 *  [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_prompt(ruda_session session, const int32_t* tokens,
                                                   uint64_t count, ruda_progress_fn progress, void* user,
                                                   ruda_cancel cancel) RUDA_NX;

/** As ruda_session_prompt with text: encoded by the model's tokenizer, special tokens in the text recognised,
 *  the beginning-of-text token put first where the model wants one. `cancel` is looked at from the start:
 *  while the text is encoded, too. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_prompt_text(ruda_session session, const char* text,
                                                        uint64_t bytes, ruda_progress_fn progress, void* user,
                                                        ruda_cancel cancel) RUDA_NX;

/** As ruda_session_prompt with a conversation of at least one message: rendered by the model's chat template
 *  as ruda_chat_render does (`options` may be NULL) and encoded without an extra beginning-of-text token.
 *  `cancel` is looked at from the start: while text is rendered and encoded, too.
 *  Status: as ruda_chat_render and ruda_session_prompt, RUDA_E_ARGUMENT (no message). [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_prompt_chat(ruda_session session,
                                                        const ruda_chat_message* messages, uint64_t count,
                                                        const ruda_chat_options* options,
                                                        ruda_progress_fn progress, void* user,
                                                        ruda_cancel cancel) RUDA_NX;

/** Chooses the next token, adds it to the session and stores it. At the end of the turn it returns
 *  RUDA_END_OF_DATA with the ending token, which is added like any other; with the capacity full
 *  RUDA_END_OF_DATA with -1, and nothing is added.
 *  Status: RUDA_END_OF_DATA, RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STATE (no prompt yet), RUDA_E_ARGUMENT
 *  (all logits are NaN), RUDA_E_OOM_HOST, RUDA_E_DEVICE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_next(ruda_session session, int32_t* out_token) RUDA_NX;

/** The pull form with text: as ruda_session_next, and copies the whole UTF-8 characters that are complete by
 *  now (may be none; at the end, what was held back). A token gives at most 1024 bytes, what an unfinished
 *  character before it adds included. Text that ruda_session_generate kept comes first. Same buffer rule as
 *  ruda_backend_report, but a capacity below 1025 and the bytes of kept text is RUDA_E_ARGUMENT: *out_needed
 *  is then what it must be. A failing call takes no token and leaves `text` as it was. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_next_text(ruda_session session, char* text, uint64_t capacity,
                                                      uint64_t* out_needed, int32_t* out_token) RUDA_NX;

/** Copies what ruda_session_next_text holds back and ruda_session_generate kept, and forgets it: for an end
 *  that the caller chose, such as its own limit of tokens. The bytes of a character that was not finished
 *  become one U+FFFD; mostly there are none. Tokens and cache stay as they are. Same buffer rule as
 *  ruda_session_next_text.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (capacity too small). [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_flush_text(ruda_session session, char* text, uint64_t capacity,
                                                       uint64_t* out_needed) RUDA_NX;

/** Generates until something ends it; *out_finish says what. options NULL = all defaults; out_finish may be
 *  NULL. Text that may begin a stop text is held back until it is known. The end of the turn, max_new_tokens
 *  and a full capacity deliver it. When the callback, a cancel or a failure ends the call, the session keeps
 *  it: the next ruda_session_generate (where a stop text may begin in it), ruda_session_next_text or
 *  ruda_session_flush_text gives it first, and a prompt or ruda_session_rewind forgets it.
 *  Status: as ruda_session_next, RUDA_E_ARGUMENT (a stop text that is empty or not UTF-8), RUDA_E_CANCELLED
 *  (the session keeps what was generated), RUDA_E_STRUCT_TOO_NEW. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_generate(ruda_session session,
                                                     const ruda_generate_options* options,
                                                     uint32_t* out_finish) RUDA_NX;

/** Copies the logits after the latest token: `count` must be the size of the vocabulary.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STATE (no prompt yet), RUDA_E_SHAPE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_logits(ruda_session session, float* logits,
                                                   uint64_t count) RUDA_NX;

/** Copies the tokens that the session holds: at most `capacity`; *out_count is how many there are.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_tokens(ruda_session session, int32_t* tokens, uint64_t capacity,
                                                   uint64_t* out_count) RUDA_NX;

/** Forgets all but the first `count` tokens. The logits are gone until the next prompt.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (count above what it holds). [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_rewind(ruda_session session, uint64_t count) RUDA_NX;

/** Fills `inout` up to its struct_size. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT. [S] */
RUDA_API ruda_status RUDA_CALL ruda_session_get_info(ruda_session session, ruda_session_info* inout) RUDA_NX;

RUDA_END
#endif
