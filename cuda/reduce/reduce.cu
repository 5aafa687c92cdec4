// cuda/reduce/reduce.cu - reductions on the GPU: the list of kernels, and one block an output for any
// problem.
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce.cuh"

namespace ruda::cuda {
namespace {

using reduce_kernel::join;
using reduce_kernel::Joined;
using reduce_kernel::State;

constexpr int threads = 256;

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
  if (threadIdx.x == 0) reduce_kernel::write(s.op, s.y_dtype, s.reduced.elements, y, at[0], part[0]);
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p[RUDA_REDUCE_Y].layout->elements > INT32_MAX) return "more than 2^31 - 1 outputs";
  prep.state<State>() = reduce_kernel::make_state(p);
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

constexpr Kernel list[] = {
    {"cuda/reduce/rows", reduce_kernel::prepare_rows, reduce_kernel::run_rows},
    {"cuda/reduce/columns", reduce_kernel::prepare_columns, reduce_kernel::run_columns},
    {"cuda/reduce/block_output", prepare, run}};

}  // namespace

extern constinit const Kernels reduce{list};

}  // namespace ruda::cuda
