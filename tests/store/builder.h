/* tests/store/builder.h - writes GGUF files byte by byte, also wrong ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_STORE_BUILDER_H
#define RUDA_TESTS_STORE_BUILDER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
  unsigned char* data;
  size_t size, capacity;
} builder;

static inline void put(builder* b, const void* bytes, size_t count) {
  if (b->size + count > b->capacity) {
    b->capacity = (b->size + count) * 2;
    b->data = realloc(b->data, b->capacity);
    if (!b->data) abort();
  }
  if (count) memcpy(b->data + b->size, bytes, count);
  b->size += count;
}
static inline void put_u8(builder* b, uint8_t v) { put(b, &v, sizeof v); }
static inline void put_u32(builder* b, uint32_t v) { put(b, &v, sizeof v); }
static inline void put_u64(builder* b, uint64_t v) { put(b, &v, sizeof v); }
static inline void put_f32(builder* b, float v) { put(b, &v, sizeof v); }
static inline void put_bytes(builder* b, const char* text, uint64_t length) {
  put_u64(b, length);
  put(b, text, (size_t)length);
}
static inline void put_text(builder* b, const char* text) { put_bytes(b, text, strlen(text)); }

static inline void put_header(builder* b, uint32_t version, uint64_t tensors, uint64_t keys) {
  put(b, "GGUF", 4);
  put_u32(b, version);
  put_u64(b, tensors);
  put_u64(b, keys);
}
static inline void put_key_u32(builder* b, const char* key, uint32_t value) {
  put_text(b, key);
  put_u32(b, 4);
  put_u32(b, value);
}
static inline void put_key_text(builder* b, const char* key, const char* value) {
  put_text(b, key);
  put_u32(b, 8);
  put_text(b, value);
}
static inline void put_tensor(builder* b, const char* name, uint32_t rank, const int64_t* dims, uint32_t type,
                              uint64_t offset) {
  put_text(b, name);
  put_u32(b, rank);
  for (uint32_t i = 0; i < rank; ++i) put_u64(b, (uint64_t)dims[i]);
  put_u32(b, type);
  put_u64(b, offset);
}
static inline void pad(builder* b, size_t alignment) {
  while (b->size % alignment) put_u8(b, 0);
}
static inline void put_zeros(builder* b, size_t count) {
  while (count--) put_u8(b, 0);
}

#endif
