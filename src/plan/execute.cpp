// src/plan/execute.cpp - the checks between a caller's bindings and a kernel.
// SPDX-License-Identifier: Apache-2.0
#include "plan/program.hpp"
#include "tensor/overlap.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

namespace ruda {
namespace {

constexpr int arg_workspace = 2, arg_bindings = 3;
constexpr uint32_t max_slots = 32;

[[noreturn]] void fail_layout(uint32_t index, const Operand& operand, const Layout& found) {
  const Layout& want = *operand.layout;
  if (found.dtype != want.dtype)
    fail(RUDA_E_DTYPE, arg_bindings, "bindings[%u] (%s): dtype %s, expected %s", index, operand.name,
         dtype_name(found.dtype), dtype_name(want.dtype));
  if (!found.same_shape(want))
    fail(RUDA_E_SHAPE, arg_bindings, "bindings[%u] (%s): shape %s, expected %s", index, operand.name,
         found.shape_text().c_str(), want.shape_text().c_str());
  for (int axis = 0; axis < want.rank; ++axis)
    if (found.strides[axis] != want.strides[axis])
      fail(RUDA_E_SHAPE, arg_bindings, "bindings[%u] (%s): stride of axis %d is %lld, expected %lld", index,
           operand.name, axis, (long long)found.strides[axis], (long long)want.strides[axis]);
  fail(RUDA_E_INTERNAL, arg_bindings, "bindings[%u] (%s): layout of another context", index, operand.name);
}

Tensor& check_tensor(const Program& program, const Stream& stream, const ruda_binding& binding,
                     uint32_t index, const Operand& operand) {
  Tensor& tensor = get<Tensor>(binding.v.handle, arg_bindings, operand.name);
  RUDA_CHECK(&tensor.context() == program.problem().context, RUDA_E_ARGUMENT, arg_bindings,
             "bindings[%u] (%s): belongs to another context than the plan", index, operand.name);
  if (&tensor.layout() != operand.layout.get()) [[unlikely]]
    fail_layout(index, operand, tensor.layout());
  RUDA_CHECK(tensor.align_log2() >= operand.align_log2, RUDA_E_ARGUMENT, arg_bindings,
             "bindings[%u] (%s): address is aligned to %u bytes, the plan was made for %u", index,
             operand.name, 1u << tensor.align_log2(), 1u << operand.align_log2);
  RUDA_CHECK(!operand.is_output() || !tensor.read_only(), RUDA_E_ARGUMENT, arg_bindings,
             "bindings[%u] (%s): is read-only, expected a writable output", index, operand.name);
  if (tensor.context().asynchronous())
    tensor.storage().check_stream(stream, operand.is_output(), arg_bindings, operand.name);
  return tensor;
}

// "RUDA_BIND_F64 (2)", or the number alone of a kind that is none.
std::string kind_text(uint32_t kind) {
  static constexpr const char* names[] = {"TENSOR", "HANDLE", "F64", "I64"};
  return kind < std::size(names) ? format("RUDA_BIND_%s (%u)", names[kind], kind) : format("%u", kind);
}

// An integer for a slot of a double, where a double holds it; nothing else is converted.
double exact_double(const ruda_binding& binding, uint32_t index, const Operand& operand) {
  RUDA_CHECK(operand.role == Role::scalar_f64 && binding.kind == RUDA_BIND_I64, RUDA_E_ARGUMENT, arg_bindings,
             "bindings[%u] (%s): kind is %s, expected %s", index, operand.name,
             kind_text(binding.kind).c_str(), kind_text(operand.bind_kind()).c_str());
  const int64_t given = binding.v.i64;
  const double value = double(given);
  // 2^63 itself is what the largest integers round to, and no integer.
  RUDA_CHECK(value < 0x1p63 && int64_t(value) == given, RUDA_E_ARGUMENT, arg_bindings,
             "bindings[%u] (%s): is the integer %lld, which no double holds: expected a double", index,
             operand.name, (long long)given);
  return value;
}

// Memory of an output meets that of another operand: legal for the very tensor where the operator allows it,
// and where no byte is shared.
void check_overlap(const Problem& problem, int out, const Tensor& output, int s, const Tensor& other) {
  const bool same = output.data() == other.data() && &output.layout() == &other.layout();
  RUDA_CHECK((same && (problem.operands[size_t(out)].may_alias >> s & 1)) || !share_bytes(output, other),
             RUDA_E_OVERLAP, arg_bindings, "%s: memory of %s overlaps %s", problem.op->name,
             problem.operands[size_t(out)].name, problem.operands[size_t(s)].name);
}

// Checks the bindings of one call and fills the first entries of both arrays, one a slot of the operator.
// Only the slots in use are set: clearing all would cost more than the checks.
inline void check_bindings(const Program& program, Stream& stream, const ruda_binding* bindings,
                           uint32_t count, Bound* slots, Tensor** tensors) {
  const Problem& problem = program.problem();
  RUDA_CHECK(&stream.context() == problem.context, RUDA_E_ARGUMENT, 1,
             "stream: belongs to another context than the plan");
  RUDA_CHECK(bindings || count == 0, RUDA_E_NULL, arg_bindings, "bindings is NULL with count %u", count);
  stream.check_healthy();
  const uint32_t slot_count = uint32_t(problem.operands.size());
  const Operand* const operands = problem.operands.data();
  Span spans[max_slots];
  for (uint32_t s = 0; s < slot_count; ++s) {
    slots[s].data = nullptr;
    tensors[s] = nullptr;
  }
  uint32_t bound = 0, bound_tensors = 0;

  for (uint32_t i = 0; i < count; ++i) {
    const ruda_binding& binding = bindings[i];
    const uint32_t slot = binding.slot;
    RUDA_CHECK(slot < slot_count, RUDA_E_ARGUMENT, arg_bindings, "bindings[%u]: slot is %u, %s has %u", i,
               slot, problem.op->name, slot_count);
    const Operand& operand = operands[slot];
    RUDA_CHECK(operand.present, RUDA_E_ARGUMENT, arg_bindings,
               "bindings[%u] (%s): the plan was made without this slot", i, operand.name);
    RUDA_CHECK(!(bound >> slot & 1), RUDA_E_ARGUMENT, arg_bindings, "bindings[%u] (%s): slot is bound twice",
               i, operand.name);
    bound |= 1u << slot;
    if (binding.kind != operand.bind_kind()) [[unlikely]] {
      slots[slot].f64 = exact_double(binding, i, operand);
      continue;
    }
    if (operand.is_tensor()) {
      Tensor& tensor = check_tensor(program, stream, binding, i, operand);
      tensors[slot] = &tensor;
      slots[slot].data = tensor.data();
      spans[slot] = span_of(tensor);
      bound_tensors |= 1u << slot;
    } else if (operand.role == Role::handle) {
      auto* cell = static_cast<Cell*>(binding.v.handle);
      if (!cell || (reinterpret_cast<uintptr_t>(cell) & 63) ||
          cell->kind.load(std::memory_order_acquire) != uint32_t(operand.kind))
        fail_handle(cell, operand.kind, arg_bindings, operand.name);
      RUDA_CHECK(cell->root == problem.context->cell(), RUDA_E_ARGUMENT, arg_bindings,
                 "bindings[%u] (%s): belongs to another context than the plan", i, operand.name);
      slots[slot].object = cell->object;
    } else if (operand.role == Role::scalar_f64) {
      slots[slot].f64 = binding.v.f64;
    } else {
      slots[slot].i64 = binding.v.i64;
    }
  }
  if (const uint32_t missing = program.required_slots() & ~bound) [[unlikely]] {
    const int s = std::countr_zero(missing);
    fail(RUDA_E_ARGUMENT, arg_bindings, "slot %d (%s) of %s is not bound", s, operands[s].name,
         problem.op->name);
  }
  for (uint32_t outs = program.output_slots() & bound_tensors; outs; outs &= outs - 1) {
    const int out = std::countr_zero(outs);
    for (uint32_t others = bound_tensors & ~(1u << out); others; others &= others - 1) {
      const int s = std::countr_zero(others);
      if (spans[out].overlaps(spans[s])) [[unlikely]]
        check_overlap(problem, out, *tensors[out], s, *tensors[s]);
    }
  }
}

inline void check_workspace(const Workspace& workspace, uint64_t needed, const Context& context) {
  RUDA_CHECK(&workspace.context == &context, RUDA_E_ARGUMENT, arg_workspace,
             "workspace: belongs to another context than the plan");
  RUDA_CHECK(workspace.storage->bytes() >= needed, RUDA_E_WORKSPACE, arg_workspace,
             "workspace: is %llu bytes, the plan needs %llu", (unsigned long long)workspace.storage->bytes(),
             (unsigned long long)needed);
}

// The bytes of a workspace that the plan uses meet no operand's: a kernel would read or write both at once.
void check_scratch(const Problem& problem, const Workspace& workspace, uint64_t needed,
                   Tensor* const* tensors) {
  const std::byte* const data = workspace.storage->data();
  const Span scratch{data, data + needed};
  for (uint32_t s = 0; s < problem.operands.size(); ++s) {
    if (!tensors[s] || !span_of(*tensors[s]).overlaps(scratch)) [[likely]]
      continue;
    RUDA_CHECK(!shares_bytes(*tensors[s], scratch), RUDA_E_OVERLAP, arg_workspace,
               "%s: memory of the workspace overlaps %s", problem.op->name, problem.operands[s].name);
  }
}

}  // namespace

void execute(const Program& program, Stream& stream, Workspace* workspace, const ruda_binding* bindings,
             uint32_t count, const StopSign& stop) {
  const Problem& problem = program.problem();
  const uint32_t slot_count = uint32_t(problem.operands.size());
  Bound slots[max_slots];
  Tensor* tensors[max_slots];
  check_bindings(program, stream, bindings, count, slots, tensors);

  const uint64_t needed = program.workspace_bytes();
  if (workspace) {
    check_workspace(*workspace, needed, *problem.context);
    if (needed) check_scratch(problem, *workspace, needed, tensors);
    if (problem.context->asynchronous()) {
      workspace->storage->order(stream);
      workspace->storage->check_stream(stream, true, arg_workspace, "workspace");
    }
  }
  stop.check();

  if (workspace || needed == 0) {
    program.run(slots, workspace ? workspace->storage->data() : nullptr, stream, stop);
  } else {
    Scratch scratch(stream, needed);
    program.run(slots, scratch.data(), stream, stop);
  }
  if (problem.context->asynchronous()) {
    for (uint32_t s = 0; s < slot_count; ++s)
      if (tensors[s]) tensors[s]->storage().note_use(stream, problem.operands[s].is_output());
    if (workspace) workspace->storage->note_use(stream, true);
    if (stream.capturing()) [[unlikely]] {
      stream.keep(program.shared_from_this());
      for (uint32_t s = 0; s < slot_count; ++s)
        if (tensors[s]) stream.keep(tensors[s]->storage(), problem.operands[s].is_output());
      for (uint32_t s = 0; s < slot_count; ++s)
        if (problem.operands[s].role == Role::handle && slots[s].object) stream.keep_object(*slots[s].object);
      if (workspace) stream.keep(*workspace->storage.get(), true);
    }
  }
}

void execute_all(std::span<const Call> calls, Stream& stream, Workspace& workspace, const StopSign& stop) {
  constexpr size_t most = 8;
  const Kernel* const kernel = calls.empty() ? nullptr : &calls[0].program->kernel();
  const bool together = calls.size() > 1 && kernel->run_all && calls.size() <= most &&
                        !stream.context().asynchronous() &&
                        std::all_of(calls.begin(), calls.end(), [&](const Call& c) {
                          return &c.program->kernel() == kernel && !c.program->problem().autotune;
                        });
  if (!together) {
    for (const Call& c : calls) execute(*c.program, stream, &workspace, c.bindings.data(), c.count, stop);
    return;
  }
  Bound slots[most][max_slots];
  Tensor* tensors[max_slots];
  uint64_t offsets[most + 1] = {};
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& c = calls[i];
    check_bindings(*c.program, stream, c.bindings.data(), c.count, slots[i], tensors);
    offsets[i + 1] = offsets[i] + call_workspace_bytes(*c.program);
  }
  check_workspace(workspace, offsets[calls.size()], stream.context());
  stop.check();
  std::byte* const data = workspace.storage->data();
  const auto launch = [&](size_t i) {
    return calls[i].program->launch(slots[i], data + offsets[i], stream, stop);
  };
  // A Launch holds references: it is made where it stays.
  [&]<size_t... I>(std::index_sequence<I...>) {
    const Launch launches[] = {launch(std::min(I, calls.size() - 1))...};
    const FloatMode mode;
    kernel->run_all(launches, int(calls.size()));
  }
  (std::make_index_sequence<most>());
}

}  // namespace ruda
