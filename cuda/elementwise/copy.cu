// cuda/elementwise/copy.cu - copies on the GPU: whole memory, conversions in vectors, any strides, any
// dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "device/block_decode.cuh"
#include "device/convert.cuh"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"

#include <ruda/elementwise.h>

namespace ruda::cuda {
namespace {

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  if (!x.contiguous || !y.contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  const uint64_t bytes = l.problem[RUDA_COPY_X].layout->packed_bytes();
  if (bytes == 0) return;
  check_cuda(cudaMemcpyAsync(l.ptr<void>(RUDA_COPY_Y), l.ptr<void>(RUDA_COPY_X), bytes,
                             cudaMemcpyDeviceToDevice, stream_of(l)),
             "copy");
}

}  // namespace memory

// Between F32, F16 and BF16, both sides dense: 16-byte accesses.
namespace vector {

struct Cast {
  template <class Y, class X>
  __device__ Y operator()(X x) const {
    return from_f32<Y>(to_f32(x));
  }
};

bool plain_float(uint32_t dtype) { return dtype == RUDA_F32 || dtype == RUDA_F16 || dtype == RUDA_BF16; }

Verdict prepare(const Problem& p, Prepare&) {
  const Operand &x = p[RUDA_COPY_X], &y = p[RUDA_COPY_Y];
  if (!plain_float(x.dtype()) || !plain_float(y.dtype()) || x.dtype() == y.dtype())
    return "not between F32, F16 and BF16";
  if (!x.layout->contiguous || !y.layout->contiguous) return "strided";
  if (x.align_log2 < 4 || y.align_log2 < 4) return "addresses not aligned to 16 bytes";
  return vector_fits(x.layout->elements);
}

template <class X, class Y>
void launch(const Launch& l) {
  launch_vector<Y>(l, l.problem[RUDA_COPY_X].layout->elements, l.ptr<Y>(RUDA_COPY_Y), Cast{},
                   l.ptr<const X>(RUDA_COPY_X));
}

template <class X>
void launch_from(const Launch& l) {
  switch (l.problem[RUDA_COPY_Y].dtype()) {
    case RUDA_F32: return launch<X, float>(l);
    case RUDA_F16: return launch<X, __half>(l);
    default: return launch<X, __nv_bfloat16>(l);
  }
}

void run(const Launch& l) {
  switch (l.problem[RUDA_COPY_X].dtype()) {
    case RUDA_F32: return launch_from<float>(l);
    case RUDA_F16: return launch_from<__half>(l);
    default: return launch_from<__nv_bfloat16>(l);
  }
}

}  // namespace vector

// One dtype, any strides; what moves is a unit: an element, a pair of half-byte elements or a block.
namespace strided {

struct State {
  Strided<2> at;
  int unit_bytes;
};

template <class T>
__global__ void __launch_bounds__(strided_threads)
    copy_elements(const T* from, T* to, const __grid_constant__ State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  to[at[0]] = from[at[1]];
}

__global__ void __launch_bounds__(strided_threads)
    copy_units(const uint8_t* from, uint8_t* to, const __grid_constant__ State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  for (int b = 0; b < s.unit_bytes; ++b) to[at[0] * s.unit_bytes + b] = from[at[1] * s.unit_bytes + b];
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  const DtypeInfo& info = dtype_info(x.dtype);
  State& s = prep.state<State>();
  s.at = make_strided<2>({&y, &x});
  s.unit_bytes = int(info.block_bytes);
  if (const int64_t block = info.block_elements; block > 1) {
    s.at.elements /= block;
    s.at.shape[x.rank - 1] /= block;
    for (auto& strides : s.at.strides)
      for (int axis = 0; axis + 1 < x.rank; ++axis) strides[axis] /= block;
  }
  return fits_grid(s.at.elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  copy_elements<T><<<strided_blocks(s.at.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_COPY_X), l.ptr<T>(RUDA_COPY_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  if (s.at.elements == 0) return;
  switch (s.unit_bytes) {
    case 1: return launch<uint8_t>(l);
    case 2: return launch<uint16_t>(l);
    case 4: return launch<uint32_t>(l);
    case 8: return launch<uint64_t>(l);
    default: break;
  }
  copy_units<<<strided_blocks(s.at.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const uint8_t>(RUDA_COPY_X), l.ptr<uint8_t>(RUDA_COPY_Y), s);
  check_launch(l);
}

}  // namespace strided

// Any two dtypes, any strides.
namespace convert {

__global__ void __launch_bounds__(strided_threads)
    copy_convert(const void* from, uint32_t from_dtype, void* to, uint32_t to_dtype,
                 const __grid_constant__ Strided<2> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s, i, at);
  convert_element(from_dtype, from, at[1], to_dtype, to, at[0]);
}

// Blocks lie densely, so element i of the tensor is element i of the run of blocks.
template <uint32_t Dtype>
__global__ void __launch_bounds__(strided_threads)
    copy_decode(const uint8_t* from, void* to, uint32_t to_dtype, const __grid_constant__ Strided<2> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s, i, at);
  store_real(to_dtype, to, at[0], double(block_value<Dtype>(from, i)));
}

bool decodable(uint32_t dtype) {
  switch (dtype) {
    case RUDA_Q4_0:
    case RUDA_Q4_1:
    case RUDA_Q5_0:
    case RUDA_Q5_1:
    case RUDA_Q8_0:
    case RUDA_Q4_K:
    case RUDA_Q5_K:
    case RUDA_Q6_K: return true;
    default: return false;
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (is_block(x.dtype)) {
    if (!decodable(x.dtype)) return "block format without a decoder";
    if (!x.contiguous) return "strided blocks";
  } else if (dtype_info(x.dtype).block_elements > 1) {
    return "elements smaller than a byte";
  }
  if (dtype_info(y.dtype).block_elements > 1) return "elements smaller than a byte";
  prep.state<Strided<2>>() = make_strided<2>({&y, &x});
  return fits_grid(x.elements) ? nullptr : "more elements than a grid holds";
}

template <uint32_t Dtype>
void decode(const Launch& l) {
  const auto& s = l.state<Strided<2>>();
  copy_decode<Dtype><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const uint8_t>(RUDA_COPY_X), l.ptr<void>(RUDA_COPY_Y), l.problem[RUDA_COPY_Y].dtype(), s);
}

void run(const Launch& l) {
  const auto& s = l.state<Strided<2>>();
  if (s.elements == 0) return;
  const uint32_t x = l.problem[RUDA_COPY_X].dtype(), y = l.problem[RUDA_COPY_Y].dtype();
  switch (x) {
    case RUDA_Q4_0: decode<RUDA_Q4_0>(l); break;
    case RUDA_Q4_1: decode<RUDA_Q4_1>(l); break;
    case RUDA_Q5_0: decode<RUDA_Q5_0>(l); break;
    case RUDA_Q5_1: decode<RUDA_Q5_1>(l); break;
    case RUDA_Q8_0: decode<RUDA_Q8_0>(l); break;
    case RUDA_Q4_K: decode<RUDA_Q4_K>(l); break;
    case RUDA_Q5_K: decode<RUDA_Q5_K>(l); break;
    case RUDA_Q6_K: decode<RUDA_Q6_K>(l); break;
    default:
      copy_convert<<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
          l.ptr<const void>(RUDA_COPY_X), x, l.ptr<void>(RUDA_COPY_Y), y, s);
  }
  check_launch(l);
}

}  // namespace convert

constexpr Kernel list[] = {{"cuda/copy/memory", memory::prepare, memory::run},
                           {"cuda/copy/vector", vector::prepare, vector::run},
                           {"cuda/copy/strided", strided::prepare, strided::run},
                           {"cuda/copy/convert", convert::prepare, convert::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cuda
