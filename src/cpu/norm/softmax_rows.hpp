// src/cpu/norm/softmax_rows.hpp - the kernels that softmax and log_softmax share, by slot numbers they share.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/norm/softmax_table.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/norm.h>

#include <cmath>
#include <limits>

namespace ruda::cpu {
namespace {

static_assert(int(RUDA_SOFTMAX_X) == int(RUDA_LOG_SOFTMAX_X) &&
              int(RUDA_SOFTMAX_Y) == int(RUDA_LOG_SOFTMAX_Y));
constexpr uint32_t slot_x = RUDA_SOFTMAX_X, slot_y = RUDA_SOFTMAX_Y;
constexpr int64_t grain_elements = 4096;  // below this a second thread costs more than it brings

int64_t row_grain(int64_t cols) { return cols >= grain_elements ? 1 : grain_elements / cols; }

namespace vector_rows {

struct State {
  Rows x, y;
  bool even;  // the rows of each have one stride
  SoftmaxRow row;
  int64_t bytes;
};

template <bool is_log>
Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& x = p[slot_x];
  State& s = prep.state<State>();
  const bool x_even = collapse_rows(*x.layout, s.x), y_even = collapse_rows(*p[slot_y].layout, s.y);
  s.even = x_even && y_even;
  const SoftmaxTable& table = RUDA_ISA_PICK(SoftmaxTable, softmax_table);
  const int dtype = row_dtype_index(x.dtype());
  s.row = is_log ? table.log_softmax[dtype] : table.softmax[dtype];
  s.bytes = dtype_info(x.dtype()).block_bytes;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  if (s.x.count == 0) return;
  const auto* x = l.ptr<const std::byte>(slot_x);
  auto* y = l.ptr<std::byte>(slot_y);
  parallel(l, s.x.count, row_grain(s.x.cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t from = s.even ? r * s.x.stride : row_offset(*l.problem[slot_x].layout, r);
      const int64_t to = s.even ? r * s.y.stride : row_offset(*l.problem[slot_y].layout, r);
      s.row(x + from * s.bytes, y + to * s.bytes, s.x.cols);
    }
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class T, bool is_log>
void rows(const Launch& l) {
  const Layout &from = *l.problem[slot_x].layout, &to = *l.problem[slot_y].layout;
  const int64_t cols = from.dim(-1);
  if (from.elements == 0) return;
  parallel(l, from.elements / cols, row_grain(cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = l.ptr<const T>(slot_x) + row_offset(from, r);
      T* y = l.ptr<T>(slot_y) + row_offset(to, r);
      float top = -std::numeric_limits<float>::infinity();
      for (int64_t c = 0; c < cols; ++c) top = to_float(x[c]) > top ? to_float(x[c]) : top;
      double sum = 0;
      for (int64_t c = 0; c < cols; ++c) sum += std::exp(double(to_float(x[c])) - top);
      for (int64_t c = 0; c < cols; ++c) {
        const double v = double(to_float(x[c])) - top;
        y[c] = from_float<T>(float(is_log ? v - std::log(sum) : std::exp(v) / sum));
      }
    }
  });
}

template <bool is_log>
void run(const Launch& l) {
  visit(l.problem[slot_x].dtype(), Types<float, f16, bf16>{}, [&](auto t) { rows<decltype(t), is_log>(l); });
}

}  // namespace plain
}  // namespace
}  // namespace ruda::cpu
