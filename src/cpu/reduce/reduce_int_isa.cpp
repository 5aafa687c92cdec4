// src/cpu/reduce/reduce_int_isa.cpp - reductions of integers in loops that compilers make vectors of.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/reduce_table.hpp"
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Sums and products wrap, so they may be taken in unsigned 64-bit lanes, in any order.
struct Sum {
  template <class W>
  RUDA_INLINE W join(W a, W b) {
    return a + b;
  }
};
struct Prod {
  template <class W>
  RUDA_INLINE W join(W a, W b) {
    return a * b;
  }
};
template <class T, class Op>
void wrapping(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  uint64_t r = (uint64_t)joined->value;
  for (int64_t i = 0; i < count; i++) r = Op::join(r, (uint64_t)(int64_t)x[i]);
  joined->value = (int64_t)r;
}

struct Max {
  template <class T>
  RUDA_INLINE bool beats(T a, T b) {
    return a > b;
  }
};
struct Min {
  template <class T>
  RUDA_INLINE bool beats(T a, T b) {
    return a < b;
  }
};
// The extreme of dense elements, in the lanes of their own width.
template <class T, class Op>
T extreme_of(const T* x, int64_t count) {
  T r = x[0];
  for (int64_t i = 1; i < count; i++) r = Op::beats(x[i], r) ? x[i] : r;
  return r;
}
// 64 bits of a value, which are compared as signed or unsigned as its type is.
template <class T>
struct Wide {
  static constexpr bool is_signed = (T)-1 < (T)1;
  RUDA_INLINE bool less(int64_t a, int64_t b) { return is_signed ? a < b : (uint64_t)a < (uint64_t)b; }
};
template <class T, class Op>
RUDA_INLINE bool wide_beats(int64_t a, int64_t b) {
  return Op::beats(1, 0) ? Wide<T>::less(b, a) : Wide<T>::less(a, b);
}

template <class T, class Op>
void extreme(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  if (count <= 0) return;
  const int64_t r = (int64_t)extreme_of<T, Op>(static_cast<const T*>(x_data), count);
  if (wide_beats<T, Op>(r, joined->value)) joined->value = r;
}

// Looks for the place of the extreme only where it beats what was there.
template <class T, class Op>
void place(const void* x_data, int64_t count, int64_t first, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  if (count <= 0) return;
  const T r = extreme_of<T, Op>(x, count);
  if (joined->index >= 0 && !wide_beats<T, Op>((int64_t)r, joined->value)) return;
  int64_t at = 0;
  while (x[at] != r) at++;
  joined->value = (int64_t)r;
  joined->index = first + at;
}

template <class T>
void max_abs(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  int64_t r = joined->value;
  for (int64_t i = 0; i < count; i++) {
    // of the lowest I64 wraps to itself
    const int64_t wide = (int64_t)x[i],
                  size = Wide<T>::is_signed && wide < 0 ? (int64_t)(0 - (uint64_t)wide) : wide;
    r = Wide<T>::less(r, size) ? size : r;
  }
  joined->value = r;
}

template <class T, bool all>
void truth(const void* x_data, int64_t count, int64_t, ReduceInt* joined) {
  const T* x = static_cast<const T*>(x_data);
  T found = 0;
  for (int64_t i = 0; i < count; i++) found = (T)(found | (all ? (T)(x[i] == 0) : x[i]));
  if (found) joined->value = all ? 0 : 1;
}

// ---- columns side by side; at most 256 rows, so that narrow sums and the rows' numbers fit

static_assert(reduce_rows_block <= 256);

template <class T>
struct Unsigned {
  using Type = T;
};
template <>
struct Unsigned<int8_t> {
  using Type = uint8_t;
};
template <>
struct Unsigned<int16_t> {
  using Type = uint16_t;
};
template <>
struct Unsigned<int32_t> {
  using Type = uint32_t;
};

// W: what holds the result of a block, 32 bits for the sums of 8 and 16.
template <class T, class Op, class W>
RUDA_INLINE void wrapping_columns_in(const T* x, int64_t row_stride, int64_t rows, int64_t cols,
                                     int64_t* value) {
  W joined[reduce_columns];
  for (int64_t c = 0; c < cols; c++) joined[c] = (W)x[c];
  int64_t r = 1;
  for (; r + 4 <= rows; r += 4) {
    const T *one = x + r * row_stride, *two = one + row_stride, *three = two + row_stride,
            *four = three + row_stride;
    for (int64_t c = 0; c < cols; c++) {
      const W a = Op::join((W)one[c], (W)two[c]), b = Op::join((W)three[c], (W)four[c]);
      joined[c] = Op::join(joined[c], Op::join(a, b));
    }
  }
  for (; r < rows; r++) {
    const T* one = x + r * row_stride;
    for (int64_t c = 0; c < cols; c++) joined[c] = Op::join(joined[c], (W)one[c]);
  }
  for (int64_t c = 0; c < cols; c++)
    value[c] = (int64_t)Op::join((uint64_t)value[c], (uint64_t)(int64_t)joined[c]);
}
template <class T, class Op>
void wrapping_columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                      void* value, int64_t*) {
  const T* x = static_cast<const T*>(x_data);
  if constexpr (sizeof(T) < 4 && __is_same(Op, Sum))
    wrapping_columns_in<T, Op, int32_t>(x, row_stride, rows, cols, static_cast<int64_t*>(value));
  else
    wrapping_columns_in<T, Op, uint64_t>(x, row_stride, rows, cols, static_cast<int64_t*>(value));
}

template <class T, class Op>
void extreme_columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                     void* values, int64_t*) {
  const T* x = static_cast<const T*>(x_data);
  T best[reduce_columns];
  for (int64_t c = 0; c < cols; c++) best[c] = x[c];
  for (int64_t r = 1; r < rows; r++) {
    const T* row = x + r * row_stride;
    for (int64_t c = 0; c < cols; c++) best[c] = Op::beats(row[c], best[c]) ? row[c] : best[c];
  }
  int64_t* value = static_cast<int64_t*>(values);
  for (int64_t c = 0; c < cols; c++)
    if (wide_beats<T, Op>((int64_t)best[c], value[c])) value[c] = (int64_t)best[c];
}

template <class T, class Op>
void place_columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t first,
                   void* values, int64_t* index) {
  using Number = typename Unsigned<T>::Type;
  const T* x = static_cast<const T*>(x_data);
  T best[reduce_columns];
  Number place[reduce_columns];
  for (int64_t c = 0; c < cols; c++) best[c] = x[c], place[c] = 0;
  for (int64_t r = 1; r < rows; r++) {
    const T* row = x + r * row_stride;
    const Number number = (Number)r;
    for (int64_t c = 0; c < cols; c++) {
      const bool taken = Op::beats(row[c], best[c]);
      best[c] = taken ? row[c] : best[c];
      place[c] = taken ? number : place[c];
    }
  }
  int64_t* value = static_cast<int64_t*>(values);
  for (int64_t c = 0; c < cols; c++) value[c] = (int64_t)best[c], index[c] = first + (int64_t)place[c];
}

// |x| of fewer than 64 bits is taken without a sign, so that it fits for the lowest number too; that of the
// lowest I64 wraps to itself.
template <class T>
void max_abs_columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t,
                     void* values, int64_t*) {
  using Size = typename Unsigned<T>::Type;
  const T* x = static_cast<const T*>(x_data);
  Size best[reduce_columns];
  for (int64_t c = 0; c < cols; c++) best[c] = Wide<Size>::is_signed ? (Size)INT64_MIN : 0;
  for (int64_t r = 0; r < rows; r++) {
    const T* row = x + r * row_stride;
    for (int64_t c = 0; c < cols; c++) {
      const Size size = Wide<T>::is_signed && row[c] < 0 ? (Size)(0 - (uint64_t)row[c]) : (Size)row[c];
      best[c] = best[c] < size ? size : best[c];
    }
  }
  int64_t* value = static_cast<int64_t*>(values);
  for (int64_t c = 0; c < cols; c++)
    if (Wide<T>::less(value[c], (int64_t)best[c])) value[c] = (int64_t)best[c];
}

template <class T, bool all>
void truth_columns(const void* x_data, int64_t row_stride, int64_t rows, int64_t cols, int64_t, void* values,
                   int64_t*) {
  const T* x = static_cast<const T*>(x_data);
  T found[reduce_columns] = {};
  for (int64_t r = 0; r < rows; r++) {
    const T* row = x + r * row_stride;
    for (int64_t c = 0; c < cols; c++) found[c] = (T)(found[c] | (all ? (T)(row[c] == 0) : row[c]));
  }
  int64_t* value = static_cast<int64_t*>(values);
  for (int64_t c = 0; c < cols; c++)
    if (found[c]) value[c] = all ? 0 : 1;
}

#define RUDA_TYPES(f, ...)                                                                               \
  {                                                                                                      \
    f<int8_t __VA_ARGS__>, f<uint8_t __VA_ARGS__>, f<int16_t __VA_ARGS__>, f<uint16_t __VA_ARGS__>,      \
        f<int32_t __VA_ARGS__>, f<uint32_t __VA_ARGS__>, f<int64_t __VA_ARGS__>, f<uint64_t __VA_ARGS__> \
  }
#define RUDA_WITH(op) , op
#define RUDA_NONE

}  // namespace

// MEAN takes floats only.
extern const ReduceIntTable reduce_int_table{{RUDA_TYPES(wrapping, RUDA_WITH(Sum)),
                                              {},
                                              RUDA_TYPES(wrapping, RUDA_WITH(Prod)),
                                              RUDA_TYPES(extreme, RUDA_WITH(Max)),
                                              RUDA_TYPES(extreme, RUDA_WITH(Min)),
                                              RUDA_TYPES(max_abs, RUDA_NONE),
                                              RUDA_TYPES(place, RUDA_WITH(Max)),
                                              RUDA_TYPES(place, RUDA_WITH(Min)),
                                              RUDA_TYPES(truth, RUDA_WITH(false)),
                                              RUDA_TYPES(truth, RUDA_WITH(true))},
                                             {RUDA_TYPES(wrapping_columns, RUDA_WITH(Sum)),
                                              {},
                                              RUDA_TYPES(wrapping_columns, RUDA_WITH(Prod)),
                                              RUDA_TYPES(extreme_columns, RUDA_WITH(Max)),
                                              RUDA_TYPES(extreme_columns, RUDA_WITH(Min)),
                                              RUDA_TYPES(max_abs_columns, RUDA_NONE),
                                              RUDA_TYPES(place_columns, RUDA_WITH(Max)),
                                              RUDA_TYPES(place_columns, RUDA_WITH(Min)),
                                              RUDA_TYPES(truth_columns, RUDA_WITH(false)),
                                              RUDA_TYPES(truth_columns, RUDA_WITH(true))}};

}  // namespace ruda::cpu::RUDA_ISA
