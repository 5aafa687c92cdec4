// tests/ops/embedding/embedding.cpp - embedding against the format tables in double and against committed
// vectors.
// SPDX-License-Identifier: Apache-2.0
#include "support/blocks.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

struct BlockVector {
  uint32_t dtype;
  size_t bytes;
  const uint8_t* blocks;
  const uint32_t* values;  // F32 bits
  size_t count;
};
#include "../../data/vectors/block_formats.inc"

constexpr uint32_t TABLE = RUDA_EMBEDDING_TABLE, IDS = RUDA_EMBEDDING_IDS, Y = RUDA_EMBEDDING_Y;

OpRun::Create creator(Env& env, const OpRun& op) {
  return [&env, &op](const ruda_plan_options* options, ruda_plan* out) {
    ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
    desc.options = options;
    desc.table = op.desc(TABLE);
    desc.ids = op.desc(IDS);
    desc.y = op.desc(Y);
    return ruda_embedding_plan_create(env.context, &desc, out);
  };
}

double rounded(uint32_t dtype, double value) {
  uint8_t bytes[8];
  encode(dtype, value, bytes);
  return decode(dtype, bytes);
}

std::vector<double> random_ids(Env& env, int64_t count, int64_t rows) {
  std::vector<double> ids(static_cast<size_t>(count));
  for (double& id : ids) id = double(env.integer(0, rows - 1));
  if (count > 1) ids[0] = double(rows - 1), ids[1] = 0;
  return ids;
}

// A gather rounds once, so every comparison is exact.
void check_case(Env& env, OpRun& op, const std::vector<double>& table, int64_t cols,
                const std::vector<double>& ids, uint32_t out) {
  std::vector<double> expected;
  for (double id : ids)
    for (int64_t c = 0; c < cols; ++c)
      expected.push_back(rounded(out, table[size_t(int64_t(id) * cols + c)]));
  op.each_kernel(creator(env, op), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(Y), expected, [](size_t) { return 0.0; });
  });
}

Shape with(Shape shape, int64_t cols) {
  shape.push_back(cols);
  return shape;
}

}  // namespace

RUDA_TEST(embedding_plain) {
  for (uint32_t from : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (uint32_t to : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (uint32_t id : {RUDA_I32, RUDA_I64, RUDA_U32})
        for (int64_t cols : {1, 15, 17, 64, 577})
          for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3}}) {
            OpRun op(env, "embedding");
            const auto table = op.random_input(TABLE, from, {11, cols});
            const auto ids = random_ids(env, count_of(shape), 11);
            op.input(IDS, id, shape, ids);
            op.output(Y, to, with(shape, cols));
            check_case(env, op, table, cols, ids, to);
          }
}

// Rows of a few and of many pieces, more ids than one block takes, ids and rows with strides.
RUDA_TEST(embedding_many) {
  for (uint32_t from : {RUDA_F32, RUDA_BF16})
    for (int64_t cols : {8, 72, 576, 2064, 4096}) {
      OpRun op(env, "embedding");
      const auto table = op.random_input(TABLE, from, {13, cols});
      const auto ids = random_ids(env, 210, 13);
      op.input(IDS, RUDA_I64, {3, 70}, ids, {1, 3});
      op.output(Y, RUDA_BF16, {3, 70, cols}, {80 * (cols + 8), cols + 8, 1});
      check_case(env, op, table, cols, ids, RUDA_BF16);
      OpRun dense(env, "embedding");
      const auto same = dense.random_input(TABLE, from, {13, cols});
      dense.input(IDS, RUDA_I32, {3, 70}, ids);
      dense.output(Y, from, {3, 70, cols});
      check_case(env, dense, same, cols, ids, from);
    }
}

RUDA_TEST(embedding_strided) {
  OpRun op(env, "embedding");
  const auto table = op.random_input(TABLE, RUDA_BF16, {9, 33}, 1.0, {40, 1});
  const auto ids = random_ids(env, 6, 9);
  op.input(IDS, RUDA_I64, {2, 3}, ids, {1, 2});
  op.output(Y, RUDA_F32, {2, 3, 33}, {50, 100, 1});
  check_case(env, op, table, 33, ids, RUDA_F32);
}

RUDA_TEST(embedding_blocks) {
  for (const BlockSize& format : block_sizes)
    for (uint32_t to : {RUDA_F32, RUDA_F16, RUDA_BF16})
      for (int64_t blocks : {1, 2, 5}) {
        const int64_t cols = blocks * format.elements, rows = 7;
        OpRun op(env, "embedding");
        const auto bytes = random_blocks(env, format.dtype, rows, cols);
        op.input_bytes(TABLE, format.dtype, {rows, cols}, bytes);
        std::vector<double> table;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < cols; ++c)
            // F32 is what the formats are defined in.
            table.push_back(
                float(block_value(format.dtype, bytes.data() + r * block_row_bytes(format.dtype, cols), c)
                          .value()));
        const auto ids = random_ids(env, 4, rows);
        op.input(IDS, RUDA_I32, {4}, ids);
        op.output(Y, to, {4, cols});
        check_case(env, op, table, cols, ids, to);
      }
}

// What the gguf package makes of the same blocks, bit by bit.
RUDA_TEST(embedding_golden) {
  for (const BlockVector& vector : block_vectors) {
    const int64_t cols = int64_t(vector.count);
    OpRun op(env, "embedding");
    op.input_bytes(TABLE, vector.dtype, {1, cols}, {vector.blocks, vector.blocks + vector.bytes});
    op.input(IDS, RUDA_U32, {1}, {0});
    op.output(Y, RUDA_F32, {1, cols});
    std::vector<double> expected;
    for (int64_t c = 0; c < cols; ++c) {
      float value;
      std::memcpy(&value, vector.values + c, 4);
      expected.push_back(value);
      CHECK(value == float(block_value(vector.dtype, vector.blocks, c).value()), "%s: oracle differs at %lld",
            block_size(vector.dtype).name, static_cast<long long>(c));
    }
    op.each_kernel(creator(env, op), [&](const std::string& kernel) {
      check_close(kernel.c_str(), op.read(Y), expected, [](size_t) { return 0.0; });
    });
  }
}

RUDA_TEST(embedding_eager) {
  OpRun op(env, "embedding");
  const auto bytes = random_blocks(env, RUDA_Q8_0, 3, 64);
  op.input_bytes(TABLE, RUDA_Q8_0, {3, 64}, bytes);
  op.input(IDS, RUDA_I32, {2}, {2, 1});
  ruda_tensor y = nullptr;
  MUST(ruda_embedding(env.stream, op.tensor(TABLE), op.tensor(IDS), 0, &y));
  float got[128];
  MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
  for (int i = 0; i < 128; ++i)
    CHECK(got[i] == float(block_value(RUDA_Q8_0, bytes.data() + (i < 64 ? 2 : 1) * 68, i % 64).value()),
          "element %d is %g", i, double(got[i]));
  ruda_release(y);
}

// On the CPU the call fails and writes nothing; a GPU leaves the row out, and the next synchronisation tells.
RUDA_TEST(embedding_index_errors) {
  const bool cpu = env.settings.backend == RUDA_BACKEND_CPU;
  for (double bad : {-1.0, 5.0, 1e9}) {
    OpRun op(env, "embedding");
    const auto table = op.random_input(TABLE, RUDA_F32, {5, 8});
    op.input(IDS, RUDA_I64, {4}, {0, 4, bad, cpu ? 9.0 : 2.0});
    op.output(Y, RUDA_F32, {4, 8});
    if (!cpu) {
      const auto before = op.read(Y);
      const std::string holds = "embedding: ids holds " + std::to_string(int64_t(bad)) + ", expected 0..4";
      for (const char* kernel : {"cuda/embedding/vectors", "cuda/embedding/simt"}) {
        ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
        options.kernel = kernel;
        ruda_plan plan = nullptr;
        MUST(creator(env, op)(&options, &plan));
        MUST(op.execute(plan));
        CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_INDEX, -1, holds);
        MUST(ruda_stream_sync(env.stream));
        const auto y = op.read(Y);
        for (int64_t i = 0; i < 32; ++i) {
          const int64_t ids[] = {0, 4, -1, 2}, id = ids[i / 8];
          const double want = id < 0 ? before[size_t(i)] : table[size_t(id * 8 + i % 8)];
          CHECK(y[size_t(i)] == want, "%s: row %lld, element %lld is %g, expected %g", kernel,
                (long long)i / 8, (long long)i % 8, y[size_t(i)], want);
        }
        ruda_release(plan);
      }
      continue;
    }
    ruda_tensor y = nullptr;
    const std::string text = "embedding: ids[2] is " + std::to_string(int64_t(bad)) + ", expected 0..4";
    CHECK_FAILS(ruda_embedding(env.stream, op.tensor(TABLE), op.tensor(IDS), 0, &y), RUDA_E_INDEX, -1, text);
    CHECK(!y, "a failed call gave a tensor");
    // Nothing is written.
    const auto before = op.read_bytes(Y);
    ruda_plan plan = nullptr;
    MUST(creator(env, op)(nullptr, &plan));
    const ruda_binding bindings[] = {{TABLE, RUDA_BIND_TENSOR, {op.tensor(TABLE)}},
                                     {IDS, RUDA_BIND_TENSOR, {op.tensor(IDS)}},
                                     {Y, RUDA_BIND_TENSOR, {op.tensor(Y)}}};
    CHECK_FAILS(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr), RUDA_E_INDEX, -1, text);
    CHECK(op.read_bytes(Y) == before, "output changed by a failed call");
    ruda_release(plan);
  }
}

RUDA_TEST(embedding_errors) {
  OpRun op(env, "embedding");
  op.random_input(TABLE, RUDA_F32, {5, 8});
  op.input(IDS, RUDA_I64, {2}, {0, 1});
  op.output(Y, RUDA_F32, {2, 8});
  OpRun other(env, "embedding");
  other.input(TABLE, RUDA_I32, {5, 8}, std::vector<double>(40, 0));
  other.input(IDS, RUDA_I16, {2}, {0, 1});
  other.output(Y, RUDA_F32, {2, 7});
  OpRun third(env, "embedding");
  third.random_input(TABLE, RUDA_F32, {5, 8}, 1.0, {1, 5});
  const auto attempt = [&](auto change) {
    ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
    desc.table = op.desc(TABLE);
    desc.ids = op.desc(IDS);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_embedding_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_embedding_desc;
  CHECK_FAILS(attempt([&](D& d) { d.table = nullptr; }), RUDA_E_NULL, 1, "embedding: table is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.ids = nullptr; }), RUDA_E_NULL, 1, "embedding: ids is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.table = other.desc(TABLE); }), RUDA_E_DTYPE, 1, "table has dtype I32");
  CHECK_FAILS(attempt([&](D& d) { d.ids = other.desc(IDS); }), RUDA_E_DTYPE, 1, "ids has dtype I16");
  CHECK_FAILS(attempt([&](D& d) { d.table = third.desc(TABLE); }), RUDA_E_SHAPE, 1,
              "table has last stride 5");
  CHECK_FAILS(attempt([&](D& d) { d.table = op.desc(IDS); }), RUDA_E_DTYPE, 1, "table has dtype I64");
  CHECK_FAILS(attempt([&](D& d) { d.y = other.desc(Y); }), RUDA_E_SHAPE, 1,
              "y has shape [2, 7], expected [2, 8]");
  CHECK_FAILS(attempt([&](D& d) { d.out_dtype = RUDA_I32; }), RUDA_E_DTYPE, 1, "y has dtype I32");
  CHECK_FAILS(attempt([&](D& d) { d.y = op.desc(Y), d.out_dtype = RUDA_F16; }), RUDA_E_DTYPE, 1,
              "out_dtype is F16, but y has dtype F32");
  CHECK_FAILS(ruda_embedding_plan_create(env.context, nullptr, nullptr), RUDA_E_NULL, 2, "out is NULL");
}

RUDA_BENCH(embedding_bench) {
  for (uint32_t dtype : {RUDA_BF16, RUDA_Q8_0, RUDA_Q4_1}) {
    OpRun op(env, "embedding");
    const bool blocks = dtype >= 256;
    if (blocks)
      op.input_bytes(TABLE, dtype, {49152, 576}, random_blocks(env, dtype, 49152, 576));
    else
      op.random_input(TABLE, dtype, {49152, 576});
    op.input(IDS, RUDA_I32, {4096}, random_ids(env, 4096, 49152));
    op.output(Y, RUDA_BF16, {4096, 576});
    const double row = blocks ? double(block_row_bytes(dtype, 576)) : 1152.0;
    op.bench(
        std::string("embedding ") + (blocks ? block_size(dtype).name : "BF16") + " 4096 rows of [49152, 576]",
        4096 * (row + 1152), 0, creator(env, op));
  }
}
