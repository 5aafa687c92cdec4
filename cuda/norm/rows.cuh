// cuda/norm/rows.cuh - a tensor as rows along its last, dense axis, with any strides between them.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cuda {

// Passed to kernels by value.
struct Rows {
  int64_t count, cols;
  int axes;  // after neighbouring axes with one common stride became one
  int64_t extent[RUDA_MAX_RANK], stride[RUDA_MAX_RANK];

  __host__ __device__ int64_t offset(int64_t row) const {
    if (axes == 1) return row * stride[0];
    int64_t at = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      at += row % extent[axis] * stride[axis];
      row /= extent[axis];
    }
    return at;
  }
  // Every row starts at a multiple of n elements.
  bool aligned(int64_t n) const {
    for (int axis = 0; axis < axes; ++axis)
      if (extent[axis] > 1 && stride[axis] % n) return false;
    return true;
  }
};

inline Rows make_rows(const Layout& layout) {
  Rows rows{};
  rows.cols = layout.dim(-1);
  rows.count = rows.cols ? layout.elements / rows.cols : 0;
  for (int axis = 0; axis + 1 < layout.rank; ++axis) {
    if (layout.shape[axis] == 1) continue;
    if (rows.axes && rows.stride[rows.axes - 1] == layout.shape[axis] * layout.strides[axis]) {
      rows.extent[rows.axes - 1] *= layout.shape[axis];
      rows.stride[rows.axes - 1] = layout.strides[axis];
      continue;
    }
    rows.extent[rows.axes] = layout.shape[axis];
    rows.stride[rows.axes++] = layout.strides[axis];
  }
  if (rows.axes == 0) rows.extent[rows.axes++] = 1;
  return rows;
}

}  // namespace ruda::cuda
