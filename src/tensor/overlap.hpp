// src/tensor/overlap.hpp - whether a tensor shares a byte with a block of memory or with another tensor.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tensor/tensor.hpp"

namespace ruda {

struct Span {
  const std::byte* begin;
  const std::byte* end;
  bool overlaps(const Span& other) const { return begin < other.end && other.begin < end; }
};

// From the lowest byte of a tensor to behind its highest, gaps between its rows included.
inline Span span_of(const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  return {tensor.data() + layout.low_bytes, tensor.data() + layout.high_bytes};
}

// Gaps are left out. Elements of a tensor that lie among each other's, as no slice or permutation of a dense
// tensor has them, count with the gaps between them.
bool shares_bytes(const Tensor& tensor, const Span& block);

// As above where one of the two is without gaps. Two with gaps share nothing where their rows interleave, as
// those of two halves of a wider matrix do.
bool share_bytes(const Tensor& a, const Tensor& b);

}  // namespace ruda
