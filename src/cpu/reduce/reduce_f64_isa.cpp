// src/cpu/reduce/reduce_f64_isa.cpp - vector kernels of the reductions of F64: rows, columns side by side.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/reduce_table.hpp"
#include "cpu/simd/vec64.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr double infinity = __builtin_inf();

// Joins of vectors; `start` is what no elements give. Extremes keep a NaN once they have one.
struct Sum {
  static constexpr double start = 0;
  RUDA_INLINE F64 map(F64 x) { return x; }
  RUDA_INLINE F64 join(F64 a, F64 b) { return a + b; }
  RUDA_INLINE double join(double a, double b) { return a + b; }
};
struct Prod {
  static constexpr double start = 1;
  RUDA_INLINE F64 map(F64 x) { return x; }
  RUDA_INLINE F64 join(F64 a, F64 b) { return a * b; }
  RUDA_INLINE double join(double a, double b) { return a * b; }
};
struct Max {
  static constexpr double start = -infinity;
  RUDA_INLINE F64 map(F64 x) { return x; }
  RUDA_INLINE F64 join(F64 a, F64 b) { return max_nan(a, b); }
  RUDA_INLINE double join(double a, double b) { return a != a || a > b ? a : b; }
  RUDA_INLINE I64 beats(F64 a, F64 b) { return (I64)(a > b); }
  RUDA_INLINE bool beats(double a, double b) { return a > b; }
};
struct Min {
  static constexpr double start = infinity;
  RUDA_INLINE F64 map(F64 x) { return x; }
  RUDA_INLINE F64 join(F64 a, F64 b) { return min_nan(a, b); }
  RUDA_INLINE double join(double a, double b) { return a != a || a < b ? a : b; }
  RUDA_INLINE I64 beats(F64 a, F64 b) { return (I64)(a < b); }
  RUDA_INLINE bool beats(double a, double b) { return a < b; }
};
struct MaxAbs : Max {
  static constexpr double start = 0;
  RUDA_INLINE F64 map(F64 x) { return abs(x); }
};
RUDA_INLINE F64 one_unless_zero(F64 x) { return select((I64)(x == set64(0)), set64(0), set64(1)); }
struct Any : Max {
  static constexpr double start = 0;
  RUDA_INLINE F64 map(F64 x) { return one_unless_zero(x); }
};
struct All : Min {
  static constexpr double start = 1;
  RUDA_INLINE F64 map(F64 x) { return one_unless_zero(x); }
};

// Eight running vectors, joined pair by pair; then lane after lane, and at last the elements that fill none.
template <class Op>
RUDA_INLINE double join_row(const double* x, int64_t count) {
  F64 v[8];
  for (F64& part : v) part = set64(Op::start);
  int64_t i = 0;
  for (; i + 8 * lanes64 <= count; i += 8 * lanes64)
    for (int k = 0; k < 8; k++) v[k] = Op::join(v[k], Op::map(load(x + i + k * lanes64)));
  for (; i + lanes64 <= count; i += lanes64) v[0] = Op::join(v[0], Op::map(load(x + i)));
  for (int step = 4; step; step /= 2)
    for (int k = 0; k < step; k++) v[k] = Op::join(v[k], v[k + step]);
  double r = v[0][0];
  for (int k = 1; k < lanes64; k++) r = Op::join(r, v[0][k]);
  if (const int tail = int(count - i)) {
    const F64 last = Op::map(load(x + i, tail));
    for (int k = 0; k < tail; k++) r = Op::join(r, last[k]);
  }
  return r;
}

template <class Op>
void row(const void* x, int64_t count, int64_t, ReduceValue* joined) {
  joined->value = Op::join(joined->value, join_row<Op>(static_cast<const double*>(x), count));
}

// Finds the extreme first, then looks for its place only where it beats what was there.
template <class Op>
void row_index(const void* x_data, int64_t count, int64_t first_index, ReduceValue* joined) {
  const double* x = static_cast<const double*>(x_data);
  if (joined->value != joined->value) return;
  const double r = join_row<Op>(x, count);
  const bool nan = r != r;
  if (!nan && joined->index >= 0 && !Op::beats(r, joined->value)) return;
  const auto fits = [&](double v) { return nan ? v != v : v == r; };
  int64_t i = 0;
  for (const F64 wanted = set64(r); i + lanes64 <= count; i += lanes64) {
    const F64 v = load(x + i);
    if (any(nan ? (I64)(v != v) : (I64)(v == wanted))) break;
  }
  while (i < count && !fits(x[i])) i++;
  if (i == count) return;
  joined->value = r;
  joined->index = first_index + i;
}

template <class Op>
void columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t, void* values,
             int64_t*) {
  const double* x = static_cast<const double*>(x_data);
  double* value = static_cast<double*>(values);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const double *one = x + r * row_stride, *two = one + row_stride, *three = two + row_stride,
                 *four = three + row_stride;
    int64_t c = 0;
    for (; c + lanes64 <= cols; c += lanes64) {
      const F64 a = Op::join(Op::map(load(one + c)), Op::map(load(two + c)));
      const F64 b = Op::join(Op::map(load(three + c)), Op::map(load(four + c)));
      store(value + c, Op::join(load(value + c), Op::join(a, b)));
    }
    if (const int n = int(cols - c)) {
      const F64 a = Op::join(Op::map(load(one + c, n)), Op::map(load(two + c, n)));
      const F64 b = Op::join(Op::map(load(three + c, n)), Op::map(load(four + c, n)));
      store(value + c, Op::join(load(value + c, n), Op::join(a, b)), n);
    }
  }
  for (; r < rows; r++) {
    const double* one = x + r * row_stride;
    int64_t c = 0;
    for (; c + lanes64 <= cols; c += lanes64)
      store(value + c, Op::join(load(value + c), Op::map(load(one + c))));
    if (const int n = int(cols - c))
      store(value + c, Op::join(load(value + c, n), Op::map(load(one + c, n))), n);
  }
}

template <class Op>
void columns_index(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t first_row,
                   void* values, int64_t* index) {
  const double* x = static_cast<const double*>(x_data);
  double* value = static_cast<double*>(values);
  for (int64_t c = 0; c < cols; c += lanes64) {
    const int n = cols - c < lanes64 ? int(cols - c) : lanes64;
    const auto at = [&](int64_t r) {
      const double* from = x + r * row_stride + c;
      return n == lanes64 ? load(from) : load(from, n);
    };
    F64 best = at(0);
    I64 place{};
    for (int64_t r = 1; r < rows; r++) {
      const F64 v = at(r);
      const I64 taken = Op::beats(v, best) | ((I64)(v != v) & (I64)(best == best));
      best = select(taken, v, best);
      place = (I64)select(taken, (F64)(r - I64{}), (F64)place);
    }
    store(value + c, best, n);
    for (int k = 0; k < n; k++) index[c + k] = first_row + place[k];
  }
}

}  // namespace

extern const ReduceF64Table reduce_f64_table{
    {row<Sum>, row<Sum>, row<Prod>, row<Max>, row<Min>, row<MaxAbs>, row_index<Max>, row_index<Min>, row<Any>,
     row<All>},
    {columns<Sum>, columns<Sum>, columns<Prod>, columns<Max>, columns<Min>, columns<MaxAbs>,
     columns_index<Max>, columns_index<Min>, columns<Any>, columns<All>}};

}  // namespace ruda::cpu::RUDA_ISA
