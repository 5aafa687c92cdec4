// src/core/op_rows.hpp - what contracts and kernels read of the function tables.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/dtype.hpp"

#include <cmath>

namespace ruda {

enum RowOperands : uint8_t { rows_R = 1, rows_I = 2, rows_B = 4, rows_RI = 3, rows_IB = 6, rows_RIB = 7 };
enum RowResult : uint8_t { row_S, row_B, row_X };

// The code of a row is its place in the table, counted from 1.
struct OpRow {
  const char* name;
  RowOperands operands;
  RowResult result;
  const char* formula;
  double ulp;

  bool takes(uint32_t dtype) const {
    const DtypeInfo& info = dtype_info(dtype);
    if (info.block_elements != 1) return false;
    switch (info.type_class) {
      case DtypeClass::real: return (operands & rows_R) && info.block_bytes > 1;
      case DtypeClass::integer: return operands & rows_I;
      default: return operands & rows_B;
    }
  }
  // For messages, such as "float or integer dtypes".
  const char* takes_text() const {
    static constexpr const char* texts[] = {"",
                                            "F64, F32, F16 or BF16",
                                            "an integer dtype",
                                            "a float or integer dtype",
                                            "BOOL",
                                            "",
                                            "an integer dtype or BOOL",
                                            "a float, an integer dtype or BOOL"};
    return texts[operands];
  }
};

// A scalar operand is rounded for integers, as a fill is; the conversion that follows would cut it off.
inline double binary_scalar(uint32_t dtype, double value) {
  return dtype_info(dtype).type_class == DtypeClass::integer ? std::nearbyint(value) : value;
}

// nullptr for an unknown code.
template <int count>
const OpRow* find_row(const OpRow (&rows)[count], uint32_t code) {
  return code >= 1 && code <= uint32_t(count) ? &rows[code - 1] : nullptr;
}

constexpr OpRow binary_rows[] = {
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  {name, rows_##operands, row_##result, formula, ulp},
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
};

constexpr OpRow unary_rows[] = {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  {name, rows_##operands, row_##result, formula, ulp},
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
};

constexpr OpRow reduce_rows[] = {
#define RUDA_REDUCE_ROW(NAME, name, operands, result, formula, bound) \
  {name, rows_##operands, row_##result, formula, 0},
#include "core/reduce_rows.inc"
#undef RUDA_REDUCE_ROW
};

// Where kernels keep a function for each dtype: the three float dtypes that vectors hold, then F64 and the
// integers.
constexpr int row_dtypes = 12, row_vector_dtypes = 3;
constexpr int row_dtype_index(uint32_t dtype) {
  constexpr int index[] = {-1, 3, 0, 1, 2, -1, -1, -1, 4, 5, 6, 7, 8, 9, 10, 11, 5};
  return dtype < sizeof index / sizeof index[0] ? index[dtype] : -1;
}

}  // namespace ruda
