// src/ops/reduce/reduce.cpp - contract of reduce: y = f over the elements along some axes.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/reduce.h>

#include <iterator>

RUDA_DECLARE_KERNELS(reduce)

namespace ruda::ops {

extern const OpDef reduce{"reduce", RUDA_KERNELS(reduce)};

namespace {

// The enumerators of the header and the rows of the table are in one order.
constexpr uint32_t codes[] = {
#define RUDA_REDUCE_ROW(NAME, name, operands, result, formula, bound) RUDA_REDUCE_##NAME,
#include "core/reduce_rows.inc"
#undef RUDA_REDUCE_ROW
};
constexpr bool in_order() {
  for (uint32_t i = 0; i < std::size(codes); ++i)
    if (codes[i] != i + 1) return false;
  return true;
}
static_assert(in_order());

bool is_integer(uint32_t dtype) { return dtype_info(dtype).type_class == DtypeClass::integer; }

// The dtype of y: as asked for, else the default.
uint32_t result_dtype(Contract& c, uint32_t op, const OpRow& row, uint32_t x, uint32_t asked) {
  if (row.result == row_X) {
    c.require(!asked || asked == RUDA_I64 || asked == RUDA_I32, RUDA_E_DTYPE,
              "dtype is %s, expected I64 or I32", dtype_name(asked));
    return asked ? asked : uint32_t(RUDA_I64);
  }
  if (row.result == row_B) {
    c.require(!asked || asked == RUDA_BOOL, RUDA_E_DTYPE, "dtype is %s, expected BOOL", dtype_name(asked));
    return RUDA_BOOL;
  }
  const bool widens = (op == RUDA_REDUCE_SUM || op == RUDA_REDUCE_PROD) && is_integer(x);
  c.require(!asked || asked == x || (widens && asked == RUDA_I64), RUDA_E_DTYPE, "dtype is %s, expected %s%s",
            dtype_name(asked), dtype_name(x), widens ? " or I64" : "");
  return asked ? asked : x;
}

Problem check(ruda_context context, const ruda_reduce_desc* desc) {
  Contract c(reduce, context, desc);
  auto& d = c.mutable_options<ruda_reduce_desc>();
  const OpRow* row = find_row(reduce_rows, d.op);
  c.require(row, RUDA_E_ARGUMENT, "op is %u, expected 1..%zu", d.op, std::size(reduce_rows));
  c.in("x", d.x);
  const Operand x = c[RUDA_REDUCE_X];
  c.require(row->takes(x.dtype()), RUDA_E_DTYPE, "x has dtype %s, %s takes %s", dtype_name(x.dtype()),
            row->name, row->takes_text());
  c.require(d.keepdims <= 1, RUDA_E_ARGUMENT, "keepdims is %u, expected 0 or 1", d.keepdims);
  c.require(d.axes >> x.rank() == 0, RUDA_E_ARGUMENT, "axes is 0x%x, x has rank %d", d.axes, x.rank());
  if (d.axes == 0) d.axes = (1u << x.rank()) - 1;
  int64_t shape[RUDA_MAX_RANK], reduced = 1, kept = 1;
  int rank = 0;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool is_reduced = d.axes >> axis & 1;
    (is_reduced ? reduced : kept) *= x.dim(axis);
    if (!is_reduced || d.keepdims) shape[rank++] = is_reduced ? 1 : x.dim(axis);
  }
  const bool has_start = row->result == row_B || d.op <= RUDA_REDUCE_PROD;
  c.require(reduced > 0 || kept == 0 || has_start, RUDA_E_SHAPE,
            "x has shape %s, %s of no elements is not defined", x.layout->shape_text().c_str(), row->name);
  const uint32_t asked = d.dtype ? d.dtype : d.y ? struct_in(d.y, Contract::arg_desc, "desc.y").dtype : 0;
  const uint32_t dtype = result_dtype(c, d.op, *row, x.dtype(), asked);
  c.require(dtype != RUDA_I32 || row->result != row_X || reduced <= INT32_MAX, RUDA_E_DTYPE,
            "dtype is I32, which cannot number %lld elements", (long long)reduced);
  c.out("y", d.y, dtype, shape, rank);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_reduce_plan_create(ruda_context context, const ruda_reduce_desc* desc,
                                               ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_reduce(ruda_stream stream, ruda_tensor x, uint32_t op, uint32_t axes,
                                   ruda_bool keepdims, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::reduce, stream);
    call.in(RUDA_REDUCE_X, x, 1, "x");
    call.key(op);
    call.key(axes);
    call.key(keepdims);
    call.plan([&] {
      ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
      desc.op = op;
      desc.axes = axes;
      desc.keepdims = keepdims;
      desc.x = call.desc(RUDA_REDUCE_X);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_REDUCE_Y);
  });
}
