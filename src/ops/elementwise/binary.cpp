// src/ops/elementwise/binary.cpp - contract of binary: y = f(a, b) with broadcasting, f a row of the table.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/elementwise.h>

#include <algorithm>
#include <iterator>

RUDA_DECLARE_KERNELS(binary)

namespace ruda::ops {

extern const OpDef binary{"binary", RUDA_KERNELS(binary)};

namespace {

// The enumerators of the header and the rows of the table are in one order.
constexpr uint32_t codes[] = {
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) RUDA_BINARY_##NAME,
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
};
constexpr bool in_order() {
  for (uint32_t i = 0; i < std::size(codes); ++i)
    if (codes[i] != i + 1) return false;
  return true;
}
static_assert(in_order());

// Axes align at the last; an extent of 1 gives way.
int broadcast_shape(Contract& c, const Layout& a, const Layout& b, int64_t (&shape)[RUDA_MAX_RANK]) {
  const int rank = std::max(a.rank, b.rank);
  for (int axis = -1; axis >= -rank; --axis) {
    const int64_t of_a = -axis <= a.rank ? a.dim(axis) : 1, of_b = -axis <= b.rank ? b.dim(axis) : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1)
      c.require(false, RUDA_E_SHAPE,
                "a has shape %s and b has shape %s, expected extents that are equal or 1",
                a.shape_text().c_str(), b.shape_text().c_str());
    shape[rank + axis] = of_a == 1 ? of_b : of_a;
  }
  return rank;
}

Problem check(ruda_context context, const ruda_binary_desc* desc) {
  Contract c(binary, context, desc);
  const auto d = c.options<ruda_binary_desc>();
  const OpRow* row = find_row(binary_rows, d.op);
  c.require(row, RUDA_E_ARGUMENT, "op is %u, expected 1..%zu", d.op, std::size(binary_rows));
  c.in("a", d.a).in_optional("b", d.b);
  const Operand a = c[RUDA_BINARY_A];
  c.require(row->takes(a.dtype()), RUDA_E_DTYPE, "a has dtype %s, %s takes %s", dtype_name(a.dtype()),
            row->name, row->takes_text());
  c.same_dtype(RUDA_BINARY_B, RUDA_BINARY_A);
  int64_t shape[RUDA_MAX_RANK];
  int rank = a.rank();
  if (c.has(RUDA_BINARY_B))
    rank = broadcast_shape(c, *a.layout, *c[RUDA_BINARY_B].layout, shape);
  else
    std::copy_n(a.layout->shape, rank, shape);
  c.out("y", d.y, row->result == row_B ? uint32_t(RUDA_BOOL) : a.dtype(), shape, rank);
  c.alias(RUDA_BINARY_Y, RUDA_BINARY_A).alias(RUDA_BINARY_Y, RUDA_BINARY_B);
  c.scalar_f64("scalar");
  Problem problem = c.take();
  problem.operands[RUDA_BINARY_SCALAR].present = !problem[RUDA_BINARY_B].present;
  return problem;
}

ruda_tensor run(ruda_stream stream, ruda_tensor a, ruda_tensor b, double scalar, uint32_t op) {
  Eager call(binary, stream);
  call.in(RUDA_BINARY_A, a, 1, "a");
  if (b)
    call.in(RUDA_BINARY_B, b, 2, "b");
  else
    call.f64(RUDA_BINARY_SCALAR, scalar);
  call.key(op);
  call.plan([&] {
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.op = op;
    desc.a = call.desc(RUDA_BINARY_A);
    desc.b = call.desc(RUDA_BINARY_B);
    return check(call.context_handle(), &desc);
  });
  return call.run(RUDA_BINARY_Y);
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_binary_plan_create(ruda_context context, const ruda_binary_desc* desc,
                                               ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_binary(ruda_stream stream, ruda_tensor a, ruda_tensor b, uint32_t op,
                                   ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 4, "out is NULL");
    *out = nullptr;
    ruda::get_stream(stream);
    ruda::get_tensor(a, 1, "a");
    ruda::get_tensor(b, 2, "b");
    *out = ruda::ops::run(stream, a, b, 0, op);
  });
}

extern "C" ruda_status ruda_binary_scalar(ruda_stream stream, ruda_tensor a, double b, uint32_t op,
                                          ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 4, "out is NULL");
    *out = nullptr;
    *out = ruda::ops::run(stream, a, nullptr, b, op);
  });
}
