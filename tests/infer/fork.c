/* tests/infer/fork.c - forks while other threads are inside the library: each child does their work. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"
#include "support/sanitizer_fork.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Threads and children do the same jobs. A job returns NULL, or the call that failed: asserting would end the
   test on another thread. */
#define TRY(call)                        \
  do {                                   \
    if ((call) != RUDA_OK) return #call; \
  } while (0)

typedef struct world {
  ruda_context context;
  ruda_plan tuned;
  ruda_store store;
  ruda_tokenizer tokenizer;
  ruda_model model;
  char tune_file[64];
  _Atomic int lines, stop;
} world;

static void RUDA_CALL count_line(void* user, uint32_t level, const char* component, const char* text) {
  world* w = user;
  (void)level, (void)component, (void)text;
  ++w->lines;
}

/* Handles, memory, layouts, the cache of plans and the threads of the context. */
static const char* calls_eagerly(world* w, unsigned round) {
  const int64_t shape[2] = {1 + round % 61, 1 + round % 1021};
  const ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape);
  ruda_stream stream = NULL;
  ruda_tensor x = NULL, y = NULL;
  void* data = NULL;
  float value = 0;
  TRY(ruda_stream_create(w->context, 0, &stream));
  TRY(ruda_tensor_create(w->context, &desc, &x));
  float* zeros = calloc((size_t)(shape[0] * shape[1]), sizeof *zeros);
  const ruda_status status = ruda_tensor_write(stream, x, zeros, (uint64_t)(shape[0] * shape[1]) * 4);
  free(zeros);
  TRY(status);
  TRY(ruda_softmax(stream, x, &y));
  TRY(ruda_tensor_get_data(y, &data, NULL));
  memcpy(&value, data, sizeof value);
  if (value * (float)shape[1] < 0.999f || value * (float)shape[1] > 1.001f) return "the sum of softmax";
  TRY(ruda_release(x));
  TRY(ruda_release(y));
  TRY(ruda_release(stream));
  return round % 16 ? NULL : ruda_context_trim(w->context) ? "trim" : NULL;
}

/* The log: lines on threads that plan, another callback, lines that wait. */
static const char* logs(world* w, unsigned round) {
  char text[1024];
  const int64_t shape[2] = {3, 1 + round % 7};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;
  TRY(ruda_log_set(w->context, round % 4 ? count_line : NULL, w, RUDA_LOG_DEBUG));
  for (int i = 0; i < 8; ++i) {
    ruda_plan plan = NULL;
    TRY(ruda_rms_norm_plan_create(w->context, &desc, &plan));
    TRY(ruda_release(plan));
  }
  TRY(ruda_log_drain(w->context, text, sizeof text, NULL));
  return NULL;
}

/* Contexts come and go; autotuning of a plan that all share, and of new ones that write the file. */
static const char* tunes(world* w, unsigned round) {
  const int64_t shape[2] = {1 + round % 5, 16 + round % 3};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  ruda_context_desc context_desc = RUDA_CONTEXT_DESC_INIT;
  ruda_context context = NULL;
  ruda_stream stream = NULL;
  ruda_plan plan = NULL;
  char text[4096];
  options.autotune = 1;
  desc.options = &options;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;
  context_desc.backend = RUDA_BACKEND_CPU;
  context_desc.host_threads = 2;
  context_desc.tune_file = w->tune_file;
  TRY(ruda_context_create(&context_desc, &context));
  TRY(ruda_stream_create(context, 0, &stream));
  TRY(ruda_rms_norm_plan_create(context, &desc, &plan));
  TRY(ruda_plan_warm(plan, stream));
  TRY(ruda_plan_explain(plan, text, sizeof text, NULL));
  TRY(ruda_release(plan));
  TRY(ruda_release(stream));
  TRY(ruda_release(context));
  TRY(ruda_stream_create(w->context, 0, &stream));
  TRY(ruda_plan_warm(w->tuned, stream));
  TRY(ruda_release(stream));
  TRY(ruda_plan_explain(w->tuned, text, sizeof text, NULL));
  return NULL;
}

/* Strings of a file, tokens, templates, an answer. */
static const char* reads_and_answers(world* w, unsigned round) {
  const ruda_chat_message message = {"user", "the other thing", 0};
  ruda_store store = w->store;
  ruda_tokenizer tokenizer = w->tokenizer;
  uint64_t at = 0, count = 0;
  const char* string = NULL;
  char text[512];
  int32_t tokens[128], token = 0;
  const int fresh = round % 3 == 0;
  if (fresh) {
    TRY(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &store));
    TRY(ruda_tokenizer_from_store(store, NULL, &tokenizer));
  }
  TRY(ruda_store_meta_find(store, "tokenizer.ggml.tokens", &at));
  TRY(ruda_store_meta_string(store, at, 17, &string, &count));
  TRY(ruda_chat_render(tokenizer, &message, 1, NULL, text, sizeof text, NULL));
  TRY(ruda_tokenizer_encode(tokenizer, text, strlen(text), 0, tokens, 128, &count));
  if (fresh) {
    TRY(ruda_release(tokenizer));
    TRY(ruda_release(store));
  }
  ruda_session session = NULL;
  TRY(ruda_session_create(w->model, NULL, &session));
  TRY(ruda_session_prompt(session, tokens, count < 8 ? count : 8, NULL, NULL, NULL));
  for (int i = 0; i < 2; ++i) TRY(ruda_session_next(session, &token));
  TRY(ruda_release(session));
  return NULL;
}

static const char* (*const jobs[])(world*, unsigned) = {calls_eagerly, logs, tunes, reads_and_answers};
enum { job_count = sizeof jobs / sizeof *jobs };

typedef struct worker {
  world* world;
  unsigned seed;
  pthread_t thread;
} worker;

static void* works(void* arg) {
  worker* self = arg;
  for (unsigned round = self->seed; !self->world->stop; ++round) {
    const char* problem = jobs[self->seed % job_count](self->world, round);
    if (problem) {
      fprintf(stderr, "%s: %s\n", problem, expect_message());
      return (void*)problem;
    }
  }
  return NULL;
}

/* In the child: exits with 0, or is killed by the alarm when it hangs. */
static void child(world* w, unsigned round) {
  alarm(sanitizer_hangs() ? 15 : 60);
  for (unsigned i = 0; i < job_count; ++i) {
    const char* problem = jobs[(round + i) % job_count](w, round * 7 + i);
    if (problem) {
      fprintf(stderr, "child: %s: %s\n", problem, expect_message());
      _exit(10);
    }
  }
  if (ruda_log_set(w->context, NULL, NULL, RUDA_LOG_DEBUG)) _exit(11);
  if (ruda_release(w->tuned) || ruda_release(w->tokenizer)) _exit(12);
  _exit(0);
}

static void forks_while_others_work(void** state) {
  (void)state;
  if (!sanitizer_forks()) {
    print_message("skipped: this address sanitizer does not survive the fork of a process with threads\n");
    skip();
  }
  enum { thread_count = 6 };
  const unsigned forks = RUDA_TEST_SANITIZED ? 12 : 60;
  const int64_t shape[2] = {64, 256};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  world w = {.tune_file = "/tmp/ruda_fork_XXXXXX"};
  const int descriptor = mkstemp(w.tune_file);
  assert_true(descriptor >= 0);
  close(descriptor);
  unlink(w.tune_file);
  ruda_context_desc context_desc = RUDA_CONTEXT_DESC_INIT;
  context_desc.backend = RUDA_BACKEND_CPU;
  context_desc.host_threads = 3;
  OK(ruda_context_create(&context_desc, &w.context));
  OK(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &w.store));
  OK(ruda_model_load(w.context, w.store, NULL, &w.model));
  OK(ruda_model_get_tokenizer(w.model, &w.tokenizer));
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  options.autotune = 1;
  desc.options = &options;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;

  worker workers[thread_count];
  unsigned bad = 0, left_out = 0;
  int status = 0;
  for (unsigned round = 0; round < forks && !bad; ++round) {
    /* Now and then all starts anew: the shared plan is being timed while the process forks. */
    if (round % 6 == 0) {
      OK(ruda_rms_norm_plan_create(w.context, &desc, &w.tuned));
      w.stop = 0;
      for (unsigned i = 0; i < thread_count; ++i) {
        workers[i] = (worker){&w, i, 0};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, works, workers + i), 0);
      }
    }
    usleep(500 * (round % 5));
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) child(&w, round);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    const int hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (hung && sanitizer_hangs())
      ++left_out;
    else
      bad += status != 0;
    if (round % 6 == 5 || round + 1 == forks || bad) {
      w.stop = 1;
      for (unsigned i = 0; i < thread_count; ++i) {
        void* problem = NULL;
        pthread_join(workers[i].thread, &problem);
        bad += problem != NULL;
      }
      OK(ruda_release(w.tuned));
    }
    if (bad) print_error("fork %u: the child ended with %d (14 = it hung)\n", round, status);
  }
  unlink(w.tune_file);
  assert_int_equal(bad, 0);
  assert_true(left_out < forks / 2);
  assert_true(w.lines > 0);

  OK(ruda_log_set(w.context, NULL, NULL, 0));
  OK(ruda_release(w.tokenizer));
  OK(ruda_release(w.model));
  OK(ruda_release(w.store));
  assert_int_equal(live_objects(w.context), 0);
  OK(ruda_release(w.context));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forks_while_others_work)};
  return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
