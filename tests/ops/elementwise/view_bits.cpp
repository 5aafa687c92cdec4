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
  ruda_tensor_desc desc = desc_of(view);
  desc.strides = nullptr;
  desc.flags = 0;
  ruda_tensor dense = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &dense));
  MUST(ruda_tensor_copy(env.stream, view, dense));
  CHECK(result_of(env, call, view) == result_of(env, call, dense), "%s: other bits from a view", name);
  ruda_release(dense);
}

}  // namespace

// Rows without one stride, rows that begin at any element, and rows whose elements are not side by side. On a
// GPU: rows of a warp, of several, of a block, of a cluster.
RUDA_TEST(views_have_the_same_bits) {
  const bool cpu = env.settings.backend == RUDA_BACKEND_CPU;
  for (const int64_t cols : cpu ? std::vector<int64_t>{5, 64, 256, 1000}
                                : std::vector<int64_t>{5, 64, 256, 1000, 1001, 6000, 20000, 100000})
    for (const uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
      const int64_t wide = cols + 3;
      const std::vector<double> normal = env.normal(4 * 5 * wide, 3.0);
      const std::vector<float> values(normal.begin(), normal.end());
      const ruda_tensor floats = new_tensor(env.context, RUDA_F32, {4, 5, cols}),
                        odd_floats = new_tensor(env.context, RUDA_F32, {4, 5, wide}),
                        gamma = new_tensor(env.context, RUDA_F32, {cols}),
                        odd_gammas = new_tensor(env.context, RUDA_F32, {wide});
      for (ruda_tensor t : {floats, odd_floats, gamma, odd_gammas}) {
        uint64_t bytes = 0;
        MUST(ruda_tensor_get_data(t, nullptr, &bytes));
        MUST(ruda_tensor_write(env.stream, t, values.data(), bytes));
      }
      ruda_tensor all = nullptr, rows = nullptr, turned = nullptr, odd_all = nullptr, odd_rows = nullptr,
                  odd_gamma = nullptr;
      MUST(ruda_tensor_cast(env.stream, floats, dtype, &all));
      MUST(ruda_tensor_cast(env.stream, odd_floats, dtype, &odd_all));
      const int64_t begin[] = {0, 1, 0}, end[] = {4, 4, cols};
      MUST(ruda_tensor_slice(all, begin, end, nullptr, 3, &rows));
      const int64_t odd_begin[] = {0, 1, 1}, odd_end[] = {4, 4, cols + 1};
      MUST(ruda_tensor_slice(odd_all, odd_begin, odd_end, nullptr, 3, &odd_rows));
      MUST(ruda_tensor_slice(odd_gammas, odd_begin + 2, odd_end + 2, nullptr, 1, &odd_gamma));
      const uint32_t axes[] = {0, 2, 1};
      MUST(ruda_tensor_permute(rows, axes, 3, &turned));

      const Call gate = [&](ruda_tensor x, ruda_tensor* y) { return ruda_silu_mul(env.stream, x, x, y); };
      for (ruda_tensor view : {rows, odd_rows}) {
        compare(
            env, "softmax", [&](ruda_tensor x, ruda_tensor* y) { return ruda_softmax(env.stream, x, y); },
            view);
        compare(
            env, "log_softmax",
            [&](ruda_tensor x, ruda_tensor* y) { return ruda_log_softmax(env.stream, x, y); }, view);
        compare(
            env, "rms_norm",
            [&](ruda_tensor x, ruda_tensor* y) { return ruda_rms_norm(env.stream, x, gamma, 1e-5, y); },
            view);
        compare(env, "silu_mul of rows", gate, view);
      }
      compare(env, "silu_mul of columns", gate, turned);
      compare(
          env, "rms_norm by gamma",
          [&](ruda_tensor g, ruda_tensor* y) { return ruda_rms_norm(env.stream, rows, g, 1e-5, y); },
          odd_gamma);
      release({floats, odd_floats, gamma, odd_gammas, all, rows, turned, odd_all, odd_rows, odd_gamma});
    }
}

// Up to 4 rows and more: on the CPU rows without one stride, which on a GPU another kernel takes; there rows
// with one stride, at multiples of 16 bytes.
RUDA_TEST(views_have_the_same_bits_in_matmul_block) {
  const bool cpu = env.settings.backend == RUDA_BACKEND_CPU;
  constexpr int64_t k = 256, n = 37, block_bytes = 18, blocks = n * k / 32;  // Q4_0: an F16 scale, 16 bytes
  std::vector<uint8_t> packed(size_t(blocks * block_bytes));
  for (uint8_t& byte : packed) byte = uint8_t(env.integer(0, 255));
  for (int64_t b = 0; b < blocks; ++b) packed[size_t(b * block_bytes + 1)] = 0x2c;  // about 2^-4
  const ruda_tensor weights = new_tensor(env.context, RUDA_Q4_0, {n, k});
  MUST(ruda_tensor_write(env.stream, weights, packed.data(), packed.size()));
  const std::vector<double> normal = env.normal(4 * 5 * k);
  const std::vector<float> values(normal.begin(), normal.end());
  const ruda_tensor floats =
      cpu ? new_tensor(env.context, RUDA_F32, {4, 5, k}) : new_tensor(env.context, RUDA_F32, {10, 1, 2 * k});
  MUST(ruda_tensor_write(env.stream, floats, values.data(), values.size() * sizeof(float)));
  for (const uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (const int64_t outer : cpu ? std::vector<int64_t>{2, 4} : std::vector<int64_t>{2, 4, 7, 10}) {
      ruda_tensor all = nullptr, rows = nullptr;
      MUST(ruda_tensor_cast(env.stream, floats, dtype, &all));
      const int64_t first = cpu ? 0 : 64, line = cpu ? 1 : 0;
      const int64_t begin[] = {0, line, first}, end[] = {outer, cpu ? 3 : 1, first + k};
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

// Elements of one byte begin at any address, where no wide access fits.
RUDA_TEST(bytes_at_any_address) {
  constexpr int64_t most = 9000;
  std::vector<uint8_t> bytes(size_t(most + 16));
  for (uint8_t& byte : bytes) byte = uint8_t(env.integer(0, 255));
  for (const uint32_t dtype : {RUDA_I8, RUDA_U8, RUDA_F8E4M3, RUDA_F8E5M2, RUDA_BOOL}) {
    set_case("dtype " + std::to_string(dtype));
    if (dtype == RUDA_BOOL)
      for (uint8_t& byte : bytes) byte &= 1;
    const ruda_tensor all = new_tensor(env.context, dtype, {most + 16});
    MUST(ruda_tensor_write(env.stream, all, bytes.data(), bytes.size()));
    const bool number = dtype == RUDA_I8 || dtype == RUDA_U8;
    for (const int64_t skip : {1, 2, 3, 4, 8, 15})
      for (const int64_t count : {int64_t(5), int64_t(4096), most}) {
        const int64_t end = skip + count;
        ruda_tensor view = nullptr;
        MUST(ruda_tensor_slice(all, &skip, &end, nullptr, 1, &view));
        if (skip % 2)
          CHECK((desc_of(view).flags & RUDA_TENSOR_ALIGN_MASK) == RUDA_TENSOR_ALIGN_BYTE, "aligned");
        for (const uint32_t to : {RUDA_F32, RUDA_F16, RUDA_I16, RUDA_U8, RUDA_F64})
          compare(
              env, "cast",
              [&](ruda_tensor x, ruda_tensor* y) { return ruda_tensor_cast(env.stream, x, to, y); }, view);
        const uint32_t binary = number ? RUDA_BINARY_ADD : RUDA_BINARY_XOR;
        if (number || dtype == RUDA_BOOL) {
          compare(
              env, "binary",
              [&](ruda_tensor x, ruda_tensor* y) { return ruda_binary(env.stream, x, x, binary, y); }, view);
          compare(
              env, "unary",
              [&](ruda_tensor x, ruda_tensor* y) {
                return ruda_unary(env.stream, x, number ? RUDA_UNARY_ABS : RUDA_UNARY_NOT, y);
              },
              view);
          compare(
              env, "reduce",
              [&](ruda_tensor x, ruda_tensor* y) {
                return ruda_reduce(env.stream, x, number ? RUDA_REDUCE_SUM : RUDA_REDUCE_ANY, 1, 0, y);
              },
              view);
        }
        if (number)
          compare(
              env, "scalar",
              [&](ruda_tensor x, ruda_tensor* y) {
                return ruda_binary_scalar(env.stream, x, 3, RUDA_BINARY_MUL, y);
              },
              view);
        ruda_release(view);
      }
    ruda_release(all);
  }
}
