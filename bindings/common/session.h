/* bindings/common/session.h - flat functions over stores, tokenizers, models and sessions. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a conversation travel as one byte range: for each the role, a NUL, the length of the content in
 * decimal, a NUL, the content.
 */
#ifndef RUDA_BINDINGS_SESSION_H
#define RUDA_BINDINGS_SESSION_H

#include "ruda/infer.h"

/* A copy with an ending NUL. */
static ruda_status rudax_copy_text(const char* input, uint64_t bytes, char** out) {
  *out = (char*)malloc(bytes + 1);
  if (!*out)
    return rudax_fail(RUDA_E_OOM_HOST, "no memory for %llu bytes of text", (unsigned long long)bytes);
  if (bytes) memcpy(*out, input, bytes);
  (*out)[bytes] = 0;
  return RUDA_OK;
}

/* As rudax_copy_text, for a text that the library reads up to its first NUL: one within it is refused, by the
 * name of the parameter. */
static ruda_status rudax_copy_name(const char* parameter, const char* input, uint64_t bytes, char** out) {
  const ruda_status status = rudax_copy_text(input, bytes, out);
  if (status || strlen(*out) == bytes) return status;
  const unsigned long long at = strlen(*out);
  free(*out);
  *out = NULL;
  return rudax_fail(RUDA_E_ARGUMENT, "%s holds a NUL at byte %llu, expected none", parameter, at);
}

static ruda_status rudax_copy_tokens(const int64_t* values, uint32_t count, int32_t** out) {
  *out = (int32_t*)malloc(((uint64_t)count + 1) * sizeof **out);
  if (!*out) return rudax_fail(RUDA_E_OOM_HOST, "no memory for %u tokens", count);
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] < INT32_MIN || values[i] > INT32_MAX) {
      free(*out);
      *out = NULL;
      return rudax_fail(RUDA_E_INDEX, "tokens[%u] is %lld, expected a token", i, (long long)values[i]);
    }
    (*out)[i] = (int32_t)values[i];
  }
  return RUDA_OK;
}

/* ---- stores ---- */

RUDAX_UNUSED static ruda_status rudax_store_open(const char* input, uint64_t bytes, ruda_store* out) {
  char* path;
  *out = NULL;
  ruda_status status = rudax_copy_name("path", input, bytes, &path);
  if (status) return status;
  status = ruda_store_open(path, NULL, out);
  free(path);
  return status;
}

RUDAX_UNUSED static ruda_status rudax_store_tensor_name(ruda_store store, uint64_t index, char* text,
                                                        uint64_t capacity, uint64_t* out_needed) {
  const char* name = NULL;
  *out_needed = 0;
  const ruda_status status = ruda_store_name(store, index, &name);
  return status ? status : rudax_text(name, text, capacity, out_needed);
}

/* ---- tokenizers ---- */

RUDAX_UNUSED static ruda_status rudax_tokenizer_create(ruda_store store, ruda_tokenizer* out) {
  return ruda_tokenizer_from_store(store, NULL, out);
}

/* 0 vocabulary, 1 begin, 2 end, 3 unknown, 4 padding, 5 adds begin, 6 adds end, 7 has a chat template */
RUDAX_UNUSED static ruda_status rudax_tokenizer_get(ruda_tokenizer tokenizer, uint32_t what, int64_t* out) {
  ruda_tokenizer_info info = RUDA_TOKENIZER_INFO_INIT;
  *out = 0;
  const ruda_status status = ruda_tokenizer_get_info(tokenizer, &info);
  if (status) return status;
  const int64_t values[] = {info.vocab_size, info.bos,     info.eos,     info.unknown,
                            info.padding,    info.add_bos, info.add_eos, info.has_chat_template};
  return rudax_property("a tokenizer", values, sizeof values, what, out);
}

/* Ask with no capacity first: it then only counts. */
RUDAX_UNUSED static ruda_status rudax_tokenizer_encode(ruda_tokenizer tokenizer, const char* input,
                                                       uint64_t bytes, uint32_t flags, int32_t* tokens,
                                                       uint64_t capacity, uint64_t* out_count) {
  return ruda_tokenizer_encode(tokenizer, input, bytes, flags, tokens, capacity, out_count);
}

RUDAX_UNUSED static ruda_status rudax_tokenizer_decode(ruda_tokenizer tokenizer, const int64_t* values,
                                                       uint32_t count, uint32_t flags, char* text,
                                                       uint64_t capacity, uint64_t* out_needed) {
  int32_t* tokens;
  *out_needed = 0;
  ruda_status status = rudax_copy_tokens(values, count, &tokens);
  if (status) return status;
  status = ruda_tokenizer_decode(tokenizer, tokens, count, flags, NULL, 0, out_needed);
  if (!status && *out_needed <= capacity)
    status = ruda_tokenizer_decode(tokenizer, tokens, count, flags, text, capacity, out_needed);
  free(tokens);
  return status;
}

RUDAX_UNUSED static ruda_status rudax_tokenizer_token_text(ruda_tokenizer tokenizer, int32_t token,
                                                           char* text, uint64_t capacity,
                                                           uint64_t* out_needed) {
  const ruda_status status = ruda_tokenizer_token_text(tokenizer, token, NULL, 0, out_needed);
  if (status || *out_needed > capacity) return status;
  return ruda_tokenizer_token_text(tokenizer, token, text, capacity, out_needed);
}

RUDAX_UNUSED static ruda_status rudax_tokenizer_token_id(ruda_tokenizer tokenizer, const char* input,
                                                         uint64_t bytes, int64_t* out) {
  char* text;
  int32_t id = -1;
  *out = -1;
  ruda_status status = rudax_copy_name("text", input, bytes, &text);
  if (status) return status;
  status = ruda_tokenizer_token_id(tokenizer, text, &id);
  free(text);
  *out = id;
  return status;
}

/* ---- conversations ---- */

typedef struct {
  ruda_chat_message* messages;
  uint64_t count;
  char* bytes;
} rudax_chat;

static void rudax_chat_free(rudax_chat* chat) {
  free(chat->messages);
  free(chat->bytes);
}

static ruda_status rudax_chat_read(const char* input, uint64_t bytes, rudax_chat* chat) {
  memset(chat, 0, sizeof *chat);
  ruda_status status = rudax_copy_text(input, bytes, &chat->bytes);
  if (status) return status;
  char *at = chat->bytes, *end = chat->bytes + bytes;
  uint64_t room = 0;
  while (at < end) {
    if (chat->count == room) {
      room = room ? 2 * room : 16;
      ruda_chat_message* wider = (ruda_chat_message*)realloc(chat->messages, room * sizeof *wider);
      if (!wider) return rudax_fail(RUDA_E_OOM_HOST, "no memory for %llu messages", (unsigned long long)room);
      chat->messages = wider;
    }
    const char* role = at;
    at += strlen(at) + 1;
    if (at >= end) return rudax_fail(RUDA_E_ARGUMENT, "a message is cut short");
    char* digits_end = NULL;
    const unsigned long long length = strtoull(at, &digits_end, 10);
    if (digits_end == at || *digits_end || digits_end >= end || length > (uint64_t)(end - digits_end - 1))
      return rudax_fail(RUDA_E_ARGUMENT, "the length of a message is malformed");
    at = digits_end + 1;
    chat->messages[chat->count].role = role;
    /* A length of 0 means up to the NUL, so an empty content points to one. */
    chat->messages[chat->count].content = length ? at : "";
    chat->messages[chat->count].content_bytes = length;
    ++chat->count;
    at += length;
  }
  return RUDA_OK;
}

static ruda_chat_options rudax_chat_options(uint32_t flags, const char* name, const char* variables) {
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  options.flags = flags;
  options.name = name;
  options.variables = variables;
  return options;
}

/* name: which template of the file; variables: a JSON object. Either may be NULL. */
RUDAX_UNUSED static ruda_status rudax_chat_render(ruda_tokenizer tokenizer, const char* input, uint64_t bytes,
                                                  uint32_t flags, const char* name, const char* variables,
                                                  char* text, uint64_t capacity, uint64_t* out_needed) {
  rudax_chat chat;
  const ruda_chat_options options = rudax_chat_options(flags, name, variables);
  *out_needed = 0;
  ruda_status status = rudax_chat_read(input, bytes, &chat);
  if (!status) status = ruda_chat_render(tokenizer, chat.messages, chat.count, &options, NULL, 0, out_needed);
  if (!status && *out_needed <= capacity)
    status = ruda_chat_render(tokenizer, chat.messages, chat.count, &options, text, capacity, out_needed);
  rudax_chat_free(&chat);
  return status;
}

/* ---- models ---- */

/* How far a load is: written by the loading thread, read by any other by its number. */
enum { rudax_load_slots = 64 };
static struct {
  _Atomic uint64_t done, total;
  _Atomic uint32_t stop;
} rudax_loads[rudax_load_slots];

static int32_t RUDA_CALL rudax_on_load(void* user, uint64_t done, uint64_t total) {
  const uint32_t slot = (uint32_t)(uintptr_t)user;
  atomic_store(&rudax_loads[slot].total, total);
  atomic_store(&rudax_loads[slot].done, done);
  return (int32_t)atomic_load(&rudax_loads[slot].stop);
}

/* Nothing is done of the load that `slot` numbers from here on, 0..63: before its thread begins. */
RUDAX_UNUSED static ruda_status rudax_load_begin(uint32_t slot) {
  slot %= rudax_load_slots;
  atomic_store(&rudax_loads[slot].done, 0);
  atomic_store(&rudax_loads[slot].total, 0);
  atomic_store(&rudax_loads[slot].stop, 0);
  return RUDA_OK;
}

/* `slot` is that of rudax_load_begin. */
RUDAX_UNUSED static ruda_status rudax_model_load(ruda_context context, ruda_store store, uint32_t slot,
                                                 ruda_model* out) {
  ruda_model_desc desc = RUDA_MODEL_DESC_INIT;
  slot %= rudax_load_slots;
  desc.progress = rudax_on_load;
  desc.user = (void*)(uintptr_t)slot;
  return ruda_model_load(context, store, &desc, out);
}

/* Bytes done and in all (0 = not known yet); stop 1 ends the load with RUDA_E_CALLBACK. */
RUDAX_UNUSED static ruda_status rudax_load_progress(uint32_t slot, uint32_t stop, uint64_t* out_done,
                                                    uint64_t* out_total) {
  slot %= rudax_load_slots;
  if (stop) atomic_store(&rudax_loads[slot].stop, 1);
  *out_done = atomic_load(&rudax_loads[slot].done);
  *out_total = atomic_load(&rudax_loads[slot].total);
  return RUDA_OK;
}

/* 0 layers, 1 width, 2 inner width, 3 heads, 4 key heads, 5 head size, 6 vocabulary, 7 context, 8 parameters,
 * 9 bytes */
RUDAX_UNUSED static ruda_status rudax_model_get(ruda_model model, uint32_t what, uint64_t* out) {
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  *out = 0;
  const ruda_status status = ruda_model_get_info(model, &info);
  if (status) return status;
  const uint64_t values[] = {info.layer_count,     info.width,       info.ff_width,   info.q_heads,
                             info.kv_heads,        info.head_dim,    info.vocab_size, info.context_length,
                             info.parameter_count, info.weight_bytes};
  return rudax_property("a model", values, sizeof values, what, out);
}

/* 0 architecture, 1 name */
RUDAX_UNUSED static ruda_status rudax_model_text(ruda_model model, uint32_t what, char* text,
                                                 uint64_t capacity, uint64_t* out_needed) {
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  *out_needed = 0;
  const ruda_status status = ruda_model_get_info(model, &info);
  return status ? status : rudax_text(what ? info.name : info.architecture, text, capacity, out_needed);
}

/* ---- sessions ---- */

RUDAX_UNUSED static ruda_status rudax_session_create(ruda_model model, uint32_t cache_dtype,
                                                     uint64_t token_capacity, uint32_t batch_tokens,
                                                     ruda_session* out) {
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  desc.cache_dtype = cache_dtype;
  desc.token_capacity = token_capacity;
  desc.batch_tokens = batch_tokens;
  return ruda_session_create(model, &desc, out);
}

RUDAX_UNUSED static ruda_status rudax_session_set_sampling(ruda_session session, double temperature,
                                                           uint32_t top_k, double top_p, double min_p,
                                                           double repetition_penalty,
                                                           uint64_t repetition_window, uint64_t seed) {
  ruda_sampling sampling = RUDA_SAMPLING_INIT;
  sampling.temperature = temperature;
  sampling.top_k = top_k;
  sampling.top_p = top_p;
  sampling.min_p = min_p;
  sampling.repetition_penalty = repetition_penalty;
  sampling.repetition_window = repetition_window;
  sampling.seed = seed;
  return ruda_session_set_sampling(session, &sampling);
}

RUDAX_UNUSED static ruda_status rudax_session_prompt(ruda_session session, const int64_t* values,
                                                     uint32_t count, ruda_cancel cancel) {
  int32_t* tokens;
  ruda_status status = rudax_copy_tokens(values, count, &tokens);
  if (status) return status;
  status = ruda_session_prompt(session, tokens, count, NULL, NULL, cancel);
  free(tokens);
  return status;
}

RUDAX_UNUSED static ruda_status rudax_session_prompt_text(ruda_session session, const char* input,
                                                          uint64_t bytes, ruda_cancel cancel) {
  return ruda_session_prompt_text(session, input, bytes, NULL, NULL, cancel);
}

RUDAX_UNUSED static ruda_status rudax_session_prompt_chat(ruda_session session, const char* input,
                                                          uint64_t bytes, uint32_t flags, const char* name,
                                                          const char* variables, ruda_cancel cancel) {
  rudax_chat chat;
  const ruda_chat_options options = rudax_chat_options(flags, name, variables);
  ruda_status status = rudax_chat_read(input, bytes, &chat);
  if (!status)
    status = ruda_session_prompt_chat(session, chat.messages, chat.count, &options, NULL, NULL, cancel);
  rudax_chat_free(&chat);
  return status;
}

/* The next token in *out (-1 = none) with the text that is certain by now; *out_end 1 when it was the last.
 */
RUDAX_UNUSED static ruda_status rudax_session_next(ruda_session session, char* text, uint64_t capacity,
                                                   uint64_t* out_needed, int64_t* out, uint32_t* out_end) {
  int32_t token = -1;
  const ruda_status status = ruda_session_next_text(session, text, capacity, out_needed, &token);
  *out = token;
  *out_end = status == RUDA_END_OF_DATA;
  return status == RUDA_END_OF_DATA ? RUDA_OK : status;
}

/* What the session still holds back of the text, for an end that the caller chose. */
RUDAX_UNUSED static ruda_status rudax_session_rest(ruda_session session, char* text, uint64_t capacity,
                                                   uint64_t* out_needed) {
  return ruda_session_flush_text(session, text, capacity, out_needed);
}

/* 0 finish, 1 tokens, 2 capacity, 3 prompt tokens, 4 reused, 5 generated, 6 and 7 their seconds, 8 bytes of
 * the cache */
RUDAX_UNUSED static ruda_status rudax_session_get(ruda_session session, uint32_t what, double* out) {
  ruda_session_info info = RUDA_SESSION_INFO_INIT;
  *out = 0;
  const ruda_status status = ruda_session_get_info(session, &info);
  if (status) return status;
  const double values[] = {info.finish,
                           (double)info.token_count,
                           (double)info.token_capacity,
                           (double)info.prompt_tokens,
                           (double)info.reused_tokens,
                           (double)info.generated_tokens,
                           info.prompt_seconds,
                           info.generate_seconds,
                           (double)info.cache_bytes};
  return rudax_property("a session", values, sizeof values, what, out);
}

/* F32 logits of the whole vocabulary */
RUDAX_UNUSED static ruda_status rudax_session_logits(ruda_session session, void* data, uint64_t bytes) {
  return ruda_session_logits(session, (float*)data, bytes / sizeof(float));
}

RUDAX_UNUSED static ruda_status rudax_session_tokens(ruda_session session, int32_t* tokens, uint64_t capacity,
                                                     uint64_t* out_count) {
  return ruda_session_tokens(session, tokens, capacity, out_count);
}

#endif
