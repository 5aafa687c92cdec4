// cuda/elementwise/copy_pieces.cu - conversions between integers, BOOL, F64, FP8 and the other floats in
// pieces of 16 bytes of the wider dtype.
// SPDX-License-Identifier: Apache-2.0
#include "elementwise/copy_pieces.hpp"
#include "elementwise/vector.cuh"

#include <ruda/elementwise.h>

#include <cstring>

namespace ruda::cuda {
namespace {

// y as bits of so many bytes.
template <int Bytes>
using Bits = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

// A kernel for each dtype of x and each size of y, which is chosen once for the elements of a piece.
template <uint32_t X, int Bytes>
struct Convert {
  using All = Bits<Bytes>;
  uint32_t to;

  template <class Y, class V, int N>
  __device__ void all(All (&r)[N], const V (&x)[N]) const {
    constexpr bool real = X == RUDA_F32 || X == RUDA_F16 || X == RUDA_BF16;  // F32, F16, BF16 have their own
    switch (to) {
#define RUDA_TO(DTYPE, own)                                    \
  case DTYPE:                                                  \
    if constexpr (own && X != DTYPE) return each<DTYPE>(r, x); \
    break;
      RUDA_TO(RUDA_F64, Bytes == 8)
      RUDA_TO(RUDA_I64, Bytes == 8)
      RUDA_TO(RUDA_U64, Bytes == 8)
      RUDA_TO(RUDA_F32, Bytes == 4 && !real)
      RUDA_TO(RUDA_I32, Bytes == 4)
      RUDA_TO(RUDA_U32, Bytes == 4)
      RUDA_TO(RUDA_F16, Bytes == 2 && !real)
      RUDA_TO(RUDA_BF16, Bytes == 2 && !real)
      RUDA_TO(RUDA_I16, Bytes == 2)
      RUDA_TO(RUDA_U16, Bytes == 2)
      RUDA_TO(RUDA_F8E4M3, Bytes == 1)
      RUDA_TO(RUDA_F8E5M2, Bytes == 1)
      RUDA_TO(nonfinite_e4m3, Bytes == 1)
      RUDA_TO(saturating_e5m2, Bytes == 1)
      RUDA_TO(RUDA_I8, Bytes == 1)
      RUDA_TO(RUDA_U8, Bytes == 1)
      RUDA_TO(RUDA_BOOL, Bytes == 1)
#undef RUDA_TO
    }
  }

  template <uint32_t Y, class V, int N>
  __device__ static void each(All (&r)[N], const V (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const auto y = convert_value<Y>(value_of<X>(x[i]));
      static_assert(sizeof y == sizeof(All));
      memcpy(&r[i], &y, sizeof y);
    }
  }
};

template <uint32_t X, int Bytes>
void start(const Launch& l, uint32_t to) {
  launch_vector(l, l.problem[RUDA_COPY_X].layout->elements, l.ptr<Bits<Bytes>>(RUDA_COPY_Y),
                Convert<X, Bytes>{to}, l.ptr<const Stored<X>>(RUDA_COPY_X));
}

template <uint32_t X>
void start(const Launch& l) {
  const uint32_t y = l.problem[RUDA_COPY_Y].dtype();
  const uint32_t to = with_overflow(y, l.problem.as<ruda_copy_desc>().overflow);
  switch (dtype_info(y).block_bytes) {
    case 1: return start<X, 1>(l, to);
    case 2: return start<X, 2>(l, to);
    case 4: return start<X, 4>(l, to);
    default: return start<X, 8>(l, to);
  }
}

}  // namespace

void run_pieces(const Launch& l) {
  switch (l.problem[RUDA_COPY_X].dtype()) {
    case RUDA_F64: return start<RUDA_F64>(l);
    case RUDA_F32: return start<RUDA_F32>(l);
    case RUDA_F16: return start<RUDA_F16>(l);
    case RUDA_BF16: return start<RUDA_BF16>(l);
    case RUDA_F8E4M3: return start<RUDA_F8E4M3>(l);
    case RUDA_F8E5M2: return start<RUDA_F8E5M2>(l);
    case RUDA_I8: return start<RUDA_I8>(l);
    case RUDA_U8: return start<RUDA_U8>(l);
    case RUDA_I16: return start<RUDA_I16>(l);
    case RUDA_U16: return start<RUDA_U16>(l);
    case RUDA_I32: return start<RUDA_I32>(l);
    case RUDA_U32: return start<RUDA_U32>(l);
    case RUDA_I64: return start<RUDA_I64>(l);
    case RUDA_U64: return start<RUDA_U64>(l);
    default: return start<RUDA_BOOL>(l);
  }
}

}  // namespace ruda::cuda
