// src/cpu/position/rope_append.cpp - rope_append on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/position/rope_append.hpp"

#include "cpu/position/rotation.hpp"
#include "cpu/runtime/device.hpp"

namespace ruda::cpu {
namespace {

constexpr int64_t grain_elements = 16384;  // below this a second thread costs more than it brings
constexpr uint32_t Y = RUDA_ROPE_APPEND_Y;

const PagedSchedule& checked_schedule(const Launch& l) {
  return appendable_schedule(l, RUDA_ROPE_APPEND_SCHEDULE, K_CACHE, Q);
}

namespace vector_rows {

struct State {
  RopeAppend append;
  int64_t grain;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.append = rope_append_of(p, prep, rope_constants_of<ruda_rope_append_desc>(p.options));
  s.append.q.y_token = p[Y].stride(0);
  s.append.q.y_head = p[Y].stride(1);
  int64_t elements = 0;
  for (const uint32_t slot : {Q, K, V}) elements += p[slot].dim(1) * p[slot].dim(2);
  s.grain = elements >= grain_elements || !elements ? 1 : grain_elements / elements;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const PagedSchedule& schedule = checked_schedule(l);
  const State& s = l.state<State>();
  parallel(l, schedule.queries(), s.grain, rope_append_work(l, s.append, schedule, l.ptr<void>(Y)));
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class T, class To>
void rows(const Launch& l, const PagedSchedule& schedule) {
  const Problem& p = l.problem;
  for (uint32_t i = 0; i < schedule.queries(); ++i) {
    l.stop.check();
    const uint32_t position = schedule.positions()[i];
    const int64_t page = schedule.table(schedule.sequence_ids()[i])[position / schedule.page_size()],
                  slot = position % schedule.page_size();
    const Rotation<T> rotation{rope_constants_of<ruda_rope_append_desc>(p.options),
                               l.ptr<const float>(FREQUENCIES), double(position)};
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
