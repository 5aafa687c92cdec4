// src/cpu/matmul/gemm_amx.cpp - the product of BF16 matrices on the tile registers of AMX.
// SPDX-License-Identifier: Apache-2.0
//
// A tile instruction multiplies 16 rows x 32 k of A by 32 k x 16 columns of B. Two by two of them share their
// loads. The unit takes subnormal operands and sums as zero and rounds each sum to nearest even.
#include "cpu/matmul/gemm.hpp"
#include "cpu/simd/simd.hpp"
#include "cpu/simd/transpose.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

constexpr int tile_side = 16, tile_k = 32;
constexpr int tile_rows = 2 * tile_side, tile_cols = 2 * tile_side;
constexpr int tile_elements = tile_side * tile_k;
constexpr int64_t row_bytes = 64;  // of any tile

struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t column_bytes[16];
  uint8_t rows[16];
};

constexpr TileConfig config = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

// GCC 12 declares its tile intrinsics without the memory they touch, and drops stores before them: this keeps
// both sides in order.
RUDA_INLINE void fence() { __asm__ volatile("" ::: "memory"); }

// ---- packing

// Two bf16 of one k pair are a lane: a block of 16 columns and 16 pairs is transposed as 32-bit lanes.
RUDA_INLINE void pack_b_transposed(const uint16_t* source, int64_t stride, int cols, int left,
                                   uint16_t* tile) {
  F32 block[16];
  const __mmask32 inside = left >= tile_k ? 0xffffffffu : (1u << left) - 1u;
  for (int j = 0; j < 16; j++)
    block[j] = j < cols ? (F32)_mm512_maskz_loadu_epi16(inside, source + j * stride) : zero();
  transpose(block);
  for (int j = 0; j < 16; j++) store((float*)(tile + j * 32), block[j]);
}

RUDA_INLINE void pack_b_rows(const uint16_t* source, int64_t stride, int cols, int left, uint16_t* low,
                             uint16_t* high) {
  const __mmask32 inside = cols >= 32 ? 0xffffffffu : (1u << cols) - 1u;
  alignas(64) static const uint16_t pairs[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                 37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i first = _mm512_load_si512(pairs), second = _mm512_add_epi16(first, _mm512_set1_epi16(16));
  for (int pair = 0; pair < 16; pair++) {
    const __m512i none = _mm512_setzero_si512();
    const __m512i even =
        2 * pair < left ? _mm512_maskz_loadu_epi16(inside, source + 2 * pair * stride) : none;
    const __m512i odd =
        2 * pair + 1 < left ? _mm512_maskz_loadu_epi16(inside, source + (2 * pair + 1) * stride) : none;
    _mm512_store_si512(low + pair * 32, _mm512_permutex2var_epi16(even, first, odd));
    _mm512_store_si512(high + pair * 32, _mm512_permutex2var_epi16(even, second, odd));
  }
}

// [k / 32][column half][k pair][column][2]
void pack_b(const GemmMatrix* b, int64_t cols, int64_t k, void* panel) {
  const uint16_t* source = (const uint16_t*)b->data;
  uint16_t* tile = (uint16_t*)panel;
  for (int64_t k0 = 0; k0 < k; k0 += tile_k, tile += 2 * tile_elements) {
    const int left = k - k0 < tile_k ? (int)(k - k0) : tile_k;
    if (b->row == 1) {
      pack_b_transposed(source + k0, b->col, (int)cols, left, tile);
      pack_b_transposed(source + k0 + 16 * b->col, b->col, (int)cols - 16, left, tile + tile_elements);
    } else if (b->col == 1) {
      pack_b_rows(source + k0 * b->row, b->row, (int)cols, left, tile, tile + tile_elements);
    } else {
      for (int c = 0; c < tile_cols; c++)
        for (int i = 0; i < tile_k; i++)
          tile[c / 16 * tile_elements + i / 2 * 32 + c % 16 * 2 + i % 2] =
              c < cols && i < left ? source[(k0 + i) * b->row + c * b->col] : (uint16_t)0;
    }
  }
}

// [k / 32][row half][row][32]
void pack_a(const GemmMatrix& a, int64_t first_row, int rows, int64_t k, uint16_t* panel) {
  const uint16_t* source = (const uint16_t*)a.data + first_row * a.row;
  for (int64_t k0 = 0; k0 < k; k0 += tile_k, panel += 2 * tile_elements) {
    const int left = k - k0 < tile_k ? (int)(k - k0) : tile_k;
    const __mmask32 inside = left >= tile_k ? 0xffffffffu : (1u << left) - 1u;
    for (int r = 0; r < tile_rows; r++) {
      uint16_t* to = panel + r * tile_k;
      if (r >= rows) {
        _mm512_store_si512(to, _mm512_setzero_si512());
      } else if (a.col == 1) {
        _mm512_store_si512(to, _mm512_maskz_loadu_epi16(inside, source + r * a.row + k0));
      } else {
        for (int i = 0; i < tile_k; i++)
          to[i] = i < left ? source[r * a.row + (k0 + i) * a.col] : (uint16_t)0;
      }
    }
  }
}

// ---- what vector units do while the tile unit works, a little at each step

// Turns the sums of a whole tile, [32][32], into 32 bf16 columns of c.
struct Finish {
  const float* sums;
  uint16_t* out;
  int64_t out_stride;
  const float* bias;
  int next;  // row; tile_rows when all is done
};

RUDA_INLINE void finish_some(Finish& f, int count) {
  for (; count > 0 && f.next < tile_rows; count--, f.next++) {
    F32 low = load(f.sums + f.next * 32), high = load(f.sums + f.next * 32 + 16);
    if (f.bias) low = low + load(f.bias), high = high + load(f.bias + 16);
    // One NaN, as at the edges, where stores round.
    const __m512bh both = _mm512_cvtne2ps_pbh(one_nan(high), one_nan(low));
    __builtin_memcpy(f.out + f.next * f.out_stride, &both, sizeof both);
  }
}

// Calls the rows of the next panel of A into the second-level cache.
struct Fetch {
  const char* data;
  int64_t stride;
  int rows, lines, row, line;
};

RUDA_INLINE void fetch_some(Fetch& f) {
  for (int i = 0; i < 2 && f.row < f.rows; i++) {
    __builtin_prefetch(f.data + f.row * f.stride + f.line * 64, 0, 2);
    if (++f.line == f.lines) f.line = 0, f.row++;
  }
}

struct Aside {
  Finish finish;
  Fetch fetch;
};

// ---- one group of tiles: registers 0..3 hold C, 4 and 5 A, 6 and 7 B

struct Operand {
  const char* data;
  int64_t half, step, stride;  // bytes to the other 16 rows, to the next 32 k, between rows
};

__attribute__((noinline)) void group(int64_t steps, Operand a, const char* b, Aside& aside) {
  const int share = (int)((tile_rows + steps - 1) / steps);
  Finish finish = aside.finish;
  Fetch fetch = aside.fetch;
  for (int64_t s = 0; s < steps; s++, a.data += a.step, b += 4 * tile_elements) {
    _tile_loadd(4, a.data, a.stride);
    _tile_loadd(6, b, row_bytes);
    _tile_loadd(5, a.data + a.half, a.stride);
    _tile_loadd(7, b + 2 * tile_elements, row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    finish_some(finish, share);
    fetch_some(fetch);
  }
  finish_some(finish, tile_rows);
  aside.finish.next = tile_rows;
  aside.fetch = fetch;
}

// The last 16 rows of a matrix, or fewer.
__attribute__((noinline)) void half_group(int64_t steps, Operand a, const char* b) {
  for (int64_t s = 0; s < steps; s++, a.data += a.step, b += 4 * tile_elements) {
    _tile_loadd(4, a.data, a.stride);
    _tile_loadd(6, b, row_bytes);
    _tile_loadd(7, b + 2 * tile_elements, row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
  }
}

RUDA_INLINE void load_sums(const float* from, int64_t stride) {
  _tile_loadd(0, from, stride * 4);
  _tile_loadd(1, from + 16, stride * 4);
  _tile_loadd(2, from + 16 * stride, stride * 4);
  _tile_loadd(3, from + 16 * stride + 16, stride * 4);
}
RUDA_INLINE void store_sums(float* to, int64_t stride) {
  _tile_stored(0, to, stride * 4);
  _tile_stored(1, to + 16, stride * 4);
  _tile_stored(2, to + 16 * stride, stride * 4);
  _tile_stored(3, to + 16 * stride + 16, stride * 4);
}

// Sums that an earlier block of k left in memory, into a tile [32][32] whose other lanes are zero.
void gather_sums(const float* add, int64_t stride, int rows, int cols, float* sums) {
  for (int r = 0; r < tile_rows; r++)
    for (int c = 0; c < tile_cols; c += lanes) {
      const int count = cols - c < lanes ? cols - c : lanes;
      store(sums + r * 32 + c, r < rows && count > 0 ? load(add + r * stride + c, count) : zero());
    }
}

// Edges and outputs of F32, at once.
void scatter_sums(const float* sums, int rows, int cols, const float* bias, void* out, int64_t stride,
                  GemmType type) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c += lanes) {
      const int count = cols - c < lanes ? cols - c : lanes;
      F32 sum = load(sums + r * 32 + c);
      if (bias) sum = sum + load(bias + c, count);
      if (type == gemm_f32)
        store((float*)out + r * stride + c, sum, count);
      else
        store((bf16*)out + r * stride + c, sum, count);
    }
}

// ---- a block

constexpr int k_block = 2048;
constexpr int panel_bytes = tile_rows * (k_block * 5 / 4 + tile_k) * 2,
              sums_bytes = tile_rows * tile_cols * 4;

// The whole depth of a block in one pass: sums that leave the tiles between passes cost more second-level
// traffic than a panel of A that does not fit the first level (1024^3 on Sapphire Rapids: 900 GFLOP/s in
// three passes, 1500 in one).
void multiply(const GemmBlock* block) {
  const GemmBlock& g = *block;
  const int64_t steps = (g.k + tile_k - 1) / tile_k;
  float* const sums = (float*)((char*)g.a_panel + panel_bytes);  // two tiles: one to finish, one to fill
  const bool lies_well = g.a.col == 1 && g.k % tile_k == 0;
  int turn = 0;
  Aside aside{};
  aside.finish.next = tile_rows;

  fence();
  __asm__ volatile("ldtilecfg %0" ::"m"(config));
  for (int64_t row = 0; row < g.rows; row += tile_rows) {
    const int64_t rest = g.rows - row;
    const int rows = rest < tile_rows ? (int)rest : tile_rows;
    Operand a = {(const char*)g.a_panel, 2 * tile_elements, 4 * tile_elements, row_bytes};
    if (lies_well && rows % tile_side == 0)
      a = {(const char*)g.a.data + row * g.a.row * 2, tile_side * g.a.row * 2, row_bytes, g.a.row * 2};
    else
      pack_a(g.a, row, rows, g.k, (uint16_t*)g.a_panel);
    if (g.a.col == 1)
      aside.fetch = {(const char*)g.a.data + (row + tile_rows) * g.a.row * 2,
                     g.a.row * 2,
                     rest - tile_rows < tile_rows ? (int)(rest - tile_rows) : tile_rows,
                     (int)((g.k + 31) / 32),
                     0,
                     0};
    fence();

    for (int64_t col = 0; col < g.cols; col += tile_cols) {
      const int cols = g.cols - col < tile_cols ? (int)(g.cols - col) : tile_cols;
      const bool whole = rows == tile_rows && cols == tile_cols;
      const float* add = g.add ? g.add + row * g.add_stride + col : nullptr;
      float* space = sums + turn * tile_rows * tile_cols;
      if (!add) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      } else if (whole) {
        load_sums(add, g.add_stride);
      } else {
        gather_sums(add, g.add_stride, rows, cols, space);
        fence();
        load_sums(space, 32);
      }

      const char* b = (const char*)g.b + col * steps * tile_k * 2;
      if (rows > tile_side)
        group(steps, a, b, aside);
      else
        half_group(steps, a, b);

      const float* bias = g.bias ? g.bias + col : nullptr;
      char* out = (char*)g.out + (row * g.out_stride + col) * (g.out_type == gemm_f32 ? 4 : 2);
      if (whole && g.out_type == gemm_f32 && !bias) {
        store_sums((float*)out, g.out_stride);
      } else {
        finish_some(aside.finish, tile_rows);
        store_sums(space, 32);
        fence();
        turn ^= 1;
        if (whole && g.out_type == gemm_bf16)
          aside.finish = {space, (uint16_t*)out, g.out_stride, bias, 0};
        else
          scatter_sums(space, rows, cols, bias, out, g.out_stride, g.out_type);
      }
    }
  }
  finish_some(aside.finish, tile_rows);
  fence();
  _tile_release();
}

}  // namespace

extern const GemmKernels gemm_bf16_kernels;
constinit const GemmKernels gemm_bf16_kernels = {
    tile_rows, tile_cols, tile_k, 2, k_block, 0, 1 << 20, panel_bytes + 2 * sums_bytes, pack_b, multiply};

}  // namespace ruda::cpu::RUDA_ISA
