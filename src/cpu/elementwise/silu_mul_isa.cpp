// src/cpu/elementwise/silu_mul_isa.cpp - vector rows of silu_mul.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/elementwise/silu_mul_table.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// What a store and a load again make of it.
RUDA_INLINE F32 stored(F32 v, const float*) { return v; }
RUDA_INLINE F32 stored(F32 v, const f16*) { return from_f16(to_f16(v)); }
RUDA_INLINE F32 stored(F32 v, const bf16*) { return from_bf16(to_bf16(v)); }

// Which of two NaN factors a product gives is the compiler's choice; 16-bit stores make them one.
template <class T>
RUDA_INLINE F32 silu_mul(F32 gate, F32 up, const T* of) {
  const F32 y = stored(silu(gate), of) * up;
  return sizeof(T) == 4 ? one_nan(y) : y;
}

template <class T>
void silu_mul_row(const void* gate_data, const void* up_data, void* y_data, int64_t count) {
  const T* gate = static_cast<const T*>(gate_data);
  const T* up = static_cast<const T*>(up_data);
  T* y = static_cast<T*>(y_data);
  const int64_t whole = count / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) store(y + i, silu_mul(load(gate + i), load(up + i), gate));
  if (const int tail = int(count - whole))
    store(y + whole, silu_mul(load(gate + whole, tail), load(up + whole, tail), gate), tail);
}

}  // namespace

extern const SiluMulTable silu_mul_table{{silu_mul_row<float>, silu_mul_row<f16>, silu_mul_row<bf16>}};

}  // namespace ruda::cpu::RUDA_ISA
