// src/cpu/matmul/matmul_block.cpp - matmul_block on the CPU: which arithmetic, and how threads share the
// weight rows.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/matmul_block.hpp"
#include "core/half.hpp"
#include "core/scalar_math.hpp"
#include "cpu/norm/norm_table.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/matmul.h>

#include <algorithm>
#include <cmath>

namespace ruda::cpu {
namespace {

// A plan for up to this many rows takes the integer kernel: on a Xeon with AMX, [m, 576] x Q4_1 [576, 576],
// one thread, 4 rows take 31 us so and 44 us as bf16 panels, 8 rows 62 and 45.
constexpr int64_t few_rows = 4;

struct Shape {
  Rows x, y;
  int64_t n, k, weight_row_bytes;
  int32_t type, x_bf16, y_bf16, bias_bf16;
  bool gated;
  // The product then reads rows (normalised, or without one stride) and writes sums (gated, or without one
  // stride) that are F32 and dense in the workspace.
  bool staged_x, staged_y;
  bool idle;  // y has no elements: nothing runs, and nothing is booked
  WorkspaceSlot staged_rows, sums;

  template <class T>
  WorkspaceSlot book(Prepare& prep, int64_t count) const {
    return prep.book<T>(idle ? 0 : count);
  }
};

// `copies` of the staged rows, where each thread has its own.
void read_shape(const Problem& p, Prepare& prep, Shape& s, int64_t copies = 1) {
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS],
                &bias = p[RUDA_MATMUL_BLOCK_BIAS];
  s.n = w.dim(0);
  s.k = w.dim(1);
  s.type = block_type(w.dtype());
  const BlockFormat& format = block_formats[s.type];
  s.weight_row_bytes = s.k / format.elements * format.bytes;
  const Operand& y = p[RUDA_MATMUL_BLOCK_Y];
  s.gated = p.as<ruda_matmul_block_desc>().gated != 0;
  s.idle = !y.layout->elements;
  s.staged_x = !collapse_rows(*x.layout, s.x) || p[RUDA_MATMUL_BLOCK_GAMMA].present;
  s.staged_y = !collapse_rows(*y.layout, s.y) || s.gated;
  s.x.count = s.y.count = x.outer();
  if (s.staged_x) s.x.stride = s.k;
  if (s.staged_y) s.y.stride = s.n;
  s.x_bf16 = x.dtype() == RUDA_BF16 && !s.staged_x;
  s.y_bf16 = y.dtype() == RUDA_BF16 && !s.staged_y;
  if (s.staged_x) s.staged_rows = s.book<float>(prep, copies * x.outer() * s.k);
  if (s.staged_y) s.sums = s.book<float>(prep, x.outer() * s.n);
  s.bias_bf16 = bias.present && bias.dtype() == RUDA_BF16;
}

BlockMatmul call_of(const Launch& l, const Shape& s) {
  return {l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS),
          s.weight_row_bytes,
          s.staged_x ? l.at<const void>(s.staged_rows) : l.ptr<const void>(RUDA_MATMUL_BLOCK_X),
          s.staged_y ? l.at<void>(s.sums) : l.ptr<void>(RUDA_MATMUL_BLOCK_Y),
          l.ptr<const void>(RUDA_MATMUL_BLOCK_BIAS),
          s.x.stride,
          s.y.stride,
          s.x.count,
          s.n,
          s.k,
          s.type,
          s.x_bf16,
          s.y_bf16,
          s.bias_bf16};
}

// Rows begin..end-1 of x as a call of their own.
BlockMatmul part_of(const BlockMatmul& call, int64_t begin, int64_t end) {
  BlockMatmul part = call;
  part.m = end - begin;
  part.x = static_cast<const std::byte*>(call.x) + begin * call.x_stride * (call.x_bf16 ? 2 : 4);
  part.y = static_cast<std::byte*>(call.y) + begin * call.y_stride * (call.y_bf16 ? 2 : 4);
  return part;
}

// f(begin, end, part) over 0..count-1, cut into pieces of `grain` where the call may be stopped.
template <class F>
void share(const Launch& l, int64_t count, int64_t grain, F&& f) {
  pool_of(l).ranges(count, grain, [&](int64_t begin, int64_t end, int part) {
    if (!l.stop.armed()) return f(begin, end, part);
    for (int64_t at = begin; at < end; at += grain) {
      l.stop.check();
      f(at, std::min(at + grain, end), part);
    }
  });
}

// Row m of x as floats; with gamma over its root mean square, times gamma.
void stage_row(const Launch& l, const Shape& s, int64_t m, float* to) {
  const Operand& x = l.problem[RUDA_MATMUL_BLOCK_X];
  const bool is_bf16 = x.dtype() == RUDA_BF16;
  const void* from =
      l.ptr<const std::byte>(RUDA_MATMUL_BLOCK_X) + row_offset(*x.layout, m) * (is_bf16 ? 2 : 4);
  const bool normed = l.problem[RUDA_MATMUL_BLOCK_GAMMA].present;
  if (is_bf16) {  // the kernel of rms_norm would round its result
    for (int64_t i = 0; i < s.k; ++i) to[i] = to_float(static_cast<const bf16*>(from)[i]);
    from = to;
  } else if (!normed) {
    std::copy_n(static_cast<const float*>(from), s.k, to);
  }
  if (!normed) return;
  const RmsNormRows row{from, l.ptr<const float>(RUDA_MATMUL_BLOCK_GAMMA),      to, s.k, s.k,
                        s.k,  float(l.problem.as<ruda_matmul_block_desc>().eps)};
  RUDA_ISA_PICK(NormTable, norm_table).rms_norm[0](row, 0, 1);
}

// Columns begin..end-1 of row m of y from the sums, where gated those of the gate and of its partner.
void finish_row(const Launch& l, const Shape& s, int64_t m, int64_t begin, int64_t end) {
  const Operand& y = l.problem[RUDA_MATMUL_BLOCK_Y];
  const int64_t n = s.n / 2, at = row_offset(*y.layout, m);
  const float* sums = l.at<float>(s.sums) + m * s.n;
  for (int64_t j = begin; j < end; ++j) {
    const float value = s.gated ? scalar_math::silu(sums[j]) * sums[n + j] : sums[j];
    if (y.dtype() == RUDA_BF16)
      l.ptr<bf16>(RUDA_MATMUL_BLOCK_Y)[at + j] = to_bf16(value);
    else
      l.ptr<float>(RUDA_MATMUL_BLOCK_Y)[at + j] = value;
  }
}

// What comes before and after the product of all rows.
void stage(const Launch& l, const Shape& s) {
  if (!s.staged_x) return;
  share(l, l.problem[RUDA_MATMUL_BLOCK_X].outer(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t m = begin; m < end; ++m) stage_row(l, s, m, l.at<float>(s.staged_rows) + m * s.k);
  });
}
void finish(const Launch& l, const Shape& s) {
  if (!s.staged_y) return;
  share(l, l.problem[RUDA_MATMUL_BLOCK_Y].outer(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t m = begin; m < end; ++m) finish_row(l, s, m, 0, s.gated ? s.n / 2 : s.n);
  });
}

// Weight rows that are worth a thread: 16 KiB.
int64_t weight_grain(const Shape& s) {
  const int64_t rows = 16384 / std::max<int64_t>(s.weight_row_bytes, 1);
  return std::max<int64_t>(rows / 16 * 16, 16);
}

bool strict(const Problem& p) { return p.math == RUDA_MATH_STRICT; }

constexpr const char* wants_strict = "strict arithmetic was asked for";
constexpr const char* empty_sum = "an empty sum";

// ---- few rows: 16-bit integer activations

namespace vnni {

// Up to this many elements of x each thread turns into integers for itself: that costs less than a second
// wait of all for all, and nothing comes from another core's cache.
constexpr int64_t own_elements = 8192;
constexpr int most_together = 8;

struct State {
  Shape shape;
  int64_t records;  // of a row
  int64_t copies;   // of the integers: one a thread, or one
  WorkspaceSlot activations, fits, scratch;
};

// Copies do not share a cache line.
int64_t fits_stride(const Shape& s) { return (s.x.count + 63) / 64 * 64; }

Verdict prepare(const Problem& p, Prepare& prep) {
#if defined(__x86_64__)
  State& s = prep.state<State>();
  const Operand& x = p[RUDA_MATMUL_BLOCK_X];
  s.copies = x.layout->elements <= own_elements ? thread_count(p) : 1;
  read_shape(p, prep, s.shape, s.copies);
  if (isa() < Isa::avx512bf16) return "needs AVX-512 with VNNI";
  if (strict(p)) return wants_strict;
  if (s.shape.k == 0) return empty_sum;
  if (s.shape.x.count > few_rows && p.forced_kernel.empty()) return "more than 4 rows are faster as panels";
  s.records = (s.shape.k + 127) / 128;
  s.activations = s.shape.book<BlockActivations>(prep, s.copies * s.records * s.shape.x.count);
  s.fits = s.shape.book<uint8_t>(prep, s.copies * fits_stride(s.shape));
  s.scratch = s.shape.book<float>(prep, thread_count(p) * block_strict_rows * s.shape.k);
  return nullptr;
#else
  (void)p, (void)prep;
  return "needs AVX-512 with VNNI";
#endif
}

#if defined(__x86_64__)
// One copy of x as the products read it.
struct Integers {
  const float* rows;  // instead of x, where they are staged
  BlockActivations* activations;
  uint8_t* fits;
};

Integers integers_of(const Launch& l, int64_t copy) {
  const State& s = l.state<State>();
  const int64_t rows = s.shape.x.count;
  return {l.at<float>(s.shape.staged_rows) + copy * rows * s.shape.k,
          l.at<BlockActivations>(s.activations) + copy * rows * s.records,
          l.at<uint8_t>(s.fits) + copy * fits_stride(s.shape)};
}

BlockMatmul call_with(const Launch& l, const Integers& x) {
  BlockMatmul call = call_of(l, l.state<State>().shape);
  if (l.state<State>().shape.staged_x) call.x = x.rows;
  return call;
}

// Rows begin..end-1 of x.
void convert(const Launch& l, const Integers& to, int64_t begin, int64_t end) {
  const State& s = l.state<State>();
  const BlockMatmul call = call_with(l, to);
  for (int64_t m = begin; m < end; ++m) {
    if (s.shape.staged_x) stage_row(l, s.shape, m, const_cast<float*>(to.rows) + m * s.shape.k);
    to.fits[m] = avx512bf16::block_row.quantize(call, m, to.activations + m * s.records);
  }
}

// Weight rows begin..end-1 times all rows of x.
void multiply(const Launch& l, const BlockMatmul& call, const Integers& x, int64_t begin, int64_t end,
              int part) {
  const State& s = l.state<State>();
  float* scratch = l.at<float>(s.scratch) + part * block_strict_rows * call.k;
  for (int64_t m = 0; m < call.m;) {
    int64_t rows = 1;
    if (!x.fits[m]) {
      RUDA_ISA_PICK(BlockStrictTable, block_strict).run(call, m, m + 1, begin, end, scratch);
    } else {
      while (rows < 4 && m + rows < call.m && x.fits[m + rows]) ++rows;
      avx512bf16::block_row.run(call, m, rows, x.activations + m * s.records, begin, end);
    }
    m += rows;
  }
}

// A part's share of the columns of one launch.
struct Columns {
  int64_t count, begin, end;
};
Columns columns_of(const Shape& s, int parts, int part) {
  const int64_t count = s.gated ? s.n / 2 : s.n, grain = weight_grain(s);
  return {count, ThreadPool::range_border(count, grain, parts, part),
          ThreadPool::range_border(count, grain, parts, part + 1)};
}

// Of weights, between two looks at the stop sign: less, and every piece starts its four streams anew (16 KiB
// halved the rate of a decoder), more, and a stopped call goes on for longer than 0.1 ms.
constexpr int64_t stop_bytes = 1 << 20;

void multiply_part(const Launch& l, const Integers& x, int parts, int part) {
  const Shape& s = l.state<State>().shape;
  const BlockMatmul call = call_with(l, x);
  const Columns mine = columns_of(s, parts, part);
  const int64_t all = std::max<int64_t>(mine.end - mine.begin, 1), grain = weight_grain(s);
  const int64_t step =
      l.stop.armed() ? grain * std::max<int64_t>(stop_bytes / (grain * s.weight_row_bytes), 1) : all;
  for (int64_t begin = mine.begin; begin < mine.end; begin += step) {
    const int64_t end = std::min(begin + step, mine.end);
    l.stop.check();
    multiply(l, call, x, begin, end, part);
    if (s.gated) multiply(l, call, x, mine.count + begin, mine.count + end, part);
    if (!s.staged_y) continue;
    for (int64_t m = 0; m < call.m; ++m) finish_row(l, s, m, begin, end);
  }
}

// The integers of a are those of b.
bool same_integers(const Launch& a, const Launch& b) {
  const Shape &s = a.state<State>().shape, &t = b.state<State>().shape;
  const auto eps = [](const Launch& l) { return l.problem.as<ruda_matmul_block_desc>().eps; };
  return a.ptr<void>(RUDA_MATMUL_BLOCK_X) == b.ptr<void>(RUDA_MATMUL_BLOCK_X) &&
         a.problem[RUDA_MATMUL_BLOCK_X].layout.get() == b.problem[RUDA_MATMUL_BLOCK_X].layout.get() &&
         s.type == t.type && a.ptr<void>(RUDA_MATMUL_BLOCK_GAMMA) == b.ptr<void>(RUDA_MATMUL_BLOCK_GAMMA) &&
         eps(a) == eps(b);
}

// All products in one parallel region: every part takes its share of each.
void run_some(const Launch* launches, int count) {
  int source[most_together];
  int64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const State& s = launches[i].state<State>();
    source[i] = i;
    if (s.shape.idle) continue;
    for (int j = i; j-- > 0;)
      if (!launches[j].state<State>().shape.idle && same_integers(launches[i], launches[j]))
        source[i] = source[j];
    bytes += s.shape.n * s.shape.weight_row_bytes;
    if (s.copies > 1 || source[i] != i) continue;
    const Integers to = integers_of(launches[i], 0);
    share(launches[i], s.shape.x.count, 1,
          [&](int64_t begin, int64_t end, int) { convert(launches[i], to, begin, end); });
  }
  ThreadPool& pool = pool_of(launches[0]);
  const int parts = pool.range_parts(bytes, 16384);
  pool.run(parts, [&](int part) {
    // On their way while x becomes integers.
    for (int i = 0; i < count; ++i) {
      const Shape& s = launches[i].state<State>().shape;
      if (s.idle) continue;
      const Columns mine = columns_of(s, parts, part);
      avx512bf16::block_row.prefetch(call_of(launches[i], s), mine.begin, mine.end);
    }
    for (int i = 0; i < count; ++i) {
      const Launch& l = launches[i];
      if (l.state<State>().shape.idle) continue;
      const bool own = l.state<State>().copies > 1;
      const Integers x = integers_of(launches[source[i]], own ? part : 0);
      if (own && source[i] == i) convert(l, x, 0, l.state<State>().shape.x.count);
      multiply_part(l, x, parts, part);
    }
  });
}

void run_all(const Launch* launches, int count) {
  for (int at = 0; at < count; at += most_together)
    run_some(launches + at, std::min(count - at, most_together));
}
void run(const Launch& l) { run_some(&l, 1); }
#else
void run_all(const Launch*, int) {}
void run(const Launch&) {}
#endif

}  // namespace vnni

// ---- many rows: bf16 panels

namespace panels {

struct State {
  Shape shape;
  int64_t scratch_bytes, m_parts;
  WorkspaceSlot x, scratch;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  read_shape(p, prep, s.shape);
  if (strict(p)) return wants_strict;
  if (p[RUDA_MATMUL_BLOCK_X].outer() <= few_rows) return "up to 4 rows, which are not rounded to bf16";
  if (s.shape.k == 0) return empty_sum;
  if (s.shape.weight_row_bytes > INT32_MAX / 16) return "weight rows beyond 128 MiB";
  const int64_t m = s.shape.x.count, padded = (m + 31) / 32 * 32;
  s.x = s.shape.book<uint16_t>(prep, padded * s.shape.k);
  s.scratch_bytes = (block_panel_scratch(s.shape.k) + 255) / 256 * 256;
  s.scratch = s.shape.book<uint8_t>(prep, thread_count(p) * s.scratch_bytes);
  // With more threads than panel pairs the rows of x are shared out too.
  const int64_t pairs = std::max<int64_t>((s.shape.n + 31) / 32, 1);
  s.m_parts = std::clamp<int64_t>(thread_count(p) / pairs, 1, std::max<int64_t>(padded / 32, 1));
  return nullptr;
}

void run_with(const Launch& l, const BlockPanelTable& table) {
  const State& s = l.state<State>();
  if (s.shape.idle) return;
  const BlockMatmul call = call_of(l, s.shape);
  uint16_t* x = l.at<uint16_t>(s.x);
  stage(l, s.shape);
  share(l, call.m, 32, [&](int64_t begin, int64_t end, int) { table.convert(call, begin, end, x); });
  const int64_t pairs = (call.n + 31) / 32, height = ((call.m + 31) / 32 + s.m_parts - 1) / s.m_parts * 32;
  share(l, pairs * s.m_parts, 1, [&](int64_t begin, int64_t end, int part) {
    uint8_t* scratch = l.at<uint8_t>(s.scratch) + part * s.scratch_bytes;
    while (begin < end) {
      const int64_t which = begin / pairs, first = begin % pairs, last = std::min(first + end - begin, pairs);
      const int64_t m0 = std::min(which * height, call.m), m1 = std::min(m0 + height, call.m);
      table.run(part_of(call, m0, m1), x + m0 * call.k, 32 * first, std::min(32 * last, call.n), scratch);
      begin += last - first;
    }
  });
  finish(l, s.shape);
}

}  // namespace panels

namespace amx_tiles {

Verdict prepare(const Problem& p, Prepare& prep) {
#if defined(__x86_64__)
  if (isa() >= Isa::amx) return panels::prepare(p, prep);
#else
  (void)p, (void)prep;
#endif
  return "needs AMX";
}
void run([[maybe_unused]] const Launch& l) {
#if defined(__x86_64__)
  panels::run_with(l, amx::block_panel);
#endif
}

}  // namespace amx_tiles

namespace bf16_dot {

Verdict prepare(const Problem& p, Prepare& prep) {
#if defined(__x86_64__)
  if (isa() >= Isa::avx512bf16) return panels::prepare(p, prep);
#else
  (void)p, (void)prep;
#endif
  return "needs AVX-512 with BF16";
}
void run([[maybe_unused]] const Launch& l) {
#if defined(__x86_64__)
  panels::run_with(l, avx512bf16::block_panel);
#endif
}

}  // namespace bf16_dot

// ---- strict

struct StrictState {
  Shape shape;
  WorkspaceSlot scratch;
};

namespace f32 {

Verdict prepare(const Problem& p, Prepare& prep) {
  StrictState& s = prep.state<StrictState>();
  read_shape(p, prep, s.shape);
  s.scratch = s.shape.book<float>(prep, thread_count(p) * block_strict_rows * s.shape.k);
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const StrictState& s = l.state<StrictState>();
  if (s.shape.idle) return;
  const BlockMatmul call = call_of(l, s.shape);
  const BlockStrictTable& table = RUDA_ISA_PICK(BlockStrictTable, block_strict);
  stage(l, s.shape);
  share(l, call.n, weight_grain(s.shape), [&](int64_t begin, int64_t end, int part) {
    table.run(call, 0, call.m, begin, end, l.at<float>(s.scratch) + part * block_strict_rows * call.k);
  });
  finish(l, s.shape);
}

}  // namespace f32

namespace plain {

Verdict prepare(const Problem& p, Prepare& prep) {
  StrictState& s = prep.state<StrictState>();
  read_shape(p, prep, s.shape);
  s.scratch = s.shape.book<float>(prep, block_strict_rows * s.shape.k);
  return nullptr;
}

void run(const Launch& l) {
  const StrictState& s = l.state<StrictState>();
  if (s.shape.idle) return;
  BlockMatmul call = call_of(l, s.shape);
  const Operand &x = l.problem[RUDA_MATMUL_BLOCK_X], &y = l.problem[RUDA_MATMUL_BLOCK_Y];
  const void* x0 = call.x;
  void* y0 = call.y;
  call.m = 1;
  for (int64_t m = 0; m < x.outer(); ++m) {
    l.stop.check();
    const int64_t from = s.shape.staged_x ? m * s.shape.k : row_offset(*x.layout, m);
    const int64_t to = s.shape.staged_y ? m * s.shape.n : row_offset(*y.layout, m);
    call.x = static_cast<const std::byte*>(x0) + from * (call.x_bf16 ? 2 : 4);
    call.y = static_cast<std::byte*>(y0) + to * (call.y_bf16 ? 2 : 4);
    if (s.shape.staged_x) stage_row(l, s.shape, m, l.at<float>(s.shape.staged_rows) + m * s.shape.k);
    scalar::block_strict.run(call, 0, 1, 0, call.n, l.at<float>(s.scratch));
    if (s.shape.staged_y) finish_row(l, s.shape, m, 0, s.shape.gated ? s.shape.n / 2 : s.shape.n);
  }
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/matmul_block/vnni", vnni::prepare, vnni::run, vnni::run_all},
                           {"cpu/matmul_block/amx", amx_tiles::prepare, amx_tiles::run},
                           {"cpu/matmul_block/bf16_dot", bf16_dot::prepare, bf16_dot::run},
                           {"cpu/matmul_block/f32", f32::prepare, f32::run},
                           {"cpu/matmul_block/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels matmul_block{list};

}  // namespace ruda::cpu
