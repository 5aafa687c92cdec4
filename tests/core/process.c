/* tests/core/process.c - forked children, exit with live objects, threads that outlive their handles. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"
#include "support/sanitizer_fork.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t shape[2] = {256, 1024};

/* Work that is large enough for the context's threads. */
static ruda_status work(ruda_stream stream, ruda_tensor x, ruda_tensor gamma) {
  ruda_tensor y = NULL;
  ruda_status status = ruda_rms_norm(stream, x, gamma, 1e-5, &y);
  if (!status) status = ruda_stream_sync(stream);
  if (!status) status = ruda_release(y);
  return status;
}

/* Runs `body` in a child and returns its exit code; a child that hangs is killed and gives -1. */
static int in_child(int (*body)(void*), void* arg) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(body(arg));
  for (int i = 0; i < 3000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    usleep(10000);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return -1;
}

struct objects {
  ruda_context context;
  ruda_stream stream;
  ruda_tensor x, gamma;
};

static int child_works(void* arg) {
  struct objects* o = arg;
  for (int i = 0; i < 20; ++i)
    if (work(o->stream, o->x, o->gamma) != RUDA_OK) return 10;
  ruda_context fresh = NULL;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_threads = 2;
  if (ruda_context_create(&desc, &fresh) != RUDA_OK) return 11;
  if (ruda_release(fresh) != RUDA_OK) return 12;
  if (ruda_release(o->x) || ruda_release(o->gamma) || ruda_release(o->stream) || ruda_release(o->context))
    return 13;
  return 0;
}

static int child_exits(void* arg) {
  struct objects* o = arg;
  if (work(o->stream, o->x, o->gamma) != RUDA_OK) return 10;
  exit(0); /* runs destructors with everything alive */
}

static void works_in_a_forked_child(void** state) {
  (void)state;
  if (!sanitizer_forks()) skip();
  struct objects o;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_threads = 4;
  OK(ruda_context_create(&desc, &o.context));
  o.stream = new_stream(o.context);
  o.x = new_counting(o.context, o.stream, 2, shape);
  o.gamma = new_counting(o.context, o.stream, 1, shape + 1);
  /* Before the parent's threads started, and after. */
  assert_int_equal(in_child(child_works, &o), 0);
  OK(work(o.stream, o.x, o.gamma));
  for (int i = 0; i < 5; ++i) {
    assert_int_equal(in_child(child_works, &o), 0);
    OK(work(o.stream, o.x, o.gamma));
  }
  assert_int_equal(in_child(child_exits, &o), 0);
  OK(work(o.stream, o.x, o.gamma));
  OK(ruda_release(o.x));
  OK(ruda_release(o.gamma));
  OK(ruda_release(o.stream));
  assert_int_equal(live_objects(o.context), 0);
  OK(ruda_release(o.context));
}

static void* last_release(void* arg) { return ruda_release(arg) == RUDA_OK ? NULL : "release"; }

static void dies_on_another_thread(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_stream stream = new_stream(context);
  ruda_tensor x = new_counting(context, stream, 2, shape),
              gamma = new_counting(context, stream, 1, shape + 1);
  OK(work(stream, x, gamma));
  OK(ruda_release(context));
  OK(ruda_release(gamma));
  OK(ruda_release(x));
  pthread_t thread;
  void* problem = NULL;
  assert_int_equal(pthread_create(&thread, NULL, last_release, stream), 0);
  pthread_join(thread, &problem);
  assert_null(problem);
  FAILS(ruda_context_trim(context), RUDA_E_BAD_HANDLE, 0, "released");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(works_in_a_forked_child),
      cmocka_unit_test(dies_on_another_thread),
  };
  return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
