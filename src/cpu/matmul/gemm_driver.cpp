// src/cpu/matmul/gemm_driver.cpp - cuts a product into blocks, packs them and spreads them over the pool.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/gemm_driver.hpp"

#include "plan/op.hpp"

#include <algorithm>

namespace ruda::cpu {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

int64_t type_bytes(GemmType type) { return type == gemm_f32 ? 4 : 2; }

GemmMatrix at(const GemmMatrix& matrix, const void* data, int64_t row, int64_t col) {
  GemmMatrix moved = matrix;
  moved.data =
      static_cast<const char*>(data) + (row * matrix.row + col * matrix.col) * type_bytes(matrix.type);
  return moved;
}

template <class F>
void fan_out(ThreadPool* pool, int parts, F&& body) {
  if (pool && parts > 1) {
    pool->run(parts, body);
  } else {
    for (int part = 0; part < parts; part++) body(part);
  }
}

}  // namespace

GemmCut gemm_cut(const GemmKernels& kernels, int64_t m, int64_t n, int64_t k, const GemmMatrix& a,
                 const GemmMatrix& b, const GemmMatrix& c, int threads) {
  GemmCut cut{};
  cut.kernels = &kernels;
  cut.m = m, cut.n = n, cut.k = k;
  cut.a = a, cut.b = b, cut.c = c;

  // k blocks of about equal length, a multiple of 64 each; one that is a quarter too long is better than two
  // short ones
  const int64_t passes = std::max<int64_t>(1, ceil_div(k - kernels.k_block / 4, kernels.k_block));
  cut.k_block = passes == 1 ? k : round_up(ceil_div(k, passes), 64);
  const int64_t column_bytes = round_up(cut.k_block, kernels.k_multiple) * kernels.element_bytes;
  const int64_t most =
      std::min<int64_t>(kernels.n_block, std::max<int64_t>(1, kernels.b_block_bytes / column_bytes));
  cut.n_block = round_up(std::min(n, std::max<int64_t>(most, 4 * kernels.tile_cols)), kernels.tile_cols);

  // A copy pays for itself only where it is read often.
  const bool plain = kernels.element_bytes == 4 && a.type == gemm_f32 && a.col == 1;
  const bool b_plain = b.type == gemm_f32 && b.col == 1 && b.row != 0;  // a stride of 0 means panels
  cut.b_direct = plain && b_plain && (m <= 2 * kernels.tile_rows || k * n <= 16384);
  cut.a_direct = cut.b_direct || (plain && n <= 4 * kernels.tile_cols && k <= 1024);

  // A thread is worth it for about 20 us of work.
  const double work = 2.0 * double(m) * double(n) * double(k);
  cut.threads = work < 2e6 ? 1 : threads;
  cut.split_columns = m < int64_t{4} * cut.threads * kernels.tile_rows && n > kernels.tile_cols;

  if (!cut.a_direct) cut.a_bytes = size_t(round_up(kernels.scratch_bytes, 64));
  if (!cut.b_direct) cut.b_bytes = size_t(round_up(cut.n_block * column_bytes, 64));
  if (c.type != gemm_f32 && k > cut.k_block) cut.sum_bytes = size_t(round_up(m * cut.n_block * 4, 64));
  return cut;
}

void gemm_run(const GemmCut& cut, const GemmCall& call, void* workspace, ThreadPool* pool) {
  const GemmKernels& kernels = *cut.kernels;
  const int threads = cut.threads;
  char* const a_space = static_cast<char*>(workspace);
  char* const b_space = a_space + cut.a_bytes * size_t(threads);
  float* const sums = reinterpret_cast<float*>(b_space + cut.b_bytes);
  const int64_t tile_cols = kernels.tile_cols;

  for (int64_t n0 = 0; n0 < cut.n; n0 += cut.n_block) {
    const int64_t columns = std::min(cut.n_block, cut.n - n0), panels = ceil_div(columns, tile_cols);
    for (int64_t k0 = 0; k0 < cut.k; k0 += cut.k_block) {
      call.stop->check();
      const int64_t depth = std::min(cut.k_block, cut.k - k0);
      const int64_t panel_bytes = round_up(depth, kernels.k_multiple) * tile_cols * kernels.element_bytes;

      const auto pack = [&](int64_t from, int64_t to) {
        for (int64_t p = from; p < to; p++) {
          const GemmMatrix source = at(cut.b, call.b, k0, n0 + p * tile_cols);
          kernels.pack_b(&source, std::min(tile_cols, columns - p * tile_cols), depth,
                         b_space + p * panel_bytes);
        }
      };
      const auto multiply = [&](int part, int64_t row, int64_t rows, int64_t from, int64_t to) {
        const int64_t col = from * tile_cols, cols = std::min(to * tile_cols, columns) - col;
        if (cols <= 0 || rows <= 0) return;
        GemmBlock block{};
        block.rows = rows, block.cols = cols, block.k = depth;
        block.a = at(cut.a, call.a, row, k0);
        if (!cut.a_direct) block.a_panel = a_space + cut.a_bytes * size_t(part);
        block.b = b_space + from * panel_bytes;
        if (cut.b_direct) block.b = at(cut.b, call.b, k0, n0 + col).data, block.b_stride = cut.b.row;

        void* const target = const_cast<void*>(at(cut.c, call.c, row, n0 + col).data);
        const bool in_place = cut.c.type == gemm_f32;
        float* const partial = in_place ? static_cast<float*>(target) : sums + row * cut.n_block + col;
        const int64_t partial_stride = in_place ? cut.c.row : cut.n_block;
        if (k0 > 0) block.add = partial, block.add_stride = partial_stride;
        if (k0 + depth == cut.k) {
          block.out = target, block.out_stride = cut.c.row, block.out_type = cut.c.type;
          block.bias = call.bias ? call.bias + n0 + col : nullptr;
        } else {
          block.out = partial, block.out_stride = partial_stride, block.out_type = gemm_f32;
        }
        kernels.multiply(&block);
      };

      if (cut.split_columns) {  // each thread packs and multiplies its own columns
        fan_out(pool, threads, [&](int part) {
          const int64_t from = part * panels / threads, to = (part + 1) * panels / threads;
          if (!cut.b_direct) pack(from, to);
          multiply(part, 0, cut.m, from, to);
        });
      } else {
        if (!cut.b_direct)
          fan_out(pool, threads,
                  [&](int part) { pack(part * panels / threads, (part + 1) * panels / threads); });
        fan_out(pool, threads, [&](int part) {
          const int64_t row = part * cut.m / threads, end = (part + 1) * cut.m / threads;
          multiply(part, row, end - row, 0, panels);
        });
      }
    }
  }
}

}  // namespace ruda::cpu
