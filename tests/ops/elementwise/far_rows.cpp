// tests/ops/elementwise/far_rows.cpp - every operator on rows that lie more than 2^31 elements apart.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/op_run.hpp"
#include "support/paged.hpp"

#include <sys/mman.h>

#include <cstring>

using namespace ruda::test;

namespace {

constexpr int64_t cols = 64, stride = (int64_t(1) << 31) + 64;

// Many bytes: on the CPU memory that exists, as zeros, only where it is touched; on a GPU memory of it.
struct Sparse {
  Sparse(const Env& env, uint64_t wanted) : env(env), bytes(wanted) {
    if (env.settings.backend == RUDA_BACKEND_CPU) {
      data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (data == MAP_FAILED) throw Skip("no address space");
      return;
    }
    const int64_t count = int64_t(bytes);
    ruda_tensor_desc d = RUDA_TENSOR_DESC_INIT;
    d.dtype = RUDA_U8;
    d.rank = 1;
    d.shape = &count;
    const ruda_status status = ruda_tensor_create(env.context, &d, &base);
    if (status == RUDA_E_OOM_DEVICE) throw Skip(last_message());
    MUST(status);
    MUST(ruda_tensor_get_data(base, &data, nullptr));
  }
  ~Sparse() {
    ruda_stream_sync(env.stream);  // work on tensors of its memory, which it does not know
    if (base)
      ruda_release(base);
    else
      munmap(data, bytes);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  // From element `first` of the memory on.
  ruda_tensor tensor(uint32_t dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {},
                     int64_t first = 0) const {
    ruda_tensor_desc d = RUDA_TENSOR_DESC_INIT;
    d.dtype = dtype;
    d.rank = uint32_t(shape.size());
    d.shape = shape.data();
    d.strides = strides.empty() ? nullptr : strides.data();
    const uint64_t offset = uint64_t(first) * size_of(dtype);
    ruda_tensor t = nullptr;
    MUST(ruda_tensor_wrap(env.context, &d, static_cast<std::byte*>(data) + offset, bytes - offset, nullptr,
                          nullptr, &t));
    return t;
  }
  // All of it as zeros, which new pages of the host are by themselves.
  void clear() const {
    if (!base) return;
    MUST(ruda_tensor_fill(env.stream, base, 0));
    MUST(ruda_stream_sync(env.stream));
  }
  template <class T>
  void put(uint32_t dtype, int64_t at, const std::vector<T>& values) const {
    const ruda_tensor t = tensor(dtype, {int64_t(values.size())}, {}, at);
    MUST(ruda_tensor_write(env.stream, t, values.data(), values.size() * sizeof(T)));
    MUST(ruda_stream_sync(env.stream));
    ruda_release(t);
  }
  template <class T>
  std::vector<T> get(uint32_t dtype, int64_t at, int64_t count) const {
    const ruda_tensor t = tensor(dtype, {count}, {}, at);
    std::vector<T> values(static_cast<size_t>(count));
    MUST(ruda_tensor_read(env.stream, t, values.data(), values.size() * sizeof(T)));
    ruda_release(t);
    return values;
  }

  const Env& env;
  ruda_tensor base = nullptr;
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
  memory.put(RUDA_F32, 0, std::vector<float>(values.begin(), values.begin() + cols));
  memory.put(RUDA_F32, stride, std::vector<float>(values.begin() + cols, values.end()));
  const ruda_tensor far = memory.tensor(RUDA_F32, {2, cols}, {stride, 1});
  const ruda_tensor far_heads = memory.tensor(RUDA_F32, {2, 1, cols}, {stride, cols, 1});
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
  const ruda_tensor far = memory.tensor(RUDA_F32, {2, cols}, {stride, 1});
  const std::vector<float> first(values.begin(), values.begin() + cols),
      second(values.begin() + cols, values.end());
  const std::vector<float> threes(size_t(cols), 3.0f);
  MUST(ruda_tensor_copy(env.stream, op.tensor(RUDA_COPY_X), far));
  MUST(ruda_stream_sync(env.stream));
  CHECK(memory.get<float>(RUDA_F32, 0, cols) == first, "copy: the first row");
  CHECK(memory.get<float>(RUDA_F32, stride, cols) == second, "copy: the second row");
  MUST(ruda_tensor_fill(env.stream, far, 3));
  MUST(ruda_stream_sync(env.stream));
  CHECK(memory.get<float>(RUDA_F32, 0, cols) == threes, "fill: the first row");
  CHECK(memory.get<float>(RUDA_F32, stride, cols) == threes, "fill: the second row");
  ruda_release(far);
}

// A table of 262144 rows of 8960: the offset of its last rows is past 2^31 elements.
RUDA_TEST(far_rows_of_a_table) {
  const int64_t rows = 262144, width = 8960;
  const Sparse memory(env, uint64_t(rows * width) * 2);
  memory.clear();
  memory.put<uint16_t>(RUDA_F16, 262143 * width + 5, {0x3C00});  // 1
  memory.put<uint16_t>(RUDA_F16, 239674 * width + 6, {0x4000});  // 2
  const ruda_tensor table = memory.tensor(RUDA_F16, {rows, width});
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

// 2^31 + 8 elements in one tensor: two gigabytes and two more, which a GPU has and a host not always.
RUDA_TEST(far_rows_of_one_tensor) {
  if (env.settings.backend == RUDA_BACKEND_CPU && env.settings.level < 2)
    throw Skip("takes 4 GiB of memory, from --level 2 on");
  const int64_t count = (int64_t(1) << 31) + 8, place = count - 3;
  const Sparse memory(env, uint64_t(count)), out(env, uint64_t(count));
  memory.clear();
  memory.put<int8_t>(RUDA_I8, place, {5});
  const ruda_tensor x = memory.tensor(RUDA_I8, {count}), y = out.tensor(RUDA_I8, {count});
  ruda_tensor sum = nullptr, at = nullptr;
  int64_t got = 0;
  MUST(ruda_reduce(env.stream, x, RUDA_REDUCE_SUM, 0, 0, &sum));
  MUST(ruda_tensor_read(env.stream, sum, &got, sizeof got));
  CHECK(got == 5, "the sum is %lld", (long long)got);
  MUST(ruda_reduce(env.stream, x, RUDA_REDUCE_ARGMAX, 0, 0, &at));
  MUST(ruda_tensor_read(env.stream, at, &got, sizeof got));
  CHECK(got == place, "the largest is at %lld", (long long)got);
  ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
  const ruda_tensor_desc like = desc_of(x);
  desc.op = RUDA_UNARY_NEG;
  desc.x = desc.y = &like;
  ruda_plan plan = nullptr;
  MUST(ruda_unary_plan_create(env.context, &desc, &plan));
  const ruda_binding bindings[] = {{RUDA_UNARY_X, RUDA_BIND_TENSOR, {x}},
                                   {RUDA_UNARY_Y, RUDA_BIND_TENSOR, {y}}};
  MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 2, nullptr));
  MUST(ruda_stream_sync(env.stream));
  CHECK((out.get<int8_t>(RUDA_I8, place - 1, 3) == std::vector<int8_t>{0, -5, 0}),
        "the end of a long tensor is another");
  for (void* handle : std::initializer_list<void*>{sum, at, y, x, plan}) ruda_release(handle);
}

// Page 70000 of pages with 32768 elements.
RUDA_TEST(far_pages_of_a_cache) {
  const int64_t pages = 70001, page_size = 256, dim = 128;
  const Sparse memory(env, uint64_t(pages * page_size * dim) * 4);
  std::vector<float> keys;
  for (int64_t i = 0; i < 2 * dim; ++i) keys.push_back(float(i));
  memory.put(RUDA_F32, 70000 * page_size * dim, keys);
  const ruda_tensor cache = memory.tensor(RUDA_F32, {pages, page_size, 1, dim});
  Layout l;
  l.pages = uint32_t(pages);
  l.tables = {{70000}};
  l.lengths = {2};
  l.queries = {{0, 1}};
  ruda_tensor out = nullptr;
  {
    PagedCase paged(env, uint32_t(page_size), l);
    OpRun op(env, "paged_attention");
    op.input(RUDA_PAGED_ATTENTION_Q, RUDA_F32, {1, 1, dim}, std::vector<double>(size_t(dim), 0));
    for (const uint32_t splits : {0u, 2u}) {
      MUST(ruda_paged_attention(env.stream, paged.schedule, op.tensor(RUDA_PAGED_ATTENTION_Q), cache, cache,
                                1.0, 1, splits, &out, nullptr));
      float got[128];
      MUST(ruda_tensor_read(env.stream, out, got, sizeof got));
      for (int64_t i = 0; i < dim; ++i)
        CHECK(got[i] == float(i) + 64, "splits %u: element %lld is %g", splits, (long long)i, got[i]);
      ruda_release(out);
    }
  }
  ruda_release(cache);
}
