// src/cpu/position/rope_attention.cpp - rope_attention on the CPU: rows on the context's threads, attention
// in plain loops.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/cached_rows.hpp"
#include "cpu/position/rope_tokens.hpp"
#include "cpu/runtime/device.hpp"

#include <algorithm>
#include <cmath>

namespace ruda::cpu {
namespace {

constexpr uint32_t Q = RUDA_ROPE_ATTENTION_Q, K = RUDA_ROPE_ATTENTION_K, V = RUDA_ROPE_ATTENTION_V,
                   FREQUENCIES = RUDA_ROPE_ATTENTION_FREQUENCIES, OUT = RUDA_ROPE_ATTENTION_OUT,
                   K_CACHE = RUDA_ROPE_ATTENTION_K_CACHE, V_CACHE = RUDA_ROPE_ATTENTION_V_CACHE;

const RopeConstants& constants_of(const Problem& p) {
  return *reinterpret_cast<const RopeConstants*>(p.options.data() + sizeof(ruda_rope_attention_desc));
}

// q and k are turned into the workspace; k goes from there into its cache.
struct State {
  RopeTokens q, k;
  CachedRows keys, values;
  int from, to;
  WorkspaceSlot turned_q, turned_k, positions;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int64_t rows = p[Q].dim(0), bytes = dtype_info(p[Q].dtype()).block_bytes;
  const WorkspaceSlot turned_q = prep.book<std::byte>(rows * p[Q].dim(1) * p[Q].dim(2) * bytes),
                      turned_k = prep.book<std::byte>(rows * p[K].dim(1) * p[K].dim(2) * bytes),
                      positions = prep.book<int64_t>(rows);
  State& s = prep.state<State>();
  s.turned_q = turned_q;
  s.turned_k = turned_k;
  s.positions = positions;
  const auto tokens = [&](uint32_t slot) {
    RopeTokens t = rope_tokens_of(constants_of(p), p[FREQUENCIES].present, p[slot]);
    t.y_token = p[slot].dim(1) * p[slot].dim(2);
    t.y_head = p[slot].dim(2);
    t.wide_positions = true;
    return t;
  };
  s.q = tokens(Q);
  s.k = tokens(K);
  s.keys = cached_rows_of(p[K], p[K_CACHE]);
  s.keys.row_stride = s.k.y_token;
  s.keys.head_stride = s.k.y_head;
  s.values = cached_rows_of(p[V], p[V_CACHE]);
  s.from = row_dtype_index(p[Q].dtype());
  s.to = row_dtype_index(p[K_CACHE].dtype());
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
      const C* key = cached(k_cache, K_CACHE, j, h / group);
      float sum = 0;
      for (int64_t e = 0; e < head_dim; ++e) sum = std::fma(to_float(q[e]) * scale, to_float(key[e]), sum);
      scores[size_t(j)] = sum;
      largest = std::max(largest, sum);
    }
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t j = 0; j < seen; ++j) {
      const C* value = cached(v_cache, V_CACHE, j, h / group);
      const float part = std::exp(scores[size_t(j)] - largest);
      weight += part;
      for (int64_t e = 0; e < value_dim; ++e)
        sums[size_t(e)] = std::fma(part, to_float(value[e]), sums[size_t(e)]);
    }
    T* out = l.ptr<T>(OUT) + row * p[OUT].stride(0) + h * p[OUT].stride(1);
    for (int64_t e = 0; e < value_dim; ++e) out[e] = from_float<T>(sums[size_t(e)] / weight);
  }
}

void run(const Launch& l) {
  const PagedSchedule& schedule = one_token_schedule(l, RUDA_ROPE_ATTENTION_SCHEDULE, K_CACHE, Q);
  const State& s = l.state<State>();
  int64_t* const positions = l.at<int64_t>(s.positions);
  RopeTokens q = s.q, k = s.k;
  q.x = l.ptr<const void>(Q);
  q.y = l.at<std::byte>(s.turned_q);
  k.x = l.ptr<const void>(K);
  k.y = l.at<std::byte>(s.turned_k);
  q.positions = k.positions = positions;
  q.frequencies_f32 = k.frequencies_f32 = l.ptr<const float>(FREQUENCIES);
  const CachedRows keys = bind_rows(s.keys, k.y, l.ptr<void>(K_CACHE), schedule),
                   values = bind_rows(s.values, l.ptr<const void>(V), l.ptr<void>(V_CACHE), schedule);
  const auto rope = RUDA_ISA_PICK(PositionTable, position_table).rope[s.from];
  const auto put = RUDA_ISA_PICK(CachedRowsTable, cached_rows_table).put[s.from][s.to];
  parallel(l, schedule.queries(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) positions[i] = schedule.positions()[i];
    rope(q, begin, end);
    rope(k, begin, end);
    put(keys, begin, end);
    put(values, begin, end);
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
