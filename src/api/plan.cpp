// src/api/plan.cpp - C entries of plans, workspaces, cancel tokens and the list of operators.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "core/text.hpp"
#include "plan/program.hpp"

using namespace ruda;

extern "C" {

ruda_status ruda_plan_query(ruda_plan plan, ruda_plan_info* inout) noexcept {
  return guard(__func__, [&] {
    const Program& program = *get<Plan>(plan, 0, "plan").program;
    ruda_plan_info info{};
    info.slot_count = uint32_t(program.problem().operands.size());
    info.workspace_bytes = program.workspace_bytes();
    info.workspace_align = 256;
    info.capturable = program.capturable();
    info.deterministic = program.deterministic();
    info.op = program.problem().op->name;
    info.kernel = program.kernel().name;
    struct_out(inout, info, 1, "inout");
  });
}

ruda_status ruda_plan_get_slot(ruda_plan plan, uint32_t slot, const char** out_name,
                               ruda_bool* out_is_output) noexcept {
  return guard(__func__, [&] {
    if (out_name) *out_name = nullptr;
    if (out_is_output) *out_is_output = 0;
    const Problem& problem = get<Plan>(plan, 0, "plan").program->problem();
    RUDA_CHECK(slot < problem.operands.size(), RUDA_E_INDEX, 1, "slot is %u, %s has %zu", slot,
               problem.op->name, problem.operands.size());
    if (out_name) *out_name = problem.operands[slot].name;
    if (out_is_output) *out_is_output = problem.operands[slot].is_output();
  });
}

ruda_status ruda_plan_warm(ruda_plan plan, ruda_stream stream) noexcept {
  return guard(__func__, [&] {
    const Plan& p = get<Plan>(plan, 0, "plan");
    Stream& s = get_stream(stream, 1);
    RUDA_CHECK(&s.context() == &p.context, RUDA_E_ARGUMENT, 1,
               "stream: belongs to another context than the plan");
    s.check_healthy();
    s.check_not_capturing("ruda_plan_warm");
    p.program->tune(s);
  });
}

ruda_status ruda_plan_explain(ruda_plan plan, char* text, uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    text_out(get<Plan>(plan, 0, "plan").program->explain(), text, capacity, out_needed, 1);
  });
}

ruda_status ruda_plan_execute(ruda_plan plan, ruda_stream stream, ruda_workspace workspace,
                              const ruda_binding* bindings, uint32_t count,
                              const ruda_exec_opts* opts) noexcept {
  return guard(__func__, [&] {
    const Plan& p = get<Plan>(plan, 0, "plan");
    Stream& s = get_stream(stream, 1);
    Workspace* w = workspace ? &get<Workspace>(workspace, 2, "workspace") : nullptr;
    StopSign stop;
    if (opts) {
      const ruda_exec_opts o = struct_in(opts, 5, "opts");
      RUDA_CHECK(o.flags == 0, RUDA_E_ARGUMENT, 5, "opts.flags is %u, expected 0", o.flags);
      if (o.cancel) stop.cancel = &get<Cancel>(o.cancel, 5, "opts.cancel");
      if (o.timeout_ns)
        stop.deadline = std::chrono::steady_clock::now() +
                        std::chrono::nanoseconds(std::min<uint64_t>(o.timeout_ns, uint64_t(1) << 60));
    }
    execute(*p.program, s, w, bindings, count, stop);
  });
}

ruda_status ruda_workspace_create(ruda_context context, uint64_t bytes, ruda_workspace* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    *out = make_with<Workspace>(c, StorageRef(new Storage(c, bytes, nullptr))).detach<ruda_workspace>();
  });
}

ruda_status ruda_workspace_wrap(ruda_context context, void* data, uint64_t bytes,
                                ruda_workspace* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    RUDA_CHECK(data || !bytes, RUDA_E_NULL, 1, "data is NULL with %llu bytes", (unsigned long long)bytes);
    RUDA_CHECK(reinterpret_cast<uintptr_t>(data) % 256 == 0, RUDA_E_ARGUMENT, 1,
               "data is at %p, expected a multiple of 256 bytes", data);
    *out = make_with<Workspace>(c, StorageRef(new Storage(c, data, bytes, {}))).detach<ruda_workspace>();
  });
}

ruda_status ruda_cancel_create(ruda_cancel* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 0, "out is NULL");
    *out = nullptr;
    *out = make<Cancel>(nullptr).detach<ruda_cancel>();
  });
}

ruda_status ruda_cancel_request(ruda_cancel cancel) noexcept {
  return guard(__func__,
               [&] { get<Cancel>(cancel, 0, "cancel").raised.store(true, std::memory_order_relaxed); });
}

ruda_status ruda_cancel_reset(ruda_cancel cancel) noexcept {
  return guard(__func__,
               [&] { get<Cancel>(cancel, 0, "cancel").raised.store(false, std::memory_order_relaxed); });
}

uint32_t ruda_op_count(void) noexcept { return uint32_t(all_ops().size()); }

const char* ruda_op_name(uint32_t index) noexcept {
  const auto ops = all_ops();
  return index < ops.size() ? ops[index]->name : nullptr;
}

ruda_status ruda_op_kernels(const char* op, uint32_t backend, char* text, uint64_t capacity,
                            uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    RUDA_CHECK(op, RUDA_E_NULL, 0, "op is NULL");
    RUDA_CHECK(backend == RUDA_BACKEND_CPU || backend == RUDA_BACKEND_CUDA, RUDA_E_ARGUMENT, 1,
               "backend is %u, expected 1 (CPU) or 2 (CUDA)", backend);
    for (const OpDef* def : all_ops()) {
      if (std::strcmp(def->name, op) != 0) continue;
      std::string list;
      const Kernels* kernels = backend == RUDA_BACKEND_CPU ? def->cpu : def->cuda;
      if (kernels)
        for (const Kernel& kernel : *kernels) list += std::string(kernel.name) + "\n";
      text_out(list, text, capacity, out_needed, 2);
      return;
    }
    fail(RUDA_E_NOT_FOUND, 0, "op is %s, which this library does not have", in_quotes(op).c_str());
  });
}

}  // extern "C"
