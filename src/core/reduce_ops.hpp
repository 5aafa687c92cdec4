// src/core/reduce_ops.hpp - what the reductions do to numbers, on the host and in CUDA.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__CUDACC__)
#define RUDA_REDUCE_FN \
  template <class W>   \
  __host__ __device__ static inline
#else
#define RUDA_REDUCE_FN \
  template <class W>   \
  static inline
#endif

// W is what a reduction works in: float or double, int64_t or uint64_t.
namespace ruda {

// The codes of the public header, which the contract holds them to.
enum ReduceOp : uint32_t {
  reduce_none,
#define RUDA_REDUCE_ROW(NAME, name, operands, result, formula, bound) reduce_##NAME,
#include "core/reduce_rows.inc"
#undef RUDA_REDUCE_ROW
};

inline constexpr bool reduce_is_index(uint32_t op) { return op == reduce_ARGMAX || op == reduce_ARGMIN; }

// What no elements give.
RUDA_REDUCE_FN W reduce_start(uint32_t op) {
  constexpr bool real = std::is_floating_point_v<W>;
  const W high = real ? W(INFINITY) : std::numeric_limits<W>::max();
  const W low = real ? W(-INFINITY) : std::numeric_limits<W>::min();
  switch (op) {
    case reduce_PROD:
    case reduce_ALL: return W(1);
    case reduce_MAX:
    case reduce_ARGMAX: return low;
    case reduce_MAX_ABS: return real ? W(0) : low;
    case reduce_MIN:
    case reduce_ARGMIN: return high;
    default: return W(0);
  }
}

// One element, before it is joined. The magnitude of the lowest integer wraps to itself.
RUDA_REDUCE_FN W reduce_map(uint32_t op, W x) {
  if (op == reduce_ANY || op == reduce_ALL) return W(x != W(0));
  if constexpr (std::is_floating_point_v<W>) {
    if (op == reduce_MAX_ABS) return x < W(0) ? W(-x) : x;
  } else if constexpr (std::is_signed_v<W>) {
    using Unsigned = std::make_unsigned_t<W>;
    if (op == reduce_MAX_ABS) return x < W(0) ? W(Unsigned(0) - Unsigned(x)) : x;
  }
  return x;
}

// True when x takes the place of `best`: strictly better, or the first NaN.
RUDA_REDUCE_FN bool reduce_beats(uint32_t op, W x, W best) {
  if (x != x) return best == best;
  return op == reduce_MIN || op == reduce_ARGMIN || op == reduce_ALL ? x < best : x > best;
}

RUDA_REDUCE_FN W reduce_join(uint32_t op, W a, W b) {
  switch (op) {
    case reduce_SUM:
    case reduce_MEAN:
      if constexpr (std::is_integral_v<W>)
        return W(uint64_t(a) + uint64_t(b));
      else
        return a + b;
    case reduce_PROD:
      if constexpr (std::is_integral_v<W>)
        return W(uint64_t(a) * uint64_t(b));
      else
        return a * b;
    default: return reduce_beats(op, b, a) ? b : a;
  }
}

}  // namespace ruda

#undef RUDA_REDUCE_FN
