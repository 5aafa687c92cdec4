// src/plan/tune.cpp - autotuning: times the kernels that accept on scratch memory, keeps the fastest.
// SPDX-License-Identifier: Apache-2.0
#include "plan/tune.hpp"

#include "core/convert.hpp"
#include "plan/program.hpp"

#include <algorithm>

namespace ruda {
namespace {

// A kernel counts as faster only beyond what repeated timings differ by.
constexpr double margin = 0.97;
constexpr int rounds = 5;
constexpr double round_seconds = 2e-4, most_seconds = 0.1;
constexpr int most_runs = 1000;

// Memory for every operand, as large as the problem says, with contents that no kernel stumbles over.
class ScratchOperands {
 public:
  ScratchOperands(const Problem& problem, Stream& stream) : stream_(stream) {
    slots_.resize(problem.operands.size());
    memory_.reserve(problem.operands.size());
    for (size_t s = 0; s < slots_.size(); ++s) {
      const Operand& operand = problem.operands[s];
      slots_[s].data = nullptr;
      if (!operand.present) continue;
      if (operand.role == Role::scalar_f64) slots_[s].f64 = 1;
      if (operand.role == Role::scalar_i64) slots_[s].i64 = 1;
      if (operand.is_tensor()) slots_[s].data = allocate(*operand.layout);
    }
  }
  const Bound* slots() const { return slots_.data(); }

 private:
  // Addresses count from the first element, which negative strides put inside the memory.
  std::byte* allocate(const Layout& layout) {
    const uint64_t bytes = uint64_t(layout.high_bytes - layout.low_bytes);
    memory_.push_back(std::make_unique<Scratch>(stream_, bytes));
    fill(memory_.back()->data(), bytes, layout.dtype);
    return memory_.back()->data() - layout.low_bytes;
  }

  // Floats between -1 and 1; zero bytes for integers, which may be indices, and for packed formats.
  void fill(std::byte* to, uint64_t bytes, uint32_t dtype) {
    constexpr uint64_t piece = uint64_t(1) << 20;
    const uint64_t size = std::min(piece, bytes);
    std::vector<std::byte> pattern(size);
    const DtypeInfo& info = dtype_info(dtype);
    if (info.type_class == DtypeClass::real && info.block_elements == 1) {
      const Conversion convert = find_conversion(RUDA_F32, dtype);
      uint32_t state = 1;
      for (uint64_t i = 0; (i + 1) * info.block_bytes <= size; ++i) {
        state = state * 1664525 + 1013904223;
        const float value = float(int32_t(state)) * 0x1p-31f;
        convert(pattern.data() + i * info.block_bytes, 0, reinterpret_cast<const std::byte*>(&value), 0, 1);
      }
    }
    for (uint64_t at = 0; at < bytes; at += size)
      stream_.write(to + at, pattern.data(), std::min(size, bytes - at));
  }

  Stream& stream_;
  std::vector<Bound> slots_;
  std::vector<std::unique_ptr<Scratch>> memory_;
};

void append(std::string& key, const void* bytes, size_t size) {
  key.append(static_cast<const char*>(bytes), size);
}
template <class T>
void append(std::string& key, T value) {
  append(key, &value, sizeof value);
}

}  // namespace

std::string Program::tune_key() const {
  const Problem& p = problem_;
  const Device& device = p.device();
  std::string key = tune_build() + '\n' + device.name() + '\n' + p.op->name + '\n' + p.forced_kernel + '\n';
  append(key, device.backend());
  append(key, device.index());
  append(key, device.host_threads());
  append(key, p.strategy);
  append(key, p.math);
  append(key, p.determinism);
  append(key, p.workspace_limit);
  std::vector<std::byte> options = p.options;
  for (const uint16_t at : option_pointers(*p.op))
    if (at + sizeof(void*) <= options.size()) std::memset(options.data() + at, 0, sizeof(void*));
  append(key, options.data(), options.size());
  for (const Operand& operand : p.operands) {
    append(key, operand.role);
    append(key, operand.present);
    append(key, operand.align_log2);
    if (!operand.is_tensor() || !operand.present) continue;
    append(key, operand.layout->dtype);
    append(key, operand.layout->rank);
    append(key, operand.layout->shape, sizeof(int64_t) * size_t(operand.layout->rank));
    append(key, operand.layout->strides, sizeof(int64_t) * size_t(operand.layout->rank));
  }
  return key;
}

void Program::run_candidate(const Candidate& use, const Bound* slots, std::byte* workspace,
                            Stream& stream) const {
  const StopSign stop;
  const FloatMode mode;
  try {
    use.kernel->run(Launch{problem_, use.prepared.blob_.data(), slots, workspace, stream, stop});
  } catch (const Error& error) {
    if (error.status == RUDA_E_DEVICE) stream.poison(error);
    throw;
  }
}

// Seconds of every candidate. Rounds take turns, so that a slow moment of the machine hits all alike.
std::vector<double> Program::measure(Stream& stream, const Bound* slots, std::byte* workspace) const {
  const DeviceScope scope(stream.device());
  DeviceStream& queue = stream.queue();
  const auto from = stream.device().open_event(), to = stream.device().open_event();
  const auto time = [&](const Candidate& candidate, int runs) {
    queue.record(*from);
    for (int i = 0; i < runs; ++i) run_candidate(candidate, slots, workspace, stream);
    queue.record(*to);
    to->sync();
    return to->since(*from) / runs;
  };
  std::vector<int> runs;
  std::vector<double> found;
  double best = 0;
  for (const Candidate& candidate : candidates_) {
    run_candidate(candidate, slots, workspace, stream);
    found.push_back(std::max(time(candidate, 1), 1e-9));
    runs.push_back(std::clamp(int(round_seconds / found.back()), 1, most_runs));
    if (best == 0 || found.back() < best) best = found.back();
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < candidates_.size(); ++i) {
      // One run told enough of a kernel that is far behind or takes long.
      if (found[i] > 4 * best || found[i] * rounds > most_seconds) continue;
      found[i] = std::min(found[i], std::max(time(candidates_[i], runs[i]), 1e-9));
    }
  return found;
}

void Program::tune(Stream& stream) const {
  if (!problem_.autotune) return;
  const Turn::Hold turn(tuning_);
  std::vector<double> seconds(candidates_.size());
  const auto settle = [&](std::string note, const Candidate* kept = nullptr) {
    const std::lock_guard lock(*tune_mutex);
    for (size_t i = 0; i < candidates_.size(); ++i) candidates_[i].seconds = seconds[i];
    if (kept) chosen_.store(kept, std::memory_order_release);
    tune_note_ = std::move(note);
    tuned_ = true;
  };
  {
    const std::lock_guard lock(*tune_mutex);
    if (tuned_) return;
  }
  if (candidates_.size() == 1) return settle("one kernel accepts, nothing to time");
  for (const Operand& operand : problem_.operands)
    if (operand.role == Role::handle && operand.present)
      return settle(std::string("not timed, ") + operand.name +
                    " is an object of the caller; the first that accepts");

  Log& log = problem_.context->log();
  const TuneKey key = tune_key_of(tune_key());
  const std::string& path = problem_.context->tune_file();
  TuneCache& cache = TuneCache::instance();
  TuneEntry known;
  if (cache.find(key, path, log, known)) {
    const Candidate* kept = nullptr;
    for (size_t i = 0; i < candidates_.size(); ++i)
      for (const TuneTime& time : known)
        if (time.kernel == candidates_[i].kernel->name) {
          seconds[i] = time.seconds;
          if (&time == &known.front()) kept = &candidates_[i];
        }
    if (kept) return settle("fastest when the problem was timed before", kept);
  }

  try {
    const ScratchOperands operands(problem_, stream);
    const Scratch workspace(stream, workspace_bytes_);
    seconds = measure(stream, operands.slots(), workspace.data());
  } catch (const Error& error) {
    if (error.status / 1000 != RUDA_E_ARGUMENT / 1000) throw;
    // Made-up contents that the operator refuses, such as an index into a table without rows.
    std::fill(seconds.begin(), seconds.end(), 0);
    return settle("not timed, made-up operands do not fit; the first that accepts");
  }
  size_t fastest = 0;
  for (size_t i = 1; i < seconds.size(); ++i)
    if (seconds[i] < seconds[fastest] * margin) fastest = i;
  TuneEntry entry{{candidates_[fastest].kernel->name, seconds[fastest]}};
  for (size_t i = 0; i < seconds.size(); ++i)
    if (i != fastest) entry.push_back({candidates_[i].kernel->name, seconds[i]});
  log.write(RUDA_LOG_INFO, "tune", "%s: %s, %.3f us, of %zu kernels", problem_.op->name,
            candidates_[fastest].kernel->name, seconds[fastest] * 1e6, candidates_.size());
  settle("fastest of those timed", &candidates_[fastest]);
  cache.keep(key, path, log, std::move(entry));
}

}  // namespace ruda
