// cuda/position/rope.cu - rope on the GPU: a block of threads a token, which takes the sines and cosines once
// for all heads.
// SPDX-License-Identifier: Apache-2.0
#include "core/rope_constants.hpp"
#include "device/convert.cuh"
#include "device/dependent.cuh"
#include "device/vec.cuh"
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/position.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

constexpr int threads = 128, vector_threads = 256, table_pairs = 256;

// Passed by value, so that a captured graph needs no memory of the plan's. The pairs are begin .. end.
struct Args {
  int64_t heads, head_dim, half, begin, end, x_token, x_head, y_token, y_head;
  float factor;
  bool wide_positions, interleaved, inverse, own_table;
  double frequencies[table_pairs];  // of the pairs from `begin`
};

struct Turn {
  float c, s;
};

__device__ inline double position_of(const Args& a, const void* positions, int64_t token) {
  return a.wide_positions ? double(static_cast<const int64_t*>(positions)[token])
                          : double(static_cast<const int32_t*>(positions)[token]);
}

__device__ inline Turn turn_of(const Args& a, const float* tensor, double position, int64_t pair) {
  const double angle = position * (a.own_table ? a.frequencies[pair - a.begin] : double(tensor[pair]));
  const double turns = rint(angle * 0.15915494309189533577);
  const float reduced = float((angle - turns * 0x1.921fb544p+2) - turns * 0x1.0b4611a626331p-32);
  return {cosf(reduced) * a.factor, sinf(reduced) * (a.inverse ? -a.factor : a.factor)};
}

// What lies behind the rotated part of each head.
template <class T>
__device__ void copy_rest(const T* from, T* to, const Args& a) {
  if (from == to || a.begin) return;
  const int64_t rest = a.head_dim - 2 * a.half;
  for (int64_t i = threadIdx.x; i < rest * a.heads; i += blockDim.x) {
    const int64_t h = i / rest, e = 2 * a.half + i % rest;
    to[h * a.y_head + e] = from[h * a.x_head + e];
  }
}

template <class T>
__global__ void __launch_bounds__(threads) rope_tokens(const T* x, T* y, const void* positions,
                                                       const float* tensor, const __grid_constant__ Args a) {
  const int64_t token = blockIdx.x;
  const T* from = x + token * a.x_token;
  T* to = y + token * a.y_token;
  const double position = position_of(a, positions, token);
  for (int64_t i = a.begin + threadIdx.x; i < a.end; i += threads) {
    const Turn t = turn_of(a, tensor, position, i);
    const int64_t first = a.interleaved ? 2 * i : i, second = a.interleaved ? 2 * i + 1 : i + a.half;
    for (int64_t h = 0; h < a.heads; ++h) {
      const float u = to_f32(from[h * a.x_head + first]), v = to_f32(from[h * a.x_head + second]);
      to[h * a.y_head + first] = from_f32<T>(fmaf(-v, t.s, u * t.c));
      to[h * a.y_head + second] = from_f32<T>(fmaf(u, t.s, v * t.c));
    }
  }
  copy_rest(from, to, a);
}

// A thread rotates as many pairs of one head as 16 bytes hold elements.
template <class T>
__global__ void __launch_bounds__(vector_threads)
    rope_vectors(const T* x, T* y, const void* positions, const float* tensor,
                 const __grid_constant__ Args a) {
  constexpr int n = vec_size<T>;
  __shared__ Turn turns[table_pairs];
  const int64_t token = blockIdx.x;
  const T* from = x + token * a.x_token;
  T* to = y + token * a.y_token;
  const int half = int(a.half), pieces = half / n;
  let_next_start();
  wait_for_previous();
  const double position = position_of(a, positions, token);
  for (int i = threadIdx.x; i < half; i += blockDim.x) turns[i] = turn_of(a, tensor, position, i);
  __syncthreads();
  for (int64_t task = threadIdx.x; task < a.heads * pieces; task += blockDim.x) {
    const int64_t h = task / pieces;
    const int i = int(task - h * pieces) * n;
    const int64_t first = a.interleaved ? 2 * i : i, second = a.interleaved ? 2 * i + n : i + half;
    const auto low = load_vec<n>(from + h * a.x_head + first);
    const auto high = load_vec<n>(from + h * a.x_head + second);
    float u[n], v[n], p[n], q[n];
    if (a.interleaved) {
#pragma unroll
      for (int k = 0; k < n; ++k) {
        u[k] = to_f32(k < n / 2 ? low[(2 * k) % n] : high[(2 * k) % n]);
        v[k] = to_f32(k < n / 2 ? low[(2 * k + 1) % n] : high[(2 * k + 1) % n]);
      }
    } else {
#pragma unroll
      for (int k = 0; k < n; ++k) u[k] = to_f32(low[k]), v[k] = to_f32(high[k]);
    }
#pragma unroll
    for (int k = 0; k < n; ++k) {
      const Turn t = turns[i + k];
      p[k] = fmaf(-v[k], t.s, u[k] * t.c);
      q[k] = fmaf(u[k], t.s, v[k] * t.c);
    }
    if (a.interleaved) {
#pragma unroll
      for (int k = 0; k < n / 2; ++k) u[2 * k] = p[k], u[2 * k + 1] = q[k];
#pragma unroll
      for (int k = n / 2; k < n; ++k) v[2 * k - n] = p[k], v[2 * k - n + 1] = q[k];
    } else {
#pragma unroll
      for (int k = 0; k < n; ++k) u[k] = p[k], v[k] = q[k];
    }
    Vec<T, n> out;
    round_f32(u, out.at);
    store_vec(to + h * a.y_head + first, out);
    round_f32(v, out.at);
    store_vec(to + h * a.y_head + second, out);
  }
  copy_rest(from, to, a);
}

struct State {
  int64_t tokens;
  bool early;  // starts while the kernel before it ends
  Args args;   // of the first pairs
};

const RopeConstants& constants_of(const Problem& p) {
  return *reinterpret_cast<const RopeConstants*>(p.options.data() + sizeof(ruda_rope_desc));
}

void set_pairs(Args& a, const RopeConstants& c, int64_t begin) {
  a.begin = begin;
  a.end = a.own_table ? std::min(c.half, begin + table_pairs) : c.half;
  if (a.own_table)
    for (int64_t i = begin; i < a.end; ++i) a.frequencies[i - begin] = c.frequencies()[i];
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const RopeConstants& c = constants_of(p);
  if (x.dim(0) > INT32_MAX) return "more than 2^31 - 1 tokens";
  State& s = prep.state<State>();
  s.tokens = x.layout->elements ? x.dim(0) : 0;
  s.early = capability_of(p).code_arch >= dependent_arch;
  s.args.heads = x.dim(1), s.args.head_dim = x.dim(2), s.args.half = c.half;
  s.args.x_token = x.stride(0), s.args.x_head = x.stride(1);
  s.args.y_token = y.stride(0), s.args.y_head = y.stride(1);
  s.args.factor = float(c.factor);
  s.args.wide_positions = p[RUDA_ROPE_POSITIONS].dtype() == RUDA_I64;
  s.args.interleaved = c.pairing == RUDA_ROPE_INTERLEAVED;
  s.args.inverse = c.direction == RUDA_ROPE_INVERSE;
  s.args.own_table = !p[RUDA_ROPE_FREQUENCIES].present;
  set_pairs(s.args, c, 0);
  return nullptr;
}

Verdict prepare_vectors(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const int64_t half = constants_of(p).half, n = 16 / dtype_info(x.dtype()).block_bytes;
  if (half > table_pairs) return "rotary_dim above 512";
  if (half == 0 || half % n) return "pairs not in whole 16-byte pieces";
  if (x.align_log2 < 4 || y.align_log2 < 4) return "addresses not aligned to 16 bytes";
  for (int axis = 0; axis < 2; ++axis)
    if (x.dim(axis) > 1 && (x.stride(axis) % n || y.stride(axis) % n)) return "heads not aligned to 16 bytes";
  return prepare(p, prep);
}

// A launch for each part of the pairs that the arguments can hold.
template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.tokens == 0) return;
  const T* x = l.ptr<const T>(RUDA_ROPE_X);
  T* y = l.ptr<T>(RUDA_ROPE_Y);
  const void* positions = l.ptr<const void>(RUDA_ROPE_POSITIONS);
  const float* tensor = l.ptr<const float>(RUDA_ROPE_FREQUENCIES);
  rope_tokens<T><<<unsigned(s.tokens), threads, 0, stream_of(l)>>>(x, y, positions, tensor, s.args);
  check_launch(l);
  for (int64_t begin = s.args.end; begin < s.args.half; begin += table_pairs) {
    Args more = s.args;
    set_pairs(more, constants_of(l.problem), begin);
    rope_tokens<T><<<unsigned(s.tokens), threads, 0, stream_of(l)>>>(x, y, positions, tensor, more);
    check_launch(l);
  }
}

template <class T>
void launch_vectors(const Launch& l) {
  const State& s = l.state<State>();
  if (s.tokens == 0) return;
  const int64_t tasks = s.args.heads * (s.args.half / vec_size<T>);
  const unsigned block = tasks <= 64 ? 64 : tasks <= 128 ? 128 : vector_threads;
  check_cuda(launch_dependent(s.early, rope_vectors<T>, unsigned(s.tokens), block, stream_of(l),
                              l.ptr<const T>(RUDA_ROPE_X), l.ptr<T>(RUDA_ROPE_Y),
                              l.ptr<const void>(RUDA_ROPE_POSITIONS),
                              l.ptr<const float>(RUDA_ROPE_FREQUENCIES), s.args),
             "rope");
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_ROPE_X].dtype()) {
    case RUDA_F32: return launch<float>(l);
    case RUDA_F16: return launch<__half>(l);
    default: return launch<__nv_bfloat16>(l);
  }
}

void run_vectors(const Launch& l) {
  switch (l.problem[RUDA_ROPE_X].dtype()) {
    case RUDA_F32: return launch_vectors<float>(l);
    case RUDA_F16: return launch_vectors<__half>(l);
    default: return launch_vectors<__nv_bfloat16>(l);
  }
}

constexpr Kernel list[] = {{"cuda/rope/vectors", prepare_vectors, run_vectors},
                           {"cuda/rope/tokens", prepare, run}};

}  // namespace

extern constinit const Kernels rope{list};

}  // namespace ruda::cuda
