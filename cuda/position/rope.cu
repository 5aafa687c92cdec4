// cuda/position/rope.cu - rope on the GPU: one thread a pair of a token, which walks the heads.
// SPDX-License-Identifier: Apache-2.0
#include "core/rope_constants.hpp"
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/position.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 128, table_pairs = 256;

// Passed by value, so that a captured graph needs no memory of the plan's.
struct Args {
  int64_t heads, head_dim, half, x_token, x_head, y_token, y_head;
  float factor;
  bool wide_positions, interleaved, inverse, own_table;
  double frequencies[table_pairs];
};

template <class T>
__global__ void __launch_bounds__(threads) rope_tokens(const T* x, T* y, const void* positions,
                                                       const float* tensor, const __grid_constant__ Args a) {
  const int64_t token = blockIdx.x;
  const T* from = x + token * a.x_token;
  T* to = y + token * a.y_token;
  const double position = a.wide_positions ? double(static_cast<const int64_t*>(positions)[token])
                                           : double(static_cast<const int32_t*>(positions)[token]);
  for (int64_t i = threadIdx.x; i < a.half; i += threads) {
    const double angle = position * (a.own_table ? a.frequencies[i] : double(tensor[i]));
    const double turns = rint(angle * 0.15915494309189533577);
    const float reduced = float((angle - turns * 0x1.921fb544p+2) - turns * 0x1.0b4611a626331p-32);
    const float c = cosf(reduced) * a.factor, s = sinf(reduced) * (a.inverse ? -a.factor : a.factor);
    const int64_t first = a.interleaved ? 2 * i : i, second = a.interleaved ? 2 * i + 1 : i + a.half;
    for (int64_t h = 0; h < a.heads; ++h) {
      const float u = float(from[h * a.x_head + first]), v = float(from[h * a.x_head + second]);
      to[h * a.y_head + first] = T(fmaf(-v, s, u * c));
      to[h * a.y_head + second] = T(fmaf(u, s, v * c));
    }
  }
  if (from == to) return;
  const int64_t rest = a.head_dim - 2 * a.half;
  for (int64_t i = threadIdx.x; i < rest * a.heads; i += threads) {
    const int64_t h = i / rest, e = 2 * a.half + i % rest;
    to[h * a.y_head + e] = from[h * a.x_head + e];
  }
}

struct State {
  int64_t tokens;
  Args args;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const auto& c = *reinterpret_cast<const RopeConstants*>(p.options.data() + sizeof(ruda_rope_desc));
  const bool own_table = !p[RUDA_ROPE_FREQUENCIES].present;
  if (own_table && c.half > table_pairs) return "rotary_dim above 512 without a tensor of frequencies";
  if (x.dim(0) > INT32_MAX) return "more than 2^31 - 1 tokens";
  State& s = prep.state<State>();
  s.tokens = x.layout->elements ? x.dim(0) : 0;
  s.args = {x.dim(1),
            x.dim(2),
            c.half,
            x.stride(0),
            x.stride(1),
            y.stride(0),
            y.stride(1),
            float(c.factor),
            p[RUDA_ROPE_POSITIONS].dtype() == RUDA_I64,
            c.pairing == RUDA_ROPE_INTERLEAVED,
            c.direction == RUDA_ROPE_INVERSE,
            own_table,
            {}};
  if (own_table)
    for (int64_t i = 0; i < c.half; ++i) s.args.frequencies[i] = c.frequencies()[i];
  return nullptr;
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.tokens == 0) return;
  rope_tokens<T><<<unsigned(s.tokens), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_ROPE_X), l.ptr<T>(RUDA_ROPE_Y), l.ptr<const void>(RUDA_ROPE_POSITIONS),
      l.ptr<const float>(RUDA_ROPE_FREQUENCIES), s.args);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_ROPE_X].dtype()) {
    case RUDA_F32: return launch<float>(l);
    case RUDA_F16: return launch<__half>(l);
    default: return launch<__nv_bfloat16>(l);
  }
}

constexpr Kernel list[] = {{"cuda/rope/tokens", prepare, run}};

}  // namespace

extern constinit const Kernels rope{list};

}  // namespace ruda::cuda
