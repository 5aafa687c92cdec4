// cuda/reduce/reduce.cuh - what the kernels of reduce share: joining, writing, partial results.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/op_rows.hpp"
#include "core/reduce_ops.hpp"
#include "device/convert.cuh"
#include "device/reduce.cuh"
#include "device/vec.cuh"
#include "elementwise/strided.cuh"
#include "runtime/visit.hpp"

#include <ruda/reduce.h>

namespace ruda::cuda::reduce_kernel {

struct State {
  Strided<2> kept;     // y, x
  Strided<1> reduced;  // x, in row-major order
  uint32_t op, y_dtype;
};

// The state of a problem that has fewer than 2^31 outputs.
inline State make_state(const Problem& p) {
  const Layout &x = *p[RUDA_REDUCE_X].layout, &y = *p[RUDA_REDUCE_Y].layout;
  const auto& d = p.as<ruda_reduce_desc>();
  State s{};
  s.op = d.op;
  s.y_dtype = y.dtype;
  s.kept.elements = s.reduced.elements = 1;
  int at_y = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (d.axes >> axis & 1) {
      s.reduced.shape[s.reduced.rank] = x.shape[axis];
      s.reduced.strides[0][s.reduced.rank++] = x.strides[axis];
      s.reduced.elements *= x.shape[axis];
      at_y += d.keepdims;
    } else {
      s.kept.shape[s.kept.rank] = x.shape[axis];
      s.kept.strides[0][s.kept.rank] = y.strides[at_y++];
      s.kept.strides[1][s.kept.rank++] = x.strides[axis];
      s.kept.elements *= x.shape[axis];
    }
  }
  merge_axes(s.kept);
  merge_axes(s.reduced);
  return s;
}

template <class W>
struct Joined {
  W value;
  int64_t index;  // -1 = none yet
};

// Between threads the lower index wins where neither value beats the other.
template <class W>
__device__ Joined<W> join(uint32_t op, Joined<W> a, Joined<W> b) {
  if (!reduce_is_index(op)) return {reduce_join(op, a.value, b.value), 0};
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  if (reduce_beats(op, b.value, a.value)) return b;
  if (reduce_beats(op, a.value, b.value)) return a;
  return b.index < a.index ? b : a;
}

// `count` elements were reduced.
template <class W>
__device__ void write(uint32_t op, uint32_t y_dtype, int64_t count, void* y, int64_t at, Joined<W> joined) {
  if constexpr (std::is_floating_point_v<W>) {
    const W value = op == RUDA_REDUCE_MEAN ? joined.value / W(count) : joined.value;
    switch (y_dtype) {
      case RUDA_F64: static_cast<double*>(y)[at] = double(value); return;
      case RUDA_F32: static_cast<float*>(y)[at] = float(value); return;
      case RUDA_F16: static_cast<__half*>(y)[at] = __half(float(value)); return;
      case RUDA_BF16: static_cast<__nv_bfloat16*>(y)[at] = __nv_bfloat16(float(value)); return;
      case RUDA_BOOL: static_cast<uint8_t*>(y)[at] = value != W(0); return;
    }
  }
  const uint64_t bits = reduce_is_index(op) ? uint64_t(joined.index) : uint64_t(joined.value);
  switch (y_dtype) {
    case RUDA_BOOL: static_cast<uint8_t*>(y)[at] = bits != 0; return;
    case RUDA_I8:
    case RUDA_U8: static_cast<uint8_t*>(y)[at] = uint8_t(bits); return;
    case RUDA_I16:
    case RUDA_U16: static_cast<uint16_t*>(y)[at] = uint16_t(bits); return;
    case RUDA_I32:
    case RUDA_U32: static_cast<uint32_t*>(y)[at] = uint32_t(bits); return;
    default: static_cast<uint64_t*>(y)[at] = bits; return;
  }
}

// The kinds of function that have kernels of their own: sums in double, choices of a value in float, choices
// of an index.
enum class Kind : uint8_t { sum, value, index };

inline bool has_kind(uint32_t op) { return op != RUDA_REDUCE_PROD; }

template <Kind K>
struct Working {
  using W = std::conditional_t<K == Kind::sum, double, float>;

  __device__ static Joined<W> start(uint32_t op) {
    if constexpr (K == Kind::sum) return {0, -1};
    return {reduce_start<W>(op), -1};
  }
  __device__ static Joined<W> join(uint32_t op, Joined<W> a, Joined<W> b) {
    if constexpr (K == Kind::sum) return {a.value + b.value, 0};
    if constexpr (K == Kind::value) return {reduce_beats(op, b.value, a.value) ? b.value : a.value, 0};
    return reduce_kernel::join(op, a, b);
  }
  // Elements come in rising order of their index here, so an equal value never takes the place.
  __device__ static void add(uint32_t op, Joined<W>& to, float x, int64_t index) {
    if constexpr (K == Kind::sum) {
      to.value += double(x);
    } else {
      x = reduce_map(op, x);
      if constexpr (K == Kind::value) {
        if (reduce_beats(op, x, to.value)) to.value = x;
      } else if (to.index < 0 || reduce_beats(op, x, to.value)) {
        to = {x, index};
      }
    }
  }
  __device__ static Joined<W> shuffle_down(const Joined<W>& x, int offset) {
    Joined<W> r{__shfl_down_sync(~0u, x.value, offset), 0};
    if constexpr (K == Kind::index) r.index = __shfl_down_sync(~0u, x.index, offset);
    return r;
  }
  // Lane 0 gets the result.
  __device__ static Joined<W> warp_join(uint32_t op, Joined<W> x) {
    __syncwarp();  // lanes come from loops of different lengths; each shuffle would gather them anew
#pragma unroll
    for (int offset = warp_threads / 2; offset; offset /= 2) x = join(op, x, shuffle_down(x, offset));
    return x;
  }
  // Thread 0 gets the result.
  template <int Warps>
  __device__ static Joined<W> block_join(uint32_t op, Joined<W> x, Joined<W>* shared) {
    x = warp_join(op, x);
    if (threadIdx.x % warp_threads == 0) shared[threadIdx.x / warp_threads] = x;
    __syncthreads();
    x = shared[0];
#pragma unroll
    for (int i = 1; i < Warps; ++i) x = join(op, x, shared[i]);
    return x;
  }
};

// Partial results of output o lie at partial[o * o_step + split * split_step].
struct Partials {
  int splits;
  int64_t o_step, split_step;
};

constexpr int finish_threads = 256;

// A warp an output: lanes take every 32nd partial result.
template <Kind K>
__global__ void __launch_bounds__(finish_threads)
    finish_outputs(const Joined<typename Working<K>::W>* partial, void* y, const Partials part,
                   const __grid_constant__ State s) {
  using Work = Working<K>;
  const int64_t o = (int64_t(blockIdx.x) * finish_threads + threadIdx.x) / warp_threads;
  if (o >= s.kept.elements) return;
  auto joined = Work::start(s.op);
  for (int split = threadIdx.x % warp_threads; split < part.splits; split += warp_threads)
    joined = Work::join(s.op, joined, partial[o * part.o_step + split * part.split_step]);
  joined = Work::warp_join(s.op, joined);
  if (threadIdx.x % warp_threads) return;
  int64_t at[2];
  strided_offsets(s.kept, o, at);
  write(s.op, s.y_dtype, s.reduced.elements, y, at[0], joined);
}

template <Kind K>
void launch_finish(const Launch& l, const State& s, const Partials& part, const void* partial) {
  constexpr int outputs = finish_threads / warp_threads;
  finish_outputs<K><<<unsigned((s.kept.elements + outputs - 1) / outputs), finish_threads, 0, stream_of(l)>>>(
      static_cast<const Joined<typename Working<K>::W>*>(partial), l.ptr<void>(RUDA_REDUCE_Y), part, s);
  check_launch(l);
}

// run(T{}, std::integral_constant<Kind, K>{}) for the dtype of x and the kind of the function.
template <class T, class Run>
void visit_kind(uint32_t op, Run&& run) {
  if (op == RUDA_REDUCE_SUM || op == RUDA_REDUCE_MEAN)
    return run(T{}, std::integral_constant<Kind, Kind::sum>{});
  if (reduce_is_index(op)) return run(T{}, std::integral_constant<Kind, Kind::index>{});
  run(T{}, std::integral_constant<Kind, Kind::value>{});
}
template <class Run>
void visit_kinds(const Launch& l, uint32_t op, Run&& run) {
  visit_float(l.problem[RUDA_REDUCE_X].dtype(), [&](auto t) { visit_kind<decltype(t)>(op, run); });
}

// reduce_rows.cu: the reduced axes are one dense run of memory.
Verdict prepare_rows(const Problem& p, Prepare& prep);
void run_rows(const Launch& l);
// reduce_columns.cu: the last kept axis is dense, the reduced axes are one with any stride.
Verdict prepare_columns(const Problem& p, Prepare& prep);
void run_columns(const Launch& l);

}  // namespace ruda::cuda::reduce_kernel
