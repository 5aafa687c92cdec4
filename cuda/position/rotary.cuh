// cuda/position/rotary.cuh - turning pairs of elements by angles that grow with a position, for kernels of
// rope and rope_append.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/rope_constants.hpp"
#include "device/convert.cuh"
#include "device/vec.cuh"

#include <ruda/position.h>

#include <algorithm>

namespace ruda::cuda {

constexpr int table_pairs = 256;

// Passed by value, so that a captured graph needs no memory of the plan's. The pairs are begin .. end.
struct Rotary {
  int64_t half, begin, end;
  float factor;
  bool interleaved, inverse, own_table;
  double frequencies[table_pairs];  // of the pairs from `begin`

  void set_pairs(const RopeConstants& c, int64_t first) {
    begin = first;
    end = own_table ? std::min(half, begin + table_pairs) : half;
    if (own_table)
      for (int64_t i = begin; i < end; ++i) frequencies[i - begin] = c.frequencies()[i];
  }

  void set(const RopeConstants& c, bool given_frequencies) {
    half = c.half;
    factor = float(c.factor);
    interleaved = c.pairing == RUDA_ROPE_INTERLEAVED;
    inverse = c.direction == RUDA_ROPE_INVERSE;
    own_table = !given_frequencies;
    set_pairs(c, 0);
  }

  // Elements of pair i.
  __device__ int64_t first(int64_t i) const { return interleaved ? 2 * i : i; }
  __device__ int64_t second(int64_t i) const { return interleaved ? 2 * i + 1 : i + half; }
};

struct Turn {
  float c, s;
};

__device__ inline Turn turn_by(const Rotary& r, double angle) {
  constexpr double part = 0.15915494309189533577;  // 1 / (2 pi)
  // Beyond 2^50 an angle is known to an eighth of a radian at best, and the reduction below has no bits left.
  while (fabs(angle) > 0x1p50) angle = fma(-rint(angle * part), 0x1.921fb54442d18p+2, angle);
  const double turns = rint(angle * part);
  const float reduced = float((angle - turns * 0x1.921fb544p+2) - turns * 0x1.0b4611a626331p-32);
  return {cosf(reduced) * r.factor, sinf(reduced) * (r.inverse ? -r.factor : r.factor)};
}

__device__ inline Turn turn_of(const Rotary& r, const float* tensor, double position, int64_t pair) {
  return turn_by(r, position * (r.own_table ? r.frequencies[pair - r.begin] : double(tensor[pair])));
}

__device__ inline void turn_pair(const Turn& t, float& u, float& v) {
  const float x = u, y = v;
  u = fmaf(-y, t.s, x * t.c);
  v = fmaf(x, t.s, y * t.c);
}

// N pairs of a head, those of turns[0 .. N-1], as they lie in two pieces: the first and the second elements,
// or (interleaved) one pair behind the other.
template <class T, int N>
__device__ inline void turn_pieces(bool interleaved, const Turn* turns, Vec<T, N>& low, Vec<T, N>& high) {
  float u[N], v[N];
#pragma unroll
  for (int k = 0; k < N; ++k) u[k] = to_f32(low[k]), v[k] = to_f32(high[k]);
  if (interleaved) {
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      turn_pair(turns[k], u[2 * k], u[2 * k + 1]);
      turn_pair(turns[k + N / 2], v[2 * k], v[2 * k + 1]);
    }
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) turn_pair(turns[k], u[k], v[k]);
  }
  round_f32(u, low.at);
  round_f32(v, high.at);
}

}  // namespace ruda::cuda
