// tests/ops/matmul/matmul_block_rows.cpp - rows of matmul_block: special values, equal bits, many columns.
// SPDX-License-Identifier: Apache-2.0
#include "block_cases.hpp"

#include <cstring>

using namespace ruda::test;

// Where a GPU's warps go over many columns of one row: the sums, and that they are those of more rows.
RUDA_TEST(matmul_block_wide) {
  if (env.settings.backend == RUDA_BACKEND_CPU && !env.settings.level) return;
  const int64_t n = 26003;
  for (const BlockSize& f : block_sizes) {
    const std::vector<int64_t> lengths =
        f.elements == 32 ? std::vector<int64_t>{96, 576, 1024} : std::vector<int64_t>{256, 512};
    for (int64_t k : lengths) {
      check_case(env, {f.dtype, {1}, n, k, k % 512 ? RUDA_F32 : RUDA_BF16, RUDA_F32, k < 512});
      if (k >= 512) check_around(env, {f.dtype, 1, n, k, true, false, RUDA_F32, RUDA_BF16, true});
    }
    if (env.settings.backend == RUDA_BACKEND_CPU) continue;
    const int64_t k = lengths[lengths.size() / 2];
    OpRun op(env, "matmul_block");
    op.random_input(X, RUDA_F32, {2, k});
    op.input_bytes(W, f.dtype, {n, k}, random_blocks(env, f.dtype, n, k));
    ruda_tensor both = nullptr, first = nullptr, one = nullptr;
    MUST(ruda_matmul_block(env.stream, op.tensor(X), op.tensor(W), nullptr, 0, &both));
    const int64_t begin[] = {0, 0}, end[] = {1, k};
    MUST(ruda_tensor_slice(op.tensor(X), begin, end, nullptr, 2, &first));
    MUST(ruda_matmul_block(env.stream, first, op.tensor(W), nullptr, 0, &one));
    std::vector<float> of_both(size_t(2 * n)), of_one(static_cast<size_t>(n));
    MUST(ruda_tensor_read(env.stream, both, of_both.data(), of_both.size() * 4));
    MUST(ruda_tensor_read(env.stream, one, of_one.data(), of_one.size() * 4));
    for (size_t i = 0; i < size_t(n); ++i)
      CHECK(of_one[i] == of_both[i], "%s, column %zu: %a alone, %a beside another row", f.name, i, of_one[i],
            of_both[i]);
    release({both, first, one});
  }
}

// NaN and Inf in rows of x, zero rows, tiny rows: each row alone.
RUDA_TEST(matmul_block_special_rows) {
  const int64_t n = 18, k = 256;
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {4, 6}) {
      auto values = env.normal(m * k);
      values[3] = NAN;
      values[size_t(k) + 40] = INFINITY;
      std::fill_n(values.begin() + 2 * k, k, 0.0);
      for (int64_t i = 0; i < k; ++i) values[size_t(3 * k + i)] *= 1e-36;
      OpRun op(env, "matmul_block");
      const auto x = op.input(X, RUDA_F32, {m, k}, values);
      const auto weights = random_blocks(env, f.dtype, n, k);
      op.input_bytes(W, f.dtype, {n, k}, weights);
      op.output(Y, RUDA_F32, {m, n});
      const Reference want = reference(f.dtype, x, weights.data(), nullptr, m, n, k);
      op.each_kernel(creator(env, op, false), [&](const std::string& kernel) {
        const auto y = op.read(Y);
        for (int64_t i = 0; i < m * n; ++i) {
          const Element& e = want.elements[size_t(i)];
          const double got = y[size_t(i)];
          const bool same = std::isnan(e.value) ? std::isnan(got)
                            : std::isinf(e.value)
                                ? got == e.value
                                : std::fabs(got - e.value) <= bound(kernel, e, k, false, RUDA_F32);
          CHECK(same, "%s %s row %lld: got %g, expected %g", kernel.c_str(), f.name,
                static_cast<long long>(i / n), got, e.value);
        }
      });
    }
}

// The same around a norm and a gate: a row with NaN is NaN (and one with Inf under a norm), tiny rows are
// finite, and no other row notices.
RUDA_TEST(matmul_block_special_rows_around) {
  const int64_t n = 9, k = 256;
  for (const int around : {1, 2, 3})
    for (int64_t m : {4, 7}) {
      const bool normed = around & 1, gated = around & 2;
      const int64_t rows = gated ? 2 * n : n;
      const auto weights = random_blocks(env, RUDA_Q4_1, rows, k);
      const auto gamma = env.normal(k), clean = env.normal(m * k);
      auto spoilt = clean;
      spoilt[3] = NAN;
      spoilt[size_t(k) + 40] = -INFINITY;
      for (int64_t i = 0; i < k; ++i) spoilt[size_t(2 * k + i)] = std::ldexp(double(i % 9), -149);
      std::map<std::string, std::vector<double>> before;
      for (const auto& values : {clean, spoilt}) {
        OpRun op(env, "matmul_block");
        op.input(X, RUDA_F32, {m, k}, values);
        op.input_bytes(W, RUDA_Q4_1, {rows, k}, weights);
        if (normed) op.input(GAMMA, RUDA_F32, {k}, gamma);
        op.output(Y, RUDA_F32, {m, n});
        const auto create = [&](const ruda_plan_options* options, ruda_plan* out) {
          ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
          desc.options = options, desc.x = op.desc(X), desc.weights = op.desc(W), desc.y = op.desc(Y);
          desc.gamma = normed ? op.desc(GAMMA) : nullptr;
          desc.eps = normed ? 1e-5 : 0.0, desc.gated = gated;
          return ruda_matmul_block_plan_create(env.context, &desc, out);
        };
        op.each_kernel(create, [&](const std::string& kernel) {
          const auto y = op.read(Y);
          if (!before.count(kernel)) {
            before[kernel] = y;
            return;
          }
          for (int64_t i = 0; i < m * n; ++i) {
            const int64_t row = i / n;
            const double got = y[size_t(i)];
            const bool right = row == 0   ? std::isnan(got)
                               : row == 1 ? (normed ? std::isnan(got) : !std::isfinite(got))
                               : row == 2 ? std::fabs(got) < 1e-30
                                          : got == before[kernel][size_t(i)];
            CHECK(right, "%s row %lld: got %g", kernel.c_str(), (long long)row, got);
          }
        });
      }
    }
}

// A weight row with an infinite or NaN scale is not finite; its neighbours do not notice.
RUDA_TEST(matmul_block_special_scales) {
  for (const BlockSize& f : block_sizes)
    for (int64_t m : {1, 6})
      for (uint32_t half : {0x7C00u, 0x7E00u, 0xFC00u}) {
        const int64_t n = 7, k = 512;
        OpRun op(env, "matmul_block");
        const auto x = op.random_input(X, RUDA_F32, {m, k});
        auto weights = random_blocks(env, f.dtype, n, k);
        const size_t at = size_t(3 * block_row_bytes(f.dtype, k)) + (f.dtype == RUDA_Q6_K ? 208 : 0);
        weights[at] = uint8_t(half), weights[at + 1] = uint8_t(half >> 8);
        op.input_bytes(W, f.dtype, {n, k}, weights);
        op.output(Y, RUDA_F32, {m, n});
        const Reference want = reference(f.dtype, x, weights.data(), nullptr, m, n, k);
        op.each_kernel(creator(env, op, false), [&](const std::string& kernel) {
          const auto y = op.read(Y);
          for (int64_t i = 0; i < m * n; ++i) {
            const double got = y[size_t(i)], value = want.expected[size_t(i)];
            const bool same = i % n == 3 ? !std::isfinite(got)
                                         : std::fabs(got - value) <=
                                               bound(kernel, want.elements[size_t(i)], k, false, RUDA_F32);
            CHECK(same, "%s %s column %lld: got %g, expected %g", kernel.c_str(), f.name,
                  static_cast<long long>(i % n), got, value);
          }
        });
      }
}

// The bits of a row do not depend on the threads, nor on how many rows there are within each of the two
// ranges.
RUDA_TEST(matmul_block_same_bits) {
  const bool cpu = env.settings.backend == RUDA_BACKEND_CPU;
  struct Weights {
    uint32_t format;
    int64_t n, k;
  };
  const int64_t most = 37;
  for (const auto& [format, n, k] :
       {Weights{RUDA_Q4_1, 200, 768}, Weights{RUDA_Q4_1, 203, 576}, Weights{RUDA_Q4_1, 199, 672},
        Weights{RUDA_Q4_0, 201, 608}, Weights{RUDA_Q4_K, 200, 768}, Weights{RUDA_Q8_0, 203, 736}}) {
    OpRun op(env, "matmul_block");
    const auto x = op.random_input(X, RUDA_F32, {most, k});
    op.input_bytes(W, format, {n, k}, random_blocks(env, format, n, k));
    std::vector<float> whole;
    std::vector<float> few;
    for (int64_t m : {int64_t(4), int64_t(1), int64_t(3), most, int64_t(5), int64_t(16), int64_t(20)}) {
      const int64_t begin[] = {0, 0}, end[] = {m, k};
      ruda_tensor rows = nullptr, y = nullptr;
      MUST(ruda_tensor_slice(op.tensor(X), begin, end, nullptr, 2, &rows));
      MUST(ruda_matmul_block(env.stream, rows, op.tensor(W), nullptr, 0, &y));
      std::vector<float> got(size_t(m * n));
      MUST(ruda_tensor_read(env.stream, y, got.data(), got.size() * 4));
      std::vector<float>& first = m <= 4 ? few : whole;
      if (first.empty()) first = got;
      CHECK(std::memcmp(got.data(), first.data(), got.size() * 4) == 0, "%lld rows give other bits",
            static_cast<long long>(m));
      ruda_release(y);
      ruda_release(rows);
    }
    if (!cpu) continue;
    for (uint32_t threads : {1u, 2u, 3u, 7u}) {
      ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
      desc.backend = RUDA_BACKEND_CPU;
      desc.host_threads = threads;
      ruda_context context = nullptr;
      MUST(ruda_context_create(&desc, &context));
      ruda_stream stream = nullptr;
      MUST(ruda_stream_create(context, 0, &stream));
      for (int64_t m : {int64_t(4), most}) {
        const int64_t x_shape[] = {m, k}, w_shape[] = {n, k};
        ruda_tensor_desc xd = RUDA_TENSOR_DESC_INIT, wd = RUDA_TENSOR_DESC_INIT;
        xd.dtype = RUDA_F32, xd.rank = 2, xd.shape = x_shape;
        wd.dtype = format, wd.rank = 2, wd.shape = w_shape;
        std::vector<float> values;
        for (int64_t i = 0; i < m * k; ++i) values.push_back(float(x[size_t(i)]));
        auto bytes = op.read_bytes(W);
        ruda_tensor xt = nullptr, wt = nullptr, y = nullptr;
        MUST(ruda_tensor_wrap(context, &xd, values.data(), values.size() * 4, nullptr, nullptr, &xt));
        MUST(ruda_tensor_wrap(context, &wd, bytes.data(), bytes.size(), nullptr, nullptr, &wt));
        MUST(ruda_matmul_block(stream, xt, wt, nullptr, 0, &y));
        std::vector<float> got(size_t(m * n));
        MUST(ruda_tensor_read(stream, y, got.data(), got.size() * 4));
        CHECK(got == (m <= 4 ? few : whole), "%u threads give other bits", threads);
        ruda_release(y), ruda_release(xt), ruda_release(wt);
      }
      ruda_release(stream);
      ruda_release(context);
    }
  }
}
