// cuda/matmul/matmul_lt.cpp - matmul by cuBLASLt: one algorithm, picked when the plan is made.
// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt thinks in columns: its A is our b, its B our a, and its result [n, m] is our c [m, n] row by row.
#include "matmul/matmul_lt.hpp"

#include "core/error.hpp"
#include "runtime/cublaslt.hpp"
#include "runtime/launch.hpp"

#include <ruda/matmul.h>

namespace ruda::cuda::matmul_lt {
namespace {

constexpr uint64_t workspace_limit = 32 << 20;  // what NVIDIA advises for this architecture

struct State {
  lt::Context* context;
  lt::DescOpaque desc;
  lt::LayoutOpaque a, b, c;  // of our operands
  lt::Algo algo;
  uint64_t workspace_bytes;
  WorkspaceSlot workspace;
  bool bias;
};

// One operand as a stack of matrices: element (i, j) of matrix p is at p * batch + i * row + j * col.
struct Stack {
  int64_t rows, cols, row, col, batch;
};

// Layout and transposition of an operand that cuBLASLt is to see as [cols, rows] by columns.
struct View {
  uint64_t rows = 0, cols = 0;
  int64_t ld = 0;
  int op = lt::op_none;
};

bool view_of(const Stack& s, View& view) {
  const bool by_rows = s.col == 1 || s.cols == 1, by_cols = s.row == 1 || s.rows == 1;
  if (by_rows && (s.rows == 1 || s.row >= s.cols)) {
    view = {uint64_t(s.cols), uint64_t(s.rows), s.rows == 1 ? s.cols : s.row, lt::op_none};
    return true;
  }
  if (by_cols && (s.cols == 1 || s.col >= s.rows)) {
    view = {uint64_t(s.rows), uint64_t(s.cols), s.cols == 1 ? s.rows : s.col, lt::op_transpose};
    return true;
  }
  return false;
}

cudaDataType_t type_of(uint32_t dtype) {
  switch (dtype) {
    case RUDA_F16: return CUDA_R_16F;
    case RUDA_BF16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
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

template <class T>
void set(lt::Status (*setter)(lt::DescOpaque*, int, const void*, size_t), lt::DescOpaque& object, int what,
         const T& value) {
  lt::check(setter(&object, what, &value, sizeof value), "matmul");
}

void make_layout(lt::LayoutOpaque& layout, uint32_t dtype, const View& view, int64_t count, int64_t batch) {
  const auto& f = lt::functions();
  lt::check(
      f.MatrixLayoutInit_internal(&layout, sizeof layout, type_of(dtype), view.rows, view.cols, view.ld),
      "matmul");
  if (count == 1) return;
  const auto batches = int32_t(count);
  lt::check(f.MatrixLayoutSetAttribute(&layout, lt::layout_batch_count, &batches, sizeof batches), "matmul");
  lt::check(f.MatrixLayoutSetAttribute(&layout, lt::layout_batch_stride, &batch, sizeof batch), "matmul");
}

uint32_t alignment_of(const Operand& x) { return 1u << x.align_log2; }

}  // namespace

Verdict prepare(const Problem& p, Prepare& prep) {
  const auto& d = p.as<ruda_matmul_desc>();
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C],
                &bias = p[RUDA_MATMUL_BIAS];
  const bool f32 = a.dtype() == RUDA_F32, tf32 = f32 && p.math == RUDA_MATH_TF32;
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_TENSOR_CORE)
    return "not of the strategy asked for";
  if (p.strategy == RUDA_STRATEGY_TENSOR_CORE && f32 && !tf32)
    return "F32 uses no tensor cores unless TF32 is allowed";
  if (a.dtype() != b.dtype()) return "dtypes of a and b differ";
  if (bias.present && bias.dtype() != c.dtype()) return "dtypes of bias and c differ";

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
  View views[3];
  for (int i = 0; i < 3; ++i)
    if (!view_of(stacks[i], views[i])) return "no axis of an operand is dense";
  if (views[2].op != lt::op_none) return "rows of c are not dense";

  try {
    lt::functions();
  } catch (const Error&) {
    if (!p.forced_kernel.empty()) throw;
    return "libcublasLt.so.13 was not found, see ruda_backend_report";
  }
  const auto& f = lt::functions();
  State& s = prep.state<State>();
  s.context = static_cast<CudaDevice&>(p.device()).part<lt::Handle>().get();
  lt::check(f.MatmulDescInit_internal(&s.desc, sizeof s.desc, tf32 ? lt::compute_32f_tf32 : lt::compute_32f,
                                      CUDA_R_32F),
            "matmul");
  set(f.MatmulDescSetAttribute, s.desc, lt::desc_trans_a, int32_t(views[1].op));
  set(f.MatmulDescSetAttribute, s.desc, lt::desc_trans_b, int32_t(views[0].op));
  s.bias = bias.present;
  if (s.bias) {
    set(f.MatmulDescSetAttribute, s.desc, lt::desc_epilogue, int32_t(lt::epilogue_bias));
    set(f.MatmulDescSetAttribute, s.desc, lt::desc_bias_dtype, int32_t(type_of(bias.dtype())));
  }
  make_layout(s.a, a.dtype(), views[0], count, stacks[0].batch);
  make_layout(s.b, b.dtype(), views[1], count, stacks[1].batch);
  make_layout(s.c, c.dtype(), views[2], count, stacks[2].batch);

  lt::PreferenceOpaque preference{};
  lt::check(f.MatmulPreferenceInit_internal(&preference, sizeof preference), "matmul");
  const auto prefer = [&](int what, auto value) {
    lt::check(f.MatmulPreferenceSetAttribute(&preference, what, &value, sizeof value), "matmul");
  };
  prefer(lt::preference_workspace,
         p.workspace_limit && p.workspace_limit < workspace_limit ? p.workspace_limit : workspace_limit);
  // Partial sums stay in F32: sums in the dtype of c would round each of them.
  prefer(lt::preference_reduction_mask,
         uint32_t(lt::reduction_compute_type | (c.dtype() == RUDA_F32 ? lt::reduction_in_place : 0)));
  prefer(lt::preference_align_a, alignment_of(b));
  prefer(lt::preference_align_b, alignment_of(a));
  prefer(lt::preference_align_c, alignment_of(c));
  prefer(lt::preference_align_d, alignment_of(c));
  lt::Heuristic found{};
  int count_found = 0;
  const lt::Status status = f.MatmulAlgoGetHeuristic(s.context, &s.desc, &s.b, &s.a, &s.c, &s.c, &preference,
                                                     1, &found, &count_found);
  if (status != 0 || count_found == 0 || found.state != 0) return "cuBLASLt has no algorithm";
  s.algo = found.algo;
  s.workspace_bytes = found.workspace_bytes;
  s.workspace = prep.book<std::byte>(int64_t(found.workspace_bytes));

  const auto config = [&](int what) {
    uint32_t value = 0;
    size_t written = 0;
    f.MatmulAlgoConfigGetAttribute(&s.algo, what, &value, sizeof value, &written);
    return value;
  };
  prep.note(format("algorithm %u, tile %u, stages %u, split %u, %s", config(lt::config_id),
                   config(lt::config_tile), config(lt::config_stages), config(lt::config_splitk),
                   tf32 ? "TF32" : "F32 sums"));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const auto& f = lt::functions();
  const float one = 1, zero = 0;
  // The bias is an attribute of the description, which other threads may read: it goes into a copy.
  lt::DescOpaque with_bias;
  const lt::DescOpaque* desc = &s.desc;
  if (s.bias) {
    with_bias = s.desc;
    set(f.MatmulDescSetAttribute, with_bias, lt::desc_bias_pointer, l.ptr<const void>(RUDA_MATMUL_BIAS));
    desc = &with_bias;
  }
  void* c = l.ptr<void>(RUDA_MATMUL_C);
  lt::check(
      f.Matmul(s.context, desc, &one, l.ptr<const void>(RUDA_MATMUL_B), &s.b,
               l.ptr<const void>(RUDA_MATMUL_A), &s.a, &zero, c, &s.c, c, &s.c, &s.algo,
               s.workspace_bytes ? l.at<std::byte>(s.workspace) : nullptr, s.workspace_bytes, stream_of(l)),
      "matmul");
}

}  // namespace ruda::cuda::matmul_lt
