// src/plan/contract.cpp - checks of operands with messages that name operator, operand, actual and expected.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>

namespace ruda {

void Contract::begin(const OpDef& op, ruda_context context) {
  problem_.op = &op;
  problem_.context = &get_context(context, 0);
}

void Contract::read_options(const ruda_plan_options* given) {
  if (!given) return;
  const ruda_plan_options o = struct_in(given, arg_desc, "desc.options");
  const auto check = [](const char* field, uint32_t value, uint32_t last) {
    RUDA_CHECK(value <= last, RUDA_E_ARGUMENT, arg_desc, "desc.options.%s is %u, expected 0..%u", field,
               value, last);
  };
  check("strategy", o.strategy, RUDA_STRATEGY_PLANE);
  check("math", o.math, RUDA_MATH_TF32);
  check("determinism", o.determinism, RUDA_DETERMINISM_NOT_NEEDED);
  check("autotune", o.autotune, 1);
  problem_.strategy = o.strategy;
  problem_.math = o.math;
  problem_.determinism = o.determinism;
  problem_.workspace_limit = o.workspace_limit_bytes;
  problem_.autotune = o.autotune;
  if (o.kernel) problem_.forced_kernel = o.kernel;
}

Operand& Contract::add(const char* name, Role role) {
  Operand operand;
  operand.name = name;
  operand.role = role;
  problem_.operands.push_back(std::move(operand));
  return problem_.operands.back();
}

void Contract::set_layout(Operand& operand, const ruda_tensor_desc* desc) {
  uint32_t flags = 0;
  const std::string label = std::string(op_name()) + ": " + operand.name;
  const Layout layout = layout_in(desc, !operand.is_output(), arg_desc, label.c_str(), &flags);
  operand.layout = problem_.context->layouts().intern(layout);
  RUDA_CHECK(!operand.is_output() || layout.writable, RUDA_E_SHAPE, arg_desc,
             "%s: strides make elements share memory, expected a writable output", label.c_str());
  // CPU kernels load from any address; only device kernels choose their width by alignment.
  const uint32_t log2 = flags & RUDA_TENSOR_ALIGN_MASK;
  const bool any = log2 == RUDA_TENSOR_ALIGN_BYTE || !problem_.context->asynchronous();
  operand.align_log2 = any ? 0 : uint8_t(log2 ? std::min(log2, 6u) : 6);
}

Contract& Contract::in(const char* name, const ruda_tensor_desc* desc) {
  RUDA_CHECK(desc, RUDA_E_NULL, arg_desc, "%s: %s is NULL", op_name(), name);
  set_layout(add(name, Role::input), desc);
  return *this;
}

Contract& Contract::in_optional(const char* name, const ruda_tensor_desc* desc) {
  Operand& operand = add(name, Role::input);
  operand.present = desc != nullptr;
  if (desc) set_layout(operand, desc);
  return *this;
}

Contract& Contract::out(const char* name, const ruda_tensor_desc* desc, uint32_t dtype, const int64_t* shape,
                        int rank) {
  Operand& operand = add(name, Role::output);
  operand.align_log2 = problem_.context->asynchronous() ? 6 : 0;
  if (!desc) {
    operand.layout = problem_.context->layouts().contiguous(dtype, shape, rank);
    return *this;
  }
  set_layout(operand, desc);
  RUDA_CHECK(operand.dtype() == dtype, RUDA_E_DTYPE, arg_desc, "%s: %s has dtype %s, expected %s", op_name(),
             name, dtype_name(operand.dtype()), dtype_name(dtype));
  const Layout want = make_layout(dtype, shape, nullptr, rank, false, arg_desc, name);
  RUDA_CHECK(operand.layout->same_shape(want), RUDA_E_SHAPE, arg_desc, "%s: %s has shape %s, expected %s",
             op_name(), name, operand.layout->shape_text().c_str(), want.shape_text().c_str());
  return *this;
}

Contract& Contract::out_like(const char* name, const ruda_tensor_desc* desc, uint32_t slot) {
  const LayoutRef like = operand(slot).layout;
  return out(name, desc, like->dtype, like->shape, like->rank);
}

Contract& Contract::out_optional(const char* name, const ruda_tensor_desc* desc, bool wanted, uint32_t dtype,
                                 const int64_t* shape, int rank) {
  if (wanted) return out(name, desc, dtype, shape, rank);
  RUDA_CHECK(!desc, RUDA_E_ARGUMENT, arg_desc, "%s: %s is described but not asked for by the output mask",
             op_name(), name);
  add(name, Role::output).present = false;
  return *this;
}

Contract& Contract::inout(const char* name, const ruda_tensor_desc* desc) {
  RUDA_CHECK(desc, RUDA_E_NULL, arg_desc, "%s: %s is NULL", op_name(), name);
  set_layout(add(name, Role::inout), desc);
  return *this;
}

Contract& Contract::inout_optional(const char* name, const ruda_tensor_desc* desc) {
  Operand& operand = add(name, Role::inout);
  operand.present = desc != nullptr;
  if (desc) set_layout(operand, desc);
  return *this;
}

Contract& Contract::handle(const char* name, Kind kind) {
  add(name, Role::handle).kind = kind;
  return *this;
}

Contract& Contract::scalar_f64(const char* name) {
  add(name, Role::scalar_f64);
  return *this;
}

Contract& Contract::scalar_i64(const char* name) {
  add(name, Role::scalar_i64);
  return *this;
}

Contract& Contract::alias(uint32_t slot, uint32_t other) {
  problem_.operands[slot].may_alias |= 1u << other;
  return *this;
}

Contract& Contract::dtypes(uint32_t slot, std::initializer_list<uint32_t> allowed) {
  const Operand& o = operand(slot);
  if (!o.present || std::find(allowed.begin(), allowed.end(), o.dtype()) != allowed.end()) return *this;
  std::string list;
  for (uint32_t code : allowed) list += (list.empty() ? "" : ", ") + std::string(dtype_name(code));
  fail(RUDA_E_DTYPE, arg_desc, "%s: %s has dtype %s, expected %s%s", op_name(), o.name, dtype_name(o.dtype()),
       allowed.size() > 1 ? "one of " : "", list.c_str());
}

Contract& Contract::same_dtype(uint32_t slot, uint32_t other) {
  const Operand &a = operand(slot), &b = operand(other);
  if (a.present && b.present)
    RUDA_CHECK(a.dtype() == b.dtype(), RUDA_E_DTYPE, arg_desc, "%s: %s has dtype %s, expected %s as %s has",
               op_name(), a.name, dtype_name(a.dtype()), dtype_name(b.dtype()), b.name);
  return *this;
}

Contract& Contract::rank(uint32_t slot, int low, int high) {
  const Operand& o = operand(slot);
  if (!o.present || (o.rank() >= low && o.rank() <= high)) return *this;
  if (low == high)
    fail(RUDA_E_SHAPE, arg_desc, "%s: %s has rank %d, expected %d", op_name(), o.name, o.rank(), low);
  fail(RUDA_E_SHAPE, arg_desc, "%s: %s has rank %d, expected %d..%d", op_name(), o.name, o.rank(), low, high);
}

Contract& Contract::dim(uint32_t slot, int axis, int64_t want) {
  const Operand& o = operand(slot);
  if (o.present)
    RUDA_CHECK(o.dim(axis) == want, RUDA_E_SHAPE, arg_desc, "%s: %s dim %d is %lld, expected %lld", op_name(),
               o.name, axis < 0 ? o.rank() + axis : axis, (long long)o.dim(axis), (long long)want);
  return *this;
}

Contract& Contract::same_shape(uint32_t slot, uint32_t other) {
  const Operand &a = operand(slot), &b = operand(other);
  if (a.present && b.present)
    RUDA_CHECK(a.layout->same_shape(*b.layout), RUDA_E_SHAPE, arg_desc,
               "%s: %s has shape %s, expected %s as %s has", op_name(), a.name,
               a.layout->shape_text().c_str(), b.layout->shape_text().c_str(), b.name);
  return *this;
}

Contract& Contract::contiguous(uint32_t slot) {
  const Operand& o = operand(slot);
  if (o.present)
    RUDA_CHECK(o.layout->contiguous, RUDA_E_SHAPE, arg_desc,
               "%s: %s is strided, expected a contiguous tensor", op_name(), o.name);
  return *this;
}

Contract& Contract::dense_rows(uint32_t slot) {
  const Operand& o = operand(slot);
  if (o.present && o.rank() && o.dim(-1) > 1)
    RUDA_CHECK(o.stride(-1) == 1, RUDA_E_SHAPE, arg_desc, "%s: %s has last stride %lld, expected 1",
               op_name(), o.name, (long long)o.stride(-1));
  return *this;
}

Contract& Contract::require(bool condition, ruda_status status, const char* format, ...) {
  if (condition) return *this;
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fail(status, arg_desc, "%s: %s", op_name(), text);
}

Problem Contract::take() { return std::move(problem_); }

}  // namespace ruda
