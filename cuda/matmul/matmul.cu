// cuda/matmul/matmul.cu - matmul on the GPU: its candidates, and a plain kernel for any strides.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/activation.cuh"
#include "matmul/leading.cuh"
#include "matmul/matmul_gemv.hpp"
#include "matmul/matmul_lt.hpp"
#include "matmul/matmul_mma.hpp"
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/matmul.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int tile = 64;   // rows and columns of C a block computes
constexpr int depth = 16;  // k of one step
constexpr int each = 4;    // rows and columns of C a thread computes
constexpr int threads = (tile / each) * (tile / each);

// Element (i, j) is data[i * row + j * col]; leading axes are walked by the block's product index.
struct Matrix {
  int64_t row, col;
};

struct State {
  int64_t m, n, k, count;
  Matrix a, b, c;
  Leading leading;
  uint32_t activation, bias_dtype;
  bool a_e5m2, b_e5m2;  // of FP8 operands
};

struct Addends {
  const void* bias;
  const float *a_scale, *b_scale;
};

template <class T>
__device__ float widen(T x, bool) {
  return float(x);
}
__device__ float widen(uint8_t code, bool e5m2) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, e5m2 ? __NV_E5M2 : __NV_E4M3)));
}

template <class A, class B, class C>
__global__ void __launch_bounds__(threads)
    matmul_tiles(const A* a, const B* b, const Addends add, C* c, const __grid_constant__ State s) {
  __shared__ float a_part[depth][tile + 1], b_part[depth][tile + 1];
  for (int64_t product = blockIdx.z; product < s.count; product += gridDim.z) {
    int64_t a_at, b_at, c_at;
    s.leading.offsets(product, a_at, b_at, c_at);
    const int64_t row0 = int64_t(blockIdx.y) * tile, col0 = int64_t(blockIdx.x) * tile;
    const int tx = threadIdx.x % (tile / each), ty = threadIdx.x / (tile / each);
    float sum[each][each] = {};
    for (int64_t k0 = 0; k0 < s.k; k0 += depth) {
      // The thread index runs along the axis that is dense, so that neighbours load neighbours.
      for (int i = threadIdx.x; i < tile * depth; i += threads) {
        const int line = s.a.col == 1 ? i / depth : i % tile, k = s.a.col == 1 ? i % depth : i / tile;
        const bool inside = row0 + line < s.m && k0 + k < s.k;
        a_part[k][line] =
            inside ? widen(a[a_at + (row0 + line) * s.a.row + (k0 + k) * s.a.col], s.a_e5m2) : 0.0f;
      }
      for (int i = threadIdx.x; i < tile * depth; i += threads) {
        const int line = s.b.row == 1 ? i / depth : i % tile, k = s.b.row == 1 ? i % depth : i / tile;
        const bool inside = col0 + line < s.n && k0 + k < s.k;
        b_part[k][line] =
            inside ? widen(b[b_at + (k0 + k) * s.b.row + (col0 + line) * s.b.col], s.b_e5m2) : 0.0f;
      }
      __syncthreads();
      const int steps =
          s.k - k0 < depth ? int(s.k - k0) : depth;  // a padded step would turn infinity into NaN
      for (int k = 0; k < steps; ++k)
        for (int i = 0; i < each; ++i)
          for (int j = 0; j < each; ++j)
            sum[i][j] = fmaf(a_part[k][ty + i * (tile / each)], b_part[k][tx + j * (tile / each)], sum[i][j]);
      __syncthreads();
    }
    for (int i = 0; i < each; ++i)
      for (int j = 0; j < each; ++j) {
        const int64_t row = row0 + ty + i * (tile / each), col = col0 + tx + j * (tile / each);
        if (row >= s.m || col >= s.n) continue;
        float value = sum[i][j];
        if (add.a_scale) value *= *add.a_scale;
        if (add.b_scale) value *= *add.b_scale;
        if (add.bias) value += bias_value(add.bias, s.bias_dtype, col);
        c[c_at + row * s.c.row + col] = from_f32<C>(activate(s.activation, value));
      }
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_SCALAR)
    return "not of the strategy asked for";
  const auto& d = p.as<ruda_matmul_desc>();
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C];
  State& s = prep.state<State>();
  s.m = c.dim(-2), s.n = c.dim(-1), s.k = a.dim(d.transpose_a ? -2 : -1);
  s.a = {a.stride(d.transpose_a ? -1 : -2), a.stride(d.transpose_a ? -2 : -1)};
  s.b = {b.stride(d.transpose_b ? -1 : -2), b.stride(d.transpose_b ? -2 : -1)};
  s.c = {c.stride(-2), 1};
  s.activation = d.activation;
  s.bias_dtype = p[RUDA_MATMUL_BIAS].present ? p[RUDA_MATMUL_BIAS].dtype() : 0;
  s.a_e5m2 = a.dtype() == RUDA_F8E5M2, s.b_e5m2 = b.dtype() == RUDA_F8E5M2;
  s.count = make_leading(p, s.leading);
  if ((s.m + tile - 1) / tile > 65535) return "more than 65535 tiles of rows";
  if ((s.n + tile - 1) / tile > INT32_MAX) return "more than 2^31 - 1 tiles of columns";
  return nullptr;
}

template <class A, class B, class C>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.m == 0 || s.n == 0 || s.count == 0) return;
  const auto optional = [&](uint32_t slot) {
    return l.problem[slot].present ? l.ptr<const void>(slot) : nullptr;
  };
  const Addends add{optional(RUDA_MATMUL_BIAS), static_cast<const float*>(optional(RUDA_MATMUL_A_SCALE)),
                    static_cast<const float*>(optional(RUDA_MATMUL_B_SCALE))};
  const dim3 grid(unsigned((s.n + tile - 1) / tile), unsigned((s.m + tile - 1) / tile),
                  unsigned(s.count < 65535 ? s.count : 65535));
  matmul_tiles<A, B, C><<<grid, threads, 0, stream_of(l)>>>(
      l.ptr<const A>(RUDA_MATMUL_A), l.ptr<const B>(RUDA_MATMUL_B), add, l.ptr<C>(RUDA_MATMUL_C), s);
  check_launch(l);
}

template <class T>
void launch_16(const Launch& l) {
  if (l.problem[RUDA_MATMUL_C].dtype() == RUDA_F32) return launch<T, T, float>(l);
  launch<T, T, T>(l);
}

void launch_8(const Launch& l) {
  switch (l.problem[RUDA_MATMUL_C].dtype()) {
    case RUDA_F16: return launch<uint8_t, uint8_t, __half>(l);
    case RUDA_BF16: return launch<uint8_t, uint8_t, __nv_bfloat16>(l);
    default: return launch<uint8_t, uint8_t, float>(l);
  }
}

void run(const Launch& l) {
  switch (l.problem[RUDA_MATMUL_A].dtype()) {
    case RUDA_F8E4M3:
    case RUDA_F8E5M2: return launch_8(l);
    case RUDA_F16: return launch_16<__half>(l);
    case RUDA_BF16: return launch_16<__nv_bfloat16>(l);
    default: break;
  }
  switch (l.problem[RUDA_MATMUL_B].dtype()) {
    case RUDA_F16: return launch<float, __half, float>(l);
    case RUDA_BF16: return launch<float, __nv_bfloat16, float>(l);
    default: return launch<float, float, float>(l);
  }
}

constexpr Kernel list[] = {{"cuda/matmul/gemv", matmul_gemv::prepare, matmul_gemv::run},
                           {"cuda/matmul/cublaslt", matmul_lt::prepare, matmul_lt::run},
                           {"cuda/matmul/mma", matmul_mma::prepare, matmul_mma::run},
                           {"cuda/matmul/tiles", prepare, run}};

}  // namespace

extern constinit const Kernels matmul{list};

}  // namespace ruda::cuda
