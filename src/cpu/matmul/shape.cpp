// src/cpu/matmul/shape.cpp - a matmul problem as a list of equal matrix products.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/shape.hpp"

#include <ruda/matmul.h>

namespace ruda::cpu {

GemmType gemm_type(uint32_t dtype) {
  return dtype == RUDA_F32 ? gemm_f32 : dtype == RUDA_F16 ? gemm_f16 : gemm_bf16;
}

MatmulShape matmul_shape(const Problem& problem) {
  const auto& d = problem.as<ruda_matmul_desc>();
  const Operand &a = problem[RUDA_MATMUL_A], &b = problem[RUDA_MATMUL_B], &c = problem[RUDA_MATMUL_C];
  MatmulShape s;
  s.m = c.dim(-2), s.n = c.dim(-1), s.k = a.dim(d.transpose_a ? -2 : -1);
  s.a = {nullptr, a.stride(d.transpose_a ? -1 : -2), a.stride(d.transpose_a ? -2 : -1), gemm_type(a.dtype())};
  s.b = {nullptr, b.stride(d.transpose_b ? -1 : -2), b.stride(d.transpose_b ? -2 : -1), gemm_type(b.dtype())};
  s.c = {nullptr, c.stride(-2), 1, gemm_type(c.dtype())};
  // A stride along an axis of one element means nothing: name the one that helps.
  if (s.k <= 1) s.a.col = 1, s.b.row = 1;
  if (s.n <= 1) s.b.col = s.b.row == 1 ? s.k : 1;

  for (int axis = 0; axis + 2 < c.rank(); ++axis) {
    const int64_t extent = c.dim(axis);
    s.count *= extent;
    if (extent == 1) continue;
    const auto stride = [&](const Operand& x) {
      const int own = axis + x.rank() - c.rank();
      return own >= 0 && x.dim(own) != 1 ? x.stride(own) : 0;
    };
    s.extent[s.axes] = extent;
    s.a_stride[s.axes] = stride(a), s.b_stride[s.axes] = stride(b), s.c_stride[s.axes] = stride(c);
    s.axes++;
  }
  if (s.m == 1)
    s.a.row = s.axes ? s.a_stride[s.axes - 1] : s.k, s.c.row = s.axes ? s.c_stride[s.axes - 1] : s.n;
  while (s.axes > 0) {
    const int last = s.axes - 1;
    if (s.b_stride[last] != 0 || s.a_stride[last] != s.m * s.a.row || s.c_stride[last] != s.m * s.c.row)
      break;
    s.m *= s.extent[last];
    if (s.extent[last]) s.count /= s.extent[last];
    s.axes = last;
  }
  return s;
}

}  // namespace ruda::cpu
