// src/core/convert.cpp - one element at a time through a type wide enough for both sides.
// SPDX-License-Identifier: Apache-2.0
#include "core/convert.hpp"

#include "core/half.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace ruda {
namespace {

struct F8E4M3 {
  uint8_t bits;
};
struct F8E5M2 {
  uint8_t bits;
};
// What only a result is: the same codes, another answer to overflow.
struct NonfiniteE4M3 {
  uint8_t bits;
};
struct SaturatingE5M2 {
  uint8_t bits;
};
struct Bool {
  uint8_t value;
};

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16> ||
                         std::is_same_v<T, F8E4M3> || std::is_same_v<T, F8E5M2> ||
                         std::is_same_v<T, NonfiniteE4M3> || std::is_same_v<T, SaturatingE5M2>;

// Reals widen to double, integers to their 64-bit kind; both are exact.
template <class T>
auto widen(T x) {
  if constexpr (std::is_same_v<T, Bool>)
    return uint64_t(x.value != 0);
  else if constexpr (std::is_same_v<T, F8E4M3>)
    return double(from_f8e4m3(x.bits));
  else if constexpr (std::is_same_v<T, F8E5M2>)
    return double(from_f8e5m2(x.bits));
  else if constexpr (is_real<T>)
    return double(to_float(x));
  else if constexpr (std::is_signed_v<T>)
    return int64_t(x);
  else
    return uint64_t(x);
}

// double -> float such that a later rounding to a narrower format is right: round to odd.
float to_odd(double x) {
  const float nearest = float(x);
  if (double(nearest) == x || !std::isfinite(nearest))
    return std::isinf(nearest) && std::isfinite(x) ? std::copysign(std::numeric_limits<float>::max(), nearest)
                                                   : nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool away = std::fabs(double(nearest)) > std::fabs(x);
  if (away) --bits;
  return std::bit_cast<float>(bits | 1);
}

template <class T, class W>
T narrow(W x) {
  if constexpr (std::is_same_v<T, Bool>) {
    return {uint8_t(x != W(0))};
  } else if constexpr (is_real<T>) {
    if constexpr (std::is_same_v<T, double>) {
      return double(x);
    } else if constexpr (std::is_same_v<T, float>) {
      return float(x);
    } else {
      float f;
      if constexpr (std::is_same_v<W, double>)
        f = to_odd(x);
      else  // a 64-bit integer beyond 2^53 is above every 16-bit rounding step's tie: sticky bit kept by
            // to_odd
        f = to_odd(double(x) == std::ldexp(1.0, 64) ? std::nextafter(double(x), 0.0) : double(x));
      if constexpr (std::is_same_v<T, F8E4M3>)
        return {to_f8e4m3(f)};
      else if constexpr (std::is_same_v<T, F8E5M2>)
        return {to_f8e5m2(f)};
      else if constexpr (std::is_same_v<T, NonfiniteE4M3>)
        return {to_f8e4m3(f, true)};
      else if constexpr (std::is_same_v<T, SaturatingE5M2>)
        return {to_f8e5m2(f, true)};
      else
        return from_float<T>(f);
    }
  } else if constexpr (std::is_same_v<W, double>) {
    if (std::isnan(x)) return T(0);
    const double low = double(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);  // one past the largest
    if (x >= high) return std::numeric_limits<T>::max();
    if (x <= low) return std::numeric_limits<T>::min();
    return T(x);
  } else {
    if constexpr (std::is_signed_v<W>) {
      if (x < 0 && (!std::is_signed_v<T> || x < int64_t(std::numeric_limits<T>::min())))
        return std::numeric_limits<T>::min();
      if (x > 0 && uint64_t(x) > uint64_t(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    } else if (x > uint64_t(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return T(x);
  }
}

template <class From, class To>
void convert(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step) {
    From x;
    std::memcpy(&x, from, sizeof x);
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, &x, sizeof x);
    } else {
      const To y = narrow<To>(widen(x));
      std::memcpy(to, &y, sizeof y);
    }
  }
}

template <class From>
Conversion find_to(uint32_t to, uint32_t overflow) noexcept {
  if (to == RUDA_F8E4M3 && overflow == RUDA_OVERFLOW_NONFINITE) return convert<From, NonfiniteE4M3>;
  if (to == RUDA_F8E5M2 && overflow == RUDA_OVERFLOW_SATURATE) return convert<From, SaturatingE5M2>;
  switch (to) {
    case RUDA_F64: return convert<From, double>;
    case RUDA_F32: return convert<From, float>;
    case RUDA_F16: return convert<From, f16>;
    case RUDA_BF16: return convert<From, bf16>;
    case RUDA_F8E4M3: return convert<From, F8E4M3>;
    case RUDA_F8E5M2: return convert<From, F8E5M2>;
    case RUDA_I8: return convert<From, int8_t>;
    case RUDA_U8: return convert<From, uint8_t>;
    case RUDA_I16: return convert<From, int16_t>;
    case RUDA_U16: return convert<From, uint16_t>;
    case RUDA_I32: return convert<From, int32_t>;
    case RUDA_U32: return convert<From, uint32_t>;
    case RUDA_I64: return convert<From, int64_t>;
    case RUDA_U64: return convert<From, uint64_t>;
    case RUDA_BOOL: return convert<From, Bool>;
  }
  return nullptr;
}

// Rounds |x| to `mantissa_bits` with exponents from 1 - bias; gives the code without sign, not clamped.
uint32_t encode_small(float magnitude, int mantissa_bits, int bias) {
  const uint32_t u = std::bit_cast<uint32_t>(magnitude);
  const int exponent = int(u >> 23) - 127;
  if (exponent < 1 - bias) {  // subnormal: steps of 2^(1 - bias - mantissa_bits)
    return uint32_t(std::nearbyintf(std::ldexp(magnitude, bias - 1 + mantissa_bits)));
  }
  const int drop = 23 - mantissa_bits;
  const uint32_t rounded = u + ((u >> drop) & 1) + ((1u << (drop - 1)) - 1);
  return (rounded >> drop) - (uint32_t(127 - bias) << mantissa_bits);
}

}  // namespace

uint8_t to_f8e4m3(float x, bool nonfinite) noexcept {
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return sign | 0x7F;
  const float magnitude = std::fabs(x);
  // 464 is between 448 and what would be the next number; the tie goes to 448.
  if (nonfinite && magnitude > 464.0f) return sign | 0x7F;
  if (magnitude >= 448.0f) return sign | 0x7E;
  const uint32_t code = encode_small(magnitude, 3, 7);
  return uint8_t(sign | (code > 0x7E ? 0x7E : code));
}

uint8_t to_f8e5m2(float x, bool saturate) noexcept {
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  if (std::isnan(x)) return sign | 0x7E;
  const uint8_t beyond = saturate ? 0x7B : 0x7C;
  if (std::isinf(x)) return sign | beyond;
  const uint32_t code = encode_small(std::fabs(x), 2, 15);
  return uint8_t(sign | (code > beyond ? beyond : code));
}

float from_f8e4m3(uint8_t code) noexcept {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  float magnitude;
  if (exponent == 15 && mantissa == 7)
    magnitude = std::numeric_limits<float>::quiet_NaN();
  else
    magnitude = exponent ? std::ldexp(float(8 + mantissa), exponent - 10) : std::ldexp(float(mantissa), -9);
  return code & 0x80 ? -magnitude : magnitude;
}

float from_f8e5m2(uint8_t code) noexcept { return to_float(f16{uint16_t(code << 8)}); }

uint8_t to_f4e2m1(double x) noexcept {
  if (std::isnan(x)) return 7;
  const double magnitude = std::fabs(x);
  // Halves between neighbours go to the even code: 0 0.5 1 1.5 2 3 4 6.
  constexpr double border[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
  uint8_t code = 0;
  while (code < 7 && (code % 2 ? magnitude >= border[code] : magnitude > border[code])) ++code;
  return uint8_t(code | (std::signbit(x) ? 8 : 0));
}

float from_f4e2m1(uint8_t code) noexcept {
  constexpr float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -values[code & 7] : values[code & 7];
}

Conversion find_conversion(uint32_t from, uint32_t to, uint32_t overflow) noexcept {
  switch (from) {
    case RUDA_F64: return find_to<double>(to, overflow);
    case RUDA_F32: return find_to<float>(to, overflow);
    case RUDA_F16: return find_to<f16>(to, overflow);
    case RUDA_BF16: return find_to<bf16>(to, overflow);
    case RUDA_F8E4M3: return find_to<F8E4M3>(to, overflow);
    case RUDA_F8E5M2: return find_to<F8E5M2>(to, overflow);
    case RUDA_I8: return find_to<int8_t>(to, overflow);
    case RUDA_U8: return find_to<uint8_t>(to, overflow);
    case RUDA_I16: return find_to<int16_t>(to, overflow);
    case RUDA_U16: return find_to<uint16_t>(to, overflow);
    case RUDA_I32: return find_to<int32_t>(to, overflow);
    case RUDA_U32: return find_to<uint32_t>(to, overflow);
    case RUDA_I64: return find_to<int64_t>(to, overflow);
    case RUDA_U64: return find_to<uint64_t>(to, overflow);
    case RUDA_BOOL: return find_to<Bool>(to, overflow);
  }
  return nullptr;
}

}  // namespace ruda
