// src/tensor/overlap.cpp - strided elements as runs of bytes at steps.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/overlap.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace ruda {
namespace {

struct Axis {
  int64_t step, count;  // in bytes; above 0, above 1
};

// Runs without a gap at the places that `axes` step to; `reach` is from the first byte to behind the last.
struct Runs {
  Axis axes[RUDA_MAX_RANK];          // fast ones first, each steps past what all before it reach
  int64_t reach[RUDA_MAX_RANK + 1];  // [k]: of the axes before k
  int rank = 0;
};

Runs runs_of(const Layout& layout) {
  const DtypeInfo& info = dtype_info(layout.dtype);
  Axis axes[RUDA_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < layout.rank; ++i) {
    // Blocks lie side by side along the last axis.
    const bool in_blocks = i + 1 == layout.rank && info.block_elements > 1;
    const int64_t count = in_blocks ? layout.shape[i] / info.block_elements : layout.shape[i];
    const int64_t stride = in_blocks ? 1 : layout.strides[i] / info.block_elements;
    if (count > 1 && stride != 0) axes[rank++] = {std::abs(stride) * info.block_bytes, count};
  }
  std::sort(axes, axes + rank, [](const Axis& a, const Axis& b) { return a.step < b.step; });
  Runs runs;
  runs.reach[0] = info.block_bytes;
  for (int i = 0; i < rank; ++i) {
    int64_t& reach = runs.reach[runs.rank];
    if (axes[i].step < reach) {  // among what the axes before it reach: taken for one run
      runs.reach[0] = reach;
      runs.rank = 0;
    }
    const int64_t wider = runs.reach[runs.rank] + axes[i].step * (axes[i].count - 1);
    if (runs.rank == 0 && axes[i].step <= runs.reach[0]) {
      runs.reach[0] = wider;
    } else {
      runs.axes[runs.rank] = axes[i];
      runs.reach[++runs.rank] = wider;
    }
  }
  return runs;
}

// Whether runs that begin at byte 0 meet the bytes from `low` to before `high`.
bool meet(const Runs& runs, int64_t low, int64_t high) {
  int64_t at = 0;
  for (int rank = runs.rank;; --rank) {
    if (at >= high || low >= at + runs.reach[rank]) return false;
    if (rank == 0) return true;
    const Axis& axis = runs.axes[rank - 1];
    const int64_t inner = runs.reach[rank - 1];
    // The steps that meet the block: the first ends behind its beginning, the last begins before its end.
    const int64_t first = low < at + inner ? 0 : (low - at - inner) / axis.step + 1;
    const int64_t last = std::min(axis.count - 1, (high - at - 1) / axis.step);
    if (first != last) return first < last;  // of two, the last byte of the first lies in the block
    at += first * axis.step;
  }
}

// Without a gap from the lowest to the highest byte.
bool is_solid(const Layout& layout) {
  return layout.contiguous ||
         (layout.writable && int64_t(layout.packed_bytes()) == layout.high_bytes - layout.low_bytes);
}

// Columns of one matrix: rows of two tensors may interleave without sharing a byte, as two halves of a wider
// one do. A row is what the last axes hold without a gap.
bool rows_interleave(const Tensor& a, const Tensor& b) {
  int64_t pitch = 0, width[2];
  const Tensor* tensors[] = {&a, &b};
  for (int t = 0; t < 2; ++t) {
    const Layout& layout = tensors[t]->layout();
    const DtypeInfo& info = dtype_info(layout.dtype);
    int64_t dense = 1;
    for (int axis = layout.rank - 1; axis >= 0; --axis) {
      if (layout.shape[axis] <= 1) continue;
      if (layout.strides[axis] == dense)
        dense *= layout.shape[axis];
      else
        pitch = std::gcd(pitch, layout.strides[axis] / info.block_elements * info.block_bytes);
    }
    width[t] = std::max<int64_t>(dense / info.block_elements, 1) * info.block_bytes;
  }
  if (pitch == 0) return false;
  const int64_t distance = (b.data() - a.data()) % pitch, from = distance < 0 ? distance + pitch : distance;
  return from >= width[0] && from + width[1] <= pitch;
}

}  // namespace

bool shares_bytes(const Tensor& tensor, const Span& block) {
  const Span span = span_of(tensor);
  if (span.begin == span.end || block.begin == block.end || !span.overlaps(block)) return false;
  const Runs runs = runs_of(tensor.layout());
  return meet(runs, block.begin - span.begin, block.end - span.begin);
}

bool share_bytes(const Tensor& a, const Tensor& b) {
  if (!a.layout().elements || !b.layout().elements || !span_of(a).overlaps(span_of(b))) return false;
  if (is_solid(b.layout())) return shares_bytes(a, span_of(b));
  if (is_solid(a.layout())) return shares_bytes(b, span_of(a));
  return !rows_interleave(a, b);
}

}  // namespace ruda
