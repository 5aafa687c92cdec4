// cuda/norm/rms_norm.cu - rms_norm on the GPU: a row in the registers of a warp, a block or a cluster, or one
// pass more for any row.
// SPDX-License-Identifier: Apache-2.0
#include "norm/row_group.cuh"
#include "runtime/visit.hpp"

#include <ruda/norm.h>

namespace ruda::cuda {
namespace {

template <bool Whole, int N>
__device__ inline void load_weights(const float* gamma, int at, int cols, float (&to)[N]) {
  if constexpr (Whole) {
    load_run(gamma + at, to);
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = at + i < cols ? gamma[at + i] : 0.0f;
  }
}

// Each thread keeps Vectors pieces of 16 bytes of its row; the row is read once.
template <class T, int Vectors, int Warps, int RowsPerBlock, int Blocks, bool Whole>
__global__ void __launch_bounds__(Warps* RowsPerBlock* warp_threads)
    rms_norm_registers(const T* x, const float* gamma, T* y, const __grid_constant__ Rows x_rows,
                       const __grid_constant__ Rows y_rows, float eps) {
  using Group = RowGroup<Warps, Blocks>;
  constexpr int n = vec_size<T>, lanes = Group::lanes;
  __shared__ float partial[Warps + 1];
  let_next_start();
  wait_for_previous();
  const int lane = Group::lane();
  const int64_t row = Blocks > 1 ? blockIdx.x / Blocks
                                 : int64_t(blockIdx.x) * RowsPerBlock + threadIdx.x / (Warps * warp_threads);
  if (row >= x_rows.count) return;  // whole warps leave; a row of several warps has a block of its own
  const T* from = x + x_rows.offset(row);
  T* to = y + y_rows.offset(row);
  const int cols = int(x_rows.cols), pieces = (cols + n - 1) / n;
  Vec<T, n> kept[Vectors];
  constexpr bool gamma_first = Vectors <= 2;  // short rows wait for memory once
  float weights[gamma_first ? Vectors : 1][n];
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
    if (lane + v * lanes < pieces) {
      kept[v] = load_piece<Whole>(from, lane + v * lanes, cols, from_f32<T>(0.0f));
      if constexpr (gamma_first) load_weights<Whole>(gamma, (lane + v * lanes) * n, cols, weights[v]);
    }
  float sum = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
    if (lane + v * lanes < pieces)
#pragma unroll
      for (int i = 0; i < n; ++i) sum = fmaf(to_f32(kept[v][i]), to_f32(kept[v][i]), sum);
  sum = Group::sum(sum, partial);
  const float scale = 1.0f / sqrtf(sum / float(x_rows.cols) + eps);
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if (lane + v * lanes >= pieces) break;
    float out[n];
    if constexpr (!gamma_first) load_weights<Whole>(gamma, (lane + v * lanes) * n, cols, weights[0]);
#pragma unroll
    for (int i = 0; i < n; ++i) out[i] = to_f32(kept[v][i]) * scale * weights[gamma_first ? v : 0][i];
    round_f32(out, kept[v].at);
    store_piece<Whole>(to, lane + v * lanes, cols, kept[v]);
  }
}

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads)
    rms_norm_rows(const T* x, const float* gamma, T* y, const __grid_constant__ Rows x_rows,
                  const __grid_constant__ Rows y_rows, float eps) {
  __shared__ float partial[threads / warp_threads];
  const T* from = x + x_rows.offset(blockIdx.x);
  T* to = y + y_rows.offset(blockIdx.x);
  float sum = 0;
  for (int64_t c = threadIdx.x; c < x_rows.cols; c += threads) {
    const float v = to_f32(from[c]);
    sum = fmaf(v, v, sum);
  }
  sum = block_sum<threads / warp_threads>(sum, partial);
  const float scale = 1.0f / sqrtf(sum / float(x_rows.cols) + eps);
  for (int64_t c = threadIdx.x; c < x_rows.cols; c += threads)
    to[c] = from_f32<T>(to_f32(from[c]) * scale * gamma[c]);
}

Verdict prepare_rows(const Problem& p, Prepare& prep) {
  RowState& s = prep.state<RowState>();
  s.x = make_rows(*p[RUDA_RMS_NORM_X].layout);
  s.y = make_rows(*p[RUDA_RMS_NORM_Y].layout);
  return s.x.count > INT32_MAX ? "more than 2^31 - 1 rows" : nullptr;
}

Verdict prepare_registers(const Problem& p, Prepare& prep) {
  return choose_rows(p, p[RUDA_RMS_NORM_X], p[RUDA_RMS_NORM_Y], p[RUDA_RMS_NORM_GAMMA].align_log2 >= 4, prep,
                     prep.state<RowState>());
}

float eps_of(const Launch& l) { return float(l.problem.as<ruda_rms_norm_desc>().eps); }

template <class T>
void launch_registers(const Launch& l) {
  const RowState& s = l.state<RowState>();
  if (s.x.count == 0) return;
  visit_row_variant(s, [&](auto index, auto whole) {
    constexpr RowVariant v = row_variants[decltype(index)::value];
    if constexpr (fits_registers<T>(v))
      check_cuda(
          launch_clusters<v.blocks>(
              s.early, rms_norm_registers<T, v.vectors, v.warps, v.rows, v.blocks, decltype(whole)::value>,
              unsigned((s.x.count + v.rows - 1) / v.rows * v.blocks), v.warps * v.rows * warp_threads, 0,
              stream_of(l), l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA),
              l.ptr<T>(RUDA_RMS_NORM_Y), s.x, s.y, eps_of(l)),
          "rms_norm");
  });
}

template <class T>
void launch_rows(const Launch& l) {
  const RowState& s = l.state<RowState>();
  if (s.x.count == 0) return;
  rms_norm_rows<T><<<unsigned(s.x.count), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA), l.ptr<T>(RUDA_RMS_NORM_Y),
      s.x, s.y, eps_of(l));
  check_launch(l);
}

void run_registers(const Launch& l) {
  visit_float(l.problem[RUDA_RMS_NORM_X].dtype(), [&](auto t) { launch_registers<decltype(t)>(l); });
}

void run_rows(const Launch& l) {
  visit_float(l.problem[RUDA_RMS_NORM_X].dtype(), [&](auto t) { launch_rows<decltype(t)>(l); });
}

constexpr Kernel list[] = {{"cuda/rms_norm/registers", prepare_registers, run_registers},
                           {"cuda/rms_norm/block_row", prepare_rows, run_rows}};

}  // namespace

extern constinit const Kernels rms_norm{list};

}  // namespace ruda::cuda
