// src/cpu/elementwise/silu_mul.cpp - silu_mul: dense rows on threads, or one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/elementwise/silu_mul_table.hpp"
#include "cpu/walk.hpp"

#include <ruda/elementwise.h>

#include <cmath>

namespace ruda::cpu {
namespace {

constexpr int64_t grain = 8192;  // elements a thread takes at least

Walk<3> walk_of(const Problem& p) {
  return make_walk<3>({p[RUDA_SILU_MUL_Y].layout.get(), p[RUDA_SILU_MUL_GATE].layout.get(),
                       p[RUDA_SILU_MUL_UP].layout.get()});
}

namespace vector_rows {

struct State {
  Walk<3> walk;
  SiluMulRow row;
  int64_t bytes;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.walk = walk_of(p);
  for (int k = 0; k < 3; ++k)
    if (s.walk.cols() > 1 && s.walk.step(k) != 1) return "rows are not dense";
  const uint32_t dtype = p[RUDA_SILU_MUL_GATE].dtype();
  s.row = RUDA_ISA_PICK(SiluMulTable, silu_mul_table).rows[row_dtype_index(dtype)];
  s.bytes = dtype_info(dtype).block_bytes;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const auto* gate = l.ptr<const std::byte>(RUDA_SILU_MUL_GATE);
  const auto* up = l.ptr<const std::byte>(RUDA_SILU_MUL_UP);
  auto* y = l.ptr<std::byte>(RUDA_SILU_MUL_Y);
  walk_parallel(l, s.walk, grain, [&](const int64_t* at, int64_t count) {
    s.row(gate + at[1] * s.bytes, up + at[2] * s.bytes, y + at[0] * s.bytes, count);
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem& p, Prepare& prep) {
  prep.state<Walk<3>>() = walk_of(p);
  return nullptr;
}

template <class T>
void elements(const Launch& l) {
  const auto& w = l.state<Walk<3>>();
  const T* gate = l.ptr<const T>(RUDA_SILU_MUL_GATE);
  const T* up = l.ptr<const T>(RUDA_SILU_MUL_UP);
  T* y = l.ptr<T>(RUDA_SILU_MUL_Y);
  walk_parallel(l, w, grain, [&](const int64_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double x = to_float(gate[at[1] + i * w.step(1)]);
      const T silu = from_float<T>(float(x / (1 + std::exp(-x))));
      y[at[0] + i * w.step(0)] = from_float<T>(to_float(silu) * to_float(up[at[2] + i * w.step(2)]));
    }
  });
}

void run(const Launch& l) {
  visit(l.problem[RUDA_SILU_MUL_GATE].dtype(), Types<float, f16, bf16>{},
        [&](auto t) { elements<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/silu_mul/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/silu_mul/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels silu_mul{list};

}  // namespace ruda::cpu
