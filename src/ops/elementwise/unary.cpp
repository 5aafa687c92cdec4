// src/ops/elementwise/unary.cpp - contract of unary: y = f(x), f a row of the table.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/elementwise.h>

#include <iterator>

RUDA_DECLARE_KERNELS(unary)

namespace ruda::ops {

extern const OpDef unary{"unary", RUDA_KERNELS(unary)};

namespace {

// The enumerators of the header and the rows of the table are in one order.
constexpr uint32_t codes[] = {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) RUDA_UNARY_##NAME,
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
};
constexpr bool in_order() {
  for (uint32_t i = 0; i < std::size(codes); ++i)
    if (codes[i] != i + 1) return false;
  return true;
}
static_assert(in_order());

Problem check(ruda_context context, const ruda_unary_desc* desc) {
  Contract c(unary, context, desc);
  const auto d = c.options<ruda_unary_desc>();
  const OpRow* row = find_row(unary_rows, d.op);
  c.require(row, RUDA_E_ARGUMENT, "op is %u, expected 1..%zu", d.op, std::size(unary_rows));
  c.in("x", d.x);
  const Operand x = c[RUDA_UNARY_X];
  c.require(row->takes(x.dtype()), RUDA_E_DTYPE, "x has dtype %s, %s takes %s", dtype_name(x.dtype()),
            row->name, row->takes_text());
  c.out("y", d.y, row->result == row_B ? uint32_t(RUDA_BOOL) : x.dtype(), x.layout->shape, x.rank());
  c.alias(RUDA_UNARY_Y, RUDA_UNARY_X);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_unary_plan_create(ruda_context context, const ruda_unary_desc* desc,
                                              ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_unary(ruda_stream stream, ruda_tensor x, uint32_t op, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::unary, stream);
    call.in(RUDA_UNARY_X, x, 1, "x");
    call.key(op);
    call.plan([&] {
      ruda_unary_desc desc = RUDA_UNARY_DESC_INIT;
      desc.op = op;
      desc.x = call.desc(RUDA_UNARY_X);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_UNARY_Y);
  });
}
