// src/core/op_rows.hpp - what contracts and kernels read of the function tables.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/dtype.hpp"

#include <ruda/elementwise.h>

namespace ruda {

enum RowOperands : uint8_t { rows_R = 1, rows_I = 2, rows_B = 4, rows_RI = 3, rows_IB = 6, rows_RIB = 7 };
enum RowResult : uint8_t { row_S, row_B };

struct OpRow {
  uint32_t code;
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

// nullptr for an unknown code.
template <int count>
const OpRow* find_row(const OpRow (&rows)[count], uint32_t code) {
  return code >= 1 && code <= uint32_t(count) ? &rows[code - 1] : nullptr;
}

constexpr OpRow binary_rows[] = {
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  {RUDA_BINARY_##NAME, name, rows_##operands, row_##result, formula, ulp},
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
};

// Where kernels keep a function for each dtype: the three float dtypes that vectors hold, then F64 and the
// integers.
constexpr int row_dtypes = 12, row_vector_dtypes = 3;
constexpr int row_dtype_index(uint32_t dtype) {
  constexpr int index[] = {-1, 3, 0, 1, 2, -1, -1, -1, 4, 5, 6, 7, 8, 9, 10, 11, 5};
  return dtype < sizeof index / sizeof index[0] ? index[dtype] : -1;
}

}  // namespace ruda
