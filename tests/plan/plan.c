/* tests/plan/plan.c - query, slots, explain, options, warm, list of operators. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture.h"

static void describes_a_plan(void** state) {
  (void)state;
  ruda_plan plan = new_rms_norm(context, 3, 8);
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  OK(ruda_plan_query(plan, &info));
  assert_int_equal(info.slot_count, 3);
  assert_int_equal(info.workspace_align, 256);
  assert_int_equal(info.workspace_bytes, 0);
  assert_int_equal(info.deterministic, 1);
  assert_string_equal(info.op, "rms_norm");
  assert_true(strncmp(info.kernel, "cpu/rms_norm/", 13) == 0);
  FAILS(ruda_plan_query(plan, NULL), RUDA_E_NULL, 1, "inout is NULL");
  info.struct_size = 7;
  FAILS(ruda_plan_query(plan, &info), RUDA_E_ARGUMENT, 1, "inout.struct_size is 7, expected sizeof");
  const char* name = "";
  ruda_bool is_output = 9;
  OK(ruda_plan_get_slot(plan, RUDA_RMS_NORM_X, &name, &is_output));
  assert_string_equal(name, "x");
  assert_int_equal(is_output, 0);
  OK(ruda_plan_get_slot(plan, RUDA_RMS_NORM_Y, &name, &is_output));
  assert_string_equal(name, "y");
  assert_int_equal(is_output, 1);
  OK(ruda_plan_get_slot(plan, RUDA_RMS_NORM_Y, NULL, NULL));
  FAILS(ruda_plan_get_slot(plan, 3, &name, &is_output), RUDA_E_INDEX, 1, "slot is 3, rms_norm has 3");
  assert_null(name);
  assert_int_equal(is_output, 0);
  OK(ruda_release(plan));
}

/* The text of explain as lines without their newlines; the last has none. */
static uint64_t lines_of(ruda_plan plan, char* text, uint64_t capacity, const char** lines, uint64_t most) {
  uint64_t count = 0;
  OK(ruda_plan_explain(plan, text, capacity, NULL));
  assert_true(*text && text[strlen(text) - 1] != '\n');
  for (char* at = text; at; ++count) {
    assert_true(count < most);
    lines[count] = at;
    at = strchr(at, '\n');
    if (at) *at++ = 0;
  }
  return count;
}

/* Headings start their line, what belongs to one is two spaces in: no operand stands below the kernels. */
static void explains_in_sections(void** state) {
  (void)state;
  static const int64_t few[2] = {3, 8}, wide[2] = {16, 1};
  const ruda_tensor_desc dense = tensor_desc(RUDA_F32, 2, few);
  ruda_tensor_desc strided = dense;
  char text[4096];
  const char* lines[32];
  strided.strides = wide;
  /* copy declines the kernels for dense memory. */
  ruda_copy_desc copy = RUDA_COPY_DESC_INIT;
  ruda_plan plan = NULL;
  copy.x = &strided;
  copy.y = &dense;
  OK(ruda_copy_plan_create(context, &copy, &plan));
  uint64_t count = lines_of(plan, text, sizeof text, lines, 32), at = 2;
  assert_true(strncmp(lines[0], "copy: cpu/copy/", 15) == 0);
  assert_string_equal(lines[1], "declined before it:");
  for (; strncmp(lines[at], "  cpu/copy/", 11) == 0; ++at) assert_non_null(strstr(lines[at], ": "));
  assert_true(at > 2);
  assert_string_equal(lines[at], "operands:");
  assert_string_equal(lines[at + 1], "  x: F32 [3, 8] strided");
  assert_string_equal(lines[at + 2], "  y: F32 [3, 8]");
  assert_string_equal(lines[at + 3], "workspace: 0 bytes");
  assert_int_equal(count, at + 4);
  OK(ruda_release(plan));

  /* Scalars, objects; nothing declined, no section for it. Autotune has one. */
  ruda_binary_desc binary = RUDA_BINARY_DESC_INIT;
  binary.op = RUDA_BINARY_ADD;
  binary.a = &dense;
  OK(ruda_binary_plan_create(context, &binary, &plan));
  count = lines_of(plan, text, sizeof text, lines, 32);
  assert_string_equal(lines[1], "operands:");
  assert_string_equal(lines[2], "  a: F32 [3, 8]");
  assert_string_equal(lines[count - 2], "  scalar: double");
  OK(ruda_release(plan));
  static const int64_t rows[3] = {4, 2, 16}, pages[4] = {8, 16, 2, 16};
  const ruda_tensor_desc k = tensor_desc(RUDA_F32, 3, rows), cache = tensor_desc(RUDA_F32, 4, pages);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  ruda_paged_append_desc append = RUDA_PAGED_APPEND_DESC_INIT;
  options.autotune = 1;
  append.options = &options;
  append.k = &k;
  append.k_cache = &cache;
  OK(ruda_paged_append_plan_create(context, &append, &plan));
  count = lines_of(plan, text, sizeof text, lines, 32);
  assert_string_equal(lines[1], "autotune: not timed yet, the first that accepts");
  for (at = 2; strncmp(lines[at], "  cpu/paged_append/", 19) == 0;) ++at;
  assert_true(at > 2 && strstr(lines[2], ": not timed (chosen)"));
  assert_string_equal(lines[at], "operands:");
  int schedules = 0;
  while (++at + 1 < count) schedules += strcmp(lines[at], "  schedule: paged_schedule") == 0;
  assert_int_equal(schedules, 1);
  OK(ruda_release(plan));
}

/* Options that differ from their defaults have a section, with the names of their values. */
static void explains_options(void** state) {
  (void)state;
  static const int64_t square[2] = {4, 4};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, square);
  char text[4096];
  const char* lines[32];
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.kernel = "cpu/matmul/scalar";
  options.strategy = RUDA_STRATEGY_SCALAR;
  options.math = RUDA_MATH_TF32;
  options.determinism = RUDA_DETERMINISM_NOT_NEEDED;
  options.workspace_limit_bytes = 1 << 20;
  ruda_matmul_desc matmul = RUDA_MATMUL_DESC_INIT;
  matmul.options = &options;
  matmul.a = matmul.b = &x;
  ruda_plan plan = NULL;
  OK(ruda_matmul_plan_create(context, &matmul, &plan));
  assert_true(lines_of(plan, text, sizeof text, lines, 32) > 8);
  assert_string_equal(lines[0], "matmul: cpu/matmul/scalar");
  assert_string_equal(lines[1], "options:");
  assert_string_equal(lines[2], "  kernel: cpu/matmul/scalar, no other was asked");
  assert_string_equal(lines[3], "  strategy: scalar");
  assert_string_equal(lines[4], "  math: tf32");
  assert_string_equal(lines[5], "  determinism: not_needed");
  assert_string_equal(lines[6], "  workspace_limit_bytes: 1048576");
  assert_string_equal(lines[7], "operands:");
  OK(ruda_release(plan));
}

static void explains_a_plan(void** state) {
  (void)state;
  ruda_plan plan = new_rms_norm(context, 3, 8);
  uint64_t needed = 0;
  OK(ruda_plan_explain(plan, NULL, 0, &needed));
  char text[2048];
  assert_true(needed > 10 && needed < sizeof text);
  OK(ruda_plan_explain(plan, text, sizeof text, NULL));
  assert_int_equal(strlen(text) + 1, needed);
  assert_true(strncmp(text, "rms_norm: cpu/rms_norm/", 23) == 0);
  assert_non_null(strstr(text, "  x: F32 [3, 8]\n"));
  assert_non_null(strstr(text, "\nworkspace: 0 bytes"));
  FAILS(ruda_plan_explain(plan, NULL, 4, NULL), RUDA_E_NULL, 1, "text is NULL with capacity 4");
  OK(ruda_release(plan));
}

static void lists_operators(void** state) {
  (void)state;
  const uint32_t count = ruda_op_count();
  assert_true(count >= 2);
  char text[4096];
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = ruda_op_name(i);
    assert_non_null(name);
    if (i) assert_true(strcmp(ruda_op_name(i - 1), name) < 0);
    uint64_t needed = 0;
    OK(ruda_op_kernels(name, RUDA_BACKEND_CPU, text, sizeof text, &needed));
    assert_int_equal(strlen(text) + 1, needed);
    char prefix[128];
    snprintf(prefix, sizeof prefix, "cpu/%s/", name);
    assert_true(strncmp(text, prefix, strlen(prefix)) == 0);
    OK(ruda_op_kernels(name, RUDA_BACKEND_CUDA, text, sizeof text, NULL));
  }
  assert_null(ruda_op_name(count));
  assert_null(ruda_op_name(UINT32_MAX));
  FAILS(ruda_op_kernels(NULL, 1, text, sizeof text, NULL), RUDA_E_NULL, 0, "op is NULL");
  FAILS(ruda_op_kernels("nothing", 1, text, sizeof text, NULL), RUDA_E_NOT_FOUND, 0, "op is \"nothing\"");
  FAILS(ruda_op_kernels("rms_norm", 0, text, sizeof text, NULL), RUDA_E_ARGUMENT, 1, "backend is 0");
  FAILS(ruda_op_kernels("rms_norm", 1, NULL, 10, NULL), RUDA_E_NULL, 2, "text is NULL with capacity 10");
}

static const int64_t shape[2] = {3, 8};

static ruda_status create_with(const ruda_plan_options* options, ruda_plan* out) {
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.options = options;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;
  *out = (ruda_plan)out;
  return ruda_rms_norm_plan_create(context, &desc, out);
}

static void checks_options(void** state) {
  (void)state;
  ruda_plan plan = NULL;
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  OK(create_with(&options, &plan));
  OK(ruda_release(plan));
#define REFUSES(field, value, text)                              \
  options = (ruda_plan_options)RUDA_PLAN_OPTIONS_INIT;           \
  options.field = value;                                         \
  FAILS(create_with(&options, &plan), RUDA_E_ARGUMENT, 1, text); \
  assert_null(plan)
  REFUSES(strategy, 10, "desc.options.strategy is 10, expected 0..9");
  REFUSES(math, 3, "desc.options.math is 3, expected 0..2");
  REFUSES(determinism, 3, "desc.options.determinism is 3, expected 0..2");
  REFUSES(autotune, 2, "desc.options.autotune is 2, expected 0..1");
  options = (ruda_plan_options)RUDA_PLAN_OPTIONS_INIT;
  options.kernel = "cpu/rms_norm/none";
  FAILS(create_with(&options, &plan), RUDA_E_ARGUMENT, 1,
        "rms_norm: options.kernel is \"cpu/rms_norm/none\", which this backend does not have; it has "
        "cpu/rms_norm/");
  assert_null(plan);
  options.kernel = "";
  OK(create_with(&options, &plan));
  OK(ruda_release(plan));
  options.kernel = "cpu/rms_norm/scalar";
  OK(create_with(&options, &plan));
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  OK(ruda_plan_query(plan, &info));
  assert_string_equal(info.kernel, "cpu/rms_norm/scalar");
  OK(ruda_release(plan));
  options = (ruda_plan_options)RUDA_PLAN_OPTIONS_INIT;
  options.struct_size = 0;
  FAILS(create_with(&options, &plan), RUDA_E_ARGUMENT, 1, "desc.options.struct_size is 0");
  options.struct_size = 4104;
  FAILS(create_with(&options, &plan), RUDA_E_ARGUMENT, 1, "desc.options.struct_size is 4104");
  options.struct_size = 20; /* cuts a pointer in two */
  FAILS(create_with(&options, &plan), RUDA_E_ARGUMENT, 1, "desc.options.struct_size is 20");
  REFUSES(reserved, 7, "desc.options.reserved is 7, expected 0");
  /* Extensions that may be skipped: up to 32 of them, no circle. */
  ruda_ext list[33];
  memset(list, 0, sizeof list);
  for (int i = 0; i < 33; ++i) {
    list[i].flags = 1;
    list[i].next = i < 32 ? &list[i + 1] : NULL;
  }
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape);
  ruda_tensor_desc extended = x;
  ruda_tensor tensor = NULL;
  extended.next = &list[1];
  OK(ruda_tensor_create(context, &extended, &tensor));
  OK(ruda_release(tensor));
  extended.next = &list[0];
  FAILS(ruda_tensor_create(context, &extended, &tensor), RUDA_E_ARGUMENT, 1, "desc.next: the list has more");
  list[0].next = &list[0];
  FAILS(ruda_tensor_create(context, &extended, &tensor), RUDA_E_ARGUMENT, 1, "leads in a circle");
}

static void warms_a_plan(void** state) {
  (void)state;
  ruda_plan plan = NULL;
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  for (uint32_t autotune = 0; autotune < 2; ++autotune) {
    options.autotune = autotune;
    OK(create_with(&options, &plan));
    OK(ruda_plan_warm(plan, stream));
    OK(ruda_plan_warm(plan, stream));
    ruda_plan_info info = RUDA_PLAN_INFO_INIT;
    OK(ruda_plan_query(plan, &info));
    assert_true(strncmp(info.kernel, "cpu/rms_norm/", 13) == 0);
    /* A warmed plan still runs. */
    ruda_tensor x = new_counting(context, stream, 2, shape),
                gamma = new_counting(context, stream, 1, shape + 1);
    ruda_tensor y = new_tensor(context, RUDA_F32, 2, shape);
    const ruda_binding bindings[3] = {bind_tensor(RUDA_RMS_NORM_X, x),
                                      bind_tensor(RUDA_RMS_NORM_GAMMA, gamma),
                                      bind_tensor(RUDA_RMS_NORM_Y, y)};
    OK(ruda_plan_execute(plan, stream, NULL, bindings, 3, NULL));
    OK(ruda_release(x));
    OK(ruda_release(gamma));
    OK(ruda_release(y));
    if (autotune == 0) {
      ruda_context other = new_context();
      ruda_stream foreign = new_stream(other);
      FAILS(ruda_plan_warm(plan, foreign), RUDA_E_ARGUMENT, 1, "another context than the plan");
      OK(ruda_release(foreign));
      OK(ruda_release(other));
    }
    OK(ruda_release(plan));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(describes_a_plan),     cmocka_unit_test(explains_a_plan),
      cmocka_unit_test(explains_in_sections), cmocka_unit_test(explains_options),
      cmocka_unit_test(lists_operators),      cmocka_unit_test(checks_options),
      cmocka_unit_test(warms_a_plan),
  };
  return cmocka_run_group_tests_name("plan", tests, setup, teardown);
}
