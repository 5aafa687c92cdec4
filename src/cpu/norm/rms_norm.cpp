// src/cpu/norm/rms_norm.cpp - rms_norm on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "cpu/norm/norm_table.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/norm.h>

#include <cmath>

namespace ruda::cpu {
namespace {

constexpr int64_t grain_elements = 8192;  // below this a second thread costs more than it brings

int64_t row_grain(int64_t cols) { return cols >= grain_elements ? 1 : grain_elements / cols; }

namespace vector_rows {

struct State {
  Rows x, y;
  bool even;  // the rows of each have one stride
  int64_t grain, bytes;
  void (*kernel)(const RmsNormRows& rows, int64_t begin, int64_t end);
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& x = p[RUDA_RMS_NORM_X];
  State& s = prep.state<State>();
  const bool x_even = collapse_rows(*x.layout, s.x), y_even = collapse_rows(*p[RUDA_RMS_NORM_Y].layout, s.y);
  s.even = x_even && y_even;
  s.bytes = dtype_info(x.dtype()).block_bytes;
  s.grain = s.x.cols > 0 ? row_grain(s.x.cols) : 1;
  s.kernel = RUDA_ISA_PICK(NormTable, norm_table).rms_norm[row_dtype_index(x.dtype())];
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const RmsNormRows rows{l.ptr<const void>(RUDA_RMS_NORM_X),
                         l.ptr<const float>(RUDA_RMS_NORM_GAMMA),
                         l.ptr<void>(RUDA_RMS_NORM_Y),
                         s.x.cols,
                         s.x.stride,
                         s.y.stride,
                         float(l.problem.as<ruda_rms_norm_desc>().eps)};
  parallel(l, s.x.count, s.grain, [&](int64_t begin, int64_t end) {
    if (s.even) return s.kernel(rows, begin, end);
    RmsNormRows one = rows;
    for (int64_t r = begin; r < end; ++r) {
      one.x = l.ptr<const std::byte>(RUDA_RMS_NORM_X) +
              row_offset(*l.problem[RUDA_RMS_NORM_X].layout, r) * s.bytes;
      one.y = l.ptr<std::byte>(RUDA_RMS_NORM_Y) + row_offset(*l.problem[RUDA_RMS_NORM_Y].layout, r) * s.bytes;
      s.kernel(one, 0, 1);
    }
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class T>
void rows(const Launch& l) {
  const Operand &x = l.problem[RUDA_RMS_NORM_X], &y = l.problem[RUDA_RMS_NORM_Y];
  const float* gamma = l.ptr<const float>(RUDA_RMS_NORM_GAMMA);
  const float eps = float(l.problem.as<ruda_rms_norm_desc>().eps);
  const int64_t cols = x.dim(-1);
  for (int64_t r = 0; r < x.outer(); ++r) {
    l.stop.check();
    const T* from = l.ptr<const T>(RUDA_RMS_NORM_X) + row_offset(*x.layout, r);
    T* to = l.ptr<T>(RUDA_RMS_NORM_Y) + row_offset(*y.layout, r);
    float sum = 0;
    for (int64_t c = 0; c < cols; ++c) sum = std::fma(to_float(from[c]), to_float(from[c]), sum);
    const float scale = 1.0f / std::sqrt(sum / float(cols) + eps);
    for (int64_t c = 0; c < cols; ++c) to[c] = from_float<T>(to_float(from[c]) * scale * gamma[c]);
  }
}

void run(const Launch& l) {
  visit(l.problem[RUDA_RMS_NORM_X].dtype(), Types<float, f16, bf16>{}, [&](auto t) { rows<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/rms_norm/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/rms_norm/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels rms_norm{list};

}  // namespace ruda::cpu
