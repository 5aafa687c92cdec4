// cuda/reduce/reduce_rows.cu - reductions of dense rows: some lanes of a warp, a block or a cluster of blocks
// a row, or blocks for parts of it whose results a second kernel joins.
// SPDX-License-Identifier: Apache-2.0
#include "device/cluster.cuh"
#include "reduce/reduce.cuh"

#include <algorithm>

namespace ruda::cuda::reduce_kernel {
namespace {

constexpr int threads = 256, warps = threads / warp_threads, cluster_blocks = 8;
constexpr int64_t warp_row = 1024;        // elements up to which a warp takes a row
constexpr int64_t few_rows = 128;         // below this a row is shared by several blocks
constexpr int64_t part_elements = 32768;  // of a row whose parts are joined by a second kernel
constexpr int64_t least_part = 4096;      // where larger ones would leave multiprocessors idle
constexpr int most_splits = 1024;
constexpr int in_flight = 4;

enum Way : int { by_warp, by_block, by_cluster, by_parts };

struct RowsState {
  State s;
  Way way;
  int lanes;  // of a warp that take a row
  bool vectors;
  Partials part;
  int64_t part_size;  // elements of a part, whole pieces
  WorkspaceSlot partial;
};

// Elements begin..end of a row, by `lanes` threads of which this is `lane`.
template <class T, Kind K>
__device__ Joined<typename Working<K>::W> reduce_run(uint32_t op, const T* row, int64_t begin, int64_t end,
                                                     bool vectors, int lane, int lanes) {
  using Work = Working<K>;
  constexpr int n = vec_size<T>;
  auto joined = Work::start(op);
  if (!vectors) {
    for (int64_t i = begin + lane; i < end; i += lanes) Work::add(op, joined, to_f32(row[i]), i);
    return joined;
  }
  // Pieces in rising order, several on their way at once.
  const int64_t pieces = (end - begin) / n;
  for (int64_t first = lane; first < pieces; first += int64_t(lanes) * in_flight) {
    Vec<T, n> in[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k)
      if (first + k * lanes < pieces) in[k] = load_vec_once<n>(row + begin + (first + k * lanes) * n);
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      if (first + k * lanes >= pieces) break;
#pragma unroll
      for (int i = 0; i < n; ++i)
        Work::add(op, joined, to_f32(in[k][i]), begin + (first + k * lanes) * n + i);
    }
  }
  const int64_t rest = begin + pieces * n + lane;
  if (rest < end) Work::add(op, joined, to_f32(row[rest]), rest);
  return joined;
}

template <class T, Kind K>
__global__ void __launch_bounds__(threads)
    reduce_warp_rows(const T* x, void* y, const __grid_constant__ RowsState r) {
  using Work = Working<K>;
  const State& s = r.s;
  const int64_t o = int64_t(blockIdx.x) * (threads / r.lanes) + threadIdx.x / r.lanes;
  const int lane = threadIdx.x % r.lanes;
  const bool here = o < s.kept.elements;
  int64_t at[2];
  strided_offsets(s.kept, here ? o : 0, at);
  auto joined = reduce_run<T, K>(s.op, x + at[1], 0, here ? s.reduced.elements : 0, r.vectors, lane, r.lanes);
  __syncwarp();
  for (int offset = r.lanes / 2; offset; offset /= 2)
    joined = Work::join(s.op, joined, Work::shuffle_down(joined, offset));
  if (here && lane == 0) write(s.op, s.y_dtype, s.reduced.elements, y, at[0], joined);
}

// Blocks = 1: a part of a row, which is all of it when there is one part; else a row by a cluster.
template <class T, Kind K, int Blocks>
__global__ void __launch_bounds__(threads)
    reduce_block_rows(const T* x, void* y, Joined<typename Working<K>::W>* partial,
                      const __grid_constant__ RowsState r) {
  using Work = Working<K>;
  using Group = Cluster<Blocks>;
  using J = Joined<typename Work::W>;
  __shared__ J shared[warps + 1];
  const State& s = r.s;
  const int splits = r.part.splits;
  const int64_t o = blockIdx.x / (Blocks * splits), split = Blocks > 1 ? 0 : blockIdx.x % splits;
  int64_t at[2];
  strided_offsets(s.kept, o, at);
  const int64_t begin = split * r.part_size, end = min(s.reduced.elements, begin + r.part_size);
  J joined = reduce_run<T, K>(s.op, x + at[1], begin, end, r.vectors, Group::rank() * threads + threadIdx.x,
                              Blocks * threads);
  joined = Work::template block_join<warps>(s.op, joined, shared);
  if constexpr (Blocks > 1) {
    if (threadIdx.x == 0) shared[warps] = joined;
    Group::sync();
    if (Group::rank() == 0 && threadIdx.x == 0)
      for (int b = 1; b < Blocks; ++b) joined = Work::join(s.op, joined, *Group::of(shared + warps, b));
    Group::sync();
    if (Group::rank()) return;
  }
  if (threadIdx.x) return;
  if (splits > 1)
    partial[o * r.part.o_step + split] = joined;
  else
    write(s.op, s.y_dtype, s.reduced.elements, y, at[0], joined);
}

template <class T, Kind K>
void launch(const Launch& l) {
  const RowsState& r = l.state<RowsState>();
  const int64_t rows = r.s.kept.elements;
  if (rows == 0) return;
  using J = Joined<typename Working<K>::W>;
  const T* x = l.ptr<const T>(RUDA_REDUCE_X);
  void* y = l.ptr<void>(RUDA_REDUCE_Y);
  J* partial = r.way == by_parts ? l.at<J>(r.partial) : nullptr;
  switch (r.way) {
    case by_warp:
      reduce_warp_rows<T, K>
          <<<unsigned((rows * r.lanes + threads - 1) / threads), threads, 0, stream_of(l)>>>(x, y, r);
      break;
    case by_cluster:
      check_cuda(launch_clusters<cluster_blocks>(false, reduce_block_rows<T, K, cluster_blocks>,
                                                 unsigned(rows * cluster_blocks), threads, 0, stream_of(l), x,
                                                 y, partial, r),
                 "reduce");
      break;
    default:
      reduce_block_rows<T, K, 1>
          <<<unsigned(rows * r.part.splits), threads, 0, stream_of(l)>>>(x, y, partial, r);
  }
  check_launch(l);
  if (r.way == by_parts) launch_finish<K>(l, r.s, r.part, partial);
}

}  // namespace

Verdict prepare_rows(const Problem& p, Prepare& prep) {
  const Operand& x = p[RUDA_REDUCE_X];
  if (!plain_float(x.dtype())) return "not F32, F16 or BF16";
  if (!has_kind(p.as<ruda_reduce_desc>().op)) return "a product";
  if (p[RUDA_REDUCE_Y].layout->elements > INT32_MAX / cluster_blocks) return "more rows than a grid holds";
  RowsState& r = prep.state<RowsState>();
  State& s = r.s = make_state(p);
  if (s.reduced.elements == 0) return "no elements to reduce";
  if (s.reduced.rank > 1 || (s.reduced.rank == 1 && s.reduced.strides[0][0] != 1))
    return "the reduced axes are not a dense run";
  const int64_t n = s.reduced.elements, rows = s.kept.elements;
  const int64_t size = dtype_info(x.dtype()).block_bytes, piece = 16 / size;
  r.vectors = x.align_log2 >= 4;
  for (int axis = 0; axis < s.kept.rank; ++axis) r.vectors &= s.kept.strides[1][axis] % piece == 0;
  r.part = {1, 1, 1};
  r.part_size = n;
  if (n <= warp_row && rows > 1) {
    // As few lanes as have up to four pieces each, since joining lanes costs more than adding elements; but
    // two at least, whose pieces are what memory moves at once.
    r.way = by_warp;
    const int64_t each = r.vectors ? in_flight * piece : 1;
    for (r.lanes = r.vectors ? 2 : 1; r.lanes < warp_threads && n > each * r.lanes;) r.lanes *= 2;
  } else if (rows >= few_rows || n <= 4096) {
    r.way = by_block;
  } else if (n <= 8 * part_elements && capability_of(p).code_arch >= cluster_arch) {
    r.way = by_cluster;
  } else {
    const int64_t fill =
        std::min(4 * int64_t(capability_of(p).multiprocessors) / std::max<int64_t>(rows, 1), n / least_part);
    const int64_t parts =
        std::min<int64_t>(most_splits, std::max((n + part_elements - 1) / part_elements, fill));
    r.part_size = ((n + parts - 1) / parts + piece - 1) / piece * piece;
    r.part.splits = int((n + r.part_size - 1) / r.part_size);
    r.way = r.part.splits > 1 ? by_parts : by_block;
    r.part.o_step = r.part.splits;
    if (r.way == by_parts) r.partial = prep.book<Joined<double>>(rows * r.part.splits);
  }
  constexpr const char* names[] = {"lanes of a warp a row", "a block a row", "a cluster a row",
                                   "parts of rows"};
  prep.note(names[r.way]);
  return nullptr;
}

void run_rows(const Launch& l) {
  visit_kinds(l, l.state<RowsState>().s.op,
              [&](auto t, auto kind) { launch<decltype(t), decltype(kind)::value>(l); });
}

}  // namespace ruda::cuda::reduce_kernel
