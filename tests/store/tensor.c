/* tests/store/tensor.c - tensors on mapped bytes and copies of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include <ruda/store.h>

#include "builder.h"

static ruda_context make_context(void) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  ruda_context context;
  assert_int_equal(ruda_context_create(&desc, &context), RUDA_OK);
  return context;
}

static builder file(void) {
  builder b = {0};
  put_header(&b, 3, 3, 0);
  put_tensor(&b, "floats", 2, (int64_t[]){3, 2}, 0, 0);
  put_tensor(&b, "blocks", 1, (int64_t[]){32}, 2, 32);
  put_tensor(&b, "exotic", 1, (int64_t[]){256}, 16, 64);
  pad(&b, 32);
  for (int i = 0; i < 6; ++i) put_f32(&b, (float)i / 4);
  pad(&b, 32);
  for (int i = 0; i < 18; ++i) put_u8(&b, (uint8_t)(i * 7));
  pad(&b, 32);
  put_zeros(&b, 66);
  return b;
}

static int freed;
static void count_free(void* user, void* data) {
  (void)user;
  free(data);
  ++freed;
}

static void* shifted; /* freed by the test */
static ruda_store open_aligned(size_t shift) {
  builder b = file();
  unsigned char* copy = aligned_alloc(64, (b.size + shift + 63) / 64 * 64);
  assert_non_null(copy);
  memcpy(copy + shift, b.data, b.size);
  if (shift) shifted = copy;
  ruda_store store;
  assert_int_equal(
      ruda_store_open_memory(copy + shift, b.size, NULL, shift ? NULL : count_free, NULL, &store), RUDA_OK);
  free(b.data);
  return store;
}

static void maps_without_a_copy(void** state) {
  (void)state;
  freed = 0;
  ruda_context context = make_context();
  ruda_store store = open_aligned(0);
  const void* bytes;
  assert_int_equal(ruda_store_data(store, 0, &bytes, NULL), RUDA_OK);
  ruda_tensor tensor;
  assert_int_equal(ruda_store_tensor(store, context, 0, &tensor), RUDA_OK);
  void* data;
  uint64_t size;
  assert_int_equal(ruda_tensor_get_data(tensor, &data, &size), RUDA_OK);
  assert_ptr_equal(data, bytes);
  assert_int_equal(size, 24);
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  assert_int_equal(ruda_tensor_get_desc(tensor, &desc), RUDA_OK);
  assert_int_equal(desc.dtype, RUDA_F32);
  assert_int_equal(desc.rank, 2);
  assert_int_equal(desc.shape[0], 2);
  assert_int_equal(desc.shape[1], 3);
  assert_true(desc.flags & RUDA_TENSOR_READ_ONLY);
  /* The tensor and a view of it hold the mapping, whatever is released first. */
  ruda_release(store);
  ruda_tensor view;
  const int64_t flat[] = {6};
  assert_int_equal(ruda_tensor_view(tensor, flat, 1, &view), RUDA_OK);
  ruda_release(tensor);
  assert_int_equal(freed, 0);
  ruda_stream stream;
  assert_int_equal(ruda_stream_create(context, 0, &stream), RUDA_OK);
  float values[6];
  assert_int_equal(ruda_tensor_read(stream, view, values, sizeof values), RUDA_OK);
  for (int i = 0; i < 6; ++i) assert_true(values[i] == (float)i / 4);
  assert_int_equal(ruda_tensor_write(stream, view, values, sizeof values), RUDA_E_ARGUMENT);
  ruda_release(view);
  assert_int_equal(freed, 1);
  ruda_release(stream);
  uint64_t live = 9;
  assert_int_equal(ruda_context_live_objects(context, &live), RUDA_OK);
  assert_int_equal(live, 0);
  ruda_release(context);
}

static void loads_a_copy(void** state) {
  (void)state;
  freed = 0;
  ruda_context context = make_context();
  ruda_stream stream;
  assert_int_equal(ruda_stream_create(context, 0, &stream), RUDA_OK);
  ruda_store store = open_aligned(0);
  ruda_tensor tensor;
  assert_int_equal(ruda_store_load(store, stream, 1, &tensor), RUDA_OK);
  ruda_release(store);
  assert_int_equal(freed, 1);
  unsigned char values[18];
  assert_int_equal(ruda_tensor_read(stream, tensor, values, sizeof values), RUDA_OK);
  for (int i = 0; i < 18; ++i) assert_int_equal(values[i], (uint8_t)(i * 7));
  ruda_release(tensor);
  ruda_release(stream);
  ruda_release(context);
}

static void refuses(void** state) {
  (void)state;
  ruda_context context = make_context();
  ruda_store store = open_aligned(0);
  ruda_tensor tensor = (ruda_tensor)&tensor;
  assert_int_equal(ruda_store_tensor(store, context, 2, &tensor), RUDA_E_UNSUPPORTED);
  assert_null(tensor);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  assert_non_null(strstr(info.message, "\"exotic\" is of type IQ2_XXS"));
  assert_int_equal(ruda_store_tensor(store, context, 3, &tensor), RUDA_E_INDEX);
  assert_int_equal(ruda_store_tensor((ruda_store)context, context, 0, &tensor), RUDA_E_BAD_HANDLE);
  assert_int_equal(ruda_store_tensor(store, NULL, 0, &tensor), RUDA_E_NULL);
  assert_int_equal(ruda_store_tensor(store, context, 0, NULL), RUDA_E_NULL);
  ruda_release(store);
  store = open_aligned(1);
  const void* data;
  assert_int_equal(ruda_store_data(store, 0, &data, NULL), RUDA_OK);
  assert_int_equal(ruda_store_tensor(store, context, 0, &tensor), RUDA_E_ARGUMENT);
  ruda_release(store);
  free(shifted);
  ruda_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_without_a_copy),
      cmocka_unit_test(loads_a_copy),
      cmocka_unit_test(refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
