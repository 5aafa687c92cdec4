// src/cpu/norm/rms_norm_isa.cpp - vector rows of rms_norm: one pass for the squares, one for the scaling.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/norm/norm_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class T>
void rms_norm_rows(const RmsNormRows& rows, int64_t begin, int64_t end) {
  const int64_t cols = rows.cols, whole = cols / lanes * lanes;
  const int tail = int(cols - whole);
  for (int64_t r = begin; r < end; ++r) {
    const T* x = static_cast<const T*>(rows.x) + r * rows.x_stride;
    T* y = static_cast<T*>(rows.y) + r * rows.y_stride;
    F32 sums[4] = {zero(), zero(), zero(), zero()};
    int64_t c = 0;
    for (; c + 4 * lanes <= whole; c += 4 * lanes)
      for (int i = 0; i < 4; ++i) {
        const F32 v = load(x + c + i * lanes);
        sums[i] = fma(v, v, sums[i]);
      }
    for (; c < whole; c += lanes) {
      const F32 v = load(x + c);
      sums[0] = fma(v, v, sums[0]);
    }
    if (tail) {
      const F32 v = load(x + c, tail);
      sums[0] = fma(v, v, sums[0]);
    }
    const float mean = sum((sums[0] + sums[1]) + (sums[2] + sums[3])) / float(cols);
    const F32 scale = set(1.0f / __builtin_sqrtf(mean + rows.eps));
    for (c = 0; c < whole; c += lanes) store(y + c, load(x + c) * scale * load(rows.gamma + c));
    if (tail) store(y + c, load(x + c, tail) * scale * load(rows.gamma + c, tail), tail);
  }
}

}  // namespace

extern const NormTable norm_table{{rms_norm_rows<float>, rms_norm_rows<f16>, rms_norm_rows<bf16>}};

}  // namespace ruda::cpu::RUDA_ISA
