/* tests/infer/session.c - sessions on a small random model: prompts, tokens, text, stops, cancelling, errors.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "infer/tiny_session.h"

#include <pthread.h>
#include <unistd.h>

typedef tiny_session fixture;

static int setup(void** state) {
  fixture* f = calloc(1, sizeof *f);
  open_tiny_session(f);
  *state = f;
  return 0;
}

static int teardown(void** state) {
  fixture* f = *state;
  close_tiny_session(f);
  free(f);
  return 0;
}

static uint64_t generate(ruda_session session, const int32_t* prompt, uint64_t count, int32_t* out,
                         uint64_t most) {
  uint64_t n = 0;
  OK(ruda_session_prompt(session, prompt, count, NULL, NULL, NULL));
  while (n < most) {
    ruda_status status = ruda_session_next(session, &out[n]);
    if (status == RUDA_OK || out[n] >= 0) ++n;
    if (status == RUDA_END_OF_DATA) break;
    OK(status);
  }
  return n;
}

static void info_of(ruda_session session, ruda_session_info* info) {
  const ruda_session_info empty = RUDA_SESSION_INFO_INIT;
  *info = empty;
  OK(ruda_session_get_info(session, info));
}

/* One token at a time, in batches, and all at once give the same logits up to the rounding of batches. */
static void prompt_in_pieces(void** state) {
  fixture* f = *state;
  int32_t prompt[70];
  float *whole = malloc(sizeof(float) * 266), *pieces = malloc(sizeof(float) * 266);
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  ruda_session other = NULL;
  ruda_model_info model = RUDA_MODEL_INFO_INIT;
  double scale = 0, off = 0;
  uint64_t i;
  OK(ruda_model_get_info(f->model, &model));
  assert_int_equal(model.vocab_size, 266);
  for (i = 0; i < 70; ++i) prompt[i] = (int32_t)(i * 37 % 256);
  OK(ruda_session_prompt(f->session, prompt, 70, NULL, NULL, NULL));
  OK(ruda_session_logits(f->session, whole, 266));
  desc.batch_tokens = 1;
  OK(ruda_session_create(f->model, &desc, &other));
  OK(ruda_session_prompt(other, prompt, 70, NULL, NULL, NULL));
  OK(ruda_session_logits(other, pieces, 266));
  for (i = 0; i < 266; ++i) {
    double d = whole[i] - pieces[i];
    scale += whole[i] * whole[i] / 266;
    off += d * d / 266;
  }
  /* batches round activations to bf16: 2^-8 in each of 14 products, as independent errors */
  assert_true(off < scale * 14 * 1.0 / 65536);
  ruda_release(other);
  free(whole);
  free(pieces);
}

static void common_beginning_is_reused(void** state) {
  fixture* f = *state;
  int32_t prompt[8] = {72, 101, 108, 108, 111, 32, 119, 33}, first[16], second[16];
  ruda_session_info info;
  uint64_t a = generate(f->session, prompt, 8, first, 16), b;
  b = generate(f->session, prompt, 8, second, 16);
  assert_int_equal(a, b);
  assert_memory_equal(first, second, a * sizeof *first);
  info_of(f->session, &info);
  assert_int_equal(info.reused_tokens, 7);
  assert_int_equal(info.prompt_tokens, 1);
  assert_int_equal(info.generated_tokens, b);
  prompt[4] = 0;
  OK(ruda_session_prompt(f->session, prompt, 8, NULL, NULL, NULL));
  info_of(f->session, &info);
  assert_int_equal(info.reused_tokens, 4);
}

/* Single tokens, whose products share parallel regions, give the same bits on one thread and on three. */
static void threads_leave_the_bits(void** state) {
  const int32_t prompt[] = {72, 101, 108, 108, 111};
  float logits[2][266];
  int which, i;
  (void)state;
  for (which = 0; which < 2; ++which) {
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    ruda_session_desc session_desc = RUDA_SESSION_DESC_INIT;
    ruda_context context = NULL;
    ruda_store store = NULL;
    ruda_model model = NULL;
    ruda_session session = NULL;
    int32_t token = 0;
    desc.backend = RUDA_BACKEND_CPU;
    desc.host_threads = which ? 3 : 1;
    session_desc.batch_tokens = 1;
    OK(ruda_context_create(&desc, &context));
    OK(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &store));
    OK(ruda_model_load(context, store, NULL, &model));
    OK(ruda_session_create(model, &session_desc, &session));
    OK(ruda_session_prompt(session, prompt, 5, NULL, NULL, NULL));
    for (i = 0; i < 4; ++i) assert_true(ruda_session_next(session, &token) <= RUDA_END_OF_DATA);
    OK(ruda_session_logits(session, logits[which], 266));
    ruda_release(session);
    ruda_release(model);
    ruda_release(store);
    ruda_release(context);
  }
  assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
}

static void rewind_and_tokens(void** state) {
  fixture* f = *state;
  int32_t prompt[4] = {65, 66, 67, 68}, out[8], held[16];
  float logits[266];
  uint64_t count = 0;
  assert_int_equal(generate(f->session, prompt, 4, out, 5), 5);
  OK(ruda_session_tokens(f->session, held, 16, &count));
  assert_int_equal(count, 9);
  assert_memory_equal(held, prompt, sizeof prompt);
  assert_memory_equal(held + 4, out, 5 * sizeof *out);
  OK(ruda_session_rewind(f->session, 4));
  OK(ruda_session_tokens(f->session, NULL, 0, &count));
  assert_int_equal(count, 4);
  assert_int_equal(ruda_session_logits(f->session, logits, 266), RUDA_E_STATE);
  assert_int_equal(ruda_session_rewind(f->session, 5), RUDA_E_ARGUMENT);
  assert_non_null(strstr(expect_message(), "holds 4"));
}

static void generate_delivers_what_next_text_gives(void** state) {
  fixture* f = *state;
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  collected pushed = {{0}, 0, 0, 0};
  char pulled[4096] = "", piece[1025];
  uint32_t finish = 0;
  int i;
  options.max_new_tokens = 20;
  options.on_text = collect;
  options.user = &pushed;
  OK(ruda_session_prompt_text(f->session, "over there", 10, NULL, NULL, NULL));
  OK(ruda_session_generate(f->session, &options, &finish));
  OK(ruda_session_prompt_text(f->session, "over there", 10, NULL, NULL, NULL));
  for (i = 0; i < 20; ++i) {
    uint64_t needed = 0;
    int32_t token = -1;
    ruda_status status = ruda_session_next_text(f->session, piece, sizeof piece, &needed, &token);
    assert_true(needed <= sizeof piece);
    strcat(pulled, piece);
    if (status == RUDA_END_OF_DATA) break;
    OK(status);
  }
  assert_int_equal(strncmp(pushed.text, pulled, strlen(pulled)), 0);
  /* what the limit cuts off comes by the flush, once */
  OK(ruda_session_flush_text(f->session, piece, sizeof piece, NULL));
  strcat(pulled, piece);
  assert_string_equal(pushed.text, pulled);
  OK(ruda_session_flush_text(f->session, piece, sizeof piece, NULL));
  assert_string_equal(piece, "");
  assert_true(finish == RUDA_FINISH_LENGTH || finish == RUDA_FINISH_EOS);
}

static void stop_text_ends_generation(void** state) {
  fixture* f = *state;
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  collected all = {{0}, 0, 0, 0}, cut = {{0}, 0, 0, 0};
  uint32_t finish = 0;
  char stop[5] = "";
  const char* stops[1];
  options.max_new_tokens = 30;
  options.on_text = collect;
  options.user = &all;
  OK(ruda_session_prompt_text(f->session, "a", 1, NULL, NULL, NULL));
  OK(ruda_session_generate(f->session, &options, &finish));
  assert_true(all.bytes > 8);
  for (size_t at = 5, n = 0; n < 4; ++at) { /* one whole character */
    const int inside = ((unsigned char)all.text[at] & 0xC0) == 0x80;
    if (n && !inside) break;
    if (n || !inside) stop[n++] = all.text[at];
  }
  stops[0] = stop;
  options.user = &cut;
  options.stops = stops;
  options.stop_count = 1;
  OK(ruda_session_prompt_text(f->session, "a", 1, NULL, NULL, NULL));
  OK(ruda_session_generate(f->session, &options, &finish));
  assert_int_equal(finish, RUDA_FINISH_STOP);
  assert_null(strstr(cut.text, stop));
  assert_int_equal(strncmp(all.text, cut.text, cut.bytes), 0);
}

static void callback_ends_generation(void** state) {
  fixture* f = *state;
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  collected three = {{0}, 0, 0, 3};
  ruda_session_info info;
  uint32_t finish = 0;
  options.on_text = collect;
  options.user = &three;
  OK(ruda_session_prompt_text(f->session, "abc", 3, NULL, NULL, NULL));
  OK(ruda_session_generate(f->session, &options, &finish));
  assert_int_equal(finish, RUDA_FINISH_CALLBACK);
  info_of(f->session, &info);
  assert_int_equal(info.generated_tokens, 3);
}

/* ---- callbacks that use their session ---- */

typedef struct nested {
  ruda_session session;
  ruda_cancel cancel;
  int calls;
} nested;

static void try_session(ruda_session session) {
  uint64_t count = 0;
  int32_t token = 0;
  assert_int_equal(ruda_session_next(session, &token), RUDA_E_STATE);
  assert_non_null(strstr(expect_message(), "used from within its own callback"));
  assert_int_equal(ruda_session_prompt(session, &token, 1, NULL, NULL, NULL), RUDA_E_STATE);
  assert_int_equal(ruda_session_rewind(session, 0), RUDA_E_STATE);
  assert_int_equal(ruda_session_tokens(session, NULL, 0, &count), RUDA_E_STATE);
}

static int32_t nested_progress(void* user, uint64_t done, uint64_t total) {
  nested* n = user;
  (void)done, (void)total;
  try_session(n->session);
  if (!n->calls++) {
    OK(ruda_release(n->session));
    OK(ruda_release(n->cancel));
  }
  return 0;
}

static int32_t nested_text(void* user, const char* text, uint64_t bytes, int32_t token) {
  (void)text, (void)bytes, (void)token;
  return nested_progress(user, 0, 0);
}

static void callbacks_may_release_but_not_use(void** state) {
  fixture* f = *state;
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  nested n = {NULL, NULL, 0};
  int32_t prompt[12] = {1, 2, 3}, token = 0;
  desc.batch_tokens = 4;
  OK(ruda_session_create(f->model, &desc, &n.session));
  OK(ruda_cancel_create(&n.cancel));
  OK(ruda_session_prompt(n.session, prompt, 12, nested_progress, &n, n.cancel));
  assert_int_equal(n.calls, 3);
  assert_int_equal(ruda_session_next(n.session, &token), RUDA_E_BAD_HANDLE);
  n.calls = 0;
  OK(ruda_session_create(f->model, &desc, &n.session));
  OK(ruda_session_prompt(n.session, prompt, 12, NULL, NULL, NULL));
  options.on_text = nested_text;
  options.user = &n;
  options.max_new_tokens = 3;
  OK(ruda_cancel_create(&n.cancel));
  options.cancel = n.cancel;
  OK(ruda_session_generate(n.session, &options, NULL));
  assert_int_equal(ruda_session_next(n.session, &token), RUDA_E_BAD_HANDLE);
}

typedef struct owners {
  ruda_context context;
  ruda_store store;
} owners;

static int32_t release_owners(void* user, uint64_t done, uint64_t total) {
  owners* o = user;
  (void)done, (void)total;
  OK(ruda_release(o->context));
  OK(ruda_release(o->store));
  o->context = NULL, o->store = NULL;
  return 0;
}

/* The model keeps what it is made from, also while it is made. */
static void a_load_keeps_its_owners(void** state) {
  (void)state;
  ruda_model_desc desc = RUDA_MODEL_DESC_INIT;
  ruda_model model = NULL;
  ruda_session session = NULL;
  int32_t token = 0;
  owners o = {new_context(), NULL};
  OK(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &o.store));
  desc.progress = release_owners;
  desc.user = &o;
  OK(ruda_model_load(o.context, o.store, &desc, &model));
  assert_null(o.context);
  OK(ruda_session_create(model, NULL, &session));
  OK(ruda_session_prompt(session, &token, 1, NULL, NULL, NULL));
  OK(ruda_session_next(session, &token));
  OK(ruda_release(session));
  OK(ruda_release(model));
}

static void options_out_of_range(void** state) {
  fixture* f = *state;
  const double bad[] = {1e-46, 1e-39, 1e39, 1e300, -1};
  const char* const stops[] = {"", "\xbd", "\xff\xfe", "ok\xef\xbf"};
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  char text[1025] = "keep";
  int32_t prompt[2] = {1, 2};
  size_t i;
  for (i = 0; i < 5; ++i) {
    ruda_sampling sampling = RUDA_SAMPLING_INIT;
    sampling.repetition_penalty = bad[i];
    assert_int_equal(ruda_session_set_sampling(f->session, &sampling), RUDA_E_ARGUMENT);
    assert_non_null(strstr(expect_message(), "sampling.repetition_penalty is"));
    sampling.repetition_penalty = 0;
    sampling.temperature = bad[i];
    assert_int_equal(ruda_session_set_sampling(f->session, &sampling), RUDA_E_ARGUMENT);
  }
  assert_int_equal(ruda_session_next_text(f->session, text, sizeof text, NULL, NULL), RUDA_E_STATE);
  assert_string_equal(text, "keep");
  OK(ruda_session_prompt(f->session, prompt, 2, NULL, NULL, NULL));
  options.stop_count = 1;
  for (i = 0; i < 4; ++i) {
    options.stops = &stops[i];
    assert_int_equal(ruda_session_generate(f->session, &options, NULL), RUDA_E_ARGUMENT);
    assert_non_null(strstr(expect_message(), "options.stops[0]"));
  }
}

static int32_t stop_at_once(void* user, uint64_t done, uint64_t total) {
  ++*(int*)user;
  assert_true(done <= total);
  return 42;
}

static void progress_can_stop(void** state) {
  fixture* f = *state;
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  ruda_session session = NULL;
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  int32_t prompt[40] = {0};
  uint64_t count = 0;
  int calls = 0;
  desc.batch_tokens = 16;
  OK(ruda_session_create(f->model, &desc, &session));
  assert_int_equal(ruda_session_prompt(session, prompt, 40, stop_at_once, &calls, NULL), RUDA_E_CALLBACK);
  ruda_last_error(&info);
  assert_int_equal(info.native_code, 42);
  assert_int_equal(calls, 1);
  OK(ruda_session_tokens(session, NULL, 0, &count));
  assert_int_equal(count, 16);
  OK(ruda_session_prompt(session, prompt, 40, NULL, NULL, NULL));
  /* after the last batch too; all is computed then */
  OK(ruda_session_rewind(session, 0));
  assert_int_equal(ruda_session_prompt(session, prompt, 5, stop_at_once, &calls, NULL), RUDA_E_CALLBACK);
  OK(ruda_session_next(session, prompt));
  ruda_release(session);
}

static void cancel_leaves_the_session_usable(void** state) {
  fixture* f = *state;
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  int32_t prompt[3] = {1, 2, 3}, token = 0;
  ruda_cancel cancel = NULL;
  OK(ruda_cancel_create(&cancel));
  OK(ruda_cancel_request(cancel));
  assert_int_equal(ruda_session_prompt(f->session, prompt, 3, NULL, NULL, cancel), RUDA_E_CANCELLED);
  OK(ruda_cancel_reset(cancel));
  OK(ruda_session_prompt(f->session, prompt, 3, NULL, NULL, cancel));
  OK(ruda_cancel_request(cancel));
  options.cancel = cancel;
  assert_int_equal(ruda_session_generate(f->session, &options, NULL), RUDA_E_CANCELLED);
  OK(ruda_session_next(f->session, &token));
  ruda_release(cancel);
}

static void* cancels_soon(void* cancel) {
  usleep(20000);
  ruda_cancel_request(cancel);
  return NULL;
}

/* Each would end with another status, the template after minutes. */
static void cancel_ends_rendering_and_encoding(void** state) {
  fixture* f = *state;
  const size_t bytes = (size_t)1 << 21;
  char* text = malloc(bytes);
  const ruda_chat_message message = {"user", "x", 0};
  ruda_chat_options options = RUDA_CHAT_OPTIONS_INIT;
  ruda_cancel cancel = NULL;
  pthread_t thread;
  OK(ruda_cancel_create(&cancel));
  OK(ruda_cancel_request(cancel));
  memset(text, 'h', bytes);
  assert_int_equal(ruda_session_prompt_text(f->session, text, bytes, NULL, NULL, NULL), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_session_prompt_text(f->session, text, bytes, NULL, NULL, cancel), RUDA_E_CANCELLED);
  options.source = "{{ raise_exception('not cancelled') }}";
  assert_int_equal(ruda_session_prompt_chat(f->session, &message, 1, &options, NULL, NULL, NULL),
                   RUDA_E_ARGUMENT);
  assert_int_equal(ruda_session_prompt_chat(f->session, &message, 1, &options, NULL, NULL, cancel),
                   RUDA_E_CANCELLED);

  OK(ruda_cancel_reset(cancel));
  options.source =
      "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}"
      "{% endfor %}{% endfor %}{% endfor %}";
  options.max_steps = (uint64_t)1 << 62;
  assert_int_equal(pthread_create(&thread, NULL, cancels_soon, cancel), 0);
  assert_int_equal(ruda_session_prompt_chat(f->session, &message, 1, &options, NULL, NULL, cancel),
                   RUDA_E_CANCELLED);
  pthread_join(thread, NULL);
  ruda_release(cancel);
  free(text);
}

static void capacity_ends_generation(void** state) {
  fixture* f = *state;
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  ruda_sampling sampling = RUDA_SAMPLING_INIT;
  ruda_session session = NULL;
  int32_t prompt[17] = {0};
  uint32_t finish = 0;
  ruda_session_info info;
  desc.token_capacity = 16;
  OK(ruda_session_create(f->model, &desc, &session));
  sampling.temperature = 1;
  sampling.seed = 3;
  OK(ruda_session_set_sampling(session, &sampling));
  assert_int_equal(ruda_session_prompt(session, prompt, 17, NULL, NULL, NULL), RUDA_E_ARGUMENT);
  assert_non_null(strstr(expect_message(), "the prompt has 17 tokens, the session room for 16"));
  OK(ruda_session_prompt(session, prompt, 8, NULL, NULL, NULL));
  OK(ruda_session_generate(session, NULL, &finish));
  info_of(session, &info);
  assert_true(finish == RUDA_FINISH_CAPACITY || finish == RUDA_FINISH_EOS);
  assert_true(info.token_count <= 16);
  ruda_release(session);
}

static void same_seed_same_answer(void** state) {
  fixture* f = *state;
  ruda_sampling sampling = RUDA_SAMPLING_INIT;
  int32_t prompt[3] = {9, 8, 7}, first[24], second[24];
  uint64_t a, b;
  sampling.temperature = 1.5;
  sampling.top_k = 50;
  sampling.top_p = 0.95;
  sampling.seed = 99;
  OK(ruda_session_set_sampling(f->session, &sampling));
  a = generate(f->session, prompt, 3, first, 24);
  OK(ruda_session_set_sampling(f->session, &sampling));
  b = generate(f->session, prompt, 3, second, 24);
  assert_int_equal(a, b);
  assert_memory_equal(first, second, a * sizeof *first);
}

static void every_cache_dtype_answers(void** state) {
  fixture* f = *state;
  const uint32_t dtypes[] = {RUDA_F32, RUDA_F16, RUDA_BF16};
  int32_t prompt[5] = {10, 20, 30, 40, 50}, token = 0;
  size_t i;
  for (i = 0; i < 3; ++i) {
    ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
    ruda_session session = NULL;
    desc.cache_dtype = dtypes[i];
    OK(ruda_session_create(f->model, &desc, &session));
    OK(ruda_session_prompt(session, prompt, 5, NULL, NULL, NULL));
    OK(ruda_session_next(session, &token));
    ruda_release(session);
  }
}

static void errors(void** state) {
  fixture* f = *state;
  ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
  ruda_session session = NULL;
  int32_t bad[2] = {1, 266}, token = 0;
  char small[16];
  float logits[4];
  assert_int_equal(ruda_session_next(f->session, &token), RUDA_E_STATE);
  assert_int_equal(ruda_session_logits(f->session, logits, 4), RUDA_E_SHAPE);
  assert_int_equal(ruda_session_prompt(f->session, bad, 2, NULL, NULL, NULL), RUDA_E_INDEX);
  assert_non_null(strstr(expect_message(), "tokens[1] is 266, the vocabulary has 266"));
  assert_int_equal(ruda_session_prompt(f->session, bad, 0, NULL, NULL, NULL), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_session_prompt_chat(f->session, NULL, 0, NULL, NULL, NULL, NULL), RUDA_E_ARGUMENT);
  assert_non_null(strstr(expect_message(), "count is 0, expected at least 1 message"));
  assert_int_equal(ruda_session_prompt(f->session, NULL, 2, NULL, NULL, NULL), RUDA_E_NULL);
  assert_int_equal(ruda_session_next_text(f->session, small, sizeof small, NULL, NULL), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_session_flush_text(f->session, small, sizeof small, NULL), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_session_flush_text(f->session, NULL, 2048, NULL), RUDA_E_NULL);
  desc.cache_dtype = RUDA_I32;
  assert_int_equal(ruda_session_create(f->model, &desc, &session), RUDA_E_ARGUMENT);
  desc.cache_dtype = 0;
  desc.batch_tokens = 5000;
  assert_int_equal(ruda_session_create(f->model, &desc, &session), RUDA_E_ARGUMENT);
  assert_null(session);
}

static void chat_prompt_renders_and_answers(void** state) {
  fixture* f = *state;
  ruda_chat_message messages[2] = {{"user", "hello", 0}, {"assistant", "hi", 0}};
  char text[256];
  uint64_t needed = 0;
  int32_t token = 0;
  OK(ruda_chat_render(f->tokenizer, messages, 2, NULL, text, sizeof text, &needed));
  assert_string_equal(text,
                      "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n"
                      "<|im_start|>assistant\n");
  OK(ruda_session_prompt_text(f->session, text, needed - 1, NULL, NULL, NULL));
  OK(ruda_session_next(f->session, &token));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(prompt_in_pieces, setup, teardown),
      cmocka_unit_test_setup_teardown(common_beginning_is_reused, setup, teardown),
      cmocka_unit_test_setup_teardown(rewind_and_tokens, setup, teardown),
      cmocka_unit_test_setup_teardown(generate_delivers_what_next_text_gives, setup, teardown),
      cmocka_unit_test_setup_teardown(stop_text_ends_generation, setup, teardown),
      cmocka_unit_test_setup_teardown(callback_ends_generation, setup, teardown),
      cmocka_unit_test_setup_teardown(callbacks_may_release_but_not_use, setup, teardown),
      cmocka_unit_test(a_load_keeps_its_owners),
      cmocka_unit_test_setup_teardown(options_out_of_range, setup, teardown),
      cmocka_unit_test_setup_teardown(progress_can_stop, setup, teardown),
      cmocka_unit_test_setup_teardown(cancel_leaves_the_session_usable, setup, teardown),
      cmocka_unit_test_setup_teardown(cancel_ends_rendering_and_encoding, setup, teardown),
      cmocka_unit_test_setup_teardown(capacity_ends_generation, setup, teardown),
      cmocka_unit_test(threads_leave_the_bits),
      cmocka_unit_test_setup_teardown(same_seed_same_answer, setup, teardown),
      cmocka_unit_test_setup_teardown(every_cache_dtype_answers, setup, teardown),
      cmocka_unit_test_setup_teardown(errors, setup, teardown),
      cmocka_unit_test_setup_teardown(chat_prompt_renders_and_answers, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
