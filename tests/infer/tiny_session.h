/* tests/infer/tiny_session.h - a session on the small random model, and what a generation hands over. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_TINY_SESSION_H
#define RUDA_TESTS_TINY_SESSION_H

#include "support/expect.h"

typedef struct tiny_session {
  ruda_context context;
  ruda_store store;
  ruda_model model;
  ruda_tokenizer tokenizer;
  ruda_session session;
} tiny_session;

static inline void open_tiny_session(tiny_session* t) {
  t->context = new_context();
  OK(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &t->store));
  OK(ruda_model_load(t->context, t->store, NULL, &t->model));
  OK(ruda_model_get_tokenizer(t->model, &t->tokenizer));
  OK(ruda_session_create(t->model, NULL, &t->session));
}

/* Whatever else belongs to the context is gone by then. */
static inline void close_tiny_session(tiny_session* t) {
  OK(ruda_release(t->session));
  OK(ruda_release(t->store));
  OK(ruda_release(t->model));
  OK(ruda_release(t->tokenizer));
  assert_int_equal(live_objects(t->context), 0);
  OK(ruda_release(t->context));
}

typedef struct collected {
  char text[4096];
  size_t bytes;
  int calls, stop_after;
  ruda_cancel cancel;
} collected;

/* At the call `stop_after`: the cancel is requested, or generation ended where there is none. */
static inline int32_t collect(void* user, const char* text, uint64_t bytes, int32_t token) {
  collected* c = user;
  (void)token;
  memcpy(c->text + c->bytes, text, bytes);
  c->bytes += bytes;
  c->text[c->bytes] = 0;
  if (++c->calls != c->stop_after) return 0;
  if (!c->cancel) return 1;
  OK(ruda_cancel_request(c->cancel));
  return 0;
}

#endif
