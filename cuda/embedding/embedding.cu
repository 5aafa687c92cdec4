// cuda/embedding/embedding.cu - embedding on the GPU: pieces of several rows a block, one block a row, or one
// element a thread.
// SPDX-License-Identifier: Apache-2.0
#include "device/block_decode.cuh"
#include "device/convert.cuh"
#include "device/vec.cuh"
#include "runtime/index_report.cuh"
#include "plan/op.hpp"
#include "runtime/launch.hpp"
#include "runtime/visit.hpp"

#include <ruda/embedding.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

constexpr int threads = 128, in_flight = 4;

// Offsets of ids and of rows of y, by the index of the id.
struct State {
  int64_t rows, cols, row_stride, count;  // row_stride in bytes
  int axes;
  uint32_t site;  // of the report of an id outside the table
  bool flat;      // blocks cross the ends of rows
  int64_t extent[RUDA_MAX_RANK], id_stride[RUDA_MAX_RANK], y_stride[RUDA_MAX_RANK];
};

template <class From>
struct PlainRow {
  static constexpr int size = sizeof(From);
  __device__ static float value(const uint8_t* row, int64_t i) {
    return to_f32(reinterpret_cast<const From*>(row)[i]);
  }
  template <int N>
  __device__ static void values(const uint8_t* row, int64_t i, float (&to)[N]) {
    const auto v = load_vec_once<N>(reinterpret_cast<const From*>(row) + i);
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = to_f32(v[k]);
  }
};
template <uint32_t Dtype>
struct BlockRow {
  static constexpr int size = 1;
  __device__ static float value(const uint8_t* row, int64_t i) { return block_value<Dtype>(row, i); }
  template <int N>
  __device__ static void values(const uint8_t* row, int64_t i, float (&to)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = block_value<Dtype>(row, i + k);
  }
};

__device__ int64_t id_at(const void* ids, uint32_t dtype, int64_t at) {
  if (dtype == RUDA_I64) return static_cast<const int64_t*>(ids)[at];
  if (dtype == RUDA_I32) return static_cast<const int32_t*>(ids)[at];
  return static_cast<const uint32_t*>(ids)[at];
}

// Where id `which` of the index space lies, and its row of y.
__device__ inline void id_offsets(const State& s, int64_t which, int64_t& id_offset, int64_t& y_offset) {
  if (s.axes == 1) {
    id_offset = which * s.id_stride[0], y_offset = which * s.y_stride[0];
    return;
  }
  id_offset = y_offset = 0;
  for (int axis = s.axes - 1; axis >= 0; --axis) {
    const int64_t i = which % s.extent[axis];
    which /= s.extent[axis];
    id_offset += i * s.id_stride[axis], y_offset += i * s.y_stride[axis];
  }
}

// Elements of a piece: 16 bytes of the wider side; several pieces of a thread are on their way at once.
template <class Row, class Y>
constexpr int piece = 16 / std::max(Row::size, int(sizeof(Y)));

template <class Row, class Y>
__global__ void __launch_bounds__(threads)
    embedding_vectors(const uint8_t* table, const void* ids, uint32_t id_dtype, Y* y, IndexWord* word,
                      const __grid_constant__ State s) {
  constexpr int n = piece<Row, Y>;
  const int64_t pieces = s.cols / n;
  for (int64_t which = blockIdx.x; which < s.count; which += gridDim.x) {
    int64_t id_offset, y_offset;
    id_offsets(s, which, id_offset, y_offset);
    const int64_t id = id_at(ids, id_dtype, id_offset);
    if (!index_in_range(id, s.rows, word, s.site)) continue;
    const uint8_t* row = table + id * s.row_stride;
    Y* to = y + y_offset;
    for (int64_t first = threadIdx.x; first < pieces; first += int64_t(blockDim.x) * in_flight) {
      float values[in_flight][n];
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (first + k * blockDim.x < pieces) Row::values(row, (first + k * blockDim.x) * n, values[k]);
#pragma unroll
      for (int k = 0; k < in_flight; ++k) {
        if (first + k * blockDim.x >= pieces) break;
        Vec<Y, n> out;
        round_f32(values[k], out.at);
        store_vec(to + (first + k * blockDim.x) * n, out);
      }
    }
  }
}

// Short rows: a thread takes pieces a block's width apart, whichever rows they are of.
template <class Row, class Y>
__global__ void __launch_bounds__(threads)
    embedding_pieces(const uint8_t* table, const void* ids, uint32_t id_dtype, Y* y, IndexWord* word,
                     const __grid_constant__ State s) {
  constexpr int n = piece<Row, Y>;
  const auto pieces = uint32_t(s.cols / n), total = uint32_t(s.count) * pieces;
  const uint32_t first = blockIdx.x * uint32_t(threads * in_flight) + threadIdx.x;
  int64_t id[in_flight], y_offset[in_flight];
  uint32_t col[in_flight];
#pragma unroll
  for (int k = 0; k < in_flight; ++k) {
    const uint32_t at = first + k * threads, which = (at < total ? at : total - 1) / pieces;
    col[k] = (at - which * pieces) * n;
    int64_t id_offset;
    id_offsets(s, which, id_offset, y_offset[k]);
    id[k] = id_at(ids, id_dtype, id_offset);
  }
  float values[in_flight][n];
  Y* to[in_flight];
#pragma unroll
  for (int k = 0; k < in_flight; ++k) {
    to[k] = nullptr;
    if (first + k * threads >= total || !index_in_range(id[k], s.rows, word, s.site)) continue;
    to[k] = y + y_offset[k] + col[k];
    Row::values(table + id[k] * s.row_stride, col[k], values[k]);
  }
#pragma unroll
  for (int k = 0; k < in_flight; ++k) {
    if (!to[k]) continue;
    Vec<Y, n> out;
    round_f32(values[k], out.at);
    store_vec(to[k], out);
  }
}

template <class Row, class Y>
__global__ void __launch_bounds__(threads)
    embedding_rows(const uint8_t* table, const void* ids, uint32_t id_dtype, Y* y, IndexWord* word,
                   const __grid_constant__ State s) {
  for (int64_t which = blockIdx.x; which < s.count; which += gridDim.x) {
    int64_t id_offset, y_offset;
    id_offsets(s, which, id_offset, y_offset);
    const int64_t id = id_at(ids, id_dtype, id_offset);
    if (!index_in_range(id, s.rows, word, s.site)) continue;
    for (int64_t c = threadIdx.x; c < s.cols; c += threads)
      y[y_offset + c] = from_f32<Y>(Row::value(table + id * s.row_stride, c));
  }
}

State& make_state(const Problem& p, Prepare& prep) {
  const Operand &table = p[RUDA_EMBEDDING_TABLE], &ids = p[RUDA_EMBEDDING_IDS], &y = p[RUDA_EMBEDDING_Y];
  State& s = prep.state<State>();
  s.rows = table.dim(0);
  s.cols = table.dim(1);
  s.row_stride = is_block(table.dtype()) ? (s.rows ? int64_t(table.layout->packed_bytes()) / s.rows : 0)
                                         : table.stride(0) * (table.dtype() == RUDA_F32 ? 4 : 2);
  s.count = ids.layout->elements;
  s.site = index_site("embedding", "ids");
  // Neighbouring axes that one stride walks, in ids and in y, are one.
  for (int i = 0; i < ids.rank(); ++i) {
    if (ids.dim(i) == 1) continue;
    const int last = s.axes - 1;
    if (s.axes && s.id_stride[last] == ids.dim(i) * ids.stride(i) &&
        s.y_stride[last] == ids.dim(i) * y.stride(i)) {
      s.extent[last] *= ids.dim(i), s.id_stride[last] = ids.stride(i), s.y_stride[last] = y.stride(i);
      continue;
    }
    s.extent[s.axes] = ids.dim(i), s.id_stride[s.axes] = ids.stride(i), s.y_stride[s.axes++] = y.stride(i);
  }
  return s;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  make_state(p, prep);
  return nullptr;
}

Verdict prepare_vectors(const Problem& p, Prepare& prep) {
  const Operand &table = p[RUDA_EMBEDDING_TABLE], &y = p[RUDA_EMBEDDING_Y];
  const bool blocks = is_block(table.dtype());
  const int64_t table_size = blocks ? 1 : dtype_info(table.dtype()).block_bytes;
  const int64_t y_size = dtype_info(y.dtype()).block_bytes, n = 16 / std::max(table_size, y_size);
  const auto aligned = [&](const Operand& o, int64_t bytes) {
    return (int64_t(1) << o.align_log2) % bytes == 0;
  };
  if (!aligned(y, n * y_size) || (!blocks && !aligned(table, n * table_size)))
    return "addresses not aligned to a piece";
  if (table.dim(1) % n || (!blocks && table.dim(0) > 1 && table.stride(0) % n))
    return "rows not in whole pieces";
  for (int axis = 0; axis + 1 < y.rank(); ++axis)
    if (y.dim(axis) > 1 && y.stride(axis) % n) return "rows not aligned to a piece";
  State& s = make_state(p, prep);
  // A row of 256 pieces keeps a block busy by itself.
  s.flat = s.cols / n < 256 && s.count * (s.cols / n) <= INT32_MAX;
  prep.note(s.flat ? "pieces of several rows a block" : "a block a row");
  return nullptr;
}

template <class Row, class Y>
void launch(const Launch& l, bool vectors) {
  const State& s = l.state<State>();
  if (s.count == 0 || s.cols == 0) return;
  const unsigned blocks = unsigned(std::min<int64_t>(s.count, 1 << 20));
  const auto* table = l.ptr<const uint8_t>(RUDA_EMBEDDING_TABLE);
  const auto* ids = l.ptr<const void>(RUDA_EMBEDDING_IDS);
  const uint32_t id_dtype = l.problem[RUDA_EMBEDDING_IDS].dtype();
  const int64_t pieces = s.count * (s.cols / piece<Row, Y>);
  Y* y = l.ptr<Y>(RUDA_EMBEDDING_Y);
  if (vectors && s.flat)
    embedding_pieces<Row, Y>
        <<<unsigned((pieces + threads * in_flight - 1) / (threads * in_flight)), threads, 0, stream_of(l)>>>(
            table, ids, id_dtype, y, index_word_of(l), s);
  else if (vectors)
    embedding_vectors<Row, Y><<<blocks, s.cols / piece<Row, Y> <= 64 ? 64 : threads, 0, stream_of(l)>>>(
        table, ids, id_dtype, y, index_word_of(l), s);
  else
    embedding_rows<Row, Y>
        <<<blocks, threads, 0, stream_of(l)>>>(table, ids, id_dtype, y, index_word_of(l), s);
  check_launch(l);
}

template <class Row>
void launch_to(const Launch& l, bool vectors) {
  visit_float(l.problem[RUDA_EMBEDDING_Y].dtype(), [&](auto t) { launch<Row, decltype(t)>(l, vectors); });
}

template <bool vectors>
void run(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_EMBEDDING_TABLE].dtype();
  if (visit_block(dtype, [&](auto tag) { launch_to<BlockRow<decltype(tag)::dtype>>(l, vectors); })) return;
  visit_float(dtype, [&](auto t) { launch_to<PlainRow<decltype(t)>>(l, vectors); });
}

constexpr Kernel list[] = {{"cuda/embedding/vectors", prepare_vectors, run<true>},
                           {"cuda/embedding/simt", prepare, run<false>}};

}  // namespace

extern constinit const Kernels embedding{list};

}  // namespace ruda::cuda
