// src/core/half.hpp - conversions of single f16 and bf16 values, round to nearest even, one NaN.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/dtype.hpp"

#include <bit>

namespace ruda {

inline float to_float(float x) { return x; }
inline double to_float(double x) { return x; }

inline float to_float(bf16 x) { return std::bit_cast<float>(uint32_t(x.bits) << 16); }

inline float to_float(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000) << 16, magnitude = x.bits & 0x7FFF;
  if (magnitude >= 0x7C00)  // infinity or NaN, made quiet
    return std::bit_cast<float>(sign | 0x7F800000u | magnitude << 13 | (magnitude > 0x7C00 ? 0x400000u : 0));
  if (magnitude < 0x400)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f));
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

inline bf16 to_bf16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if (x != x) return {0x7FC0};
  return {uint16_t((u + ((u >> 16) & 1) + 0x7FFF) >> 16)};
}

inline f16 to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return {0x7E00};
  if (magnitude >= 0x477FF000) return {uint16_t(sign | 0x7C00)};
  // Adding 0.5 puts the last bit of an f16 subnormal at the last bit of the sum, which the addition rounds.
  if (magnitude < 0x38800000)
    return {uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u))};
  return {uint16_t(sign | (magnitude - (112u << 23) + ((magnitude >> 13) & 1) + 0xFFF) >> 13)};
}

template <class T>
T from_float(float x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(x);
  else if constexpr (std::is_same_v<T, bf16>)
    return to_bf16(x);
  else
    return T(x);
}

}  // namespace ruda
