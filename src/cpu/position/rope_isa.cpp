// src/cpu/position/rope_isa.cpp - vector tokens of rope: cos and sin of a token once, then every head.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/position/position_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

typedef double F64 __attribute__((vector_size(8 * lanes)));
typedef int64_t I64 __attribute__((vector_size(8 * lanes)));
typedef uint64_t Pairs __attribute__((vector_size(4 * lanes)));  // two neighbouring floats each

constexpr int64_t block_pairs = 256;  // pairs whose cos and sin are kept at a time

// Taylor polynomials on [-pi/4, pi/4]: 1 ulp. The angle is reduced in double; n times the first part of pi/2
// is exact up to n = 2^20, beyond it is off by less than the rounding of the angle itself.
RUDA_INLINE void sin_cos(const F64& angle, F32& s, F32& c) {
  const double shift = 0x1.8p52;
  const F64 shifted = angle * 0.63661977236758134308 + shift, n = shifted - shift;
  const F64 reduced = (angle - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
  const F32 x = __builtin_convertvector(reduced, F32), q = x * x;
  const I32 quadrant = __builtin_convertvector((I64)shifted & 3, I32);
  F32 p = fma(q, set(2.7557319e-6f), set(-1.9841270e-4f));
  p = fma(p, q, set(8.3333333e-3f));
  p = fma(p, q, set(-1.6666667e-1f));
  const F32 sine = fma(p * q, x, x);
  p = fma(q, set(-2.7557319e-7f), set(2.4801587e-5f));
  p = fma(p, q, set(-1.3888889e-3f));
  p = fma(p, q, set(4.1666667e-2f));
  p = fma(p, q, set(-0.5f));
  const F32 cosine = fma(p, q, set(1.0f));
  const Mask odd = equal(quadrant & 1, set_i32(1));
  const I32 sine_sign = (quadrant & 2) << 30, cosine_sign = ((quadrant + 1) & 2) << 30;
  s = from_bits(bits(select(odd, cosine, sine)) ^ sine_sign);
  c = from_bits(bits(select(odd, sine, cosine)) ^ cosine_sign);
}

// The reduction above needs |n| below 2^51. Larger angles, infinities and NaN go through the C library.
[[gnu::noinline]] void far_sin_cos(const F64& angle, F32& s, F32& c) {
  for (int i = 0; i < lanes; i++) {
    s[i] = float(__builtin_sin(angle[i]));
    c[i] = float(__builtin_cos(angle[i]));
  }
}

RUDA_INLINE bool is_near(const F64& angle) {
  return all(less_equal(abs(__builtin_convertvector(angle, F32)), set(0x1p50f)));
}

RUDA_INLINE void angles_at(const RopeTokens& t, double position, int64_t pair, F64& angle) {
  if (t.frequencies) {
    __builtin_memcpy(&angle, t.frequencies + pair, sizeof angle);
  } else {
    const int64_t left = t.half - pair;
    const F32 f = left >= lanes ? load(t.frequencies_f32 + pair) : load(t.frequencies_f32 + pair, int(left));
    angle = __builtin_convertvector(f, F64);
  }
  angle *= position;
}

// cos and sin of `count` pairs from `first` on; sin carries the sign of the direction.
void angles(const RopeTokens& t, double position, int64_t first, int64_t count, float* cosines,
            float* sines) {
  const F32 factor = set(t.factor), signed_factor = t.inverse ? neg(factor) : factor;
  for (int64_t i = 0; i < count; i += lanes) {
    F64 angle;
    F32 s, c;
    angles_at(t, position, first + i, angle);
    if (is_near(angle)) [[likely]]
      sin_cos(angle, s, c);
    else
      far_sin_cos(angle, s, c);
    store(cosines + i, c * factor);
    store(sines + i, s * signed_factor);
  }
}

RUDA_INLINE void turn(F32 u, F32 v, F32 c, F32 s, F32& to_u, F32& to_v) {
  to_u = fnma(v, s, u * c);
  to_v = fma(u, s, v * c);
}

template <class T>
void rotate_half(const T* x, T* y, int64_t half, int64_t first, int64_t count, const float* cosines,
                 const float* sines) {
  const T *u = x + first, *v = u + half;
  T *to_u = y + first, *to_v = to_u + half;
  int64_t i = 0;
  F32 a, b;
  for (; i + lanes <= count; i += lanes) {
    turn(load(u + i), load(v + i), load(cosines + i), load(sines + i), a, b);
    store(to_u + i, a);
    store(to_v + i, b);
  }
  if (const int tail = int(count - i)) {
    turn(load(u + i, tail), load(v + i, tail), load(cosines + i), load(sines + i), a, b);
    store(to_u + i, a, tail);
    store(to_v + i, b, tail);
  }
}

// As above for pairs of neighbours: `cosines` and `sines` hold every value twice, the first sine of a pair
// negated.
template <class T>
void rotate_interleaved(const T* x, T* y, int64_t count, const float* cosines, const float* sines) {
  const auto swapped = [](F32 a) { return (F32)((Pairs)a << 32 | (Pairs)a >> 32); };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const F32 a = load(x + i);
    store(y + i, fma(swapped(a), load(sines + i), a * load(cosines + i)));
  }
  if (const int tail = int(count - i)) {
    const F32 a = load(x + i, tail);
    store(y + i, fma(swapped(a), load(sines + i), a * load(cosines + i)), tail);
  }
}

void spread_pairs(float* cosines, float* sines, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i) {
    const float c = cosines[i], s = sines[i];
    cosines[2 * i] = cosines[2 * i + 1] = c;
    sines[2 * i] = -s;
    sines[2 * i + 1] = s;
  }
}

template <class T>
void rope_tokens(const RopeTokens& t, int64_t begin, int64_t end) {
  alignas(64) float cosines[2 * block_pairs + lanes], sines[2 * block_pairs + lanes];
  for (int64_t token = begin; token < end; ++token) {
    const double position = t.wide_positions ? double(static_cast<const int64_t*>(t.positions)[token])
                                             : double(static_cast<const int32_t*>(t.positions)[token]);
    const T* x = static_cast<const T*>(t.x) + token * t.x_token;
    T* y = static_cast<T*>(t.y) + token * t.y_token;
    for (int64_t first = 0; first < t.half; first += block_pairs) {
      const int64_t count = t.half - first < block_pairs ? t.half - first : block_pairs;
      angles(t, position, first, count, cosines, sines);
      if (t.interleaved) {
        spread_pairs(cosines, sines, count);
        for (int64_t h = 0; h < t.heads; ++h)
          rotate_interleaved(x + h * t.x_head + 2 * first, y + h * t.y_head + 2 * first, 2 * count, cosines,
                             sines);
      } else {
        for (int64_t h = 0; h < t.heads; ++h)
          rotate_half(x + h * t.x_head, y + h * t.y_head, t.half, first, count, cosines, sines);
      }
    }
    if (x == y || 2 * t.half == t.head_dim) continue;
    for (int64_t h = 0; h < t.heads; ++h)
      __builtin_memcpy(y + h * t.y_head + 2 * t.half, x + h * t.x_head + 2 * t.half,
                       size_t(t.head_dim - 2 * t.half) * sizeof(T));
  }
}

}  // namespace

extern const PositionTable position_table{{rope_tokens<float>, rope_tokens<f16>, rope_tokens<bf16>}};

}  // namespace ruda::cpu::RUDA_ISA
