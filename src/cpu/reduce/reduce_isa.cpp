// src/cpu/reduce/reduce_isa.cpp - vector kernels of the reductions of F32, F16, BF16: rows, columns together.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/reduce_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr float infinity = __builtin_inff();

// Joins of vectors; `start` is what no elements give. Extremes keep a NaN once they have one.
struct Sum {
  static constexpr float start = 0;
  RUDA_INLINE F32 map(F32 x) { return x; }
  RUDA_INLINE F32 join(F32 a, F32 b) { return a + b; }
  RUDA_INLINE void add(double& a, float b) { a += b; }
};
struct Prod {
  static constexpr float start = 1;
  RUDA_INLINE F32 map(F32 x) { return x; }
  RUDA_INLINE F32 join(F32 a, F32 b) { return a * b; }
  RUDA_INLINE void add(double& a, float b) { a *= b; }
};
struct Max {
  static constexpr float start = -infinity;
  static constexpr bool lowest = false;
  RUDA_INLINE F32 map(F32 x) { return x; }
  RUDA_INLINE F32 join(F32 a, F32 b) { return max_nan(a, b); }
  RUDA_INLINE void add(double& a, float b) { a = a != a || a > b ? a : b; }
};
struct Min {
  static constexpr float start = infinity;
  static constexpr bool lowest = true;
  RUDA_INLINE F32 map(F32 x) { return x; }
  RUDA_INLINE F32 join(F32 a, F32 b) { return min_nan(a, b); }
  RUDA_INLINE void add(double& a, float b) { a = a != a || a < b ? a : b; }
};
struct MaxAbs : Max {
  static constexpr float start = 0;
  RUDA_INLINE F32 map(F32 x) { return abs(x); }
};
struct Any : Max {
  static constexpr float start = 0;
  RUDA_INLINE F32 map(F32 x) { return select(equal(x, zero()), zero(), set(1.0f)); }
};
struct All : Min {
  static constexpr float start = 1;
  RUDA_INLINE F32 map(F32 x) { return select(equal(x, zero()), zero(), set(1.0f)); }
};

// One value from all lanes: the upper half onto the lower, until one is left.
template <class Op>
RUDA_INLINE double fold(F32 v) {
  float lane[lanes];
  store(lane, v);
  double r = lane[0];
  for (int i = 1; i < lanes; i++) Op::add(r, lane[i]);
  return r;
}

template <class T, class Op>
double join_row(const T* x, int64_t count) {
  const F32 start = set(Op::start);
  F32 v[8];
  for (F32& part : v) part = start;
  int64_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes)
    for (int k = 0; k < 8; k++) v[k] = Op::join(v[k], Op::map(load(x + i + k * lanes)));
  for (; i + lanes <= count; i += lanes) v[0] = Op::join(v[0], Op::map(load(x + i)));
  if (const int tail = int(count - i))
    v[1] = Op::join(v[1], select(first(tail), Op::map(load(x + i, tail)), start));
  for (int step = 4; step; step /= 2)
    for (int k = 0; k < step; k++) v[k] = Op::join(v[k], v[k + step]);
  return fold<Op>(v[0]);
}

template <class T, class Op>
void row(const void* x, int64_t count, int64_t, ReduceValue* joined) {
  const double r = join_row<T, Op>(static_cast<const T*>(x), count);
  if constexpr (Op::start == 0 && !__is_base_of(Max, Op))
    joined->value += r;
  else if constexpr (Op::start == 1 && !__is_base_of(Min, Op))
    joined->value *= r;
  else
    Op::add(joined->value, float(r));
}

// Finds the extreme first, then looks for its place only where it beats what was there.
template <class T, class Op>
void row_index(const void* x_data, int64_t count, int64_t first_index, ReduceValue* joined) {
  const T* x = static_cast<const T*>(x_data);
  if (joined->value != joined->value) return;
  const double r = join_row<T, Op>(x, count);
  const bool nan = r != r;
  if (!nan && joined->index >= 0 && !(Op::lowest ? r < joined->value : r > joined->value)) return;
  const F32 wanted = set(float(r));
  for (int64_t i = 0; i < count; i += lanes) {
    const int n = count - i < lanes ? int(count - i) : lanes;
    const F32 v = load(x + i, n);
    const int at = first_true(mask_and(nan ? is_nan(v) : equal(v, wanted), first(n)));
    if (at < 0) continue;
    joined->value = r;
    joined->index = first_index + i + at;
    return;
  }
}

template <class T, class Op>
void columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t, void* values,
             int64_t*) {
  const T* x = static_cast<const T*>(x_data);
  float* value = static_cast<float*>(values);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T* at = x + r * row_stride;
    for (int64_t c = 0; c < cols; c += lanes) {
      const int n = cols - c < lanes ? int(cols - c) : lanes;
      if (n == lanes) {
        const F32 a = Op::join(Op::map(load(at + c)), Op::map(load(at + row_stride + c)));
        const F32 b =
            Op::join(Op::map(load(at + 2 * row_stride + c)), Op::map(load(at + 3 * row_stride + c)));
        store(value + c, Op::join(load(value + c), Op::join(a, b)));
      } else {
        const F32 a = Op::join(Op::map(load(at + c, n)), Op::map(load(at + row_stride + c, n)));
        const F32 b =
            Op::join(Op::map(load(at + 2 * row_stride + c, n)), Op::map(load(at + 3 * row_stride + c, n)));
        store(value + c, Op::join(load(value + c, n), Op::join(a, b)), n);
      }
    }
  }
  for (; r < rows; r++)
    for (int64_t c = 0; c < cols; c += lanes) {
      const int n = cols - c < lanes ? int(cols - c) : lanes;
      store(value + c, Op::join(load(value + c, n), Op::map(load(x + r * row_stride + c, n))), n);
    }
}

template <class T, class Op>
void columns_index(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t first_row,
                   void* values, int64_t* index) {
  const T* x = static_cast<const T*>(x_data);
  float* value = static_cast<float*>(values);
  for (int64_t c = 0; c < cols; c += lanes) {
    const int n = cols - c < lanes ? int(cols - c) : lanes;
    F32 best = load(x + c, n);
    I32 place = set_i32(0);
    for (int64_t r = 1; r < rows; r++) {
      const F32 v = load(x + r * row_stride + c, n);
      const Mask beats = Op::lowest ? less(v, best) : greater(v, best);
      const Mask first_nan = mask_and(is_nan(v), mask_not(is_nan(best)));
      const Mask taken = mask_or(beats, first_nan);
      best = select(taken, v, best);
      place = select(taken, set_i32(int32_t(r)), place);
    }
    store(value + c, best, n);
    for (int k = 0; k < n; k++) index[c + k] = first_row + place[k];
  }
}

#define RUDA_ROWS(Op) \
  { row<float, Op>, row<f16, Op>, row<bf16, Op> }
#define RUDA_INDEX_ROWS(Op) \
  { row_index<float, Op>, row_index<f16, Op>, row_index<bf16, Op> }
#define RUDA_COLUMNS(Op) \
  { columns<float, Op>, columns<f16, Op>, columns<bf16, Op> }
#define RUDA_INDEX_COLUMNS(Op) \
  { columns_index<float, Op>, columns_index<f16, Op>, columns_index<bf16, Op> }

}  // namespace

extern const ReduceTable reduce_table{
    {RUDA_ROWS(Sum), RUDA_ROWS(Sum), RUDA_ROWS(Prod), RUDA_ROWS(Max), RUDA_ROWS(Min), RUDA_ROWS(MaxAbs),
     RUDA_INDEX_ROWS(Max), RUDA_INDEX_ROWS(Min), RUDA_ROWS(Any), RUDA_ROWS(All)},
    {RUDA_COLUMNS(Sum), RUDA_COLUMNS(Sum), RUDA_COLUMNS(Prod), RUDA_COLUMNS(Max), RUDA_COLUMNS(Min),
     RUDA_COLUMNS(MaxAbs), RUDA_INDEX_COLUMNS(Max), RUDA_INDEX_COLUMNS(Min), RUDA_COLUMNS(Any),
     RUDA_COLUMNS(All)}};

}  // namespace ruda::cpu::RUDA_ISA
