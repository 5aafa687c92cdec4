// cuda/matmul/matmul_block.cu - matmul_block on the GPU: candidates from one row of x to many.
// SPDX-License-Identifier: Apache-2.0
#include "core/scalar_math.hpp"
#include "device/block_decode.cuh"
#include "device/dependent.cuh"
#include "device/reduce.cuh"
#include "elementwise/strided.cuh"
#include "matmul/block_kernels.hpp"
#include "matmul/finish.hpp"
#include "matmul/lt_product.hpp"
#include "tune/matmul.hpp"

#include <ruda/matmul.h>

#include <cuda_bf16.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

bool bf16(const Operand& x) { return x.present && x.dtype() == RUDA_BF16; }

int64_t row_bytes_of(const Operand& w) { return w.dim(0) ? int64_t(w.layout->packed_bytes()) / w.dim(0) : 0; }

// Element offsets of row i along the outer axes.
int64_t row_offset(const Operand& x, int64_t i) {
  int64_t at = 0;
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    at += i % x.dim(axis) * x.stride(axis);
    i /= x.dim(axis);
  }
  return at;
}

// The outer axes as one, when a single stride walks them.
bool one_stride(const Operand& x, int64_t& stride) {
  int64_t rows = 1;
  stride = x.dim(-1);
  for (int axis = x.rank() - 2; axis >= 0; --axis) {
    if (x.dim(axis) == 1) continue;
    if (rows == 1) stride = x.stride(axis);
    if (x.stride(axis) != stride * rows) return false;
    rows *= x.dim(axis);
  }
  return true;
}

const ruda_matmul_block_desc& desc_of(const Problem& p) { return p.as<ruda_matmul_block_desc>(); }
bool normed(const Problem& p) { return p[RUDA_MATMUL_BLOCK_GAMMA].present; }
bool gated(const Problem& p) { return desc_of(p).gated != 0; }

const float* gamma_of(const Launch& l) {
  return normed(l.problem) ? l.ptr<const float>(RUDA_MATMUL_BLOCK_GAMMA) : nullptr;
}

const void* bias_of(const Launch& l) {
  return l.problem[RUDA_MATMUL_BLOCK_BIAS].present ? l.ptr<const void>(RUDA_MATMUL_BLOCK_BIAS) : nullptr;
}

// Common to the fast kernels: something to do, blocks at addresses that their loads take.
Verdict refuse(const Problem& p) {
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS];
  if (w.dim(0) == 0 || x.outer() == 0 || w.dim(1) == 0) return "empty";
  if (w.align_log2 < 2) return "weights are not aligned to 4 bytes";
  if (w.dim(1) > (int64_t(1) << 30)) return "k is above 2^30";
  return nullptr;
}

// ---- up to four rows of x ----

Verdict prepare_gemv(const Problem& p, Prepare& prep) {
  if (const Verdict why = refuse(p)) return why;
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS], &y = p[RUDA_MATMUL_BLOCK_Y];
  const int64_t rows = x.outer();
  if (rows > 4) return "more than 4 rows";
  if (x.align_log2 < (bf16(x) ? 3 : 4)) return "x is not aligned to four elements";
  if (normed(p) && p[RUDA_MATMUL_BLOCK_GAMMA].align_log2 < 4) return "gamma is not aligned to four elements";
  auto& s = prep.state<block::Gemv>();
  s.rows = int(rows);
  s.n = y.dim(-1);
  s.gated = gated(p);
  s.eps = float(desc_of(p).eps);
  s.units = int(w.dim(1) / 8);
  s.row_bytes = row_bytes_of(w);
  for (int i = 0; i < 4; ++i) {
    s.x_at[i] = row_offset(x, std::min<int64_t>(i, rows - 1));
    s.y_at[i] = row_offset(y, std::min<int64_t>(i, rows - 1));
    if (s.x_at[i] % 4) return "a row of x is not aligned to four elements";
  }
  s.x_bf16 = bf16(x), s.y_bf16 = bf16(y), s.bias_bf16 = bf16(p[RUDA_MATMUL_BLOCK_BIAS]);
  const tune::Gemv choice = tune::block_gemv(capability_of(p), rows, w.dim(0), w.dim(1));
  s.splits = choice.splits;
  s.early = capability_of(p).code_arch >= dependent_arch;
  s.rows_per_warp = s.gated ? std::max(choice.columns, 2) : choice.columns;
  if (w.dim(0) / s.rows_per_warp > INT32_MAX / 2) return "n is above 2^30";
  if (rows == 1 && !s.gated && choice.columns == block::wide_columns &&
      s.units <= 32 * block::wide_steps(w.dtype())) {
    s.wide_blocks = tune::block_wide(capability_of(p), s.n, block::gemv_warps * block::wide_columns,
                                     block::wide_resident);
    prep.note(format("%d blocks of warps that go over four rows of weights at a time", s.wide_blocks));
    return nullptr;
  }
  prep.note(format("%d rows of weights a warp, k over %d warps", s.rows_per_warp, s.splits));
  return nullptr;
}

void run_gemv(const Launch& l) {
  block::Gemv s = l.state<block::Gemv>();
  s.x = l.ptr<const void>(RUDA_MATMUL_BLOCK_X);
  s.weights = l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS);
  s.bias = bias_of(l);
  s.gamma = gamma_of(l);
  s.y = l.ptr<void>(RUDA_MATMUL_BLOCK_Y);
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(),
              [&](auto tag) { block::run_gemv<decltype(tag)::dtype>(s, stream_of(l)); });
  check_launch(l);
}

// ---- more rows: x as bf16 ----

// x itself where it is bf16, else, or where a norm comes before the product, a rounded copy in the workspace.
struct Narrowed {
  int64_t rows, k, stride;
  bool copy;
  WorkspaceSlot slot;
};

Verdict check_rows(const Problem& p, int align, Narrowed& s) {
  const Operand& x = p[RUDA_MATMUL_BLOCK_X];
  s.rows = x.outer();
  s.k = x.dim(-1);
  if (!one_stride(x, s.stride)) return "rows of x have no common stride";
  s.copy = !bf16(x) || normed(p);
  if (s.rows > INT32_MAX) return "more than 2^31 - 1 rows";
  const int64_t elements = s.copy ? 4 : int64_t(1) << (align - 1);
  if (x.align_log2 < (s.copy ? 4 : align)) return "x is not aligned to its vectors";
  if (s.rows > 1 && s.stride % elements) return "a row of x is not aligned to its vectors";
  if (s.rows > 1 && s.stride < s.k) return "rows of x overlap";
  return nullptr;
}

Verdict narrow(const Problem& p, Prepare& prep, int align, Narrowed& s) {
  if (const Verdict why = check_rows(p, align, s)) return why;
  if (s.copy) s.slot = prep.book<__nv_bfloat16>(s.rows * s.k);
  return nullptr;
}

const void* narrowed(const Launch& l, const Narrowed& s) {
  if (!s.copy) return l.ptr<const void>(RUDA_MATMUL_BLOCK_X);
  void* to = l.at<void>(s.slot);
  if (normed(l.problem)) {
    block::run_norm({.x = l.ptr<const void>(RUDA_MATMUL_BLOCK_X),
                     .gamma = gamma_of(l),
                     .to = to,
                     .eps = float(desc_of(l.problem).eps),
                     .x_bf16 = bf16(l.problem[RUDA_MATMUL_BLOCK_X]),
                     .rows = s.rows,
                     .k = s.k,
                     .x_stride = s.stride},
                    stream_of(l));
    return to;
  }
  run_narrow(l.ptr<const float>(RUDA_MATMUL_BLOCK_X), s.stride, to, s.rows, s.k, stream_of(l));
  return to;
}

// Sums [rows, 2 n] in the workspace where the product is gated; `stride` is that of y.
struct Gated {
  bool on;
  int64_t stride;
  WorkspaceSlot sums;
};

void plan_gate(const Problem& p, Prepare& prep, int64_t y_stride, Gated& s) {
  s.on = gated(p);
  s.stride = y_stride;
  if (s.on) s.sums = prep.book<float>(p[RUDA_MATMUL_BLOCK_X].outer() * p[RUDA_MATMUL_BLOCK_WEIGHTS].dim(0));
}

void finish_gate(const Launch& l, const Gated& s) {
  if (!s.on) return;
  const Operand& y = l.problem[RUDA_MATMUL_BLOCK_Y];
  block::run_gate({.sums = l.at<float>(s.sums),
                   .y = l.ptr<void>(RUDA_MATMUL_BLOCK_Y),
                   .y_bf16 = bf16(y),
                   .rows = y.outer(),
                   .n = y.dim(-1),
                   .y_stride = s.stride},
                  stream_of(l));
}

struct StagedState {
  block::Staged staged;
  Narrowed x;  // copied where a norm comes first
  Gated gate;
  WorkspaceSlot arranged;
};

Verdict prepare_staged(const Problem& p, Prepare& prep) {
  if (const Verdict why = refuse(p)) return why;
  if (p.math == RUDA_MATH_STRICT) return "math is STRICT";
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS], &y = p[RUDA_MATMUL_BLOCK_Y];
  if (x.outer() <= 4) return "up to 4 rows";
  if (w.align_log2 < 4) return "weights are not aligned to 16 bytes";
  if (p.forced_kernel.empty() && tune::block_tall(w.dim(0)))
    return "so many rows of weights fill a GPU as they are";
  if (capability_of(p).code_arch < 80) return "the GPU has no copies beside the computation";
  StagedState& s = prep.state<StagedState>();
  Narrowed& rows = s.x;
  if (const Verdict why = check_rows(p, 3, rows)) return why;
  rows.copy = normed(p);
  if (rows.copy) rows.slot = prep.book<__nv_bfloat16>(rows.rows * rows.k);
  block::Staged& t = s.staged;
  t.rows = rows.rows;
  t.n = w.dim(0);
  t.steps = int(rows.k / 32);
  t.row_bytes = row_bytes_of(w);
  t.x_stride = rows.copy ? rows.k : rows.stride;
  if (!one_stride(y, t.y_stride)) return "rows of y have no common stride";
  plan_gate(p, prep, t.y_stride, s.gate);
  if (s.gate.on) t.y_stride = t.n;
  t.x_bf16 = rows.copy || bf16(x), t.y_bf16 = bf16(y) && !s.gate.on,
  t.bias_bf16 = bf16(p[RUDA_MATMUL_BLOCK_BIAS]);
  t.early = capability_of(p).code_arch >= dependent_arch;
  t.columns = t.rows <= 8 ? 1 : t.rows <= 16 ? 2 : t.rows <= 32 ? 4 : 8;
  const DeviceScope scope(p.device());
  Verdict why = nullptr;
  visit_block(w.dtype(), [&](auto tag) {
    constexpr uint32_t dtype = decltype(tag)::dtype;
    const block::StagedShape shape = block::staged_shape<dtype>();
    const int64_t chunks = (rows.k + shape.chunk - 1) / shape.chunk;
    const tune::BlockStaged choice = tune::block_staged(capability_of(p), t.rows, t.n, chunks);
    t.tile = choice.tile, t.warps = choice.warps;
    t.slots =
        int(std::min<int64_t>(block::staged_slots(shape.chunk, t.tile), (chunks + t.warps - 1) / t.warps));
    if ((t.n / t.tile + 1) * (t.rows / (8 * t.columns) + 1) > INT32_MAX)
      why = "more tiles than a grid holds";
    else if (block::staged_bytes(shape, t) > capability_of(p).shared_bytes_per_block)
      why = "too little shared memory";
    else
      check_cuda(block::allow_staged<dtype>(t, capability_of(p).shared_bytes_per_block), "matmul_block");
  });
  if (why) return why;
  s.arranged = prep.book<__nv_bfloat16>((t.rows + 7) / 8 * 8 * rows.k);
  prep.note(format("tiles of %d weight rows, k over %d warps", t.tile, t.warps));
  return nullptr;
}

void run_staged(const Launch& l) {
  const StagedState& s = l.state<StagedState>();
  block::Staged t = s.staged;
  t.x = narrowed(l, s.x);
  t.arranged = l.at<void>(s.arranged);
  t.weights = l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS);
  t.bias = bias_of(l);
  t.y = s.gate.on ? l.at<void>(s.gate.sums) : l.ptr<void>(RUDA_MATMUL_BLOCK_Y);
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(),
              [&](auto tag) { block::run_staged<decltype(tag)::dtype>(t, stream_of(l)); });
  finish_gate(l, s.gate);
  check_launch(l);
}

struct TilesState {
  block::Tiles tiles;
  Narrowed x;
  Gated gate;
};

Verdict prepare_mma(const Problem& p, Prepare& prep) {
  if (const Verdict why = refuse(p)) return why;
  if (p.math == RUDA_MATH_STRICT) return "math is STRICT";
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS], &y = p[RUDA_MATMUL_BLOCK_Y];
  if (x.outer() <= 4) return "up to 4 rows";
  TilesState& s = prep.state<TilesState>();
  block::Tiles& t = s.tiles;
  t.rows = x.outer();
  t.n = w.dim(0);
  t.units = int(w.dim(1) / 8);
  t.row_bytes = row_bytes_of(w);
  if (!one_stride(y, t.y_stride)) return "rows of y have no common stride";
  if ((t.rows + 63) / 64 > 65535) return "more than 65535 groups of rows";
  if (t.n > (int64_t(1) << 34)) return "n is above 2^34";
  if (const Verdict why = narrow(p, prep, 3, s.x)) return why;
  t.x_stride = s.x.copy ? s.x.k : s.x.stride;
  plan_gate(p, prep, t.y_stride, s.gate);
  if (s.gate.on) t.y_stride = t.n;
  t.y_bf16 = bf16(y) && !s.gate.on, t.bias_bf16 = bf16(p[RUDA_MATMUL_BLOCK_BIAS]);
  t.tile = tune::block_tile(capability_of(p), t.rows, t.n);
  prep.note(format("tiles of %d weight rows", t.tile));
  return nullptr;
}

void run_mma(const Launch& l) {
  const TilesState& s = l.state<TilesState>();
  block::Tiles t = s.tiles;
  t.x = narrowed(l, s.x);
  t.weights = l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS);
  t.bias = bias_of(l);
  t.y = s.gate.on ? l.at<void>(s.gate.sums) : l.ptr<void>(RUDA_MATMUL_BLOCK_Y);
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(),
              [&](auto tag) { block::run_tiles<decltype(tag)::dtype>(t, stream_of(l)); });
  finish_gate(l, s.gate);
  check_launch(l);
}

// ---- many rows: all weights as bf16, then cuBLASLt ----

struct GemmState {
  Narrowed x;
  lt::Product product;
  Finish finish;
  Gated gate;
  bool finished;  // bias and rounding by a pass of their own
  bool early;     // see GemmOperands
  WorkspaceSlot weights, sums, workspace;
  int64_t n, row_bytes;
};

Verdict prepare_gemm(const Problem& p, Prepare& prep) {
  if (const Verdict why = refuse(p)) return why;
  if (p.math == RUDA_MATH_STRICT) return "math is STRICT";
  const Operand &x = p[RUDA_MATMUL_BLOCK_X], &w = p[RUDA_MATMUL_BLOCK_WEIGHTS], &y = p[RUDA_MATMUL_BLOCK_Y];
  const Operand& bias = p[RUDA_MATMUL_BLOCK_BIAS];
  if (x.outer() <= 4) return "up to 4 rows";
  if (p.forced_kernel.empty()) {
    if (x.outer() < tune::block_gemm_rows_tall) return "up to 16 rows";
    if (!tune::block_tall(w.dim(0)) && x.outer() <= 64) return "up to 64 rows";
    if (!tune::block_tall(w.dim(0)) && x.outer() < tune::block_gemm_rows && w.align_log2 >= 4)
      return "up to 128 rows";
  }
  auto& device = static_cast<CudaDevice&>(p.device());
  lt::Context* context = lt::context_of(device, !p.forced_kernel.empty());
  if (!context) return "libcublasLt.so.13 was not found, see ruda_backend_report";
  GemmState& s = prep.state<GemmState>();
  s.n = w.dim(0);
  s.row_bytes = row_bytes_of(w);
  int64_t y_stride = 0;
  if (!one_stride(y, y_stride) || y_stride < y.dim(-1)) return "rows of y have no common stride";
  if (const Verdict why = narrow(p, prep, 4, s.x)) return why;
  s.weights = prep.book<__nv_bfloat16>(s.n * s.x.k);
  s.early = capability_of(p).code_arch >= dependent_arch;
  s.finished = bias.present && (bf16(y) || bf16(bias));
  plan_gate(p, prep, y_stride, s.gate);
  lt::Request request;
  request.a = {
      uint64_t(s.x.k), uint64_t(s.x.rows), s.x.copy ? s.x.k : s.x.stride, 0, lt::op_none, CUDA_R_16BF, 16};
  request.b = {uint64_t(s.x.k), uint64_t(s.n), s.x.k, 0, lt::op_transpose, CUDA_R_16BF, 16};
  request.c = {uint64_t(s.n), uint64_t(s.x.rows),     y_stride,          0,
               lt::op_none,   lt::type_of(y.dtype()), 1u << y.align_log2};
  if (s.finished) {
    s.finish = {.from = nullptr,
                .to = nullptr,
                .bias = nullptr,
                .bias_dtype = bias.dtype(),
                .to_dtype = y.dtype(),
                .activation = RUDA_ACTIVATION_NONE,
                .rows = s.x.rows,
                .count = 1,
                .n = s.n,
                .from_row = s.n,
                .from_batch = 0,
                .to_row = y_stride,
                .to_batch = 0};
    s.sums = prep.book<float>(s.x.rows * s.n);
    request.c.type = CUDA_R_32F, request.c.ld = s.n, request.c.alignment = 256;
  } else if (s.gate.on) {
    request.c.type = CUDA_R_32F, request.c.ld = s.n, request.c.alignment = 256;
  } else if (bias.present) {
    request.epilogue = lt::epilogue_bias;
  }
  request.workspace_limit = p.workspace_limit;
  std::string note;
  if (!lt::make_product(context, request, s.product, note)) return "cuBLASLt has no algorithm";
  s.workspace = prep.book<std::byte>(int64_t(s.product.workspace_bytes));
  prep.note(note);
  return nullptr;
}

void run_gemm(const Launch& l) {
  const GemmState& s = l.state<GemmState>();
  const cudaStream_t stream = stream_of(l);
  // A norm is a kernel of its own; else x is rounded beside the weights.
  const bool beside = s.x.copy && !normed(l.problem);
  void* weights = l.at<void>(s.weights);
  const block::GemmOperands operands{.weights = l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS),
                                     .decoded = weights,
                                     .x = beside ? l.ptr<const float>(RUDA_MATMUL_BLOCK_X) : nullptr,
                                     .narrowed = beside ? l.at<void>(s.x.slot) : nullptr,
                                     .early = s.early,
                                     .units = int(s.x.k / 8),
                                     .n = s.n,
                                     .row_bytes = s.row_bytes,
                                     .rows = s.x.rows,
                                     .x_stride = s.x.stride,
                                     .decode_blocks = 0};
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(),
              [&](auto tag) { block::run_operands<decltype(tag)::dtype>(operands, stream); });
  const void* x = beside ? operands.narrowed : narrowed(l, s.x);
  void* y = l.ptr<void>(RUDA_MATMUL_BLOCK_Y);
  lt::Operands o{x, weights, s.finished ? l.at<void>(s.sums) : s.gate.on ? l.at<void>(s.gate.sums) : y};
  if (!s.finished) o.bias = static_cast<const float*>(bias_of(l));
  lt::run_product(s.product, o, s.product.workspace_bytes ? l.at<void>(s.workspace) : nullptr, stream);
  if (s.finished) {
    Finish f = s.finish;
    f.from = l.at<float>(s.sums), f.to = y, f.bias = bias_of(l);
    run_finish(f, stream);
  }
  finish_gate(l, s.gate);
  check_launch(l);
}

// ---- everything else: one warp an element ----

constexpr int warps = 8;

struct State {
  Strided<2> rows;  // y, x
  int64_t n, k, weight_row_bytes;
  const float* gamma;
  float eps;
  bool gated;
};

template <uint32_t Dtype, class X, class Y>
__global__ void __launch_bounds__(32 * warps)
    matmul_block_warps(const X* x, const uint8_t* weights, const void* bias, bool bias_bf16, Y* y, State s) {
  const int lane = threadIdx.x % 32;
  const int64_t step = int64_t(gridDim.x) * warps;
  for (int64_t at = int64_t(blockIdx.x) * warps + threadIdx.x / 32; at < s.rows.elements * s.n; at += step) {
    const int64_t row = at / s.n, col = at % s.n;
    int64_t offsets[2];
    strided_offsets(s.rows, row, offsets);
    const X* from = x + offsets[1];
    const uint8_t* w = weights + col * s.weight_row_bytes;
    const uint8_t* partner = w + (s.gated ? s.n * s.weight_row_bytes : 0);
    float sum = 0, partner_sum = 0, squares = 0;
    for (int64_t i = lane; i < s.k; i += 32) {
      auto v = float(from[i]);
      squares = fmaf(v, v, squares);
      if (s.gamma) v *= s.gamma[i];
      sum = fmaf(v, block_value<Dtype>(w, i), sum);
      if (s.gated) partner_sum = fmaf(v, block_value<Dtype>(partner, i), partner_sum);
    }
    sum = warp_sum(sum);
    if (s.gamma) {
      const float scale = 1.0f / sqrtf(warp_sum(squares) / float(s.k) + s.eps);
      sum *= scale;
      partner_sum *= scale;
    }
    if (s.gated) sum = scalar_math::silu(sum) * warp_sum(partner_sum);
    if (lane) continue;
    if (bias)
      sum += bias_bf16 ? float(static_cast<const __nv_bfloat16*>(bias)[col])
                       : static_cast<const float*>(bias)[col];
    y[offsets[0] + col] = Y(sum);
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& w = p[RUDA_MATMUL_BLOCK_WEIGHTS];
  State& s = prep.state<State>();
  s.rows = make_strided_rows<2>({p[RUDA_MATMUL_BLOCK_Y].layout.get(), p[RUDA_MATMUL_BLOCK_X].layout.get()});
  s.n = p[RUDA_MATMUL_BLOCK_Y].dim(-1);
  s.k = w.dim(1);
  s.weight_row_bytes = row_bytes_of(w);
  s.eps = float(desc_of(p).eps);
  s.gated = gated(p);
  return nullptr;
}

template <class X, class Y>
void launch(const Launch& l) {
  State s = l.state<State>();
  s.gamma = gamma_of(l);
  const int64_t elements = s.rows.elements * s.n;
  if (elements == 0) return;
  const auto blocks = unsigned(std::min<int64_t>((elements + warps - 1) / warps, 1 << 20));
  visit_block(l.problem[RUDA_MATMUL_BLOCK_WEIGHTS].dtype(), [&](auto tag) {
    matmul_block_warps<decltype(tag)::dtype, X, Y><<<blocks, 32 * warps, 0, stream_of(l)>>>(
        l.ptr<const X>(RUDA_MATMUL_BLOCK_X), l.ptr<const uint8_t>(RUDA_MATMUL_BLOCK_WEIGHTS), bias_of(l),
        bf16(l.problem[RUDA_MATMUL_BLOCK_BIAS]), l.ptr<Y>(RUDA_MATMUL_BLOCK_Y), s);
  });
  check_launch(l);
}

void run(const Launch& l) {
  const bool x = bf16(l.problem[RUDA_MATMUL_BLOCK_X]), y = bf16(l.problem[RUDA_MATMUL_BLOCK_Y]);
  if (x && y) return launch<__nv_bfloat16, __nv_bfloat16>(l);
  if (x) return launch<__nv_bfloat16, float>(l);
  if (y) return launch<float, __nv_bfloat16>(l);
  launch<float, float>(l);
}

constexpr Kernel list[] = {{"cuda/matmul_block/gemv", prepare_gemv, run_gemv},
                           {"cuda/matmul_block/gemm", prepare_gemm, run_gemm},
                           {"cuda/matmul_block/staged_mma", prepare_staged, run_staged},
                           {"cuda/matmul_block/mma", prepare_mma, run_mma},
                           {"cuda/matmul_block/simt", prepare, run}};

}  // namespace

extern constinit const Kernels matmul_block{list};

}  // namespace ruda::cuda
