// cuda/matmul/matmul_mma.cu - matmul of F16 or BF16 by tensor cores, without any library.
// SPDX-License-Identifier: Apache-2.0
//
// Three stages of 32 columns of k of both operands lie in shared memory. A tile lies there as its operand
// does, rows of k or columns; the fragment loads transpose the latter. Its 16-byte pieces are permuted so
// that the eight of a fragment load fall into different banks.
#include "matmul/matmul_mma.hpp"

#include "device/async_copy.cuh"
#include "device/mma.cuh"
#include "matmul/activation.cuh"
#include "matmul/leading.cuh"
#include "runtime/launch.hpp"

namespace ruda::cuda::matmul_mma {
namespace {

constexpr int tile = 128, depth = 32, stages = 3, warps = 8, threads = 32 * warps;
constexpr int pieces = tile * depth / 8;  // of 8 elements in a tile
constexpr int warp_rows = 64, warp_cols = 32;

struct State {
  int64_t m, n, k, count;
  int64_t a_stride, b_stride, c_stride;  // between rows of the dense axis
  Leading leading;
  uint32_t bias_dtype, c_dtype;
  bool relu, a_by_k, b_by_k;  // k is the dense axis
};

// Where the piece of 8 elements lies in a tile, in pieces. ByK: [128 lines][32 k], else [32 k][128 lines].
template <bool ByK>
__device__ int place(int line, int k) {
  if constexpr (ByK) return line * (depth / 8) + ((k / 8) ^ (line / 2 % 4));
  return k * (tile / 8) + ((line / 8) ^ (k % 8));
}

// Starts the copies of one tile: lines line0.. and k0.. of an operand.
template <bool ByK, class T>
__device__ void load_tile(T* shared, const T* from, int64_t stride, int64_t line0, int64_t lines, int64_t k0,
                          int64_t k) {
#pragma unroll
  for (int i = 0; i < pieces / threads; ++i) {
    const int piece = int(threadIdx.x) + i * threads;
    const int line = ByK ? piece / (depth / 8) : piece % (tile / 8) * 8;
    const int step = ByK ? piece % (depth / 8) * 8 : piece / (tile / 8);
    const bool inside = line0 + line < lines && k0 + step < k;
    const int64_t at = ByK ? (line0 + line) * stride + k0 + step : (k0 + step) * stride + line0 + line;
    copy_async(shared + 8 * place<ByK>(line, step), from + (inside ? at : 0), inside);
  }
}

// 16 lines by 16 of k as the left operand holds them; Pairs swaps the middle quarters, as the right does.
template <bool ByK, bool Pairs, class T>
__device__ void load_fragment(uint32_t (&r)[4], const T* shared, int line0, int k0) {
  const int lane = threadIdx.x % 32, part = lane / 8;
  const int line_part = Pairs ? part / 2 : part % 2, k_part = Pairs ? part % 2 : part / 2;
  if constexpr (ByK)
    load_matrices(r, shared + 8 * place<true>(line0 + 8 * line_part + lane % 8, k0 + 8 * k_part));
  else
    load_matrices_transposed(r, shared + 8 * place<false>(line0 + 8 * line_part, k0 + 8 * k_part + lane % 8));
}

template <class C>
__device__ void store_pair(C* to, const float (&v)[2], int count) {
  if (count == 2 && reinterpret_cast<uintptr_t>(to) % (2 * sizeof(C)) == 0) {
    if constexpr (sizeof(C) == 4)
      *reinterpret_cast<float2*>(to) = {v[0], v[1]};
    else
      *reinterpret_cast<uint32_t*>(to) = pack_pair<C>(v[0], v[1]);
    return;
  }
  to[0] = from_f32<C>(v[0]);
  if (count == 2) to[1] = from_f32<C>(v[1]);
}

template <class T, bool AByK, bool BByK>
__global__ void __launch_bounds__(threads, 2)
    matmul_mma_tiles(const T* a, const T* b, const void* bias, void* c, const __grid_constant__ State s) {
  __shared__ __align__(128) T a_part[stages][tile * depth];
  __shared__ __align__(128) T b_part[stages][tile * depth];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, q = lane % 4;
  const int warp_row = warp / (tile / warp_cols) * warp_rows,
            warp_col = warp % (tile / warp_cols) * warp_cols;
  const int64_t row0 = int64_t(blockIdx.x) * tile, col0 = int64_t(blockIdx.y) * tile;
  const int64_t steps = (s.k + depth - 1) / depth;

  for (int64_t product = blockIdx.z; product < s.count; product += gridDim.z) {
    int64_t a_at, b_at, c_at;
    s.leading.offsets(product, a_at, b_at, c_at);
    const auto load = [&](int64_t step) {
      if (step < steps) {
        load_tile<AByK>(a_part[step % stages], a + a_at, s.a_stride, row0, s.m, step * depth, s.k);
        load_tile<BByK>(b_part[step % stages], b + b_at, s.b_stride, col0, s.n, step * depth, s.k);
      }
      commit_copies();
    };
    float sums[warp_rows / 16][warp_cols / 8][4] = {};
    for (int step = 0; step < stages - 1; ++step) load(step);
    for (int64_t step = 0; step < steps; ++step) {
      wait_copies<stages - 2>();
      __syncthreads();  // the stage is there, and everyone is done with the one before
      load(step + stages - 1);
      const T *a_now = a_part[step % stages], *b_now = b_part[step % stages];
#pragma unroll
      for (int k = 0; k < depth; k += 16) {
        uint32_t left[warp_rows / 16][4], right[warp_cols / 16][4];
#pragma unroll
        for (int i = 0; i < warp_rows / 16; ++i)
          load_fragment<AByK, false>(left[i], a_now, warp_row + 16 * i, k);
#pragma unroll
        for (int j = 0; j < warp_cols / 16; ++j)
          load_fragment<BByK, true>(right[j], b_now, warp_col + 16 * j, k);
#pragma unroll
        for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
          for (int j = 0; j < warp_cols / 8; ++j)
            mma_16816<T>(sums[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
      }
    }
    wait_copies<0>();
    __syncthreads();

#pragma unroll
    for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
      for (int j = 0; j < warp_cols / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int64_t row = row0 + warp_row + 16 * i + 8 * half + g, col = col0 + warp_col + 8 * j + 2 * q;
          if (row >= s.m || col >= s.n) continue;
          const int count = s.n - col < 2 ? 1 : 2;
          float v[2] = {sums[i][j][2 * half], sums[i][j][2 * half + 1]};
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (bias && e < count) v[e] += bias_value(bias, s.bias_dtype, col + e);
            if (s.relu) v[e] = v[e] > 0 || v[e] != v[e] ? v[e] : 0.0f;
          }
          const int64_t to = c_at + row * s.c_stride + col;
          if (s.c_dtype == RUDA_F32)
            store_pair(static_cast<float*>(c) + to, v, count);
          else
            store_pair(static_cast<T*>(c) + to, v, count);
        }
  }
}

// An operand as lines along k: true when one axis is dense and every piece of 8 elements is aligned.
bool make_lines(const Operand& x, int line_axis, int k_axis, const int64_t* leading, int axes, bool& by_k,
                int64_t& stride) {
  const int64_t lines = x.dim(line_axis), k = x.dim(k_axis);
  const int64_t line_stride = x.stride(line_axis), k_stride = x.stride(k_axis);
  by_k = k_stride == 1 && k % 8 == 0 && (lines == 1 || line_stride % 8 == 0);
  const bool by_lines = line_stride == 1 && lines % 8 == 0 && (k == 1 || k_stride % 8 == 0);
  if (!by_k && !by_lines) return false;
  stride = by_k ? line_stride : k_stride;
  for (int i = 0; i < axes; ++i)
    if (leading[i] % 8) return false;
  return x.align_log2 >= 4;
}

}  // namespace

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_TENSOR_CORE)
    return "not of the strategy asked for";
  const auto& d = p.as<ruda_matmul_desc>();
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C];
  if (a.dtype() != RUDA_F16 && a.dtype() != RUDA_BF16) return "operands are not of 16 bits";
  if (d.activation > RUDA_ACTIVATION_RELU) return "an activation other than relu follows";
  if (capability_of(p).code_arch < 80) return "the GPU has no bf16 products";
  State& s = prep.state<State>();
  s.count = make_leading(p, s.leading);
  s.m = c.dim(-2), s.n = c.dim(-1), s.k = a.dim(d.transpose_a ? -2 : -1);
  if (s.m == 0 || s.n == 0 || s.k == 0 || s.count == 0) return "empty";
  if (!make_lines(a, d.transpose_a ? -1 : -2, d.transpose_a ? -2 : -1, s.leading.a, s.leading.axes, s.a_by_k,
                  s.a_stride) ||
      !make_lines(b, d.transpose_b ? -2 : -1, d.transpose_b ? -1 : -2, s.leading.b, s.leading.axes, s.b_by_k,
                  s.b_stride))
    return "an operand is not in aligned pieces of 8 elements";
  s.c_stride = c.stride(-2);
  s.c_dtype = c.dtype();
  s.relu = d.activation == RUDA_ACTIVATION_RELU;
  s.bias_dtype = p[RUDA_MATMUL_BIAS].present ? p[RUDA_MATMUL_BIAS].dtype() : 0;
  if ((s.n + tile - 1) / tile > 65535) return "more than 65535 tiles of columns";
  if ((s.m + tile - 1) / tile > INT32_MAX) return "more than 2^31 - 1 tiles of rows";
  return nullptr;
}

template <class T, bool AByK, bool BByK>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const dim3 grid(unsigned((s.m + tile - 1) / tile), unsigned((s.n + tile - 1) / tile),
                  unsigned(s.count < 65535 ? s.count : 65535));
  matmul_mma_tiles<T, AByK, BByK><<<grid, threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_MATMUL_A), l.ptr<const T>(RUDA_MATMUL_B),
      l.problem[RUDA_MATMUL_BIAS].present ? l.ptr<const void>(RUDA_MATMUL_BIAS) : nullptr,
      l.ptr<void>(RUDA_MATMUL_C), s);
  check_launch(l);
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.a_by_k) return s.b_by_k ? launch<T, true, true>(l) : launch<T, true, false>(l);
  return s.b_by_k ? launch<T, false, true>(l) : launch<T, false, false>(l);
}

void run(const Launch& l) {
  if (l.problem[RUDA_MATMUL_A].dtype() == RUDA_F16) return launch<__half>(l);
  launch<__nv_bfloat16>(l);
}

}  // namespace ruda::cuda::matmul_mma
