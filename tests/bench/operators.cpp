// tests/bench/operators.cpp - times the operators of a decoder and dense products on the CPU, one JSON line a
// case.
// SPDX-License-Identifier: Apache-2.0
//
// usage: bench_operators [threads = all] [part of a name = all cases] [seconds a case = 0.3]
// A name is "<operator> <dtype> <extents>"; peer_torch_cpu.py times the same names. Inputs are random, the
// time is the median of the runs that fit; "stoppable_us" is that of runs with a cancel token. GFLOP/s and
// GB/s count the least work and traffic of the operator.
#include <ruda/ruda.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

void check(ruda_status status, const char* what) {
  if (status == RUDA_OK) return;
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  std::fprintf(stderr, "%s: %s\n", what, info.message);
  std::exit(1);
}
#define CHECK(call) check(call, #call)

ruda_context context;
ruda_stream stream;
std::mt19937_64 random_bits{20};

using Shape = std::vector<int64_t>;

struct Value {
  ruda_tensor tensor = nullptr;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  double bytes = 0;
};

Value make(uint32_t dtype, const Shape& shape) {
  Value v;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = uint32_t(shape.size());
  desc.shape = shape.data();
  CHECK(ruda_tensor_create(context, &desc, &v.tensor));
  CHECK(ruda_tensor_get_desc(v.tensor, &v.desc));
  uint64_t bytes = 0;
  CHECK(ruda_tensor_get_data(v.tensor, nullptr, &bytes));
  v.bytes = double(bytes);
  return v;
}

// Random contents: floats near 1, codes of any value with scales that stay finite.
Value filled(uint32_t dtype, const Shape& shape) {
  Value v = make(dtype, shape);
  void* data = nullptr;
  uint64_t bytes = 0;
  CHECK(ruda_tensor_get_data(v.tensor, &data, &bytes));
  std::normal_distribution<float> normal;
  uint8_t* p = static_cast<uint8_t*>(data);
  const auto half = [&](uint64_t at, uint16_t bits) { std::memcpy(p + at, &bits, 2); };
  if (dtype == RUDA_F32) {
    for (uint64_t i = 0; i < bytes / 4; ++i) static_cast<float*>(data)[i] = normal(random_bits);
  } else if (dtype == RUDA_BF16 || dtype == RUDA_F16) {
    for (uint64_t i = 0; i < bytes; i += 2)
      half(i, uint16_t((dtype == RUDA_F16 ? 0x3800 : 0x3f00) | (random_bits() & 0x80ff)));
  } else {
    for (uint64_t i = 0; i < bytes; ++i) p[i] = uint8_t(random_bits());
    ruda_dtype_info info{};
    info.struct_size = sizeof info;
    CHECK(ruda_dtype_get_info(dtype, &info));
    for (uint64_t at = 0; at + info.block_bytes <= bytes; at += info.block_bytes) {
      if (dtype == RUDA_Q6_K) {
        half(at + 208, 0x1000);
        continue;
      }
      half(at, 0x2000 + uint16_t(random_bits() & 255));
      if (dtype != RUDA_Q4_0 && dtype != RUDA_Q8_0) half(at + 2, 0x2000);
    }
  }
  return v;
}

ruda_binding bind(uint32_t slot, const Value& value) {
  ruda_binding b{};
  b.slot = slot;
  b.v.handle = value.tensor;
  return b;
}

struct Options {
  const char* part = "";
  double seconds = 0.3;
};
Options options;

// Runs a plan until the time is over; prints and gives everything back.
void measure(const std::string& name, ruda_plan plan, std::vector<ruda_binding> bindings, double flops,
             double bytes) {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  CHECK(ruda_plan_query(plan, &info));
  ruda_workspace workspace = nullptr;
  CHECK(ruda_workspace_create(context, info.workspace_bytes, &workspace));
  ruda_exec_opts opts{};
  opts.struct_size = sizeof opts;
  CHECK(ruda_cancel_create(&opts.cancel));
  const auto execute = [&](const ruda_exec_opts* with) {
    CHECK(ruda_plan_execute(plan, stream, workspace, bindings.data(), uint32_t(bindings.size()), with));
  };
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  execute(nullptr);
  const auto first = Clock::now();
  execute(nullptr);
  const int repeat = int(std::clamp(20e-6 / std::max(since(first), 1e-9), 1.0, 1000.0));
  // In turn without and with a cancel token that is never raised.
  std::vector<double> times, stoppable;
  const auto timed = [&](const ruda_exec_opts* with) {
    const auto from = Clock::now();
    for (int i = 0; i < repeat; ++i) execute(with);
    return since(from) / repeat;
  };
  const auto start = Clock::now();
  do {
    times.push_back(timed(nullptr));
    stoppable.push_back(timed(&opts));
  } while ((since(start) < options.seconds || times.size() < 5) && times.size() < 100000);
  std::sort(times.begin(), times.end());
  std::sort(stoppable.begin(), stoppable.end());
  const double time = times[times.size() / 2];
  std::printf(
      "{\"name\": \"%s\", \"us\": %.3f, \"best_us\": %.3f, \"stoppable_us\": %.3f, \"gflops\": %.1f, "
      "\"gbps\": %.2f, \"kernel\": \"%s\"}\n",
      name.c_str(), time * 1e6, times.front() * 1e6, stoppable[stoppable.size() / 2] * 1e6,
      flops / time / 1e9, bytes / time / 1e9, info.kernel);
  std::fflush(stdout);
  for (const ruda_binding& b : bindings) ruda_release(b.v.handle);
  ruda_release(opts.cancel);
  ruda_release(workspace);
  ruda_release(plan);
}

bool wanted(const std::string& name) { return name.find(options.part) != std::string::npos; }

std::string name_of(uint32_t dtype) {
  ruda_dtype_info info{};
  info.struct_size = sizeof info;
  CHECK(ruda_dtype_get_info(dtype, &info));
  std::string name = info.name;
  for (char& c : name) c = char(std::tolower(c));
  return name;
}

std::string name_of(const char* op, uint32_t dtype, const Shape& extents) {
  std::string name = std::string(op) + " " + name_of(dtype) + " ";
  for (size_t i = 0; i < extents.size(); ++i) name += (i ? "x" : "") + std::to_string(extents[i]);
  return name;
}

// B lies as [n, k], or as [k, n] where `plain`.
void matmul(uint32_t dtype, int64_t m, int64_t n, int64_t k, bool plain = false) {
  std::string name = name_of("matmul", dtype, {m, n, k});
  if (plain) name += " plain";
  if (!wanted(name)) return;
  const Value a = filled(dtype, {m, k}), b = filled(dtype, plain ? Shape{k, n} : Shape{n, k}),
              c = make(dtype, {m, n});
  ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
  desc.a = &a.desc, desc.b = &b.desc, desc.c = &c.desc, desc.transpose_b = plain ? 0 : 1;
  ruda_plan plan = nullptr;
  CHECK(ruda_matmul_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_MATMUL_A, a), bind(RUDA_MATMUL_B, b), bind(RUDA_MATMUL_C, c)},
          2.0 * double(m) * double(n) * double(k), a.bytes + b.bytes + c.bytes);
}

void matmul_block(uint32_t dtype, int64_t m, int64_t n, int64_t k) {
  const std::string name = name_of("matmul_block", dtype, {m, n, k});
  if (!wanted(name)) return;
  const Value x = filled(RUDA_F32, {m, k}), w = filled(dtype, {n, k}), y = make(RUDA_F32, {m, n});
  ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
  desc.x = &x.desc, desc.weights = &w.desc, desc.y = &y.desc;
  ruda_plan plan = nullptr;
  CHECK(ruda_matmul_block_plan_create(context, &desc, &plan));
  measure(name, plan,
          {bind(RUDA_MATMUL_BLOCK_X, x), bind(RUDA_MATMUL_BLOCK_WEIGHTS, w), bind(RUDA_MATMUL_BLOCK_Y, y)},
          2.0 * double(m) * double(n) * double(k), x.bytes + w.bytes + y.bytes);
}

void rms_norm(int64_t rows, int64_t width, uint32_t dtype = RUDA_F32) {
  const std::string name = name_of("rms_norm", dtype, {rows, width});
  if (!wanted(name)) return;
  const Value x = filled(dtype, {rows, width}), gamma = filled(dtype, {width}),
              y = make(dtype, {rows, width});
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.x = &x.desc, desc.gamma = &gamma.desc, desc.y = &y.desc, desc.eps = 1e-5;
  ruda_plan plan = nullptr;
  CHECK(ruda_rms_norm_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_RMS_NORM_X, x), bind(RUDA_RMS_NORM_GAMMA, gamma), bind(RUDA_RMS_NORM_Y, y)},
          0, x.bytes + y.bytes);
}

void softmax(int64_t rows, int64_t width, uint32_t dtype = RUDA_F32) {
  const std::string name = name_of("softmax", dtype, {rows, width});
  if (!wanted(name)) return;
  const Value x = filled(dtype, {rows, width}), y = make(dtype, {rows, width});
  ruda_softmax_desc desc = RUDA_SOFTMAX_DESC_INIT;
  desc.x = &x.desc, desc.y = &y.desc;
  ruda_plan plan = nullptr;
  CHECK(ruda_softmax_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_SOFTMAX_X, x), bind(RUDA_SOFTMAX_Y, y)}, 0, x.bytes + y.bytes);
}

void silu_mul(int64_t rows, int64_t width, uint32_t dtype = RUDA_F32) {
  const std::string name = name_of("silu_mul", dtype, {rows, width});
  if (!wanted(name)) return;
  const Value gate = filled(dtype, {rows, width}), up = filled(dtype, {rows, width}),
              y = make(dtype, {rows, width});
  ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
  desc.gate = &gate.desc, desc.up = &up.desc, desc.y = &y.desc;
  ruda_plan plan = nullptr;
  CHECK(ruda_silu_mul_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_SILU_MUL_GATE, gate), bind(RUDA_SILU_MUL_UP, up), bind(RUDA_SILU_MUL_Y, y)},
          0, gate.bytes + up.bytes + y.bytes);
}

void add(int64_t rows, int64_t width) {
  const std::string name = name_of("add", RUDA_F32, {rows, width});
  if (!wanted(name)) return;
  const Value a = filled(RUDA_F32, {rows, width}), b = filled(RUDA_F32, {rows, width}),
              y = make(RUDA_F32, {rows, width});
  ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
  desc.op = RUDA_BINARY_ADD;
  desc.a = &a.desc, desc.b = &b.desc, desc.y = &y.desc;
  ruda_plan plan = nullptr;
  CHECK(ruda_binary_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_BINARY_A, a), bind(RUDA_BINARY_B, b), bind(RUDA_BINARY_Y, y)}, 0,
          a.bytes + b.bytes + y.bytes);
}

Value counting(int64_t count, int64_t step, int64_t below) {
  const Value v = make(RUDA_I32, {count});
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(int64_t(i) * step % below);
  CHECK(ruda_tensor_write(stream, v.tensor, ids.data(), ids.size() * 4));
  return v;
}

void embedding(uint32_t dtype, int64_t tokens, int64_t vocab, int64_t width) {
  const std::string name = name_of("embedding", dtype, {tokens, vocab, width});
  if (!wanted(name)) return;
  const Value table = filled(dtype, {vocab, width}), ids = counting(tokens, 7919, vocab),
              y = make(RUDA_F32, {tokens, width});
  ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
  desc.table = &table.desc, desc.ids = &ids.desc, desc.y = &y.desc;
  ruda_plan plan = nullptr;
  CHECK(ruda_embedding_plan_create(context, &desc, &plan));
  measure(name, plan,
          {bind(RUDA_EMBEDDING_TABLE, table), bind(RUDA_EMBEDDING_IDS, ids), bind(RUDA_EMBEDDING_Y, y)}, 0,
          y.bytes + table.bytes / double(vocab) * double(tokens));
}

void rope(int64_t tokens, int64_t heads, int64_t dim) {
  const std::string name = name_of("rope", RUDA_F32, {tokens, heads, dim});
  if (!wanted(name)) return;
  const Value x = filled(RUDA_F32, {tokens, heads, dim}), positions = counting(tokens, 1, 1 << 20),
              y = make(RUDA_F32, {tokens, heads, dim});
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 10000;
  ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
  desc.x = &x.desc, desc.positions = &positions.desc, desc.y = &y.desc, desc.params = &params;
  ruda_plan plan = nullptr;
  CHECK(ruda_rope_plan_create(context, &desc, &plan));
  measure(name, plan, {bind(RUDA_ROPE_X, x), bind(RUDA_ROPE_POSITIONS, positions), bind(RUDA_ROPE_Y, y)}, 0,
          x.bytes + y.bytes);
}

// The last `queries` of a history of `keys` tokens attend to all before them.
void attention(uint32_t dtype, uint32_t cache_dtype, int64_t queries, int64_t keys, int64_t q_heads,
               int64_t kv_heads, int64_t dim) {
  const std::string name = name_of("paged_attention", dtype, {queries, keys, q_heads, kv_heads, dim}) +
                           " cache " + name_of(cache_dtype);
  if (!wanted(name)) return;
  constexpr int64_t page_size = 64;
  const int64_t pages = (keys + page_size - 1) / page_size;
  const Value q = filled(dtype, {queries, q_heads, dim}),
              k = filled(cache_dtype, {pages, page_size, kv_heads, dim}),
              v = filled(cache_dtype, {pages, page_size, kv_heads, dim}),
              out = make(dtype, {queries, q_heads, dim});
  ruda_paged_schedule_desc schedule_desc = RUDA_PAGED_SCHEDULE_DESC_INIT;
  schedule_desc.page_size = page_size;
  schedule_desc.pages = schedule_desc.max_table_pages = uint32_t(pages);
  schedule_desc.max_sequences = 1;
  schedule_desc.max_queries = uint32_t(queries);
  ruda_paged_schedule schedule = nullptr;
  CHECK(ruda_paged_schedule_create(context, &schedule_desc, &schedule));
  std::vector<uint32_t> table(static_cast<size_t>(pages)), sequences(static_cast<size_t>(queries), 0),
      positions(static_cast<size_t>(queries));
  std::iota(table.begin(), table.end(), 0u);
  std::iota(positions.begin(), positions.end(), uint32_t(keys - queries));
  const uint32_t length = uint32_t(keys);
  CHECK(ruda_paged_schedule_set(schedule, stream, table.data(), uint32_t(pages), &length, 1, sequences.data(),
                                positions.data(), uint32_t(queries)));
  ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
  desc.causal = 1;
  desc.q = &q.desc, desc.k = &k.desc, desc.v = &v.desc, desc.out = &out.desc;
  desc.scale = 1 / std::sqrt(double(dim));
  desc.splits = RUDA_SPLITS_AUTO;
  ruda_plan plan = nullptr;
  CHECK(ruda_paged_attention_plan_create(context, &desc, &plan));
  ruda_binding by_handle{};
  by_handle.slot = RUDA_PAGED_ATTENTION_SCHEDULE;
  by_handle.kind = RUDA_BIND_HANDLE;
  by_handle.v.handle = schedule;
  const double seen = double(queries) * double(keys - queries) + double(queries) * double(queries + 1) / 2;
  measure(name, plan,
          {bind(RUDA_PAGED_ATTENTION_Q, q), bind(RUDA_PAGED_ATTENTION_K, k), bind(RUDA_PAGED_ATTENTION_V, v),
           bind(RUDA_PAGED_ATTENTION_OUT, out), by_handle},
          4.0 * seen * double(q_heads) * double(dim), q.bytes + k.bytes + v.bytes + out.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  if (argc > 1) desc.host_threads = uint32_t(std::max(0, std::atoi(argv[1])));
  if (argc > 2) options.part = argv[2];
  if (argc > 3) options.seconds = std::atof(argv[3]);
  CHECK(ruda_context_create(&desc, &context));
  CHECK(ruda_stream_create(context, 0, &stream));
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16})
    for (int64_t n : {256, 512, 1024, 2048}) matmul(dtype, n, n, n);
  for (int64_t n : {256, 512, 1024}) matmul(RUDA_F32, n, n, n, true);
  matmul(RUDA_F32, 64, 4096, 4096);
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16}) matmul(dtype, 1, 1536, 576), matmul(dtype, 512, 1536, 576);
  for (uint32_t dtype : {RUDA_Q4_0, RUDA_Q4_1, RUDA_Q8_0})
    for (int64_t m : {1, 512}) {
      for (int64_t n : {192, 576, 1536}) matmul_block(dtype, m, n, 576);
      matmul_block(dtype, m, 576, 1536);
    }
  matmul_block(RUDA_Q8_0, 1, 49152, 576);
  for (uint32_t dtype : {RUDA_Q4_K, RUDA_Q6_K})
    for (int64_t m : {1, 512}) matmul_block(dtype, m, 1536, 1536);
  for (int64_t rows : {1, 512}) {
    rms_norm(rows, 576);
    add(rows, 576);
    silu_mul(rows, 1536);
    rope(rows, 9, 64);
    embedding(RUDA_Q8_0, rows, 49152, 576);
  }
  rms_norm(2048, 4096);
  softmax(2048, 4096);
  softmax(2048, 4096, RUDA_BF16);
  attention(RUDA_F32, RUDA_F16, 1, 128, 9, 3, 64);
  attention(RUDA_F32, RUDA_F16, 1, 1024, 9, 3, 64);
  attention(RUDA_F32, RUDA_F16, 512, 512, 9, 3, 64);
  attention(RUDA_F32, RUDA_F32, 1024, 1024, 9, 3, 64);
  attention(RUDA_BF16, RUDA_BF16, 1024, 1024, 9, 3, 64);
  attention(RUDA_BF16, RUDA_BF16, 2048, 2048, 16, 4, 128);
  ruda_release(stream);
  ruda_release(context);
  return 0;
}
