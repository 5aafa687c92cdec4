// src/cpu/position/rotation.hpp - the rotation of one head, a pair at a time, for the plain kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/half.hpp"
#include "core/rope_constants.hpp"

#include <ruda/position.h>

#include <cmath>

namespace ruda::cpu {

// Calls put(element, value) for every element of a turned head.
template <class T>
struct Rotation {
  const RopeConstants& c;
  const float* frequencies;
  double position;

  template <class F>
  void each(const T* head, int64_t head_dim, F&& put) const {
    for (int64_t i = 0; i < c.half; ++i) {
      const double angle = position * (frequencies ? double(frequencies[i]) : c.frequencies()[i]);
      const float cosine = float(std::cos(angle) * c.factor);
      const float sine = float((c.direction == RUDA_ROPE_INVERSE ? -1 : 1) * std::sin(angle) * c.factor);
      const bool halves = c.pairing == RUDA_ROPE_HALF;
      const int64_t a = halves ? i : 2 * i, b = halves ? i + c.half : 2 * i + 1;
      const float u = to_float(head[a]), v = to_float(head[b]);
      put(a, from_float<T>(u * cosine - v * sine));
      put(b, from_float<T>(u * sine + v * cosine));
    }
    for (int64_t i = 2 * c.half; i < head_dim; ++i) put(i, head[i]);
  }
};

}  // namespace ruda::cpu
