/* tests/tensor/view.c - every view against index arithmetic written here, random shapes, all refusals. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fixture.h"

#include <time.h>

/* A tensor as the test sees it: values stand at offset + sum(index * stride) of a counting buffer. */
struct model {
  uint32_t rank;
  int64_t shape[RUDA_MAX_RANK], strides[RUDA_MAX_RANK], offset;
};

static uint64_t seed;

static int64_t pick(int64_t low, int64_t high) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (int64_t)((seed >> 33) % (uint64_t)(high - low + 1));
}

static int seeded_setup(void** state) {
  seed = (uint64_t)time(NULL);
  print_message("seed %llu\n", (unsigned long long)seed);
  return setup(state);
}

static int64_t count_of(const struct model* m) {
  int64_t n = 1;
  for (uint32_t i = 0; i < m->rank; ++i) n *= m->shape[i];
  return n;
}

static struct model packed(uint32_t rank, const int64_t* shape) {
  struct model m = {rank, {0}, {0}, 0};
  int64_t step = 1;
  for (uint32_t i = rank; i-- > 0;) {
    m.shape[i] = shape[i];
    m.strides[i] = step;
    step *= shape[i];
  }
  return m;
}

/* Value of element number n in row-major order. */
static int64_t value_at(const struct model* m, int64_t n) {
  int64_t at = m->offset;
  for (uint32_t i = m->rank; i-- > 0;) {
    at += n % m->shape[i] * m->strides[i];
    n /= m->shape[i];
  }
  return at;
}

static void compare(const struct model* m, ruda_tensor tensor) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  OK(ruda_tensor_get_desc(tensor, &desc));
  assert_int_equal(desc.rank, m->rank);
  for (uint32_t i = 0; i < m->rank; ++i) assert_int_equal(desc.shape[i], m->shape[i]);
  const int64_t count = count_of(m);
  uint64_t bytes = 0;
  OK(ruda_tensor_get_data(tensor, NULL, &bytes));
  assert_int_equal(bytes, count * 4);
  float* values = malloc(bytes + 4);
  OK(ruda_tensor_read(stream, tensor, values, bytes));
  for (int64_t n = 0; n < count; ++n)
    if (values[n] != (float)value_at(m, n))
      fail_msg("element %lld is %g, expected %lld", (long long)n, (double)values[n],
               (long long)value_at(m, n));
  /* Contiguous or not is what the strides say. */
  int64_t step = 1, dense = 1;
  for (uint32_t i = m->rank; i-- > 0;) {
    if (m->shape[i] > 1 && m->strides[i] != step) dense = 0;
    step *= m->shape[i];
  }
  ruda_bool contiguous = 9;
  OK(ruda_tensor_is_contiguous(tensor, &contiguous));
  if (count) assert_int_equal(contiguous, dense);
  free(values);
}

static void permute_model(struct model* m, const uint32_t* axes) {
  const struct model old = *m;
  for (uint32_t i = 0; i < m->rank; ++i) {
    m->shape[i] = old.shape[axes[i]];
    m->strides[i] = old.strides[axes[i]];
  }
}

/* Python's slice, worked out by walking: the indices that are visited, in order. */
static int64_t slice_walk(int64_t extent, int64_t begin, int64_t end, int64_t step, int64_t* first) {
  int64_t count = 0;
  for (int64_t k = 0; k < extent; ++k) {
    int64_t from = begin < 0 ? begin + extent : begin;
    if (step > 0 && from < 0) from = 0;
    if (step < 0 && from >= extent) from = extent - 1;
    int64_t to = end < 0 ? end + extent : end;
    if (end < -extent) to = -1;
    if (step > 0 && to < 0) to = 0;
    const int64_t at = from + k * step;
    if (at < 0 || at >= extent || (step > 0 ? at >= to : at <= to)) break;
    if (!count++) *first = at;
  }
  return count;
}

static void random_chains(void** state) {
  (void)state;
  for (int round = 0; round < 400; ++round) {
    int64_t shape[RUDA_MAX_RANK];
    const uint32_t rank = (uint32_t)pick(0, 4);
    for (uint32_t i = 0; i < rank; ++i) shape[i] = pick(round % 10 ? 1 : 0, 5);
    struct model m = packed(rank, shape);
    ruda_tensor tensor = new_counting(context, stream, rank, shape);
    compare(&m, tensor);
    for (int depth = 0; depth < 4; ++depth) {
      ruda_tensor next = NULL;
      const int64_t kind = pick(0, 3);
      if (kind == 0 && m.rank) {
        uint32_t axes[RUDA_MAX_RANK];
        for (uint32_t i = 0; i < m.rank; ++i) axes[i] = i;
        for (uint32_t i = m.rank; i-- > 1;) {
          const uint32_t j = (uint32_t)pick(0, i), keep = axes[i];
          axes[i] = axes[j];
          axes[j] = keep;
        }
        OK(ruda_tensor_permute(tensor, axes, m.rank, &next));
        permute_model(&m, axes);
      } else if (kind == 1 && m.rank) {
        int64_t begin[RUDA_MAX_RANK], end[RUDA_MAX_RANK], step[RUDA_MAX_RANK];
        const struct model old = m;
        for (uint32_t i = 0; i < m.rank; ++i) {
          begin[i] = pick(-7, 7);
          end[i] = pick(-7, 7);
          step[i] = pick(0, 1) ? 1 : pick(1, 3) * (pick(0, 1) ? 1 : -1);
          int64_t first = 0;
          m.shape[i] = slice_walk(old.shape[i], begin[i], end[i], step[i], &first);
          m.offset += first * old.strides[i];
          m.strides[i] = old.strides[i] * step[i];
        }
        OK(ruda_tensor_slice(tensor, begin, end, step, m.rank, &next));
      } else if (kind == 2 && m.rank < 6) {
        const uint32_t added = (uint32_t)pick(0, 1);
        struct model wide = {m.rank + added, {0}, {0}, m.offset};
        for (uint32_t i = 0; i < added; ++i) wide.shape[i] = pick(1, 3);
        for (uint32_t i = 0; i < m.rank; ++i) {
          const int repeat = m.shape[i] == 1 && pick(0, 1);
          wide.shape[i + added] = repeat ? pick(1, 4) : m.shape[i];
          wide.strides[i + added] = repeat ? 0 : m.strides[i];
        }
        OK(ruda_tensor_broadcast(tensor, wide.shape, wide.rank, &next));
        m = wide;
      } else {
        /* Another shape with as many elements: a view or a copy, with the same values in order. */
        const int64_t count = count_of(&m);
        int64_t fresh[3] = {1, 1, count};
        for (int64_t f = 2; f < 6; ++f)
          if (count && fresh[2] % f == 0 && pick(0, 1)) fresh[pick(0, 1)] *= f, fresh[2] /= f;
        if (count > 0 && pick(0, 2) == 0) fresh[2] = -1;
        ruda_bool copied = 9;
        OK(ruda_tensor_reshape(stream, tensor, fresh, 3, &copied, &next));
        if (fresh[2] < 0) fresh[2] = count / (fresh[0] * fresh[1]);
        ruda_tensor view = (ruda_tensor)&view;
        if (copied) {
          FAILS(ruda_tensor_view(tensor, fresh, 3, &view), RUDA_E_SHAPE, 1, "use ruda_tensor_reshape");
          assert_null(view);
        } else {
          OK(ruda_tensor_view(tensor, fresh, 3, &view));
          OK(ruda_release(view));
        }
        float* old = malloc((size_t)count * 4 + 4);
        float* now = malloc((size_t)count * 4 + 4);
        OK(ruda_tensor_read(stream, tensor, old, (uint64_t)count * 4));
        OK(ruda_tensor_read(stream, next, now, (uint64_t)count * 4));
        assert_memory_equal(old, now, (size_t)count * 4);
        ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
        OK(ruda_tensor_get_desc(next, &desc));
        assert_int_equal(desc.rank, 3);
        for (int i = 0; i < 3; ++i) assert_int_equal(desc.shape[i], fresh[i]);
        void *was = NULL, *is = NULL;
        OK(ruda_tensor_get_data(tensor, &was, NULL));
        OK(ruda_tensor_get_data(next, &is, NULL));
        if (count) assert_int_equal(was == is, !copied);
        free(old);
        free(now);
        OK(ruda_release(tensor));
        tensor = next;
        break;
      }
      if (!next) continue;
      OK(ruda_release(tensor));
      tensor = next;
      compare(&m, tensor);
    }
    ruda_tensor dense = NULL;
    OK(ruda_tensor_contiguous(stream, tensor, &dense));
    ruda_bool contiguous = 0;
    OK(ruda_tensor_is_contiguous(dense, &contiguous));
    assert_int_equal(contiguous, 1);
    OK(ruda_release(dense));
    OK(ruda_release(tensor));
  }
}

static void reshape_says_view_or_copy(void** state) {
  (void)state;
  const int64_t shape[2] = {4, 6};
  ruda_tensor tensor = new_counting(context, stream, 2, shape), turned = NULL, next = NULL;
  const uint32_t axes[2] = {1, 0};
  OK(ruda_tensor_permute(tensor, axes, 2, &turned));
  ruda_bool copied = 9;
  const int64_t flat[1] = {24}, split[3] = {6, 2, 2}, same[2] = {6, 4};
  OK(ruda_tensor_reshape(stream, turned, split, 3, &copied, &next));
  assert_int_equal(copied, 0);
  OK(ruda_release(next));
  OK(ruda_tensor_reshape(stream, turned, same, 2, &copied, &next));
  assert_int_equal(copied, 0);
  OK(ruda_release(next));
  OK(ruda_tensor_reshape(stream, turned, flat, 1, &copied, &next));
  assert_int_equal(copied, 1);
  OK(ruda_release(next));
  OK(ruda_tensor_reshape(stream, tensor, flat, 1, NULL, &next));
  OK(ruda_release(next));
  OK(ruda_release(turned));
  OK(ruda_release(tensor));
}

static void counts_users_of_a_storage(void** state) {
  (void)state;
  const int64_t shape[2] = {4, 6}, begin[2] = {1, 0}, end[2] = {2, 6};
  ruda_tensor tensor = new_counting(context, stream, 2, shape), part = NULL, same = NULL;
  uint64_t users = 0;
  OK(ruda_tensor_storage_users(tensor, &users));
  assert_int_equal(users, 1);
  OK(ruda_tensor_slice(tensor, begin, end, NULL, 2, &part));
  OK(ruda_tensor_storage_users(tensor, &users));
  assert_int_equal(users, 2);
  /* contiguous() of a contiguous tensor is the tensor itself. */
  OK(ruda_tensor_contiguous(stream, part, &same));
  assert_ptr_equal(same, part);
  OK(ruda_tensor_storage_users(part, &users));
  assert_int_equal(users, 2);
  OK(ruda_release(same));
  OK(ruda_release(tensor));
  OK(ruda_tensor_storage_users(part, &users));
  assert_int_equal(users, 1);
  float got[6];
  OK(ruda_tensor_read(stream, part, got, sizeof got));
  assert_true(got[0] == 6.0f && got[5] == 11.0f);
  OK(ruda_release(part));
}

static void refuses_views(void** state) {
  (void)state;
  const int64_t shape[2] = {4, 6}, blocks[2] = {4, 64};
  ruda_tensor t = new_counting(context, stream, 2, shape), q = new_tensor(context, RUDA_Q8_0, 2, blocks);
  ruda_tensor out = (ruda_tensor)&out;
  const uint32_t twice[2] = {0, 0}, beyond[2] = {0, 2}, turn[2] = {1, 0};
  FAILS(ruda_tensor_permute(t, twice, 2, &out), RUDA_E_SHAPE, 1, "axes[1] is 0, expected each of 0..1 once");
  assert_null(out);
  FAILS(ruda_tensor_permute(t, beyond, 2, &out), RUDA_E_SHAPE, 1, "axes[1] is 2, expected each of 0..1 once");
  FAILS(ruda_tensor_permute(t, turn, 3, &out), RUDA_E_SHAPE, 2, "rank is 3, the tensor has 2");
  FAILS(ruda_tensor_permute(t, NULL, 2, &out), RUDA_E_NULL, 1, "axes is NULL with rank 2");
  FAILS(ruda_tensor_permute(t, turn, 2, NULL), RUDA_E_NULL, 3, "out is NULL");
  FAILS(ruda_tensor_permute(q, turn, 2, &out), RUDA_E_SHAPE, 1, "the last axis of Q8_0 must stay last");

  const int64_t begin[2] = {0, 0}, end[2] = {4, 6}, still[2] = {1, 0}, least[2] = {1, INT64_MIN};
  FAILS(ruda_tensor_slice(t, NULL, end, NULL, 2, &out), RUDA_E_NULL, 1, "begin is NULL with rank 2");
  FAILS(ruda_tensor_slice(t, begin, NULL, NULL, 2, &out), RUDA_E_NULL, 2, "end is NULL with rank 2");
  FAILS(ruda_tensor_slice(t, begin, end, still, 2, &out), RUDA_E_SHAPE, 3, "step[1] is 0, expected not 0");
  const int64_t far[2] = {1, INT64_MAX};
  FAILS(ruda_tensor_slice(t, begin, end, far, 2, &out), RUDA_E_SHAPE, 3, "expected not 0 and within -46");
  FAILS(ruda_tensor_slice(t, begin, end, least, 2, &out), RUDA_E_SHAPE, 3, "step[1] is -9223372036854775808");
  FAILS(ruda_tensor_slice(t, begin, end, NULL, 1, &out), RUDA_E_SHAPE, 4, "rank is 1, the tensor has 2");
  FAILS(ruda_tensor_slice(t, begin, end, NULL, 2, NULL), RUDA_E_NULL, 5, "out is NULL");
  const int64_t cut[2] = {0, 16}, full[2] = {4, 64};
  FAILS(ruda_tensor_slice(q, cut, full, NULL, 2, &out), RUDA_E_SHAPE, 1, "which cuts a block of 32 of Q8_0");
  /* Extremes of begin and end clamp. */
  const int64_t low[2] = {INT64_MIN, INT64_MIN}, high[2] = {INT64_MAX, INT64_MAX}, reverse[2] = {-1, -1};
  OK(ruda_tensor_slice(t, low, high, NULL, 2, &out));
  struct model m = packed(2, shape);
  compare(&m, out);
  OK(ruda_release(out));
  OK(ruda_tensor_slice(t, high, low, reverse, 2, &out));
  m.offset = 23;
  m.strides[0] = -6;
  m.strides[1] = -1;
  compare(&m, out);
  OK(ruda_release(out));

  out = (ruda_tensor)&out;
  const int64_t other[2] = {4, 7}, less[1] = {6}, minus[3] = {-1, 4, 6}, vast[3] = {INT64_MAX, 4, 6};
  FAILS(ruda_tensor_broadcast(t, other, 2, &out), RUDA_E_SHAPE, 1, "shape[1] is 7, the tensor has 6 there");
  assert_null(out);
  FAILS(ruda_tensor_broadcast(t, less, 1, &out), RUDA_E_SHAPE, 2, "rank is 1, expected 2..16");
  FAILS(ruda_tensor_broadcast(t, minus, 3, &out), RUDA_E_SHAPE, 1, "shape[0] is -1");
  FAILS(ruda_tensor_broadcast(t, vast, 3, &out), RUDA_E_SHAPE, 1, "overflows");
  FAILS(ruda_tensor_broadcast(t, NULL, 2, &out), RUDA_E_NULL, 1, "shape is NULL with rank 2");
  FAILS(ruda_tensor_broadcast(t, shape, 2, NULL), RUDA_E_NULL, 3, "out is NULL");
  FAILS(ruda_tensor_broadcast(t, shape, 17, &out), RUDA_E_SHAPE, 2, "rank is 17, expected 2..16");

  const int64_t five[1] = {5}, open[3] = {-1, -1, 2}, uneven[2] = {-1, 5}, zero[2] = {-1, 0};
  FAILS(ruda_tensor_view(t, five, 1, &out), RUDA_E_SHAPE, 1, "shape: has 5 elements, the tensor has 24");
  FAILS(ruda_tensor_view(t, open, 3, &out), RUDA_E_SHAPE, 1, "extent of axis 1 is -1");
  FAILS(ruda_tensor_view(t, uneven, 2, &out), RUDA_E_SHAPE, 1, "24 elements cannot be split by");
  FAILS(ruda_tensor_view(t, zero, 2, &out), RUDA_E_SHAPE, 1, "whose product is 0");
  FAILS(ruda_tensor_view(t, vast, 3, &out), RUDA_E_SHAPE, 1, "shape: element count overflows at axis 1");
  FAILS(ruda_tensor_view(t, NULL, 2, &out), RUDA_E_NULL, 1, "shape is NULL with rank 2");
  FAILS(ruda_tensor_view(t, five, 17, &out), RUDA_E_SHAPE, 2, "rank is 17, expected 0..16");
  FAILS(ruda_tensor_view(t, five, 1, NULL), RUDA_E_NULL, 3, "out is NULL");
  ruda_bool copied = 9;
  FAILS(ruda_tensor_reshape(stream, t, five, 1, &copied, &out), RUDA_E_SHAPE, 2, "shape: has 5 elements");
  assert_int_equal(copied, 0);
  FAILS(ruda_tensor_reshape(stream, t, five, 17, NULL, &out), RUDA_E_SHAPE, 3, "rank is 17, expected 0..16");
  FAILS(ruda_tensor_reshape(stream, t, shape, 2, NULL, NULL), RUDA_E_NULL, 5, "out is NULL");
  OK(ruda_release(q));
  OK(ruda_release(t));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_chains),
      cmocka_unit_test(reshape_says_view_or_copy),
      cmocka_unit_test(counts_users_of_a_storage),
      cmocka_unit_test(refuses_views),
  };
  return cmocka_run_group_tests_name("view", tests, seeded_setup, teardown);
}
