// cuda/matmul/matmul_lt.cpp - matmul by cuBLASLt: one algorithm, picked when the plan is made.
// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt rounds the sums to a 16-bit c before it adds a bias, be it an epilogue or what c held before, and
// its GELU is an approximation. So its own epilogues serve F32 results (bias, RELU) and RELU without a bias;
// everything else takes F32 sums and one pass that adds, activates and rounds once.
#include "matmul/matmul_lt.hpp"

#include "core/error.hpp"
#include "matmul/finish.hpp"
#include "matmul/lt_product.hpp"
#include "runtime/launch.hpp"

#include <ruda/matmul.h>

namespace ruda::cuda::matmul_lt {
namespace {

struct State {
  lt::Product product;
  Finish finish;
  bool finished, sums_apart;  // a pass of our own follows; over sums in the workspace
  bool widen_bias;            // a 16-bit bias as F32 for cuBLASLt
  WorkspaceSlot workspace, sums, bias;
};

// One operand as a stack of matrices: element (i, j) of matrix p is at p * batch + i * row + j * col.
struct Stack {
  int64_t rows, cols, row, col, batch;
};

// Layout and transposition of an operand that cuBLASLt is to see as [cols, rows] by columns.
bool view_of(const Stack& s, lt::Matrix& view) {
  const bool by_rows = s.col == 1 || s.cols == 1, by_cols = s.row == 1 || s.rows == 1;
  view.batch = s.batch;
  if (by_rows && (s.rows == 1 || s.row >= s.cols)) {
    view.rows = uint64_t(s.cols), view.cols = uint64_t(s.rows);
    view.ld = s.rows == 1 ? s.cols : s.row, view.op = lt::op_none;
    return true;
  }
  if (by_cols && (s.cols == 1 || s.col >= s.rows)) {
    view.rows = uint64_t(s.rows), view.cols = uint64_t(s.cols);
    view.ld = s.cols == 1 ? s.rows : s.col, view.op = lt::op_transpose;
    return true;
  }
  return false;
}

int64_t stride_of(const Operand& x, const Operand& c, int axis) {
  const int own = axis + x.rank() - c.rank();
  return own >= 0 && x.dim(own) != 1 ? x.stride(own) : 0;
}

// Leading axes as one: false when their strides do not allow it.
bool fold_leading(const Operand& a, const Operand& b, const Operand& c, Stack* stacks, int64_t& count) {
  count = 1;
  const Operand* operands[] = {&a, &b, &c};
  for (int axis = c.rank() - 3; axis >= 0; --axis) {
    if (c.dim(axis) == 1) continue;
    for (int i = 0; i < 3; ++i) {
      const int64_t stride = stride_of(*operands[i], c, axis);
      if (count == 1) stacks[i].batch = stride;
      if (stride != stacks[i].batch * count) return false;
    }
    count *= c.dim(axis);
  }
  return true;
}

bool is_fp8(uint32_t dtype) { return dtype == RUDA_F8E4M3 || dtype == RUDA_F8E5M2; }

// FP8 products exist for rows of k only, in multiples of 16.
Verdict refuse_fp8(const lt::Matrix* views, uint32_t a, uint32_t b, const Stack& c) {
  if (a == RUDA_F8E5M2 && b == RUDA_F8E5M2) return "cuBLASLt has no product of two F8E5M2 operands";
  if (views[0].op != lt::op_none || views[1].op != lt::op_transpose)
    return "FP8 operands are not dense along k";
  if (views[0].rows % 16 || views[0].ld % 16 || views[1].ld % 16 || c.cols % 16 || c.row % 8)
    return "k, n or a stride of FP8 operands is not a multiple of 16";
  return nullptr;
}

}  // namespace

Verdict prepare(const Problem& p, Prepare& prep) {
  const auto& d = p.as<ruda_matmul_desc>();
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C],
                &bias = p[RUDA_MATMUL_BIAS];
  const bool f32 = a.dtype() == RUDA_F32, tf32 = f32 && p.math == RUDA_MATH_TF32, fp8 = is_fp8(a.dtype());
  const bool c_f32 = c.dtype() == RUDA_F32;
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_TENSOR_CORE)
    return "not of the strategy asked for";
  if (p.strategy == RUDA_STRATEGY_TENSOR_CORE && f32 && !tf32)
    return "F32 uses no tensor cores unless TF32 is allowed";
  if (fp8 && p.math == RUDA_MATH_STRICT) return "math is STRICT: sums of FP8 products are less than F32";
  if (a.dtype() != b.dtype() && !fp8) return "dtypes of a and b differ";

  const auto stack = [](const Operand& x, bool transposed) {
    const int i = transposed ? -1 : -2, j = transposed ? -2 : -1;
    return Stack{x.dim(i), x.dim(j), x.stride(i), x.stride(j), 0};
  };
  Stack stacks[] = {stack(a, d.transpose_a), stack(b, d.transpose_b), stack(c, false)};
  int64_t count = 1;
  if (c.layout->elements == 0 || stacks[0].cols == 0) return "empty";
  if (!fold_leading(a, b, c, stacks, count)) return "leading axes have no common stride";
  if (count > INT32_MAX) return "more than 2^31 - 1 products";
  // One b for all: the products are one product of more rows.
  Stack &sa = stacks[0], &sc = stacks[2];
  if (count > 1 && stacks[1].batch == 0 && sa.batch == sa.rows * sa.row && sc.batch == sc.rows * sc.row) {
    sa.rows *= count, sc.rows *= count;
    count = 1;
  }
  lt::Matrix views[3];
  for (int i = 0; i < 3; ++i)
    if (!view_of(stacks[i], views[i])) return "no axis of an operand is dense";
  if (views[2].op != lt::op_none) return "rows of c are not dense";
  if (fp8)
    if (const Verdict why = refuse_fp8(views, a.dtype(), b.dtype(), sc)) return why;

  auto& device = static_cast<CudaDevice&>(p.device());
  if (fp8 && device.capability().arch < 89) return "the GPU has no FP8 products";
  lt::Context* context = lt::context_of(device, !p.forced_kernel.empty());
  if (!context) return "libcublasLt.so.13 was not found, see ruda_backend_report";
  State& s = prep.state<State>();
  lt::Request request;
  const Operand* operands[] = {&a, &b, &c};
  for (int i = 0; i < 3; ++i)
    views[i].type = lt::type_of(operands[i]->dtype()), views[i].alignment = 1u << operands[i]->align_log2;
  const bool relu = d.activation == RUDA_ACTIVATION_RELU;
  const bool bias_inside = bias.present && c_f32 && !fp8;
  s.finished = (bias.present && !bias_inside) || (d.activation && !(relu && !fp8));
  s.sums_apart = s.finished && !c_f32;
  if (!s.finished)
    request.epilogue = relu && bias_inside ? lt::epilogue_relu | lt::epilogue_bias
                       : relu              ? lt::epilogue_relu
                       : bias_inside       ? lt::epilogue_bias
                                           : lt::epilogue_default;
  s.widen_bias = !s.finished && bias_inside && bias.dtype() != RUDA_F32;
  if (s.widen_bias) s.bias = prep.book<float>(sc.cols);
  s.finish = {.from = nullptr,
              .to = nullptr,
              .bias = nullptr,
              .bias_dtype = bias.present ? bias.dtype() : 0,
              .to_dtype = c.dtype(),
              .activation = d.activation,
              .rows = sc.rows,
              .count = count,
              .n = sc.cols,
              .from_row = views[2].ld,
              .from_batch = sc.batch,
              .to_row = views[2].ld,
              .to_batch = sc.batch};
  if (s.sums_apart) {
    s.sums = prep.book<float>(count * sc.rows * sc.cols);
    s.finish.from_row = sc.cols, s.finish.from_batch = sc.rows * sc.cols;
    views[2].type = CUDA_R_32F, views[2].ld = sc.cols, views[2].batch = sc.rows * sc.cols;
    views[2].alignment = 256;
  }
  request.a = views[0], request.b = views[1], request.c = views[2];
  request.count = count;
  request.tf32 = tf32;
  request.scales = p[RUDA_MATMUL_A_SCALE].present || p[RUDA_MATMUL_B_SCALE].present;
  request.workspace_limit = p.workspace_limit;
  std::string note;
  if (!lt::make_product(context, request, s.product, note)) return "cuBLASLt has no algorithm";
  s.workspace = prep.book<std::byte>(int64_t(s.product.workspace_bytes));
  if (s.finished) note += s.sums_apart ? ", F32 sums finished apart" : ", finished in place";
  prep.note(note);
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const cudaStream_t stream = stream_of(l);
  const auto optional = [&](uint32_t slot) {
    return l.problem[slot].present ? l.ptr<const void>(slot) : nullptr;
  };
  const void* bias = optional(RUDA_MATMUL_BIAS);
  if (s.widen_bias) {
    run_widen(bias, s.finish.bias_dtype, l.at<float>(s.bias), s.finish.n, stream);
    bias = l.at<float>(s.bias);
  }
  void* c = l.ptr<void>(RUDA_MATMUL_C);
  lt::Operands o;
  o.a = l.ptr<const void>(RUDA_MATMUL_A), o.b = l.ptr<const void>(RUDA_MATMUL_B);
  o.c = s.sums_apart ? l.at<void>(s.sums) : c;
  o.bias = static_cast<const float*>(bias);
  o.a_scale = static_cast<const float*>(optional(RUDA_MATMUL_A_SCALE));
  o.b_scale = static_cast<const float*>(optional(RUDA_MATMUL_B_SCALE));
  lt::run_product(s.product, o, s.product.workspace_bytes ? l.at<void>(s.workspace) : nullptr, stream);
  if (!s.finished) return;
  Finish f = s.finish;
  f.from = static_cast<const float*>(o.c), f.to = c, f.bias = bias;
  run_finish(f, stream);
  check_launch(l);
}

}  // namespace ruda::cuda::matmul_lt
