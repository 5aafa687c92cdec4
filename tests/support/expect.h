/* tests/support/expect.h - what the C suites expect of a call: success, or a status with argument and text.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_EXPECT_H
#define RUDA_TESTS_EXPECT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ruda/ruda.h>

static inline const char* expect_message(void) {
  static _Thread_local ruda_error_info info;
  info.struct_size = sizeof info;
  ruda_last_error(&info);
  return info.message;
}

static inline void expect_ok(const char* file, int line, const char* call, ruda_status status) {
  if (status == RUDA_OK) return;
  print_error("%s gave %s: %s\n", call, ruda_status_name(status), expect_message());
  _fail(file, line);
}

/* status, argument index and a piece of the message must be as said. */
static inline void expect_failure(const char* file, int line, const char* call, ruda_status got,
                                  ruda_status want, int arg, const char* text) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  if (got == want && info.status == want && info.arg_index == arg && strstr(info.message, text)) {
    if (strchr(info.message, '\n') == NULL && info.function && info.function[0]) return;
  }
  print_error("%s gave %s, argument %d, \"%s\"; expected %s, argument %d, \"%s\"\n", call,
              ruda_status_name(got), info.arg_index, got == RUDA_OK ? "" : info.message,
              ruda_status_name(want), arg, text);
  _fail(file, line);
}

#define OK(call) expect_ok(__FILE__, __LINE__, #call, (call))
#define FAILS(call, status, arg, text) \
  expect_failure(__FILE__, __LINE__, #call, (call), (status), (arg), (text))

/* ---- objects that most suites need ---- */

static inline ruda_context new_context(void) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  assert_non_null(context);
  return context;
}

static inline ruda_stream new_stream(ruda_context context) {
  ruda_stream stream = NULL;
  OK(ruda_stream_create(context, 0, &stream));
  return stream;
}

static inline ruda_tensor_desc tensor_desc(uint32_t dtype, uint32_t rank, const int64_t* shape) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = rank;
  desc.shape = shape;
  return desc;
}

static inline ruda_tensor new_tensor(ruda_context context, uint32_t dtype, uint32_t rank,
                                     const int64_t* shape) {
  const ruda_tensor_desc desc = tensor_desc(dtype, rank, shape);
  ruda_tensor tensor = NULL;
  OK(ruda_tensor_create(context, &desc, &tensor));
  return tensor;
}

/* A tensor of F32 values 0, 1, 2, ... */
static inline ruda_tensor new_counting(ruda_context context, ruda_stream stream, uint32_t rank,
                                       const int64_t* shape) {
  ruda_tensor tensor = new_tensor(context, RUDA_F32, rank, shape);
  uint64_t bytes = 0;
  OK(ruda_tensor_get_data(tensor, NULL, &bytes));
  float* values = malloc(bytes + 1);
  for (uint64_t i = 0; i < bytes / 4; ++i) values[i] = (float)i;
  OK(ruda_tensor_write(stream, tensor, values, bytes));
  free(values);
  return tensor;
}

static inline uint64_t live_objects(ruda_context context) {
  uint64_t live = UINT64_MAX;
  OK(ruda_context_live_objects(context, &live));
  return live;
}

/* A plan of rms_norm for x [rows, cols] F32. */
static inline ruda_plan new_rms_norm(ruda_context context, int64_t rows, int64_t cols) {
  const int64_t shape[2] = {rows, cols};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;
  ruda_plan plan = NULL;
  OK(ruda_rms_norm_plan_create(context, &desc, &plan));
  return plan;
}

static inline ruda_binding bind_tensor(uint32_t slot, ruda_tensor tensor) {
  ruda_binding binding = {slot, RUDA_BIND_TENSOR, {tensor}};
  return binding;
}

#endif
