// src/cpu/elementwise/silu_mul.cpp - silu_mul: rows on threads, or one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/elementwise/silu_mul_table.hpp"
#include "cpu/walk.hpp"

#include <ruda/elementwise.h>

#include <algorithm>
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
  bool dense;  // the elements of a row lie side by side in all three
};

constexpr int64_t piece = 512;  // elements that are gathered at once

template <class T>
void gather(const std::byte* from, int64_t step, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = reinterpret_cast<const T*>(from)[i * step];
}

// `count` elements at their steps, through dense copies; T has their size.
template <class T>
void strided(const State& s, const std::byte* gate, const std::byte* up, std::byte* y, int64_t count) {
  T gates[piece], ups[piece], results[piece];
  for (int64_t at = 0; at < count; at += piece) {
    const int64_t n = std::min(piece, count - at), bytes = at * s.bytes;
    gather(gate + s.walk.step(1) * bytes, s.walk.step(1), n, gates);
    gather(up + s.walk.step(2) * bytes, s.walk.step(2), n, ups);
    s.row(gates, ups, results, n);
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(y)[(at + i) * s.walk.step(0)] = results[i];
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.walk = walk_of(p);
  s.dense = true;
  for (int k = 0; k < 3; ++k) s.dense &= s.walk.cols() <= 1 || s.walk.step(k) == 1;
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
    const auto *g = gate + at[1] * s.bytes, *u = up + at[2] * s.bytes;
    auto* to = y + at[0] * s.bytes;
    if (s.dense)
      s.row(g, u, to, count);
    else if (s.bytes == 4)
      strided<uint32_t>(s, g, u, to, count);
    else
      strided<uint16_t>(s, g, u, to, count);
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
