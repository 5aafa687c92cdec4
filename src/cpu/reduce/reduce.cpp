// src/cpu/reduce/reduce.cpp - reductions: dense rows, columns side by side, or one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "core/reduce_ops.hpp"
#include "cpu/dense.hpp"
#include "cpu/reduce/reduce_table.hpp"

#include <ruda/reduce.h>

#include <bit>

namespace ruda::cpu {
namespace {

static_assert(std::size(reduce_rows) == reduce_count);

constexpr int64_t grain = 16384;          // elements a thread takes at least
constexpr int64_t span_elements = 65536;  // longer reductions are cut, so that threads share one

// The kept axes as seen by y and x, and the reduced ones of x.
struct Axes {
  Walk<2> kept;
  Walk<1> reduced;
  int64_t x_bytes, y_bytes;
  uint32_t op, y_dtype;
};

Axes make_axes(const Problem& p) {
  const Layout &x = *p[RUDA_REDUCE_X].layout, &y = *p[RUDA_REDUCE_Y].layout;
  const auto& d = p.as<ruda_reduce_desc>();
  Layout kept_y, kept_x, reduced;
  int at_y = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const bool is_reduced = d.axes >> axis & 1;
    if (is_reduced) {
      reduced.shape[reduced.rank] = x.shape[axis];
      reduced.strides[reduced.rank++] = x.strides[axis];
      reduced.elements *= x.shape[axis];
      at_y += int(d.keepdims);
      continue;
    }
    kept_x.shape[kept_x.rank] = kept_y.shape[kept_y.rank] = x.shape[axis];
    kept_x.strides[kept_x.rank++] = x.strides[axis];
    kept_y.strides[kept_y.rank++] = y.strides[at_y++];
    kept_y.elements *= x.shape[axis];
    kept_x.elements *= x.shape[axis];
  }
  Axes a;
  a.kept = make_walk<2>({&kept_y, &kept_x});
  a.reduced = make_walk<1>({&reduced}, reduce_is_index(d.op));
  a.x_bytes = dtype_info(x.dtype).block_bytes;
  a.y_bytes = dtype_info(y.dtype).block_bytes;
  a.op = d.op;
  a.y_dtype = y.dtype;
  return a;
}

void write_float(const Axes& a, std::byte* y, double value, int64_t index) {
  if (a.op == RUDA_REDUCE_MEAN) value /= double(a.reduced.elements);
  switch (a.y_dtype) {
    case RUDA_F64: *reinterpret_cast<double*>(y) = value; return;
    case RUDA_F32: *reinterpret_cast<float*>(y) = float(value); return;
    case RUDA_F16: *reinterpret_cast<f16*>(y) = to_f16(float(value)); return;
    case RUDA_BF16: *reinterpret_cast<bf16*>(y) = to_bf16(float(value)); return;
    case RUDA_I64: *reinterpret_cast<int64_t*>(y) = index; return;
    case RUDA_I32: *reinterpret_cast<int32_t*>(y) = int32_t(index); return;
    default: *reinterpret_cast<uint8_t*>(y) = value != 0; return;
  }
}

ReduceValue start_of(uint32_t op) { return {reduce_start<double>(op), reduce_is_index(op) ? -1 : 0}; }

// `b` comes after `a`.
void join(uint32_t op, ReduceValue& a, const ReduceValue& b) {
  if (!reduce_is_index(op))
    a.value = reduce_join(op, a.value, b.value);
  else if (a.index < 0 || reduce_beats(op, b.value, a.value))
    a = b;
}

int vector_index(uint32_t dtype) {
  const int index = row_dtype_index(dtype);
  return index >= 0 && index < row_vector_dtypes ? index : -1;
}

namespace dense_rows {

struct State {
  Axes axes;
  ReduceRow row;
  int64_t spans;  // parts of one reduction
  WorkspaceSlot partial;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int dtype = vector_index(p[RUDA_REDUCE_X].dtype());
  if (dtype < 0) return "no vectors for the dtype";
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  s.row = RUDA_ISA_PICK(ReduceTable, reduce_table).row[s.axes.op - 1][dtype];
  s.spans = (s.axes.reduced.elements + span_elements - 1) / span_elements;
  if (s.spans > 1) s.partial = prep.book<ReduceValue>(s.axes.kept.elements * s.spans);
  prep.note(std::string(reduce_rows[s.axes.op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

void join_span(const State& s, const std::byte* x, int64_t begin, int64_t end, ReduceValue& joined) {
  const Axes& a = s.axes;
  const int64_t step = a.reduced.step(0);
  if (begin == end) return;
  walk_range(a.reduced, begin, end, [&](const int64_t* at, int64_t count) {
    alignas(64) std::byte buffer[reduce_piece * 4];
    for (int64_t i = 0; i < count; i += reduce_piece) {
      const int64_t n = std::min<int64_t>(count - i, reduce_piece);
      const std::byte* piece = x + (at[0] + i * step) * a.x_bytes;
      if (step != 1 && n > 1) {
        copy_elements(buffer, 1, piece, step, n, a.x_bytes);
        piece = buffer;
      }
      s.row(piece, n, begin + i, &joined);
    }
    begin += count;
  });
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Axes& a = s.axes;
  const auto* x = l.ptr<const std::byte>(RUDA_REDUCE_X);
  auto* y = l.ptr<std::byte>(RUDA_REDUCE_Y);
  const int64_t count = a.reduced.elements;
  if (s.spans <= 1) {
    walk_parallel(l, a.kept, std::max<int64_t>(1, grain / std::max<int64_t>(count, 1)),
                  [&](const int64_t* at, int64_t outputs) {
                    for (int64_t i = 0; i < outputs; ++i) {
                      ReduceValue joined = start_of(a.op);
                      join_span(s, x + (at[1] + i * a.kept.step(1)) * a.x_bytes, 0, count, joined);
                      write_float(a, y + (at[0] + i * a.kept.step(0)) * a.y_bytes, joined.value,
                                  joined.index);
                    }
                  });
    return;
  }
  auto* partial = l.at<ReduceValue>(s.partial);
  parallel(l, a.kept.elements * s.spans, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t output = task / s.spans, from = task % s.spans * span_elements;
      walk_range(a.kept, output, output + 1, [&](const int64_t* at, int64_t) {
        ReduceValue joined = start_of(a.op);
        join_span(s, x + at[1] * a.x_bytes, from, std::min(from + span_elements, count), joined);
        partial[task] = joined;
      });
    }
  });
  for (int64_t output = 0; output < a.kept.elements; ++output) {
    ReduceValue joined = partial[output * s.spans];
    for (int64_t i = 1; i < s.spans; ++i) join(a.op, joined, partial[output * s.spans + i]);
    walk_range(a.kept, output, output + 1, [&](const int64_t* at, int64_t) {
      write_float(a, y + at[0] * a.y_bytes, joined.value, joined.index);
    });
  }
}

}  // namespace dense_rows

namespace columns {

struct State {
  Axes axes;
  ReduceColumns columns;
  int64_t tiles, blocks;  // of the columns, of the reduced elements
  WorkspaceSlot value, index;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int dtype = vector_index(p[RUDA_REDUCE_X].dtype());
  if (dtype < 0) return "no vectors for the dtype";
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  const Axes& a = s.axes;
  if (a.kept.elements == 0 || a.reduced.elements == 0) return "no elements";
  if (a.reduced.step(0) == 1 && a.reduced.elements > 1) return "the reduced axis is dense";
  if (a.kept.step(1) != 1 || a.kept.cols() < 4) return "fewer than 4 columns side by side";
  s.columns = RUDA_ISA_PICK(ReduceTable, reduce_table).columns[a.op - 1][dtype];
  s.tiles = (a.kept.cols() + reduce_columns - 1) / reduce_columns;
  s.blocks = (a.reduced.elements + reduce_rows_block - 1) / reduce_rows_block;
  if (s.blocks > 1) {
    s.value = prep.book<float>(a.kept.elements * s.blocks);
    if (reduce_is_index(a.op)) s.index = prep.book<int64_t>(a.kept.elements * s.blocks);
  }
  prep.note(std::string(reduce_rows[a.op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

// One tile of columns over one block of reduced elements.
void join_block(const State& s, const std::byte* x, int64_t begin, int64_t cols, float* value,
                int64_t* index) {
  const Axes& a = s.axes;
  const bool is_index = reduce_is_index(a.op);
  const int64_t end = std::min<int64_t>(begin + reduce_rows_block, a.reduced.elements), start = begin;
  std::fill_n(value, cols, float(start_of(a.op).value));
  walk_range(a.reduced, begin, end, [&](const int64_t* at, int64_t rows) {
    const std::byte* from = x + at[0] * a.x_bytes;
    if (!is_index || begin == start) {
      s.columns(from, a.reduced.step(0), rows, cols, begin, value, index);
    } else {
      float more[reduce_columns];
      int64_t more_index[reduce_columns];
      s.columns(from, a.reduced.step(0), rows, cols, begin, more, more_index);
      for (int64_t c = 0; c < cols; ++c) {
        if (!reduce_beats(a.op, more[c], value[c])) continue;
        value[c] = more[c];
        index[c] = more_index[c];
      }
    }
    begin += rows;
  });
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Axes& a = s.axes;
  const auto* x = l.ptr<const std::byte>(RUDA_REDUCE_X);
  auto* y = l.ptr<std::byte>(RUDA_REDUCE_Y);
  const int64_t all_cols = a.kept.cols(), outer = a.kept.elements / all_cols;
  const bool is_index = reduce_is_index(a.op);
  const int64_t task_elements =
      std::min<int64_t>(a.reduced.elements, reduce_rows_block) * std::min<int64_t>(all_cols, reduce_columns);
  float* values = l.at<float>(s.value);
  int64_t* indices = l.at<int64_t>(s.index);
  // Where tile t of row o lies among the kept elements.
  const auto tile_of = [&](int64_t o, int64_t t, auto&& f) {
    const int64_t first = o * all_cols + t * reduce_columns;
    walk_range(a.kept, first, first + std::min<int64_t>(reduce_columns, all_cols - t * reduce_columns), f);
  };
  parallel(
      l, outer * s.tiles * s.blocks, std::max<int64_t>(1, grain / task_elements),
      [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t block = task % s.blocks, t = task / s.blocks % s.tiles, o = task / s.blocks / s.tiles;
          tile_of(o, t, [&](const int64_t* at, int64_t cols) {
            float own_value[reduce_columns];
            int64_t own_index[reduce_columns];
            const int64_t place = (o * s.blocks + block) * all_cols + t * reduce_columns;
            float* value = s.blocks > 1 ? values + place : own_value;
            int64_t* index = s.blocks > 1 && is_index ? indices + place : own_index;
            join_block(s, x + at[1] * a.x_bytes, block * reduce_rows_block, cols, value, index);
            if (s.blocks > 1) return;
            for (int64_t c = 0; c < cols; ++c)
              write_float(a, y + (at[0] + c * a.kept.step(0)) * a.y_bytes, value[c], is_index ? index[c] : 0);
          });
        }
      });
  if (s.blocks == 1) return;
  parallel(l, outer * s.tiles, std::max<int64_t>(1, grain / (s.blocks * reduce_columns)),
           [&](int64_t begin, int64_t end) {
             for (int64_t task = begin; task < end; ++task) {
               const int64_t t = task % s.tiles, o = task / s.tiles;
               tile_of(o, t, [&](const int64_t* at, int64_t cols) {
                 ReduceValue joined[reduce_columns];
                 std::fill_n(joined, cols, start_of(a.op));
                 for (int64_t block = 0; block < s.blocks; ++block) {
                   const int64_t place = (o * s.blocks + block) * all_cols + t * reduce_columns;
                   for (int64_t c = 0; c < cols; ++c)
                     join(a.op, joined[c], {double(values[place + c]), is_index ? indices[place + c] : 0});
                 }
                 for (int64_t c = 0; c < cols; ++c)
                   write_float(a, y + (at[0] + c * a.kept.step(0)) * a.y_bytes, joined[c].value,
                               joined[c].index);
               });
             }
           });
}

}  // namespace columns

namespace int_rows {

struct State {
  Axes axes;
  ReduceIntRow row;
  int64_t spans;  // parts of one reduction
  WorkspaceSlot partial;
  ReduceInt start;
  bool is_signed;
};

bool is_unsigned(uint32_t dtype) {
  return dtype == RUDA_U8 || dtype == RUDA_U16 || dtype == RUDA_U32 || dtype == RUDA_U64 ||
         dtype == RUDA_BOOL;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const uint32_t dtype = p[RUDA_REDUCE_X].dtype();
  const int index = row_dtype_index(dtype) - (row_vector_dtypes + 1);
  if (index < 0) return "floats";
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  if (s.axes.reduced.elements > 1 && s.axes.reduced.step(0) != 1) return "the reduced axis has gaps";
  s.row = RUDA_ISA_PICK(ReduceIntTable, reduce_int_table).row[s.axes.op - 1][index];
  s.is_signed = !is_unsigned(dtype);
  s.start = {s.is_signed ? reduce_start<int64_t>(s.axes.op) : int64_t(reduce_start<uint64_t>(s.axes.op)),
             reduce_is_index(s.axes.op) ? -1 : 0};
  s.spans = (s.axes.reduced.elements + span_elements - 1) / span_elements;
  if (s.spans > 1) s.partial = prep.book<ReduceInt>(s.axes.kept.elements * s.spans);
  prep.note(std::string(reduce_rows[s.axes.op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

// `b` comes after `a`.
template <class W>
void join(uint32_t op, ReduceInt& a, const ReduceInt& b) {
  if (!reduce_is_index(op))
    a.value = int64_t(reduce_join(op, W(a.value), W(b.value)));
  else if (a.index < 0 || reduce_beats(op, W(b.value), W(a.value)))
    a = b;
}

// Integers wrap into the dtype of y.
void write(const Axes& a, std::byte* y, const ReduceInt& joined) {
  int64_t value = reduce_is_index(a.op) ? joined.index : joined.value;
  if (a.y_dtype == RUDA_BOOL) value = value != 0;
  std::memcpy(y, &value, size_t(a.y_bytes));
}

ReduceInt join_span(const State& s, const std::byte* x, int64_t begin, int64_t end) {
  ReduceInt joined = s.start;
  if (begin < end)
    walk_range(s.axes.reduced, begin, end, [&](const int64_t* at, int64_t count) {
      s.row(x + at[0] * s.axes.x_bytes, count, begin, &joined);
      begin += count;
    });
  return joined;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Axes& a = s.axes;
  const auto* x = l.ptr<const std::byte>(RUDA_REDUCE_X);
  auto* y = l.ptr<std::byte>(RUDA_REDUCE_Y);
  const int64_t count = a.reduced.elements, spans = std::max<int64_t>(s.spans, 1);
  auto* partial = l.at<ReduceInt>(s.partial);
  parallel(l, a.kept.elements * spans,
           std::max<int64_t>(1, grain / std::clamp<int64_t>(count, 1, span_elements)),
           [&](int64_t begin, int64_t end) {
             for (int64_t task = begin; task < end; ++task) {
               const int64_t output = task / spans, from = task % spans * span_elements;
               walk_range(a.kept, output, output + 1, [&](const int64_t* at, int64_t) {
                 const ReduceInt joined =
                     join_span(s, x + at[1] * a.x_bytes, from, std::min(from + span_elements, count));
                 if (spans > 1)
                   partial[task] = joined;
                 else
                   write(a, y + at[0] * a.y_bytes, joined);
               });
             }
           });
  if (spans == 1) return;
  for (int64_t output = 0; output < a.kept.elements; ++output) {
    ReduceInt joined = partial[output * spans];
    for (int64_t i = 1; i < spans; ++i)
      s.is_signed ? join<int64_t>(a.op, joined, partial[output * spans + i])
                  : join<uint64_t>(a.op, joined, partial[output * spans + i]);
    walk_range(a.kept, output, output + 1,
               [&](const int64_t* at, int64_t) { write(a, y + at[0] * a.y_bytes, joined); });
  }
}

}  // namespace int_rows

namespace plain {

template <class W>
struct Joined {
  W value;
  int64_t index;
};

template <uint32_t op, class T, class W>
void join_piece(const T* x, int64_t step, int64_t count, int64_t first, Joined<W>& joined) {
  for (int64_t i = 0; i < count; ++i) {
    W v;
    if constexpr (std::is_integral_v<T>)
      v = reduce_map(op, W(x[i * step]));
    else
      v = reduce_map(op, W(to_float(x[i * step])));
    if constexpr (!reduce_is_index(op)) {
      joined.value = reduce_join(op, joined.value, v);
    } else if (joined.index < 0 || reduce_beats(op, v, joined.value)) {
      joined = {v, first + i};
    }
  }
}

template <class T, class W>
void join_any(uint32_t op, const T* x, int64_t step, int64_t count, int64_t first, Joined<W>& joined) {
  switch (op) {
#define RUDA_REDUCE_ROW(NAME, name, operands, result, formula, bound) \
  case RUDA_REDUCE_##NAME:                                            \
    return join_piece<RUDA_REDUCE_##NAME>(x, step, count, first, joined);
#include "core/reduce_rows.inc"
#undef RUDA_REDUCE_ROW
  }
}

// Integers wrap into the dtype of y.
template <class W>
void write(const Axes& a, std::byte* y, W value, int64_t index) {
  if constexpr (std::is_floating_point_v<W>) {
    write_float(a, y, value, index);
  } else {
    if (reduce_is_index(a.op)) value = W(index);
    if (a.y_dtype == RUDA_BOOL) value = value != W(0);
    std::memcpy(y, &value, size_t(a.y_bytes));
  }
}

template <class T, class W>
void outputs(const Launch& l) {
  const auto& a = l.state<Axes>();
  const T* x = l.ptr<const T>(RUDA_REDUCE_X);
  auto* y = l.ptr<std::byte>(RUDA_REDUCE_Y);
  const int64_t elements = a.reduced.elements, step = a.reduced.step(0);
  walk_parallel(l, a.kept, std::max<int64_t>(1, grain / std::max<int64_t>(elements, 1)),
                [&](const int64_t* at, int64_t count) {
                  for (int64_t i = 0; i < count; ++i) {
                    Joined<W> joined{reduce_start<W>(a.op), -1};
                    const T* from = x + at[1] + i * a.kept.step(1);
                    int64_t first = 0;
                    if (elements)
                      walk_range(a.reduced, 0, elements, [&](const int64_t* piece, int64_t n) {
                        join_any(a.op, from + piece[0], step, n, first, joined);
                        first += n;
                      });
                    write(a, y + (at[0] + i * a.kept.step(0)) * a.y_bytes, joined.value, joined.index);
                  }
                });
}

Verdict prepare(const Problem& p, Prepare& prep) {
  static_assert(std::endian::native == std::endian::little, "write() keeps the low bytes");
  prep.state<Axes>() = make_axes(p);
  return nullptr;
}

void run(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_REDUCE_X].dtype();
  visit(dtype == RUDA_BOOL ? uint32_t(RUDA_U8) : dtype,
        Types<double, float, f16, bf16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
              uint64_t>{},
        [&](auto t) {
          using T = decltype(t);
          if constexpr (!std::is_integral_v<T>)
            outputs<T, double>(l);
          else if constexpr (std::is_signed_v<T>)
            outputs<T, int64_t>(l);
          else
            outputs<T, uint64_t>(l);
        });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/reduce/columns", columns::prepare, columns::run},
                           {"cpu/reduce/rows", dense_rows::prepare, dense_rows::run},
                           {"cpu/reduce/int_rows", int_rows::prepare, int_rows::run},
                           {"cpu/reduce/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels reduce{list};

}  // namespace ruda::cpu
