// src/cpu/matmul/gemm_driver.cpp - cuts a product into blocks, packs them and spreads them over the pool.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/gemm_driver.hpp"

#include "plan/op.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

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

// Deals units of work in runs that become shorter towards the end: a core that a neighbour slows down takes
// fewer of them. Who computes a unit does not change its bits.
class Deal {
 public:
  Deal(int64_t total, int64_t block, int threads)
      : total_(total), block_(block), share_(threads == 1 ? 1 : 2 * int64_t{threads}) {}

  // The next run, within one block; false when nothing is left.
  bool take(int64_t& from, int64_t& to) {
    from = next_.load(std::memory_order_relaxed);
    do {
      if (from >= total_) return false;
      to = from + std::clamp<int64_t>((total_ - from) / share_, 1, block_ - from % block_);
    } while (!next_.compare_exchange_weak(from, to, std::memory_order_relaxed));
    return true;
  }

 private:
  const int64_t total_, block_, share_;
  std::atomic<int64_t> next_{0};
};

// What one thread has packed, and its way through a run of units.
struct Worker {
  const GemmCut& cut;
  const GemmCall& call;
  char* const a_space;
  char* const b_space;
  float* const sums;
  const int64_t n0, columns, k0, depth;  // the part of B
  int64_t a_row = -1, a_packed = 0;      // the row block in a_space, and how many of its panels are there
  int64_t b_packed = -1;                 // the panel in b_space, where it is one

  // Units from..to-1 of the row block that begins at `row`.
  void run(int64_t row, int64_t from, int64_t to) {
    const GemmKernels& kernels = *cut.kernels;
    const int64_t rows = std::min(cut.row_block, cut.m - row);
    GemmBlock block{};
    block.k = depth;
    if (!cut.a_direct) block.a_panel = a_space;
    if (a_row != row) a_row = row, a_packed = 0;
    const int64_t heights = ceil_div(rows, kernels.tile_rows);
    while (from < to) {
      // whole panels together where they fit, else one and the segments of it that are in the run
      const int64_t panel = from / cut.segments, first = from % cut.segments;
      int64_t panels = 1, last = std::min(to - panel * cut.segments, cut.segments);
      if (first == 0 && last == cut.segments)
        panels = std::min((to - from) / cut.segments, panels_between_looks());
      from = (panel + panels - 1) * cut.segments + last;

      block.first_panel = first * heights / cut.segments;
      block.last_panel = last * heights / cut.segments;
      block.cols = std::min(panels * kernels.tile_cols, columns - panel * kernels.tile_cols);
      block.a_packed = cut.a_kept ? a_packed : -1;
      take_b(block, panel, panels);
      // Segments of a panel are short as they are, and their rows are the kernel's to find.
      const bool all_rows = block.first_panel == 0 && block.last_panel == heights;
      const int64_t step = all_rows ? rows_between_looks(rows, block.cols) : rows;
      for (int64_t done = 0; done < rows; done += step) {
        call.stop->check();
        block.rows = std::min(step, rows - done);
        if (step < rows) block.last_panel = ceil_div(block.rows, kernels.tile_rows);
        block.a = at(cut.a, call.a, row + done, k0);
        aim(block, row + done, panel * kernels.tile_cols);
        kernels.multiply(&block);
      }
      a_packed = std::max(a_packed, block.last_panel);
    }
  }

 private:
  // A call that may be stopped makes about half a millisecond of products between two looks.
  int64_t products_between_looks() const {
    if (!call.stop->armed()) return INT64_MAX;
    return int64_t{1} << (cut.kernels->element_bytes == 4 ? 24 : 26);
  }
  int64_t panels_between_looks() const {
    const int64_t of_one = cut.kernels->tile_rows * cut.kernels->tile_cols * std::max<int64_t>(depth, 1);
    return std::clamp<int64_t>(products_between_looks() / of_one, 1, cut.most_panels);
  }
  // Where the packed rows are kept, a block is not much more.
  int64_t rows_between_looks(int64_t rows, int64_t cols) const {
    if (cut.a_kept) return rows;
    const int64_t tile_rows = cut.kernels->tile_rows;
    const int64_t fit = products_between_looks() / std::max<int64_t>(cols * depth, 1);
    return std::clamp<int64_t>(fit / tile_rows * tile_rows, tile_rows, std::max(rows, tile_rows));
  }

  void take_b(GemmBlock& block, int64_t panel, int64_t panels) {
    const GemmKernels& kernels = *cut.kernels;
    const int64_t tile_cols = kernels.tile_cols, col = n0 + panel * tile_cols;
    if (cut.b_direct) {
      block.b = at(cut.b, call.b, k0, col).data, block.b_stride = cut.b.row;
      return;
    }
    block.b = b_space;
    if (panels == 1 && b_packed == panel) return;
    const int64_t panel_bytes = round_up(depth, kernels.k_multiple) * tile_cols * kernels.element_bytes;
    for (int64_t p = 0; p < panels; p++) {
      const GemmMatrix source = at(cut.b, call.b, k0, col + p * tile_cols);
      kernels.pack_b(&source, std::min(tile_cols, block.cols - p * tile_cols), depth,
                     b_space + p * panel_bytes);
    }
    b_packed = panels == 1 ? panel : -1;
  }

  // Where the sums of columns n0 + col on come from and go to.
  void aim(GemmBlock& block, int64_t row, int64_t col) const {
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
  }
};

}  // namespace

GemmCut gemm_cut(const GemmKernels& kernels, int64_t m, int64_t n, int64_t k, const GemmMatrix& a,
                 const GemmMatrix& b, const GemmMatrix& c, int threads) {
  GemmCut cut{};
  cut.kernels = &kernels;
  cut.m = m, cut.n = n, cut.k = k;
  cut.a = a, cut.b = b, cut.c = c;
  const int64_t tile_rows = kernels.tile_rows, tile_cols = kernels.tile_cols;

  // k blocks of about equal length, a multiple of 64 each; one that is a quarter too long is better than two
  // short ones
  const int64_t passes = std::max<int64_t>(1, ceil_div(k - kernels.k_block / 4, kernels.k_block));
  cut.k_block = passes == 1 ? k : round_up(ceil_div(k, passes), 64);

  // A copy pays for itself only where it is read often.
  const bool plain = kernels.element_bytes == 4 && a.type == gemm_f32 && a.col == 1;
  const bool b_plain = b.type == gemm_f32 && b.col == 1 && b.row != 0;  // a stride of 0 means panels
  cut.b_direct = plain && b_plain && (m <= 2 * tile_rows || k * n <= 16384);
  cut.a_direct = cut.b_direct || (plain && n <= 4 * tile_cols && k <= 1024);

  // A thread is worth it for about 20 us of work.
  const double work = 2.0 * double(m) * double(n) * double(k);
  cut.threads = work < 2e6 ? 1 : threads;
  cut.a_kept = kernels.a_block_bytes && !cut.a_direct && cut.threads > 1;

  // Each thread packs what it needs for itself: panels that another core packed cost more than packing. A
  // share of C twice as high as wide packs least, since a panel of B costs more than one of A.
  const int64_t panels = std::max<int64_t>(1, ceil_div(n, tile_cols));
  const int64_t a_row_bytes = round_up(cut.k_block, 16) * kernels.element_bytes;
  const int64_t panel_bytes = round_up(cut.k_block, kernels.k_multiple) * tile_cols * kernels.element_bytes;
  int64_t rows = std::max(m, int64_t{1});
  if (cut.threads > 1)
    rows = std::clamp(int64_t(2 * std::sqrt(double(m) * double(n) / cut.threads)), 8 * tile_rows,
                      std::max(rows, 8 * tile_rows));
  if (cut.a_kept) rows = std::min(rows, std::max(kernels.a_block_bytes / a_row_bytes, tile_rows));
  cut.row_block =
      std::max(tile_rows, round_up(ceil_div(m, std::max<int64_t>(1, ceil_div(m, rows))), tile_rows));
  if (kernels.a_block_bytes && cut.threads > 1)  // units of about 5 us
    cut.segments = std::clamp<int64_t>(cut.row_block * cut.k_block * tile_cols / 400000, 1,
                                       ceil_div(std::min(m, cut.row_block), tile_rows));
  else
    cut.segments = 1;
  cut.most_panels = panels;
  if (!cut.b_direct)
    cut.most_panels =
        std::clamp<int64_t>(kernels.b_block_bytes / panel_bytes, 1, ceil_div(panels, cut.threads));

  if (!cut.a_direct)
    cut.a_bytes = size_t(round_up(
        cut.a_kept ? cut.row_block * a_row_bytes : std::max(kernels.scratch_bytes, tile_rows * a_row_bytes),
        64));
  if (!cut.b_direct) cut.b_bytes = size_t(round_up(cut.most_panels * panel_bytes, 64));
  cut.n_block = n;
  if (c.type != gemm_f32 && k > cut.k_block) {
    cut.n_block = std::min<int64_t>(n, 1024);
    cut.sum_bytes = size_t(round_up(m * cut.n_block * 4, 64));
  }
  return cut;
}

void gemm_run(const GemmCut& cut, const GemmCall& call, void* workspace, ThreadPool* pool) {
  char* const space = static_cast<char*>(workspace);
  const size_t each = cut.a_bytes + cut.b_bytes;
  float* const sums = reinterpret_cast<float*>(space + each * size_t(cut.threads));

  for (int64_t n0 = 0; n0 < cut.n; n0 += cut.n_block) {
    const int64_t columns = std::min(cut.n_block, cut.n - n0);
    const int64_t units = ceil_div(columns, cut.kernels->tile_cols) * cut.segments;  // of a row block
    for (int64_t k0 = 0; k0 < cut.k; k0 += cut.k_block) {
      Deal deal(ceil_div(cut.m, cut.row_block) * units, units, cut.threads);
      fan_out(pool, cut.threads, [&](int part) {
        char* const own = space + each * size_t(part);
        const int64_t depth = std::min(cut.k_block, cut.k - k0);
        Worker worker{cut, call, own, own + cut.a_bytes, sums, n0, columns, k0, depth};
        for (int64_t from, to; deal.take(from, to);)
          worker.run(from / units * cut.row_block, from % units, from % units + to - from);
      });
    }
  }
}

}  // namespace ruda::cpu
