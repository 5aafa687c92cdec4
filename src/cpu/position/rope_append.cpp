// src/cpu/position/rope_append.cpp - rope_append on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/cached_rows.hpp"
#include "cpu/position/rope_tokens.hpp"
#include "cpu/runtime/device.hpp"

#include <cmath>

namespace ruda::cpu {
namespace {

constexpr int64_t grain_elements = 16384;  // below this a second thread costs more than it brings
constexpr uint32_t Q = RUDA_ROPE_APPEND_Q, K = RUDA_ROPE_APPEND_K, V = RUDA_ROPE_APPEND_V,
                   FREQUENCIES = RUDA_ROPE_APPEND_FREQUENCIES, Y = RUDA_ROPE_APPEND_Y,
                   K_CACHE = RUDA_ROPE_APPEND_K_CACHE, V_CACHE = RUDA_ROPE_APPEND_V_CACHE;

const RopeConstants& constants_of(const Problem& p) {
  return *reinterpret_cast<const RopeConstants*>(p.options.data() + sizeof(ruda_rope_append_desc));
}

const PagedSchedule& checked_schedule(const Launch& l) {
  return appendable_schedule(l, RUDA_ROPE_APPEND_SCHEDULE, K_CACHE, Q);
}

namespace vector_rows {

// k is turned into the workspace, from where it goes into its cache.
struct State {
  RopeTokens q, k;
  CachedRows keys, values;
  int64_t grain, key_row_bytes;
  int from, to;
  WorkspaceSlot turned, positions;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const RopeConstants& c = constants_of(p);
  const int64_t rows = p[Q].dim(0), key_elements = p[K].dim(1) * p[K].dim(2);
  const WorkspaceSlot turned =
      prep.book<std::byte>(rows * key_elements * int64_t(dtype_info(p[K].dtype()).block_bytes));
  const WorkspaceSlot positions = prep.book<int64_t>(rows);
  State& s = prep.state<State>();
  s.turned = turned;
  s.positions = positions;
  s.q = rope_tokens_of(c, p[FREQUENCIES].present, p[Q]);
  s.q.y_token = p[Y].stride(0);
  s.q.y_head = p[Y].stride(1);
  s.k = rope_tokens_of(c, p[FREQUENCIES].present, p[K]);
  s.k.y_token = key_elements;
  s.k.y_head = p[K].dim(2);
  s.q.wide_positions = s.k.wide_positions = true;
  s.keys = cached_rows_of(p[K], p[K_CACHE]);
  s.keys.row_stride = s.k.y_token;
  s.keys.head_stride = s.k.y_head;
  s.values = cached_rows_of(p[V], p[V_CACHE]);
  s.from = row_dtype_index(p[Q].dtype());
  s.to = row_dtype_index(p[K_CACHE].dtype());
  const int64_t elements = p[Q].dim(1) * p[Q].dim(2) + key_elements + p[V].dim(1) * p[V].dim(2);
  s.grain = elements >= grain_elements || !elements ? 1 : grain_elements / elements;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  const State& s = l.state<State>();
  int64_t* const positions = l.at<int64_t>(s.positions);
  RopeTokens q = s.q, k = s.k;
  q.x = l.ptr<const void>(Q);
  q.y = l.ptr<void>(Y);
  k.x = l.ptr<const void>(K);
  k.y = l.at<std::byte>(s.turned);
  q.positions = k.positions = positions;
  q.frequencies_f32 = k.frequencies_f32 = l.ptr<const float>(FREQUENCIES);
  const CachedRows keys = bind_rows(s.keys, k.y, l.ptr<void>(K_CACHE), schedule),
                   values = bind_rows(s.values, l.ptr<const void>(V), l.ptr<void>(V_CACHE), schedule);
  const auto rope = RUDA_ISA_PICK(PositionTable, position_table).rope[s.from];
  const auto put = RUDA_ISA_PICK(CachedRowsTable, cached_rows_table).put[s.from][s.to];
  parallel(l, schedule.queries(), s.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) positions[i] = schedule.positions()[i];
    rope(q, begin, end);
    rope(k, begin, end);
    put(keys, begin, end);
    put(values, begin, end);
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

// Calls put(element, value) for every element of a turned head.
template <class T>
struct Rotation {
  const RopeConstants& c;
  const float* frequencies;
  double position;

  template <class F>
  void each(const T* head, int64_t head_dim, F&& put) const {
    for (int64_t i = 0; i < c.half; ++i) {
      const double angle = position * (frequencies ? double(frequencies[i]) : c.frequencies()[i]);
      const float cosine = float(std::cos(angle) * c.factor);
      const float sine = float((c.direction == RUDA_ROPE_INVERSE ? -1 : 1) * std::sin(angle) * c.factor);
      const bool halves = c.pairing == RUDA_ROPE_HALF;
      const int64_t a = halves ? i : 2 * i, b = halves ? i + c.half : 2 * i + 1;
      const float u = to_float(head[a]), v = to_float(head[b]);
      put(a, from_float<T>(u * cosine - v * sine));
      put(b, from_float<T>(u * sine + v * cosine));
    }
    for (int64_t i = 2 * c.half; i < head_dim; ++i) put(i, head[i]);
  }
};

template <class T, class To>
void rows(const Launch& l, const PagedSchedule& schedule) {
  const Problem& p = l.problem;
  for (uint32_t i = 0; i < schedule.queries(); ++i) {
    l.stop.check();
    const uint32_t position = schedule.positions()[i];
    const int64_t page = schedule.table(schedule.sequence_ids()[i])[position / schedule.page_size()],
                  slot = position % schedule.page_size();
    const Rotation<T> rotation{constants_of(p), l.ptr<const float>(FREQUENCIES), double(position)};
    const auto head = [&](uint32_t operand, int64_t h) {
      return l.ptr<T>(operand) + i * p[operand].stride(0) + h * p[operand].stride(1);
    };
    const auto cached = [&](uint32_t operand, int64_t h) {
      const Operand& cache = p[operand];
      return l.ptr<To>(operand) + page * cache.stride(0) + slot * cache.stride(1) + h * cache.stride(2);
    };
    for (int64_t h = 0; h < p[Q].dim(1); ++h) {
      T* const to = head(Y, h);
      rotation.each(head(Q, h), p[Q].dim(2), [&](int64_t e, T value) { to[e] = value; });
    }
    for (int64_t h = 0; h < p[K].dim(1); ++h) {
      To* const to = cached(K_CACHE, h);
      rotation.each(head(K, h), p[K].dim(2),
                    [&](int64_t e, T value) { to[e] = from_float<To>(to_float(value)); });
    }
    for (int64_t h = 0; h < p[V].dim(1); ++h)
      for (int64_t e = 0; e < p[V].dim(2); ++e)
        cached(V_CACHE, h)[e] = from_float<To>(to_float(head(V, h)[e]));
  }
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  visit(l.problem[Q].dtype(), Types<float, f16, bf16>{}, [&](auto from) {
    visit(l.problem[K_CACHE].dtype(), Types<float, f16, bf16>{},
          [&](auto to) { rows<decltype(from), decltype(to)>(l, schedule); });
  });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/rope_append/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/rope_append/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels rope_append{list};

}  // namespace ruda::cpu
