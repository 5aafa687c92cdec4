// src/cpu/elementwise/binary_int_isa.cpp - rows of the binary functions on F64 and integers.
// SPDX-License-Identifier: Apache-2.0
#include "core/int_ops.hpp"
#include "core/scalar_math.hpp"
#include "cpu/elementwise/binary_table.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class T, class Y, class F>
void dense(const void* a_data, const void* b_data, void* y_data, int64_t count) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  Y* y = static_cast<Y*>(y_data);
  for (int64_t i = 0; i < count; i++) y[i] = F::of(a[i], b[i]);
}

#define RUDA_REAL_FN(NAME, Y, real)          \
  struct NAME##_R {                          \
    using Result = Y;                        \
    static inline Y of(double a, double b) { \
      using namespace scalar_math;           \
      return real;                           \
    }                                        \
  };
#define RUDA_INT_FN(NAME, Y, integer) \
  struct NAME##_I {                   \
    template <class T>                \
    static inline Y of(T a, T b) {    \
      return integer;                 \
    }                                 \
  };
#define RUDA_MAKE_RI_S(NAME, real, integer) RUDA_REAL_FN(NAME, double, real) RUDA_INT_FN(NAME, T, integer)
#define RUDA_MAKE_RIB_S RUDA_MAKE_RI_S
#define RUDA_MAKE_RIB_B(NAME, real, integer) \
  RUDA_REAL_FN(NAME, uint8_t, real) RUDA_INT_FN(NAME, uint8_t, integer)
#define RUDA_MAKE_R_S(NAME, real, integer) RUDA_REAL_FN(NAME, double, real)
#define RUDA_MAKE_IB_S(NAME, real, integer) RUDA_INT_FN(NAME, T, integer)
#define RUDA_MAKE_I_S RUDA_MAKE_IB_S
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_MAKE_##operands##_##result(NAME, real, integer)
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW

#define RUDA_REAL(NAME) dense<double, NAME##_R::Result, NAME##_R>
#define RUDA_INTS(NAME)                                                                                  \
  dense<int8_t, int8_t, NAME##_I>, dense<uint8_t, uint8_t, NAME##_I>, dense<int16_t, int16_t, NAME##_I>, \
      dense<uint16_t, uint16_t, NAME##_I>, dense<int32_t, int32_t, NAME##_I>,                            \
      dense<uint32_t, uint32_t, NAME##_I>, dense<int64_t, int64_t, NAME##_I>,                            \
      dense<uint64_t, uint64_t, NAME##_I>
#define RUDA_COMPARES(NAME)                                                                               \
  dense<int8_t, uint8_t, NAME##_I>, dense<uint8_t, uint8_t, NAME##_I>, dense<int16_t, uint8_t, NAME##_I>, \
      dense<uint16_t, uint8_t, NAME##_I>, dense<int32_t, uint8_t, NAME##_I>,                              \
      dense<uint32_t, uint8_t, NAME##_I>, dense<int64_t, uint8_t, NAME##_I>,                              \
      dense<uint64_t, uint8_t, NAME##_I>
#define RUDA_ENTRY_RI_S(NAME) {RUDA_REAL(NAME), RUDA_INTS(NAME)},
#define RUDA_ENTRY_RIB_S(NAME) {RUDA_REAL(NAME), RUDA_INTS(NAME)},
#define RUDA_ENTRY_RIB_B(NAME) {RUDA_REAL(NAME), RUDA_COMPARES(NAME)},
#define RUDA_ENTRY_R_S(NAME) {RUDA_REAL(NAME)},
#define RUDA_ENTRY_IB_S(NAME) {nullptr, RUDA_INTS(NAME)},
#define RUDA_ENTRY_I_S(NAME) {nullptr, RUDA_INTS(NAME)},

}  // namespace

extern const BinaryIntTable binary_int_table{{
#define RUDA_BINARY_ROW(NAME, name, operands, result, formula, real, integer, ulp) \
  RUDA_ENTRY_##operands##_##result(NAME)
#include "core/binary_rows.inc"
#undef RUDA_BINARY_ROW
}};

}  // namespace ruda::cpu::RUDA_ISA
