// src/plan/program.hpp - a built plan: problem, chosen kernel, its state; and the handle that users hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda {

// Immutable once built; shared by plan handles and the eager cache.
class Program : public std::enable_shared_from_this<Program> {
 public:
  // Walks the device's kernels; the first that accepts wins. Throws RUDA_E_UNSUPPORTED with the trail of
  // reasons.
  static std::shared_ptr<const Program> build(Problem&& problem);

  const Problem& problem() const { return problem_; }
  const Kernel& kernel() const { return *kernel_; }
  uint64_t workspace_bytes() const { return prepared_.bytes_; }
  bool capturable() const { return prepared_.capturable_; }
  bool deterministic() const { return prepared_.deterministic_; }
  std::string explain() const;

  // Runs with checked slots and a workspace that is large enough.
  void run(const Bound* slots, std::byte* workspace, Stream& stream, const StopSign& stop) const {
    if (problem_.context->asynchronous()) return run_queued(slots, workspace, stream, stop);
    kernel_->run(Launch{problem_, prepared_.blob_.data(), slots, workspace, stream, stop});
  }

 private:
  // On the stream's device; a failed submission poisons the stream.
  void run_queued(const Bound* slots, std::byte* workspace, Stream& stream, const StopSign& stop) const;
  Problem problem_;
  const Kernel* kernel_ = nullptr;
  Prepare prepared_;
  std::string trail_;
};

class Plan final : public Object {
 public:
  static constexpr Kind kind = Kind::plan;
  Plan(Context& context, std::shared_ptr<const Program> built)
      : context(context), program(std::move(built)) {}
  Context& context;  // kept alive by the cell's parent
  std::shared_ptr<const Program> program;
};

class Workspace final : public Object {
 public:
  static constexpr Kind kind = Kind::workspace;
  Workspace(Context& context, StorageRef storage) : context(context), storage(std::move(storage)) {}
  Context& context;
  StorageRef storage;
};

// Draws scratch memory for one run.
class Scratch {
 public:
  Scratch(Stream& stream, uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data() const { return data_; }

 private:
  Stream& stream_;
  uint64_t bytes_;
  std::byte* data_ = nullptr;
};

// Checks `bindings` against the program slot by slot, then runs it.
void execute(const Program& program, Stream& stream, Workspace* workspace, const ruda_binding* bindings,
             uint32_t count, const StopSign& stop);

// The C entry of every <op>_plan_create: `check` returns the Problem.
template <class Check>
ruda_status create_plan(const char* function, ruda_plan* out, Check&& check) noexcept {
  return guard(function, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Problem problem = check();
    Context& context = *problem.context;
    auto program = Program::build(std::move(problem));
    *out = make<Plan>(context.cell(), context, std::move(program)).template detach<ruda_plan>();
  });
}

}  // namespace ruda
