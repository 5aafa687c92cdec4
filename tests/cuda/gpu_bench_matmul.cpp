// tests/cuda/gpu_bench_matmul.cpp - benchmarks of the matrix products at the sizes of language models.
// SPDX-License-Identifier: Apache-2.0
//
// A name is "<operator> <dtype> <m>x<n>x<k>", then details, so that a peer can run the same.
#include "cuda/gpu_bench.hpp"
#include "support/blocks.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

std::string sizes_of(int64_t m, int64_t n, int64_t k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

struct Dense {
  uint32_t dtype, c_dtype;
  const char* name;
  int64_t m, n, k;
  uint32_t bias = 0, activation = RUDA_ACTIVATION_NONE;
  const char* detail = "";
  const char* kernel = nullptr;
  uint32_t b_dtype = 0;  // 0 = as a
};

void bench_dense(Env& env, const Dense& t) {
  OpRun op(env, "matmul");
  random_input(env, op, RUDA_MATMUL_A, t.dtype, {t.m, t.k});
  const uint32_t b_dtype = t.b_dtype ? t.b_dtype : t.dtype;
  random_input(env, op, RUDA_MATMUL_B, b_dtype, {t.n, t.k});
  if (t.bias) random_input(env, op, RUDA_MATMUL_BIAS, t.bias, {t.n});
  op.output(RUDA_MATMUL_C, t.c_dtype, {t.m, t.n});
  const double bytes = double(t.m * t.k) * size_of(t.dtype) + double(t.n * t.k) * size_of(b_dtype) +
                       double(t.m * t.n) * size_of(t.c_dtype);
  op.bench(std::string("matmul ") + t.name + " " + sizes_of(t.m, t.n, t.k) + t.detail, bytes,
           2.0 * double(t.m) * double(t.n) * double(t.k),
           [&](const ruda_plan_options* options, ruda_plan* out) {
             ruda_plan_options chosen = *options;
             if (t.kernel) chosen.kernel = t.kernel;
             ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
             desc.options = &chosen;
             desc.a = op.desc(RUDA_MATMUL_A);
             desc.b = op.desc(RUDA_MATMUL_B);
             desc.bias = t.bias ? op.desc(RUDA_MATMUL_BIAS) : nullptr;
             desc.c = op.desc(RUDA_MATMUL_C);
             desc.transpose_b = 1;
             desc.activation = t.activation;
             return ruda_matmul_plan_create(env.context, &desc, out);
           });
}

void bench_block(Env& env, const BlockSize& format, int64_t m, int64_t n, int64_t k) {
  OpRun op(env, "matmul_block");
  random_input(env, op, RUDA_MATMUL_BLOCK_X, RUDA_F32, {m, k});
  // A few random rows, repeated.
  const int64_t row = block_row_bytes(format.dtype, k), rows = std::min<int64_t>(n, 64);
  const std::vector<uint8_t> some = random_blocks(env, format.dtype, rows, k);
  std::vector<uint8_t> weights(size_t(n * row));
  for (size_t at = 0; at < weights.size(); at += some.size())
    std::memcpy(&weights[at], some.data(), std::min(some.size(), weights.size() - at));
  op.input_bytes(RUDA_MATMUL_BLOCK_WEIGHTS, format.dtype, {n, k}, std::move(weights));
  op.output(RUDA_MATMUL_BLOCK_Y, RUDA_F32, {m, n});
  op.bench(std::string("matmul_block ") + format.name + " " + sizes_of(m, n, k),
           double(n * row) + 4.0 * double(m * (k + n)), 2.0 * double(m) * double(n) * double(k),
           [&](const ruda_plan_options* options, ruda_plan* out) {
             ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
             desc.options = options;
             desc.x = op.desc(RUDA_MATMUL_BLOCK_X);
             desc.weights = op.desc(RUDA_MATMUL_BLOCK_WEIGHTS);
             desc.y = op.desc(RUDA_MATMUL_BLOCK_Y);
             return ruda_matmul_block_plan_create(env.context, &desc, out);
           });
}

}  // namespace

RUDA_BENCH(matmul_block_of_a_model) {
  const struct { int64_t n, k; } sizes[] = {{576, 576}, {1536, 576}, {576, 1536}, {49152, 576}, {4096, 4096}};
  for (const BlockSize& format : block_sizes)
    for (const auto& size : sizes)
      for (int64_t m : {1, 8, 16, 64, 128, 512}) {
        if ((m == 16 || m == 128) && format.dtype != RUDA_Q4_1 && format.dtype != RUDA_Q4_K) continue;
        // Blocks of 256 do not divide 576.
        const int64_t k = format.elements == 256 && size.k == 576 ? 512 : size.k;
        if (m == 512 && size.n == 49152 && format.dtype != RUDA_Q4_1) continue;
        bench_block(env, format, m, size.n, k);
      }
}

// Rows of F32 by weights of 16 bits, as a model of dense weights decodes; then few rows of one dtype.
RUDA_BENCH(matmul_few_rows) {
  const struct { int64_t n, k; } sizes[] = {{576, 576}, {1536, 576}, {576, 1536}, {49152, 576}, {4096, 4096}};
  for (const auto& size : sizes)
    for (int64_t m : {1, 4, 8})
      bench_dense(env, {.dtype = RUDA_F32,
                        .c_dtype = RUDA_F32,
                        .name = "f32",
                        .m = m,
                        .n = size.n,
                        .k = size.k,
                        .detail = " weights bf16",
                        .b_dtype = RUDA_BF16});
  bench_dense(env, {.dtype = RUDA_F32,
                    .c_dtype = RUDA_F32,
                    .name = "f32",
                    .m = 1,
                    .n = 4096,
                    .k = 4096,
                    .detail = " weights f16",
                    .b_dtype = RUDA_F16});
  for (int64_t m : {1, 8}) bench_dense(env, {RUDA_F32, RUDA_F32, "f32", m, 4096, 4096});
  for (int64_t m : {2, 8}) {
    bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", m, 4096, 4096, 0, RUDA_ACTIVATION_NONE, " gemv",
                      "cuda/matmul/gemv"});
    bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", m, 4096, 4096});
  }
  bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", 1, 49152, 576});
}

RUDA_BENCH(matmul_fp8) {
  for (int64_t n : {4096, 8192}) bench_dense(env, {RUDA_F8E4M3, RUDA_BF16, "f8e4m3", n, n, n});
}

RUDA_BENCH(matmul_epilogues) {
  bench_dense(env,
              {RUDA_BF16, RUDA_BF16, "bf16", 4096, 4096, 4096, RUDA_BF16, RUDA_ACTIVATION_NONE, " bias"});
  bench_dense(env,
              {RUDA_BF16, RUDA_BF16, "bf16", 8192, 8192, 8192, RUDA_BF16, RUDA_ACTIVATION_NONE, " bias"});
  bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", 16, 4096, 4096, RUDA_BF16, RUDA_ACTIVATION_NONE, " bias"});
  bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", 4096, 4096, 4096, 0, RUDA_ACTIVATION_RELU, " relu"});
  bench_dense(env, {RUDA_BF16, RUDA_BF16, "bf16", 4096, 4096, 4096, RUDA_BF16, RUDA_ACTIVATION_GELU_TANH,
                    " bias gelu"});
}
