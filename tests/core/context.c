/* tests/core/context.c - contexts, streams, events, reports, limits and the caller's threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <pthread.h>

static void probes_backends(void** state) {
  (void)state;
  uint32_t count = 99;
  OK(ruda_backend_probe(RUDA_BACKEND_CPU, &count));
  assert_int_equal(count, 1);
  FAILS(ruda_backend_probe(RUDA_BACKEND_CPU, NULL), RUDA_E_NULL, 1, "out_device_count is NULL");
  FAILS(ruda_backend_probe(0, &count), RUDA_E_ARGUMENT, 0, "backend is 0, expected 1 (CPU) or 2 (CUDA)");
  assert_int_equal(count, 0);
  FAILS(ruda_backend_probe(3, &count), RUDA_E_ARGUMENT, 0, "backend is 3");
  count = 99;
  const ruda_status status = ruda_backend_probe(RUDA_BACKEND_CUDA, &count);
  if (status == RUDA_OK)
    assert_true(count >= 1);
  else {
    assert_true(status == RUDA_E_BACKEND_MISSING || status == RUDA_E_NOT_BUILT);
    assert_int_equal(count, 0);
    assert_true(strlen(expect_message()) > 10);
  }
}

static void reports_backends(void** state) {
  (void)state;
  uint64_t needed = 0;
  OK(ruda_backend_report(NULL, 0, &needed));
  assert_true(needed > 20 && needed < 100000);
  char* text = malloc(needed + 8);
  memset(text, 'z', needed + 8);
  OK(ruda_backend_report(text, needed, NULL));
  assert_int_equal(strlen(text) + 1, needed);
  assert_int_equal(text[needed], 'z');
  assert_non_null(strstr(text, "CPU: "));
  assert_non_null(strstr(text, "CUDA"));
  /* A buffer that is too small gets the beginning and its NUL. */
  memset(text, 'z', 8);
  uint64_t again = 0;
  OK(ruda_backend_report(text, 5, &again));
  assert_int_equal(again, needed);
  assert_int_equal(strlen(text), 4);
  assert_int_equal(text[5], 'z');
  OK(ruda_backend_report(text, 1, NULL));
  assert_string_equal(text, "");
  FAILS(ruda_backend_report(NULL, 5, NULL), RUDA_E_NULL, 0, "text is NULL with capacity 5");
  free(text);
}

static void refuses_descriptors(void** state) {
  (void)state;
  ruda_context context = (ruda_context)&context;
  FAILS(ruda_context_create(NULL, &context), RUDA_E_NULL, 0, "desc is NULL");
  assert_null(context);
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  FAILS(ruda_context_create(&desc, NULL), RUDA_E_NULL, 1, "out is NULL");
  desc.backend = 7;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "backend is 7");
  desc.backend = RUDA_BACKEND_CPU;
  desc.device = 1;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "device is 1, the CPU backend has only");
  desc.device = -1;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "device is -1");
  desc.device = 0;
  desc.host_threads = 4097;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "host_threads is 4097, expected 0..4096");
  desc.host_threads = 0;
  desc.log_level = 5;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "log_level is 5, expected 0..4");
  desc.log_level = 0;
  const ruda_ext unknown = {77, 0, NULL}, skipped = {78, 1, NULL};
  desc.next = &unknown;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_STRUCT_TOO_NEW, 0, "extension type 77 is not known");
  assert_null(context);
  desc.next = &skipped;
  OK(ruda_context_create(&desc, &context));
  OK(ruda_release(context));
}

static void describes_itself(void** state) {
  (void)state;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_threads = 3;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  ruda_context_info info;
  memset(&info, 0xA5, sizeof info);
  info.struct_size = sizeof info;
  OK(ruda_context_get_info(context, &info));
  assert_int_equal(info.backend, RUDA_BACKEND_CPU);
  assert_int_equal(info.device, 0);
  assert_int_equal(info.host_threads, 3);
  assert_true(strncmp(info.device_name, "cpu ", 4) == 0);
  assert_int_equal(info.allocated_bytes, 0);
  FAILS(ruda_context_get_info(context, NULL), RUDA_E_NULL, 1, "inout is NULL");
  info.struct_size = 4;
  FAILS(ruda_context_get_info(context, &info), RUDA_E_ARGUMENT, 1, "struct_size is 4, expected sizeof");

  const int64_t shape[1] = {1000};
  ruda_tensor tensor = new_tensor(context, RUDA_F32, 1, shape);
  info.struct_size = sizeof info;
  OK(ruda_context_get_info(context, &info));
  assert_true(info.allocated_bytes >= 4000 && info.allocated_bytes <= 5120);
  assert_true(info.peak_bytes >= info.allocated_bytes);
  const uint64_t held = info.allocated_bytes;
  OK(ruda_release(tensor));
  OK(ruda_context_get_info(context, &info));
  assert_int_equal(info.allocated_bytes, 0);
  assert_int_equal(info.cached_bytes, held);
  assert_int_equal(info.peak_bytes, held);
  OK(ruda_context_trim(context));
  OK(ruda_context_get_info(context, &info));
  assert_int_equal(info.cached_bytes, 0);
  OK(ruda_release(context));
}

static void keeps_its_memory_limit(void** state) {
  (void)state;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.memory_limit_bytes = 10000;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  const int64_t small[1] = {1024}, large[1] = {4096};
  ruda_tensor first = new_tensor(context, RUDA_F32, 1, small), second = NULL;
  const ruda_tensor_desc too_large = tensor_desc(RUDA_F32, 1, large);
  FAILS(ruda_tensor_create(context, &too_large, &second), RUDA_E_BUDGET, -1, "limit 10000");
  assert_null(second);
  ruda_workspace workspace = (ruda_workspace)&workspace;
  FAILS(ruda_workspace_create(context, 9000, &workspace), RUDA_E_BUDGET, -1, "limit 10000");
  assert_null(workspace);
  second = new_tensor(context, RUDA_F32, 1, small);
  OK(ruda_release(first));
  OK(ruda_release(second));
  /* What was freed can be had again, also as one piece. */
  const int64_t whole[1] = {2048};
  second = new_tensor(context, RUDA_F32, 1, whole);
  OK(ruda_release(second));
  OK(ruda_release(context));
}

static void orders_streams_and_events(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_stream stream = (ruda_stream)&stream;
  FAILS(ruda_stream_create(context, 1, &stream), RUDA_E_ARGUMENT, 1, "flags is 1, expected 0");
  assert_null(stream);
  FAILS(ruda_stream_create(context, 0, NULL), RUDA_E_NULL, 2, "out is NULL");
  FAILS(ruda_stream_wrap(context, NULL, 0, &stream), RUDA_E_UNSUPPORTED, 0, "no native streams");
  FAILS(ruda_stream_wrap(context, NULL, 2, &stream), RUDA_E_ARGUMENT, 2, "flags is 2, expected 0 or 1");
  stream = new_stream(context);
  OK(ruda_stream_sync(stream));
  OK(ruda_stream_query(stream));

  ruda_event first = NULL, second = NULL;
  OK(ruda_event_create(context, &first));
  OK(ruda_event_create(context, &second));
  FAILS(ruda_event_create(context, NULL), RUDA_E_NULL, 1, "out is NULL");
  double seconds = 5;
  FAILS(ruda_event_elapsed(first, second, &seconds), RUDA_E_STATE, 0, "from: was not recorded");
  assert_true(seconds == 0);
  OK(ruda_event_sync(first));
  OK(ruda_stream_wait(stream, first));
  OK(ruda_event_record(first, stream));
  FAILS(ruda_event_elapsed(first, second, &seconds), RUDA_E_STATE, 1, "to: was not recorded");
  FAILS(ruda_event_elapsed(first, second, NULL), RUDA_E_NULL, 2, "out_seconds is NULL");
  OK(ruda_event_record(second, stream));
  OK(ruda_event_elapsed(first, second, &seconds));
  assert_true(seconds >= 0 && seconds < 60);
  OK(ruda_stream_wait(stream, second));

  ruda_context other = new_context();
  ruda_stream foreign = new_stream(other);
  ruda_event theirs = NULL;
  OK(ruda_event_create(other, &theirs));
  FAILS(ruda_event_record(first, foreign), RUDA_E_ARGUMENT, 1, "belongs to another context than the event");
  OK(ruda_event_record(theirs, foreign));
  FAILS(ruda_event_elapsed(first, theirs, &seconds), RUDA_E_ARGUMENT, 1, "another context");
  OK(ruda_stream_wait(stream, theirs));
  OK(ruda_release(theirs));
  OK(ruda_release(foreign));
  OK(ruda_release(other));

  ruda_graph graph = (ruda_graph)&graph;
  FAILS(ruda_capture_begin(stream), RUDA_E_UNSUPPORTED, 0, "");
  FAILS(ruda_capture_end(stream, &graph), RUDA_E_STATE, 0, "stream: is not under capture");
  assert_null(graph);
  OK(ruda_release(first));
  OK(ruda_release(second));
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

/* ---- the log ---- */

struct lines {
  pthread_mutex_t mutex;
  int count;
  uint32_t level;
  char text[256];
};

static void keep_line(void* user, uint32_t level, const char* component, const char* text) {
  struct lines* lines = user;
  pthread_mutex_lock(&lines->mutex);
  ++lines->count;
  lines->level = level;
  snprintf(lines->text, sizeof lines->text, "%s %s", component, text);
  pthread_mutex_unlock(&lines->mutex);
}

static void writes_its_log(void** state) {
  (void)state;
  struct lines lines = {PTHREAD_MUTEX_INITIALIZER, 0, 0, ""};
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.log = keep_line;
  desc.log_user = &lines;
  desc.log_level = RUDA_LOG_DEBUG;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  assert_int_equal(lines.count, 1);
  assert_int_equal(lines.level, RUDA_LOG_INFO);
  assert_non_null(strstr(lines.text, "context cpu "));
  ruda_plan plan = new_rms_norm(context, 2, 8);
  assert_int_equal(lines.count, 2);
  assert_int_equal(lines.level, RUDA_LOG_DEBUG);
  assert_non_null(strstr(lines.text, "plan rms_norm: cpu/rms_norm/"));
  OK(ruda_release(plan));

  /* The default level leaves debug lines out; without a callback lines wait. */
  OK(ruda_log_set(context, keep_line, &lines, 0));
  OK(ruda_release(new_rms_norm(context, 2, 9)));
  assert_int_equal(lines.count, 2);
  OK(ruda_log_set(context, NULL, NULL, RUDA_LOG_DEBUG));
  for (int i = 0; i < 3; ++i) OK(ruda_release(new_rms_norm(context, 2, 10 + i)));
  assert_int_equal(lines.count, 2);
  char text[1024];
  uint64_t used = 0;
  OK(ruda_log_drain(context, text, sizeof text, &used));
  assert_int_equal(used, strlen(text));
  assert_true(strncmp(text, "debug plan rms_norm: ", 21) == 0);
  int breaks = 0;
  for (const char* at = text; *at; ++at) breaks += *at == '\n';
  assert_int_equal(breaks, 3);
  OK(ruda_log_drain(context, text, sizeof text, &used));
  assert_int_equal(used, 0);
  assert_string_equal(text, "");
  /* More lines than are kept: the oldest are counted. */
  for (int i = 0; i < 300; ++i) OK(ruda_release(new_rms_norm(context, 3, 16)));
  OK(ruda_log_drain(context, text, sizeof text, &used));
  assert_non_null(strstr(text, "warning log 44 older lines were dropped\n"));
  assert_true(used < sizeof text && text[used - 1] == '\n');
  int total = 0;
  while (used) {
    for (const char* at = text; *at; ++at) total += *at == '\n';
    OK(ruda_log_drain(context, text, sizeof text, &used));
  }
  assert_int_equal(total, 257);

  FAILS(ruda_log_drain(context, text, 1023, &used), RUDA_E_ARGUMENT, 2,
        "capacity is 1023, expected at least");
  FAILS(ruda_log_drain(context, NULL, 1024, &used), RUDA_E_NULL, 1, "text is NULL");
  FAILS(ruda_log_set(context, NULL, NULL, 5), RUDA_E_ARGUMENT, 3, "level is 5, expected 0..4");
  OK(ruda_release(context));
}

/* ---- threads of the host ---- */

struct pool {
  int calls, parts, answer;
};

static int32_t run_parts(void* user, uint32_t parts, void (*task)(void* arg, uint32_t part), void* arg) {
  struct pool* pool = user;
  ++pool->calls;
  pool->parts += (int)parts;
  if (pool->answer) return pool->answer;
  for (uint32_t part = parts; part-- > 0;) task(arg, part);
  return 0;
}

static void uses_threads_of_the_host(void** state) {
  (void)state;
  struct pool pool = {0, 0, 0};
  ruda_host_pool hook = {(uint32_t)sizeof(ruda_host_pool), 4, &pool, run_parts};
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_pool = &hook;
  ruda_context hosted = NULL;
  OK(ruda_context_create(&desc, &hosted));
  ruda_context_info info = {(uint32_t)sizeof info, 0, 0, 0, NULL, 0, 0, 0};
  OK(ruda_context_get_info(hosted, &info));
  assert_int_equal(info.host_threads, 4);
  ruda_context own = new_context();
  ruda_context contexts[2] = {hosted, own};
  enum { rows = 512, cols = 512 };
  const int64_t shape[2] = {rows, cols};
  static float results[2][rows * cols];
  for (int i = 0; i < 2; ++i) {
    ruda_stream stream = new_stream(contexts[i]);
    ruda_tensor x = new_counting(contexts[i], stream, 2, shape);
    ruda_tensor gamma = new_counting(contexts[i], stream, 1, shape + 1), y = NULL;
    OK(ruda_rms_norm(stream, x, gamma, 1e-5, &y));
    OK(ruda_tensor_read(stream, y, results[i], sizeof results[i]));
    OK(ruda_release(y));
    if (i == 0) {
      assert_true(pool.calls > 0 && pool.parts > pool.calls);
      pool.answer = -12;
      y = (ruda_tensor)&y;
      assert_int_equal(ruda_rms_norm(stream, x, gamma, 1e-5, &y), RUDA_E_CALLBACK);
      assert_null(y);
      ruda_error_info error = RUDA_ERROR_INFO_INIT;
      OK(ruda_last_error(&error));
      assert_int_equal(error.native_code, -12);
      pool.answer = 0;
      OK(ruda_rms_norm(stream, x, gamma, 1e-5, &y));
      OK(ruda_release(y));
    }
    OK(ruda_release(x));
    OK(ruda_release(gamma));
    OK(ruda_release(stream));
    assert_int_equal(live_objects(contexts[i]), 0);
    OK(ruda_release(contexts[i]));
  }
  assert_memory_equal(results[0], results[1], sizeof results[0]);

  ruda_context context = (ruda_context)&context;
  hook.size = 0;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "host_pool: size is 0, expected 1..4096");
  assert_null(context);
  hook.size = 2;
  hook.parallel = NULL;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_NULL, 0, "host_pool: parallel is NULL");
}

struct recorder {
  ruda_event event, from;
  ruda_stream stream;
  int failures;
};

static void* record_often(void* user) {
  struct recorder* recorder = (struct recorder*)user;
  for (int i = 0; i < 1000; ++i) {
    double seconds = -1;
    recorder->failures += ruda_event_record(recorder->event, recorder->stream) != RUDA_OK;
    recorder->failures += ruda_event_elapsed(recorder->from, recorder->event, &seconds) != RUDA_OK;
    recorder->failures += !(seconds >= 0);
  }
  return NULL;
}

/* One event, recorded and read by two threads at once. */
static void records_an_event_from_threads(void** state) {
  (void)state;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  struct recorder recorders[2];
  memset(recorders, 0, sizeof recorders);
  OK(ruda_event_create(context, &recorders[0].event));
  OK(ruda_event_create(context, &recorders[0].from));
  for (int i = 0; i < 2; ++i) {
    OK(ruda_stream_create(context, 0, &recorders[i].stream));
    recorders[i].event = recorders[0].event;
    recorders[i].from = recorders[0].from;
  }
  OK(ruda_event_record(recorders[0].from, recorders[0].stream));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, record_often, &recorders[1]), 0);
  record_often(&recorders[0]);
  pthread_join(thread, NULL);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(recorders[i].failures, 0);
    OK(ruda_release(recorders[i].stream));
  }
  OK(ruda_release(recorders[0].event));
  OK(ruda_release(recorders[0].from));
  OK(ruda_release(context));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(probes_backends),
      cmocka_unit_test(reports_backends),
      cmocka_unit_test(refuses_descriptors),
      cmocka_unit_test(describes_itself),
      cmocka_unit_test(keeps_its_memory_limit),
      cmocka_unit_test(orders_streams_and_events),
      cmocka_unit_test(writes_its_log),
      cmocka_unit_test(uses_threads_of_the_host),
      cmocka_unit_test(records_an_event_from_threads),
  };
  return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
