// src/core/dtype.hpp - facts of element types: names, sizes, blocks, and the C++ type of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <cstdint>

namespace ruda {

// Bit patterns of the 16-bit floats; arithmetic happens in float.
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};

enum class DtypeClass : uint8_t { real, integer, boolean, block };

struct DtypeInfo {
  uint32_t code;
  const char* name;
  DtypeClass type_class;
  bool is_signed;
  uint32_t block_elements;  // 1 for plain types, 2 for F4E2M1
  uint32_t block_bytes;
};

// nullptr for an unknown code.
const DtypeInfo* find_dtype(uint32_t code) noexcept;
// For a code that was checked before.
const DtypeInfo& dtype_info(uint32_t code) noexcept;
// "F32", or "dtype 99" for an unknown code; static or thread-local text.
const char* dtype_name(uint32_t code) noexcept;

inline bool is_block(uint32_t code) { return code >= 256; }

template <class T>
struct DtypeOf;
#define RUDA_DTYPE_OF(type, dtype)          \
  template <>                               \
  struct DtypeOf<type> {                    \
    static constexpr uint32_t code = dtype; \
  }
RUDA_DTYPE_OF(double, RUDA_F64);
RUDA_DTYPE_OF(float, RUDA_F32);
RUDA_DTYPE_OF(f16, RUDA_F16);
RUDA_DTYPE_OF(bf16, RUDA_BF16);
RUDA_DTYPE_OF(int8_t, RUDA_I8);
RUDA_DTYPE_OF(uint8_t, RUDA_U8);
RUDA_DTYPE_OF(int16_t, RUDA_I16);
RUDA_DTYPE_OF(uint16_t, RUDA_U16);
RUDA_DTYPE_OF(int32_t, RUDA_I32);
RUDA_DTYPE_OF(uint32_t, RUDA_U32);
RUDA_DTYPE_OF(int64_t, RUDA_I64);
RUDA_DTYPE_OF(uint64_t, RUDA_U64);
#undef RUDA_DTYPE_OF

template <class T>
inline constexpr uint32_t dtype_of = DtypeOf<T>::code;

// A list of C++ types: what a contract accepts and what a kernel visits.
template <class... T>
struct Types {};

// Calls f(T{}) for the type of `Types` whose dtype is `code`; false when the list has none.
template <class F, class... T>
bool visit(uint32_t code, Types<T...>, F&& f) {
  return ((code == dtype_of<T> && (f(T{}), true)) || ...);
}

}  // namespace ruda
