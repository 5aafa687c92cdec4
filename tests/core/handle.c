/* tests/core/handle.c - references, stale and foreign handles, release in any order, live-object counts. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <pthread.h>

static const int64_t shape[2] = {3, 4};

static void refuses_null(void** state) {
  (void)state;
  OK(ruda_release(NULL));
  FAILS(ruda_retain(NULL), RUDA_E_NULL, 0, "handle is NULL");
  ruda_stream stream = (ruda_stream)&stream;
  FAILS(ruda_stream_create(NULL, 0, &stream), RUDA_E_NULL, 0, "context: handle is NULL, expected a context");
  FAILS(ruda_event_sync(NULL), RUDA_E_NULL, 0, "event: handle is NULL, expected an event");
  assert_null(stream);
}

static void notices_double_release(void** state) {
  (void)state;
  ruda_context context = new_context();
  OK(ruda_release(context));
  FAILS(ruda_release(context), RUDA_E_BAD_HANDLE, 0, "released or never valid");
  FAILS(ruda_retain(context), RUDA_E_BAD_HANDLE, 0, "released or never valid");
  uint64_t live = 77;
  FAILS(ruda_context_live_objects(context, &live), RUDA_E_BAD_HANDLE, 0,
        "context: handle was released or never valid, expected a context");
  assert_int_equal(live, 0);
}

static void notices_foreign_types(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_stream stream = new_stream(context);
  ruda_tensor tensor = new_tensor(context, RUDA_F32, 2, shape);
  uint64_t live = 0;
  FAILS(ruda_context_live_objects((ruda_context)(void*)stream, &live), RUDA_E_BAD_HANDLE, 0,
        "context: handle is a stream, expected a context");
  FAILS(ruda_stream_sync((ruda_stream)(void*)tensor), RUDA_E_BAD_HANDLE, 0,
        "stream: handle is a tensor, expected a stream");
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  FAILS(ruda_tensor_get_desc((ruda_tensor)(void*)context, &desc), RUDA_E_BAD_HANDLE, 0,
        "handle is a context, expected a tensor");
  FAILS(ruda_cancel_request((ruda_cancel)(void*)tensor), RUDA_E_BAD_HANDLE, 0, "expected a cancel");
  OK(ruda_release(tensor));
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

static void notices_addresses_that_are_no_cell(void** state) {
  (void)state;
  _Alignas(64) static unsigned char zeros[128];
  FAILS(ruda_release(zeros), RUDA_E_BAD_HANDLE, 0, "never valid");
  FAILS(ruda_release(zeros + 1), RUDA_E_BAD_HANDLE, 0, "never valid");
  FAILS(ruda_retain((void*)3), RUDA_E_BAD_HANDLE, 0, "never valid");
  FAILS(ruda_stream_sync((ruda_stream)(void*)(zeros + 8)), RUDA_E_BAD_HANDLE, 0, "never valid");
}

static void notices_stale_handles_among_new_ones(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_event old = NULL;
  OK(ruda_event_create(context, &old));
  OK(ruda_release(old));
  /* Cells rest before they are used again: a hundred newer objects do not revive the handle. */
  ruda_event young[100];
  for (int i = 0; i < 100; ++i) {
    OK(ruda_event_create(context, &young[i]));
    assert_ptr_not_equal(young[i], old);
    FAILS(ruda_event_sync(old), RUDA_E_BAD_HANDLE, 0, "released or never valid");
  }
  for (int i = 0; i < 100; ++i) OK(ruda_release(young[i]));
  OK(ruda_release(context));
}

static void counts_references(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_tensor tensor = new_tensor(context, RUDA_F32, 2, shape);
  for (int i = 0; i < 5; ++i) OK(ruda_retain(tensor));
  for (int i = 0; i < 5; ++i) {
    OK(ruda_release(tensor));
    assert_int_equal(live_objects(context), 1);
  }
  OK(ruda_release(tensor));
  assert_int_equal(live_objects(context), 0);
  OK(ruda_release(context));
}

/* Every order of releasing five related objects; the last child takes the context with it. */
static void releases_in_any_order(void** state) {
  (void)state;
  for (int code = 0; code < 120; ++code) {
    ruda_context context = new_context();
    void* objects[5];
    objects[0] = context;
    objects[1] = new_stream(context);
    objects[2] = new_tensor(context, RUDA_F32, 2, shape);
    ruda_tensor view = NULL;
    const uint32_t axes[2] = {1, 0};
    OK(ruda_tensor_permute(objects[2], axes, 2, &view));
    objects[3] = view;
    objects[4] = new_rms_norm(context, 3, 4);
    assert_int_equal(live_objects(context), 4);
    int rest = code;
    for (int left = 5; left > 0; --left) {
      const int at = rest % left;
      rest /= left;
      OK(ruda_release(objects[at]));
      objects[at] = objects[left - 1];
    }
    FAILS(ruda_context_trim(context), RUDA_E_BAD_HANDLE, 0, "released");
  }
}

static void children_keep_the_context(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_stream stream = new_stream(context);
  ruda_tensor tensor = new_counting(context, stream, 2, shape);
  OK(ruda_release(context));
  ruda_context again = NULL;
  OK(ruda_tensor_get_context(tensor, &again));
  assert_ptr_equal(again, context);
  assert_int_equal(live_objects(again), 2);
  float values[12];
  OK(ruda_tensor_read(stream, tensor, values, sizeof values));
  assert_true(values[11] == 11.0f);
  OK(ruda_release(again));
  OK(ruda_release(tensor));
  OK(ruda_stream_get_context(stream, &again));
  assert_int_equal(live_objects(again), 1);
  OK(ruda_release(stream));
  OK(ruda_release(again));
}

static void* churn(void* arg) {
  ruda_tensor tensor = arg;
  for (int i = 0; i < 20000; ++i) {
    if (ruda_retain(tensor) != RUDA_OK) return "retain";
    ruda_tensor view = NULL;
    const int64_t flat[1] = {12};
    if (i % 16 == 0) {
      if (ruda_tensor_view(tensor, flat, 1, &view) != RUDA_OK) return "view";
      if (ruda_release(view) != RUDA_OK) return "release of a view";
    }
    if (ruda_release(tensor) != RUDA_OK) return "release";
  }
  return NULL;
}

static void counts_from_many_threads(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_tensor tensor = new_tensor(context, RUDA_F32, 2, shape);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, churn, tensor), 0);
  for (int i = 0; i < 4; ++i) {
    void* problem = NULL;
    pthread_join(threads[i], &problem);
    if (problem) fail_msg("%s", (const char*)problem);
  }
  assert_int_equal(live_objects(context), 1);
  uint64_t users = 0;
  OK(ruda_tensor_storage_users(tensor, &users));
  assert_int_equal(users, 1);
  OK(ruda_release(tensor));
  OK(ruda_release(context));
}

/* Tensors and workspaces of one context, made and released by several threads, a view before or after what it
   looks at. */
static void* make_and_release(void* arg) {
  ruda_context context = arg;
  for (int i = 0; i < 5000; ++i) {
    const int64_t sizes[1] = {1 + i % 7 * 100}, flat[2] = {1, sizes[0]};
    const ruda_tensor_desc desc = tensor_desc(RUDA_F32, 1, sizes);
    ruda_tensor tensor = NULL, view = NULL;
    ruda_workspace workspace = NULL;
    uint64_t users = 0;
    void *data = NULL, *same = NULL;
    if (ruda_tensor_create(context, &desc, &tensor) != RUDA_OK) return "create";
    if (ruda_workspace_create(context, 1000, &workspace) != RUDA_OK) return "workspace";
    if (ruda_tensor_view(tensor, flat, 2, &view) != RUDA_OK) return "view";
    if (ruda_tensor_get_data(tensor, &data, NULL) != RUDA_OK) return "data";
    memset(data, i, (size_t)sizes[0] * 4);
    if (ruda_release(i % 2 ? tensor : view) != RUDA_OK) return "the first release";
    ruda_tensor left = i % 2 ? view : tensor;
    if (ruda_tensor_storage_users(left, &users) != RUDA_OK || users != 1) return "users";
    if (ruda_tensor_get_data(left, &same, NULL) != RUDA_OK || same != data) return "data of what is left";
    if (((unsigned char*)same)[sizes[0] * 4 - 1] != (unsigned char)i) return "another thread's bytes";
    if (ruda_release(left) != RUDA_OK || ruda_release(workspace) != RUDA_OK) return "the last release";
  }
  return NULL;
}

static void makes_from_many_threads(void** state) {
  (void)state;
  ruda_context context = new_context();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    assert_int_equal(pthread_create(&threads[i], NULL, make_and_release, context), 0);
  for (int i = 0; i < 4; ++i) {
    void* problem = NULL;
    pthread_join(threads[i], &problem);
    if (problem) fail_msg("%s", (const char*)problem);
  }
  assert_int_equal(live_objects(context), 0);
  ruda_context_info info = {0};
  info.struct_size = sizeof info;
  OK(ruda_context_get_info(context, &info));
  assert_int_equal(info.allocated_bytes, 0);
  OK(ruda_release(context));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_null),
      cmocka_unit_test(notices_double_release),
      cmocka_unit_test(notices_foreign_types),
      cmocka_unit_test(notices_addresses_that_are_no_cell),
      cmocka_unit_test(notices_stale_handles_among_new_ones),
      cmocka_unit_test(counts_references),
      cmocka_unit_test(releases_in_any_order),
      cmocka_unit_test(children_keep_the_context),
      cmocka_unit_test(counts_from_many_threads),
      cmocka_unit_test(makes_from_many_threads),
  };
  return cmocka_run_group_tests_name("handle", tests, NULL, NULL);
}
