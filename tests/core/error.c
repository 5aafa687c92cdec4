/* tests/core/error.c - status names, the error record and its growth, records of threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <pthread.h>

static void names_statuses(void** state) {
  (void)state;
  assert_string_equal(ruda_status_name(RUDA_OK), "RUDA_OK");
  assert_string_equal(ruda_status_name(RUDA_END_OF_DATA), "RUDA_END_OF_DATA");
  assert_string_equal(ruda_status_name(RUDA_E_SHAPE), "RUDA_E_SHAPE");
  assert_string_equal(ruda_status_name(RUDA_E_INTERNAL), "RUDA_E_INTERNAL");
  for (ruda_status s = -3; s < 10000; ++s) {
    const char* name = ruda_status_name(s);
    assert_non_null(name);
    assert_true(strncmp(name, "RUDA_", 5) == 0);
  }
  assert_string_equal(ruda_status_name(999), "RUDA_E_UNKNOWN");
  assert_string_equal(ruda_status_name(INT32_MIN), "RUDA_E_UNKNOWN");
  assert_int_equal(ruda_api_level(), RUDA_API_LEVEL);
  assert_true(strlen(ruda_version()) >= 5);
}

static void* fresh_thread(void* arg) {
  ruda_error_info* info = arg;
  ruda_last_error(info);
  return NULL;
}

static void starts_empty(void** state) {
  (void)state;
  OK(ruda_status_name(0) ? RUDA_OK : RUDA_E_INTERNAL);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, fresh_thread, &info), 0);
  pthread_join(thread, NULL);
  assert_int_equal(info.status, RUDA_OK);
  assert_int_equal(info.arg_index, -1);
  assert_int_equal(info.native_code, 0);
}

static void fills_the_record(void** state) {
  (void)state;
  FAILS(ruda_retain(NULL), RUDA_E_NULL, 0, "handle is NULL");
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  OK(ruda_last_error(&info));
  assert_int_equal(info.struct_size, sizeof info);
  assert_int_equal(info.status, RUDA_E_NULL);
  assert_int_equal(info.arg_index, 0);
  assert_int_equal(info.native_code, 0);
  assert_string_equal(info.native_library, "");
  assert_string_equal(info.function, "ruda_retain");
  /* A success leaves the record alone. */
  OK(ruda_release(NULL));
  ruda_error_info again = RUDA_ERROR_INFO_INIT;
  OK(ruda_last_error(&again));
  assert_int_equal(again.status, RUDA_E_NULL);
  assert_ptr_equal(again.message, info.message);
}

static void refuses_bad_records(void** state) {
  (void)state;
  FAILS(ruda_retain(NULL), RUDA_E_NULL, 0, "");
  assert_int_equal(ruda_last_error(NULL), RUDA_E_NULL);
  for (uint32_t size = 0; size < 8; ++size) {
    ruda_error_info info;
    memset(&info, 0x5A, sizeof info);
    info.struct_size = size;
    assert_int_equal(ruda_last_error(&info), RUDA_E_ARGUMENT);
    assert_int_equal(info.status, 0x5A5A5A5A);
  }
  /* Neither of them is a failure that is recorded. */
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  OK(ruda_last_error(&info));
  assert_string_equal(info.function, "ruda_retain");
}

static void writes_only_what_fits(void** state) {
  (void)state;
  FAILS(ruda_retain(NULL), RUDA_E_NULL, 0, "");
  for (uint32_t size = 8; size <= sizeof(ruda_error_info) + 24; size += 8) {
    unsigned char raw[sizeof(ruda_error_info) + 64];
    memset(raw, 0xA5, sizeof raw);
    memcpy(raw, &size, sizeof size);
    OK(ruda_last_error((ruda_error_info*)(void*)raw));
    const uint32_t known = (uint32_t)sizeof(ruda_error_info), end = size < known ? size : known;
    for (uint32_t i = end; i < sizeof raw; ++i) assert_int_equal(raw[i], 0xA5);
    uint32_t kept;
    memcpy(&kept, raw, sizeof kept);
    assert_int_equal(kept, size);
  }
}

static void quotes_text_verbatim(void** state) {
  (void)state;
  char text[64];
  FAILS(ruda_op_kernels("%s%n%d", RUDA_BACKEND_CPU, text, sizeof text, NULL), RUDA_E_NOT_FOUND, 0,
        "\"%s%n%d\"");
  FAILS(ruda_op_kernels("line\nbreak", RUDA_BACKEND_CPU, text, sizeof text, NULL), RUDA_E_NOT_FOUND, 0,
        "\"line\\x0abreak\"");
  /* A mark of direction and a C1 control would change how what follows is shown. */
  FAILS(
      ruda_op_kernels("\xe2\x80\xae\xd8\x9c\xc2\x9b\xe2\x82\xac", RUDA_BACKEND_CPU, text, sizeof text, NULL),
      RUDA_E_NOT_FOUND, 0, "\"\\xe2\\x80\\xae\\xd8\\x9c\\xc2\\x9b\xe2\x82\xac\"");
  FAILS(ruda_op_kernels("a\x1b[31m\xff\x7f \xc3\xa4", RUDA_BACKEND_CPU, text, sizeof text, NULL),
        RUDA_E_NOT_FOUND, 0, "\"a\\x1b[31m\\xff\\x7f \xc3\xa4\"");
  /* A very long name is cut to 80 bytes, at the end of a character; what is expected stands behind it. */
  static char name[5000];
  memset(name, 'n', sizeof name - 1);
  FAILS(ruda_op_kernels(name, RUDA_BACKEND_CPU, text, sizeof text, NULL), RUDA_E_NOT_FOUND, 0,
        "nnnn\"..., which this library does not have");
  for (size_t i = 1; i + 2 < sizeof name; i += 2) memcpy(name + i, "\xc3\xa9", 2);
  FAILS(ruda_op_kernels(name, RUDA_BACKEND_CPU, text, sizeof text, NULL), RUDA_E_NOT_FOUND, 0,
        "\xc3\xa9\"..., which this library does not have");
}

/* ---- eight threads that fail in their own ways see their own text ---- */

enum { thread_count = 8, rounds = 2000 };

static void* fail_often(void* arg) {
  const int number = (int)(intptr_t)arg;
  char name[32], text[16], want[64];
  snprintf(name, sizeof name, "operator_of_%d", number);
  snprintf(want, sizeof want, "\"operator_of_%d\"", number);
  for (int i = 0; i < rounds; ++i) {
    if (ruda_op_kernels(name, RUDA_BACKEND_CPU, text, sizeof text, NULL) != RUDA_E_NOT_FOUND) return "status";
    if (number % 2 && ruda_release(NULL) != RUDA_OK) return "release";
    ruda_error_info info = RUDA_ERROR_INFO_INIT;
    ruda_last_error(&info);
    if (!strstr(info.message, want)) return "text of another thread";
    if (strcmp(info.function, "ruda_op_kernels") != 0) return "function of another thread";
  }
  return NULL;
}

static void keeps_threads_apart(void** state) {
  (void)state;
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, fail_often, (void*)(intptr_t)i), 0);
  for (int i = 0; i < thread_count; ++i) {
    void* problem = NULL;
    pthread_join(threads[i], &problem);
    if (problem) fail_msg("thread %d: %s", i, (const char*)problem);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_statuses),        cmocka_unit_test(starts_empty),
      cmocka_unit_test(fills_the_record),      cmocka_unit_test(refuses_bad_records),
      cmocka_unit_test(writes_only_what_fits), cmocka_unit_test(quotes_text_verbatim),
      cmocka_unit_test(keeps_threads_apart),
  };
  return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
