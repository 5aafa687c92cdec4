// src/cpu/rows.hpp - seeing a tensor as a list of dense rows, where its strides allow it.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cpu {

// Rows along the last axis: row r starts at r * stride.
struct Rows {
  int64_t count = 0, cols = 0, stride = 0;
};

// False when the outer axes do not collapse to one stride.
inline bool collapse_rows(const Layout& layout, Rows& out) {
  out.cols = layout.rank ? layout.dim(-1) : 1;
  out.count = out.cols ? layout.elements / out.cols : 0;
  out.stride = out.cols;
  if (!layout.elements) return true;  // its other extents and strides may be of any size
  int64_t inner = 0;                  // product of the extents walked so far
  for (int axis = layout.rank - 2; axis >= 0; --axis) {
    if (layout.shape[axis] == 1) continue;
    if (inner == 0) {
      out.stride = layout.strides[axis];
      inner = layout.shape[axis];
    } else if (layout.strides[axis] == out.stride * inner) {
      inner *= layout.shape[axis];
    } else {
      return false;
    }
  }
  return true;
}

// Offset in elements of row `index` of any strided tensor.
inline int64_t row_offset(const Layout& layout, int64_t index) {
  int64_t offset = 0;
  for (int axis = layout.rank - 2; axis >= 0; --axis) {
    offset += index % layout.shape[axis] * layout.strides[axis];
    index /= layout.shape[axis];
  }
  return offset;
}

}  // namespace ruda::cpu
