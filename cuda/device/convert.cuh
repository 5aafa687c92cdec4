// cuda/device/convert.cuh - conversions between element types, each rounded once, as the tensor calls
// promise.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace ruda::cuda {

__device__ inline float to_f32(float x) { return x; }
__device__ inline float to_f32(__half x) { return __half2float(x); }
__device__ inline float to_f32(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__device__ T from_f32(float x);
template <>
__device__ inline float from_f32<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_f32<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_f32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// Two at a time where an instruction rounds two.
template <int N>
__device__ inline void round_f32(const float (&from)[N], float (&to)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = from[i];
}
template <int N>
__device__ inline void round_f32(const float (&from)[N], __half (&to)[N]) {
#pragma unroll
  for (int i = 0; i + 1 < N; i += 2) {
    const __half2 two = __floats2half2_rn(from[i], from[i + 1]);
    to[i] = __low2half(two);
    to[i + 1] = __high2half(two);
  }
  if constexpr (N % 2) to[N - 1] = __float2half_rn(from[N - 1]);
}
template <int N>
__device__ inline void round_f32(const float (&from)[N], __nv_bfloat16 (&to)[N]) {
#pragma unroll
  for (int i = 0; i + 1 < N; i += 2) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(from[i], from[i + 1]);
    to[i] = __low2bfloat16(two);
    to[i + 1] = __high2bfloat16(two);
  }
  if constexpr (N % 2) to[N - 1] = __float2bfloat16_rn(from[N - 1]);
}

// F4E2M1: 0 0.5 1 1.5 2 3 4 6 and their negatives.
__device__ inline float from_f4e2m1(uint32_t code) {
  const uint32_t magnitude = code & 7;
  const float value =
      magnitude < 4 ? 0.5f * float(magnitude) : (2.0f + float(magnitude & 1)) * (magnitude & 2 ? 2.0f : 1.0f);
  return code & 8 ? -value : value;
}

// To the nearest, of two the even code; NaN becomes 6.
__device__ inline uint32_t to_f4e2m1(double x) {
  if (x != x) return 7;
  const double magnitude = fabs(x);
  const uint32_t code = uint32_t(magnitude > 0.25) + (magnitude >= 0.75) + (magnitude > 1.25) +
                        (magnitude >= 1.75) + (magnitude > 2.5) + (magnitude >= 3.5) + (magnitude > 5.0);
  return code | (signbit(x) ? 8u : 0u);
}

// The dtype codes come as values here: for conversions of any pair, where memory and not arithmetic is the
// limit.
enum class WideKind : uint8_t { real, signed_integer, unsigned_integer };

__host__ __device__ inline WideKind wide_kind(uint32_t dtype) {
  switch (dtype) {
    case RUDA_I8:
    case RUDA_I16:
    case RUDA_I32:
    case RUDA_I64: return WideKind::signed_integer;
    case RUDA_U8:
    case RUDA_U16:
    case RUDA_U32:
    case RUDA_U64:
    case RUDA_BOOL: return WideKind::unsigned_integer;
    default: return WideKind::real;
  }
}

__device__ inline double load_real(uint32_t dtype, const void* p, int64_t i) {
  switch (dtype) {
    case RUDA_F64: return static_cast<const double*>(p)[i];
    case RUDA_F32: return static_cast<const float*>(p)[i];
    case RUDA_F16: return __half2float(static_cast<const __half*>(p)[i]);
    case RUDA_BF16: return __bfloat162float(static_cast<const __nv_bfloat16*>(p)[i]);
    case RUDA_F8E4M3:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(p)[i], __NV_E4M3)));
    default:
      return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<const uint8_t*>(p)[i], __NV_E5M2)));
  }
}

__device__ inline int64_t load_signed(uint32_t dtype, const void* p, int64_t i) {
  switch (dtype) {
    case RUDA_I8: return static_cast<const int8_t*>(p)[i];
    case RUDA_I16: return static_cast<const int16_t*>(p)[i];
    case RUDA_I32: return static_cast<const int32_t*>(p)[i];
    default: return static_cast<const int64_t*>(p)[i];
  }
}

__device__ inline uint64_t load_unsigned(uint32_t dtype, const void* p, int64_t i) {
  switch (dtype) {
    case RUDA_U8: return static_cast<const uint8_t*>(p)[i];
    case RUDA_BOOL: return static_cast<const uint8_t*>(p)[i] != 0;
    case RUDA_U16: return static_cast<const uint16_t*>(p)[i];
    case RUDA_U32: return static_cast<const uint32_t*>(p)[i];
    default: return static_cast<const uint64_t*>(p)[i];
  }
}

// The FP8 dtypes with the other answer to overflow, as dtype codes of store_real.
enum : uint32_t { nonfinite_e4m3 = 0x10000 | RUDA_F8E4M3, saturating_e5m2 = 0x10000 | RUDA_F8E5M2 };

inline uint32_t with_overflow(uint32_t dtype, uint32_t overflow) {
  if (dtype == RUDA_F8E4M3 && overflow == RUDA_OVERFLOW_NONFINITE) return nonfinite_e4m3;
  if (dtype == RUDA_F8E5M2 && overflow == RUDA_OVERFLOW_SATURATE) return saturating_e5m2;
  return dtype;
}

// F8E4M3 saturates, F8E5M2 knows infinity; the other two are the other way around.
__device__ inline void store_real(uint32_t dtype, void* p, int64_t i, double x) {
  switch (dtype) {
    case RUDA_F64: static_cast<double*>(p)[i] = x; return;
    case RUDA_F32: static_cast<float*>(p)[i] = float(x); return;
    case RUDA_F16: static_cast<__half*>(p)[i] = __double2half(x); return;
    case RUDA_BF16: static_cast<__nv_bfloat16*>(p)[i] = __double2bfloat16(x); return;
    case RUDA_F8E4M3:
      static_cast<uint8_t*>(p)[i] = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
      return;
    case nonfinite_e4m3:
      static_cast<uint8_t*>(p)[i] = __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E4M3);
      return;
    case saturating_e5m2:
      static_cast<uint8_t*>(p)[i] = __nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
      return;
    default: static_cast<uint8_t*>(p)[i] = __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E5M2); return;
  }
}

// An integer between the limits of the dtype; bit patterns of both signs are the same.
__device__ inline void store_bits(uint32_t dtype, void* p, int64_t i, uint64_t bits) {
  switch (dtype) {
    case RUDA_I8:
    case RUDA_U8:
    case RUDA_BOOL: static_cast<uint8_t*>(p)[i] = uint8_t(bits); return;
    case RUDA_I16:
    case RUDA_U16: static_cast<uint16_t*>(p)[i] = uint16_t(bits); return;
    case RUDA_I32:
    case RUDA_U32: static_cast<uint32_t*>(p)[i] = uint32_t(bits); return;
    default: static_cast<uint64_t*>(p)[i] = bits; return;
  }
}

struct IntRange {
  int64_t low;
  uint64_t high;
};

__device__ inline IntRange int_range(uint32_t dtype) {
  switch (dtype) {
    case RUDA_I8: return {INT8_MIN, INT8_MAX};
    case RUDA_U8: return {0, UINT8_MAX};
    case RUDA_I16: return {INT16_MIN, INT16_MAX};
    case RUDA_U16: return {0, UINT16_MAX};
    case RUDA_I32: return {INT32_MIN, INT32_MAX};
    case RUDA_U32: return {0, UINT32_MAX};
    case RUDA_I64: return {INT64_MIN, INT64_MAX};
    default: return {0, UINT64_MAX};
  }
}

// Toward zero, saturating, NaN becomes 0.
__device__ inline uint64_t real_to_bits(uint32_t dtype, double x) {
  if (dtype == RUDA_BOOL) return x != 0;
  const IntRange range = int_range(dtype);
  if (x != x) return 0;
  if (x <= double(range.low)) return uint64_t(range.low);
  if (x >= double(range.high)) return range.high;
  return range.low < 0 ? uint64_t(int64_t(x)) : uint64_t(x);
}

// y[to] = x[from] with dtype codes of both sides.
__device__ inline void convert_element(uint32_t x_dtype, const void* x, int64_t from, uint32_t y_dtype,
                                       void* y, int64_t to) {
  const bool to_real = wide_kind(y_dtype) == WideKind::real;
  switch (wide_kind(x_dtype)) {
    case WideKind::real: {
      const double value = load_real(x_dtype, x, from);
      if (to_real) return store_real(y_dtype, y, to, value);
      return store_bits(y_dtype, y, to, real_to_bits(y_dtype, value));
    }
    case WideKind::signed_integer: {
      const int64_t value = load_signed(x_dtype, x, from);
      if (y_dtype == RUDA_F32) return void(static_cast<float*>(y)[to] = float(value));
      if (to_real) return store_real(y_dtype, y, to, double(value));
      if (y_dtype == RUDA_BOOL) return store_bits(y_dtype, y, to, value != 0);
      const IntRange range = int_range(y_dtype);
      const int64_t low = value < range.low ? range.low : value;
      return store_bits(y_dtype, y, to, low > 0 && uint64_t(low) > range.high ? range.high : uint64_t(low));
    }
    case WideKind::unsigned_integer: {
      const uint64_t value = load_unsigned(x_dtype, x, from);
      if (y_dtype == RUDA_F32) return void(static_cast<float*>(y)[to] = float(value));
      if (to_real) return store_real(y_dtype, y, to, double(value));
      if (y_dtype == RUDA_BOOL) return store_bits(y_dtype, y, to, value != 0);
      const IntRange range = int_range(y_dtype);
      return store_bits(y_dtype, y, to, value > range.high ? range.high : value);
    }
  }
}

// The same conversions with both dtypes known to the compiler, by the instructions of the narrow types
// wherever these give what the way through double gives.

// How elements lie in memory; FP8 and BOOL are bytes.
template <uint32_t Dtype>
struct StoredType;
#define RUDA_STORED(DTYPE, type)    \
  template <>                       \
  struct StoredType<RUDA_##DTYPE> { \
    using value = type;             \
  };
RUDA_STORED(F64, double)
RUDA_STORED(F32, float)
RUDA_STORED(F16, __half)
RUDA_STORED(BF16, __nv_bfloat16)
RUDA_STORED(F8E4M3, uint8_t)
RUDA_STORED(F8E5M2, uint8_t)
RUDA_STORED(I8, int8_t)
RUDA_STORED(U8, uint8_t)
RUDA_STORED(I16, int16_t)
RUDA_STORED(U16, uint16_t)
RUDA_STORED(I32, int32_t)
RUDA_STORED(U32, uint32_t)
RUDA_STORED(I64, int64_t)
RUDA_STORED(U64, uint64_t)
RUDA_STORED(BOOL, uint8_t)
#undef RUDA_STORED
template <uint32_t Dtype>
using Stored = typename StoredType<Dtype>::value;

// float holds all of F16, BF16 and FP8.
template <uint32_t X, class T>
__device__ inline auto value_of(T x) {
  if constexpr (X == RUDA_F8E4M3)
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E4M3)));
  else if constexpr (X == RUDA_F8E5M2)
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(x, __NV_E5M2)));
  else if constexpr (X == RUDA_BOOL)
    return uint8_t(x != 0);
  else
    return x;
}

template <class Y, class V>
__device__ inline Y saturate_integer(V v) {
  using Limits = std::numeric_limits<Y>;
  if constexpr ((sizeof(V) < 4 || std::is_same_v<V, int32_t>)&&(sizeof(Y) < 4 ||
                                                                std::is_same_v<Y, int32_t>)) {
    return Y(min(max(int32_t(v), int32_t(Limits::min())), int32_t(Limits::max())));
  } else if constexpr (std::is_signed_v<V>) {
    int64_t wide = v;
    if (wide < int64_t(Limits::min())) wide = int64_t(Limits::min());
    return wide > 0 && uint64_t(wide) > uint64_t(Limits::max()) ? Limits::max() : Y(wide);
  } else {
    return uint64_t(v) > uint64_t(Limits::max()) ? Limits::max() : Y(v);
  }
}

// The instructions saturate; NaN gives 0 in 32 bits only.
template <class Y>
__device__ inline Y whole_part(float v) {
  if constexpr (sizeof(Y) < 4)
    return saturate_integer<Y>(__float2int_rz(v));
  else if constexpr (std::is_same_v<Y, int32_t>)
    return __float2int_rz(v);
  else if constexpr (std::is_same_v<Y, uint32_t>)
    return __float2uint_rz(v);
  else if constexpr (std::is_signed_v<Y>)
    return v != v ? 0 : __float2ll_rz(v);
  else
    return v != v ? 0 : __float2ull_rz(v);
}

// Y may be one of the codes of with_overflow().
template <uint32_t Y, class V>
__device__ inline auto convert_value(V v) {
  if constexpr (Y == RUDA_BOOL) {
    return uint8_t(v != 0);
  } else if constexpr (Y == RUDA_F64) {
    return double(v);
  } else if constexpr (Y == RUDA_F32) {
    return float(v);
  } else if constexpr (Y == RUDA_F16 || Y == RUDA_BF16 || Y == RUDA_F8E4M3 || Y == RUDA_F8E5M2 ||
                       Y == nonfinite_e4m3 || Y == saturating_e5m2) {
    if constexpr (std::is_integral_v<V> && sizeof(V) < 4) {
      return convert_value<Y>(float(v));
    } else if constexpr (std::is_same_v<V, float> && Y == RUDA_F16) {
      return __float2half_rn(v);
    } else if constexpr (std::is_same_v<V, float> && Y == RUDA_BF16) {
      return __float2bfloat16_rn(v);
    } else if constexpr (std::is_same_v<V, float> && Y == RUDA_F8E4M3) {
      // The instruction forgets the sign of a NaN.
      const uint8_t code = __nv_cvt_float_to_fp8(v, __NV_SATFINITE, __NV_E4M3);
      return uint8_t(v != v ? (signbit(v) ? 0xFF : 0x7F) : code);
    } else if constexpr (Y == RUDA_F16) {
      return __double2half(double(v));
    } else if constexpr (Y == RUDA_BF16) {
      return __double2bfloat16(double(v));
    } else {
      uint8_t code;
      store_real(Y, &code, 0, double(v));
      return code;
    }
  } else if constexpr (std::is_same_v<V, float>) {
    return whole_part<Stored<Y>>(v);
  } else if constexpr (std::is_same_v<V, double>) {
    return Stored<Y>(real_to_bits(Y, v));
  } else {
    return saturate_integer<Stored<Y>>(v);
  }
}

}  // namespace ruda::cuda
