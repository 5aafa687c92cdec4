// tests/ops/elementwise/same_bits.cpp - an element has the same bits wherever it lies: dense or strided, in
// the middle of a row or at its end, whatever stands beside it; a NaN too.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/op_run.hpp"

#include <cmath>
#include <cstring>
#include <functional>

using namespace ruda::test;

namespace {

using Bytes = std::vector<uint8_t>;

struct Result {
  Bytes bytes;
  uint32_t dtype = 0;
};
using Run = std::function<ruda_status(const std::vector<ruda_tensor>&, ruda_tensor*)>;

// NaN of both signs with other payloads, infinities, zeros, numbers, large angles: every pair of them, some
// twice, so that the count is a multiple of no vector.
constexpr uint32_t singles[] = {0x7FC00000, 0xFFC00000, 0x7FC12000, 0xFFD34000, 0x7F800000, 0xFF800000, 0,
                                0x80000000, 0x3F800000, 0xBF000000, 0x42F00000, 0xC2F00000, 0x49742400};
constexpr size_t kinds = std::size(singles), count = kinds * kinds + 30;

uint32_t single(size_t i, bool second) { return singles[(second ? i / kinds : i) % kinds]; }

size_t bytes_of(uint32_t dtype) { return dtype == RUDA_F64 ? 8 : dtype == RUDA_F32 ? 4 : 2; }

// The upper half of a float for BF16; sign, top bits of the exponent and payload for F16.
Bytes values(uint32_t dtype, bool second) {
  Bytes bytes;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t u = single(i, second);
    const uint16_t half =
        dtype == RUDA_BF16 ? uint16_t(u >> 16)
        : (u & 0x7F800000) == 0x7F800000
            ? uint16_t((u >> 16 & 0x8000) | 0x7C00 | (u >> 13 & 0x3FF))
            : uint16_t((u >> 16 & 0x8000) | (u & 0x7FFFFFFF ? 0x3C00 + (u >> 20 & 0x3FF) : 0));
    // Sign and exponent, made wider; a payload keeps its bits.
    const uint64_t exponent = u & 0x7F800000, wide_exponent = exponent == 0x7F800000 ? 0x7FFull << 52
                                                              : exponent ? ((exponent >> 23) + 896) << 52
                                                                         : 0;
    const uint64_t wide = uint64_t(u & 0x80000000) << 32 | wide_exponent | uint64_t(u & 0x7FFFFF) << 29;
    const void* const from = dtype == RUDA_F64   ? static_cast<const void*>(&wide)
                             : dtype == RUDA_F32 ? static_cast<const void*>(&u)
                                                 : static_cast<const void*>(&half);
    const size_t end = bytes.size();
    bytes.resize(end + bytes_of(dtype));
    std::memcpy(&bytes[end], from, bytes_of(dtype));
  }
  return bytes;
}

ruda_tensor make(Env& env, uint32_t dtype, std::vector<int64_t> shape, std::vector<int64_t> strides,
                 const uint8_t* data, size_t bytes) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = uint32_t(shape.size());
  desc.shape = shape.data();
  desc.strides = strides.data();
  ruda_tensor tensor = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &tensor));
  MUST(ruda_tensor_write(env.stream, tensor, data, bytes));
  return tensor;
}

// The first `rows * cols` elements of each input as [rows, cols] with these strides.
Result run_as(Env& env, const Run& run, const std::vector<Bytes>& inputs, uint32_t dtype, int64_t rows,
              int64_t cols, int64_t row_stride, int64_t col_stride) {
  const size_t bytes = size_t(rows * cols) * bytes_of(dtype);
  std::vector<ruda_tensor> tensors;
  for (const Bytes& input : inputs)
    tensors.push_back(make(env, dtype, {rows, cols}, {row_stride, col_stride}, input.data(), bytes));
  ruda_tensor y = nullptr;
  MUST(run(tensors, &y));
  uint64_t held = 0;
  MUST(ruda_tensor_get_data(y, nullptr, &held));
  Result got{Bytes(held), desc_of(y).dtype};
  MUST(ruda_tensor_read(env.stream, y, got.bytes.data(), held));
  release({y});
  for (ruda_tensor tensor : tensors) release({tensor});
  return got;
}

// any_nan: which NaN a result is, is not promised.
void check(Env& env, const std::string& name, uint32_t dtype, int arity, const Run& run,
           bool any_nan = false) {
  any_nan |= env.settings.backend == RUDA_BACKEND_CUDA;
  std::vector<Bytes> inputs;
  for (int k = 0; k < arity; ++k) inputs.push_back(values(dtype, k == 1));
  const Result dense = run_as(env, run, inputs, dtype, 1, count, count, 1);
  const size_t size = dense.bytes.size() / count;
  const struct {
    int64_t cols, gap, step;
  } cases[] = {{count, 0, 2}, {count, 0, 3}, {1, 4, 1},  {3, 2, 1},
               {7, 1, 1},     {17, 3, 1},    {17, 5, 2}, {99, 1, 1}};
  for (const auto& c : cases) {
    const int64_t rows = int64_t(count) / c.cols;
    const Result strided = run_as(env, run, inputs, dtype, rows, c.cols, c.cols * c.step + c.gap, c.step);
    for (size_t i = 0; i < size_t(rows * c.cols); ++i) {
      const uint8_t *got = &strided.bytes[i * size], *want = &dense.bytes[i * size];
      const bool same =
          std::memcmp(got, want, size) == 0 ||
          (any_nan && std::isnan(decode(dense.dtype, got)) && std::isnan(decode(dense.dtype, want)));
      CHECK(same, "%s, dtype %u: element %zu of rows of %lld at steps of %lld, %08x and %08x, has other bits",
            name.c_str(), dtype, i, (long long)c.cols, (long long)c.step, single(i, false), single(i, true));
      if (!same) return;
    }
  }
}

}  // namespace

RUDA_TEST(bits_of_silu_mul) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    check(env, "silu_mul", dtype, 2, [&](const std::vector<ruda_tensor>& in, ruda_tensor* y) {
      return ruda_silu_mul(env.stream, in[0], in[1], y);
    });
}

RUDA_TEST(bits_of_binary) {
  for (uint32_t dtype : {RUDA_F64, RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t op = RUDA_BINARY_ADD; op <= RUDA_BINARY_GREATER_EQUAL; ++op)
      check(env, "binary " + std::to_string(op), dtype, 2,
            [&](const std::vector<ruda_tensor>& in, ruda_tensor* y) {
              const ruda_status status = ruda_binary(env.stream, in[0], in[1], op, y);
              return status == RUDA_E_DTYPE ? ruda_tensor_contiguous(env.stream, in[0], y) : status;
            });
}

RUDA_TEST(bits_of_unary) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t op = 1; op <= RUDA_UNARY_IS_FINITE; ++op)
      check(
          env, "unary " + std::to_string(op), dtype, 1,
          [&](const std::vector<ruda_tensor>& in, ruda_tensor* y) {
            const ruda_status status = ruda_unary(env.stream, in[0], op, y);
            return status == RUDA_E_DTYPE ? ruda_tensor_contiguous(env.stream, in[0], y) : status;
          },
          dtype == RUDA_F32);
}

RUDA_TEST(bits_of_casts) {
  for (uint32_t from : {RUDA_F64, RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t to : {RUDA_F64, RUDA_F32, RUDA_F16, RUDA_BF16})
      check(env, "cast to " + std::to_string(to), from, 1,
            [&](const std::vector<ruda_tensor>& in, ruda_tensor* y) {
              return ruda_tensor_cast(env.stream, in[0], to, y);
            });
}

// Sums with NaN of both signs among the operands, in whole tiles and at their edges: one NaN.
RUDA_TEST(nan_of_products) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("which NaN a GPU gives is not promised");
  for (uint32_t dtype : {RUDA_F16, RUDA_BF16}) {
    const int64_t m = 75, k = 64, n = 75;
    const uint16_t one = dtype == RUDA_F16 ? 0x3C00 : 0x3F80, nan = dtype == RUDA_F16 ? 0x7E00 : 0x7FC0,
                   sum = dtype == RUDA_F16 ? 0x5400 : 0x4280;  // 64
    std::vector<uint16_t> a(size_t(m * k), one), b(size_t(k * n), one), c(size_t(m * n));
    for (int64_t i = 0; i < m; i += 2)
      a[size_t(i * k + i % k)] = uint16_t(nan + i % 3 + (i % 4 ? 0x8000 : 0));
    for (int64_t j = 1; j < n; j += 7) b[size_t(j % k * n + j)] = uint16_t(nan | 0x8000);
    ruda_tensor x = new_tensor(env.context, dtype, {m, k}), w = new_tensor(env.context, dtype, {k, n}),
                y = nullptr;
    MUST(ruda_tensor_write(env.stream, x, a.data(), a.size() * 2));
    MUST(ruda_tensor_write(env.stream, w, b.data(), b.size() * 2));
    MUST(ruda_matmul(env.stream, x, w, nullptr, nullptr, &y));
    MUST(ruda_tensor_read(env.stream, y, c.data(), c.size() * 2));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const uint16_t got = c[size_t(i * n + j)], want = i % 2 && j % 7 != 1 ? sum : nan;
        CHECK(got == want, "dtype %u: [%lld, %lld] is %04x, expected %04x", dtype, (long long)i, (long long)j,
              got, want);
      }
    release({x, w, y});
  }
}
