/* tests/store/gguf.c - GGUF files, good and hostile, through the C API. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include <ruda/store.h>

#include "builder.h"

#define MAX INT64_MAX

/* An exact heap copy, so that a sanitizer sees any read past the end. */
static ruda_status open_bytes(const unsigned char* data, size_t size, ruda_store* out, void** copy) {
  *copy = malloc(size ? size : 1);
  if (size) memcpy(*copy, data, size);
  return ruda_store_open_memory(*copy, size, NULL, NULL, NULL, out);
}

static void expect_refused(builder* b, ruda_status status, const char* text) {
  ruda_store store = (ruda_store)&store;
  void* copy;
  const ruda_status found = open_bytes(b->data, b->size, &store, &copy);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  assert_int_equal(ruda_last_error(&info), RUDA_OK);
  if (found != status || !strstr(info.message, text))
    print_error("status %d, message \"%s\", expected %d and \"%s\"\n", found, info.message, status, text);
  assert_int_equal(found, status);
  assert_non_null(strstr(info.message, text));
  assert_string_equal(info.function, "ruda_store_open_memory");
  assert_null(store);
  free(copy);
  free(b->data);
  memset(b, 0, sizeof *b);
}

/* One tensor "t" whose data section holds `data_bytes`. */
static builder one_tensor(uint32_t rank, const int64_t* dims, uint32_t type, uint64_t offset,
                          size_t data_bytes) {
  builder b = {0};
  put_header(&b, 3, 1, 0);
  put_tensor(&b, "t", rank, dims, type, offset);
  pad(&b, 32);
  put_zeros(&b, data_bytes);
  return b;
}

static builder good_file(void) {
  builder b = {0};
  put_header(&b, 3, 3, 7);
  put_key_text(&b, "general.architecture", "llama");
  put_key_u32(&b, "general.alignment", 64);
  put_text(&b, "names");
  put_u32(&b, 9);
  put_u32(&b, 8);
  put_u64(&b, 3);
  put_text(&b, "a");
  put_bytes(&b, "b\0c", 3);
  put_text(&b, "");
  put_text(&b, "scale");
  put_u32(&b, 6);
  put_f32(&b, 0.5f);
  put_text(&b, "negative");
  put_u32(&b, 5);
  put_u32(&b, (uint32_t)-7);
  put_text(&b, "yes");
  put_u32(&b, 7);
  put_u8(&b, 1);
  put_text(&b, "huge");
  put_u32(&b, 10);
  put_u64(&b, UINT64_MAX);
  put_tensor(&b, "weight", 2, (int64_t[]){64, 3}, 3, 0); /* Q4_1: 6 blocks of 20 bytes */
  put_tensor(&b, "bias", 1, (int64_t[]){3}, 0, 128);
  put_tensor(&b, "one", 0, NULL, 24, 192);
  pad(&b, 64);
  for (int i = 0; i < 193; ++i) put_u8(&b, (uint8_t)i);
  return b;
}

static void reads_a_file(void** state) {
  (void)state;
  builder b = good_file();
  ruda_store store;
  void* copy;
  assert_int_equal(open_bytes(b.data, b.size, &store, &copy), RUDA_OK);
  uint32_t format, version;
  assert_int_equal(ruda_store_get_format(store, &format, &version), RUDA_OK);
  assert_int_equal(format, RUDA_STORE_GGUF);
  assert_int_equal(version, 3);
  uint64_t count, index;
  assert_int_equal(ruda_store_count(store, &count), RUDA_OK);
  assert_int_equal(count, 3);
  assert_int_equal(ruda_store_find(store, "bias", &index), RUDA_OK);
  assert_int_equal(index, 1);
  ruda_store_info info = RUDA_STORE_INFO_INIT;
  assert_int_equal(ruda_store_get_info(store, 0, &info), RUDA_OK);
  assert_string_equal(info.name, "weight");
  assert_int_equal(info.dtype, RUDA_Q4_1);
  assert_int_equal(info.rank, 2);
  assert_int_equal(info.shape[0], 3);
  assert_int_equal(info.shape[1], 64);
  assert_int_equal(info.bytes, 120);
  const size_t section = b.size - 193;
  assert_int_equal(info.offset_bytes, section);
  const void* data;
  uint64_t bytes;
  assert_int_equal(ruda_store_data(store, 1, &data, &bytes), RUDA_OK);
  assert_int_equal(bytes, 12);
  assert_memory_equal(data, b.data + section + 128, 12);
  assert_int_equal(ruda_store_get_info(store, 2, &info), RUDA_OK);
  assert_int_equal(info.rank, 0);
  assert_int_equal(info.dtype, RUDA_I8);
  assert_int_equal(info.bytes, 1);
  const char* name;
  assert_int_equal(ruda_store_name(store, 2, &name), RUDA_OK);
  assert_string_equal(name, "one");
  ruda_release(store);
  free(copy);
  free(b.data);
}

static uint64_t meta(ruda_store store, const char* key) {
  uint64_t index = 99;
  assert_int_equal(ruda_store_meta_find(store, key, &index), RUDA_OK);
  return index;
}

static void reads_metadata(void** state) {
  (void)state;
  builder b = good_file();
  ruda_store store;
  void* copy;
  assert_int_equal(open_bytes(b.data, b.size, &store, &copy), RUDA_OK);
  uint64_t count;
  assert_int_equal(ruda_store_meta_count(store, &count), RUDA_OK);
  assert_int_equal(count, 7);
  ruda_meta_info info = RUDA_META_INFO_INIT;
  assert_int_equal(ruda_store_meta_get_info(store, meta(store, "names"), &info), RUDA_OK);
  assert_string_equal(info.key, "names");
  assert_int_equal(info.dtype, RUDA_META_STRING);
  assert_int_equal(info.is_array, 1);
  assert_int_equal(info.count, 3);
  const char* data;
  uint64_t bytes;
  assert_int_equal(ruda_store_meta_string(store, 2, 1, &data, &bytes), RUDA_OK);
  assert_int_equal(bytes, 3);
  assert_memory_equal(data, "b\0c", 3);
  assert_int_equal(ruda_store_meta_string(store, 2, 2, &data, &bytes), RUDA_OK);
  assert_int_equal(bytes, 0);
  assert_int_equal(ruda_store_meta_string(store, 2, 3, &data, &bytes), RUDA_E_INDEX);
  assert_null(data);

  char text[8];
  uint64_t needed;
  memset(text, 'x', sizeof text);
  assert_int_equal(ruda_store_meta_text(store, 0, 0, text, 4, &needed), RUDA_OK);
  assert_string_equal(text, "lla");
  assert_int_equal(text[4], 'x');
  assert_int_equal(needed, 6);
  assert_int_equal(ruda_store_meta_text(store, 0, 0, NULL, 0, &needed), RUDA_OK);
  assert_int_equal(needed, 6);
  assert_int_equal(ruda_store_meta_text(store, 0, 0, NULL, 4, &needed), RUDA_E_NULL);

  int64_t i;
  uint64_t u;
  double f;
  assert_int_equal(ruda_store_meta_u64(store, meta(store, "general.alignment"), 0, &u), RUDA_OK);
  assert_int_equal(u, 64);
  assert_int_equal(ruda_store_meta_f64(store, meta(store, "scale"), 0, &f), RUDA_OK);
  assert_true(f == 0.5);
  assert_int_equal(ruda_store_meta_i64(store, meta(store, "scale"), 0, &i), RUDA_E_DTYPE);
  assert_int_equal(ruda_store_meta_i64(store, meta(store, "negative"), 0, &i), RUDA_OK);
  assert_true(i == -7);
  assert_int_equal(ruda_store_meta_u64(store, meta(store, "negative"), 0, &u), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_store_meta_f64(store, meta(store, "negative"), 0, &f), RUDA_OK);
  assert_true(f == -7);
  assert_int_equal(ruda_store_meta_i64(store, meta(store, "yes"), 0, &i), RUDA_OK);
  assert_int_equal(i, 1);
  assert_int_equal(ruda_store_meta_i64(store, meta(store, "huge"), 0, &i), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_store_meta_u64(store, meta(store, "huge"), 0, &u), RUDA_OK);
  assert_true(u == UINT64_MAX);
  assert_int_equal(ruda_store_meta_f64(store, meta(store, "names"), 0, &f), RUDA_E_DTYPE);
  assert_int_equal(ruda_store_meta_u64(store, 7, 0, &u), RUDA_E_INDEX);
  assert_int_equal(ruda_store_meta_find(store, "absent", &u), RUDA_E_NOT_FOUND);
  assert_int_equal(ruda_store_find(store, "absent", &u), RUDA_E_NOT_FOUND);
  assert_int_equal(ruda_store_get_info(store, 3, &(ruda_store_info)RUDA_STORE_INFO_INIT), RUDA_E_INDEX);
  ruda_release(store);
  free(copy);
  free(b.data);
}

/* Every prefix of a good file is refused; none is read past its end. */
static void refuses_every_truncation(void** state) {
  (void)state;
  builder b = good_file();
  for (size_t size = 0; size < b.size; ++size) {
    ruda_store store;
    void* copy;
    assert_int_equal(open_bytes(b.data, size, &store, &copy), RUDA_E_FORMAT);
    assert_null(store);
    free(copy);
  }
  free(b.data);
}

static void refuses_headers(void** state) {
  (void)state;
  builder b = {0};
  expect_refused(&b, RUDA_E_FORMAT, "the file is empty");
  put(&b, "GGML", 4);
  put_zeros(&b, 20);
  expect_refused(&b, RUDA_E_FORMAT, "starts with \"GGML\", expected \"GGUF\"");
  put_header(&b, 1, 0, 0);
  expect_refused(&b, RUDA_E_UNSUPPORTED, "version is 1, expected 2 or 3");
  put_header(&b, 4, 0, 0);
  expect_refused(&b, RUDA_E_UNSUPPORTED, "version is 4");
  put_header(&b, 0x03000000, 0, 0);
  expect_refused(&b, RUDA_E_UNSUPPORTED, "big-endian");
  put_header(&b, 3, UINT64_MAX, 0);
  expect_refused(&b, RUDA_E_FORMAT, "tensor count is 18446744073709551615");
  put_header(&b, 3, 0, 1ull << 60);
  expect_refused(&b, RUDA_E_FORMAT, "key count is 1152921504606846976");
}

static void refuses_metadata(void** state) {
  (void)state;
  builder b = {0};
  put_header(&b, 3, 0, 1);
  put_key_u32(&b, "", 1);
  expect_refused(&b, RUDA_E_FORMAT, "is empty");

  put_header(&b, 3, 0, 2);
  put_key_u32(&b, "k", 1);
  put_key_u32(&b, "k", 2);
  expect_refused(&b, RUDA_E_FORMAT, "key \"k\" stands twice");

  put_header(&b, 3, 0, 1);
  put_text(&b, "k");
  put_u32(&b, 13);
  put_u64(&b, 0);
  expect_refused(&b, RUDA_E_FORMAT, "type of key \"k\" is 13");

  put_header(&b, 3, 0, 1); /* string length 2^63 */
  put_text(&b, "k");
  put_u32(&b, 8);
  put_u64(&b, 1ull << 63);
  expect_refused(&b, RUDA_E_FORMAT, "needs 9223372036854775808 bytes");

  put_header(&b, 3, 0, 1); /* array of 2^60 strings */
  put_text(&b, "k");
  put_u32(&b, 9);
  put_u32(&b, 8);
  put_u64(&b, 1ull << 60);
  expect_refused(&b, RUDA_E_FORMAT, "holds 1152921504606846976 strings");

  put_header(&b, 3, 0, 1); /* 2^62 * 4 bytes wraps to 0 */
  put_text(&b, "k");
  put_u32(&b, 9);
  put_u32(&b, 4);
  put_u64(&b, 1ull << 62);
  expect_refused(&b, RUDA_E_FORMAT, "holds 4611686018427387904 elements");

  put_header(&b, 3, 0, 1);
  put_text(&b, "k");
  put_u32(&b, 9);
  put_u32(&b, 9);
  put_u64(&b, 0);
  expect_refused(&b, RUDA_E_UNSUPPORTED, "array of arrays");

  put_header(&b, 3, 0, 1);
  put_text(&b, "k");
  put_u32(&b, 7);
  put_u8(&b, 2);
  expect_refused(&b, RUDA_E_FORMAT, "boolean of key \"k\" is 2");

  put_header(&b, 3, 0, 1);
  put_bytes(&b, "a\0b", 3);
  put_u32(&b, 4);
  put_u32(&b, 4);
  expect_refused(&b, RUDA_E_FORMAT, "holds a NUL byte");

  const uint32_t alignments[] = {0, 3, 4, 24, 33};
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; ++i) {
    put_header(&b, 3, 0, 1);
    put_key_u32(&b, "general.alignment", alignments[i]);
    expect_refused(&b, RUDA_E_FORMAT, "expected a power of two");
  }
  put_header(&b, 3, 0, 1);
  put_key_text(&b, "general.alignment", "32");
  expect_refused(&b, RUDA_E_FORMAT, "general.alignment is of type string");

  put_header(&b, 3, 0, 2);
  put_key_u32(&b, "split.no", 1);
  put_key_u32(&b, "split.count", 3);
  expect_refused(&b, RUDA_E_UNSUPPORTED, "part 1 (from 0) of 3");
}

static void refuses_extents(void** state) {
  (void)state;
  static const struct {
    uint32_t rank;
    int64_t dims[4];
    uint32_t type;
    ruda_status status;
    const char* text;
  } cases[] = {
      {2, {MAX, 2}, 24, RUDA_E_FORMAT, "element count does not fit"},
      {2, {1ll << 32, 1ll << 32}, 0, RUDA_E_FORMAT, "element count does not fit"},
      {2, {1ll << 62, 4}, 0, RUDA_E_FORMAT, "element count does not fit"},
      {3, {1ll << 32, 1ll << 31, 2}, 0, RUDA_E_FORMAT, "element count does not fit"},
      {3, {MAX, 2, 0}, 0, RUDA_E_FORMAT, "element count does not fit"},
      {3, {0, MAX, 2}, 0, RUDA_E_FORMAT, "dims[0] is 0, must be at least 1"},
      {1, {0}, 0, RUDA_E_FORMAT, "dims[0] is 0, must be at least 1"},
      {1, {-1}, 0, RUDA_E_FORMAT, "dims[0] is -1"},
      {2, {4, INT64_MIN}, 0, RUDA_E_FORMAT, "dims[1] is -9223372036854775808"},
      {1, {(1ll << 61) + 1}, 0, RUDA_E_FORMAT, "byte count of"},
      {1, {1ll << 62}, 28, RUDA_E_FORMAT, "byte count of"},
      {1, {(1ll << 42) + 1}, 0, RUDA_E_FORMAT, "do not fit the"},
      {1, {33}, 2, RUDA_E_FORMAT, "must be a multiple of the 32 elements of a Q4_0 block"},
      {1, {128}, 12, RUDA_E_FORMAT, "must be a multiple of the 256 elements of a Q4_K block"},
      {1, {32}, 4, RUDA_E_FORMAT, "type 4, which the format has removed"},
      {1, {32}, 38, RUDA_E_FORMAT, "type 38, which the format has removed"},
      {1, {32}, 43, RUDA_E_UNSUPPORTED, "type 43, the newest known is 42"},
      {1, {32}, UINT32_MAX, RUDA_E_UNSUPPORTED, "type 4294967295"},
      {1, {33}, 0, RUDA_E_FORMAT, "132 bytes at offset 0 do not fit the 128 bytes"},
      {1, {1ll << 40}, 0, RUDA_E_FORMAT, "do not fit the 128 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    builder b = one_tensor(cases[i].rank, cases[i].dims, cases[i].type, 0, 128);
    expect_refused(&b, cases[i].status, cases[i].text);
  }
  builder b = {0}; /* rank above 4, with and without bytes for the extents */
  put_header(&b, 3, 1, 0);
  put_text(&b, "t");
  put_u32(&b, 9);
  put_zeros(&b, 9 * 8 + 64);
  expect_refused(&b, RUDA_E_FORMAT, "rank 9, at most 4");
  put_header(&b, 3, 1, 0);
  put_text(&b, "t");
  put_u32(&b, UINT32_MAX);
  put_zeros(&b, 64);
  expect_refused(&b, RUDA_E_FORMAT, "rank 4294967295");
}

static void refuses_places(void** state) {
  (void)state;
  const int64_t four[] = {4}, sixteen[] = {16};
  builder b = one_tensor(1, four, 0, 16, 128);
  expect_refused(&b, RUDA_E_FORMAT, "offset 16 is not a multiple of the alignment 32");
  b = one_tensor(1, four, 0, 128, 128);
  expect_refused(&b, RUDA_E_FORMAT, "at offset 128 do not fit");
  b = one_tensor(1, four, 0, UINT64_MAX - 31, 128); /* offset + size would wrap */
  expect_refused(&b, RUDA_E_FORMAT, "at offset 18446744073709551584 do not fit");

  put_header(&b, 3, 2, 0);
  put_tensor(&b, "a", 1, sixteen, 0, 0);
  put_tensor(&b, "b", 1, four, 0, 32);
  pad(&b, 32);
  put_zeros(&b, 128);
  expect_refused(&b, RUDA_E_FORMAT, "tensors \"a\" and \"b\" overlap");

  put_header(&b, 3, 2, 0); /* two names, one range */
  put_tensor(&b, "a", 1, four, 0, 0);
  put_tensor(&b, "b", 1, four, 0, 0);
  pad(&b, 32);
  put_zeros(&b, 128);
  expect_refused(&b, RUDA_E_FORMAT, "overlap");

  put_header(&b, 3, 2, 0);
  put_tensor(&b, "a", 1, four, 0, 0);
  put_tensor(&b, "a", 1, four, 0, 32);
  pad(&b, 32);
  put_zeros(&b, 128);
  expect_refused(&b, RUDA_E_FORMAT, "tensor \"a\" stands twice");

  put_header(&b, 3, 1, 0);
  put_tensor(&b, "", 1, four, 0, 0);
  put_zeros(&b, 128);
  expect_refused(&b, RUDA_E_FORMAT, "is empty");

  char name[2000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  put_header(&b, 3, 1, 0);
  put_tensor(&b, name, 1, four, 0, 0);
  put_zeros(&b, 128);
  expect_refused(&b, RUDA_E_FORMAT, "has 1999 bytes");
}

/* Gaps between tensors and tensors out of order are legal here; a file with nothing in it too. */
static void accepts_oddities(void** state) {
  (void)state;
  const int64_t four[] = {4};
  builder b = {0};
  put_header(&b, 2, 2, 0);
  put_tensor(&b, "late", 1, four, 0, 96);
  put_tensor(&b, "early", 1, four, 0, 0);
  pad(&b, 32);
  put_zeros(&b, 112);
  ruda_store store;
  void* copy;
  assert_int_equal(open_bytes(b.data, b.size, &store, &copy), RUDA_OK);
  ruda_release(store);
  free(copy);
  b.size = 0;
  put_header(&b, 3, 0, 0);
  assert_int_equal(open_bytes(b.data, b.size, &store, &copy), RUDA_OK);
  uint64_t count = 9;
  assert_int_equal(ruda_store_count(store, &count), RUDA_OK);
  assert_int_equal(count, 0);
  ruda_release(store);
  free(copy);
  free(b.data);
}

static void keeps_limits(void** state) {
  (void)state;
  builder b = good_file();
  ruda_store store;
  ruda_store_desc desc = RUDA_STORE_DESC_INIT;
  desc.max_tensors = 2;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, &desc, NULL, NULL, &store), RUDA_E_BUDGET);
  desc.max_tensors = 3;
  desc.max_meta = 6;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, &desc, NULL, NULL, &store), RUDA_E_BUDGET);
  desc.max_meta = 7;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, &desc, NULL, NULL, &store), RUDA_OK);
  ruda_release(store);
  desc.format = 7;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, &desc, NULL, NULL, &store), RUDA_E_ARGUMENT);
  free(b.data);
}

static void count_free(void* user, void* data) {
  (void)data;
  ++*(int*)user;
}

static void gives_memory_back(void** state) {
  (void)state;
  builder b = good_file();
  int freed = 0;
  ruda_store store;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, NULL, count_free, &freed, &store), RUDA_OK);
  assert_int_equal(freed, 0);
  ruda_release(store);
  assert_int_equal(freed, 1);
  assert_int_equal(ruda_store_open_memory(b.data, 10, NULL, count_free, &freed, &store), RUDA_E_FORMAT);
  assert_int_equal(freed, 1);
  assert_int_equal(ruda_store_open_memory(NULL, 10, NULL, NULL, NULL, &store), RUDA_E_NULL);
  assert_int_equal(ruda_store_open_memory(b.data, b.size, NULL, NULL, NULL, NULL), RUDA_E_NULL);
  free(b.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_a_file),
      cmocka_unit_test(reads_metadata),
      cmocka_unit_test(refuses_every_truncation),
      cmocka_unit_test(refuses_headers),
      cmocka_unit_test(refuses_metadata),
      cmocka_unit_test(refuses_extents),
      cmocka_unit_test(refuses_places),
      cmocka_unit_test(accepts_oddities),
      cmocka_unit_test(keeps_limits),
      cmocka_unit_test(gives_memory_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
