// cuda/position/rope.cu - rope on the GPU: a block of threads a token, which takes the sines and cosines once
// for all heads.
// SPDX-License-Identifier: Apache-2.0
#include "device/dependent.cuh"
#include "plan/op.hpp"
#include "position/rotary.cuh"
#include "runtime/launch.hpp"
#include "runtime/visit.hpp"

namespace ruda::cuda {
namespace {

constexpr int threads = 128, vector_threads = 256;

struct Args {
  int64_t heads, head_dim, x_token, x_head, y_token, y_head;
  bool wide_positions;
  Rotary rotary;
};

__device__ inline double position_of(const Args& a, const void* positions, int64_t token) {
  return a.wide_positions ? double(static_cast<const int64_t*>(positions)[token])
                          : double(static_cast<const int32_t*>(positions)[token]);
}

// What lies behind the rotated part of each head.
template <class T>
__device__ void copy_rest(const T* from, T* to, const Args& a) {
  if (from == to || a.rotary.begin) return;
  const int64_t rest = a.head_dim - 2 * a.rotary.half;
  for (int64_t i = threadIdx.x; i < rest * a.heads; i += blockDim.x) {
    const int64_t h = i / rest, e = 2 * a.rotary.half + i % rest;
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
  for (int64_t i = a.rotary.begin + threadIdx.x; i < a.rotary.end; i += threads) {
    const Turn t = turn_of(a.rotary, tensor, position, i);
    const int64_t first = a.rotary.first(i), second = a.rotary.second(i);
    for (int64_t h = 0; h < a.heads; ++h) {
      float u = to_f32(from[h * a.x_head + first]), v = to_f32(from[h * a.x_head + second]);
      turn_pair(t, u, v);
      to[h * a.y_head + first] = from_f32<T>(u);
      to[h * a.y_head + second] = from_f32<T>(v);
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
  const int half = int(a.rotary.half), pieces = half / n;
  let_next_start();
  wait_for_previous();
  const double position = position_of(a, positions, token);
  for (int i = threadIdx.x; i < half; i += blockDim.x) turns[i] = turn_of(a.rotary, tensor, position, i);
  __syncthreads();
  for (int64_t task = threadIdx.x; task < a.heads * pieces; task += blockDim.x) {
    const int64_t h = task / pieces;
    const int i = int(task - h * pieces) * n;
    const int64_t first = a.rotary.interleaved ? 2 * i : i,
                  second = a.rotary.interleaved ? 2 * i + n : i + half;
    auto low = load_vec<n>(from + h * a.x_head + first), high = load_vec<n>(from + h * a.x_head + second);
    turn_pieces(a.rotary.interleaved, turns + i, low, high);
    store_vec(to + h * a.y_head + first, low);
    store_vec(to + h * a.y_head + second, high);
  }
  copy_rest(from, to, a);
}

struct State {
  int64_t tokens;
  bool early;  // starts while the kernel before it ends
  Args args;   // of the first pairs
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const RopeConstants& c = rope_constants_of<ruda_rope_desc>(p.options);
  if (x.dim(0) > INT32_MAX) return "more than 2^31 - 1 tokens";
  State& s = prep.state<State>();
  s.tokens = x.layout->elements ? x.dim(0) : 0;
  s.early = capability_of(p).code_arch >= dependent_arch;
  s.args.heads = x.dim(1), s.args.head_dim = x.dim(2);
  s.args.x_token = x.stride(0), s.args.x_head = x.stride(1);
  s.args.y_token = y.stride(0), s.args.y_head = y.stride(1);
  s.args.wide_positions = p[RUDA_ROPE_POSITIONS].dtype() == RUDA_I64;
  s.args.rotary.set(c, p[RUDA_ROPE_FREQUENCIES].present);
  return nullptr;
}

Verdict prepare_vectors(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const int64_t half = rope_constants_of<ruda_rope_desc>(p.options).half,
                n = 16 / dtype_info(x.dtype()).block_bytes;
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
  for (int64_t begin = s.args.rotary.end; begin < s.args.rotary.half; begin += table_pairs) {
    Args more = s.args;
    more.rotary.set_pairs(rope_constants_of<ruda_rope_desc>(l.problem.options), begin);
    rope_tokens<T><<<unsigned(s.tokens), threads, 0, stream_of(l)>>>(x, y, positions, tensor, more);
    check_launch(l);
  }
}

template <class T>
void launch_vectors(const Launch& l) {
  const State& s = l.state<State>();
  if (s.tokens == 0) return;
  const int64_t tasks = s.args.heads * (s.args.rotary.half / vec_size<T>);
  const unsigned block = tasks <= 64 ? 64 : tasks <= 128 ? 128 : vector_threads;
  check_cuda(launch_dependent(s.early, rope_vectors<T>, unsigned(s.tokens), block, stream_of(l),
                              l.ptr<const T>(RUDA_ROPE_X), l.ptr<T>(RUDA_ROPE_Y),
                              l.ptr<const void>(RUDA_ROPE_POSITIONS),
                              l.ptr<const float>(RUDA_ROPE_FREQUENCIES), s.args),
             "rope");
  check_launch(l);
}

void run(const Launch& l) {
  visit_float(l.problem[RUDA_ROPE_X].dtype(), [&](auto t) { launch<decltype(t)>(l); });
}

void run_vectors(const Launch& l) {
  visit_float(l.problem[RUDA_ROPE_X].dtype(), [&](auto t) { launch_vectors<decltype(t)>(l); });
}

constexpr Kernel list[] = {{"cuda/rope/vectors", prepare_vectors, run_vectors},
                           {"cuda/rope/tokens", prepare, run}};

}  // namespace

extern constinit const Kernels rope{list};

}  // namespace ruda::cuda
