// cuda/reduce/reduce.cu - reductions on the GPU: one block an output, joined in a fixed order.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "core/reduce_ops.hpp"
#include "elementwise/strided.cuh"

#include <ruda/reduce.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

struct State {
  Strided<2> kept;     // y, x
  Strided<1> reduced;  // x, in row-major order
  uint32_t op, y_dtype;
};

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

template <class W>
__device__ void write(const State& s, void* y, int64_t at, Joined<W> joined) {
  if constexpr (std::is_floating_point_v<W>) {
    const W value = s.op == RUDA_REDUCE_MEAN ? joined.value / W(s.reduced.elements) : joined.value;
    switch (s.y_dtype) {
      case RUDA_F64: static_cast<double*>(y)[at] = double(value); return;
      case RUDA_F32: static_cast<float*>(y)[at] = float(value); return;
      case RUDA_F16: static_cast<__half*>(y)[at] = __half(float(value)); return;
      case RUDA_BF16: static_cast<__nv_bfloat16*>(y)[at] = __nv_bfloat16(float(value)); return;
      case RUDA_BOOL: static_cast<uint8_t*>(y)[at] = value != W(0); return;
    }
  }
  const uint64_t bits = reduce_is_index(s.op) ? uint64_t(joined.index) : uint64_t(joined.value);
  switch (s.y_dtype) {
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

template <class T, class W>
__global__ void __launch_bounds__(threads) reduce_outputs(const T* x, void* y, State s) {
  __shared__ Joined<W> part[threads];
  int64_t at[2];
  strided_offsets(s.kept, blockIdx.x, at);
  Joined<W> joined{reduce_start<W>(s.op), -1};
  for (int64_t i = threadIdx.x; i < s.reduced.elements; i += threads) {
    int64_t offset[1];
    strided_offsets(s.reduced, i, offset);
    W v;
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
      v = W(x[at[1] + offset[0]]);
    else
      v = W(float(x[at[1] + offset[0]]));
    joined = join(s.op, joined, Joined<W>{reduce_map(s.op, v), i});
  }
  part[threadIdx.x] = joined;
  for (int step = threads / 2; step; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] = join(s.op, part[threadIdx.x], part[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) write(s, y, at[0], part[0]);
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_REDUCE_X].layout, &y = *p[RUDA_REDUCE_Y].layout;
  const auto& d = p.as<ruda_reduce_desc>();
  if (y.elements > INT32_MAX) return "more than 2^31 - 1 outputs";
  State& s = prep.state<State>();
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
  return nullptr;
}

// Sums of floats are made in double: one block may have to add very many.
template <class T, class W>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.kept.elements == 0) return;
  reduce_outputs<T, W><<<unsigned(s.kept.elements), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_REDUCE_X), l.ptr<void>(RUDA_REDUCE_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_REDUCE_X].dtype()) {
    case RUDA_F64: return launch<double, double>(l);
    case RUDA_F32: return launch<float, double>(l);
    case RUDA_F16: return launch<__half, double>(l);
    case RUDA_BF16: return launch<__nv_bfloat16, double>(l);
    case RUDA_I8: return launch<int8_t, int64_t>(l);
    case RUDA_I16: return launch<int16_t, int64_t>(l);
    case RUDA_I32: return launch<int32_t, int64_t>(l);
    case RUDA_I64: return launch<int64_t, int64_t>(l);
    case RUDA_U16: return launch<uint16_t, uint64_t>(l);
    case RUDA_U32: return launch<uint32_t, uint64_t>(l);
    case RUDA_U64: return launch<uint64_t, uint64_t>(l);
    default: return launch<uint8_t, uint64_t>(l);
  }
}

constexpr Kernel list[] = {{"cuda/reduce/block_output", prepare, run}};

}  // namespace

extern constinit const Kernels reduce{list};

}  // namespace ruda::cuda
