// cuda/elementwise/copy.cu - copies and conversions on the GPU, any strides.
// SPDX-License-Identifier: Apache-2.0
#include "core/block_formats.hpp"
#include "device/block_decode.cuh"
#include "elementwise/strided.cuh"

#include <ruda/elementwise.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

namespace ruda::cuda {
namespace {

const Layout& x_of(const Problem& p) { return *p[RUDA_COPY_X].layout; }
const Layout& y_of(const Problem& p) { return *p[RUDA_COPY_Y].layout; }
bool is_packed(uint32_t dtype) { return dtype_info(dtype).block_elements > 1; }

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (!x_of(p).contiguous || !y_of(p).contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  check_cuda(cudaMemcpyAsync(l.ptr<void>(RUDA_COPY_Y), l.ptr<void>(RUDA_COPY_X),
                             x_of(l.problem).packed_bytes(), cudaMemcpyDeviceToDevice, stream_of(l)),
             "copy");
}

}  // namespace memory

namespace strided {

template <class T>
__global__ void __launch_bounds__(strided_threads) copy_strided(const T* from, T* to, Strided<2> s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s, i, at);
  to[at[0]] = from[at[1]];
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (is_packed(x_of(p).dtype)) return "elements that are not whole bytes";
  prep.state<Strided<2>>() = make_strided<2>({&y_of(p), &x_of(p)});
  return fits_grid(x_of(p).elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
void launch(const Launch& l) {
  const auto& s = l.state<Strided<2>>();
  if (s.elements == 0) return;
  copy_strided<T><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_COPY_X), l.ptr<T>(RUDA_COPY_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (dtype_info(x_of(l.problem).dtype).block_bytes) {
    case 1: return launch<uint8_t>(l);
    case 2: return launch<uint16_t>(l);
    case 4: return launch<uint32_t>(l);
    default: return launch<uint64_t>(l);
  }
}

}  // namespace strided

// One value on its way from one dtype to another: a double, or an integer of 64 bits.
struct Wide {
  enum Kind { real, whole, natural } kind;
  double value;
  int64_t bits;
};

template <class T>
__device__ T at(const void* x, int64_t i) {
  return static_cast<const T*>(x)[i];
}
__device__ double from_fp8(uint8_t code, __nv_fp8_interpretation_t kind) {
  return double(__half2float(__half(__nv_cvt_fp8_to_halfraw(code, kind))));
}

__device__ Wide load_wide(uint32_t dtype, const void* x, int64_t i) {
  const auto real = [](double v) { return Wide{Wide::real, v, 0}; };
  const auto whole = [](int64_t v) { return Wide{Wide::whole, 0, v}; };
  const auto natural = [](uint64_t v) { return Wide{Wide::natural, 0, int64_t(v)}; };
  switch (dtype) {
    case RUDA_F64: return real(at<double>(x, i));
    case RUDA_F32: return real(at<float>(x, i));
    case RUDA_F16: return real(__half2float(at<__half>(x, i)));
    case RUDA_BF16: return real(__bfloat162float(at<__nv_bfloat16>(x, i)));
    case RUDA_F8E4M3: return real(from_fp8(at<uint8_t>(x, i), __NV_E4M3));
    case RUDA_F8E5M2: return real(from_fp8(at<uint8_t>(x, i), __NV_E5M2));
    case RUDA_F4E2M1: {
      const int code = at<uint8_t>(x, i / 2) >> (i % 2 * 4) & 15, magnitude = code & 7;
      const double v =
          magnitude < 2 ? magnitude * 0.5 : (2 + magnitude % 2) * 0.25 * double(1 << magnitude / 2);
      return real(code & 8 ? -v : v);
    }
    case RUDA_I8: return whole(at<int8_t>(x, i));
    case RUDA_I16: return whole(at<int16_t>(x, i));
    case RUDA_I32: return whole(at<int32_t>(x, i));
    case RUDA_I64: return whole(at<int64_t>(x, i));
    case RUDA_U8: return natural(at<uint8_t>(x, i));
    case RUDA_U16: return natural(at<uint16_t>(x, i));
    case RUDA_U32: return natural(at<uint32_t>(x, i));
    case RUDA_U64: return natural(at<uint64_t>(x, i));
    default: return natural(at<uint8_t>(x, i) != 0);
  }
}

__device__ double to_double(const Wide& v) {
  return v.kind == Wide::real ? v.value : v.kind == Wide::whole ? double(v.bits) : double(uint64_t(v.bits));
}

// Toward zero, saturating, NaN to 0.
template <class T>
__device__ T to_integer(const Wide& v) {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (v.kind == Wide::real) {
    constexpr double end = 2.0 * double(uint64_t(high) / 2 + 1);
    if (v.value != v.value) return T(0);
    return v.value >= end ? high : v.value <= double(low) ? low : T(v.value);
  }
  if (v.kind == Wide::whole && v.bits < 0) return v.bits < int64_t(low) ? low : T(v.bits);
  return uint64_t(v.bits) > uint64_t(high) ? high : T(v.bits);
}

__device__ uint8_t to_fp4(const Wide& v) {
  return __nv_cvt_double_to_fp4(to_double(v), __NV_E2M1, cudaRoundNearest);
}

__device__ void store_wide(uint32_t dtype, void* y, int64_t i, const Wide& v) {
  switch (dtype) {
    case RUDA_F64: static_cast<double*>(y)[i] = to_double(v); return;
    case RUDA_F32:
      static_cast<float*>(y)[i] = v.kind == Wide::real    ? float(v.value)
                                  : v.kind == Wide::whole ? float(v.bits)
                                                          : float(uint64_t(v.bits));
      return;
    case RUDA_F16: static_cast<__half*>(y)[i] = __double2half(to_double(v)); return;
    case RUDA_BF16: static_cast<__nv_bfloat16*>(y)[i] = __double2bfloat16(to_double(v)); return;
    case RUDA_F8E4M3:
      static_cast<uint8_t*>(y)[i] = __nv_cvt_double_to_fp8(to_double(v), __NV_SATFINITE, __NV_E4M3);
      return;
    case RUDA_F8E5M2:
      static_cast<uint8_t*>(y)[i] = __nv_cvt_double_to_fp8(to_double(v), __NV_NOSAT, __NV_E5M2);
      return;
    case RUDA_I8: static_cast<int8_t*>(y)[i] = to_integer<int8_t>(v); return;
    case RUDA_I16: static_cast<int16_t*>(y)[i] = to_integer<int16_t>(v); return;
    case RUDA_I32: static_cast<int32_t*>(y)[i] = to_integer<int32_t>(v); return;
    case RUDA_I64: static_cast<int64_t*>(y)[i] = to_integer<int64_t>(v); return;
    case RUDA_U8: static_cast<uint8_t*>(y)[i] = to_integer<uint8_t>(v); return;
    case RUDA_U16: static_cast<uint16_t*>(y)[i] = to_integer<uint16_t>(v); return;
    case RUDA_U32: static_cast<uint32_t*>(y)[i] = to_integer<uint32_t>(v); return;
    case RUDA_U64: static_cast<uint64_t*>(y)[i] = to_integer<uint64_t>(v); return;
    default: static_cast<uint8_t*>(y)[i] = v.kind == Wide::real ? v.value != 0 : v.bits != 0; return;
  }
}

// Any pair of plain dtypes and FP4; the switches are on values that all threads share.
namespace convert {

__global__ void __launch_bounds__(strided_threads)
    convert_elements(const void* x, void* y, uint32_t from, uint32_t to, int64_t x_step, Strided<2> s) {
  const bool pairs = to == RUDA_F4E2M1;  // two elements a byte: one thread writes both
  const int64_t i = (int64_t(blockIdx.x) * strided_threads + threadIdx.x) * (pairs ? 2 : 1);
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s, i, at);
  const Wide v = load_wide(from, x, at[1]);
  if (pairs)
    static_cast<uint8_t*>(y)[at[0] / 2] =
        uint8_t(to_fp4(v) | to_fp4(load_wide(from, x, at[1] + x_step)) << 4);
  else
    store_wide(to, y, at[0], v);
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (is_block(x_of(p).dtype) || is_block(y_of(p).dtype)) return "block format";
  prep.state<Strided<2>>() = make_strided<2>({&y_of(p), &x_of(p)});
  return fits_grid(x_of(p).elements) ? nullptr : "more elements than a grid holds";
}

void run(const Launch& l) {
  const auto& s = l.state<Strided<2>>();
  if (s.elements == 0) return;
  const Layout& x = x_of(l.problem);
  convert_elements<<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const void>(RUDA_COPY_X), l.ptr<void>(RUDA_COPY_Y), x.dtype, y_of(l.problem).dtype,
      x.rank ? x.stride(-1) : 1, s);
  check_launch(l);
}

}  // namespace convert

// From GGUF blocks to floats.
namespace blocks {

struct State {
  Strided<2> rows;
  int64_t cols, y_step, elements;
};

template <uint32_t Dtype>
__global__ void __launch_bounds__(strided_threads)
    decode_elements(const uint8_t* x, void* y, uint32_t to, State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t at[2];
  strided_offsets(s.rows, i / s.cols, at);
  const uint8_t* row = x + at[1] / BlockLayout<Dtype>::elements * BlockLayout<Dtype>::bytes;
  const float v = block_value<Dtype>(row, i % s.cols);
  store_wide(to, y, at[0] + i % s.cols * s.y_step, Wide{Wide::real, v, 0});
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = x_of(p), &y = y_of(p);
  if (block_type(x.dtype) < 0) return "not a block format that is known here";
  if (is_packed(y.dtype)) return "to elements that are not whole bytes";
  if (!fits_grid(x.elements)) return "more elements than a grid holds";
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({&y, &x});
  s.cols = x.dim(-1);
  s.y_step = y.stride(-1);
  s.elements = x.elements;
  return nullptr;
}

template <uint32_t Dtype>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.elements == 0) return;
  decode_elements<Dtype><<<strided_blocks(s.elements), strided_threads, 0, stream_of(l)>>>(
      l.ptr<const uint8_t>(RUDA_COPY_X), l.ptr<void>(RUDA_COPY_Y), y_of(l.problem).dtype, s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (x_of(l.problem).dtype) {
    case RUDA_Q4_0: return launch<RUDA_Q4_0>(l);
    case RUDA_Q4_1: return launch<RUDA_Q4_1>(l);
    case RUDA_Q5_0: return launch<RUDA_Q5_0>(l);
    case RUDA_Q5_1: return launch<RUDA_Q5_1>(l);
    case RUDA_Q8_0: return launch<RUDA_Q8_0>(l);
    case RUDA_Q4_K: return launch<RUDA_Q4_K>(l);
    case RUDA_Q5_K: return launch<RUDA_Q5_K>(l);
    default: return launch<RUDA_Q6_K>(l);
  }
}

}  // namespace blocks

constexpr Kernel list[] = {{"cuda/copy/memory", memory::prepare, memory::run},
                           {"cuda/copy/strided", strided::prepare, strided::run},
                           {"cuda/copy/blocks", blocks::prepare, blocks::run},
                           {"cuda/copy/convert", convert::prepare, convert::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cuda
