// src/cpu/matmul/few_rows_isa.cpp - products of few rows: bound by reading the matrix, so it is read once.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/few_rows.hpp"
#include "cpu/simd/convert_run.hpp"
#include "cpu/simd/seq.hpp"
#include "cpu/simd/simd.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr bool many_registers = RUDA_SIMD_AVX512 || RUDA_SIMD_NEON;
constexpr int max_rows_dots = many_registers ? 16 : 8;
constexpr int max_rows_sums = 4;
constexpr int column_step = 16;

RUDA_INLINE void put(const FewRows& job, int64_t row, int64_t col, float value) {
  if (job.bias) value += job.bias[col];
  const int64_t index = row * job.y_stride + col;
  if (job.y_type == gemm_f32)
    ((float*)job.y)[index] = value;
  else if (job.y_type == gemm_f16)
    store_one((f16*)job.y + index, value);
  else
    store_one((bf16*)job.y + index, value);
}

// r rows times c columns, `apart` from each other. A sum takes every lanes-th product, whatever r and c are:
// the bits of an element do not depend on its neighbours.
template <class T, int r, int c, int... i>
RUDA_INLINE void dots_tile(const FewRows& job, int64_t row, int64_t col, int64_t apart, Seq<i...>) {
  F32 acc[r * c] = {((void)i, zero())...};
  const float* x = job.x + row * job.x_stride;
  const T* w = (const T*)job.w.data + col * job.w.col;
  const int64_t stride = apart * job.w.col;
  int64_t k = 0;
  for (; k + lanes <= job.k; k += lanes) {
    F32 column[c];
    for (int j = 0; j < c; j++) column[j] = load(w + j * stride + k);
    ((acc[i] = fma(load(x + (i / c) * job.x_stride + k), column[i % c], acc[i])), ...);
  }
  if (k < job.k) {
    const int left = (int)(job.k - k);
    F32 column[c];
    for (int j = 0; j < c; j++) column[j] = load(w + j * stride + k, left);
    ((acc[i] = fma(load(x + (i / c) * job.x_stride + k, left), column[i % c], acc[i])), ...);
  }
  (put(job, row + i / c, col + i % c * apart, sum(acc[i])), ...);
}

template <class T, int r, int c>
void dots_columns(const FewRows& job, int64_t row, int64_t first, int64_t last) {
  int64_t col = first;
  for (; col + c <= last; col += c) dots_tile<T, r, c>(job, row, col, 1, typename MakeSeq<r * c>::type{});
  for (; col < last; col++) dots_tile<T, r, 1>(job, row, col, 1, typename MakeSeq<r>::type{});
}

// Rows in groups of up to four, over columns whose part of w stays in the first-level cache meanwhile.
template <class T>
void dots_type(const FewRows& job, int64_t first, int64_t last) {
  if (job.rows == 1) {
    // Columns far apart: the processor fetches only so far ahead in one stream, and one stream a page.
    constexpr int streams = many_registers ? 8 : 4;
    const int64_t apart = (last - first) / streams;
    for (int64_t col = first; col < first + apart; col++)
      dots_tile<T, 1, streams>(job, 0, col, apart, typename MakeSeq<streams>::type{});
    dots_columns<T, 1, streams>(job, 0, first + streams * apart, last);
    return;
  }
  for (int64_t begin = first; begin < last; begin += column_step) {
    const int64_t end = begin + column_step < last ? begin + column_step : last;
    int64_t row = 0;
    if constexpr (many_registers) {
      for (; row + 4 <= job.rows; row += 4) dots_columns<T, 4, 4>(job, row, begin, end);
    }
    for (; row + 2 <= job.rows; row += 2) dots_columns<T, 2, 4>(job, row, begin, end);
    if (row < job.rows) dots_columns<T, 1, many_registers ? 8 : 4>(job, row, begin, end);
  }
}

void dots(const FewRows* job, int64_t first, int64_t last) {
  if (job->w.type == gemm_f32)
    dots_type<float>(*job, first, last);
  else if (job->w.type == gemm_f16)
    dots_type<f16>(*job, first, last);
  else
    dots_type<bf16>(*job, first, last);
}

// r rows times v vectors of columns, the last one of `count` lanes.
template <class T, int r, int v, int... i>
RUDA_INLINE void sums_tile(const FewRows& job, int64_t col, int count, Seq<i...>) {
  F32 acc[r * v] = {((void)i, zero())...};
  const T* w = (const T*)job.w.data + col;
  const float* x = job.x;
  const bool whole = count == lanes;
  for (int64_t k = 0; k < job.k; k++, w += job.w.row) {
    F32 row[v];
    for (int j = 0; j + 1 < v; j++) row[j] = load(w + j * lanes);
    row[v - 1] = whole ? load(w + (v - 1) * lanes) : load(w + (v - 1) * lanes, count);
    ((acc[i] = fma(set(x[(i / v) * job.x_stride + k]), row[i % v], acc[i])), ...);
  }
  const auto finish = [&](int line, int j, F32 value) __attribute__((always_inline)) {
    const int n = j == v - 1 ? count : lanes;
    const int64_t at = col + j * lanes, index = line * job.y_stride + at;
    if (job.bias) value = value + load(job.bias + at, n);
    if (job.y_type == gemm_f32)
      store((float*)job.y + index, value, n);
    else if (job.y_type == gemm_f16)
      store((f16*)job.y + index, value, n);
    else
      store((bf16*)job.y + index, value, n);
  };
  (finish(i / v, i % v, acc[i]), ...);
}

template <class T, int r, int v>
void sums_rows(const FewRows& job, int64_t first, int64_t last) {
  int64_t col = first;
  for (; col + v * lanes <= last; col += v * lanes)
    sums_tile<T, r, v>(job, col, lanes, typename MakeSeq<r * v>::type{});
  for (; col < last; col += lanes) {
    const int count = last - col < lanes ? (int)(last - col) : lanes;
    sums_tile<T, r, 1>(job, col, count, typename MakeSeq<r>::type{});
  }
}

template <class T>
void sums_type(const FewRows& job, int64_t first, int64_t last) {
  if (job.rows == 1)
    sums_rows<T, 1, many_registers ? 16 : 4>(job, first, last);
  else if (job.rows == 2)
    sums_rows<T, 2, many_registers ? 8 : 4>(job, first, last);
  else if (job.rows == 3)
    sums_rows<T, 3, many_registers ? 4 : 2>(job, first, last);
  else
    sums_rows<T, 4, many_registers ? 4 : 2>(job, first, last);
}

void sums(const FewRows* job, int64_t first, int64_t last) {
  if (job->w.type == gemm_f32)
    sums_type<float>(*job, first, last);
  else if (job->w.type == gemm_f16)
    sums_type<f16>(*job, first, last);
  else
    sums_type<bf16>(*job, first, last);
}

void widen(GemmType type, const void* from, float* to, int64_t count) {
  if (type == gemm_f32)
    convert_run((const float*)from, to, count);
  else if (type == gemm_f16)
    convert_run((const f16*)from, to, count);
  else
    convert_run((const bf16*)from, to, count);
}

}  // namespace

extern const FewRowsKernels few_rows_kernels;
constinit const FewRowsKernels few_rows_kernels = {max_rows_dots, max_rows_sums, column_step,
                                                   dots,          sums,          widen};

}  // namespace ruda::cpu::RUDA_ISA
