// src/cpu/position/rope_attention.cpp - rope_attention on the CPU: rows on the context's threads, attention
// in plain loops.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "cpu/position/rope_append.hpp"
#include "cpu/runtime/device.hpp"

#include <algorithm>
#include <cmath>

namespace ruda::cpu {
namespace {

constexpr uint32_t OUT = RUDA_ROPE_ATTENTION_OUT;

constexpr int64_t stop_keys = 1024;  // between two looks at the stop sign

// q is turned into the workspace too.
struct State {
  RopeAppend append;
  WorkspaceSlot turned_q;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int64_t row = p[Q].dim(1) * p[Q].dim(2);
  State& s = prep.state<State>();
  s.turned_q = prep.book<std::byte>(p[Q].dim(0) * row * int64_t(dtype_info(p[Q].dtype()).block_bytes));
  s.append = rope_append_of(p, prep, rope_constants_of<ruda_rope_attention_desc>(p.options));
  s.append.q.y_token = row;
  s.append.q.y_head = p[Q].dim(2);
  prep.note(isa_name(isa()));
  return nullptr;
}

// Softmax in two passes: the scores are kept.
template <class T, class C>
void attend(const Launch& l, const PagedSchedule& schedule, const T* turned, int64_t row) {
  const Problem& p = l.problem;
  const Operand &k_cache = p[K_CACHE], &v_cache = p[V_CACHE];
  const int64_t q_heads = p[Q].dim(1), head_dim = p[Q].dim(2), value_dim = p[V].dim(2),
                group = q_heads / p[K].dim(1), seen = int64_t(schedule.positions()[row]) + 1;
  const uint32_t* table = schedule.table(schedule.sequence_ids()[row]);
  const float scale = float(p.as<ruda_rope_attention_desc>().scale);
  std::vector<float> scores(static_cast<size_t>(seen)), sums(static_cast<size_t>(value_dim));
  const auto cached = [&](const Operand& cache, uint32_t slot, int64_t j, int64_t head) {
    return l.ptr<const C>(slot) + table[j / schedule.page_size()] * cache.stride(0) +
           j % schedule.page_size() * cache.stride(1) + head * cache.stride(2);
  };
  for (int64_t h = 0; h < q_heads; ++h) {
    const T* q = turned + (row * q_heads + h) * head_dim;
    float largest = -INFINITY, weight = 0;
    for (int64_t j = 0; j < seen; ++j) {
      if (j % stop_keys == 0) l.stop.check();
      const C* key = cached(k_cache, K_CACHE, j, h / group);
      float sum = 0;
      for (int64_t e = 0; e < head_dim; ++e) sum = std::fma(to_float(q[e]) * scale, to_float(key[e]), sum);
      scores[size_t(j)] = sum;
      largest = std::max(largest, sum);
    }
    std::fill(sums.begin(), sums.end(), 0.0f);
    // Where every score is minus infinity no key has a weight, and the row is 0.
    const float shift = largest == -INFINITY ? 0.0f : largest;
    for (int64_t j = 0; j < seen; ++j) {
      if (j % stop_keys == 0) l.stop.check();
      const C* value = cached(v_cache, V_CACHE, j, h / group);
      const float part = std::exp(scores[size_t(j)] - shift);
      weight += part;
      for (int64_t e = 0; e < value_dim; ++e)
        sums[size_t(e)] = std::fma(part, to_float(value[e]), sums[size_t(e)]);
    }
    const float divisor = weight == 0 ? INFINITY : weight;
    T* out = l.ptr<T>(OUT) + row * p[OUT].stride(0) + h * p[OUT].stride(1);
    for (int64_t e = 0; e < value_dim; ++e) out[e] = from_float<T>(sums[size_t(e)] / divisor);
  }
}

void run(const Launch& l) {
  const PagedSchedule& schedule = one_token_schedule(l, RUDA_ROPE_ATTENTION_SCHEDULE, K_CACHE, Q);
  const State& s = l.state<State>();
  const auto append = rope_append_work(l, s.append, schedule, l.at<std::byte>(s.turned_q));
  parallel(l, schedule.queries(), 1, [&](int64_t begin, int64_t end) {
    append(begin, end);
    visit(l.problem[Q].dtype(), Types<float, f16, bf16>{}, [&](auto from) {
      visit(l.problem[K_CACHE].dtype(), Types<float, f16, bf16>{}, [&](auto to) {
        using T = decltype(from);
        for (int64_t i = begin; i < end; ++i)
          attend<T, decltype(to)>(l, schedule, l.at<const T>(s.turned_q), i);
      });
    });
  });
}

constexpr Kernel list[] = {{"cpu/rope_attention/rows", prepare, run}};

}  // namespace

extern constinit const Kernels rope_attention{list};

}  // namespace ruda::cpu
