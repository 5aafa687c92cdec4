// src/cpu/sample/sample.cpp - sample: one thread a row.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/sample_row.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/sample.h>

#include <algorithm>
#include <cmath>

namespace ruda::cpu {
namespace {

struct State {
  int64_t vocab, threads;
  WorkspaceSlot logits, seen, candidates, weights;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.vocab = p[RUDA_SAMPLE_LOGITS].dim(1);
  s.threads = std::min<int64_t>(p[RUDA_SAMPLE_LOGITS].dim(0), thread_count(p));
  s.logits = prep.book<float>(s.vocab * s.threads);
  s.seen = prep.book<uint32_t>((s.vocab + 31) / 32 * s.threads);
  const int64_t draws = p[RUDA_SAMPLE_PARAMS].present ? s.vocab * s.threads : 0;
  s.candidates = prep.book<SampleCandidate>(draws);
  s.weights = prep.book<double>(draws);
  return nullptr;
}

// A count as params hold it: 0 for what is not one.
uint64_t count_of(double x) { return x >= 1 ? x < 0x1p53 ? uint64_t(x) : uint64_t(1) << 53 : 0; }

SampleOptions options_of(const double* params, uint64_t seed) {
  SampleOptions o;
  o.temperature = std::isfinite(params[RUDA_SAMPLE_TEMPERATURE]) ? params[RUDA_SAMPLE_TEMPERATURE] : 0;
  o.top_k = count_of(params[RUDA_SAMPLE_TOP_K]);
  o.top_p = params[RUDA_SAMPLE_TOP_P];
  o.min_p = params[RUDA_SAMPLE_MIN_P];
  o.repetition_penalty = params[RUDA_SAMPLE_REPETITION_PENALTY];
  o.repetition_window = count_of(params[RUDA_SAMPLE_REPETITION_WINDOW]);
  o.seed = seed;
  return o;
}

template <class T>
void widen(const std::byte* row, int64_t count, float* to) {
  const T* from = reinterpret_cast<const T*>(row);
  for (int64_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Problem& p = l.problem;
  const Operand &logits = p[RUDA_SAMPLE_LOGITS], &history = p[RUDA_SAMPLE_HISTORY];
  const int64_t row_bytes = logits.stride(0) * dtype_info(logits.dtype()).block_bytes;
  const int64_t capacity = history.present ? history.dim(1) : 0;
  const bool append = p.as<ruda_sample_desc>().append;
  const auto row_of_thread = [&](int64_t row, int64_t thread) {
    float* values = l.at<float>(s.logits) + thread * s.vocab;
    const std::byte* from = l.ptr<const std::byte>(RUDA_SAMPLE_LOGITS) + row * row_bytes;
    (logits.dtype() == RUDA_F32   ? widen<float>
     : logits.dtype() == RUDA_F16 ? widen<f16>
                                  : widen<bf16>)(from, s.vocab, values);
    uint64_t* random = l.ptr<uint64_t>(RUDA_SAMPLE_RANDOM);
    const double* params = l.ptr<const double>(RUDA_SAMPLE_PARAMS);
    uint64_t unused = 0;
    const SampleOptions options =
        params ? options_of(params + row * RUDA_SAMPLE_PARAM_COUNT, random[2 * row]) : SampleOptions{};
    int32_t* tokens = nullptr;
    int32_t* length = nullptr;
    int64_t count = 0;
    if (history.present) {
      tokens = l.ptr<int32_t>(RUDA_SAMPLE_HISTORY) + row * history.stride(0);
      length = l.ptr<int32_t>(RUDA_SAMPLE_LENGTHS) + row;
      count = std::clamp<int64_t>(*length, 0, capacity);
    }
    const int64_t draws_at = params ? thread * s.vocab : 0;
    const int32_t token =
        sample_row(values, s.vocab, tokens, count, options, params ? random[2 * row + 1] : unused,
                   {l.at<uint32_t>(s.seen) + thread * ((s.vocab + 31) / 32),
                    l.at<SampleCandidate>(s.candidates) + draws_at, l.at<double>(s.weights) + draws_at});
    l.ptr<int32_t>(RUDA_SAMPLE_TOKENS)[row] = token;
    if (!append || token < 0 || count == capacity) return;
    tokens[count] = token;
    *length = int32_t(count + 1);
  };
  parallel(l, s.threads, 1, [&](int64_t begin, int64_t end) {
    const int64_t rows = logits.dim(0);
    for (int64_t thread = begin; thread < end; ++thread)
      for (int64_t row = rows * thread / s.threads; row < rows * (thread + 1) / s.threads; ++row) {
        l.stop.check();
        row_of_thread(row, thread);
      }
  });
}

constexpr Kernel list[] = {{"cpu/sample/rows", prepare, run}};

}  // namespace

extern constinit const Kernels sample{list};

}  // namespace ruda::cpu
