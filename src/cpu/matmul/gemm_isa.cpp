// src/cpu/matmul/gemm_isa.cpp - the product in F32 panels: packing, register tiles, few-row dot products.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/gemm.hpp"
#include "cpu/simd/seq.hpp"
#include "cpu/simd/simd.hpp"
#include "cpu/simd/transpose.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// A tile of tile_rows rows and two vectors of columns: 24 accumulators of 32 registers, 12 of 16.
#if RUDA_SIMD_AVX512 || RUDA_SIMD_NEON
constexpr int tile_rows = 12;
#else
constexpr int tile_rows = 6;
#endif
constexpr int vectors = 2;
constexpr int tile_cols = vectors * lanes;
constexpr int k_block = 256;
constexpr int line = 16;  // floats of a cache line; A is packed as [k / line][rows][line]

// ---- packing

template <class T>
void pack_a_type(const GemmMatrix& a, int64_t first_row, int64_t rows, int64_t k, float* panel) {
  const T* source = (const T*)a.data + first_row * a.row;
  if (a.col == 1) {
    for (int64_t k0 = 0; k0 < k; k0 += line, panel += rows * line) {
      const int64_t left = k - k0;
      for (int64_t r = 0; r < rows; r++) {
        const T* s = source + r * a.row + k0;
        float* d = panel + r * line;
        for (int c = 0; c < line; c += lanes) {
          if (left >= c + lanes)
            store(d + c, load(s + c));
          else if (left > c)
            store(d + c, load(s + c, (int)(left - c)));
        }
      }
    }
  } else {
    for (int64_t k0 = 0; k0 < k; k0 += line, panel += rows * line) {
      const int64_t left = k - k0 < line ? k - k0 : line;
      for (int64_t c = 0; c < left; c++)
        for (int64_t r = 0; r < rows; r++)
          panel[r * line + c] = load_one(source + r * a.row + (k0 + c) * a.col);
    }
  }
}

// Panels of equal height: a few high ones and a low rest would waste the rest's tiles.
RUDA_INLINE int64_t panel_count(int64_t rows) { return (rows + tile_rows - 1) / tile_rows; }
RUDA_INLINE int64_t panel_row(int64_t rows, int64_t panel) { return panel * rows / panel_count(rows); }
RUDA_INLINE int64_t round_to_line(int64_t k) { return (k + line - 1) / line * line; }

RUDA_INLINE float* a_panel(const GemmBlock& g, int64_t first_row) {
  return (float*)g.a_panel + (g.a_packed < 0 ? 0 : first_row * round_to_line(g.k));
}

void pack_a(const GemmBlock& g, int64_t panel) {
  const int64_t first = panel_row(g.rows, panel), rows = panel_row(g.rows, panel + 1) - first;
  float* const d = a_panel(g, first);
  if (g.a.type == gemm_f32)
    pack_a_type<float>(g.a, first, rows, g.k, d);
  else if (g.a.type == gemm_f16)
    pack_a_type<f16>(g.a, first, rows, g.k, d);
  else
    pack_a_type<bf16>(g.a, first, rows, g.k, d);
}

// One vector of columns, [k][lanes] with tile_cols floats from one k to the next.
template <class T>
RUDA_INLINE void pack_b_transposed(const T* source, int64_t col_stride, int cols, int64_t k, float* d) {
  int64_t k0 = 0;
  for (; k0 + lanes <= k; k0 += lanes) {
    F32 block[lanes];
    for (int j = 0; j < lanes; j++) block[j] = j < cols ? load(source + j * col_stride + k0) : zero();
    transpose(block);
    for (int j = 0; j < lanes; j++) store(d + (k0 + j) * tile_cols, block[j]);
  }
  if (k0 < k) {
    F32 block[lanes];
    const int left = (int)(k - k0);
    for (int j = 0; j < lanes; j++) block[j] = j < cols ? load(source + j * col_stride + k0, left) : zero();
    transpose(block);
    for (int j = 0; j < lanes; j++)
      if (j < left) store(d + (k0 + j) * tile_cols, block[j]);
  }
}

template <class T>
void pack_b_type(const GemmMatrix& b, int64_t cols, int64_t k, float* panel) {
  const T* source = (const T*)b.data;
  for (int v = 0; v < vectors; v++) {
    const int64_t left = cols - v * lanes;
    const int width = left >= lanes ? lanes : left > 0 ? (int)left : 0;
    const T* s = source + v * lanes * b.col;
    float* d = panel + v * lanes;
    if (b.col == 1) {
      if (width == lanes)
        for (int64_t i = 0; i < k; i++) store(d + i * tile_cols, load(s + i * b.row));
      else
        for (int64_t i = 0; i < k; i++) store(d + i * tile_cols, width ? load(s + i * b.row, width) : zero());
    } else if (b.row == 1) {
      pack_b_transposed(s, b.col, width, k, d);
    } else {
      for (int64_t i = 0; i < k; i++)
        for (int j = 0; j < lanes; j++)
          d[i * tile_cols + j] = j < width ? load_one(s + i * b.row + j * b.col) : 0.0f;
    }
  }
}

void pack_b(const GemmMatrix* b, int64_t cols, int64_t k, void* panel) {
  if (b->type == gemm_f32)
    pack_b_type<float>(*b, cols, k, (float*)panel);
  else if (b->type == gemm_f16)
    pack_b_type<f16>(*b, cols, k, (float*)panel);
  else
    pack_b_type<bf16>(*b, cols, k, (float*)panel);
}

// ---- one register tile

struct Tile {
  int64_t k;
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride;
  const float* add;
  int64_t add_stride;
  void* out;
  int64_t out_stride;
  GemmType out_type;
  const float* bias;
  int cols;
};

RUDA_INLINE void put(GemmType type, void* out, int64_t index, F32 value, int count) {
  if (type == gemm_f32) {
    if (count == lanes)
      store((float*)out + index, value);
    else
      store((float*)out + index, value, count);
  } else if (type == gemm_f16) {
    store((f16*)out + index, value, count);
  } else {
    store((bf16*)out + index, value, count);
  }
}

// The edges, other types and the bias: sums [rows][v * lanes].
void finish(const Tile& t, const float* sums, int rows, int v) {
  for (int r = 0; r < rows; r++)
    for (int j = 0; j < v; j++) {
      const int count = t.cols - j * lanes < lanes ? t.cols - j * lanes : lanes;
      F32 sum = load(sums + (r * v + j) * lanes);
      if (t.add) sum = load(t.add + r * t.add_stride + j * lanes, count) + sum;
      if (t.bias) sum = sum + load(t.bias + j * lanes, count);
      put(t.out_type, t.out, r * t.out_stride + j * lanes, sum, count);
    }
}

// acc + *a * b. In AVX-512 two rows of three let the product itself spread *a over the lanes: an instruction
// less, a load more; all rows so would want more loads than there are ports. On Emerald Rapids beside a busy
// neighbour of the core, 12 rows by 512 columns: 101 GFLOP/s with none of 12 rows so, 109 with 6, 111 with 8;
// 145 alone, whichever.
template <int row>
RUDA_INLINE F32 fma_spread(const float* a, F32 b, F32 acc) {
#if RUDA_SIMD_AVX512
  if constexpr (row % 3 != 0) {
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(acc) : "v"(b), "m"(*a));
    return acc;
  }
#endif
  return fma(set(*a), b, acc);
}

// `partial`: the last vector has `count` columns, and nothing behind them may be read.
template <int v, bool partial, int... i>
RUDA_INLINE void step(F32 (&acc)[sizeof...(i)], const float* a, int64_t a_stride, const float* b, int count,
                      Seq<i...>) {
  F32 column[v];
  for (int j = 0; j < v; j++)
    column[j] = partial && j == v - 1 ? load(b + j * lanes, count) : load(b + j * lanes);
  ((acc[i] = fma_spread<i / v>(a + (i / v) * a_stride, column[i % v], acc[i])), ...);
}

// Accumulates in the order of k, one fused product at a time: the sum of an element does not depend on its
// tile.
template <int r, int v, bool packed, bool partial, int... i>
RUDA_INLINE void tile_body(const Tile& t, Seq<i...> seq) {
  const int count = t.cols - (v - 1) * lanes;
  if (t.add)  // the sums so far arrive while more are made
    ((__builtin_prefetch(t.add + (i / v) * t.add_stride + (i % v) * lanes, 1)), ...);
  F32 acc[r * v] = {((void)i, zero())...};
  const int64_t a_stride = packed ? line : t.a_stride, b_stride = packed       ? tile_cols
                                                                  : t.b_stride ? t.b_stride
                                                                               : tile_cols;
  const float *a = t.a, *b = t.b;
  const float* a_line = a;
  for (int64_t k0 = 0; k0 + line <= t.k; k0 += line) {
    a = a_line;
    for (int q = 0; q < line; q += 4) {
      if (packed)
        for (int x = 0; x < (r + 3) / 4; x++)
          __builtin_prefetch(a_line + (2 * r + q / 4 * ((r + 3) / 4) + x) * line);
      step<v, partial>(acc, a, a_stride, b, count, seq);
      step<v, partial>(acc, a + 1, a_stride, b + b_stride, count, seq);
      step<v, partial>(acc, a + 2, a_stride, b + 2 * b_stride, count, seq);
      step<v, partial>(acc, a + 3, a_stride, b + 3 * b_stride, count, seq);
      a += 4;
      b += 4 * b_stride;
    }
    a_line += packed ? r * line : line;
  }
  for (int64_t left = t.k % line; left > 0; left--) {
    step<v, partial>(acc, a_line, a_stride, b, count, seq);
    a_line += 1;
    b += b_stride;
  }
  if (t.out_type == gemm_f32 && !t.bias && t.cols == v * lanes) {
    float* out = (float*)t.out;
    if (t.add) ((acc[i] = load(t.add + (i / v) * t.add_stride + (i % v) * lanes) + acc[i]), ...);
    ((store(out + (i / v) * t.out_stride + (i % v) * lanes, acc[i])), ...);
  } else {
    alignas(64) float sums[r * v * lanes];
    ((store(sums + i * lanes, acc[i])), ...);
    finish(t, sums, r, v);
  }
}

template <int r, int v, bool packed, bool partial = false>
void tile(const Tile& t) {
  tile_body<r, v, packed, partial>(t, typename MakeSeq<r * v>::type{});
}

typedef void (*TileFunction)(const Tile&);
struct TileRow {
  TileFunction narrow, wide, narrow_direct, wide_direct, narrow_partial, wide_partial;
};
template <int r>
constexpr TileRow tile_row = {tile<r, 1, true>,  tile<r, 2, true>,        tile<r, 1, false>,
                              tile<r, 2, false>, tile<r, 1, false, true>, tile<r, 2, false, true>};
constexpr TileRow tiles[] = {tile_row<1>,  tile_row<2>, tile_row<3>, tile_row<4>,
                             tile_row<5>,  tile_row<6>,
#if RUDA_SIMD_AVX512 || RUDA_SIMD_NEON
                             tile_row<7>,  tile_row<8>, tile_row<9>, tile_row<10>,
                             tile_row<11>, tile_row<12>
#endif
};

RUDA_INLINE char* offset(void* out, GemmType type, int64_t elements) {
  return (char*)out + elements * (type == gemm_f32 ? 4 : 2);
}

void multiply(const GemmBlock* block) {
  const GemmBlock& g = *block;
  Tile t;
  t.k = g.k;
  t.a_stride = g.a.row;
  t.b_stride = g.b_stride;
  t.add_stride = g.add_stride;
  t.out_stride = g.out_stride;
  t.out_type = g.out_type;
  if (g.a_panel && g.a_packed >= 0)
    for (int64_t i = g.a_packed; i < g.first_panel; i++) pack_a(g, i);
  for (int64_t i = g.first_panel; i < g.last_panel; i++) {
    const int64_t first = panel_row(g.rows, i), rows = panel_row(g.rows, i + 1) - first;
    t.a = (const float*)g.a.data + first * g.a.row;
    if (g.a_panel) {
      if (i >= g.a_packed) pack_a(g, i);
      t.a = a_panel(g, first);
    }
    const TileRow& f = tiles[rows - 1];
    for (int64_t col = 0; col < g.cols; col += tile_cols) {
      t.b = (const float*)g.b + (g.b_stride ? col : col * g.k);
      t.add = g.add ? g.add + first * g.add_stride + col : nullptr;
      t.out = offset(g.out, g.out_type, first * g.out_stride + col);
      t.bias = g.bias ? g.bias + col : nullptr;
      t.cols = g.cols - col < tile_cols ? (int)(g.cols - col) : tile_cols;
      // only B in place can end within a vector; its A is in place too
      if (g.b_stride && t.cols % lanes)
        (t.cols > lanes ? f.wide_partial : f.narrow_partial)(t);
      else if (g.a_panel)
        (t.cols > lanes ? f.wide : f.narrow)(t);
      else
        (t.cols > lanes ? f.wide_direct : f.narrow_direct)(t);
    }
  }
}

}  // namespace

extern const GemmKernels gemm_kernels;
constinit const GemmKernels gemm_kernels = {tile_rows, tile_cols, 1, 4,      k_block,
                                            2 << 20,   1 << 20,   0, pack_b, multiply};

}  // namespace ruda::cpu::RUDA_ISA
