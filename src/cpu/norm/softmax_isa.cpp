// src/cpu/norm/softmax_isa.cpp - vector rows of softmax: maximum, exponentials and sum, scaling.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/norm/softmax_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr int64_t kept_cols = 8192;  // exponentials of a 16-bit row this long stay on the stack, 32 KiB

// The largest element; a NaN does not count, it comes back through the sum.
template <class T>
float row_max(const T* x, int64_t cols) {
  const F32 lowest = set(-__builtin_inff());
  F32 m[4] = {lowest, lowest, lowest, lowest};
  int64_t c = 0;
  for (; c + 4 * lanes <= cols; c += 4 * lanes)
    for (int k = 0; k < 4; k++) m[k] = max(load(x + c + k * lanes), m[k]);
  for (; c + lanes <= cols; c += lanes) m[0] = max(load(x + c), m[0]);
  if (const int tail = int(cols - c)) m[1] = select(first(tail), max(load(x + c, tail), m[1]), m[1]);
  return max_lane(max(max(m[0], m[1]), max(m[2], m[3])));
}

// Sum of e^(x - top) in four running vectors; each exponential goes to keep(c, vector, count).
template <class T, class Keep>
float sum_exp(const T* x, int64_t cols, float top, Keep&& keep) {
  const F32 high = set(top);
  F32 sums[4] = {zero(), zero(), zero(), zero()};
  int64_t c = 0;
  for (; c + 4 * lanes <= cols; c += 4 * lanes)
    for (int k = 0; k < 4; k++) {
      const F32 e = exp(load(x + c + k * lanes) - high);
      keep(c + k * lanes, e, lanes);
      sums[k] = sums[k] + e;
    }
  for (; c < cols; c += lanes) {
    const int n = cols - c < lanes ? int(cols - c) : lanes;
    const F32 e = exp(load(x + c, n) - high);
    keep(c, e, n);
    sums[0] = sums[0] + select(first(n), e, zero());
  }
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T>
RUDA_INLINE void scale_to(const float* e, T* y, int64_t cols, F32 scale) {
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) store(y + c, load(e + c) * scale);
  if (const int tail = int(cols - c)) store(y + c, load(e + c, tail) * scale, tail);
}

template <class T>
void softmax_row(const void* x_data, void* y_data, int64_t cols) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const float top = row_max(x, cols);
  if constexpr (sizeof(T) == 4) {
    const float total = sum_exp(x, cols, top, [y](int64_t c, F32 e, int n) {
      if (n == lanes)
        store(y + c, e);
      else
        store(y + c, e, n);
    });
    scale_to(y, y, cols, set(1.0f / total));
  } else if (cols <= kept_cols) {
    float kept[kept_cols];
    const float total = sum_exp(x, cols, top, [&kept](int64_t c, F32 e, int n) {
      if (n == lanes)
        store(kept + c, e);
      else
        store(kept + c, e, n);
    });
    scale_to(kept, y, cols, set(1.0f / total));
  } else {
    const F32 scale = set(1.0f / sum_exp(x, cols, top, [](int64_t, F32, int) {})), high = set(top);
    for (int64_t c = 0; c < cols; c += lanes) {
      const int n = cols - c < lanes ? int(cols - c) : lanes;
      store(y + c, exp(load(x + c, n) - high) * scale, n);
    }
  }
}

template <class T>
void log_softmax_row(const void* x_data, void* y_data, int64_t cols) {
  const T* x = static_cast<const T*>(x_data);
  T* y = static_cast<T*>(y_data);
  const float top = row_max(x, cols);
  const F32 total = set(sum_exp(x, cols, top, [](int64_t, F32, int) {}));
  const F32 high = set(top), log_total = log(total);
  int64_t c = 0;
  for (; c + lanes <= cols; c += lanes) store(y + c, (load(x + c) - high) - log_total);
  if (const int tail = int(cols - c)) store(y + c, (load(x + c, tail) - high) - log_total, tail);
}

}  // namespace

extern const SoftmaxTable softmax_table{
    {softmax_row<float>, softmax_row<f16>, softmax_row<bf16>},
    {log_softmax_row<float>, log_softmax_row<f16>, log_softmax_row<bf16>}};

}  // namespace ruda::cpu::RUDA_ISA
