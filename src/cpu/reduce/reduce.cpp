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
  bool is_signed;  // x, of integers
};

bool is_unsigned(uint32_t dtype) {
  return dtype == RUDA_U8 || dtype == RUDA_U16 || dtype == RUDA_U32 || dtype == RUDA_U64 ||
         dtype == RUDA_BOOL;
}

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
  a.is_signed = !is_unsigned(x.dtype);
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

// Integers wrap into the dtype of y.
template <class W>
void write_int(const Axes& a, std::byte* y, W value, int64_t index) {
  static_assert(std::endian::native == std::endian::little, "the low bytes are kept");
  if (reduce_is_index(a.op)) value = W(index);
  if (a.y_dtype == RUDA_BOOL) value = value != W(0);
  std::memcpy(y, &value, size_t(a.y_bytes));
}

void write(const Axes& a, std::byte* y, const ReduceValue& r) { write_float(a, y, r.value, r.index); }
void write(const Axes& a, std::byte* y, const ReduceInt& r) { write_int(a, y, r.value, r.index); }

// What no elements give.
template <class Joined>
Joined start_of(const Axes& a) {
  const int64_t index = reduce_is_index(a.op) ? -1 : 0;
  if constexpr (std::is_same_v<Joined, ReduceValue>)
    return {reduce_start<double>(a.op), index};
  else
    return {a.is_signed ? reduce_start<int64_t>(a.op) : int64_t(reduce_start<uint64_t>(a.op)), index};
}

// `b` comes after `a`. W is what the values are compared as.
template <class W, class Joined>
void join_as(uint32_t op, Joined& a, const Joined& b) {
  if (!reduce_is_index(op))
    a.value = decltype(a.value)(reduce_join(op, W(a.value), W(b.value)));
  else if (a.index < 0 || reduce_beats(op, W(b.value), W(a.value)))
    a = b;
}
void join(const Axes& a, ReduceValue& before, const ReduceValue& after) {
  join_as<double>(a.op, before, after);
}
void join(const Axes& a, ReduceInt& before, const ReduceInt& after) {
  a.is_signed ? join_as<int64_t>(a.op, before, after) : join_as<uint64_t>(a.op, before, after);
}

constexpr int f64_index = row_vector_dtypes;  // behind F32, F16 and BF16; integers follow

namespace dense_rows {

struct State {
  Axes axes;
  ReduceRow row;
  int64_t spans;  // parts of one reduction
  WorkspaceSlot partial;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int dtype = row_dtype_index(p[RUDA_REDUCE_X].dtype());
  if (dtype < 0 || dtype > f64_index) return "integers";
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  const uint32_t op = s.axes.op;
  s.row = dtype == f64_index ? RUDA_ISA_PICK(ReduceF64Table, reduce_f64_table).row[op - 1]
                             : RUDA_ISA_PICK(ReduceTable, reduce_table).row[op - 1][dtype];
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
    alignas(64) std::byte buffer[reduce_piece * sizeof(double)];
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
                      auto joined = start_of<ReduceValue>(a);
                      join_span(s, x + (at[1] + i * a.kept.step(1)) * a.x_bytes, 0, count, joined);
                      write(a, y + (at[0] + i * a.kept.step(0)) * a.y_bytes, joined);
                    }
                  });
    return;
  }
  auto* partial = l.at<ReduceValue>(s.partial);
  parallel(l, a.kept.elements * s.spans, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t output = task / s.spans, from = task % s.spans * span_elements;
      walk_range(a.kept, output, output + 1, [&](const int64_t* at, int64_t) {
        auto joined = start_of<ReduceValue>(a);
        join_span(s, x + at[1] * a.x_bytes, from, std::min(from + span_elements, count), joined);
        partial[task] = joined;
      });
    }
  });
  for (int64_t output = 0; output < a.kept.elements; ++output) {
    ReduceValue joined = partial[output * s.spans];
    for (int64_t i = 1; i < s.spans; ++i) join(a, joined, partial[output * s.spans + i]);
    walk_range(a.kept, output, output + 1,
               [&](const int64_t* at, int64_t) { write(a, y + at[0] * a.y_bytes, joined); });
  }
}

}  // namespace dense_rows

namespace columns {

enum class Values { floats, doubles, integers };

struct State {
  Axes axes;
  ReduceColumns columns;
  Values values;
  int64_t tiles, blocks;  // of the columns, of the reduced elements
  WorkspaceSlot value, index;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  const Axes& a = s.axes;
  if (a.kept.elements == 0 || a.reduced.elements == 0) return "no elements";
  if (a.reduced.step(0) == 1 && a.reduced.elements > 1) return "the reduced axis is dense";
  if (a.kept.step(1) != 1 || a.kept.cols() < 4) return "fewer than 4 columns side by side";
  const int dtype = row_dtype_index(p[RUDA_REDUCE_X].dtype());
  if (dtype < f64_index) {
    s.values = Values::floats;
    s.columns = RUDA_ISA_PICK(ReduceTable, reduce_table).columns[a.op - 1][dtype];
  } else if (dtype == f64_index) {
    s.values = Values::doubles;
    s.columns = RUDA_ISA_PICK(ReduceF64Table, reduce_f64_table).columns[a.op - 1];
  } else {
    s.values = Values::integers;
    s.columns = RUDA_ISA_PICK(ReduceIntTable, reduce_int_table).columns[a.op - 1][dtype - f64_index - 1];
  }
  s.tiles = (a.kept.cols() + reduce_columns - 1) / reduce_columns;
  s.blocks = (a.reduced.elements + reduce_rows_block - 1) / reduce_rows_block;
  if (s.blocks > 1) {
    const int64_t count = a.kept.elements * s.blocks;
    s.value = s.values == Values::floats ? prep.book<float>(count) : prep.book<int64_t>(count);
    if (reduce_is_index(a.op)) s.index = prep.book<int64_t>(count);
  }
  prep.note(std::string(reduce_rows[a.op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

// One tile of columns over one block of reduced elements. V is a value between blocks, Joined one of all.
template <class V, class Joined>
void join_block(const State& s, const std::byte* x, int64_t begin, int64_t cols, V* value, int64_t* index) {
  const Axes& a = s.axes;
  const bool is_index = reduce_is_index(a.op);
  const int64_t end = std::min<int64_t>(begin + reduce_rows_block, a.reduced.elements), start = begin;
  std::fill_n(value, cols, V(start_of<Joined>(a).value));
  walk_range(a.reduced, begin, end, [&](const int64_t* at, int64_t rows) {
    const std::byte* from = x + at[0] * a.x_bytes;
    if (!is_index || begin == start) {
      s.columns(from, a.reduced.step(0), rows, cols, begin, value, index);
    } else {
      V more[reduce_columns];
      int64_t more_index[reduce_columns];
      s.columns(from, a.reduced.step(0), rows, cols, begin, more, more_index);
      for (int64_t c = 0; c < cols; ++c) {
        Joined joined{value[c], index[c]};
        join(a, joined, {more[c], more_index[c]});
        value[c] = V(joined.value);
        index[c] = joined.index;
      }
    }
    begin += rows;
  });
}

template <class V, class Joined>
void run_as(const Launch& l) {
  const State& s = l.state<State>();
  const Axes& a = s.axes;
  const auto* x = l.ptr<const std::byte>(RUDA_REDUCE_X);
  auto* y = l.ptr<std::byte>(RUDA_REDUCE_Y);
  const int64_t all_cols = a.kept.cols(), outer = a.kept.elements / all_cols;
  const bool is_index = reduce_is_index(a.op);
  const int64_t task_elements =
      std::min<int64_t>(a.reduced.elements, reduce_rows_block) * std::min<int64_t>(all_cols, reduce_columns);
  V* values = l.at<V>(s.value);
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
            V own_value[reduce_columns];
            int64_t own_index[reduce_columns];
            const int64_t place = (o * s.blocks + block) * all_cols + t * reduce_columns;
            V* value = s.blocks > 1 ? values + place : own_value;
            int64_t* index = s.blocks > 1 && is_index ? indices + place : own_index;
            join_block<V, Joined>(s, x + at[1] * a.x_bytes, block * reduce_rows_block, cols, value, index);
            if (s.blocks > 1) return;
            for (int64_t c = 0; c < cols; ++c)
              write(a, y + (at[0] + c * a.kept.step(0)) * a.y_bytes,
                    Joined{value[c], is_index ? index[c] : 0});
          });
        }
      });
  if (s.blocks == 1) return;
  parallel(l, outer * s.tiles, std::max<int64_t>(1, grain / (s.blocks * reduce_columns)),
           [&](int64_t begin, int64_t end) {
             for (int64_t task = begin; task < end; ++task) {
               const int64_t t = task % s.tiles, o = task / s.tiles;
               tile_of(o, t, [&](const int64_t* at, int64_t cols) {
                 Joined joined[reduce_columns];
                 std::fill_n(joined, cols, start_of<Joined>(a));
                 for (int64_t block = 0; block < s.blocks; ++block) {
                   const int64_t place = (o * s.blocks + block) * all_cols + t * reduce_columns;
                   for (int64_t c = 0; c < cols; ++c)
                     join(a, joined[c], {values[place + c], is_index ? indices[place + c] : 0});
                 }
                 for (int64_t c = 0; c < cols; ++c)
                   write(a, y + (at[0] + c * a.kept.step(0)) * a.y_bytes, joined[c]);
               });
             }
           });
}

void run(const Launch& l) {
  switch (l.state<State>().values) {
    case Values::floats: return run_as<float, ReduceValue>(l);
    case Values::doubles: return run_as<double, ReduceValue>(l);
    case Values::integers: return run_as<int64_t, ReduceInt>(l);
  }
}

}  // namespace columns

namespace int_rows {

struct State {
  Axes axes;
  ReduceIntRow row;
  int64_t spans;  // parts of one reduction
  WorkspaceSlot partial;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const int index = row_dtype_index(p[RUDA_REDUCE_X].dtype()) - (f64_index + 1);
  if (index < 0) return "floats";
  State& s = prep.state<State>();
  s.axes = make_axes(p);
  if (s.axes.reduced.elements > 1 && s.axes.reduced.step(0) != 1) return "the reduced axis has gaps";
  s.row = RUDA_ISA_PICK(ReduceIntTable, reduce_int_table).row[s.axes.op - 1][index];
  s.spans = (s.axes.reduced.elements + span_elements - 1) / span_elements;
  if (s.spans > 1) s.partial = prep.book<ReduceInt>(s.axes.kept.elements * s.spans);
  prep.note(std::string(reduce_rows[s.axes.op - 1].name) + ", " + isa_name(isa()));
  return nullptr;
}

ReduceInt join_span(const State& s, const std::byte* x, int64_t begin, int64_t end) {
  auto joined = start_of<ReduceInt>(s.axes);
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
    for (int64_t i = 1; i < spans; ++i) join(a, joined, partial[output * spans + i]);
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
                    std::byte* to = y + (at[0] + i * a.kept.step(0)) * a.y_bytes;
                    if constexpr (std::is_floating_point_v<W>)
                      write_float(a, to, joined.value, joined.index);
                    else
                      write_int(a, to, joined.value, joined.index);
                  }
                });
}

Verdict prepare(const Problem& p, Prepare& prep) {
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
