/* tests/vectors/run.h - runs one shared vector through the C API: operands, plan, comparison, dump. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_VECTORS_RUN_H
#define RUDA_TESTS_VECTORS_RUN_H

#include <ruda/ruda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_operands = 8 };

struct operand {
  const char* name;
  uint32_t slot, dtype, rank;
  const int64_t* shape;
  const double* data;
  double absolute, relative; /* bounds of an output */
  int is_output;
  ruda_tensor tensor;
  ruda_tensor_desc desc;
};

static struct {
  ruda_context context;
  ruda_stream stream;
  const char *op, *name;
  struct operand operands[most_operands];
  uint32_t count;
  int dump, cases, faults;
} vectors;

static void fault(const char* what) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "%s %s: %s; last error %s: %s\n", vectors.op, vectors.name, what,
          ruda_status_name(info.status), info.message);
  ++vectors.faults;
}

static uint64_t elements(const struct operand* o) {
  uint64_t n = 1;
  for (uint32_t i = 0; i < o->rank; ++i) n *= (uint64_t)o->shape[i];
  return n;
}

static void begin(const char* op, const char* name) {
  vectors.op = op;
  vectors.name = name;
  vectors.count = 0;
  ++vectors.cases;
}

/* The values come as F64 and are converted by the library, as in other languages. Returns the descriptor. */
static const ruda_tensor_desc* operand(struct operand given) {
  struct operand* o = &vectors.operands[vectors.count++];
  *o = given;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = o->dtype;
  desc.rank = o->rank;
  desc.shape = o->shape;
  o->desc = desc;
  ruda_status status;
  if (o->is_output) {
    status = ruda_tensor_create(vectors.context, &desc, &o->tensor);
  } else {
    ruda_tensor wide = NULL;
    desc.dtype = RUDA_F64;
    status = ruda_tensor_create(vectors.context, &desc, &wide);
    if (!status) status = ruda_tensor_write(vectors.stream, wide, o->data, elements(o) * 8);
    if (!status) status = ruda_tensor_cast(vectors.stream, wide, o->dtype, &o->tensor);
    ruda_release(wide);
  }
  if (status) fault(o->name);
  return &o->desc;
}

static void check_output(struct operand* o) {
  const uint64_t n = elements(o);
  double* values = calloc(n + 1, sizeof *values);
  ruda_tensor wide = NULL;
  if (!values || ruda_tensor_cast(vectors.stream, o->tensor, RUDA_F64, &wide) ||
      ruda_tensor_read(vectors.stream, wide, values, n * 8)) {
    fault(o->name);
  } else {
    for (uint64_t i = 0; i < n; ++i) {
      const double error = values[i] < o->data[i] ? o->data[i] - values[i] : values[i] - o->data[i];
      const double size = o->data[i] < 0 ? -o->data[i] : o->data[i];
      if (error <= o->absolute + o->relative * size) continue;
      fprintf(stderr, "%s %s %s[%llu]: %.9g, expected %.9g\n", vectors.op, vectors.name, o->name,
              (unsigned long long)i, values[i], o->data[i]);
      ++vectors.faults;
      break;
    }
  }
  ruda_release(wide);
  free(values);
  if (!vectors.dump) return;
  uint64_t bytes = 0;
  ruda_tensor_get_data(o->tensor, NULL, &bytes);
  unsigned char* raw = malloc(bytes + 1);
  if (!raw || ruda_tensor_read(vectors.stream, o->tensor, raw, bytes)) return fault(o->name);
  printf("%s|%s|%s|", vectors.op, vectors.name, o->name);
  for (uint64_t i = 0; i < bytes; ++i) printf("%02x", raw[i]);
  printf("\n");
  free(raw);
}

static void release_operands(void) {
  for (uint32_t i = 0; i < vectors.count; ++i) ruda_release(vectors.operands[i].tensor);
}

static void runs(ruda_status status, ruda_plan plan) {
  ruda_binding bindings[most_operands];
  for (uint32_t i = 0; i < vectors.count; ++i) {
    bindings[i].slot = vectors.operands[i].slot;
    bindings[i].kind = RUDA_BIND_TENSOR;
    bindings[i].v.handle = vectors.operands[i].tensor;
  }
  if (status || ruda_plan_execute(plan, vectors.stream, NULL, bindings, vectors.count, NULL))
    fault("fails");
  else
    for (uint32_t i = 0; i < vectors.count; ++i)
      if (vectors.operands[i].is_output) check_output(&vectors.operands[i]);
  ruda_release(plan);
  release_operands();
}

static void fails(ruda_status status, ruda_plan plan, ruda_status want, const char* text) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  if (status != want || plan || !strstr(info.message, text)) fault("does not fail as it should");
  ruda_release(plan);
  release_operands();
}

static int open_vectors(int argc, char** argv) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  for (int i = 1; i < argc; ++i) vectors.dump |= strcmp(argv[i], "--dump") == 0;
  return ruda_context_create(&desc, &vectors.context) ||
         ruda_stream_create(vectors.context, 0, &vectors.stream);
}

static int close_vectors(void) {
  uint64_t live = 1;
  ruda_release(vectors.stream);
  if (ruda_context_live_objects(vectors.context, &live) || live) fault("objects are left");
  ruda_release(vectors.context);
  fprintf(stderr, "%d cases, %d faults\n", vectors.cases, vectors.faults);
  return vectors.faults != 0 || vectors.cases == 0;
}

#endif
