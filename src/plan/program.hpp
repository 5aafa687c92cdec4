// src/plan/program.hpp - a built plan: problem, chosen kernel, its state; and the handle that users hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/float_mode.hpp"
#include "core/fork.hpp"
#include "plan/op.hpp"

#include <array>

namespace ruda {

// A kernel that takes the problem, with what it decided.
struct Candidate {
  const Kernel* kernel = nullptr;
  Prepare prepared;
  double seconds = 0;  // of a run, measured; 0 = not timed
};

// Immutable once built; shared by plan handles and the eager cache.
class Program : public std::enable_shared_from_this<Program> {
 public:
  // Walks the device's kernels; the first that accepts wins. Throws RUDA_E_UNSUPPORTED with the trail of
  // reasons.
  static std::shared_ptr<const Program> build(Problem&& problem);

  const Problem& problem() const { return problem_; }
  const Kernel& kernel() const { return *chosen().kernel; }
  // Of the largest candidate, so that a workspace made before ruda_plan_warm stays large enough.
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  // Bit s: slot s must be bound; is an output.
  uint32_t required_slots() const { return required_slots_; }
  uint32_t output_slots() const { return output_slots_; }
  bool capturable() const { return chosen().prepared.capturable_; }
  bool deterministic() const { return chosen().prepared.deterministic_; }
  std::string explain() const;

  // Times all candidates on scratch memory and keeps the fastest, once; nothing to do without the option.
  void tune(Stream& stream) const;

  // Runs with checked slots and a workspace that is large enough, in the usual floating-point mode.
  void run(const Bound* slots, std::byte* workspace, Stream& stream, const StopSign& stop) const {
    const FloatMode mode;
    if (problem_.context->asynchronous()) return run_queued(slots, workspace, stream, stop);
    const Candidate& use = chosen();
    use.kernel->run(Launch{problem_, use.prepared.blob_.data(), slots, workspace, stream, stop});
  }
  // For a kernel that takes several; of a plan that is not autotuned, whose kernel stays.
  Launch launch(const Bound* slots, std::byte* workspace, Stream& stream, const StopSign& stop) const {
    return {problem_, chosen().prepared.blob_.data(), slots, workspace, stream, stop};
  }

 private:
  const Candidate& chosen() const { return *chosen_.load(std::memory_order_acquire); }
  void run_candidate(const Candidate& use, const Bound* slots, std::byte* workspace, Stream& stream) const;
  std::vector<double> measure(Stream& stream, const Bound* slots, std::byte* workspace) const;
  std::string tune_key() const;

  // On the stream's device; a failed submission poisons the stream.
  void run_queued(const Bound* slots, std::byte* workspace, Stream& stream, const StopSign& stop) const;
  Problem problem_;
  mutable std::vector<Candidate> candidates_;  // best first; one unless autotuned
  mutable std::atomic<const Candidate*> chosen_{nullptr};
  uint64_t workspace_bytes_ = 0;
  uint32_t required_slots_ = 0, output_slots_ = 0;
  std::vector<std::string> declined_;  // "kernel: reason" each
  mutable Turn tuning_;
  mutable bool tuned_ = false;
  mutable std::string tune_note_;    // how the choice came about
  static Lasting<Mutex> tune_mutex;  // of the times in candidates_ and the two above, of all programs
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
  Workspace(Context& context, StorageRef memory) : context(context), storage(std::move(memory)) {
    storage->set_unfenceable();
  }
  Context& context;
  StorageRef storage;

 private:
  void dispose() noexcept override { dispose_with(this, storage); }
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

// One of several calls.
struct Call {
  const Program* program = nullptr;
  std::array<ruda_binding, 8> bindings;
  uint32_t count = 0;
};

// The same as execute() of each in turn, where no call reads or overwrites what another writes; a kernel that
// can takes them all at once. The workspace holds call_workspace_bytes() of each.
void execute_all(std::span<const Call> calls, Stream& stream, Workspace& workspace, const StopSign& stop);
inline uint64_t call_workspace_bytes(const Program& program) {
  return (program.workspace_bytes() + 255) & ~uint64_t(255);
}

// The C entry of every <op>_plan_create: `check` returns the Problem.
template <class Check>
ruda_status create_plan(const char* function, ruda_plan* out, Check&& check) noexcept {
  return guard(function, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    const FloatMode mode;  // tables and scales of a plan are results too
    Problem problem = check();
    Context& context = *problem.context;
    auto program = Program::build(std::move(problem));
    *out = make<Plan>(context.cell(), context, std::move(program)).template detach<ruda_plan>();
  });
}

}  // namespace ruda
