// cuda/reduce/reduce_columns.cu - reductions along an axis that is not the dense one: columns side by side,
// rows over the threads of a block and over blocks.
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reduce.cuh"

#include <algorithm>

namespace ruda::cuda::reduce_kernel {
namespace {

constexpr int threads = 256, lanes = warp_threads, row_lanes = threads / lanes;
constexpr int in_flight = 4;
constexpr int64_t most_blocks = 1024, least_rows = 64;  // of the grid before rows are cut; of a part

struct ColumnsState {
  State s;
  int64_t cols, col_blocks, row_stride, part_rows;
  Strided<2> outer;  // the kept axes but the last
  bool vectors;
  Partials part;
  WorkspaceSlot partial;
};

// A thread has N columns and every row_lanes-th row of its part.
template <class T, Kind K, int N>
__global__ void __launch_bounds__(threads)
    reduce_columns(const T* x, void* y, Joined<typename Working<K>::W>* partial,
                   const __grid_constant__ ColumnsState c) {
  using Work = Working<K>;
  using J = Joined<typename Work::W>;
  __shared__ J shared[row_lanes][lanes];
  const State& s = c.s;
  const int lane = threadIdx.x % lanes, row_lane = threadIdx.x / lanes;
  const int64_t task = blockIdx.x / c.part.splits, split = blockIdx.x % c.part.splits;
  const int64_t outer = task / c.col_blocks, col = (task % c.col_blocks * lanes + lane) * N;
  int64_t at[2];
  strided_offsets(c.outer, outer, at);
  const int64_t begin = split * c.part_rows, end = min(s.reduced.elements, begin + c.part_rows);
  J joined[N];
#pragma unroll
  for (int i = 0; i < N; ++i) joined[i] = Work::start(s.op);
  if (col < c.cols) {
    const T* from = x + at[1] + col;
    for (int64_t first = begin + row_lane; first < end; first += row_lanes * in_flight) {
      Vec<T, N> in[in_flight];
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (first + k * row_lanes < end)
          in[k] = load_vec_once<N>(from + (first + k * row_lanes) * c.row_stride);
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        if (first + k * row_lanes >= end) break;
#pragma unroll
        for (int i = 0; i < N; ++i) Work::add(s.op, joined[i], to_f32(in[k][i]), first + k * row_lanes);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    shared[row_lane][lane] = joined[i];
    __syncthreads();
    if (row_lane == 0 && col < c.cols) {
      J all = shared[0][lane];
      for (int k = 1; k < row_lanes; ++k) all = Work::join(s.op, all, shared[k][lane]);
      if (c.part.splits > 1)
        partial[split * c.part.split_step + outer * c.cols + col + i] = all;
      else
        write(s.op, s.y_dtype, s.reduced.elements, y, at[0] + (col + i) * c.outer.strides[0][c.outer.rank],
              all);
    }
    __syncthreads();
  }
}

template <class T, Kind K>
void launch(const Launch& l) {
  const ColumnsState& c = l.state<ColumnsState>();
  if (c.s.kept.elements == 0) return;
  using J = Joined<typename Working<K>::W>;
  constexpr int n = vec_size<T>;
  const T* x = l.ptr<const T>(RUDA_REDUCE_X);
  void* y = l.ptr<void>(RUDA_REDUCE_Y);
  J* partial = c.part.splits > 1 ? l.at<J>(c.partial) : nullptr;
  const unsigned blocks = unsigned(c.outer.elements * c.col_blocks * c.part.splits);
  if (c.vectors)
    reduce_columns<T, K, n><<<blocks, threads, 0, stream_of(l)>>>(x, y, partial, c);
  else
    reduce_columns<T, K, 1><<<blocks, threads, 0, stream_of(l)>>>(x, y, partial, c);
  check_launch(l);
  if (c.part.splits > 1) launch_finish<K>(l, c.s, c.part, partial);
}

}  // namespace

Verdict prepare_columns(const Problem& p, Prepare& prep) {
  const Operand& x = p[RUDA_REDUCE_X];
  if (!plain_float(x.dtype())) return "not F32, F16 or BF16";
  if (!has_kind(p.as<ruda_reduce_desc>().op)) return "a product";
  ColumnsState& c = prep.state<ColumnsState>();
  State& s = c.s = make_state(p);
  const int last = s.kept.rank - 1;
  if (s.reduced.elements == 0 || s.kept.elements == 0) return "no elements";
  if (s.reduced.rank != 1) return "the reduced axes are not one";
  if (last < 0 || s.kept.strides[1][last] != 1) return "the last kept axis is not dense";
  c.cols = s.kept.shape[last];
  if (c.cols < lanes) return "few columns";
  c.row_stride = s.reduced.strides[0][0];
  c.outer = s.kept;
  c.outer.rank = last;  // the stride of y along the columns stays behind the last axis
  c.outer.elements = s.kept.elements / c.cols;
  const int64_t piece = 16 / dtype_info(x.dtype()).block_bytes;
  c.vectors = x.align_log2 >= 4 && c.cols % piece == 0 && c.row_stride % piece == 0;
  for (int axis = 0; axis < last; ++axis) c.vectors &= s.kept.strides[1][axis] % piece == 0;
  const int64_t wide = lanes * (c.vectors ? piece : 1);
  c.col_blocks = (c.cols + wide - 1) / wide;
  const int64_t tasks = c.outer.elements * c.col_blocks, rows = s.reduced.elements;
  const int64_t splits = std::clamp<int64_t>(
      std::min(most_blocks / tasks, (rows + least_rows - 1) / least_rows), 1, most_blocks);
  c.part_rows = (rows + splits - 1) / splits;
  c.part.splits = int((rows + c.part_rows - 1) / c.part_rows);
  c.part.o_step = 1;
  c.part.split_step = s.kept.elements;
  if (tasks * c.part.splits > INT32_MAX) return "more blocks than a grid holds";
  if (c.part.splits > 1) c.partial = prep.book<Joined<double>>(s.kept.elements * c.part.splits);
  prep.note(std::to_string(c.part.splits) + " parts");
  return nullptr;
}

void run_columns(const Launch& l) {
  visit_kinds(l, l.state<ColumnsState>().s.op,
              [&](auto t, auto kind) { launch<decltype(t), decltype(kind)::value>(l); });
}

}  // namespace ruda::cuda::reduce_kernel
