/* tests/plan/memory.c - where operands may lie: gaps between rows belong to nobody, empty tensors nowhere. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture.h"

/* A workspace between the rows of an operand shares no byte with it; one that touches a row does. */
static void takes_a_workspace_between_rows(void** state) {
  (void)state;
  enum { width = 32, out = 8, apart = 1 << 20 };
  static const int64_t x_shape[2] = {2, width}, x_strides[2] = {apart / 4, 1}, w_shape[2] = {out, width};
  _Alignas(256) static unsigned char memory[2 * apart], weights[out * 34];
  ruda_tensor_desc xd = tensor_desc(RUDA_F32, 2, x_shape);
  const ruda_tensor_desc wd = tensor_desc(RUDA_Q8_0, 2, w_shape);
  ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  ruda_plan plan = NULL;
  ruda_tensor x = NULL, w = NULL;
  const int64_t y_shape[2] = {2, out};
  ruda_tensor y = new_tensor(context, RUDA_F32, 2, y_shape);
  xd.strides = x_strides;
  desc.x = &xd;
  desc.weights = &wd;
  OK(ruda_matmul_block_plan_create(context, &desc, &plan));
  OK(ruda_plan_query(plan, &info));
  if (info.workspace_bytes == 0) { /* as kernels of old processors */
    OK(ruda_release(plan));
    OK(ruda_release(y));
    skip();
  }
  assert_in_range(info.workspace_bytes, 1, apart / 2);
  OK(ruda_tensor_wrap(context, &xd, memory + apart / 2, sizeof memory - apart / 2, NULL, NULL, &x));
  OK(ruda_tensor_wrap(context, &wd, weights, sizeof weights, NULL, NULL, &w));
  const ruda_binding bindings[3] = {bind_tensor(RUDA_MATMUL_BLOCK_X, x),
                                    bind_tensor(RUDA_MATMUL_BLOCK_WEIGHTS, w),
                                    bind_tensor(RUDA_MATMUL_BLOCK_Y, y)};
  const uint64_t first = apart / 2, second = first + apart; /* where rows begin */
  const uint64_t needed = (info.workspace_bytes + 255) / 256 * 256;
  const struct {
    uint64_t workspace;
    int meets;
  } cases[] = {{first, 1},
               {first + 256, 0},
               {second - needed, 0},
               {second - needed + 256, 1},
               {second, 1},
               {second + 256, 0},
               {0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    ruda_workspace workspace = NULL;
    OK(ruda_workspace_wrap(context, memory + cases[i].workspace, needed, &workspace));
    if (cases[i].meets)
      FAILS(ruda_plan_execute(plan, stream, workspace, bindings, 3, NULL), RUDA_E_OVERLAP, 2,
            "matmul_block: memory of the workspace overlaps x");
    else
      OK(ruda_plan_execute(plan, stream, workspace, bindings, 3, NULL));
    OK(ruda_release(workspace));
  }
  void* objects[] = {x, w, y, plan};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
}

/* Strides of a tensor without elements mean nothing: any fit a plan of the shape, however it is made. */
static void takes_any_strides_of_empty_tensors(void** state) {
  (void)state;
  static const int64_t none[3] = {4, 0, 8}, odd[][3] = {{99, 8, 1}, {0, 0, 0}, {1, 1, 1}, {-5, 7, -2}};
  static const int64_t full[3] = {4, 3, 8}, zero[3] = {0, 1, 0}, until[3] = {4, 1, 8};
  static const int64_t turned[3] = {0, 4, 8}, one[3] = {1, 0, 8};
  static const uint32_t swap[3] = {1, 0, 2};
  ruda_tensor_desc plain = tensor_desc(RUDA_F32, 3, none), desc = plain;
  ruda_softmax_desc softmax = RUDA_SOFTMAX_DESC_INIT;
  ruda_plan plans[5] = {NULL};
  ruda_tensor tensors[8] = {NULL}, whole = new_tensor(context, RUDA_F32, 3, full);
  float memory[4];
  size_t count = 0;
  softmax.x = &plain;
  OK(ruda_softmax_plan_create(context, &softmax, &plans[0]));
  for (int i = 0; i < 4; ++i) { /* a plan made with any strides is the plan of the shape */
    desc.strides = odd[i];
    softmax.x = softmax.y = &desc;
    OK(ruda_softmax_plan_create(context, &softmax, &plans[i + 1]));
  }
  OK(ruda_tensor_create(context, &plain, &tensors[count++]));
  for (int i = 0; i < 4; ++i) {
    desc.strides = odd[i];
    if (i % 2)
      OK(ruda_tensor_create(context, &desc, &tensors[count++]));
    else
      OK(ruda_tensor_wrap(context, &desc, memory, sizeof memory, NULL, NULL, &tensors[count++]));
  }
  OK(ruda_tensor_slice(whole, zero, until, NULL, 3, &tensors[count++]));
  ruda_tensor standing = new_tensor(context, RUDA_F32, 3, turned);
  OK(ruda_tensor_permute(standing, swap, 3, &tensors[count++]));
  ruda_tensor single = new_tensor(context, RUDA_F32, 3, one);
  OK(ruda_tensor_broadcast(single, none, 3, &tensors[count++]));
  for (size_t i = 0; i < count; ++i) {
    ruda_bool contiguous = 0;
    ruda_tensor_desc found = RUDA_TENSOR_DESC_INIT;
    OK(ruda_tensor_is_contiguous(tensors[i], &contiguous));
    assert_int_equal(contiguous, 1);
    OK(ruda_tensor_get_desc(tensors[i], &found));
    assert_int_equal(found.strides[0], 8);
    assert_int_equal(found.strides[1], 8);
    assert_int_equal(found.strides[2], 1);
    for (size_t p = 0; p < 5; ++p) {
      const ruda_binding bindings[2] = {bind_tensor(RUDA_SOFTMAX_X, tensors[i]),
                                        bind_tensor(RUDA_SOFTMAX_Y, tensors[(i + 1) % count])};
      OK(ruda_plan_execute(plans[p], stream, NULL, bindings, 2, NULL));
    }
    ruda_tensor eager = NULL;
    OK(ruda_softmax(stream, tensors[i], &eager));
    OK(ruda_release(eager));
  }
  for (size_t i = 0; i < count; ++i) OK(ruda_release(tensors[i]));
  for (size_t p = 0; p < 5; ++p) OK(ruda_release(plans[p]));
  OK(ruda_release(standing));
  OK(ruda_release(single));
  OK(ruda_release(whole));
}

/* The halves of a wider matrix share its span and no byte: one may be copied into the other. */
static void copies_between_halves(void** state) {
  (void)state;
  static const int64_t whole[2] = {3, 8}, zero[2] = {0, 0}, middle[2] = {3, 4}, right[2] = {0, 4};
  static const int64_t end[2] = {3, 8}, shifted[2] = {0, 3}, shifted_end[2] = {3, 7};
  ruda_tensor all = new_counting(context, stream, 2, whole), from = NULL, to = NULL, across = NULL;
  float got[24];
  OK(ruda_tensor_slice(all, zero, middle, NULL, 2, &from));
  OK(ruda_tensor_slice(all, right, end, NULL, 2, &to));
  OK(ruda_tensor_slice(all, shifted, shifted_end, NULL, 2, &across));
  FAILS(ruda_tensor_copy(stream, from, across), RUDA_E_OVERLAP, 2, "to: memory overlaps from");
  OK(ruda_tensor_copy(stream, from, to));
  OK(ruda_tensor_read(stream, all, got, sizeof got));
  for (int i = 0; i < 24; ++i) assert_true(got[i] == (float)(i % 8 < 4 ? i : i - 4));
  ruda_tensor tensors[] = {from, to, across, all};
  for (size_t i = 0; i < 4; ++i) OK(ruda_release(tensors[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_a_workspace_between_rows),
      cmocka_unit_test(takes_any_strides_of_empty_tensors),
      cmocka_unit_test(copies_between_halves),
  };
  return cmocka_run_group_tests_name("memory", tests, setup, teardown);
}
