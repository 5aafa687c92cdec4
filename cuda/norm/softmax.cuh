// cuda/norm/softmax.cuh - the kernels of softmax and log_softmax: a row in registers, read once, or one block
// a
// row and three passes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "elementwise/strided.cuh"
#include "norm/row_group.cuh"
#include "runtime/visit.hpp"

#include <ruda/norm.h>

namespace ruda::cuda::softmax_kernel {
namespace {

// Each thread keeps Vectors pieces of 16 bytes of its row.
template <class T, bool is_log, int Vectors, int Warps, int RowsPerBlock, int Blocks, bool Whole>
__global__ void __launch_bounds__(Warps* RowsPerBlock* warp_threads)
    softmax_registers(const T* x, T* y, const __grid_constant__ Rows x_rows,
                      const __grid_constant__ Rows y_rows) {
  using Group = RowGroup<Warps, Blocks>;
  constexpr int n = vec_size<T>, lanes = Group::lanes;
  __shared__ float partial[Warps + 1];
  const int lane = Group::lane();
  const int64_t row = Blocks > 1 ? blockIdx.x / Blocks
                                 : int64_t(blockIdx.x) * RowsPerBlock + threadIdx.x / (Warps * warp_threads);
  if (row >= x_rows.count) return;  // whole warps leave; a row of several warps has a block of its own
  const T* from = x + x_rows.offset(row);
  T* to = y + y_rows.offset(row);
  const int cols = int(x_rows.cols), pieces = (cols + n - 1) / n;
  Vec<T, n> in[Vectors];
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
    if (lane + v * lanes < pieces)
      in[v] = load_piece<Whole>(from, lane + v * lanes, cols, from_f32<T>(-INFINITY));
  float kept[Vectors][n], top = -INFINITY;
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
#pragma unroll
    for (int i = 0; i < n; ++i) {
      kept[v][i] = lane + v * lanes < pieces ? to_f32(in[v][i]) : -INFINITY;
      top = fmaxf(top, kept[v][i]);
    }
  top = Group::max(top, partial);
  float sum = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if (lane + v * lanes >= pieces) break;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      kept[v][i] -= top;
      const float e = expf(kept[v][i]);
      sum += e;
      if constexpr (!is_log) kept[v][i] = e;
    }
  }
  sum = Group::sum(sum, partial);
  const float last = is_log ? logf(sum) : 1.0f / sum;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if (lane + v * lanes >= pieces) break;
#pragma unroll
    for (int i = 0; i < n; ++i) kept[v][i] = is_log ? kept[v][i] - last : kept[v][i] * last;
    Vec<T, n> out;
    round_f32(kept[v], out.at);
    store_piece<Whole>(to, lane + v * lanes, cols, out);
  }
}

Verdict prepare_registers(const Problem& p, Prepare& prep) {
  return choose_rows(p, p[RUDA_SOFTMAX_X], p[RUDA_SOFTMAX_Y], true, prep, prep.state<RowState>());
}

template <class T, bool is_log>
void launch_registers(const Launch& l) {
  const RowState& s = l.state<RowState>();
  if (s.x.count == 0) return;
  visit_row_variant(s, [&](auto index, auto whole) {
    constexpr RowVariant v = row_variants[decltype(index)::value];
    if constexpr (fits_registers<T>(v))
      check_cuda(
          launch_clusters<v.blocks>(
              false,
              softmax_registers<T, is_log, v.vectors, v.warps, v.rows, v.blocks, decltype(whole)::value>,
              unsigned((s.x.count + v.rows - 1) / v.rows * v.blocks), v.warps * v.rows * warp_threads, 0,
              stream_of(l), l.ptr<const T>(RUDA_SOFTMAX_X), l.ptr<T>(RUDA_SOFTMAX_Y), s.x, s.y),
          l.problem.op->name);
  });
}

template <bool is_log>
void run_registers(const Launch& l) {
  visit_float(l.problem[RUDA_SOFTMAX_X].dtype(), [&](auto t) { launch_registers<decltype(t), is_log>(l); });
}

constexpr int threads = 256;

struct State {
  Strided<2> rows;
  int64_t cols;
};

// Over the whole block; every thread gets the result.
template <class F>
__device__ float block_reduce(float v, F&& join) {
  __shared__ float partial[threads / 32];
  for (int offset = 16; offset; offset /= 2) v = join(v, __shfl_xor_sync(~0u, v, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[0];
  for (int i = 1; i < threads / 32; ++i) v = join(v, partial[i]);
  __syncthreads();
  return v;
}

template <class T, bool is_log>
__global__ void __launch_bounds__(threads) softmax_rows(const T* x, T* y, State s) {
  int64_t at[2];
  strided_offsets(s.rows, blockIdx.x, at);
  const T* from = x + at[1];
  T* to = y + at[0];
  float top = -INFINITY;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) top = fmaxf(top, float(from[c]));
  top = block_reduce(top, [](float a, float b) { return fmaxf(a, b); });
  float sum = 0;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) sum += expf(float(from[c]) - top);
  sum = block_reduce(sum, [](float a, float b) { return a + b; });
  const float last = is_log ? logf(sum) : 1.0f / sum;
  for (int64_t c = threadIdx.x; c < s.cols; c += threads) {
    const float v = float(from[c]) - top;
    to[c] = T(is_log ? v - last : expf(v) * last);
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_SOFTMAX_X].layout, &y = *p[RUDA_SOFTMAX_Y].layout;
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({&y, &x});
  s.cols = x.dim(-1);
  return s.rows.elements <= INT32_MAX ? nullptr : "more than 2^31 - 1 rows";
}

template <class T, bool is_log>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.rows.elements == 0 || s.cols == 0) return;
  softmax_rows<T, is_log><<<unsigned(s.rows.elements), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_SOFTMAX_X), l.ptr<T>(RUDA_SOFTMAX_Y), s);
  check_launch(l);
}

template <bool is_log>
void run(const Launch& l) {
  visit_float(l.problem[RUDA_SOFTMAX_X].dtype(), [&](auto t) { launch<decltype(t), is_log>(l); });
}

}  // namespace
}  // namespace ruda::cuda::softmax_kernel
