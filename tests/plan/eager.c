/* tests/plan/eager.c - one-shot calls: values, refusals, the plan cache and its trimming. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

struct lines {
  int plans;
};

static void count_plans(void* user, uint32_t level, const char* component, const char* text) {
  (void)level, (void)text;
  struct lines* lines = user;
  if (strcmp(component, "plan") == 0) ++lines->plans;
}

static ruda_context new_logged(struct lines* lines, uint32_t capacity) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.log = count_plans;
  desc.log_user = lines;
  desc.log_level = RUDA_LOG_DEBUG;
  desc.plan_cache_capacity = capacity;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  return context;
}

static void norm(ruda_context context, ruda_stream stream, int64_t rows, double eps) {
  const int64_t shape[2] = {rows, 8};
  ruda_tensor x = new_counting(context, stream, 2, shape),
              gamma = new_counting(context, stream, 1, shape + 1);
  ruda_tensor y = NULL;
  OK(ruda_rms_norm(stream, x, gamma, eps, &y));
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  OK(ruda_tensor_get_desc(y, &desc));
  assert_int_equal(desc.rank, 2);
  assert_int_equal(desc.shape[0], rows);
  OK(ruda_release(x));
  OK(ruda_release(gamma));
  OK(ruda_release(y));
}

static void caches_plans(void** state) {
  (void)state;
  struct lines lines = {0};
  ruda_context context = new_logged(&lines, 0);
  ruda_stream stream = new_stream(context);
  for (int i = 0; i < 5; ++i) norm(context, stream, 3, 1e-5);
  assert_int_equal(lines.plans, 1);
  norm(context, stream, 4, 1e-5); /* another shape */
  norm(context, stream, 3, 1e-6); /* another scalar */
  assert_int_equal(lines.plans, 3);
  for (int i = 0; i < 5; ++i) {
    norm(context, stream, 3, 1e-5);
    norm(context, stream, 4, 1e-5);
    norm(context, stream, 3, 1e-6);
  }
  assert_int_equal(lines.plans, 3);
  /* Cached plans are no objects of the caller, and trimming drops them. */
  assert_int_equal(live_objects(context), 1);
  OK(ruda_context_trim(context));
  norm(context, stream, 3, 1e-5);
  assert_int_equal(lines.plans, 4);
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

static void forgets_the_oldest(void** state) {
  (void)state;
  struct lines lines = {0};
  ruda_context context = new_logged(&lines, 2);
  ruda_stream stream = new_stream(context);
  norm(context, stream, 1, 1e-5);
  norm(context, stream, 2, 1e-5);
  norm(context, stream, 1, 1e-5); /* 1 is now the newest */
  norm(context, stream, 3, 1e-5); /* 2 goes */
  assert_int_equal(lines.plans, 3);
  norm(context, stream, 1, 1e-5);
  assert_int_equal(lines.plans, 3);
  norm(context, stream, 2, 1e-5);
  assert_int_equal(lines.plans, 4);
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

static void refuses_operands(void** state) {
  (void)state;
  ruda_context context = new_context(), other = new_context();
  ruda_stream stream = new_stream(context);
  const int64_t shape[2] = {3, 8}, wrong[1] = {7};
  ruda_tensor x = new_counting(context, stream, 2, shape),
              gamma = new_counting(context, stream, 1, shape + 1);
  ruda_tensor narrow = new_counting(context, stream, 1, wrong),
              theirs = new_tensor(other, RUDA_F32, 1, shape + 1);
  ruda_tensor y = (ruda_tensor)&y;
  FAILS(ruda_rms_norm(stream, x, gamma, 1e-5, NULL), RUDA_E_NULL, 4, "out is NULL");
  FAILS(ruda_rms_norm(NULL, x, gamma, 1e-5, &y), RUDA_E_NULL, 0, "stream: handle is NULL");
  assert_null(y);
  FAILS(ruda_rms_norm(stream, NULL, gamma, 1e-5, &y), RUDA_E_NULL, 1, "x: handle is NULL");
  FAILS(ruda_rms_norm(stream, x, theirs, 1e-5, &y), RUDA_E_ARGUMENT, 2,
        "rms_norm: gamma belongs to another context than the stream");
  FAILS(ruda_rms_norm(stream, x, narrow, 1e-5, &y), RUDA_E_SHAPE, 2,
        "rms_norm: gamma dim 0 is 7, expected 8");
  FAILS(ruda_rms_norm(stream, x, gamma, 0, &y), RUDA_E_ARGUMENT, -1, "eps is 0, expected finite and above 0");
  /* A refusal leaves nothing in the cache and nothing alive. */
  OK(ruda_rms_norm(stream, x, gamma, 1e-5, &y));
  void* objects[] = {y, theirs, narrow, gamma, x, stream};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
  assert_int_equal(live_objects(context), 0);
  OK(ruda_release(context));
  OK(ruda_release(other));
}

static void copies_and_casts(void** state) {
  (void)state;
  ruda_context context = new_context();
  ruda_stream stream = new_stream(context);
  const int64_t shape[2] = {3, 4}, other[2] = {4, 3}, blocks[1] = {32};
  ruda_tensor a = new_counting(context, stream, 2, shape), b = new_tensor(context, RUDA_F32, 2, shape);
  ruda_tensor c = new_tensor(context, RUDA_F32, 2, other), q = new_tensor(context, RUDA_Q8_0, 1, blocks);
  ruda_tensor line = new_counting(context, stream, 1, blocks), out = (ruda_tensor)&out;
  OK(ruda_tensor_copy(stream, a, b));
  float values[12];
  OK(ruda_tensor_read(stream, b, values, sizeof values));
  for (int i = 0; i < 12; ++i) assert_true(values[i] == (float)i);
  FAILS(ruda_tensor_copy(stream, a, c), RUDA_E_SHAPE, 2, "to: shape [4, 3], expected [3, 4]");
  FAILS(ruda_tensor_copy(stream, a, a), RUDA_E_OVERLAP, 2, "to: memory overlaps from");
  FAILS(ruda_tensor_copy(stream, line, q), RUDA_E_DTYPE, 2, "F32 cannot be converted to block format Q8_0");
  FAILS(ruda_tensor_cast(stream, line, RUDA_Q8_0, &out), RUDA_E_DTYPE, 2, "block format Q8_0");
  assert_null(out);
  FAILS(ruda_tensor_cast(stream, line, 1000, &out), RUDA_E_DTYPE, 2, "dtype is 1000, which is no known code");
  FAILS(ruda_tensor_cast(stream, q, RUDA_I32, &out), RUDA_E_DTYPE, 2, "expected a float dtype");
  FAILS(ruda_tensor_cast(stream, a, RUDA_F16, NULL), RUDA_E_NULL, 3, "out is NULL");
  OK(ruda_tensor_cast(stream, a, RUDA_I16, &out));
  int16_t integers[12];
  OK(ruda_tensor_read(stream, out, integers, sizeof integers));
  for (int i = 0; i < 12; ++i) assert_int_equal(integers[i], i);
  void* objects[] = {a, b, c, q, line, out, stream};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
  assert_int_equal(live_objects(context), 0);
  OK(ruda_release(context));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(caches_plans),
      cmocka_unit_test(forgets_the_oldest),
      cmocka_unit_test(refuses_operands),
      cmocka_unit_test(copies_and_casts),
  };
  return cmocka_run_group_tests_name("eager", tests, NULL, NULL);
}
