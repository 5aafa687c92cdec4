/* tests/infer/kept_text.c - text held back for a stop text outlives an early end of generation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "infer/tiny_session.h"

enum { how_many = 6, most = 12 }; /* tokens until the early end, in all */

typedef struct fixture {
  tiny_session tiny;
  ruda_cancel cancel;
  char all[4096], stop[4100]; /* the whole answer, the stop text */
  const char* stops[1];
} fixture;

static ruda_status generate(fixture* f, collected* c, uint64_t tokens, int stops, uint32_t* finish) {
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  options.on_text = collect;
  options.user = c;
  options.max_new_tokens = tokens;
  options.stops = f->stops;
  options.stop_count = stops ? 1 : 0;
  options.cancel = c->cancel;
  return ruda_session_generate(f->tiny.session, &options, finish);
}

static void prompt(fixture* f) {
  const int32_t tokens[4] = {10, 20, 30, 40};
  OK(ruda_session_rewind(f->tiny.session, 0));
  OK(ruda_session_prompt(f->tiny.session, tokens, 4, NULL, NULL, NULL));
}

static int setup(void** state) {
  static fixture f;
  collected all = {.stop_after = 0};
  uint32_t finish = 0;
  memset(&f, 0, sizeof f);
  f.stops[0] = f.stop;
  open_tiny_session(&f.tiny);
  OK(ruda_cancel_create(&f.cancel));
  prompt(&f);
  OK(generate(&f, &all, most, 0, &finish));
  assert_int_equal(finish, RUDA_FINISH_LENGTH);
  assert_true(all.bytes > most && strlen(all.text) == all.bytes);
  strcpy(f.all, all.text);
  /* It begins as the answer does, so all of that is held back. */
  snprintf(f.stop, sizeof f.stop, "%sZZ", f.all);
  *state = &f;
  return 0;
}

static int teardown(void** state) {
  fixture* f = *state;
  OK(ruda_release(f->cancel));
  close_tiny_session(&f->tiny);
  return 0;
}

/* An end after 6 tokens, by cancel or by the callback, with nothing delivered. */
static void end_early(fixture* f, int by_cancel) {
  collected c = {.stop_after = how_many, .cancel = by_cancel ? f->cancel : NULL};
  uint32_t finish = 0;
  prompt(f);
  if (by_cancel) {
    assert_int_equal(generate(f, &c, most, 1, &finish), RUDA_E_CANCELLED);
    /* and once more before the first token */
    assert_int_equal(generate(f, &c, most, 1, &finish), RUDA_E_CANCELLED);
    OK(ruda_cancel_reset(f->cancel));
  } else {
    OK(generate(f, &c, most, 1, &finish));
    assert_int_equal(finish, RUDA_FINISH_CALLBACK);
  }
  assert_int_equal(c.calls, how_many);
  assert_int_equal(c.bytes, 0);
}

static void next_generate_gives_it(void** state) {
  fixture* f = *state;
  for (int way = 0; way < 4; ++way) {
    collected c = {.stop_after = 0};
    uint32_t finish = 0;
    end_early(f, way & 1);
    OK(generate(f, &c, most - how_many, way & 2, &finish));
    assert_int_equal(finish, RUDA_FINISH_LENGTH);
    assert_string_equal(c.text, f->all);
  }
}

static void pulling_gives_it(void** state) {
  fixture* f = *state;
  char text[2048] = "as it was";
  uint64_t needed = 0, count = 0;
  for (int by_cancel = 0; by_cancel < 2; ++by_cancel) {
    collected c = {.stop_after = 0};
    int32_t token = 0;
    end_early(f, by_cancel);
    /* A buffer that may be too short takes no token and no text. */
    strcpy(text, "as it was");
    assert_int_equal(ruda_session_next_text(f->tiny.session, text, 1025, &needed, &token), RUDA_E_ARGUMENT);
    assert_true(needed > 1025 + how_many && needed <= sizeof text);
    assert_int_equal(ruda_session_next_text(f->tiny.session, text, needed - 1, NULL, NULL), RUDA_E_ARGUMENT);
    assert_int_equal(ruda_session_flush_text(f->tiny.session, text, 1025, NULL), RUDA_E_ARGUMENT);
    assert_string_equal(text, "as it was");
    OK(ruda_session_tokens(f->tiny.session, NULL, 0, &count));
    assert_int_equal(count, 4 + how_many);
    OK(ruda_session_next_text(f->tiny.session, text, needed, &needed, &token));
    (void)collect(&c, text, needed - 1, token);
    OK(ruda_session_next_text(f->tiny.session, text, 1025, &needed, &token));
    (void)collect(&c, text, needed - 1, token);
    OK(generate(f, &c, most - how_many - 2, 0, NULL));
    assert_string_equal(c.text, f->all);
  }
}

static void flush_gives_it_once(void** state) {
  fixture* f = *state;
  char text[2048] = "";
  uint64_t needed = 0;
  end_early(f, 1);
  OK(ruda_session_flush_text(f->tiny.session, text, sizeof text, &needed));
  assert_true(needed > how_many);
  /* the last character may be one that was not finished */
  assert_int_equal(strncmp(text, f->all, needed > 4 ? needed - 4 : 0), 0);
  OK(ruda_session_flush_text(f->tiny.session, text, 1025, &needed));
  assert_int_equal(needed, 1);
}

static void prompt_and_rewind_forget_it(void** state) {
  fixture* f = *state;
  const int32_t tokens[4] = {10, 20, 30, 40};
  char text[1025];
  uint64_t needed = 0;
  for (int way = 0; way < 2; ++way) {
    end_early(f, 0);
    if (way)
      OK(ruda_session_prompt(f->tiny.session, tokens, 4, NULL, NULL, NULL));
    else
      OK(ruda_session_rewind(f->tiny.session, 4));
    OK(ruda_session_flush_text(f->tiny.session, text, sizeof text, &needed));
    assert_int_equal(needed, 1);
  }
}

/* The last test: it changes the stop text, to one that ends a character before the answer. */
static void stop_text_crosses_the_seam(void** state) {
  fixture* f = *state;
  size_t bytes = strlen(f->all) - 1;
  while (bytes && ((unsigned char)f->all[bytes] & 0xC0) == 0x80) --bytes;
  memcpy(f->stop, f->all, bytes);
  f->stop[bytes] = 0;
  for (int by_cancel = 0; by_cancel < 2; ++by_cancel) {
    collected c = {.stop_after = 0};
    uint32_t finish = 0;
    end_early(f, by_cancel);
    OK(generate(f, &c, most, 1, &finish));
    assert_int_equal(finish, RUDA_FINISH_STOP);
    assert_int_equal(c.bytes, 0);
  }
}

/* A vocabulary whose first piece of a text loses its space: only the first. */
static void pieces_keep_their_space(void** state) {
  fixture* f = *state;
  ruda_store store = NULL;
  ruda_model model = NULL;
  fixture scored = *f;
  collected all = {.stop_after = 0};
  uint32_t finish = 0;
  OK(ruda_store_open(getenv("RUDA_SCORED_MODEL"), NULL, &store));
  OK(ruda_model_load(f->tiny.context, store, NULL, &model));
  OK(ruda_session_create(model, NULL, &scored.tiny.session));
  prompt(&scored);
  OK(generate(&scored, &all, most, 0, &finish));
  assert_non_null(strchr(all.text, ' '));
  for (int first = 1; first < most; ++first) {
    collected c = {.stop_after = 0};
    prompt(&scored);
    OK(generate(&scored, &c, (uint64_t)first, 0, &finish));
    OK(generate(&scored, &c, (uint64_t)(most - first), 0, &finish));
    assert_string_equal(c.text, all.text);
  }
  OK(ruda_release(scored.tiny.session));
  OK(ruda_release(model));
  OK(ruda_release(store));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(next_generate_gives_it),     cmocka_unit_test(pulling_gives_it),
      cmocka_unit_test(flush_gives_it_once),        cmocka_unit_test(prompt_and_rewind_forget_it),
      cmocka_unit_test(stop_text_crosses_the_seam), cmocka_unit_test(pieces_keep_their_space),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
