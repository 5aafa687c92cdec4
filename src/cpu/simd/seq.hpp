// src/cpu/simd/seq.hpp - a pack of indices, so that an array of accumulators is expanded and stays in
// registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ruda::cpu::RUDA_ISA {

// GCC 12 keeps an array in memory when a loop variable indexes it, even if the loop is unrolled later;
// indices that come from a pack are constants from the start.
template <int... i>
struct Seq {};
template <int n, int... i>
struct MakeSeq : MakeSeq<n - 1, n - 1, i...> {};
template <int... i>
struct MakeSeq<0, i...> {
  using type = Seq<i...>;
};

}  // namespace ruda::cpu::RUDA_ISA
