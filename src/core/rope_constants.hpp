// src/core/rope_constants.hpp - what the contract of rope leaves for its kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ruda {

// What a contract leaves behind the descriptor in Problem::options: this header and `padded` frequencies.
struct RopeConstants {
  double factor;
  int64_t half, padded;  // pairs; and rounded up to whole vectors, the rest zero
  uint32_t pairing, direction;

  const double* frequencies() const { return reinterpret_cast<const double*>(this + 1); }
};

// Those behind a descriptor D.
template <class D>
const RopeConstants& rope_constants_of(const std::vector<std::byte>& options) {
  return *reinterpret_cast<const RopeConstants*>(options.data() + sizeof(D));
}

}  // namespace ruda
