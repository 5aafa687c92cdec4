/* tests/core/allocator.c - the caller's allocator: balance, alignment, and the failure of every n-th
 * allocation. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

enum { refused = -77 };

struct heap {
  int calls, live, fail_at; /* fail_at 0 = never; otherwise the number of the call that fails */
  uint64_t bytes;
  int misuse;
};

static int32_t take(void* user, uint64_t bytes, uint64_t align, void** out) {
  struct heap* heap = user;
  if (++heap->calls == heap->fail_at) return refused;
  if (bytes == 0 || (align & (align - 1)) != 0) heap->misuse = 1;
  if (posix_memalign(out, align, bytes) != 0) return refused;
  memset(*out, 0xA5, bytes);
  ++heap->live;
  heap->bytes += bytes;
  return 0;
}

static void give(void* user, void* data, uint64_t bytes, uint64_t align) {
  struct heap* heap = user;
  if (!data || (uintptr_t)data % align != 0) heap->misuse = 1;
  --heap->live;
  heap->bytes -= bytes;
  free(data);
}

static ruda_context new_heap_context(struct heap* heap) {
  const ruda_host_allocator allocator = {(uint32_t)sizeof allocator, 0, heap, take, give};
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.allocator = &allocator;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  return context;
}

/* Everything that allocates tensors, workspaces or scratch; returns the first failure. `left` counts objects.
 */
static ruda_status scenario(ruda_context context) {
  const int64_t shape[2] = {6, 40};
  const uint32_t axes[2] = {1, 0};
  ruda_stream stream = NULL;
  ruda_tensor x = NULL, gamma = NULL, y = NULL, turned = NULL, dense = NULL, cast = NULL, product = NULL;
  ruda_tensor flat = NULL;
  ruda_workspace workspace = NULL;
  ruda_plan plan = NULL;
  const ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape), line = tensor_desc(RUDA_F32, 1, shape + 1);
  static const float zeros[240];
  const int64_t all[1] = {240};
  ruda_status status = ruda_stream_create(context, 0, &stream);
  ruda_bool copied = 0;
  if (!status) status = ruda_tensor_create(context, &desc, &x);
  if (!status) status = ruda_tensor_create(context, &line, &gamma);
  if (!status) status = ruda_tensor_write(stream, x, zeros, sizeof zeros);
  if (!status) status = ruda_tensor_write(stream, gamma, zeros, 160);
  if (!status) status = ruda_rms_norm(stream, x, gamma, 1e-5, &y);
  if (!status) status = ruda_tensor_permute(x, axes, 2, &turned);
  if (!status) status = ruda_tensor_contiguous(stream, turned, &dense);
  if (!status) status = ruda_tensor_cast(stream, turned, RUDA_F16, &cast);
  if (!status) status = ruda_tensor_write(stream, turned, zeros, sizeof zeros);
  if (!status) status = ruda_tensor_reshape(stream, turned, all, 1, &copied, &flat);
  if (!status) status = ruda_matmul(stream, x, turned, NULL, NULL, &product);
  if (!status) status = ruda_workspace_create(context, 5000, &workspace);
  ruda_matmul_desc matmul = RUDA_MATMUL_DESC_INIT;
  const int64_t big[2] = {200, 300};
  const ruda_tensor_desc a = tensor_desc(RUDA_F32, 2, big);
  matmul.a = &a;
  matmul.b = &a;
  matmul.transpose_b = 1;
  if (!status) status = ruda_matmul_plan_create(context, &matmul, &plan);
  void* objects[] = {plan, workspace, product, flat, cast, dense, turned, y, gamma, x, stream};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
  return status;
}

static void balances(void** state) {
  (void)state;
  struct heap heap = {0};
  ruda_context context = new_heap_context(&heap);
  OK(scenario(context));
  assert_true(heap.calls >= 8);
  assert_int_equal(live_objects(context), 0);
  OK(ruda_release(context));
  assert_int_equal(heap.live, 0);
  assert_int_equal(heap.bytes, 0);
  assert_int_equal(heap.misuse, 0);
}

static void survives_every_failure(void** state) {
  (void)state;
  int failures = 0;
  for (int n = 1; n < 1000; ++n) {
    struct heap heap = {0};
    ruda_context context = new_heap_context(&heap);
    heap.fail_at = n;
    const ruda_status status = scenario(context);
    if (status != RUDA_OK) {
      ++failures;
      assert_int_equal(status, RUDA_E_CALLBACK);
      ruda_error_info info = RUDA_ERROR_INFO_INIT;
      OK(ruda_last_error(&info));
      assert_int_equal(info.native_code, refused);
      assert_non_null(strstr(info.message, "host allocator returned -77 for "));
    }
    assert_int_equal(live_objects(context), 0);
    /* The next try succeeds with the same context. */
    heap.fail_at = 0;
    OK(scenario(context));
    OK(ruda_release(context));
    assert_int_equal(heap.live, 0);
    assert_int_equal(heap.misuse, 0);
    if (status == RUDA_OK) {
      assert_true(failures >= 8);
      return;
    }
  }
  fail_msg("the scenario never got through");
}

static void refuses_allocators(void** state) {
  (void)state;
  struct heap heap = {0};
  ruda_host_allocator allocator = {(uint32_t)sizeof allocator, 0, &heap, NULL, give};
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.allocator = &allocator;
  ruda_context context = (ruda_context)&context;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_NULL, 0, "desc.allocator: alloc or free is NULL");
  assert_null(context);
  allocator.alloc = take;
  allocator.free = NULL;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_NULL, 0, "desc.allocator: alloc or free is NULL");
  allocator.free = give;
  allocator.struct_size = 0;
  FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "desc.allocator.struct_size is 0");
}

/* An allocator that breaks its promise is refused, and what it gave is given back. */
static int32_t take_crooked(void* user, uint64_t bytes, uint64_t align, void** out) {
  struct heap* heap = user;
  ++heap->live;
  *out = (char*)malloc(bytes + 2 * align) + 1;
  return 0;
}
static int32_t take_nothing(void* user, uint64_t bytes, uint64_t align, void** out) {
  (void)user, (void)bytes, (void)align;
  *out = NULL;
  return 0;
}
static void give_crooked(void* user, void* data, uint64_t bytes, uint64_t align) {
  (void)bytes, (void)align;
  struct heap* heap = user;
  --heap->live;
  free((char*)data - 1);
}

static void distrusts_addresses(void** state) {
  (void)state;
  const int64_t shape[1] = {10};
  const ruda_tensor_desc tensor = tensor_desc(RUDA_F32, 1, shape);
  for (int i = 0; i < 2; ++i) {
    struct heap heap = {0};
    const ruda_host_allocator allocator = {(uint32_t)sizeof allocator, 0, &heap,
                                           i ? take_nothing : take_crooked, give_crooked};
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = RUDA_BACKEND_CPU;
    desc.allocator = &allocator;
    ruda_context context = NULL;
    OK(ruda_context_create(&desc, &context));
    ruda_tensor out = (ruda_tensor)&out;
    FAILS(ruda_tensor_create(context, &tensor, &out), RUDA_E_OOM_HOST, -1, "expected a multiple of 256");
    assert_null(out);
    OK(ruda_release(context));
    assert_int_equal(heap.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(balances),
      cmocka_unit_test(survives_every_failure),
      cmocka_unit_test(refuses_allocators),
      cmocka_unit_test(distrusts_addresses),
  };
  return cmocka_run_group_tests_name("allocator", tests, NULL, NULL);
}
