// tests/ops/elementwise/view_bits.cpp - a view gives the bits that the same numbers give side by side.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

using Call = std::function<ruda_status(ruda_tensor x, ruda_tensor* y)>;

std::vector<uint8_t> result_of(Env& env, const Call& call, ruda_tensor x) {
  ruda_tensor y = nullptr, dense = nullptr;
  MUST(call(x, &y));
  MUST(ruda_tensor_contiguous(env.stream, y, &dense));
  uint64_t bytes = 0;
  MUST(ruda_tensor_get_data(dense, nullptr, &bytes));
  std::vector<uint8_t> out(bytes);
  MUST(ruda_tensor_read(env.stream, dense, out.data(), bytes));
  release({y, dense});
  return out;
}

void compare(Env& env, const char* name, const Call& call, ruda_tensor view) {
  ruda_tensor dense = nullptr;
  MUST(ruda_tensor_contiguous(env.stream, view, &dense));
  CHECK(result_of(env, call, view) == result_of(env, call, dense), "%s: other bits from a view", name);
  ruda_release(dense);
}

}  // namespace

// Rows without one stride, and rows whose elements are not side by side.
RUDA_TEST(views_have_the_same_bits) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("a promise of the CPU's kernels");
  for (const int64_t cols : {5, 64, 256, 1000})
    for (const uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
      const std::vector<double> normal = env.normal(4 * 5 * cols, 3.0);
      const std::vector<float> values(normal.begin(), normal.end());
      const ruda_tensor floats = new_tensor(env.context, RUDA_F32, {4, 5, cols});
      MUST(ruda_tensor_write(env.stream, floats, values.data(), values.size() * sizeof(float)));
      ruda_tensor all = nullptr, rows = nullptr, turned = nullptr;
      MUST(ruda_tensor_cast(env.stream, floats, dtype, &all));
      const int64_t begin[] = {0, 1, 0}, end[] = {4, 4, cols};
      MUST(ruda_tensor_slice(all, begin, end, nullptr, 3, &rows));
      const uint32_t axes[] = {0, 2, 1};
      MUST(ruda_tensor_permute(rows, axes, 3, &turned));
      const ruda_tensor gamma = new_tensor(env.context, RUDA_F32, {cols});
      MUST(ruda_tensor_write(env.stream, gamma, values.data(), size_t(cols) * sizeof(float)));

      compare(
          env, "softmax", [&](ruda_tensor x, ruda_tensor* y) { return ruda_softmax(env.stream, x, y); },
          rows);
      compare(
          env, "log_softmax",
          [&](ruda_tensor x, ruda_tensor* y) { return ruda_log_softmax(env.stream, x, y); }, rows);
      compare(
          env, "rms_norm",
          [&](ruda_tensor x, ruda_tensor* y) { return ruda_rms_norm(env.stream, x, gamma, 1e-5, y); }, rows);
      const Call gate = [&](ruda_tensor x, ruda_tensor* y) { return ruda_silu_mul(env.stream, x, x, y); };
      compare(env, "silu_mul of rows", gate, rows);
      compare(env, "silu_mul of columns", gate, turned);
      release({floats, all, rows, turned, gamma});
    }
}

// Up to 4 rows and more; on a GPU rows without one stride take another kernel.
RUDA_TEST(views_have_the_same_bits_in_matmul_block) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("a promise of the CPU's kernels");
  constexpr int64_t k = 256, n = 37, block_bytes = 18, blocks = n * k / 32;  // Q4_0: an F16 scale, 16 bytes
  std::vector<uint8_t> packed(size_t(blocks * block_bytes));
  for (uint8_t& byte : packed) byte = uint8_t(env.integer(0, 255));
  for (int64_t b = 0; b < blocks; ++b) packed[size_t(b * block_bytes + 1)] = 0x2c;  // about 2^-4
  const ruda_tensor weights = new_tensor(env.context, RUDA_Q4_0, {n, k});
  MUST(ruda_tensor_write(env.stream, weights, packed.data(), packed.size()));
  const std::vector<double> normal = env.normal(4 * 5 * k);
  const std::vector<float> values(normal.begin(), normal.end());
  const ruda_tensor floats = new_tensor(env.context, RUDA_F32, {4, 5, k});
  MUST(ruda_tensor_write(env.stream, floats, values.data(), values.size() * sizeof(float)));
  for (const uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (const int64_t outer : {2, 4}) {
      ruda_tensor all = nullptr, rows = nullptr;
      MUST(ruda_tensor_cast(env.stream, floats, dtype, &all));
      const int64_t begin[] = {0, 1, 0}, end[] = {outer, 3, k};
      MUST(ruda_tensor_slice(all, begin, end, nullptr, 3, &rows));
      compare(
          env, "matmul_block",
          [&](ruda_tensor x, ruda_tensor* y) {
            return ruda_matmul_block(env.stream, x, weights, nullptr, 0, y);
          },
          rows);
      release({all, rows});
    }
  release({weights, floats});
}
