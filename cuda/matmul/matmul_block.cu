// cuda/matmul/matmul_block.cu - matmul_block on the GPU: a plain kernel, one warp an element, F32 sums.
// SPDX-License-Identifier: Apache-2.0
#include "device/block_decode.cuh"
#include "elementwise/strided.cuh"

#include <ruda/matmul.h>

#include <cuda_bf16.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

constexpr int warps = 8;

struct State {
  Strided<2> rows;  // y, x
  int64_t n, k, weight_row_bytes;
};

template <uint32_t Dtype, class X, class Y>
__global__ void __launch_bounds__(32 * warps)
    matmul_block_warps(const X* x, const uint8_t* weights, const void* bias, bool bias_bf16, Y* y, State s) {
  const int lane = threadIdx.x % 32;
  const int64_t step = int64_t(gridDim.x) * warps;
  for (int64_t at = int64_t(blockIdx.x) * warps + threadIdx.x / 32; at < s.rows.elements * s.n; at += step) {
    const int64_t row = at / s.n, col = at % s.n;
    int64_t offsets[2];
    strided_offsets(s.rows, row, offsets);
    const X* from = x + offsets[1];
    const uint8_t* w = weights + col * s.weight_row_bytes;
    float sum = 0;
    for (int64_t i = lane; i < s.k; i += 32) sum = fmaf(float(from[i]), block_value<Dtype>(w, i), sum);
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane) continue;
    if (bias)
      sum += bias_bf16 ? float(static_cast<const __nv_bfloat16*>(bias)[col])
                       : static_cast<const float*>(bias)[col];
    y[offsets[0] + col] = Y(sum);
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& w = p[RUDA_MATMUL_BLOCK_WEIGHTS];
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({p[RUDA_MATMUL_BLOCK_Y].layout.get(), p[RUDA_MATMUL_BLOCK_X].layout.get()});
  s.n = w.dim(0);
  s.k = w.dim(1);
  s.weight_row_bytes = s.n ? int64_t(w.layout->packed_bytes()) / s.n : 0;
  return nullptr;
}

template <class X, class Y>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const int64_t elements = s.rows.elements * s.n;
  if (elements == 0) return;
  const auto blocks = unsigned(std::min<int64_t>((elements + warps - 1) / warps, 1 << 20));
  const Operand& bias = l.problem[RUDA_MATMUL_BLOCK_BIAS];
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(), [&](auto tag) {
    matmul_block_warps<decltype(tag)::dtype, X, Y><<<blocks, 32 * warps, 0, stream_of(l)>>>(
        l.ptr<const X>(RUDA_MATMUL_BLOCK_X), l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS),
        l.ptr<const void>(RUDA_MATMUL_BLOCK_BIAS), bias.present && bias.dtype() == RUDA_BF16,
        l.ptr<Y>(RUDA_MATMUL_BLOCK_Y), s);
  });
  check_launch(l);
}

void run(const Launch& l) {
  const bool x = l.problem[RUDA_MATMUL_BLOCK_X].dtype() == RUDA_BF16;
  const bool y = l.problem[RUDA_MATMUL_BLOCK_Y].dtype() == RUDA_BF16;
  if (x && y) return launch<__nv_bfloat16, __nv_bfloat16>(l);
  if (x) return launch<__nv_bfloat16, float>(l);
  if (y) return launch<float, __nv_bfloat16>(l);
  launch<float, float>(l);
}

constexpr Kernel list[] = {{"cuda/matmul_block/simt", prepare, run}};

}  // namespace

extern constinit const Kernels matmul_block{list};

}  // namespace ruda::cuda
