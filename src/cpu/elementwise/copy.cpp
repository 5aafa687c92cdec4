// src/cpu/elementwise/copy.cpp - copies and conversions: whole memory, rows, transposed tiles, tables.
// SPDX-License-Identifier: Apache-2.0
#include "core/block_formats.hpp"
#include "core/convert.hpp"
#include "cpu/dense.hpp"
#include "cpu/elementwise/copy_table.hpp"
#include "cpu/rows.hpp"

#include <ruda/elementwise.h>

#include <cstring>

namespace ruda::cpu {
namespace {

constexpr int64_t grain_bytes = 65536;
constexpr int64_t grain = 16384;  // elements a thread takes at least

const Layout& x_of(const Problem& p) { return *p[RUDA_COPY_X].layout; }
const Layout& y_of(const Problem& p) { return *p[RUDA_COPY_Y].layout; }
uint32_t overflow_of(const Problem& p) { return p.as<ruda_copy_desc>().overflow; }
bool is_packed(uint32_t dtype) { return dtype_info(dtype).block_elements > 1; }

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (!x_of(p).contiguous || !y_of(p).contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  parallel(l, int64_t(x_of(l.problem).packed_bytes()), grain_bytes,
           [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

}  // namespace memory

// Rows of blocks or of half bytes, which have no strides inside.
namespace packed_rows {

Verdict prepare(const Problem& p, Prepare&) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  return is_packed(x_of(p).dtype) ? nullptr : "plain dtype";
}

void run(const Launch& l) {
  const Layout &x = x_of(l.problem), &y = y_of(l.problem);
  if (x.elements == 0) return;
  const DtypeInfo& info = dtype_info(x.dtype);
  const int64_t block = info.block_elements, bytes = info.block_bytes;
  const int64_t row_bytes = x.dim(-1) / block * bytes, rows = x.elements / x.dim(-1);
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  parallel(l, rows, std::max<int64_t>(1, grain_bytes / row_bytes), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      std::memcpy(to + row_offset(y, r) / block * bytes, from + row_offset(x, r) / block * bytes,
                  size_t(row_bytes));
  });
}

}  // namespace packed_rows

// One element everywhere: a fill.
namespace repeat {

Verdict prepare(const Problem& p, Prepare& prep) {
  if (is_packed(x_of(p).dtype) || is_packed(y_of(p).dtype)) return "elements that are not whole bytes";
  Walk<2>& w = prep.state<Walk<2>>();
  w = make_walk<2>({&y_of(p), &x_of(p)});
  for (int axis = 0; axis < w.rank; ++axis)
    if (w.shape[axis] > 1 && w.strides[1][axis] != 0) return "x has more than one element";
  return nullptr;
}

void run(const Launch& l) {
  const Layout &x = x_of(l.problem), &y = y_of(l.problem);
  const auto& w = l.state<Walk<2>>();
  if (w.elements == 0) return;
  const int64_t bytes = dtype_info(y.dtype).block_bytes;
  alignas(8) std::byte value[8];
  find_conversion(x.dtype, y.dtype, overflow_of(l.problem))(value, 8, l.ptr<const std::byte>(RUDA_COPY_X), 8,
                                                            1);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  walk_parallel(l, w, grain, [&](const int64_t* at, int64_t count) {
    copy_elements(to + at[0] * bytes, w.step(0), value, 0, count, bytes);
  });
}

}  // namespace repeat

// Equal dtypes where x runs fastest along another axis than y: tiles that fit the first-level cache.
namespace transpose {

constexpr int64_t tile = 32;

struct State {
  Walk<2> walk;  // y, x
  int axis;      // where x has stride 1
  int64_t bytes, row_tiles, col_tiles, outer;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (is_packed(x_of(p).dtype)) return "elements that are not whole bytes";
  State& s = prep.state<State>();
  const Walk<2>& w = s.walk = make_walk<2>({&y_of(p), &x_of(p)});
  s.axis = -1;
  for (int axis = 0; axis + 1 < w.rank; ++axis)
    if (w.strides[1][axis] == 1) s.axis = axis;
  if (s.axis < 0 || w.step(0) != 1 || w.elements == 0) return "no two axes to swap";
  if (w.shape[s.axis] < 4 || w.cols() < 4) return "few elements along an axis";
  s.bytes = dtype_info(x_of(p).dtype).block_bytes;
  s.row_tiles = (w.shape[s.axis] + tile - 1) / tile;
  s.col_tiles = (w.cols() + tile - 1) / tile;
  s.outer = w.elements / (w.shape[s.axis] * w.cols());
  return nullptr;
}

// y [rows, cols] with stride y_stride, x [cols, rows] with stride x_stride.
template <class T>
void swap_tile(const std::byte* x_data, int64_t x_stride, std::byte* y_data, int64_t y_stride, int64_t rows,
               int64_t cols) {
  const T* x = reinterpret_cast<const T*>(x_data);
  T* y = reinterpret_cast<T*>(y_data);
  T buffer[tile][tile + 1];
  for (int64_t c = 0; c < cols; ++c)
    for (int64_t r = 0; r < rows; ++r) buffer[r][c] = x[c * x_stride + r];
  for (int64_t r = 0; r < rows; ++r) std::memcpy(y + r * y_stride, buffer[r], size_t(cols) * sizeof(T));
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Walk<2>& w = s.walk;
  const auto* x = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* y = l.ptr<std::byte>(RUDA_COPY_Y);
  const int64_t y_stride = w.strides[0][s.axis], x_stride = w.step(1);
  parallel(l, s.outer * s.row_tiles * s.col_tiles, 16, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t r = task / s.col_tiles % s.row_tiles * tile, c = task % s.col_tiles * tile;
      int64_t rest = task / s.col_tiles / s.row_tiles, y_at = r * y_stride + c, x_at = r + c * x_stride;
      for (int axis = w.rank - 2; axis >= 0; --axis) {
        if (axis == s.axis) continue;
        y_at += rest % w.shape[axis] * w.strides[0][axis];
        x_at += rest % w.shape[axis] * w.strides[1][axis];
        rest /= w.shape[axis];
      }
      const int64_t rows = std::min(tile, w.shape[s.axis] - r), cols = std::min(tile, w.cols() - c);
      const auto swap = s.bytes == 1   ? swap_tile<uint8_t>
                        : s.bytes == 2 ? swap_tile<uint16_t>
                        : s.bytes == 4 ? swap_tile<uint32_t>
                                       : swap_tile<uint64_t>;
      swap(x + x_at * s.bytes, x_stride, y + y_at * s.bytes, y_stride, rows, cols);
    }
  });
}

}  // namespace transpose

// Equal dtypes: along joined axes, by memcpy where both are dense.
namespace rows {

struct State {
  Walk<2> walk;  // y, x
  int64_t bytes;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  if (x_of(p).dtype != y_of(p).dtype) return "dtypes differ";
  if (is_packed(x_of(p).dtype)) return "elements that are not whole bytes";
  State& s = prep.state<State>();
  s.walk = make_walk<2>({&y_of(p), &x_of(p)});
  s.bytes = dtype_info(x_of(p).dtype).block_bytes;
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const auto* x = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* y = l.ptr<std::byte>(RUDA_COPY_Y);
  const bool dense = s.walk.step(0) == 1 && s.walk.step(1) == 1;
  walk_parallel(l, s.walk, grain, [&](const int64_t* at, int64_t count) {
    if (dense)
      std::memcpy(y + at[0] * s.bytes, x + at[1] * s.bytes, size_t(count * s.bytes));
    else
      copy_elements(y + at[0] * s.bytes, s.walk.step(0), x + at[1] * s.bytes, s.walk.step(1), count, s.bytes);
  });
}

}  // namespace rows

// The common conversions, by vectors.
namespace convert_rows {

struct State {
  DenseWalk<2> walk;
  ConvertRow row;
};

ConvertRow find(uint32_t from, uint32_t to) {
  for (const auto& c : RUDA_ISA_PICK(CopyTable, copy_table).conversions)
    if (c.from == from && c.to == to) return c.row;
  return nullptr;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const ConvertRow row = find(x_of(p).dtype, y_of(p).dtype);
  if (!row) return "no vectors for the pair of dtypes";
  State& s = prep.state<State>();
  s.walk = make_dense_walk<2>({&y_of(p), &x_of(p)});
  s.row = row;
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  std::byte* const base[] = {l.ptr<std::byte>(RUDA_COPY_Y), l.ptr<std::byte>(RUDA_COPY_X)};
  dense_parallel(l, s.walk, base, grain,
                 [row = s.row](std::byte* const* at, int64_t count) { row(at[1], at[0], count); });
}

}  // namespace convert_rows

// From dtypes of one byte: 256 results, made once.
namespace byte_table {

struct State {
  Walk<2> walk;
  int64_t y_bytes;
  alignas(8) std::byte values[256][8];
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = x_of(p), &y = y_of(p);
  if (is_packed(x.dtype) || is_packed(y.dtype)) return "elements that are not whole bytes";
  if (dtype_info(x.dtype).block_bytes != 1) return "elements of more than a byte";
  State& s = prep.state<State>();
  s.walk = make_walk<2>({&y, &x});
  s.y_bytes = dtype_info(y.dtype).block_bytes;
  std::byte codes[256];
  for (int i = 0; i < 256; ++i) codes[i] = std::byte(i);
  find_conversion(x.dtype, y.dtype, overflow_of(p))(s.values[0], 8, codes, 1, 256);
  return nullptr;
}

template <class T>
void look_up(const State& s, std::byte* y_data, const std::byte* x, int64_t count) {
  T* y = reinterpret_cast<T*>(y_data);
  const int64_t x_step = s.walk.step(1), y_step = s.walk.step(0);
  for (int64_t i = 0; i < count; ++i)
    y[i * y_step] = *reinterpret_cast<const T*>(s.values[uint8_t(x[i * x_step])]);
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const auto* x = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* y = l.ptr<std::byte>(RUDA_COPY_Y);
  const auto row = s.y_bytes == 1   ? look_up<uint8_t>
                   : s.y_bytes == 2 ? look_up<uint16_t>
                   : s.y_bytes == 4 ? look_up<uint32_t>
                                    : look_up<uint64_t>;
  walk_parallel(l, s.walk, grain,
                [&](const int64_t* at, int64_t count) { row(s, y + at[0] * s.y_bytes, x + at[1], count); });
}

}  // namespace byte_table

// To and from FP4, two elements a byte along the last axis.
namespace half_bytes {

Verdict prepare(const Problem& p, Prepare&) {
  const uint32_t from = x_of(p).dtype, to = y_of(p).dtype;
  if ((from == RUDA_F4E2M1) == (to == RUDA_F4E2M1)) return "not from or to FP4";
  if (is_block(from) || is_block(to)) return "block format";
  return nullptr;
}

// Elements of one row of the plain side, through doubles, which hold every code of FP4 and every border
// between them.
void run(const Launch& l) {
  const Layout &x = x_of(l.problem), &y = y_of(l.problem);
  if (x.elements == 0) return;
  const bool decodes = x.dtype == RUDA_F4E2M1;
  const Layout& plain = decodes ? y : x;
  const int64_t bytes = dtype_info(plain.dtype).block_bytes, step = plain.stride(-1) * bytes;
  const auto convert =
      decodes ? find_conversion(RUDA_F64, plain.dtype) : find_conversion(plain.dtype, RUDA_F64);
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  const int64_t cols = x.dim(-1);
  parallel(l, x.elements / cols, std::max<int64_t>(1, grain / cols), [&](int64_t begin, int64_t end) {
    double values[dense_piece];
    for (int64_t r = begin; r < end; ++r) {
      const int64_t x_at = row_offset(x, r), y_at = row_offset(y, r);
      for (int64_t c = 0; c < cols; c += dense_piece) {
        const int64_t n = std::min(dense_piece, cols - c);
        auto* wide = reinterpret_cast<std::byte*>(values);
        if (decodes) {
          const auto* codes = reinterpret_cast<const uint8_t*>(from) + (x_at + c) / 2;
          for (int64_t i = 0; i < n; ++i) values[i] = from_f4e2m1(codes[i / 2] >> (i % 2 * 4) & 15);
          convert(to + y_at * bytes + c * step, step, wide, 8, n);
        } else {
          auto* codes = reinterpret_cast<uint8_t*>(to) + (y_at + c) / 2;
          convert(wide, 8, from + x_at * bytes + c * step, step, n);
          for (int64_t i = 0; i < n; i += 2)
            codes[i / 2] = uint8_t(to_f4e2m1(values[i]) | to_f4e2m1(values[i + 1]) << 4);
        }
      }
    }
  });
}

}  // namespace half_bytes

// From GGUF blocks to floats.
namespace blocks {

constexpr int64_t piece = 1024;  // elements, whole blocks of every format

Verdict prepare(const Problem& p, Prepare& prep) {
  if (block_type(x_of(p).dtype) < 0) return "not a block format that is known here";
  if (is_packed(y_of(p).dtype)) return "to elements that are not whole bytes";
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const Layout &x = x_of(l.problem), &y = y_of(l.problem);
  if (x.elements == 0) return;
  const BlockFormat& format = block_formats[block_type(x.dtype)];
  const auto decode = RUDA_ISA_PICK(CopyTable, copy_table).decode;
  const auto dense = convert_rows::find(RUDA_F32, y.dtype);
  const auto convert = find_conversion(RUDA_F32, y.dtype, overflow_of(l.problem));
  const int64_t cols = x.dim(-1), bytes = dtype_info(y.dtype).block_bytes, step = y.stride(-1) * bytes;
  const auto* from = l.ptr<const uint8_t>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  parallel(l, x.elements / cols, std::max<int64_t>(1, grain / cols), [&](int64_t begin, int64_t end) {
    alignas(64) float values[piece];
    for (int64_t r = begin; r < end; ++r) {
      const uint8_t* row = from + row_offset(x, r) / format.elements * format.bytes;
      std::byte* out = to + row_offset(y, r) * bytes;
      for (int64_t c = 0; c < cols; c += piece) {
        const int64_t n = std::min(piece, cols - c);
        const bool direct = y.dtype == RUDA_F32 && step == bytes;
        float* target = direct ? reinterpret_cast<float*>(out) + c : values;
        decode(block_type(x.dtype), row + c / format.elements * format.bytes, n, target);
        if (direct) continue;
        if (dense && step == bytes)
          dense(values, out + c * bytes, n);
        else
          convert(out + c * step, step, reinterpret_cast<const std::byte*>(values), 4, n);
      }
    }
  });
}

}  // namespace blocks

namespace scalar {

Verdict prepare(const Problem& p, Prepare& prep) {
  if (is_packed(x_of(p).dtype) || is_packed(y_of(p).dtype)) return "elements that are not whole bytes";
  prep.state<Walk<2>>() = make_walk<2>({&y_of(p), &x_of(p)});
  return nullptr;
}

void run(const Launch& l) {
  const Layout &x = x_of(l.problem), &y = y_of(l.problem);
  const auto& w = l.state<Walk<2>>();
  const auto convert = find_conversion(x.dtype, y.dtype, overflow_of(l.problem));
  const int64_t x_bytes = dtype_info(x.dtype).block_bytes, y_bytes = dtype_info(y.dtype).block_bytes;
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  walk_parallel(l, w, grain / 4, [&](const int64_t* at, int64_t count) {
    convert(to + at[0] * y_bytes, w.step(0) * y_bytes, from + at[1] * x_bytes, w.step(1) * x_bytes, count);
  });
}

}  // namespace scalar

constexpr Kernel list[] = {{"cpu/copy/memory", memory::prepare, memory::run},
                           {"cpu/copy/packed_rows", packed_rows::prepare, packed_rows::run},
                           {"cpu/copy/repeat", repeat::prepare, repeat::run},
                           {"cpu/copy/transpose", transpose::prepare, transpose::run},
                           {"cpu/copy/rows", rows::prepare, rows::run},
                           {"cpu/copy/convert_rows", convert_rows::prepare, convert_rows::run},
                           {"cpu/copy/byte_table", byte_table::prepare, byte_table::run},
                           {"cpu/copy/half_bytes", half_bytes::prepare, half_bytes::run},
                           {"cpu/copy/blocks", blocks::prepare, blocks::run},
                           {"cpu/copy/scalar", scalar::prepare, scalar::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cpu
