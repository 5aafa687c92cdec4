/* tests/tensor/create.c - making, wrapping, describing, writing and reading tensors; every refusal and its
 * text. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture.h"

#include <limits.h>

static void refuse(const ruda_tensor_desc* desc, ruda_status status, const char* text) {
  ruda_tensor tensor = (ruda_tensor)&tensor;
  FAILS(ruda_tensor_create(context, desc, &tensor), status, 1, text);
  assert_null(tensor);
}

static void knows_dtypes(void** state) {
  (void)state;
  static const struct {
    uint32_t code, bits, elements, bytes;
    const char* name;
  } facts[] = {
      {RUDA_F64, 64, 1, 8, "F64"},      {RUDA_F32, 32, 1, 4, "F32"},      {RUDA_F16, 16, 1, 2, "F16"},
      {RUDA_BF16, 16, 1, 2, "BF16"},    {RUDA_F8E4M3, 8, 1, 1, "F8E4M3"}, {RUDA_F8E5M2, 8, 1, 1, "F8E5M2"},
      {RUDA_F4E2M1, 4, 2, 1, "F4E2M1"}, {RUDA_I8, 8, 1, 1, "I8"},         {RUDA_U8, 8, 1, 1, "U8"},
      {RUDA_I16, 16, 1, 2, "I16"},      {RUDA_U16, 16, 1, 2, "U16"},      {RUDA_I32, 32, 1, 4, "I32"},
      {RUDA_U32, 32, 1, 4, "U32"},      {RUDA_I64, 64, 1, 8, "I64"},      {RUDA_U64, 64, 1, 8, "U64"},
      {RUDA_BOOL, 8, 1, 1, "BOOL"},     {RUDA_Q4_0, 0, 32, 18, "Q4_0"},   {RUDA_Q4_1, 0, 32, 20, "Q4_1"},
      {RUDA_Q5_0, 0, 32, 22, "Q5_0"},   {RUDA_Q5_1, 0, 32, 24, "Q5_1"},   {RUDA_Q8_0, 0, 32, 34, "Q8_0"},
      {RUDA_Q2_K, 0, 256, 84, "Q2_K"},  {RUDA_Q3_K, 0, 256, 110, "Q3_K"}, {RUDA_Q4_K, 0, 256, 144, "Q4_K"},
      {RUDA_Q5_K, 0, 256, 176, "Q5_K"}, {RUDA_Q6_K, 0, 256, 210, "Q6_K"},
  };
  size_t known = 0;
  for (uint32_t code = 0; code < 600; ++code) {
    ruda_dtype_info info = {(uint32_t)sizeof info, 0, 0, 0, NULL};
    const ruda_status status = ruda_dtype_get_info(code, &info);
    if (status != RUDA_OK) {
      assert_int_equal(status, RUDA_E_DTYPE);
      continue;
    }
    size_t at = 0;
    while (at < sizeof facts / sizeof *facts && facts[at].code != code) ++at;
    if (at == sizeof facts / sizeof *facts) fail_msg("dtype %u is not in the table of the test", code);
    assert_int_equal(info.bits, facts[at].bits);
    assert_int_equal(info.block_elements, facts[at].elements);
    assert_int_equal(info.block_bytes, facts[at].bytes);
    assert_string_equal(info.name, facts[at].name);
    ++known;
  }
  assert_int_equal(known, sizeof facts / sizeof *facts);
  ruda_dtype_info info = {4, 0, 0, 0, NULL};
  FAILS(ruda_dtype_get_info(RUDA_F32, &info), RUDA_E_ARGUMENT, 1, "struct_size is 4");
  FAILS(ruda_dtype_get_info(RUDA_F32, NULL), RUDA_E_NULL, 1, "inout is NULL");
  info.struct_size = sizeof info;
  FAILS(ruda_dtype_get_info(77, &info), RUDA_E_DTYPE, 0, "77");
}

static void refuses_shapes(void** state) {
  (void)state;
  const int64_t fine[2] = {2, 3}, negative[2] = {2, -1}, odd[1] = {33};
  ruda_tensor tensor = (ruda_tensor)&tensor;
  ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, fine);
  FAILS(ruda_tensor_create(context, &desc, NULL), RUDA_E_NULL, 2, "out is NULL");
  FAILS(ruda_tensor_create(context, NULL, &tensor), RUDA_E_NULL, 1, "desc is NULL");
  assert_null(tensor);
  desc = tensor_desc(99, 2, fine);
  refuse(&desc, RUDA_E_DTYPE, "desc: dtype is 99, which is no known code");
  desc = tensor_desc(0, 2, fine);
  refuse(&desc, RUDA_E_DTYPE, "desc: dtype is 0");
  desc = tensor_desc(RUDA_F32, 17, fine);
  refuse(&desc, RUDA_E_SHAPE, "desc: rank is 17, expected 0..16");
  desc = tensor_desc(RUDA_F32, UINT32_MAX, fine);
  refuse(&desc, RUDA_E_SHAPE, "desc: rank is 4294967295");
  desc = tensor_desc(RUDA_F32, 2, NULL);
  refuse(&desc, RUDA_E_NULL, "desc: shape is NULL with rank 2");
  desc = tensor_desc(RUDA_F32, 2, negative);
  refuse(&desc, RUDA_E_SHAPE, "desc: extent of axis 1 is -1, expected 0 or more");
  desc = tensor_desc(RUDA_Q4_0, 1, odd);
  refuse(&desc, RUDA_E_SHAPE, "desc: last extent of Q4_0 is 33, expected a multiple of 32");
  desc = tensor_desc(RUDA_Q4_0, 0, NULL);
  refuse(&desc, RUDA_E_SHAPE, "expected a multiple of 32");
  desc = tensor_desc(RUDA_F4E2M1, 1, odd);
  refuse(&desc, RUDA_E_SHAPE, "last extent of F4E2M1 is 33, expected a multiple of 2");
  const int64_t huge[3] = {INT64_MAX, 2, 2}, wide[2] = {INT64_C(1) << 40, INT64_C(1) << 40},
                shy[2] = {0, INT64_MAX};
  desc = tensor_desc(RUDA_F32, 3, huge);
  refuse(&desc, RUDA_E_SHAPE, "element count overflows at axis 0 with extent 9223372036854775807");
  desc = tensor_desc(RUDA_U8, 2, wide);
  refuse(&desc, RUDA_E_SHAPE, "element count overflows at axis 0");
  desc = tensor_desc(RUDA_F64, 2, shy);
  refuse(&desc, RUDA_E_SHAPE, "element count overflows at axis 1");
  const int64_t large[1] = {INT64_C(1) << 45};
  desc = tensor_desc(RUDA_F64, 1, large);
  FAILS(ruda_tensor_create(context, &desc, &tensor), RUDA_E_OOM_HOST, -1, "out of host memory: ");
  desc = tensor_desc(RUDA_F32, 2, fine);
  desc.flags = 0x200;
  refuse(&desc, RUDA_E_ARGUMENT, "desc: flags are 0x200, which holds unknown bits");
  desc.flags = 13;
  refuse(&desc, RUDA_E_ARGUMENT, "desc: flags are 0xd");
  desc.flags = RUDA_TENSOR_READ_ONLY;
  refuse(&desc, RUDA_E_ARGUMENT, "RUDA_TENSOR_READ_ONLY");
}

static void refuses_strides(void** state) {
  (void)state;
  const int64_t shape[2] = {4, 3}, repeat[2] = {0, 1}, crossing[2] = {2, 1}, back[2] = {-3, 1};
  const int64_t far[2] = {INT64_MAX / 2, 1};
  ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape);
  desc.strides = repeat;
  refuse(&desc, RUDA_E_SHAPE, "desc: strides make elements share memory, expected distinct elements");
  desc.strides = crossing;
  refuse(&desc, RUDA_E_SHAPE, "share memory");
  desc.strides = back;
  refuse(&desc, RUDA_E_SHAPE, "desc: stride of axis 0 is -3, expected 0 or more");
  desc.strides = far;
  refuse(&desc, RUDA_E_SHAPE, "desc: stride 4611686018427387903 of axis 0 overflows");
  const int64_t blocks[2] = {4, 64}, cut[2] = {80, 1}, apart[2] = {64, 2};
  desc = tensor_desc(RUDA_Q8_0, 2, blocks);
  desc.strides = cut;
  refuse(&desc, RUDA_E_SHAPE, "stride of axis 0 is 80, which cuts the blocks of Q8_0");
  desc.strides = apart;
  refuse(&desc, RUDA_E_SHAPE, "stride of axis 1 is 2, which cuts the blocks of Q8_0");
}

static void describes_tensors(void** state) {
  (void)state;
  const int64_t shape[3] = {2, 1, 3}, strides[3] = {8, 99, 2};
  ruda_tensor_desc desc = tensor_desc(RUDA_I16, 3, shape);
  desc.strides = strides;
  ruda_tensor tensor = NULL;
  OK(ruda_tensor_create(context, &desc, &tensor));
  ruda_tensor_desc got = RUDA_TENSOR_DESC_INIT;
  OK(ruda_tensor_get_desc(tensor, &got));
  assert_int_equal(got.dtype, RUDA_I16);
  assert_int_equal(got.rank, 3);
  assert_int_equal(got.flags & RUDA_TENSOR_ALIGN_MASK, 6);
  ruda_tensor_desc other = got;
  ruda_tensor same = NULL;
  other.flags = RUDA_TENSOR_ALIGN_BYTE;
  OK(ruda_tensor_create(context, &other, &same));
  OK(ruda_release(same));
  other.flags = 13;
  refuse(&other, RUDA_E_ARGUMENT, "desc: flags are 0xd, which holds unknown bits");
  assert_memory_equal(got.shape, shape, sizeof shape);
  assert_int_equal(got.strides[0], 8);
  assert_int_equal(got.strides[2], 2);
  ruda_bool contiguous = 7;
  OK(ruda_tensor_is_contiguous(tensor, &contiguous));
  assert_int_equal(contiguous, 0);
  void* data = NULL;
  uint64_t bytes = 0;
  OK(ruda_tensor_get_data(tensor, &data, &bytes));
  assert_int_equal(bytes, 12);
  assert_int_equal((uintptr_t)data % 64, 0);
  OK(ruda_tensor_get_data(tensor, NULL, NULL));
  FAILS(ruda_tensor_get_desc(tensor, NULL), RUDA_E_NULL, 1, "inout is NULL");
  FAILS(ruda_tensor_is_contiguous(tensor, NULL), RUDA_E_NULL, 1, "out is NULL");
  FAILS(ruda_tensor_get_context(tensor, NULL), RUDA_E_NULL, 1, "out is NULL");
  FAILS(ruda_tensor_storage_users(tensor, NULL), RUDA_E_NULL, 1, "out is NULL");
  /* A descriptor made from a tensor makes its twin. */
  ruda_tensor twin = NULL;
  OK(ruda_tensor_create(context, &got, &twin));
  OK(ruda_release(twin));
  OK(ruda_release(tensor));
}

static void makes_small_and_empty_tensors(void** state) {
  (void)state;
  ruda_tensor scalar = new_tensor(context, RUDA_F64, 0, NULL);
  const double pi = 3.25;
  double back = 0;
  OK(ruda_tensor_write(stream, scalar, &pi, sizeof pi));
  OK(ruda_tensor_read(stream, scalar, &back, sizeof back));
  assert_true(back == pi);
  OK(ruda_release(scalar));
  const int64_t empty[3] = {2, 0, 5};
  ruda_tensor nothing = new_tensor(context, RUDA_F32, 3, empty);
  uint64_t bytes = 9;
  OK(ruda_tensor_get_data(nothing, NULL, &bytes));
  assert_int_equal(bytes, 0);
  OK(ruda_tensor_write(stream, nothing, NULL, 0));
  OK(ruda_tensor_read(stream, nothing, NULL, 0));
  ruda_bool contiguous = 0;
  OK(ruda_tensor_is_contiguous(nothing, &contiguous));
  assert_int_equal(contiguous, 1);
  OK(ruda_release(nothing));
  int64_t ones[RUDA_MAX_RANK];
  for (int i = 0; i < RUDA_MAX_RANK; ++i) ones[i] = 1;
  ruda_tensor deep = new_tensor(context, RUDA_U8, RUDA_MAX_RANK, ones);
  OK(ruda_release(deep));
}

static int freed;
static void count_free(void* user, void* data) {
  assert_non_null(user);
  assert_non_null(data);
  ++freed;
}

static void wraps_memory(void** state) {
  (void)state;
  float memory[12];
  for (int i = 0; i < 12; ++i) memory[i] = (float)i;
  const int64_t shape[2] = {3, 4};
  ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape);
  ruda_tensor tensor = (ruda_tensor)&tensor;
  freed = 0;
  FAILS(ruda_tensor_wrap(context, &desc, memory, 47, count_free, memory, &tensor), RUDA_E_SHAPE, 3,
        "bytes is 47, the shape needs 48");
  assert_null(tensor);
  FAILS(ruda_tensor_wrap(context, &desc, NULL, 48, count_free, memory, &tensor), RUDA_E_NULL, 2,
        "data is NULL, the shape needs 48 bytes");
  FAILS(ruda_tensor_wrap(context, &desc, (char*)memory + 2, 48, count_free, memory, &tensor), RUDA_E_ARGUMENT,
        2, "expected a multiple of 4 bytes for F32");
  FAILS(ruda_tensor_wrap(context, &desc, memory, 48, count_free, memory, NULL), RUDA_E_NULL, 6,
        "out is NULL");
  const int64_t back[2] = {-4, 1};
  desc.strides = back;
  FAILS(ruda_tensor_wrap(context, &desc, memory, 48, count_free, memory, &tensor), RUDA_E_SHAPE, 1,
        "stride of axis 0 is -4, expected 0 or more");
  desc.strides = NULL;
  assert_int_equal(freed, 0);

  OK(ruda_tensor_wrap(context, &desc, memory, 48, count_free, memory, &tensor));
  void* data = NULL;
  OK(ruda_tensor_get_data(tensor, &data, NULL));
  assert_ptr_equal(data, memory);
  const uint32_t axes[2] = {1, 0};
  ruda_tensor view = NULL;
  OK(ruda_tensor_permute(tensor, axes, 2, &view));
  OK(ruda_release(tensor));
  assert_int_equal(freed, 0);
  float got[12];
  OK(ruda_tensor_read(stream, view, got, sizeof got));
  for (int c = 0; c < 4; ++c)
    for (int r = 0; r < 3; ++r) assert_true(got[c * 3 + r] == memory[r * 4 + c]);
  OK(ruda_release(view));
  assert_int_equal(freed, 1);

  /* Read-only memory, and repeated elements, cannot be written. */
  desc.flags = RUDA_TENSOR_READ_ONLY;
  OK(ruda_tensor_wrap(context, &desc, memory, 48, NULL, NULL, &tensor));
  FAILS(ruda_tensor_write(stream, tensor, got, sizeof got), RUDA_E_ARGUMENT, 1, "tensor: is read-only");
  ruda_tensor_desc described = RUDA_TENSOR_DESC_INIT;
  OK(ruda_tensor_get_desc(tensor, &described));
  assert_true(described.flags & RUDA_TENSOR_READ_ONLY);
  OK(ruda_tensor_permute(tensor, axes, 2, &view));
  FAILS(ruda_tensor_write(stream, view, got, sizeof got), RUDA_E_ARGUMENT, 1, "tensor: is read-only");
  OK(ruda_release(view));
  OK(ruda_release(tensor));
  desc.flags = 0;
  const int64_t repeat[2] = {0, 1};
  desc.strides = repeat;
  OK(ruda_tensor_wrap(context, &desc, memory, 16, NULL, NULL, &tensor));
  FAILS(ruda_tensor_write(stream, tensor, got, sizeof got), RUDA_E_ARGUMENT, 1, "tensor: is read-only");
  OK(ruda_tensor_read(stream, tensor, got, sizeof got));
  for (int i = 0; i < 12; ++i) assert_true(got[i] == memory[i % 4]);
  OK(ruda_release(tensor));

  const int64_t none[1] = {0};
  desc = tensor_desc(RUDA_F32, 1, none);
  OK(ruda_tensor_wrap(context, &desc, NULL, 0, NULL, NULL, &tensor));
  OK(ruda_release(tensor));
}

static void moves_bytes(void** state) {
  (void)state;
  const int64_t shape[2] = {3, 4};
  ruda_tensor tensor = new_tensor(context, RUDA_F32, 2, shape);
  float values[13] = {0};
  FAILS(ruda_tensor_write(stream, tensor, values, 44), RUDA_E_SHAPE, 3, "bytes is 44, the tensor holds 48");
  FAILS(ruda_tensor_write(stream, tensor, values, 52), RUDA_E_SHAPE, 3, "bytes is 52, the tensor holds 48");
  FAILS(ruda_tensor_write(stream, tensor, NULL, 48), RUDA_E_NULL, 2, "data is NULL with 48 bytes");
  FAILS(ruda_tensor_read(stream, tensor, values, 47), RUDA_E_SHAPE, 3, "bytes is 47, the tensor holds 48");
  FAILS(ruda_tensor_read(stream, tensor, NULL, 48), RUDA_E_NULL, 2, "data is NULL with 48 bytes");
  FAILS(ruda_tensor_read(NULL, tensor, values, 48), RUDA_E_NULL, 0, "stream: handle is NULL");
  FAILS(ruda_tensor_read(stream, NULL, values, 48), RUDA_E_NULL, 1, "tensor: handle is NULL");
  ruda_context other = new_context();
  ruda_stream foreign = new_stream(other);
  FAILS(ruda_tensor_read(foreign, tensor, values, 48), RUDA_E_ARGUMENT, 1, "another context than the stream");
  FAILS(ruda_tensor_write(foreign, tensor, values, 48), RUDA_E_ARGUMENT, 1,
        "another context than the stream");
  FAILS(ruda_tensor_fence(tensor, foreign), RUDA_E_ARGUMENT, 1, "another context than the tensor");
  OK(ruda_release(foreign));
  OK(ruda_release(other));
  OK(ruda_tensor_fence(tensor, stream));

  /* Into and out of a strided view: only its elements change. */
  const int64_t begin[2] = {0, 1}, end[2] = {3, 4}, step[2] = {2, 2};
  ruda_tensor view = NULL;
  float all[12];
  for (int i = 0; i < 12; ++i) values[i] = (float)i;
  OK(ruda_tensor_write(stream, tensor, values, 48));
  OK(ruda_tensor_slice(tensor, begin, end, step, 2, &view));
  const float fresh[4] = {100, 101, 102, 103};
  float got[4];
  OK(ruda_tensor_write(stream, view, fresh, sizeof fresh));
  OK(ruda_tensor_read(stream, view, got, sizeof got));
  assert_memory_equal(got, fresh, sizeof got);
  OK(ruda_tensor_read(stream, tensor, all, sizeof all));
  for (int i = 0; i < 12; ++i) {
    const int row = i / 4, column = i % 4;
    const int chosen = row % 2 == 0 && column % 2 == 1;
    assert_true(all[i] == (chosen ? fresh[row / 2 * 2 + column / 2] : (float)i));
  }
  OK(ruda_release(view));
  OK(ruda_release(tensor));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(knows_dtypes),
      cmocka_unit_test(refuses_shapes),
      cmocka_unit_test(refuses_strides),
      cmocka_unit_test(describes_tensors),
      cmocka_unit_test(makes_small_and_empty_tensors),
      cmocka_unit_test(wraps_memory),
      cmocka_unit_test(moves_bytes),
  };
  return cmocka_run_group_tests_name("create", tests, setup, teardown);
}
