/* include/ruda/model.h - tokenizers, chat templates and language models of model files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_MODEL_H
#define RUDA_MODEL_H

#include "ruda/store.h"

RUDA_BEGIN

/* ---- tokenizer ---- */

/** Flags of ruda_tokenizer_encode. */
enum {
  RUDA_ENCODE_ADD_SPECIAL = 1,  /* put begin and end tokens where the file says so */
  RUDA_ENCODE_PARSE_SPECIAL = 2 /* control tokens written in the text become tokens, else they are text */
};

/** Flags of ruda_tokenizer_decode and ruda_text_stream. */
enum {
  RUDA_DECODE_SKIP_SPECIAL = 1, /* leave control tokens out */
  RUDA_DECODE_RAW = 2           /* the exact bytes; without it the result is made valid UTF-8 */
};

/** Types of tokens. */
enum {
  RUDA_TOKEN_NORMAL = 1,
  RUDA_TOKEN_UNKNOWN = 2,
  RUDA_TOKEN_CONTROL = 3,
  RUDA_TOKEN_USER_DEFINED = 4,
  RUDA_TOKEN_UNUSED = 5,
  RUDA_TOKEN_BYTE = 6
};

/** How a tokenizer is made (NULL = all defaults). */
typedef struct ruda_tokenizer_desc {
  uint32_t struct_size, flags; /* flags must be 0 */
  const ruda_ext* next;
} ruda_tokenizer_desc;
#define RUDA_TOKENIZER_DESC_INIT \
  { (uint32_t)sizeof(ruda_tokenizer_desc), 0, NULL }

/** What a tokenizer is. Tokens are -1 where the file names none. Texts live as long as the tokenizer. */
typedef struct ruda_tokenizer_info {
  uint32_t struct_size;
  int32_t vocab_size;
  int32_t bos, eos, unknown, padding;
  ruda_bool add_bos, add_eos; /* what RUDA_ENCODE_ADD_SPECIAL adds */
  ruda_bool has_chat_template;
  uint32_t reserved;
  const char* model; /* "gpt2": byte-level pairs, "llama": scored pieces */
  const char* pre;   /* how text is split first, such as "smollm"; "" for none */
} ruda_tokenizer_info;
#define RUDA_TOKENIZER_INFO_INIT \
  { (uint32_t)sizeof(ruda_tokenizer_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/** Makes a tokenizer from the metadata of a GGUF store (keys tokenizer.ggml.*); keeps the store alive. `desc`
 *  may be NULL. Models: "gpt2" (byte-level pairs) with the splits gpt-2, smollm, llama-bpe, qwen2, qwen35,
 *  gpt-4o, tekken, deepseek-v3 and names that mean the same; "llama" (scored pieces with bytes as fallback).
 *  The same tokens as the Hugging Face tokenizers of these models; a text is not normalised. Status:
 *  RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (flags), RUDA_E_NOT_FOUND (a key is
 *  missing), RUDA_E_UNSUPPORTED (another model or an unknown split), RUDA_E_FORMAT (tables contradict each
 *  other, a token of over 1020 bytes of UTF-8, a special one of over 1024), RUDA_E_OOM_HOST. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_from_store(ruda_store store, const ruda_tokenizer_desc* desc,
                                                         ruda_tokenizer* out) RUDA_NX;

/** Describes a tokenizer. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size). [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_get_info(ruda_tokenizer tokenizer,
                                                       ruda_tokenizer_info* inout) RUDA_NX;

/** Tokens of `bytes` bytes of text. Bytes that are no UTF-8 become byte tokens; a byte that the vocabulary
 *  has no token for is left out. `capacity` 0 asks for *out_count only. Special tokens are matched leftmost
 *  and longest before the text is split. Time grows as n log n. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_ARGUMENT (unknown flag, 512 MiB of text or more), RUDA_E_BUDGET (capacity is below *out_count,
 *  which is set; nothing is written), RUDA_E_OOM_HOST. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_encode(ruda_tokenizer tokenizer, const char* text,
                                                     uint64_t bytes, uint32_t flags, int32_t* tokens,
                                                     uint64_t capacity, uint64_t* out_count) RUDA_NX;

/** Text of `count` tokens. *out_needed is its size with the ending NUL; without RUDA_DECODE_RAW every invalid
 *  sequence is one U+FFFD. `capacity` 0 asks for *out_needed only. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_ARGUMENT (unknown flag), RUDA_E_INDEX (a number that is no token), RUDA_E_BUDGET (capacity is below
 *  *out_needed, which is set; nothing is written), RUDA_E_OOM_HOST. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_decode(ruda_tokenizer tokenizer, const int32_t* tokens,
                                                     uint64_t count, uint32_t flags, char* text,
                                                     uint64_t capacity, uint64_t* out_needed) RUDA_NX;

/** Exact bytes that `token` stands for inside a text, also of control tokens. Buffer rule and status as
 *  ruda_tokenizer_decode. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_token_text(ruda_tokenizer tokenizer, int32_t token, char* text,
                                                         uint64_t capacity, uint64_t* out_needed) RUDA_NX;

/** Type (RUDA_TOKEN_*) and score of a token; either out may be NULL.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_token_info(ruda_tokenizer tokenizer, int32_t token,
                                                         uint32_t* out_type, float* out_score) RUDA_NX;

/** Number of the token whose entry in the vocabulary is exactly `text` (in the letters of the file, such as
 *  "<|im_end|>"). Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_NOT_FOUND. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_token_id(ruda_tokenizer tokenizer, const char* text,
                                                       int32_t* out) RUDA_NX;

/** 1 in *out when generation ends with `token`: end of sequence, of turn or of message.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tokenizer_is_end(ruda_tokenizer tokenizer, int32_t token,
                                                     ruda_bool* out) RUDA_NX;

/** State of decoding token by token; belongs to the caller, starts as RUDA_TEXT_STREAM_INIT. */
typedef struct ruda_text_stream {
  uint32_t struct_size;
  uint32_t flags;         /* RUDA_DECODE_* */
  uint32_t started;       /* text has begun; kept by the library */
  uint32_t pending_bytes; /* bytes of `pending` that wait for the rest of their character */
  uint64_t pending;
} ruda_text_stream;
#define RUDA_TEXT_STREAM_INIT \
  { (uint32_t)sizeof(ruda_text_stream), 0, 0, 0, 0 }

/** Text that has become certain with `token`: never a part of a character, maybe empty. The texts of all
 *  calls and of ruda_text_stream_end together are what ruda_tokenizer_decode gives. *out_needed counts the
 *  ending NUL. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX, RUDA_E_ARGUMENT (struct_size, a damaged
 *  state), RUDA_E_BUDGET (capacity is below *out_needed; the state is as before, so the call can be
 *  repeated). [S] on the state. */
RUDA_API ruda_status RUDA_CALL ruda_text_stream_push(ruda_tokenizer tokenizer, ruda_text_stream* inout,
                                                     int32_t token, char* text, uint64_t capacity,
                                                     uint64_t* out_needed) RUDA_NX;

/** What is left at the end: U+FFFD for a character that was never finished, else nothing. Clears the state.
 *  Status: RUDA_E_NULL, RUDA_E_ARGUMENT, RUDA_E_BUDGET. [S] on the state. */
RUDA_API ruda_status RUDA_CALL ruda_text_stream_end(ruda_text_stream* inout, char* text, uint64_t capacity,
                                                    uint64_t* out_needed) RUDA_NX;

/* ---- chat template ---- */

/** Flags of ruda_chat_options. */
enum {
  RUDA_CHAT_NO_GENERATION_PROMPT = 1 /* end with the last message, not with the start of an answer */
};

/** One message of a conversation. 24 bytes, frozen; used in arrays. */
typedef struct ruda_chat_message {
  const char* role;       /* such as "system", "user", "assistant" */
  const char* content;    /* NULL = empty */
  uint64_t content_bytes; /* 0 = up to the NUL */
} ruda_chat_message;

/** How a chat template is rendered (NULL = all defaults). Zero in any field means its default. */
typedef struct ruda_chat_options {
  uint32_t struct_size, flags; /* RUDA_CHAT_* */
  const ruda_ext* next;
  const char* source;    /* another template than the file's; then the tokenizer may be NULL */
  const char* name;      /* which template of the file, such as "tool_use"; NULL = the default one */
  const char* variables; /* JSON object: tools, documents, enable_thinking, ...; they come first */
  int64_t now;           /* time that strftime_now shows, seconds since 1970; 0 = the clock */
  uint64_t max_bytes;    /* longest text; 0 = 64 MiB */
  uint64_t max_steps;    /* most work; 0 = 20 million steps */
} ruda_chat_options;
#define RUDA_CHAT_OPTIONS_INIT \
  { (uint32_t)sizeof(ruda_chat_options), 0, NULL, NULL, NULL, NULL, 0, 0, 0 }

/** Renders messages with the chat template of the model: the Jinja language as chat templates use it, with
 *  the settings of Hugging Face transformers (trim_blocks, lstrip_blocks, raise_exception, strftime_now,
 *  tojson, loop controls, generation tags). Variables: messages, add_generation_prompt, bos_token, eos_token,
 *  unk_token, pad_token, tools and documents (none unless given) and those of options->variables. Encode the
 *  text with RUDA_ENCODE_PARSE_SPECIAL and without RUDA_ENCODE_ADD_SPECIAL: the template writes its own begin
 *  token. Note that control tokens inside a message then count as such. A template cannot reach files, the
 *  network or the process; work, memory, output and depth are limited. Content that is no UTF-8 is repaired.
 *  *out_needed is the size of the text with its NUL; `capacity` 0 asks for it only. Status: RUDA_E_NULL,
 *  RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_NOT_FOUND (the file has no such template), RUDA_E_FORMAT
 *  (an error of the template or of JSON; the message has the line), RUDA_E_ARGUMENT (the template refused the
 *  messages with raise_exception, whose text is the message; an unknown flag), RUDA_E_UNSUPPORTED (tags of
 *  page templates, such as include), RUDA_E_BUDGET (a limit; or capacity is below *out_needed, which is set;
 *  nothing is written), RUDA_E_OOM_HOST. [I] */
RUDA_API ruda_status RUDA_CALL ruda_chat_render(ruda_tokenizer tokenizer, const ruda_chat_message* messages,
                                                uint64_t count, const ruda_chat_options* options, char* text,
                                                uint64_t capacity, uint64_t* out_needed) RUDA_NX;

/** As ruda_chat_render with the messages as a JSON array of objects, which may have any members (tool_calls,
 *  parts as content, ...). Duplicate keys are refused. [I] */
RUDA_API ruda_status RUDA_CALL ruda_chat_render_json(ruda_tokenizer tokenizer, const char* messages,
                                                     const ruda_chat_options* options, char* text,
                                                     uint64_t capacity, uint64_t* out_needed) RUDA_NX;

/* ---- language model ---- */

/** Called as weights are prepared, in bytes, or as a prompt is computed, in tokens. Any value other than 0
 *  stops the call with RUDA_E_CALLBACK, after the last part too. Calls on the session of the prompt answer
 *  RUDA_E_STATE meanwhile; releasing it is safe. */
typedef int32_t(RUDA_CALL* ruda_progress_fn)(void* user, uint64_t done, uint64_t total);

/** How a model is loaded (NULL = all defaults). */
typedef struct ruda_model_desc {
  uint32_t struct_size, flags; /* flags must be 0 */
  const ruda_ext* next;
  ruda_progress_fn progress; /* NULL = none */
  void* user;
} ruda_model_desc;
#define RUDA_MODEL_DESC_INIT \
  { (uint32_t)sizeof(ruda_model_desc), 0, NULL, NULL, NULL }

/** What a model is. Texts live as long as the model. */
typedef struct ruda_model_info {
  uint32_t struct_size, layer_count;
  const char* architecture; /* such as "llama" */
  const char* name;
  uint32_t width, ff_width, q_heads, kv_heads, head_dim, vocab_size;
  uint64_t context_length; /* tokens that the model was trained for */
  uint64_t parameter_count, weight_bytes;
} ruda_model_info;
#define RUDA_MODEL_INFO_INIT \
  { (uint32_t)sizeof(ruda_model_info), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Makes a model from a GGUF store of architecture "llama" or "qwen2"; keeps the store alive. On the CPU
 *  weights are used where they lie in the mapped file; a GPU gets its copy. `desc` may be NULL. Source of
 *  names, shapes and rotation: the GGUF specification.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (flags), RUDA_E_UNSUPPORTED
 *  (architecture, encoding of a tensor), RUDA_E_NOT_FOUND (key or tensor), RUDA_E_FORMAT (a value or shape
 *  contradicts another), RUDA_E_CALLBACK, RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_DEVICE.
 *  [T] */
RUDA_API ruda_status RUDA_CALL ruda_model_load(ruda_context context, ruda_store store,
                                               const ruda_model_desc* desc, ruda_model* out) RUDA_NX;

/** Describes a model. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size). [I] */
RUDA_API ruda_status RUDA_CALL ruda_model_get_info(ruda_model model, ruda_model_info* inout) RUDA_NX;

/** Stores a new reference to the model's tokenizer. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_model_get_tokenizer(ruda_model model, ruda_tokenizer* out) RUDA_NX;

RUDA_END
#endif
