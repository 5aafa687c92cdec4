// src/cpu/elementwise/unary.cpp - unary functions: dense rows on threads, or one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "core/row_functions.hpp"
#include "cpu/dense.hpp"
#include "cpu/elementwise/unary_table.hpp"

#include <ruda/elementwise.h>

namespace ruda::cpu {
namespace {

static_assert(std::size(unary_rows) == unary_count);

constexpr int64_t grain = 8192;  // elements a thread takes at least

void not_bool(const void* x, void* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) static_cast<uint8_t*>(y)[i] = static_cast<const uint8_t*>(x)[i] == 0;
}

namespace dense_rows {

struct State {
  DenseWalk<2> walk;
  UnaryDense row;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const uint32_t op = p.as<ruda_unary_desc>().op, dtype = p[RUDA_UNARY_X].dtype();
  const UnaryDense row = dtype == RUDA_BOOL
                             ? not_bool
                             : RUDA_ISA_PICK(UnaryTable, unary_table).rows[op - 1][row_dtype_index(dtype)];
  if (!row) return "no vectors for the dtype";
  State& s = prep.state<State>();
  s.walk = make_dense_walk<2>({p[RUDA_UNARY_Y].layout.get(), p[RUDA_UNARY_X].layout.get()});
  s.row = row;
  prep.note(std::string(unary_rows[op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  std::byte* const base[] = {l.ptr<std::byte>(RUDA_UNARY_Y), l.ptr<std::byte>(RUDA_UNARY_X)};
  dense_parallel(l, s.walk, base, grain,
                 [row = s.row](std::byte* const* at, int64_t count) { row(at[1], at[0], count); });
}

}  // namespace dense_rows

namespace plain {

template <class T>
void elements(const Launch& l) {
  const auto& w = l.state<Walk<2>>();
  const uint32_t op = l.problem.as<ruda_unary_desc>().op;
  const bool to_bool = unary_rows[op - 1].result == row_B,
             from_bool = l.problem[RUDA_UNARY_X].dtype() == RUDA_BOOL;
  const T* x = l.ptr<const T>(RUDA_UNARY_X);
  T* y = l.ptr<T>(RUDA_UNARY_Y);
  auto* y_bool = l.ptr<uint8_t>(RUDA_UNARY_Y);
  walk_parallel(l, w, grain / 8, [&](const int64_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T v = x[at[1] + i * w.step(1)];
      const int64_t to = at[0] + i * w.step(0);
      if constexpr (std::is_integral_v<T>) {
        y[to] = from_bool ? T(v == T(0)) : unary_integer<T>(op, v);
      } else {
        // In double; 16-bit floats come in and go out through float.
        const double r = unary_real(op, double(to_float(v)));
        if (to_bool)
          y_bool[to] = r != 0;
        else if constexpr (std::is_same_v<T, double>)
          y[to] = r;
        else
          y[to] = from_float<T>(float(r));
      }
    }
  });
}

Verdict prepare(const Problem& p, Prepare& prep) {
  prep.state<Walk<2>>() = make_walk<2>({p[RUDA_UNARY_Y].layout.get(), p[RUDA_UNARY_X].layout.get()});
  prep.note(std::string(unary_rows[p.as<ruda_unary_desc>().op - 1].name) + ", one element at a time");
  return nullptr;
}

void run(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_UNARY_X].dtype();
  visit(dtype == RUDA_BOOL ? uint32_t(RUDA_U8) : dtype,
        Types<double, float, f16, bf16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
              uint64_t>{},
        [&](auto t) { elements<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/unary/rows", dense_rows::prepare, dense_rows::run},
                           {"cpu/unary/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels unary{list};

}  // namespace ruda::cpu
