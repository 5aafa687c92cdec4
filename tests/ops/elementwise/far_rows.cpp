// tests/ops/elementwise/far_rows.cpp - every operator on rows that lie more than 2^31 elements apart.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <sys/mman.h>

#include <cstring>

using namespace ruda::test;

namespace {

constexpr int64_t cols = 64, stride = (int64_t(1) << 31) + 64;

// Memory that exists only where it is touched.
struct Sparse {
  explicit Sparse(const Env& env, uint64_t wanted) : bytes(wanted) {
    if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("needs memory that is mapped on touch");
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) throw Skip("no address space");
  }
  ~Sparse() { munmap(data, bytes); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  ruda_tensor tensor(const Env& env, uint32_t dtype, std::vector<int64_t> shape,
                     std::vector<int64_t> strides = {}) const {
    ruda_tensor_desc d = RUDA_TENSOR_DESC_INIT;
    d.dtype = dtype;
    d.rank = uint32_t(shape.size());
    d.shape = shape.data();
    d.strides = strides.empty() ? nullptr : strides.data();
    ruda_tensor t = nullptr;
    MUST(ruda_tensor_wrap(env.context, &d, data, bytes, nullptr, nullptr, &t));
    return t;
  }

  void* data = nullptr;
  uint64_t bytes;
};

std::vector<uint8_t> bytes_of(const Env& env, ruda_tensor t) {
  uint64_t size = 0;
  MUST(ruda_tensor_get_data(t, nullptr, &size));
  std::vector<uint8_t> bytes(size);
  MUST(ruda_tensor_read(env.stream, t, bytes.data(), size));
  return bytes;
}

}  // namespace

// What an operator makes of far rows is what it makes of the same rows side by side, bit by bit.
RUDA_TEST(far_rows_in) {
  const Sparse memory(env, uint64_t(stride + cols) * 4);
  OpRun op(env, "rms_norm");
  const auto values = op.random_input(RUDA_RMS_NORM_X, RUDA_F32, {2, cols});
  op.random_input(RUDA_RMS_NORM_GAMMA, RUDA_F32, {cols});
  const ruda_tensor near = op.tensor(RUDA_RMS_NORM_X), gamma = op.tensor(RUDA_RMS_NORM_GAMMA);
  auto* rows = static_cast<float*>(memory.data);
  for (int64_t i = 0; i < cols; ++i) {
    rows[i] = float(values[size_t(i)]);
    rows[stride + i] = float(values[size_t(cols + i)]);
  }
  const ruda_tensor far = memory.tensor(env, RUDA_F32, {2, cols}, {stride, 1});
  const ruda_tensor far_heads = memory.tensor(env, RUDA_F32, {2, 1, cols}, {stride, cols, 1});
  ruda_tensor near_heads = nullptr;
  const int64_t heads[] = {2, 1, cols};
  MUST(ruda_tensor_view(near, heads, 3, &near_heads));
  OpRun ids(env, "embedding");
  ids.input(RUDA_EMBEDDING_IDS, RUDA_I32, {2}, {1, 0});
  const ruda_tensor two = ids.tensor(RUDA_EMBEDDING_IDS);
  ruda_rope_params rope = RUDA_ROPE_PARAMS_INIT;
  rope.theta = 1e4;
  ruda_matmul_options transposed = RUDA_MATMUL_OPTIONS_INIT;
  transposed.transpose_b = 1;
  struct Call {
    const char* name;
    std::function<ruda_status(bool, ruda_tensor*)> run;
  };
  const auto x = [&](bool is_far) { return is_far ? far : near; };
  const Call calls[] = {
      {"rms_norm", [&](bool f, ruda_tensor* y) { return ruda_rms_norm(env.stream, x(f), gamma, 1e-5, y); }},
      {"softmax", [&](bool f, ruda_tensor* y) { return ruda_softmax(env.stream, x(f), y); }},
      {"log_softmax", [&](bool f, ruda_tensor* y) { return ruda_log_softmax(env.stream, x(f), y); }},
      {"silu_mul", [&](bool f, ruda_tensor* y) { return ruda_silu_mul(env.stream, x(f), x(f), y); }},
      {"binary",
       [&](bool f, ruda_tensor* y) { return ruda_binary(env.stream, x(f), near, RUDA_BINARY_ADD, y); }},
      {"unary", [&](bool f, ruda_tensor* y) { return ruda_unary(env.stream, x(f), RUDA_UNARY_NEG, y); }},
      {"sum of rows",
       [&](bool f, ruda_tensor* y) { return ruda_reduce(env.stream, x(f), RUDA_REDUCE_SUM, 2, 0, y); }},
      {"sum of columns",
       [&](bool f, ruda_tensor* y) { return ruda_reduce(env.stream, x(f), RUDA_REDUCE_SUM, 1, 0, y); }},
      {"argmax",
       [&](bool f, ruda_tensor* y) { return ruda_reduce(env.stream, x(f), RUDA_REDUCE_ARGMAX, 2, 0, y); }},
      {"embedding",
       [&](bool f, ruda_tensor* y) { return ruda_embedding(env.stream, x(f), two, RUDA_F32, y); }},
      {"cast", [&](bool f, ruda_tensor* y) { return ruda_tensor_cast(env.stream, x(f), RUDA_BF16, y); }},
      {"contiguous", [&](bool f, ruda_tensor* y) { return ruda_tensor_contiguous(env.stream, x(f), y); }},
      {"sample",
       [&](bool f, ruda_tensor* y) {
         return ruda_sample(env.stream, x(f), nullptr, nullptr, nullptr, nullptr, 0, y);
       }},
      {"top_k",
       [&](bool f, ruda_tensor* y) {
         ruda_tensor places = nullptr;
         const ruda_status status = ruda_top_k(env.stream, x(f), 3, 0, y, &places);
         ruda_release(places);
         return status;
       }},
      {"rope",
       [&](bool f, ruda_tensor* y) {
         return ruda_rope(env.stream, f ? far_heads : near_heads, two, nullptr, &rope, y);
       }},
      {"matmul",
       [&](bool f, ruda_tensor* y) { return ruda_matmul(env.stream, x(f), x(f), nullptr, &transposed, y); }},
  };
  for (const Call& call : calls) {
    ruda_tensor from_near = nullptr, from_far = nullptr;
    MUST(call.run(false, &from_near));
    MUST(call.run(true, &from_far));
    CHECK(bytes_of(env, from_near) == bytes_of(env, from_far), "%s: far rows give other bits", call.name);
    ruda_release(from_near);
    ruda_release(from_far);
  }
  for (ruda_tensor t : {far, far_heads, near_heads}) ruda_release(t);
}

RUDA_TEST(far_rows_out) {
  const Sparse memory(env, uint64_t(stride + cols) * 4);
  OpRun op(env, "copy");
  const auto values = op.random_input(RUDA_COPY_X, RUDA_F32, {2, cols});
  const ruda_tensor far = memory.tensor(env, RUDA_F32, {2, cols}, {stride, 1});
  const auto* rows = static_cast<const float*>(memory.data);
  MUST(ruda_tensor_copy(env.stream, op.tensor(RUDA_COPY_X), far));
  for (int64_t i = 0; i < cols; ++i)
    CHECK(rows[i] == float(values[size_t(i)]) && rows[stride + i] == float(values[size_t(cols + i)]),
          "copy: column %lld", (long long)i);
  MUST(ruda_tensor_fill(env.stream, far, 3));
  for (int64_t i = 0; i < cols; ++i)
    CHECK(rows[i] == 3 && rows[stride + i] == 3, "fill: column %lld", (long long)i);
  ruda_release(far);
}

// A table of 262144 rows of 8960: the offset of its last rows is past 2^31 elements.
RUDA_TEST(far_rows_of_a_table) {
  const int64_t rows = 262144, width = 8960;
  const Sparse memory(env, uint64_t(rows * width) * 2);
  auto* data = static_cast<uint16_t*>(memory.data);
  data[262143 * width + 5] = 0x3C00;  // 1 in F16
  data[239674 * width + 6] = 0x4000;  // 2
  const ruda_tensor table = memory.tensor(env, RUDA_F16, {rows, width});
  OpRun ids(env, "embedding");
  ids.input(RUDA_EMBEDDING_IDS, RUDA_I64, {3}, {262143, 239674, 0});
  ruda_tensor y = nullptr;
  MUST(ruda_embedding(env.stream, table, ids.tensor(RUDA_EMBEDDING_IDS), RUDA_F32, &y));
  const auto bytes = bytes_of(env, y);
  std::vector<float> got(bytes.size() / 4), want(size_t(3 * width));
  std::memcpy(got.data(), bytes.data(), bytes.size());
  want[5] = 1;
  want[size_t(width) + 6] = 2;
  CHECK(got == want, "rows far into a table are others");
  ruda_release(y);
  ruda_release(table);
}

// 2^31 + 8 elements in one tensor: two gigabytes, so not by default.
RUDA_TEST(far_rows_of_one_tensor) {
  if (env.settings.level < 2) throw Skip("takes 4 GiB of memory, from --level 2 on");
  const int64_t count = (int64_t(1) << 31) + 8, place = count - 3;
  const Sparse memory(env, uint64_t(count));
  static_cast<int8_t*>(memory.data)[place] = 5;
  const ruda_tensor x = memory.tensor(env, RUDA_I8, {count});
  ruda_tensor sum = nullptr, at = nullptr, y = nullptr;
  int64_t got = 0;
  MUST(ruda_reduce(env.stream, x, RUDA_REDUCE_SUM, 0, 0, &sum));
  MUST(ruda_tensor_read(env.stream, sum, &got, sizeof got));
  CHECK(got == 5, "the sum is %lld", (long long)got);
  MUST(ruda_reduce(env.stream, x, RUDA_REDUCE_ARGMAX, 0, 0, &at));
  MUST(ruda_tensor_read(env.stream, at, &got, sizeof got));
  CHECK(got == place, "the largest is at %lld", (long long)got);
  MUST(ruda_unary(env.stream, x, RUDA_UNARY_NEG, &y));
  void* data = nullptr;
  MUST(ruda_tensor_get_data(y, &data, nullptr));
  CHECK(static_cast<const int8_t*>(data)[place] == -5 && static_cast<const int8_t*>(data)[place + 1] == 0,
        "the end of a long tensor is another");
  for (ruda_tensor t : {sum, at, y, x}) ruda_release(t);
}
