/* tests/fuzz/descriptors.h - fields of descriptors from random bytes; what the library accepts is run. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_FUZZ_DESCRIPTORS_H
#define RUDA_TESTS_FUZZ_DESCRIPTORS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ruda/ruda.h>

struct bytes {
  const uint8_t* data;
  size_t left;
};

struct operand {
  const char* name;
  const ruda_tensor_desc* desc;
};

enum { max_operands = 16, max_elements = 1 << 14, array_bytes = 1 << 16 };

static struct {
  ruda_tensor_desc desc[max_operands];
  int64_t shape[max_operands][RUDA_MAX_RANK + 2], strides[max_operands][RUDA_MAX_RANK + 2];
  uint32_t count;
  ruda_plan_options options;
  ruda_ext ext[2];
  _Alignas(64) uint8_t array[array_bytes];
} fuzz;

static inline ruda_context fuzz_context(void) {
  static ruda_context context;
  if (!context) {
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = RUDA_BACKEND_CPU;
    desc.host_threads = 1;
    desc.memory_limit_bytes = UINT64_C(64) << 20;
    if (ruda_context_create(&desc, &context)) abort();
  }
  return context;
}

static inline ruda_stream fuzz_stream(void) {
  static ruda_stream stream;
  if (!stream && ruda_stream_create(fuzz_context(), 0, &stream)) abort();
  return stream;
}

static inline uint8_t take_byte(struct bytes* b) {
  fuzz.count = 0;
  if (!b->left) return 0;
  --b->left;
  return *b->data++;
}
static inline uint8_t next_byte(struct bytes* b) {
  if (!b->left) return 0;
  --b->left;
  return *b->data++;
}
static inline uint64_t take_raw(struct bytes* b) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | next_byte(b);
  return value;
}

/* Mostly small numbers, now and then an extreme one. */
static inline uint64_t take_integer(struct bytes* b) {
  const uint8_t kind = next_byte(b);
  if (kind < 160) return kind % 8;
  if (kind < 224) return next_byte(b);
  if (kind < 236) return (uint64_t)0 - 1 - kind % 4;
  if (kind < 246) return UINT64_C(1) << (kind % 64);
  return take_raw(b);
}
static inline uint64_t take_small(struct bytes* b) { return next_byte(b) % 32; }

static inline double take_real(struct bytes* b) {
  static const double values[] = {0, 1, -1, 1e-5, 0.125, 1e300, -1e300, 1e-320};
  const uint8_t kind = next_byte(b);
  if (kind < 192) return values[kind % 8];
  const uint64_t raw = take_raw(b);
  double value;
  memcpy(&value, &raw, sizeof value);
  return value;
}

/* Never more than is there: the library reads what the caller says it has. */
static inline uint32_t take_size(struct bytes* b, size_t size) {
  const uint8_t kind = next_byte(b);
  if (kind < 250) return (uint32_t)size;
  return (uint32_t)(kind % 2 ? size - 8 : kind % 8);
}

static inline const ruda_ext* take_extension(struct bytes* b) {
  const uint8_t kind = next_byte(b);
  if (kind < 248) return NULL;
  fuzz.ext[0].type = kind;
  fuzz.ext[0].flags = kind % 2;
  fuzz.ext[0].next = NULL;
  return &fuzz.ext[0];
}

static inline const ruda_plan_options* take_options(struct bytes* b) {
  if (next_byte(b) < 160) return NULL;
  memset(&fuzz.options, 0, sizeof fuzz.options);
  fuzz.options.struct_size = take_size(b, sizeof fuzz.options);
  fuzz.options.strategy = (uint32_t)take_integer(b);
  fuzz.options.next = take_extension(b);
  fuzz.options.kernel = next_byte(b) < 250 ? NULL : "cpu/none/at_all";
  fuzz.options.math = (uint32_t)take_integer(b);
  fuzz.options.determinism = (uint32_t)take_integer(b);
  fuzz.options.workspace_limit_bytes = take_integer(b);
  return &fuzz.options;
}

static inline const ruda_tensor_desc* take_tensor(struct bytes* b) {
  const uint8_t kind = next_byte(b);
  if (kind > 230 || fuzz.count == max_operands) return NULL;
  const uint32_t at = fuzz.count++;
  /* An operand often looks like the one before it. */
  if (at && kind < 60) {
    fuzz.desc[at] = fuzz.desc[at - 1];
    return &fuzz.desc[at];
  }
  static const uint32_t dtypes[] = {RUDA_F32, RUDA_F32, RUDA_F32, RUDA_F16,  RUDA_BF16, RUDA_I32,  RUDA_U32,
                                    RUDA_I64, RUDA_U8,  RUDA_F64, RUDA_Q4_0, RUDA_Q8_0, RUDA_Q4_K, RUDA_Q6_K};
  ruda_tensor_desc* desc = &fuzz.desc[at];
  memset(desc, 0, sizeof *desc);
  desc->struct_size = take_size(b, sizeof *desc);
  const uint8_t dtype = next_byte(b);
  desc->dtype = dtype < 240 ? dtypes[dtype % 14] : dtype;
  desc->rank = next_byte(b) % (RUDA_MAX_RANK + 3);
  if (desc->rank > 5 && next_byte(b) < 200) desc->rank %= 5;
  desc->flags = next_byte(b) < 220 ? 0 : next_byte(b);
  for (uint32_t i = 0; i < desc->rank && i < RUDA_MAX_RANK + 2; ++i) {
    fuzz.shape[at][i] = (int64_t)take_integer(b);
    if (desc->dtype > 256 && i + 1 == desc->rank && next_byte(b) < 200)
      fuzz.shape[at][i] = fuzz.shape[at][i] % 4 * 256;
    fuzz.strides[at][i] = kind < 200 ? 0 : (int64_t)take_integer(b);
  }
  desc->shape = next_byte(b) < 250 ? fuzz.shape[at] : NULL;
  desc->strides = kind < 200 ? NULL : fuzz.strides[at];
  return desc;
}

static inline void* take_array(struct bytes* b) {
  if (next_byte(b) > 230) return NULL;
  for (int i = 0; i < 64; ++i) fuzz.array[i * 4] = next_byte(b);
  return fuzz.array;
}

static inline void* take_handle(struct bytes* b) {
  static _Alignas(64) uint8_t zeros[64];
  const uint8_t kind = next_byte(b);
  if (kind < 200) return NULL;
  return kind < 228 ? (void*)zeros : (void*)fuzz_context();
}

/* Looks at the plan and, when every slot is a described tensor of modest size, runs it once. */
static inline void finish(struct bytes* b, ruda_status status, ruda_plan plan,
                          const struct operand* operands) {
  if ((status == RUDA_OK) != (plan != NULL) || status == RUDA_E_INTERNAL) abort();
  if (!plan) return;
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  char text[512];
  if (ruda_plan_query(plan, &info) || ruda_plan_explain(plan, text, sizeof text, NULL)) abort();
  ruda_binding bindings[max_operands];
  uint32_t count = 0;
  int complete = info.workspace_bytes < (UINT64_C(16) << 20);
  for (uint32_t slot = 0; slot < info.slot_count && complete; ++slot) {
    const char* name = NULL;
    ruda_bool is_output = 0;
    if (ruda_plan_get_slot(plan, slot, &name, &is_output)) abort();
    const ruda_tensor_desc* desc = NULL;
    for (const struct operand* o = operands; o->name; ++o)
      if (strcmp(o->name, name) == 0) desc = o->desc;
    if (!desc) continue;
    /* A descriptor cut short was read without its end, which this copy must not bring back. */
    if (desc->struct_size < sizeof *desc || (desc->rank && !desc->shape)) {
      complete = 0;
      continue;
    }
    int64_t span = 1;
    for (uint32_t i = 0; i < desc->rank; ++i)
      if (__builtin_mul_overflow(span, desc->shape[i] ? desc->shape[i] : 1, &span) || span > max_elements)
        complete = 0;
    ruda_tensor_desc copy = *desc;
    copy.struct_size = sizeof copy;
    copy.next = NULL;
    copy.flags = 0;
    ruda_tensor tensor = NULL;
    if (!complete || count == max_operands || ruda_tensor_create(fuzz_context(), &copy, &tensor)) {
      complete = 0;
      break;
    }
    void* data = NULL;
    uint64_t bytes = 0;
    if (ruda_tensor_get_data(tensor, &data, &bytes)) abort();
    ruda_bool contiguous = 0;
    ruda_tensor_is_contiguous(tensor, &contiguous);
    for (uint64_t i = 0; contiguous && i < bytes; ++i) ((uint8_t*)data)[i] = next_byte(b);
    bindings[count].slot = slot;
    bindings[count].kind = RUDA_BIND_TENSOR;
    bindings[count++].v.handle = tensor;
  }
  /* A slot without a description keeps the call from being complete; then it must be refused, not crash. */
  if (complete) {
    const ruda_status run = ruda_plan_execute(plan, fuzz_stream(), NULL, bindings, count, NULL);
    if (run == RUDA_E_INTERNAL) abort();
  }
  for (uint32_t i = 0; i < count; ++i) ruda_release(bindings[i].v.handle);
  ruda_release(plan);
}

#endif
