// tests/ops/elementwise/kernels_agree.cpp - every kernel of an operator gives the same bits, over several
// blocks of a GPU with a rest.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr uint32_t dtypes[] = {RUDA_F64, RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_I8,  RUDA_U8,  RUDA_I16,
                               RUDA_U16, RUDA_I32, RUDA_U32, RUDA_I64,  RUDA_U64, RUDA_BOOL};
constexpr uint32_t floats[] = {RUDA_F32, RUDA_F16, RUDA_BF16};

bool is_float(uint32_t dtype) { return dtype <= RUDA_F8E5M2; }

// On the CPU one kernel computes floats in double, so that only integers agree.
bool has_oracle_of_bits(const Env& env, uint32_t dtype) {
  return env.settings.backend != RUDA_BACKEND_CPU || !is_float(dtype);
}

// Numbers of moderate size, small integers and any bits, made once and repeated.
std::vector<uint8_t> elements(Env& env, uint32_t dtype, int64_t count) {
  const size_t size = size_of(dtype), period = std::min<size_t>(size_t(count), 4099);
  std::vector<uint8_t> bytes(size_t(count) * size);
  const auto normal = env.normal(int64_t(period), 3.0);
  for (size_t i = 0; i < period; ++i) {
    uint64_t any = env.random() ^ uint64_t(env.random()) << 32;
    if (dtype == RUDA_BOOL) any &= 1;
    std::memcpy(&bytes[i * size], &any, size);
    if (dtype == RUDA_BOOL || i % 4 == 3) continue;
    encode(dtype, is_float(dtype) ? normal[i] : double(env.integer(0, 9)), &bytes[i * size]);
  }
  for (size_t i = period * size; i < bytes.size(); ++i) bytes[i] = bytes[i - period * size];
  return bytes;
}

// Runs every kernel of the case and compares the bytes in `slot`; which NaN a GPU gives is not promised.
void agree(OpRun& run, uint32_t slot, uint32_t dtype, const OpRun::Create& create) {
  std::vector<uint8_t> first;
  run.each_kernel(create, [&](const std::string& kernel) {
    const auto got = run.read_bytes(slot);
    if (first.empty()) first = got;
    if (got == first) return;
    const size_t size = size_of(dtype);
    for (size_t i = 0; i < got.size(); i += size) {
      if (std::memcmp(&got[i], &first[i], size) == 0) continue;
      if (is_float(dtype) && std::isnan(decode(dtype, &got[i])) && std::isnan(decode(dtype, &first[i])))
        continue;
      CHECK(false, "%s: element %zu is %.9g, another kernel gave %.9g", kernel.c_str(), i / size,
            decode(dtype, &got[i]), decode(dtype, &first[i]));
      return;
    }
  });
}

// Whether the function takes the dtype: creates a plan and forgets it.
bool takes(const OpRun::Create& create) {
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  ruda_plan plan = nullptr;
  const bool taken = create(&options, &plan) == RUDA_OK;
  if (plan) ruda_release(plan);
  return taken;
}

void unary(Env& env, uint32_t op, uint32_t dtype, int64_t count) {
  set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
  const uint32_t result = op >= RUDA_UNARY_IS_NAN ? uint32_t(RUDA_BOOL) : dtype;
  OpRun run(env, "unary");
  run.input_bytes(RUDA_UNARY_X, dtype, {count}, elements(env, dtype, count));
  run.output(RUDA_UNARY_Y, result, {count});
  const OpRun::Create create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
    desc.options = options;
    desc.op = op;
    desc.x = run.desc(RUDA_UNARY_X);
    desc.y = run.desc(RUDA_UNARY_Y);
    return ruda_unary_plan_create(env.context, &desc, out);
  };
  if (takes(create)) agree(run, RUDA_UNARY_Y, result, create);
}

// b_shape is empty for a scalar.
void binary(Env& env, uint32_t op, uint32_t dtype, const Shape& shape, const Shape& b_shape) {
  set_case("op " + std::to_string(op) + " dtype " + std::to_string(dtype));
  const bool compares = op >= RUDA_BINARY_EQUAL && op <= RUDA_BINARY_GREATER_EQUAL;
  const uint32_t result = compares ? uint32_t(RUDA_BOOL) : dtype;
  OpRun run(env, "binary");
  run.input_bytes(RUDA_BINARY_A, dtype, shape, elements(env, dtype, count_of(shape)));
  if (b_shape.empty())
    run.bind_f64(RUDA_BINARY_SCALAR, dtype == RUDA_BOOL ? 1 : 3);
  else
    run.input_bytes(RUDA_BINARY_B, dtype, b_shape, elements(env, dtype, count_of(b_shape)));
  run.output(RUDA_BINARY_Y, result, shape);
  const OpRun::Create create = [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.options = options;
    desc.op = op;
    desc.a = run.desc(RUDA_BINARY_A);
    desc.b = b_shape.empty() ? nullptr : run.desc(RUDA_BINARY_B);
    desc.y = run.desc(RUDA_BINARY_Y);
    return ruda_binary_plan_create(env.context, &desc, out);
  };
  if (takes(create)) agree(run, RUDA_BINARY_Y, result, create);
}

void copy(Env& env, uint32_t from, uint32_t to, int64_t count, uint32_t overflow = RUDA_OVERFLOW_DEFAULT) {
  set_case("from " + std::to_string(from) + " to " + std::to_string(to));
  OpRun run(env, "copy");
  run.input_bytes(RUDA_COPY_X, from, {count}, elements(env, from, count));
  run.output(RUDA_COPY_Y, to, {count});
  agree(run, RUDA_COPY_Y, to, [&](const ruda_plan_options* options, ruda_plan* out) {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.options = options;
    desc.overflow = overflow;
    desc.x = run.desc(RUDA_COPY_X);
    desc.y = run.desc(RUDA_COPY_Y);
    return ruda_copy_plan_create(env.context, &desc, out);
  });
}

}  // namespace

RUDA_TEST(unary_kernels_agree) {
  for (uint32_t dtype : dtypes)
    for (uint32_t op = 1; op <= RUDA_UNARY_IS_FINITE && has_oracle_of_bits(env, dtype); ++op)
      unary(env, op, dtype, 20011);
}

RUDA_TEST(binary_kernels_agree) {
  for (uint32_t dtype : dtypes)
    for (uint32_t op = 1; op <= RUDA_BINARY_SHIFT_RIGHT && has_oracle_of_bits(env, dtype); ++op) {
      binary(env, op, dtype, {20011}, {20011});
      binary(env, op, dtype, {20011}, {});
      binary(env, op, dtype, {40, 512}, {512});
      binary(env, op, dtype, {40, 512}, {40, 1});
    }
}

RUDA_TEST(copy_kernels_agree) {
  constexpr uint32_t more[] = {RUDA_F8E4M3, RUDA_F8E5M2};
  std::vector<uint32_t> all(std::begin(dtypes), std::end(dtypes));
  all.insert(all.end(), std::begin(more), std::end(more));
  for (uint32_t from : all) {
    for (uint32_t to : all) copy(env, from, to, 10007);
    for (uint32_t to : more)
      for (uint32_t overflow : {RUDA_OVERFLOW_SATURATE, RUDA_OVERFLOW_NONFINITE})
        if (from != to) copy(env, from, to, 10007, overflow);
  }
}

// Every F32 pattern at even distances, as fast conversions have edges at the limits of the other dtype.
RUDA_TEST(copy_kernels_agree_on_floats) {
  constexpr uint32_t step = 0x1p32 / 300000;
  std::vector<uint8_t> bytes;
  for (uint64_t at = 0; at < uint64_t(1) << 32; at += step)
    for (int k = 0; k < 4; ++k) bytes.push_back(uint8_t(at >> (8 * k)));
  const int64_t count = int64_t(bytes.size() / 4);
  for (uint32_t to : {RUDA_F8E4M3, RUDA_F8E5M2, RUDA_I8, RUDA_U8, RUDA_I16, RUDA_U16, RUDA_I32, RUDA_U32,
                      RUDA_I64, RUDA_U64, RUDA_F64, RUDA_BOOL}) {
    set_case("to " + std::to_string(to));
    OpRun run(env, "copy");
    run.input_bytes(RUDA_COPY_X, RUDA_F32, {count}, bytes);
    run.output(RUDA_COPY_Y, to, {count});
    agree(run, RUDA_COPY_Y, to, [&](const ruda_plan_options* options, ruda_plan* out) {
      ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
      desc.options = options;
      desc.x = run.desc(RUDA_COPY_X);
      desc.y = run.desc(RUDA_COPY_Y);
      return ruda_copy_plan_create(env.context, &desc, out);
    });
  }
}

// So many elements that a thread of a GPU takes several pieces.
RUDA_TEST(kernels_agree_on_many) {
  if (env.settings.backend == RUDA_BACKEND_CPU) throw Skip("a matter of GPUs");
  for (uint32_t dtype : floats) unary(env, RUDA_UNARY_SILU, dtype, 9000003);
  unary(env, RUDA_UNARY_IS_NAN, RUDA_F16, 9000001);
  for (uint32_t op : {RUDA_BINARY_ADD, RUDA_BINARY_LESS}) {
    binary(env, op, RUDA_BF16, {5000011}, {5000011});
    binary(env, op, RUDA_I32, {5000003}, {5000003});
    binary(env, op, RUDA_F32, {5000001}, {});
  }
  copy(env, RUDA_F32, RUDA_I32, 5000001);
  copy(env, RUDA_F8E4M3, RUDA_BF16, 9000007);
  copy(env, RUDA_F64, RUDA_U8, 9000001);
}
