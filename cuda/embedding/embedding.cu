// cuda/embedding/embedding.cu - embedding on the GPU: one block of threads a row.
// SPDX-License-Identifier: Apache-2.0
#include "device/block_decode.cuh"
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/embedding.h>

#include <cuda_bf16.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

constexpr int threads = 128;

// Offsets of ids and of rows of y, by the index of the id.
struct State {
  int64_t rows, cols, row_stride, count;  // row_stride in bytes
  uint32_t site;                          // of the ids, for the index report
  int axes;
  int64_t extent[RUDA_MAX_RANK], id_stride[RUDA_MAX_RANK], y_stride[RUDA_MAX_RANK];
};

template <class From>
struct PlainRow {
  __device__ static float value(const uint8_t* row, int64_t i) {
    return float(reinterpret_cast<const From*>(row)[i]);
  }
};
template <uint32_t Dtype>
struct BlockRow {
  __device__ static float value(const uint8_t* row, int64_t i) { return block_value<Dtype>(row, i); }
};

__device__ void report(IndexWord* word, uint32_t site, int64_t index, int64_t extent) {
  if (atomicCAS_system(&word->taken, 0u, 1u) != 0u) return;
  word->site = site;
  word->index = index;
  word->extent = extent;
}

__device__ int64_t id_at(const void* ids, uint32_t dtype, int64_t at) {
  if (dtype == RUDA_I64) return static_cast<const int64_t*>(ids)[at];
  if (dtype == RUDA_I32) return static_cast<const int32_t*>(ids)[at];
  return static_cast<const uint32_t*>(ids)[at];
}

template <class Row, class Y>
__global__ void __launch_bounds__(threads)
    embedding_rows(const uint8_t* table, const void* ids, uint32_t id_dtype, Y* y, IndexWord* word,
                   const __grid_constant__ State s) {
  for (int64_t which = blockIdx.x; which < s.count; which += gridDim.x) {
    int64_t rest = which, id_offset = 0, y_offset = 0;
    for (int axis = s.axes - 1; axis >= 0; --axis) {
      const int64_t i = rest % s.extent[axis];
      rest /= s.extent[axis];
      id_offset += i * s.id_stride[axis], y_offset += i * s.y_stride[axis];
    }
    const int64_t id = id_at(ids, id_dtype, id_offset);
    if (id < 0 || id >= s.rows) {
      if (threadIdx.x == 0) report(word, s.site, id, s.rows);
      continue;
    }
    for (int64_t c = threadIdx.x; c < s.cols; c += threads)
      y[y_offset + c] = Y(Row::value(table + id * s.row_stride, c));
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &table = p[RUDA_EMBEDDING_TABLE], &ids = p[RUDA_EMBEDDING_IDS], &y = p[RUDA_EMBEDDING_Y];
  State& s = prep.state<State>();
  s.rows = table.dim(0);
  s.cols = table.dim(1);
  s.row_stride = is_block(table.dtype()) ? (s.rows ? int64_t(table.layout->packed_bytes()) / s.rows : 0)
                                         : table.stride(0) * (table.dtype() == RUDA_F32 ? 4 : 2);
  s.count = ids.layout->elements;
  s.site = index_site("embedding", "ids");
  s.axes = ids.rank();
  for (int i = 0; i < s.axes; ++i)
    s.extent[i] = ids.dim(i), s.id_stride[i] = ids.stride(i), s.y_stride[i] = y.stride(i);
  return nullptr;
}

template <class Row, class Y>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.count == 0 || s.cols == 0) return;
  embedding_rows<Row, Y><<<unsigned(std::min<int64_t>(s.count, 1 << 20)), threads, 0, stream_of(l)>>>(
      l.ptr<const uint8_t>(RUDA_EMBEDDING_TABLE), l.ptr<const void>(RUDA_EMBEDDING_IDS),
      l.problem[RUDA_EMBEDDING_IDS].dtype(), l.ptr<Y>(RUDA_EMBEDDING_Y), index_word_of(l), s);
  check_launch(l);
}

template <class Row>
void launch_to(const Launch& l) {
  switch (l.problem[RUDA_EMBEDDING_Y].dtype()) {
    case RUDA_F32: return launch<Row, float>(l);
    case RUDA_F16: return launch<Row, __half>(l);
    default: return launch<Row, __nv_bfloat16>(l);
  }
}

void run(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_EMBEDDING_TABLE].dtype();
  if (visit_block(dtype, [&](auto tag) { launch_to<BlockRow<decltype(tag)::dtype>>(l); })) return;
  switch (dtype) {
    case RUDA_F32: return launch_to<PlainRow<float>>(l);
    case RUDA_F16: return launch_to<PlainRow<__half>>(l);
    default: return launch_to<PlainRow<__nv_bfloat16>>(l);
  }
}

constexpr Kernel list[] = {{"cuda/embedding/simt", prepare, run}};

}  // namespace

extern constinit const Kernels embedding{list};

}  // namespace ruda::cuda
