// cuda/matmul/leading.cuh - the leading axes of a matmul: where product i begins in each operand.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

#include <ruda/matmul.h>

namespace ruda::cuda {

struct Leading {
  int axes;
  int64_t extent[RUDA_MAX_RANK], a[RUDA_MAX_RANK], b[RUDA_MAX_RANK], c[RUDA_MAX_RANK];

  __device__ void offsets(int64_t product, int64_t& a_at, int64_t& b_at, int64_t& c_at) const {
    a_at = b_at = c_at = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const int64_t i = product % extent[axis];
      product /= extent[axis];
      a_at += i * a[axis], b_at += i * b[axis], c_at += i * c[axis];
    }
  }
};

// Returns the number of products.
inline int64_t make_leading(const Problem& p, Leading& l) {
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C];
  int64_t count = 1;
  for (int axis = 0; axis + 2 < c.rank(); ++axis) {
    count *= c.dim(axis);
    if (c.dim(axis) == 1) continue;
    const auto stride = [&](const Operand& x) {
      const int own = axis + x.rank() - c.rank();
      return own >= 0 && x.dim(own) != 1 ? x.stride(own) : 0;
    };
    l.extent[l.axes] = c.dim(axis), l.a[l.axes] = stride(a), l.b[l.axes] = stride(b), l.c[l.axes] = stride(c);
    l.axes++;
  }
  return count;
}

}  // namespace ruda::cuda
