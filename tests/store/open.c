/* tests/store/open.c - opening of paths: missing, empty, directories, FIFOs, files that change. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ruda/store.h>

#include "builder.h"

static char folder[] = "/tmp/ruda-store-XXXXXX";
static char path[256];

static const char* at(const char* name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_file(const char* name, const void* data, size_t size) {
  FILE* file = fopen(at(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void expect_refused(const char* name, ruda_status status, int native, const char* text) {
  ruda_store store = (ruda_store)&store;
  assert_int_equal(ruda_store_open(at(name), NULL, &store), status);
  assert_null(store);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  assert_int_equal(ruda_last_error(&info), RUDA_OK);
  assert_int_equal(info.native_code, native);
  if (!strstr(info.message, text)) print_error("message \"%s\"\n", info.message);
  assert_non_null(strstr(info.message, text));
}

static void refuses_paths(void** state) {
  (void)state;
  expect_refused("absent", RUDA_E_NOT_FOUND, ENOENT, "absent");
  write_file("plain", "x", 1);
  expect_refused("plain/inside", RUDA_E_NOT_FOUND, ENOTDIR, "plain/inside");
  expect_refused("", RUDA_E_IO, EISDIR, folder);
  write_file("empty", "", 0);
  expect_refused("empty", RUDA_E_FORMAT, 0, "the file is empty");
  expect_refused("plain", RUDA_E_FORMAT, 0, "magic at byte 0 needs 4 bytes, the file has 1 left");
  assert_int_equal(mkfifo(at("fifo"), 0600), 0);
  expect_refused("fifo", RUDA_E_IO, EINVAL, "not a regular file");
  ruda_store store;
  assert_int_equal(ruda_store_open(NULL, NULL, &store), RUDA_E_NULL);
  assert_int_equal(ruda_store_open("x", NULL, NULL), RUDA_E_NULL);
}

static void notices_a_changed_size(void** state) {
  (void)state;
  builder b = {0};
  put_header(&b, 3, 1, 0);
  put_tensor(&b, "t", 1, (int64_t[]){4}, 0, 0);
  pad(&b, 32);
  const float values[] = {1, 2, 3, 4};
  put(&b, values, sizeof values);
  write_file("model", b.data, b.size);
  ruda_store store;
  assert_int_equal(ruda_store_open(at("model"), NULL, &store), RUDA_OK);
  const void* data;
  uint64_t bytes;
  assert_int_equal(ruda_store_data(store, 0, &data, &bytes), RUDA_OK);
  assert_int_equal(bytes, sizeof values);
  assert_memory_equal(data, values, sizeof values);
  assert_int_equal(truncate(at("model"), (off_t)b.size - 4), 0);
  assert_int_equal(ruda_store_data(store, 0, &data, &bytes), RUDA_E_IO);
  assert_null(data);
  ruda_release(store);
  free(b.data);
}

/* Data may be used after the file is deleted: the mapping holds it. */
static void survives_deletion(void** state) {
  (void)state;
  builder b = {0};
  put_header(&b, 3, 0, 1);
  put_key_text(&b, "k", "value");
  write_file("gone", b.data, b.size);
  ruda_store store;
  assert_int_equal(ruda_store_open(at("gone"), NULL, &store), RUDA_OK);
  assert_int_equal(unlink(at("gone")), 0);
  char text[16];
  assert_int_equal(ruda_store_meta_text(store, 0, 0, text, sizeof text, NULL), RUDA_OK);
  assert_string_equal(text, "value");
  ruda_release(store);
  free(b.data);
}

static int make_folder(void** state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void** state) {
  (void)state;
  const char* names[] = {"plain", "empty", "fifo", "model", "gone"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) unlink(at(names[i]));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_paths),
      cmocka_unit_test(notices_a_changed_size),
      cmocka_unit_test(survives_deletion),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
