// tests/cpu/simd_isa.cpp - the SIMD layer behind plain functions, compiled once an instruction set level.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd/pairs.hpp"
#include "cpu/simd/simd.hpp"
#include "simd_table.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

F32 apply(int function, F32 x) {
  switch (function) {
    case fn_exp: return exp(x);
    case fn_log: return log(x);
    case fn_tanh: return tanh(x);
    case fn_sigmoid: return sigmoid(x);
    case fn_silu: return silu(x);
    case fn_erf: return erf(x);
    case fn_normal_cdf: return normal_cdf(x);
    case fn_gelu: return gelu(x);
    case fn_gelu_tanh: return gelu_tanh(x);
    case fn_abs: return abs(x);
    case fn_neg: return neg(x);
    case fn_sqrt: return sqrt(x);
    case fn_nearest: return nearest(x);
    case fn_floor: return floor(x);
    case fn_ceil: return ceil(x);
    case fn_trunc: return trunc(x);
    case fn_to_int_nearest: return to_float(to_int_nearest(x));
    case fn_to_int_trunc: return to_float(to_int_trunc(x));
    default: return zero();
  }
}

F32 flag(Mask m) { return select(m, set(1.0f), zero()); }

F32 apply(int function, F32 a, F32 b, F32 c, const float* table) {
  switch (function) {
    case fn_add: return a + b;
    case fn_fma: return fma(a, b, c);
    case fn_fnma: return fnma(a, b, c);
    case fn_min: return min(a, b);
    case fn_max: return max(a, b);
    case fn_min_nan: return min_nan(a, b);
    case fn_max_nan: return max_nan(a, b);
    case fn_less: return flag(less(a, b));
    case fn_less_equal: return flag(less_equal(a, b));
    case fn_greater: return flag(greater(a, b));
    case fn_greater_equal: return flag(greater_equal(a, b));
    case fn_equal: return flag(equal(a, b));
    case fn_not_equal: return flag(not_equal(a, b));
    case fn_copysign: return copysign(a, b);
    case fn_pow: return pow(a, b);
    case fn_atan2: return atan2(a, b);
    case fn_gather: return gather(table, to_int_trunc(b));
    default: return zero();
  }
}

void unary(int function, const float* x, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(y + i, apply(function, load(x + i)));
  const int rest = (int)(count - i);
  if (rest) store(y + i, apply(function, load(x + i, rest, 1.0f)), rest);
}

void binary(int function, const float* a, const float* b, const float* c, float* y, int64_t count) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(y + i, apply(function, load(a + i), load(b + i), load(c + i), a));
  const int rest = (int)(count - i);
  if (rest) store(y + i, apply(function, load(a + i, rest), load(b + i, rest), load(c + i, rest), a), rest);
}

template <class T>
void encode(const float* x, uint16_t* y, int64_t count) {
  T* out = (T*)y;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(out + i, load(x + i));
  const int rest = (int)(count - i);
  if (rest) store(out + i, load(x + i, rest), rest);
}

template <class T>
void decode(const uint16_t* x, float* y, int64_t count) {
  const T* in = (const T*)x;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(y + i, load(in + i));
  const int rest = (int)(count - i);
  if (rest) store(y + i, load(in + i, rest), rest);
}

float reduce(int function, const float* x) {
  const F32 v = load(x);
  return function == fn_sum ? sum(v) : function == fn_max_lane ? max_lane(v) : min_lane(v);
}

int32_t reduce_int(int function, const int32_t* x) {
  const I32 v = load(x);
  return function == fn_sum ? sum(v) : function == fn_max_lane ? max_lane(v) : min_lane(v);
}

void binary_int(int function, const int32_t* a, const int32_t* b, int32_t* y, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes) {
    const int n = count - i < lanes ? (int)(count - i) : lanes;
    const I32 u = load(a + i, n, -7), v = load(b + i, n, -7);
    store(y + i, function == fn_min ? min(u, v) : function == fn_max ? max(u, v) : u + v, n);
  }
}

int compress(const float* x, float limit, float* y, int32_t* index) {
  const F32 v = load(x);
  const Mask m = greater(v, set(limit));
  compress_store(index, m, iota());
  return compress_store(y, m, v);
}

uint32_t first_bits(int count) { return mask_bits(first(count)); }
int first_above(const float* x, float limit) { return first_true(greater(load(x), set(limit))); }

}  // namespace

extern const SimdTable simd_table;
constinit const SimdTable simd_table = {lanes,       unary,        binary,     encode<f16>, encode<bf16>,
                                        decode<f16>, decode<bf16>, reduce,     reduce_int,  binary_int,
                                        compress,    first_bits,   first_above};

}  // namespace ruda::cpu::RUDA_ISA
