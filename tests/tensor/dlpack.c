/* tests/tensor/dlpack.c - tensors of other libraries by DLPack: layouts, refusals, and who frees them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

/* The published layout of DLPack 1.x, declared apart from the library's. */
typedef struct DLTensor {
  void* data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} DLTensor;

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

typedef struct DLManagedTensorVersioned managed_tensor;

static int deleted;
static _Alignas(64) float memory[64];
static int64_t shape[2] = {2, 3}, strides[2] = {8, 1};

struct run {
  ruda_context context;
  ruda_stream stream;
};

static void count_deletion(managed_tensor* self) {
  assert_ptr_equal(self->manager_ctx, memory);
  ++deleted;
}

static void count_legacy_deletion(struct DLManagedTensor* self) {
  assert_ptr_equal(self->manager_ctx, memory);
  ++deleted;
}

static managed_tensor floats(void) {
  managed_tensor m;
  memset(&m, 0, sizeof m);
  m.version.major = 1;
  m.manager_ctx = memory;
  m.deleter = count_deletion;
  m.dl_tensor.data = memory;
  m.dl_tensor.device.type = 1;
  m.dl_tensor.ndim = 2;
  m.dl_tensor.dtype.code = 2;
  m.dl_tensor.dtype.bits = 32;
  m.dl_tensor.dtype.lanes = 1;
  m.dl_tensor.shape = shape;
  m.dl_tensor.strides = strides;
  return m;
}

static int setup(void** state) {
  static struct run r;
  for (int i = 0; i < 64; ++i) memory[i] = (float)i;
  r.context = new_context();
  r.stream = new_stream(r.context);
  deleted = 0;
  *state = &r;
  return 0;
}

static int teardown(void** state) {
  struct run* r = *state;
  OK(ruda_release(r->stream));
  assert_int_equal(live_objects(r->context), 0);
  OK(ruda_release(r->context));
  return 0;
}

static ruda_tensor import(struct run* r, managed_tensor* m) {
  ruda_tensor tensor = NULL;
  OK(ruda_tensor_from_dlpack(r->context, m, 0, &tensor));
  assert_non_null(tensor);
  return tensor;
}

/* Ownership stays with the caller: the output is NULL and the deleter was not called. */
static void refuses(struct run* r, managed_tensor* m, ruda_status status, const char* text) {
  ruda_tensor tensor = (ruda_tensor)m;
  const int before = deleted;
  FAILS(ruda_tensor_from_dlpack(r->context, m, 0, &tensor), status, 1, text);
  assert_null(tensor);
  assert_int_equal(deleted, before);
}

/* Imports, compares the elements with `want`, releases: the deleter is called once. */
static void holds(struct run* r, managed_tensor* m, const float want[6]) {
  float got[6] = {0};
  const int before = deleted;
  const ruda_tensor tensor = import(r, m);
  OK(ruda_tensor_read(r->stream, tensor, got, sizeof got));
  assert_memory_equal(got, want, sizeof got);
  assert_int_equal(deleted, before);
  OK(ruda_release(tensor));
  assert_int_equal(deleted, before + 1);
}

static void reads_layouts(void** state) {
  struct run* r = *state;
  const float strided[6] = {0, 1, 2, 8, 9, 10}, dense[6] = {0, 1, 2, 3, 4, 5},
              moved[6] = {2, 3, 4, 10, 11, 12};
  const float repeated[6] = {0, 1, 2, 0, 1, 2};
  int64_t same[2] = {0, 1};
  managed_tensor m = floats();
  holds(r, &m, strided);
  m.dl_tensor.strides = NULL;
  holds(r, &m, dense);
  m = floats();
  m.dl_tensor.byte_offset = 8;
  holds(r, &m, moved);
  m = floats();
  m.dl_tensor.strides = same;
  holds(r, &m, repeated);
  m = floats();
  m.version.minor = 99;
  holds(r, &m, strided);
}

static void frees_once_after_the_last_user(void** state) {
  struct run* r = *state;
  const int64_t begin[2] = {0, 1}, end[2] = {2, 3};
  managed_tensor m = floats();
  ruda_tensor tensor = import(r, &m), view = NULL;
  OK(ruda_retain(tensor));
  OK(ruda_release(tensor));
  assert_int_equal(deleted, 0);
  OK(ruda_tensor_slice(tensor, begin, end, NULL, 2, &view));
  OK(ruda_release(tensor));
  assert_int_equal(deleted, 0);
  OK(ruda_release(view));
  assert_int_equal(deleted, 1);

  struct DLManagedTensor old = {m.dl_tensor, memory, count_legacy_deletion};
  OK(ruda_tensor_from_dlpack_legacy(r->context, &old, &tensor));
  assert_int_equal(deleted, 1);
  OK(ruda_release(tensor));
  assert_int_equal(deleted, 2);

  m.deleter = NULL; /* nothing to free */
  OK(ruda_release(import(r, &m)));
}

static void takes_tensors_without_elements(void** state) {
  struct run* r = *state;
  int64_t none[2] = {0, 3};
  uint64_t bytes = 1;
  managed_tensor m = floats();
  m.dl_tensor.shape = none;
  m.dl_tensor.data = NULL;
  m.dl_tensor.byte_offset = 12345;
  ruda_tensor tensor = import(r, &m);
  OK(ruda_tensor_get_data(tensor, NULL, &bytes));
  assert_int_equal(bytes, 0);
  OK(ruda_release(tensor));
  assert_int_equal(deleted, 1);
  /* Strides that mean nothing are not looked at, and are those of a contiguous tensor from then on. */
  int64_t odd[2] = {-7, 0};
  m.dl_tensor.strides = odd;
  tensor = import(r, &m);
  managed_tensor* out = NULL;
  OK(ruda_tensor_to_dlpack(tensor, NULL, 0, &out));
  assert_int_equal(out->dl_tensor.strides[0], 3);
  assert_int_equal(out->dl_tensor.strides[1], 1);
  out->deleter(out);
  OK(ruda_release(tensor));
  m = floats();
  m.dl_tensor.data = NULL;
  refuses(r, &m, RUDA_E_NULL, "data is NULL with 6 elements");
  m = floats();
  m.dl_tensor.ndim = 0;
  m.dl_tensor.shape = m.dl_tensor.strides = NULL;
  OK(ruda_release(import(r, &m)));
}

static void refuses_what_it_cannot_hold(void** state) {
  struct run* r = *state;
  int64_t negative[2] = {2, -1}, back[2] = {-8, 1}, far_apart[2] = {INT64_MAX, 1};
  managed_tensor m = floats();
  for (uint32_t major = 0; major < 4; ++major) {
    if (major == 1) continue;
    m.version.major = major;
    refuses(r, &m, RUDA_E_UNSUPPORTED, "expected 1.x");
  }
#define CHANGED(change, status, text)      \
  do {                                     \
    m = floats();                          \
    m.dl_tensor.change;                    \
    refuses(r, &m, RUDA_E_##status, text); \
  } while (0)
  CHANGED(dtype.lanes = 0, UNSUPPORTED, "dtype has 0 lanes, expected 1");
  CHANGED(dtype.lanes = 2, UNSUPPORTED, "dtype has 2 lanes, expected 1");
  CHANGED(dtype.code = 5, UNSUPPORTED, "dtype code 5 with 32 bits");
  CHANGED(dtype.bits = 24, UNSUPPORTED, "dtype code 2 with 24 bits");
  CHANGED(device.type = 2, UNSUPPORTED, "device is type 2");
  CHANGED(ndim = -1, SHAPE, "rank is -1, expected 0..16");
  CHANGED(ndim = 17, SHAPE, "rank is 17, expected 0..16");
  CHANGED(shape = NULL, NULL, "managed");
  CHANGED(shape = negative, SHAPE, "managed");
  shape[0] = INT64_MAX;
  CHANGED(strides = NULL, SHAPE, "managed");
  shape[0] = 2;
  CHANGED(strides = back, SHAPE, "managed");
  CHANGED(strides = far_apart, SHAPE, "managed");
  CHANGED(byte_offset = 2, ARGUMENT, "expected a multiple of 4 bytes for F32");
  CHANGED(byte_offset = UINT64_MAX - 3, SHAPE, "byte_offset is 18446744073709551612");
  CHANGED(data = (void*)(UINTPTR_MAX - 3), SHAPE, "byte_offset is 0, beyond the end of memory");
#undef CHANGED
  ruda_tensor tensor = NULL;
  m = floats();
  FAILS(ruda_tensor_from_dlpack(r->context, &m, 2, &tensor), RUDA_E_ARGUMENT, 2, "flags is 2, expected 0");
  FAILS(ruda_tensor_from_dlpack(r->context, NULL, 0, &tensor), RUDA_E_NULL, 1, "managed is NULL");
  FAILS(ruda_tensor_from_dlpack(r->context, &m, 0, NULL), RUDA_E_NULL, 3, "out is NULL");
  FAILS(ruda_tensor_from_dlpack(NULL, &m, 0, &tensor), RUDA_E_NULL, 0, "context");
  assert_int_equal(deleted, 0);
}

static void keeps_read_only(void** state) {
  struct run* r = *state;
  managed_tensor m = floats(), *versioned = NULL;
  struct DLManagedTensor* legacy = (struct DLManagedTensor*)&m;
  m.flags = 1;
  const ruda_tensor tensor = import(r, &m);
  assert_int_equal(ruda_tensor_fill(r->stream, tensor, 1), RUDA_E_ARGUMENT);
  FAILS(ruda_tensor_to_dlpack_legacy(tensor, NULL, &legacy), RUDA_E_UNSUPPORTED, 0, "is read-only");
  assert_null(legacy);
  OK(ruda_tensor_to_dlpack(tensor, NULL, 0, &versioned));
  assert_int_equal(versioned->flags & 1, 1);
  assert_ptr_equal(versioned->dl_tensor.data, memory);
  assert_int_equal(versioned->dl_tensor.strides[0], 8);
  /* The export alone keeps the memory. */
  OK(ruda_release(tensor));
  assert_int_equal(deleted, 0);
  versioned->deleter(versioned);
  assert_int_equal(deleted, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(reads_layouts),
      CASE(frees_once_after_the_last_user),
      CASE(takes_tensors_without_elements),
      CASE(refuses_what_it_cannot_hold),
      CASE(keeps_read_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
