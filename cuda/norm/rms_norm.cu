// cuda/norm/rms_norm.cu - rms_norm on the GPU: a row in the registers of a warp or a block, or one pass more
// for any row.
// SPDX-License-Identifier: Apache-2.0
#include "device/convert.cuh"
#include "device/reduce.cuh"
#include "device/vec.cuh"
#include "norm/rows.cuh"
#include "runtime/launch.hpp"

#include <ruda/norm.h>

namespace ruda::cuda {
namespace {

// Each thread keeps Vectors pieces of 16 bytes of its row; the row is read once.
template <class T, int Vectors, int WarpsPerRow, int RowsPerBlock>
__global__ void __launch_bounds__(WarpsPerRow* RowsPerBlock* warp_threads)
    rms_norm_registers(const T* x, const float* gamma, T* y, const __grid_constant__ Rows x_rows,
                       const __grid_constant__ Rows y_rows, float eps) {
  constexpr int n = vec_size<T>, lanes = WarpsPerRow * warp_threads;
  __shared__ float partial[WarpsPerRow];
  const int lane = threadIdx.x % lanes;
  const int64_t row = int64_t(blockIdx.x) * RowsPerBlock + threadIdx.x / lanes;
  if (row >= x_rows.count) return;  // whole warps leave; a row of several warps has a block of its own
  const T* from = x + x_rows.offset(row);
  T* to = y + y_rows.offset(row);
  const int pieces = int(x_rows.cols / n);
  Vec<T, n> kept[Vectors];
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
    if (lane + v * lanes < pieces) kept[v] = load_vec<n>(from + int64_t(lane + v * lanes) * n);
  float sum = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v)
    if (lane + v * lanes < pieces)
#pragma unroll
      for (int i = 0; i < n; ++i) sum = fmaf(to_f32(kept[v][i]), to_f32(kept[v][i]), sum);
  sum = block_sum<WarpsPerRow>(sum, partial);
  const float scale = 1.0f / sqrtf(sum / float(x_rows.cols) + eps);
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    if (lane + v * lanes >= pieces) break;
    const int64_t at = int64_t(lane + v * lanes) * n;
    float weights[n];
    load_run(gamma + at, weights);
#pragma unroll
    for (int i = 0; i < n; ++i) kept[v][i] = from_f32<T>(to_f32(kept[v][i]) * scale * weights[i]);
    store_vec(to + at, kept[v]);
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

struct State {
  Rows x, y;
  int variant;
};

Verdict prepare_rows(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.x = make_rows(*p[RUDA_RMS_NORM_X].layout);
  s.y = make_rows(*p[RUDA_RMS_NORM_Y].layout);
  return s.x.count > INT32_MAX ? "more than 2^31 - 1 rows" : nullptr;
}

struct Variant {
  int vectors, warps, rows;
};
// A warp a row while it keeps at most 4 pieces a thread, then more warps, then more pieces.
constexpr Variant variants[] = {{1, 1, 4}, {2, 1, 4}, {4, 1, 4}, {2, 4, 1},
                                {4, 4, 1}, {4, 8, 1}, {8, 8, 1}, {8, 16, 1}};

Verdict prepare_registers(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_RMS_NORM_X], &y = p[RUDA_RMS_NORM_Y];
  if (const Verdict no = prepare_rows(p, prep)) return no;
  State& s = prep.state<State>();
  s.x = make_rows(*x.layout);
  s.y = make_rows(*y.layout);
  const int64_t n = 16 / dtype_info(x.dtype()).block_bytes;
  if (x.align_log2 < 4 || y.align_log2 < 4 || p[RUDA_RMS_NORM_GAMMA].align_log2 < 4)
    return "addresses not aligned to 16 bytes";
  if (s.x.cols % n || !s.x.aligned(n) || !s.y.aligned(n)) return "rows not in whole 16-byte pieces";
  for (s.variant = 0; s.variant < int(std::size(variants)); ++s.variant) {
    const Variant& v = variants[s.variant];
    if (s.x.cols > v.vectors * v.warps * warp_threads * n) continue;
    prep.note(std::to_string(v.vectors) + " pieces a thread, " + std::to_string(v.warps) + " warps a row");
    return nullptr;
  }
  return "rows longer than the registers of a block";
}

template <class T, int Index>
void launch_variant(const Launch& l, const State& s, float eps) {
  constexpr Variant v = variants[Index];
  rms_norm_registers<T, v.vectors, v.warps, v.rows>
      <<<unsigned((s.x.count + v.rows - 1) / v.rows), v.warps * v.rows * warp_threads, 0, stream_of(l)>>>(
          l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA), l.ptr<T>(RUDA_RMS_NORM_Y),
          s.x, s.y, eps);
}

template <class T>
void launch_registers(const Launch& l) {
  const State& s = l.state<State>();
  const float eps = float(l.problem.as<ruda_rms_norm_desc>().eps);
  if (s.x.count == 0) return;
  switch (s.variant) {
    case 0: launch_variant<T, 0>(l, s, eps); break;
    case 1: launch_variant<T, 1>(l, s, eps); break;
    case 2: launch_variant<T, 2>(l, s, eps); break;
    case 3: launch_variant<T, 3>(l, s, eps); break;
    case 4: launch_variant<T, 4>(l, s, eps); break;
    case 5: launch_variant<T, 5>(l, s, eps); break;
    case 6: launch_variant<T, 6>(l, s, eps); break;
    default: launch_variant<T, 7>(l, s, eps); break;
  }
  check_launch(l);
}

template <class T>
void launch_rows(const Launch& l) {
  const State& s = l.state<State>();
  if (s.x.count == 0) return;
  rms_norm_rows<T><<<unsigned(s.x.count), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_RMS_NORM_X), l.ptr<const float>(RUDA_RMS_NORM_GAMMA), l.ptr<T>(RUDA_RMS_NORM_Y),
      s.x, s.y, float(l.problem.as<ruda_rms_norm_desc>().eps));
  check_launch(l);
}

void run_registers(const Launch& l) {
  switch (l.problem[RUDA_RMS_NORM_X].dtype()) {
    case RUDA_F32: return launch_registers<float>(l);
    case RUDA_F16: return launch_registers<__half>(l);
    default: return launch_registers<__nv_bfloat16>(l);
  }
}

void run_rows(const Launch& l) {
  switch (l.problem[RUDA_RMS_NORM_X].dtype()) {
    case RUDA_F32: return launch_rows<float>(l);
    case RUDA_F16: return launch_rows<__half>(l);
    default: return launch_rows<__nv_bfloat16>(l);
  }
}

constexpr Kernel list[] = {{"cuda/rms_norm/registers", prepare_registers, run_registers},
                           {"cuda/rms_norm/block_row", prepare_rows, run_rows}};

}  // namespace

extern constinit const Kernels rms_norm{list};

}  // namespace ruda::cuda
