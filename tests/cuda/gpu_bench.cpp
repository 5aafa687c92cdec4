// tests/cuda/gpu_bench.cpp - benchmarks at the sizes that fill a GPU, named so that a peer can run the same.
// SPDX-License-Identifier: Apache-2.0
//
// A name is "<operator> <dtype> <extents with x between>", then details.
#include "support/op_run.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

const char* name_of(uint32_t dtype) { return dtype == RUDA_F32 ? "f32" : dtype == RUDA_F16 ? "f16" : "bf16"; }

std::string case_name(const char* op, uint32_t dtype, const Shape& sizes, const char* rest = "") {
  std::string name = std::string(op) + " " + name_of(dtype) + " ";
  for (size_t i = 0; i < sizes.size(); ++i) name += (i ? "x" : "") + std::to_string(sizes[i]);
  return name + rest;
}

// Random data made once and repeated: making every element anew would take far longer than the benchmark.
void random_input(Env& env, OpRun& op, uint32_t slot, uint32_t dtype, const Shape& shape) {
  static const std::vector<double> values = env.normal(1 << 20);
  const uint32_t size = size_of(dtype);
  std::vector<uint8_t> pattern(values.size() * size), bytes(size_t(count_of(shape)) * size);
  for (size_t i = 0; i < values.size(); ++i) encode(dtype, values[i], &pattern[i * size]);
  for (size_t at = 0; at < bytes.size(); at += pattern.size())
    std::memcpy(&bytes[at], pattern.data(), std::min(pattern.size(), bytes.size() - at));
  op.input_bytes(slot, dtype, shape, std::move(bytes));
}

void bench_matmul(Env& env, uint32_t dtype, int64_t m, int64_t n, int64_t k,
                  uint32_t math = RUDA_MATH_DEFAULT) {
  OpRun op(env, "matmul");
  random_input(env, op, RUDA_MATMUL_A, dtype, {m, k});
  random_input(env, op, RUDA_MATMUL_B, dtype, {n, k});
  op.output(RUDA_MATMUL_C, dtype, {m, n});
  const double bytes = double(m * k + n * k + m * n) * size_of(dtype);
  op.bench(case_name("matmul", dtype, {m, n, k}, math == RUDA_MATH_TF32 ? " tf32" : ""), bytes,
           2.0 * double(m) * double(n) * double(k), [&](const ruda_plan_options* options, ruda_plan* out) {
             ruda_plan_options chosen = *options;
             chosen.math = math;
             ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
             desc.options = &chosen;
             desc.a = op.desc(RUDA_MATMUL_A);
             desc.b = op.desc(RUDA_MATMUL_B);
             desc.c = op.desc(RUDA_MATMUL_C);
             desc.transpose_b = 1;
             return ruda_matmul_plan_create(env.context, &desc, out);
           });
}

}  // namespace

RUDA_BENCH(large_matmul) {
  for (uint32_t dtype : {RUDA_BF16, RUDA_F16})
    for (int64_t n : {4096, 6144, 8192}) bench_matmul(env, dtype, n, n, n);
  bench_matmul(env, RUDA_F32, 4096, 4096, 4096);
  bench_matmul(env, RUDA_F32, 8192, 8192, 8192, RUDA_MATH_TF32);
  for (int64_t m : {1, 16, 64, 512}) bench_matmul(env, RUDA_BF16, m, 4096, 4096);
}

RUDA_BENCH(large_rows) {
  for (const Shape& shape : {Shape{16384, 8192}, Shape{131072, 1024}, Shape{64, 4096}, Shape{1, 576}}) {
    OpRun op(env, "rms_norm");
    random_input(env, op, RUDA_RMS_NORM_X, RUDA_BF16, shape);
    random_input(env, op, RUDA_RMS_NORM_GAMMA, RUDA_F32, {shape[1]});
    op.output(RUDA_RMS_NORM_Y, RUDA_BF16, shape);
    op.bench(case_name("rms_norm", RUDA_BF16, shape), 4.0 * double(count_of(shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
               desc.options = options;
               desc.x = op.desc(RUDA_RMS_NORM_X);
               desc.gamma = op.desc(RUDA_RMS_NORM_GAMMA);
               desc.y = op.desc(RUDA_RMS_NORM_Y);
               desc.eps = 1e-5;
               return ruda_rms_norm_plan_create(env.context, &desc, out);
             });
  }
}

RUDA_BENCH(large_elementwise) {
  for (const Shape& shape : {Shape{32 << 20}, Shape{128 << 20}, Shape{1536}}) {
    {
      OpRun op(env, "silu_mul");
      random_input(env, op, RUDA_SILU_MUL_GATE, RUDA_BF16, shape);
      random_input(env, op, RUDA_SILU_MUL_UP, RUDA_BF16, shape);
      op.output(RUDA_SILU_MUL_Y, RUDA_BF16, shape);
      op.bench(case_name("silu_mul", RUDA_BF16, shape), 6.0 * double(count_of(shape)), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
                 desc.options = options;
                 desc.gate = op.desc(RUDA_SILU_MUL_GATE);
                 desc.up = op.desc(RUDA_SILU_MUL_UP);
                 desc.y = op.desc(RUDA_SILU_MUL_Y);
                 return ruda_silu_mul_plan_create(env.context, &desc, out);
               });
    }
    for (uint32_t dtype : {RUDA_BF16, RUDA_F32}) {
      OpRun op(env, "binary");
      random_input(env, op, RUDA_BINARY_A, dtype, shape);
      random_input(env, op, RUDA_BINARY_B, dtype, shape);
      op.output(RUDA_BINARY_Y, dtype, shape);
      op.bench(case_name("add", dtype, shape), 3.0 * size_of(dtype) * double(count_of(shape)), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
                 desc.options = options;
                 desc.op = RUDA_BINARY_ADD;
                 desc.a = op.desc(RUDA_BINARY_A);
                 desc.b = op.desc(RUDA_BINARY_B);
                 desc.y = op.desc(RUDA_BINARY_Y);
                 return ruda_binary_plan_create(env.context, &desc, out);
               });
    }
  }
}

RUDA_BENCH(large_copies) {
  const struct {
    uint32_t from, to;
    Shape shape;
    bool swapped;
  } cases[] = {{RUDA_BF16, RUDA_BF16, {32 << 20}, false},
               {RUDA_BF16, RUDA_BF16, {256 << 20}, false},
               {RUDA_F32, RUDA_BF16, {128 << 20}, false},
               {RUDA_BF16, RUDA_F32, {128 << 20}, false},
               {RUDA_BF16, RUDA_BF16, {16384, 8192}, true}};
  for (const auto& c : cases) {
    OpRun op(env, "copy");
    random_input(env, op, RUDA_COPY_X, c.from, c.shape);
    op.output(RUDA_COPY_Y, c.to, c.shape, c.swapped ? Shape{1, c.shape[0]} : Shape{});
    const std::string detail = c.swapped        ? " transposed"
                               : c.from == c.to ? ""
                                                : std::string(" to ") + name_of(c.to);
    op.bench(case_name(c.from == c.to ? "copy" : "cast", c.from, c.shape, detail.c_str()),
             double(size_of(c.from) + size_of(c.to)) * double(count_of(c.shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
               desc.options = options;
               desc.x = op.desc(RUDA_COPY_X);
               desc.y = op.desc(RUDA_COPY_Y);
               return ruda_copy_plan_create(env.context, &desc, out);
             });
  }
}
