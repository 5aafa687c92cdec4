// tests/cuda/gpu_bench.cpp - benchmarks at the sizes that fill a GPU, named so that a peer can run the same.
// SPDX-License-Identifier: Apache-2.0
//
// A name is "<operator> <dtype> <extents with x between>", then details.
#include "cuda/gpu_bench.hpp"

using namespace ruda::test;

namespace {

const char* name_of(uint32_t dtype) {
  switch (dtype) {
    case RUDA_F32: return "f32";
    case RUDA_F16: return "f16";
    case RUDA_I32: return "i32";
    case RUDA_F8E4M3: return "f8e4m3";
    default: return "bf16";
  }
}

std::string case_name(const char* op, uint32_t dtype, const Shape& sizes, const char* rest = "") {
  std::string name = std::string(op) + " " + name_of(dtype) + " ";
  for (size_t i = 0; i < sizes.size(); ++i) name += (i ? "x" : "") + std::to_string(sizes[i]);
  return name + rest;
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

RUDA_BENCH(large_unary) {
  const struct {
    const char* name;
    uint32_t op;
  } functions[] = {{"relu", RUDA_UNARY_RELU}, {"exp", RUDA_UNARY_EXP},     {"silu", RUDA_UNARY_SILU},
                   {"gelu", RUDA_UNARY_GELU}, {"rsqrt", RUDA_UNARY_RSQRT}, {"sigmoid", RUDA_UNARY_SIGMOID}};
  for (const auto& f : functions)
    for (uint32_t dtype : {RUDA_BF16, RUDA_F32}) {
      const Shape shape{32 << 20};
      OpRun op(env, "unary");
      random_input(env, op, RUDA_UNARY_X, dtype, shape);
      op.output(RUDA_UNARY_Y, dtype, shape);
      op.bench(case_name(f.name, dtype, shape), 2.0 * size_of(dtype) * double(count_of(shape)), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
                 desc.options = options;
                 desc.op = f.op;
                 desc.x = op.desc(RUDA_UNARY_X);
                 desc.y = op.desc(RUDA_UNARY_Y);
                 return ruda_unary_plan_create(env.context, &desc, out);
               });
    }
}

RUDA_BENCH(large_binary) {
  const struct {
    const char* name;
    uint32_t op, dtype;
    bool scalar;
  } cases[] = {
      {"div", RUDA_BINARY_DIV, RUDA_BF16, false},         {"div", RUDA_BINARY_DIV, RUDA_F32, false},
      {"maximum", RUDA_BINARY_MAXIMUM, RUDA_BF16, false}, {"less", RUDA_BINARY_LESS, RUDA_BF16, false},
      {"less", RUDA_BINARY_LESS, RUDA_F32, false},        {"add", RUDA_BINARY_ADD, RUDA_I32, false},
      {"add", RUDA_BINARY_ADD, RUDA_BF16, true},          {"add", RUDA_BINARY_ADD, RUDA_F32, true}};
  for (const auto& c : cases) {
    const Shape shape{32 << 20};
    const uint32_t result = c.op == RUDA_BINARY_LESS ? uint32_t(RUDA_BOOL) : c.dtype;
    OpRun op(env, "binary");
    random_input(env, op, RUDA_BINARY_A, c.dtype, shape);
    if (c.scalar)
      op.bind_f64(RUDA_BINARY_SCALAR, 3);
    else
      random_input(env, op, RUDA_BINARY_B, c.dtype, shape);
    op.output(RUDA_BINARY_Y, result, shape);
    op.bench(case_name(c.name, c.dtype, shape, c.scalar ? " scalar" : ""),
             double((c.scalar ? 1 : 2) * size_of(c.dtype) + size_of(result)) * double(count_of(shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
               desc.options = options;
               desc.op = c.op;
               desc.a = op.desc(RUDA_BINARY_A);
               desc.b = c.scalar ? nullptr : op.desc(RUDA_BINARY_B);
               desc.y = op.desc(RUDA_BINARY_Y);
               return ruda_binary_plan_create(env.context, &desc, out);
             });
  }
}

RUDA_BENCH(large_copies) {
  // A copy of dense memory is the driver's own: the ceiling of the others in the same run.
  const struct {
    uint32_t from, to;
    Shape shape;
    bool swapped;
  } cases[] = {{RUDA_BF16, RUDA_BF16, {32 << 20}, false},   {RUDA_BF16, RUDA_BF16, {256 << 20}, false},
               {RUDA_BF16, RUDA_BF16, {512 << 20}, false},  {RUDA_F32, RUDA_BF16, {16 << 20}, false},
               {RUDA_BF16, RUDA_F32, {16 << 20}, false},    {RUDA_F32, RUDA_F32, {8192, 8192}, true},
               {RUDA_F32, RUDA_BF16, {128 << 20}, false},   {RUDA_BF16, RUDA_F32, {128 << 20}, false},
               {RUDA_I32, RUDA_F32, {32 << 20}, false},     {RUDA_F32, RUDA_I32, {32 << 20}, false},
               {RUDA_F8E4M3, RUDA_BF16, {32 << 20}, false}, {RUDA_BF16, RUDA_BF16, {16384, 8192}, true}};
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

RUDA_BENCH(large_softmax) {
  const struct {
    uint32_t dtype;
    Shape shape;
  } cases[] = {{RUDA_BF16, {16384, 8192}},
               {RUDA_F32, {131072, 1024}},
               {RUDA_F32, {4096, 32768}},
               {RUDA_F32, {512, 262144}}};
  for (const auto& c : cases)
    for (bool is_log : {false, true}) {
      if (is_log && c.dtype == RUDA_F32) continue;
      OpRun op(env, is_log ? "log_softmax" : "softmax");
      random_input(env, op, RUDA_SOFTMAX_X, c.dtype, c.shape);
      op.output(RUDA_SOFTMAX_Y, c.dtype, c.shape);
      op.bench(case_name(is_log ? "log_softmax" : "softmax", c.dtype, c.shape),
               2.0 * size_of(c.dtype) * double(count_of(c.shape)), 0,
               [&](const ruda_plan_options* options, ruda_plan* out) {
                 ruda_softmax_desc desc = RUDA_SOFTMAX_DESC_INIT;
                 ruda_log_softmax_desc log_desc = RUDA_LOG_SOFTMAX_DESC_INIT;
                 desc.options = log_desc.options = options;
                 desc.x = log_desc.x = op.desc(RUDA_SOFTMAX_X);
                 desc.y = log_desc.y = op.desc(RUDA_SOFTMAX_Y);
                 return is_log ? ruda_log_softmax_plan_create(env.context, &log_desc, out)
                               : ruda_softmax_plan_create(env.context, &desc, out);
               });
    }
}

RUDA_BENCH(large_reduce) {
  const struct {
    const char* name;
    uint32_t op, dtype;
    Shape shape, y;
    uint32_t axes;
    const char* detail;
  } cases[] = {{"sum", RUDA_REDUCE_SUM, RUDA_F32, {128 << 20}, {}, 0, " all"},
               {"sum", RUDA_REDUCE_SUM, RUDA_F32, {2 << 20}, {}, 0, " all"},
               {"sum", RUDA_REDUCE_SUM, RUDA_F32, {16384, 8192}, {16384}, 2, " rows"},
               {"sum", RUDA_REDUCE_SUM, RUDA_F32, {16384, 8192}, {8192}, 1, " columns"},
               {"sum", RUDA_REDUCE_SUM, RUDA_BF16, {1 << 20, 128}, {1 << 20}, 2, " rows"},
               {"sum", RUDA_REDUCE_SUM, RUDA_BF16, {131072, 1024}, {1024}, 1, " columns"},
               {"amax", RUDA_REDUCE_MAX, RUDA_BF16, {16384, 8192}, {16384}, 2, " rows"},
               {"argmax", RUDA_REDUCE_ARGMAX, RUDA_F32, {1, 49152}, {1}, 2, " rows"},
               {"argmax", RUDA_REDUCE_ARGMAX, RUDA_F32, {64, 49152}, {64}, 2, " rows"},
               {"argmax", RUDA_REDUCE_ARGMAX, RUDA_F32, {4096, 32768}, {4096}, 2, " rows"}};
  for (const auto& c : cases) {
    OpRun op(env, "reduce");
    random_input(env, op, RUDA_REDUCE_X, c.dtype, c.shape);
    op.output(RUDA_REDUCE_Y, c.op == RUDA_REDUCE_ARGMAX ? uint32_t(RUDA_I64) : c.dtype, c.y);
    op.bench(case_name(c.name, c.dtype, c.shape, c.detail), double(size_of(c.dtype) * count_of(c.shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
               desc.options = options;
               desc.op = c.op;
               desc.axes = c.axes;
               desc.x = op.desc(RUDA_REDUCE_X);
               desc.y = op.desc(RUDA_REDUCE_Y);
               return ruda_reduce_plan_create(env.context, &desc, out);
             });
  }
}

RUDA_BENCH(large_top_k) {
  for (int64_t rows : {1, 64}) {
    const Shape shape{rows, 49152};
    OpRun op(env, "top_k");
    random_input(env, op, RUDA_TOP_K_X, RUDA_F32, shape);
    op.output(RUDA_TOP_K_VALUES, RUDA_F32, {rows, 50});
    op.output(RUDA_TOP_K_INDICES, RUDA_I64, {rows, 50});
    op.bench(case_name("top_k", RUDA_F32, shape, " 50"), 4.0 * double(count_of(shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_top_k_desc desc = RUDA_TOP_K_DESC_INIT;
               desc.options = options;
               desc.x = op.desc(RUDA_TOP_K_X);
               desc.values = op.desc(RUDA_TOP_K_VALUES);
               desc.indices = op.desc(RUDA_TOP_K_INDICES);
               desc.k = 50;
               return ruda_top_k_plan_create(env.context, &desc, out);
             });
  }
}

RUDA_BENCH(large_embedding) {
  const struct {
    int64_t rows, cols, ids;
  } cases[] = {{128256, 4096, 65536}, {49152, 576, 65536}, {49152, 576, 1}};
  for (const auto& c : cases) {
    OpRun op(env, "embedding");
    random_input(env, op, RUDA_EMBEDDING_TABLE, RUDA_BF16, {c.rows, c.cols});
    std::vector<double> ids;
    for (int64_t i = 0; i < c.ids; ++i) ids.push_back(double(env.integer(0, c.rows - 1)));
    op.input(RUDA_EMBEDDING_IDS, RUDA_I64, {c.ids}, ids);
    op.output(RUDA_EMBEDDING_Y, RUDA_BF16, {c.ids, c.cols});
    op.bench(case_name("embedding", RUDA_BF16, {c.rows, c.cols, c.ids}), 4.0 * double(c.ids * c.cols), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
               desc.options = options;
               desc.table = op.desc(RUDA_EMBEDDING_TABLE);
               desc.ids = op.desc(RUDA_EMBEDDING_IDS);
               desc.y = op.desc(RUDA_EMBEDDING_Y);
               return ruda_embedding_plan_create(env.context, &desc, out);
             });
  }
}

RUDA_BENCH(large_rope) {
  for (const Shape& shape : {Shape{8192, 32, 128}, Shape{1, 9, 64}}) {
    OpRun op(env, "rope");
    random_input(env, op, RUDA_ROPE_X, RUDA_BF16, shape);
    std::vector<double> positions;
    for (int64_t t = 0; t < shape[0]; ++t) positions.push_back(double(t));
    op.input(RUDA_ROPE_POSITIONS, RUDA_I32, {shape[0]}, positions);
    op.output(RUDA_ROPE_Y, RUDA_BF16, shape);
    ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
    params.theta = 10000;
    op.bench(case_name("rope", RUDA_BF16, shape), 4.0 * double(count_of(shape)), 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
               desc.options = options;
               desc.params = &params;
               desc.x = op.desc(RUDA_ROPE_X);
               desc.positions = op.desc(RUDA_ROPE_POSITIONS);
               desc.y = op.desc(RUDA_ROPE_Y);
               return ruda_rope_plan_create(env.context, &desc, out);
             });
  }
}

// A row and a column repeated.
RUDA_BENCH(large_broadcast) {
  const Shape shape{16384, 8192};
  for (bool row : {true, false}) {
    OpRun op(env, "binary");
    random_input(env, op, RUDA_BINARY_A, RUDA_BF16, shape);
    random_input(env, op, RUDA_BINARY_B, RUDA_BF16, row ? Shape{1, shape[1]} : Shape{shape[0], 1});
    op.output(RUDA_BINARY_Y, RUDA_BF16, shape);
    op.bench(case_name("add", RUDA_BF16, shape, row ? " row" : " column"), 4.0 * double(count_of(shape)), 0,
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
