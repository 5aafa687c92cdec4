// tests/ops/elementwise/ways.cpp - what explain says of elements: that they go in vectors, or one at a time.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <cstring>
#include <functional>

using namespace ruda::test;

namespace {

using Values = std::vector<double>;

std::string first_line(const OpRun::Create& create) {
  ruda_plan plan = nullptr;
  MUST(create(nullptr, &plan));
  char text[1000];
  MUST(ruda_plan_explain(plan, text, sizeof text, nullptr));
  ruda_release(plan);
  return std::string(text, std::strcspn(text, "\n"));
}

std::string binary_line(Env& env, uint32_t op, uint32_t dtype) {
  const bool compare = op >= RUDA_BINARY_EQUAL && op <= RUDA_BINARY_GREATER_EQUAL;
  OpRun run(env, "binary");
  run.input(RUDA_BINARY_A, dtype, {8}, Values(8, 1));
  run.input(RUDA_BINARY_B, dtype, {8}, Values(8, 1));
  run.output(RUDA_BINARY_Y, compare ? uint32_t(RUDA_BOOL) : dtype, {8});
  return first_line([&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.op = op;
    desc.options = options;
    desc.a = run.desc(RUDA_BINARY_A);
    desc.b = run.desc(RUDA_BINARY_B);
    desc.y = run.desc(RUDA_BINARY_Y);
    return ruda_binary_plan_create(env.context, &desc, out);
  });
}

std::string abs_line(Env& env, uint32_t dtype) {
  OpRun run(env, "unary");
  run.input(RUDA_UNARY_X, dtype, {8}, Values(8, 1));
  run.output(RUDA_UNARY_Y, dtype, {8});
  return first_line([&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
    desc.op = RUDA_UNARY_ABS;
    desc.options = options;
    desc.x = run.desc(RUDA_UNARY_X);
    desc.y = run.desc(RUDA_UNARY_Y);
    return ruda_unary_plan_create(env.context, &desc, out);
  });
}

}  // namespace

RUDA_TEST(way_of_binary) {
  if (env.settings.backend == RUDA_BACKEND_CUDA) throw Skip("the text is that of the CPU");
  const auto way_of = [&](uint32_t op, uint32_t dtype) {
    const std::string line = binary_line(env, op, dtype);
    return line.substr(line.find(", ") + 2);  // behind the kernel's and the function's name
  };
  const std::string vectors = way_of(RUDA_BINARY_ADD, RUDA_F32), single = "one element at a time)";
  CHECK(vectors != single, "add of F32: %s", vectors.c_str());
  for (uint32_t op = 1; op <= RUDA_BINARY_SHIFT_RIGHT; ++op)
    for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F64, RUDA_I32}) {
      const bool real = dtype != RUDA_I32;
      const bool floats_only = op == RUDA_BINARY_DIV || op == RUDA_BINARY_POW || op == RUDA_BINARY_ATAN2;
      if (real ? op >= RUDA_BINARY_AND : floats_only) continue;
      // Calls of the C library, and divisions that processors have for no vector.
      const bool slow = op == RUDA_BINARY_POW || (op >= RUDA_BINARY_REMAINDER && op <= RUDA_BINARY_ATAN2);
      const std::string way = way_of(op, dtype);
      CHECK(way == (slow && (dtype == RUDA_F64 || !real) ? single : vectors), "op %u dtype %u: %s", op, dtype,
            way.c_str());
    }
}

RUDA_TEST(way_of_unary) {
  if (env.settings.backend == RUDA_BACKEND_CUDA) throw Skip("the text is that of the CPU");
  const std::string vectors = abs_line(env, RUDA_F32), single = abs_line(env, RUDA_F64);
  CHECK(vectors.starts_with("unary: cpu/unary/rows (abs, "), "F32: %s", vectors.c_str());
  CHECK(abs_line(env, RUDA_I32) == vectors, "I32: %s", abs_line(env, RUDA_I32).c_str());
  CHECK(single == "unary: cpu/unary/scalar (abs, one element at a time)", "F64: %s", single.c_str());
}
