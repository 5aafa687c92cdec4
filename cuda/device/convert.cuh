// cuda/device/convert.cuh - conversions between element types, each rounded once, as the tensor calls
// promise.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

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

}  // namespace ruda::cuda
