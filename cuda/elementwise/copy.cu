// cuda/elementwise/copy.cu - copies on the GPU: whole memory, conversions in vectors, tiles, any strides, any
// dtypes.
// SPDX-License-Identifier: Apache-2.0
#include "device/block_decode.cuh"
#include "device/convert.cuh"
#include "elementwise/copy_pieces.hpp"
#include "elementwise/strided.cuh"
#include "elementwise/vector.cuh"
#include "runtime/visit.hpp"

#include <ruda/elementwise.h>

namespace ruda::cuda {
namespace {

const Layout& x_of(const Problem& p) { return *p[RUDA_COPY_X].layout; }
const Layout& y_of(const Problem& p) { return *p[RUDA_COPY_Y].layout; }

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (!x_of(p).contiguous || !y_of(p).contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  const uint64_t bytes = x_of(l.problem).packed_bytes();
  if (bytes == 0) return;
  check_cuda(cudaMemcpyAsync(l.ptr<void>(RUDA_COPY_Y), l.ptr<void>(RUDA_COPY_X), bytes,
                             cudaMemcpyDeviceToDevice, stream_of(l)),
             "copy");
}

}  // namespace memory

struct Cast {
  template <class Y>
  __device__ float operator()(float x) const {
    return x;
  }
};

// run(Y{}, X{}) with the types of y and x.
template <class Run>
void visit_floats(const Launch& l, Run&& run) {
  visit_float(x_of(l.problem).dtype,
              [&](auto x) { visit_float(y_of(l.problem).dtype, [&](auto y) { run(y, x); }); });
}

// Between two dtypes of whole bytes, both sides dense.
namespace vector {

Verdict prepare(const Problem& p, Prepare&) {
  const Operand &x = p[RUDA_COPY_X], &y = p[RUDA_COPY_Y];
  if (x.dtype() == y.dtype()) return "one dtype";
  if (dtype_info(x.dtype()).block_elements > 1 || dtype_info(y.dtype()).block_elements > 1)
    return "elements that are not whole bytes";
  if (!x.layout->contiguous || !y.layout->contiguous) return "strided";
  if (x.align_log2 < 4 || y.align_log2 < 4) return "addresses not aligned to 16 bytes";
  return vector_fits(x.layout->elements);
}

void run(const Launch& l) {
  if (!plain_float(x_of(l.problem).dtype) || !plain_float(y_of(l.problem).dtype)) return run_pieces(l);
  visit_floats(l, [&](auto y, auto x) {
    using Y = decltype(y);
    using X = decltype(x);
    if constexpr (!std::is_same_v<Y, X>)
      launch_vector(l, x_of(l.problem).elements, l.ptr<Y>(RUDA_COPY_Y), Cast{}, l.ptr<const X>(RUDA_COPY_X));
  });
}

}  // namespace vector

// Between F32, F16 and BF16 with dense rows.
namespace rows {

Verdict prepare(const Problem& p, Prepare& prep) {
  if (!plain_float(x_of(p).dtype) || !plain_float(y_of(p).dtype) || x_of(p).dtype == y_of(p).dtype)
    return "not between F32, F16 and BF16";
  return make_vector_rows<2>(p, {RUDA_COPY_Y, RUDA_COPY_X}, prep.state<VectorRows<2>>());
}

void run(const Launch& l) {
  visit_floats(l, [&](auto y, auto x) {
    using Y = decltype(y);
    using X = decltype(x);
    if constexpr (!std::is_same_v<Y, X>)
      launch_vector_rows(l, l.state<VectorRows<2>>(), l.ptr<Y>(RUDA_COPY_Y), Cast{},
                         l.ptr<const X>(RUDA_COPY_X));
  });
}

}  // namespace rows

// One dtype where y runs densely along one axis and x along another: square tiles through shared memory.
namespace tile {

constexpr int side = 16, tile_threads = side * side;  // a thread takes a square of the tile

// Elements of one access; a thread's square has as many rows and columns.
template <class T>
constexpr int width = sizeof(T) == 1   ? 8
                      : sizeof(T) == 8 ? 2
                                       : 4;

struct State {
  int64_t rows, cols, x_step, y_step;  // element (r, c) lies at y[r * y_step + c] and x[r + c * x_step]
  int64_t row_tiles, col_tiles, tiles;
  Strided<2> outer;             // y, x
  int whole_x, whole_y, bytes;  // whole: every row starts at a multiple of an access
};

template <class T>
__global__ void __launch_bounds__(tile_threads)
    copy_tiles(const T* x, T* y, const __grid_constant__ State s) {
  constexpr int n = width<T>, extent = side * n;
  // The column of a square is xored with its row, so that neither writes nor reads meet in a bank.
  __shared__ Vec<T, n> shared[extent][side];
  const int64_t tile = blockIdx.x, row_tile = tile / s.col_tiles % s.row_tiles;
  int64_t at[2];
  strided_offsets(s.outer, tile / s.col_tiles / s.row_tiles, at);
  x += at[1], y += at[0];
  const int low = threadIdx.x % side, high = threadIdx.x / side;
  const int64_t r0 = row_tile * extent, c0 = tile % s.col_tiles * extent;
  {
    const int64_t r = r0 + low * n, c = c0 + high * n;
    Vec<T, n> in[n];
#pragma unroll
    for (int j = 0; j < n; ++j) {
      if (c + j >= s.cols) continue;
      const T* from = x + r + (c + j) * s.x_step;
      if (s.whole_x && r + n <= s.rows) {
        in[j] = load_vec_once<n>(from);
      } else {
#pragma unroll
        for (int i = 0; i < n; ++i)
          if (r + i < s.rows) in[j][i] = from[i];
      }
    }
#pragma unroll
    for (int i = 0; i < n; ++i) {
      Vec<T, n> turned;
#pragma unroll
      for (int j = 0; j < n; ++j) turned[j] = in[j][i];
      shared[low * n + i][high ^ low] = turned;
    }
  }
  __syncthreads();
  const int64_t c = c0 + low * n;
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const int row = high + i * side;
    const int64_t r = r0 + row;
    if (r >= s.rows) break;
    const Vec<T, n> out = shared[row][low ^ (row / n)];
    T* to = y + r * s.y_step + c;
    if (s.whole_y && c + n <= s.cols) {
      store_vec(to, out);
    } else {
#pragma unroll
      for (int j = 0; j < n; ++j)
        if (c + j < s.cols) to[j] = out[j];
    }
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = x_of(p), &y = y_of(p);
  if (x.dtype != y.dtype) return "dtypes differ";
  if (dtype_info(x.dtype).block_elements > 1) return "elements that are not whole bytes";
  Strided<2> all = make_strided<2>({&y, &x});
  sort_axes(all);
  if (all.elements == 0) return "no elements";
  int along_x = -1, along_y = -1;
  for (int axis = 0; axis < all.rank; ++axis) {
    if (all.strides[0][axis] == 1) along_y = axis;
    if (all.strides[1][axis] == 1) along_x = axis;
  }
  if (along_x < 0 || along_y < 0 || along_x == along_y) return "no two axes to swap";
  if (all.shape[along_x] < side || all.shape[along_y] < side) return "few elements along an axis";
  State& s = prep.state<State>();
  s.bytes = int(dtype_info(x.dtype).block_bytes);
  s.rows = all.shape[along_x], s.cols = all.shape[along_y];
  s.x_step = all.strides[1][along_y], s.y_step = all.strides[0][along_x];
  const int n = s.bytes == 1 ? 8 : s.bytes == 8 ? 2 : 4, extent = side * n;
  s.row_tiles = (s.rows + extent - 1) / extent;
  s.col_tiles = (s.cols + extent - 1) / extent;
  s.whole_x = s.x_step % n == 0 && (1 << p[RUDA_COPY_X].align_log2) % (n * s.bytes) == 0;
  s.whole_y = s.y_step % n == 0 && (1 << p[RUDA_COPY_Y].align_log2) % (n * s.bytes) == 0;
  s.outer.elements = 1;
  for (int axis = 0; axis < all.rank; ++axis) {
    if (axis == along_x || axis == along_y) continue;
    s.outer.shape[s.outer.rank] = all.shape[axis];
    for (int k = 0; k < 2; ++k) s.outer.strides[k][s.outer.rank] = all.strides[k][axis];
    s.whole_y &= all.strides[0][axis] % n == 0;
    s.whole_x &= all.strides[1][axis] % n == 0;
    s.outer.elements *= all.shape[axis];
    ++s.outer.rank;
  }
  s.tiles = s.row_tiles * s.col_tiles * s.outer.elements;
  return s.tiles > INT32_MAX ? "more tiles than a grid holds" : nullptr;
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  copy_tiles<T><<<unsigned(s.tiles), tile_threads, 0, stream_of(l)>>>(l.ptr<const T>(RUDA_COPY_X),
                                                                      l.ptr<T>(RUDA_COPY_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.state<State>().bytes) {
    case 1: return launch<uint8_t>(l);
    case 2: return launch<unsigned short>(l);
    case 4: return launch<uint32_t>(l);
    default: return launch<unsigned long long>(l);
  }
}

}  // namespace tile

// One dtype, any strides. What moves is a unit: as many bytes, up to 16, as lie together on both sides.
namespace strided {

constexpr int most_units = 4;

struct State {
  Strided<2> at;  // y, x; in units
  int unit_bytes;
};

template <class T, int Units>
__global__ void __launch_bounds__(strided_threads)
    copy_units(const T* from, T* to, const __grid_constant__ State s) {
  const int64_t first = int64_t(blockIdx.x) * (strided_threads * Units) + threadIdx.x;
  T unit[Units];
  int64_t at[Units][2];
#pragma unroll
  for (int k = 0; k < Units; ++k) {
    const int64_t i = first + k * strided_threads;
    if (i >= s.at.elements) break;
    strided_offsets(s.at, i, at[k]);
    unit[k] = from[at[k][1]];
  }
#pragma unroll
  for (int k = 0; k < Units; ++k) {
    if (first + k * strided_threads >= s.at.elements) break;
    to[at[k][0]] = unit[k];
  }
}

// A layout whose elements are single bytes along the last axis, for elements that are parts of blocks.
Layout in_bytes(const Layout& layout) {
  const DtypeInfo& info = dtype_info(layout.dtype);
  const int64_t block = info.block_elements, bytes = info.block_bytes;
  Layout out = layout;
  out.elements = layout.elements / block * bytes;
  out.shape[layout.rank - 1] = layout.shape[layout.rank - 1] / block * bytes;
  for (int axis = 0; axis + 1 < layout.rank; ++axis) out.strides[axis] = layout.strides[axis] / block * bytes;
  return out;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  const DtypeInfo& info = dtype_info(x_of(p).dtype);
  const bool parts = info.block_elements > 1;
  const Layout x = parts ? in_bytes(x_of(p)) : x_of(p), y = parts ? in_bytes(y_of(p)) : y_of(p);
  State& s = prep.state<State>();
  s.at = make_strided<2>({&y, &x});
  sort_axes(s.at);
  s.unit_bytes = parts ? 1 : int(info.block_bytes);
  const int last = s.at.rank - 1;
  const int64_t aligned = int64_t(1) << std::min(p[RUDA_COPY_X].align_log2, p[RUDA_COPY_Y].align_log2);
  const auto widens = [&] {
    if (last < 0 || s.unit_bytes >= 16 || s.at.elements == 0 || s.unit_bytes * 2 > aligned) return false;
    if (s.at.strides[0][last] != 1 || s.at.strides[1][last] != 1 || s.at.shape[last] % 2) return false;
    for (int axis = 0; axis < last; ++axis)
      if (s.at.strides[0][axis] % 2 || s.at.strides[1][axis] % 2) return false;
    return true;
  };
  while (widens()) {
    s.unit_bytes *= 2;
    s.at.elements /= 2;
    s.at.shape[last] /= 2;
    for (auto& strides : s.at.strides)
      for (int axis = 0; axis < last; ++axis) strides[axis] /= 2;
  }
  prep.note("units of " + std::to_string(s.unit_bytes) + " bytes");
  return fits_grid(s.at.elements) ? nullptr : "more elements than a grid holds";
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const int64_t full = int64_t(capability_of(l.problem).multiprocessors) * 8 * strided_threads * most_units;
  const T* from = l.ptr<const T>(RUDA_COPY_X);
  T* to = l.ptr<T>(RUDA_COPY_Y);
  if (s.at.elements >= full)
    copy_units<T, most_units>
        <<<strided_blocks((s.at.elements + most_units - 1) / most_units), strided_threads, 0, stream_of(l)>>>(
            from, to, s);
  else
    copy_units<T, 1><<<strided_blocks(s.at.elements), strided_threads, 0, stream_of(l)>>>(from, to, s);
  check_launch(l);
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  if (s.at.elements == 0) return;
  switch (s.unit_bytes) {
    case 1: return launch<uint8_t>(l);
    case 2: return launch<uint16_t>(l);
    case 4: return launch<uint32_t>(l);
    case 8: return launch<uint2>(l);
    default: return launch<uint4>(l);
  }
}

}  // namespace strided

// FP4, two elements in a byte, low half first. Rows lie densely and start at whole bytes.
namespace half_bytes {

bool half(const Layout& layout) { return layout.dtype == RUDA_F4E2M1; }

struct State {
  Strided<2> at;  // y, x; of elements when FP4 is read, of pairs of them (y in bytes) when it is written
  int64_t step;   // between the elements of a pair in x
};

__global__ void __launch_bounds__(strided_threads)
    copy_from_half(const uint8_t* from, void* to, uint32_t to_dtype, const __grid_constant__ State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  // Offsets of reversed rows are negative: the shift rounds down, as the halves of a byte ask for.
  const double value = from_f4e2m1(from[at[1] >> 1] >> ((at[1] & 1) * 4) & 15);
  if (wide_kind(to_dtype) == WideKind::real)
    store_real(to_dtype, to, at[0], value);
  else
    store_bits(to_dtype, to, at[0], real_to_bits(to_dtype, value));
}

__device__ inline double load_wide(uint32_t dtype, const void* from, int64_t at) {
  switch (wide_kind(dtype)) {
    case WideKind::real: return load_real(dtype, from, at);
    case WideKind::signed_integer: return double(load_signed(dtype, from, at));
    default: return double(load_unsigned(dtype, from, at));
  }
}

__global__ void __launch_bounds__(strided_threads)
    copy_to_half(const void* from, uint32_t from_dtype, uint8_t* to, const __grid_constant__ State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  const uint32_t low = to_f4e2m1(load_wide(from_dtype, from, at[1]));
  const uint32_t high = to_f4e2m1(load_wide(from_dtype, from, at[1] + s.step));
  to[at[0]] = uint8_t(low | high << 4);
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = x_of(p), &y = y_of(p);
  if (half(x) == half(y)) return "not between FP4 and another dtype";
  if (is_block(x.dtype)) return "from a block format";
  State& s = prep.state<State>();
  if (half(x)) {
    s.at = make_strided<2>({&y, &x});
    return fits_grid(s.at.elements) ? nullptr : "more elements than a grid holds";
  }
  Layout pairs = x, bytes = y;
  const int last = x.rank - 1;
  s.step = x.strides[last];
  for (Layout* layout : {&pairs, &bytes}) {
    layout->elements /= 2;
    layout->shape[last] /= 2;
    layout->contiguous = false;
  }
  pairs.strides[last] *= 2;
  for (int axis = 0; axis < last; ++axis) bytes.strides[axis] /= 2;
  s.at = make_strided<2>({&bytes, &pairs});
  return fits_grid(s.at.elements) ? nullptr : "more elements than a grid holds";
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  if (s.at.elements == 0) return;
  const unsigned blocks = strided_blocks(s.at.elements);
  if (half(x_of(l.problem)))
    copy_from_half<<<blocks, strided_threads, 0, stream_of(l)>>>(
        l.ptr<const uint8_t>(RUDA_COPY_X), l.ptr<void>(RUDA_COPY_Y), y_of(l.problem).dtype, s);
  else
    copy_to_half<<<blocks, strided_threads, 0, stream_of(l)>>>(
        l.ptr<const void>(RUDA_COPY_X), x_of(l.problem).dtype, l.ptr<uint8_t>(RUDA_COPY_Y), s);
  check_launch(l);
}

}  // namespace half_bytes

// Any two dtypes of whole bytes, and from GGUF blocks; any strides.
namespace convert {

struct State {
  Strided<2> at;  // y, x
  int64_t cols;
};

__global__ void __launch_bounds__(strided_threads)
    copy_convert(const void* from, uint32_t from_dtype, void* to, uint32_t to_dtype,
                 const __grid_constant__ State s) {
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  convert_element(from_dtype, from, at[1], to_dtype, to, at[0]);
}

// Rows of blocks lie densely and start at whole blocks.
template <uint32_t Dtype>
__global__ void __launch_bounds__(strided_threads)
    copy_decode(const uint8_t* from, void* to, uint32_t to_dtype, const __grid_constant__ State s) {
  using L = BlockLayout<Dtype>;
  const int64_t i = int64_t(blockIdx.x) * strided_threads + threadIdx.x;
  if (i >= s.at.elements) return;
  int64_t at[2];
  strided_offsets(s.at, i, at);
  const int64_t col = i % s.cols;
  const uint8_t* row = from + (at[1] - col) / L::elements * L::bytes;
  store_real(to_dtype, to, at[0], double(block_value<Dtype>(row, col)));
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = x_of(p), &y = y_of(p);
  if (is_block(x.dtype)) {
    if (!visit_block(x.dtype, [](auto) {})) return "block format without a decoder";
  } else if (dtype_info(x.dtype).block_elements > 1) {
    return "elements smaller than a byte";
  }
  if (dtype_info(y.dtype).block_elements > 1) return "elements smaller than a byte";
  State& s = prep.state<State>();
  s.at = make_strided<2>({&y, &x});
  if (!is_block(x.dtype)) sort_axes(s.at);
  s.cols = x.rank ? x.dim(-1) : 1;
  return fits_grid(x.elements) ? nullptr : "more elements than a grid holds";
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  if (s.at.elements == 0) return;
  const uint32_t x = x_of(l.problem).dtype;
  const uint32_t y = with_overflow(y_of(l.problem).dtype, l.problem.as<ruda_copy_desc>().overflow);
  const unsigned blocks = strided_blocks(s.at.elements);
  const bool decoded = visit_block(x, [&](auto tag) {
    copy_decode<decltype(tag)::dtype><<<blocks, strided_threads, 0, stream_of(l)>>>(
        l.ptr<const uint8_t>(RUDA_COPY_X), l.ptr<void>(RUDA_COPY_Y), y, s);
  });
  if (!decoded)
    copy_convert<<<blocks, strided_threads, 0, stream_of(l)>>>(l.ptr<const void>(RUDA_COPY_X), x,
                                                               l.ptr<void>(RUDA_COPY_Y), y, s);
  check_launch(l);
}

}  // namespace convert

constexpr Kernel list[] = {{"cuda/copy/memory", memory::prepare, memory::run},
                           {"cuda/copy/vector", vector::prepare, vector::run},
                           {"cuda/copy/rows", rows::prepare, rows::run},
                           {"cuda/copy/tile", tile::prepare, tile::run},
                           {"cuda/copy/strided", strided::prepare, strided::run},
                           {"cuda/copy/half_bytes", half_bytes::prepare, half_bytes::run},
                           {"cuda/copy/convert", convert::prepare, convert::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cuda
