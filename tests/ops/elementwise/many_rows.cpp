// tests/ops/elementwise/many_rows.cpp - every operator on more rows than an axis of a grid holds.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/op_run.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

struct Call {
  const char* name;
  int64_t rows;
  std::function<ruda_status(ruda_tensor*)> run;
};

ruda_tensor make(const Env& env, uint32_t dtype, const std::vector<int64_t>& shape, const void* data,
                 uint64_t bytes) {
  ruda_tensor t = new_tensor(env.context, dtype, shape);
  MUST(ruda_tensor_write(env.stream, t, data, bytes));
  return t;
}

// The same row `rows` times, each in memory of its own.
ruda_tensor repeat(const Env& env, ruda_tensor row, std::vector<int64_t> shape) {
  ruda_tensor view = nullptr, t = nullptr;
  MUST(ruda_tensor_broadcast(row, shape.data(), uint32_t(shape.size()), &view));
  MUST(ruda_tensor_contiguous(env.stream, view, &t));
  ruda_release(view);
  return t;
}

ruda_tensor view(ruda_tensor t, std::vector<int64_t> shape) {
  ruda_tensor v = nullptr;
  MUST(ruda_tensor_view(t, shape.data(), uint32_t(shape.size()), &v));
  return v;
}

}  // namespace

// Rows that are alike give results that are alike, the last as the first. The numbers are small and whole, so
// that sums and products are exact in every order.
RUDA_TEST(many_rows) {
  const int64_t many = (int64_t(1) << 20) + 1, some = 70001;  // above 2^16 - 1, and above 2^20
  const float row[] = {3, -1, 2, 5}, ones[] = {1, 1, 1, 1};
  const int32_t seven = 7, zero = 0;
  const ruda_tensor one = make(env, RUDA_F32, {1, 4}, row, sizeof row),
                    gamma = make(env, RUDA_F32, {4}, ones, sizeof ones),
                    position = make(env, RUDA_I32, {1}, &seven, sizeof seven),
                    id = make(env, RUDA_I32, {1}, &zero, sizeof zero);
  const ruda_tensor x = repeat(env, one, {many, 4}), positions = repeat(env, position, {many}),
                    ids = repeat(env, id, {many}), heads = view(x, {many, 1, 4}), column = view(one, {4, 1}),
                    fewer = repeat(env, one, {some, 4}), batch = view(fewer, {some, 1, 4});
  float wide_row[32];
  uint8_t block[34] = {0, 0x3C};  // scale 1 in F16
  for (int i = 0; i < 32; ++i) {
    wide_row[i] = float(i % 5);
    block[2 + i] = uint8_t(i % 7);
  }
  const ruda_tensor wide_one = make(env, RUDA_F32, {1, 32}, wide_row, sizeof wide_row),
                    wide = repeat(env, wide_one, {some, 32}),
                    weights = make(env, RUDA_Q8_0, {1, 32}, block, sizeof block);

  ruda_paged_schedule_desc paged = RUDA_PAGED_SCHEDULE_DESC_INIT;
  paged.page_size = 4;
  paged.pages = paged.max_sequences = paged.max_table_pages = 1;
  paged.max_queries = uint32_t(some);
  const uint32_t table = 0, length = 3;
  const std::vector<uint32_t> sequences(size_t(some), 0), places(size_t(some), 2);
  ruda_paged_schedule schedule = nullptr;
  MUST(ruda_paged_schedule_create(env.context, &paged, &schedule));
  MUST(ruda_paged_schedule_set(schedule, env.stream, &table, 1, &length, 1, sequences.data(), places.data(),
                               uint32_t(some)));
  const ruda_tensor cache = repeat(env, one, {1, 4, 1, 4});

  ruda_rope_params rope = RUDA_ROPE_PARAMS_INIT;
  rope.theta = 1e4;
  const Call calls[] = {
      {"rms_norm", many, [&](ruda_tensor* y) { return ruda_rms_norm(env.stream, x, gamma, 1e-5, y); }},
      {"softmax", many, [&](ruda_tensor* y) { return ruda_softmax(env.stream, x, y); }},
      {"log_softmax", many, [&](ruda_tensor* y) { return ruda_log_softmax(env.stream, x, y); }},
      {"silu_mul", many, [&](ruda_tensor* y) { return ruda_silu_mul(env.stream, x, x, y); }},
      {"binary", many, [&](ruda_tensor* y) { return ruda_binary(env.stream, x, gamma, RUDA_BINARY_ADD, y); }},
      {"unary", many, [&](ruda_tensor* y) { return ruda_unary(env.stream, x, RUDA_UNARY_EXP, y); }},
      {"sum", many, [&](ruda_tensor* y) { return ruda_reduce(env.stream, x, RUDA_REDUCE_SUM, 2, 0, y); }},
      {"argmax", many,
       [&](ruda_tensor* y) { return ruda_reduce(env.stream, x, RUDA_REDUCE_ARGMAX, 2, 0, y); }},
      {"embedding", many, [&](ruda_tensor* y) { return ruda_embedding(env.stream, one, ids, RUDA_F32, y); }},
      {"cast", many, [&](ruda_tensor* y) { return ruda_tensor_cast(env.stream, x, RUDA_BF16, y); }},
      {"sample", many,
       [&](ruda_tensor* y) { return ruda_sample(env.stream, x, nullptr, nullptr, nullptr, nullptr, 0, y); }},
      {"top_k", many,
       [&](ruda_tensor* y) {
         ruda_tensor values = nullptr;
         const ruda_status status = ruda_top_k(env.stream, x, 2, 0, &values, y);
         ruda_release(values);
         return status;
       }},
      {"rope", many,
       [&](ruda_tensor* y) { return ruda_rope(env.stream, heads, positions, nullptr, &rope, y); }},
      {"matmul", many,
       [&](ruda_tensor* y) { return ruda_matmul(env.stream, x, column, nullptr, nullptr, y); }},
      {"matmul of a batch", some,
       [&](ruda_tensor* y) { return ruda_matmul(env.stream, batch, column, nullptr, nullptr, y); }},
      {"matmul_block", some,
       [&](ruda_tensor* y) { return ruda_matmul_block(env.stream, wide, weights, nullptr, RUDA_F32, y); }},
      {"paged_attention", some,
       [&](ruda_tensor* y) {
         return ruda_paged_attention(env.stream, schedule, batch, cache, cache, 0.5, 1, 0, y, nullptr);
       }},
  };
  for (const Call& call : calls) {
    ruda_tensor y = nullptr;
    MUST(call.run(&y));
    uint64_t size = 0;
    MUST(ruda_tensor_get_data(y, nullptr, &size));
    std::vector<uint8_t> bytes(size);
    MUST(ruda_tensor_read(env.stream, y, bytes.data(), size));
    ruda_release(y);
    const size_t each = size / uint64_t(call.rows);
    CHECK(each && size == each * uint64_t(call.rows), "%s: %llu bytes", call.name, (unsigned long long)size);
    int64_t wrong = 0;
    for (int64_t r = 1; r < call.rows; ++r)
      wrong += std::memcmp(bytes.data(), bytes.data() + size_t(r) * each, each) != 0;
    CHECK(!wrong, "%s: %lld of %lld rows are others than the first", call.name, (long long)wrong,
          (long long)call.rows);
    // What the first row must be, where whole numbers say it.
    float first = 0;
    std::memcpy(&first, bytes.data(), std::min<size_t>(each, sizeof first));
    const auto is = [&](const char* name, float want) {
      if (!std::strcmp(call.name, name)) CHECK(first == want, "%s: %g, expected %g", name, first, want);
    };
    is("sum", 9);
    is("binary", 4);
    is("embedding", 3);
    is("matmul", 39);
    is("matmul of a batch", 39);
    is("paged_attention", 3);
  }
  for (ruda_tensor t : {one, gamma, position, id, x, positions, ids, heads, column, fewer, batch, wide_one,
                        wide, weights, cache})
    ruda_release(t);
  ruda_release(schedule);
}
