// src/cpu/elementwise/copy_isa.cpp - the common conversions of dense rows.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/elementwise/copy_table.hpp"
#include "cpu/simd/block_decode.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

template <class From, class To>
void vectors(const void* x_data, void* y_data, int64_t count) {
  const From* x = static_cast<const From*>(x_data);
  To* y = static_cast<To*>(y_data);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    F32 v[4];
    for (int k = 0; k < 4; k++) v[k] = load(x + i + k * lanes);
    for (int k = 0; k < 4; k++) store(y + i + k * lanes, v[k]);
  }
  for (; i + lanes <= count; i += lanes) store(y + i, load(x + i));
  if (const int tail = int(count - i)) store(y + i, load(x + i, tail), tail);
}

// Plain loops that the compiler turns into vectors.
template <class From, class To>
void widen(const void* x_data, void* y_data, int64_t count) {
  const From* x = static_cast<const From*>(x_data);
  To* y = static_cast<To*>(y_data);
  for (int64_t i = 0; i < count; i++) y[i] = static_cast<To>(x[i]);
}
void bool_to_float(const void* x_data, void* y_data, int64_t count) {
  const uint8_t* x = static_cast<const uint8_t*>(x_data);
  float* y = static_cast<float*>(y_data);
  for (int64_t i = 0; i < count; i++) y[i] = x[i] != 0 ? 1.0f : 0.0f;
}
void float_to_bool(const void* x_data, void* y_data, int64_t count) {
  const float* x = static_cast<const float*>(x_data);
  uint8_t* y = static_cast<uint8_t*>(y_data);
  for (int64_t i = 0; i < count; i++) y[i] = x[i] != 0.0f;
}

// Toward zero, saturating, NaN to 0. The ends are floats; one above the highest integer of 32 bits is such.
template <class To>
void truncate(const void* x_data, void* y_data, int64_t count) {
  constexpr bool is_signed = To(-1) < To(1);
  constexpr int bits = 8 * int(sizeof(To)) - is_signed;
  constexpr float end = float(1ull << bits), low = is_signed ? -end : 0.0f;
  constexpr int32_t highest = int32_t((1ull << bits) - 1);
  const float* x = static_cast<const float*>(x_data);
  To* y = static_cast<To*>(y_data);
  for (int64_t i = 0; i < count; i++) {
    const float v = x[i], inside = v > low ? v : low;  // NaN becomes the low end
    const int32_t whole = inside < end ? int32_t(inside < end ? inside : 0.0f) : highest;
    y[i] = To(v == v ? whole : 0);
  }
}

void narrow_to_i32(const void* x_data, void* y_data, int64_t count) {
  const int64_t* x = static_cast<const int64_t*>(x_data);
  int32_t* y = static_cast<int32_t*>(y_data);
  for (int64_t i = 0; i < count; i++) {
    const int64_t v = x[i] < INT32_MIN ? INT32_MIN : x[i];
    y[i] = int32_t(v > INT32_MAX ? INT32_MAX : v);
  }
}

void decode(int32_t type, const uint8_t* x, int64_t count, float* y) { decode_row(type, x, count, y); }

}  // namespace

extern const CopyTable copy_table{
    {{RUDA_F32, RUDA_F16, vectors<float, f16>},     {RUDA_F32, RUDA_BF16, vectors<float, bf16>},
     {RUDA_F16, RUDA_F32, vectors<f16, float>},     {RUDA_BF16, RUDA_F32, vectors<bf16, float>},
     {RUDA_F16, RUDA_BF16, vectors<f16, bf16>},     {RUDA_BF16, RUDA_F16, vectors<bf16, f16>},
     {RUDA_F32, RUDA_F64, widen<float, double>},    {RUDA_F64, RUDA_F32, widen<double, float>},
     {RUDA_I8, RUDA_F32, widen<int8_t, float>},     {RUDA_U8, RUDA_F32, widen<uint8_t, float>},
     {RUDA_I16, RUDA_F32, widen<int16_t, float>},   {RUDA_U16, RUDA_F32, widen<uint16_t, float>},
     {RUDA_I32, RUDA_F32, widen<int32_t, float>},   {RUDA_U32, RUDA_F32, widen<uint32_t, float>},
     {RUDA_I64, RUDA_F32, widen<int64_t, float>},   {RUDA_I32, RUDA_F64, widen<int32_t, double>},
     {RUDA_I32, RUDA_I64, widen<int32_t, int64_t>}, {RUDA_I64, RUDA_I32, narrow_to_i32},
     {RUDA_BOOL, RUDA_F32, bool_to_float},          {RUDA_F32, RUDA_BOOL, float_to_bool},
     {RUDA_F32, RUDA_I8, truncate<int8_t>},         {RUDA_F32, RUDA_U8, truncate<uint8_t>},
     {RUDA_F32, RUDA_I16, truncate<int16_t>},       {RUDA_F32, RUDA_U16, truncate<uint16_t>},
     {RUDA_F32, RUDA_I32, truncate<int32_t>}},
    decode};

}  // namespace ruda::cpu::RUDA_ISA
