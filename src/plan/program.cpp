// src/plan/program.cpp - choosing a kernel and running it.
// SPDX-License-Identifier: Apache-2.0
#include "plan/program.hpp"

#include "core/text.hpp"

#include <algorithm>

namespace ruda {

void StopSign::check_armed() const {
  RUDA_CHECK(!cancel || !cancel->raised.load(std::memory_order_relaxed), RUDA_E_CANCELLED, -1,
             "the call was cancelled by its token");
  RUDA_CHECK(!deadline.time_since_epoch().count() || std::chrono::steady_clock::now() < deadline,
             RUDA_E_TIMEOUT, -1, "the call ran past its timeout");
}

bool StopSign::raised() const noexcept {
  if (!armed()) return false;
  return (cancel && cancel->raised.load(std::memory_order_relaxed)) ||
         (deadline.time_since_epoch().count() && std::chrono::steady_clock::now() >= deadline);
}

namespace {

// The options that differ from their defaults, "name: value" each; autotuning has a heading of its own.
std::vector<std::string> options_given(const Problem& p) {
  static constexpr const char* strategies[] = {"auto",          "fallback", "flash",       "unit",   "direct",
                                               "implicit_gemm", "scalar",   "tensor_core", "serial", "plane"};
  static constexpr const char* maths[] = {"default", "strict", "tf32"};
  static constexpr const char* determinisms[] = {"default", "required", "not_needed"};
  std::vector<std::string> lines;
  if (!p.forced_kernel.empty()) lines.push_back("kernel: " + p.forced_kernel + ", no other was asked");
  if (p.strategy) lines.push_back(std::string("strategy: ") + strategies[p.strategy]);
  if (p.math) lines.push_back(std::string("math: ") + maths[p.math]);
  if (p.determinism) lines.push_back(std::string("determinism: ") + determinisms[p.determinism]);
  if (p.workspace_limit) lines.push_back("workspace_limit_bytes: " + std::to_string(p.workspace_limit));
  return lines;
}

}  // namespace

Lasting<Mutex> Program::tune_mutex;

std::shared_ptr<const Program> Program::build(Problem&& problem) {
  auto program = std::make_shared<Program>();
  program->problem_ = std::move(problem);
  const Problem& p = program->problem_;
  const bool on_cpu = p.context->backend() == RUDA_BACKEND_CPU;
  const Kernels* kernels = on_cpu ? p.op->cpu : p.op->cuda;
  RUDA_CHECK(kernels, RUDA_E_UNSUPPORTED, -1, "%s: has no kernel for this backend%s%s", p.op->name,
             p.op->cpu_only_because ? ": " : "", p.op->cpu_only_because ? p.op->cpu_only_because : "");
  p.device().check_usable();
  for (uint32_t s = 0; s < p.operands.size(); ++s) {
    if (p.operands[s].present && !p.operands[s].optional) program->required_slots_ |= 1u << s;
    if (p.operands[s].is_output()) program->output_slots_ |= 1u << s;
  }
  bool named = p.forced_kernel.empty();
  for (const Kernel& kernel : *kernels) {
    if (!p.forced_kernel.empty() && p.forced_kernel != kernel.name) continue;
    named = true;
    Prepare attempt;
    Verdict verdict = kernel.prepare(p, attempt);
    if (!verdict && p.determinism == RUDA_DETERMINISM_REQUIRED && !attempt.deterministic_)
      verdict = "not deterministic";
    if (!verdict && p.workspace_limit && attempt.bytes_ > p.workspace_limit)
      verdict = "workspace above the limit";
    // A faster kernel must not cost the promise that the first one keeps.
    if (!verdict && !program->candidates_.empty() && p.determinism != RUDA_DETERMINISM_NOT_NEEDED &&
        !attempt.deterministic_ && program->candidates_[0].prepared.deterministic_)
      verdict = "not deterministic";
    if (!verdict) {
      program->workspace_bytes_ = std::max(program->workspace_bytes_, attempt.bytes_);
      program->candidates_.push_back({&kernel, std::move(attempt)});
      if (!p.autotune) break;
      continue;
    }
    program->declined_.push_back(std::string(kernel.name) + ": " + verdict);
  }
  if (!program->candidates_.empty()) {
    program->chosen_.store(&program->candidates_[0], std::memory_order_release);
    p.context->log().write(RUDA_LOG_DEBUG, "plan", "%s: %s", p.op->name, program->kernel().name);
    return program;
  }
  constexpr int arg_desc = 1;  // of plan creation, as for the other options
  std::string names;
  for (const Kernel& kernel : *kernels) names += (names.empty() ? "" : ", ") + std::string(kernel.name);
  RUDA_CHECK(named, RUDA_E_ARGUMENT, arg_desc,
             "%s: options.kernel is %s, which this backend does not have; it has %s", p.op->name,
             in_quotes(p.forced_kernel).c_str(), names.c_str());
  std::string reasons;
  for (const std::string& reason : program->declined_) reasons += (reasons.empty() ? "" : "; ") + reason;
  fail(RUDA_E_UNSUPPORTED, -1, "%s: no kernel takes the problem: %s", p.op->name, reasons.c_str());
}

void Program::run_queued(const Bound* slots, std::byte* workspace, Stream& stream,
                         const StopSign& stop) const {
  const Candidate& use = chosen();
  RUDA_CHECK(!stream.capturing() || use.prepared.capturable_, RUDA_E_CAPTURE_UNSAFE, -1,
             "%s: %s waits or loads, which a stream under capture does not allow; run it before the capture "
             "or name another kernel in the plan's options",
             problem_.op->name, use.kernel->name);
  const DeviceScope scope(stream.device());
  try {
    use.kernel->run(Launch{problem_, use.prepared.blob_.data(), slots, workspace, stream, stop});
  } catch (const Error& error) {
    if (error.status == RUDA_E_DEVICE) stream.poison(error);
    throw;
  }
}

std::string Program::explain() const {
  const std::lock_guard lock(*tune_mutex);
  const Candidate& use = chosen();
  std::string text = std::string(problem_.op->name) + ": " + use.kernel->name;
  if (!use.prepared.note_.empty()) text += " (" + use.prepared.note_ + ")";
  // Headings start their line; what belongs to one stands below it, indented.
  const auto item = [&](const std::string& line) { text += "\n  " + line; };
  if (problem_.autotune) {
    text += "\nautotune: " + (tuned_ ? tune_note_ : "not timed yet, the first that accepts");
    for (const Candidate& candidate : candidates_)
      item(candidate.kernel->name +
           (candidate.seconds > 0 ? format(": %.3f us", candidate.seconds * 1e6) : ": not timed") +
           (&candidate == &use ? " (chosen)" : ""));
  }
  if (!declined_.empty()) text += problem_.autotune ? "\ndeclined:" : "\ndeclined before it:";
  for (const std::string& reason : declined_) item(reason);
  const std::vector<std::string> options = options_given(problem_);
  if (!options.empty()) text += "\noptions:";
  for (const std::string& option : options) item(option);
  text += "\noperands:";
  for (const Operand& operand : problem_.operands) {
    if (!operand.present) continue;
    std::string what;
    if (operand.is_tensor())
      what = dtype_name(operand.dtype()) + (" " + operand.layout->shape_text()) +
             (operand.layout->contiguous ? "" : " strided");
    else if (operand.role == Role::handle)
      what = kind_name(operand.kind);
    else
      what = operand.role == Role::scalar_f64 ? "double" : "int64";
    item(std::string(operand.name) + ": " + what);
  }
  return text + "\nworkspace: " + std::to_string(workspace_bytes_) + " bytes";
}

Scratch::Scratch(Stream& stream, uint64_t bytes) : stream_(stream), bytes_(bytes) {
  if (bytes_) data_ = static_cast<std::byte*>(stream_.device().allocate(bytes_, &stream_.queue()));
}

Scratch::~Scratch() {
  if (data_) stream_.device().release(data_, bytes_, &stream_.queue());
}

}  // namespace ruda
