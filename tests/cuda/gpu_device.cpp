// tests/cuda/gpu_device.cpp - the headers of cuda/device, a tile each, against loops on the host.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_kernels.hpp"
#include "support/op_run.hpp"

#include <cmath>

using namespace ruda::test;

namespace {

// bf16 bits of random values, and the values.
struct Matrix {
  std::vector<uint16_t> bits;
  std::vector<double> values;
  Matrix(Env& env, int64_t count) : bits(size_t(count)), values(size_t(count)) {
    const auto drawn = env.normal(count);
    for (size_t i = 0; i < bits.size(); ++i) {
      uint8_t code[2];
      encode(RUDA_BF16, drawn[i], code);
      values[i] = decode(RUDA_BF16, code);
      bits[i] = uint16_t(code[0] | code[1] << 8);
    }
  }
};

void need_gpu(const Env& env) {
  if (env.settings.backend != RUDA_BACKEND_CUDA) throw Skip("kernels of a GPU");
}

// c [m, n] = rows of a times rows of b.
void check_product(const char* name, const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k,
                   int64_t stride, int64_t row0, const std::vector<float>& c) {
  std::vector<double> value, magnitude;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double product =
            a.values[size_t((row0 + i) * stride + p)] * b.values[size_t((row0 + j) * stride + p)];
        sum += product, size += std::fabs(product);
      }
      value.push_back(sum), magnitude.push_back(size);
    }
  check_close(name, {c.begin(), c.end()}, value,
              [&](size_t i) { return double(k + 2) * 0x1p-24 * magnitude[i]; });
}

}  // namespace

RUDA_TEST(device_warp_product) {
  need_gpu(env);
  const Matrix a(env, 16 * 16), b(env, 8 * 16);
  std::vector<float> c(16 * 8);
  const char* why = warp_product(a.bits.data(), b.bits.data(), c.data());
  CHECK(!why, "%s", why);
  if (!why) check_product("mma", a, b, 16, 8, 16, 16, 0, c);
}

RUDA_TEST(device_group_product) {
  need_gpu(env);
  if (!has_group_product()) throw Skip("needs compute capability 9.0");
  const int rows = 96, stride = 72, row0 = 24;
  const Matrix a(env, rows * stride), b(env, rows * stride);
  std::vector<float> c(64 * 64);
  const char* why = group_product(a.bits.data(), b.bits.data(), rows, stride, row0, c.data());
  CHECK(!why, "%s", why);
  if (!why) check_product("wgmma", a, b, 64, 64, 64, stride, row0, c);
}

RUDA_TEST(device_paging) {
  need_gpu(env);
  for (int page_size : {1, 3, 16}) {
    const int pages = 7, cache_pages = 11, length = pages * page_size - page_size / 2;
    std::vector<int32_t> cache(size_t(cache_pages * page_size)), table(pages), y(static_cast<size_t>(length));
    for (int32_t& value : cache) value = int32_t(env.integer(-1000, 1000));
    for (int32_t& page : table) page = int32_t(env.integer(0, cache_pages - 1));
    const char* why = paged_rows(cache.data(), cache_pages, page_size, table.data(), pages, y.data(), length);
    CHECK(!why, "%s", why);
    for (int i = 0; !why && i < length; ++i) {
      const int want = cache[size_t(table[size_t(i / page_size)] * page_size + i % page_size)];
      CHECK(y[size_t(i)] == want, "page size %d, position %d: got %d, expected %d", page_size, i,
            y[size_t(i)], want);
    }
  }
}
