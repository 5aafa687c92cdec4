// src/core/row_functions.hpp - the functions of unary and binary for single numbers, on the host and in CUDA.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/int_ops.hpp"
#include "core/scalar_math.hpp"

#include <ruda/elementwise.h>

// The switches are on a value that all elements of a call share.
#if defined(__CUDACC__)
#define RUDA_ROW_FN  \
  template <class T> \
  __host__ __device__ static inline
#else
#define RUDA_ROW_FN  \
  template <class T> \
  static inline
#endif

// A row's case, in the functions of reals and of integers.
#define RUDA_CASE_R(op, real, integer) \
  case op:                             \
    return T(real);
#define RUDA_CASE_RI RUDA_CASE_R
#define RUDA_CASE_RIB RUDA_CASE_R
#define RUDA_CASE_I(op, real, integer)
#define RUDA_CASE_IB(op, real, integer)

namespace ruda {

// T is float or double.
RUDA_ROW_FN T unary_real(uint32_t op, T x) {
  using namespace scalar_math;
  switch (op) {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_CASE_##operands(RUDA_UNARY_##NAME, real, integer)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
  }
  return 0;
}

RUDA_ROW_FN T binary_real(uint32_t op, T a, T b) {
  using namespace scalar_math;
  switch (op) {
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_CASE_##operands(RUDA_BINARY_##NAME, real, integer)
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
  }
  return 0;
}

#undef RUDA_CASE_R
#undef RUDA_CASE_RI
#undef RUDA_CASE_RIB
#undef RUDA_CASE_I
#undef RUDA_CASE_IB
#define RUDA_CASE_R(op, real, integer)
#define RUDA_CASE_I(op, real, integer) \
  case op:                             \
    return integer;
#define RUDA_CASE_RI RUDA_CASE_I
#define RUDA_CASE_RIB RUDA_CASE_I
#define RUDA_CASE_IB RUDA_CASE_I

RUDA_ROW_FN T unary_integer(uint32_t op, T x) {
  switch (op) {
#define RUDA_UNARY_ROW(NAME, name, operands, result, formula, real, integer, ulp, floor) \
  RUDA_CASE_##operands(RUDA_UNARY_##NAME, real, integer)
#include "core/unary_rows.inc"
#undef RUDA_UNARY_ROW
  }
  return 0;
}

// Comparisons give 0 or 1.
RUDA_ROW_FN uint64_t binary_integer(uint32_t op, T a, T b) {
  switch (op) {
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_CASE_##operands(RUDA_BINARY_##NAME, real, uint64_t(integer))
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
  }
  return 0;
}

#undef RUDA_CASE_R
#undef RUDA_CASE_I
#undef RUDA_CASE_RI
#undef RUDA_CASE_RIB
#undef RUDA_CASE_IB
#undef RUDA_ROW_FN

}  // namespace ruda
