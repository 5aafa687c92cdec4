// src/cpu/matmul/matmul.cpp - matmul on the CPU: few rows, packed panels of several kinds, one element at a
// time.
// SPDX-License-Identifier: Apache-2.0
#include "core/convert.hpp"
#include "core/half.hpp"
#include "cpu/matmul/few_rows.hpp"
#include "cpu/matmul/gemm_driver.hpp"
#include "cpu/matmul/shape.hpp"
#include "cpu/matmul/staged.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/matmul.h>

#include <algorithm>
#include <cmath>

namespace ruda::cpu {
namespace {

int64_t type_bytes(GemmType type) { return type == gemm_f32 ? 4 : 2; }

const void* address(const Launch& l, uint32_t slot, int64_t offset, GemmType type) {
  return l.ptr<const char>(slot) + offset * type_bytes(type);
}

// The bias as floats: where it lies, or converted at the start of a run.
struct Bias {
  bool present = false;
  GemmType type = gemm_f32;
  WorkspaceSlot space;

  void prepare(const Problem& p, Prepare& prep, int64_t n) {
    const Operand& bias = p[RUDA_MATMUL_BIAS];
    present = bias.present;
    if (!present) return;
    type = gemm_type(bias.dtype());
    if (type != gemm_f32) space = prep.book<float>(n);
  }
  const float* get(const Launch& l, int64_t n) const {
    if (!present) return nullptr;
    if (type == gemm_f32) return l.ptr<const float>(RUDA_MATMUL_BIAS);
    RUDA_ISA_PICK(FewRowsKernels, few_rows_kernels)
        .widen(type, l.ptr<const void>(RUDA_MATMUL_BIAS), l.at<float>(space), n);
    return l.at<float>(space);
  }
};

const char* declined(const Problem& p) {
  if (is_fp8(p[RUDA_MATMUL_A].dtype())) return "operands are FP8";
  if (p.as<ruda_matmul_desc>().activation) return "an activation follows";
  if (p.strategy == RUDA_STRATEGY_SCALAR) return "the strategy asks for scalar";
  return p.strategy == RUDA_STRATEGY_AUTO ? nullptr : "not of the strategy asked for";
}

namespace few_rows {

struct State {
  MatmulShape shape;
  Bias bias;
  bool dots, widen_a, over_products;
  WorkspaceSlot x;  // rows of a as floats, for each part
};

Verdict prepare(const Problem& p, Prepare& prep) {
  if (const char* why = declined(p)) return why;
  const FewRowsKernels& kernels = RUDA_ISA_PICK(FewRowsKernels, few_rows_kernels);
  State& s = prep.state<State>();
  s.shape = matmul_shape(p);
  const MatmulShape& shape = s.shape;
  s.dots = shape.b.row == 1;
  if (!s.dots && shape.b.col != 1) return "b without a dense axis";
  const bool tiles = isa() >= Isa::amx && p[RUDA_MATMUL_A].dtype() == RUDA_BF16 &&
                     p[RUDA_MATMUL_B].dtype() == RUDA_BF16 && shape.k > 0;
  if (tiles && shape.m >= 8 && p.forced_kernel.empty() && !p.autotune)
    return "8 rows of BF16 or more are faster in tiles";
  if (shape.m > (s.dots ? kernels.max_rows_dots : kernels.max_rows_sums))
    return "more rows than it holds in registers";
  s.widen_a = shape.a.type != gemm_f32 || shape.a.col != 1;
  s.over_products = shape.count >= thread_count(p);
  s.bias.prepare(p, prep, shape.n);
  if (s.widen_a && p[RUDA_MATMUL_C].layout->elements)
    s.x = prep.book<float>(shape.m * shape.k * (s.over_products ? thread_count(p) : 1));
  prep.note(isa_name(isa()));
  return nullptr;
}

// Columns between two looks at the stop sign: about 1 MiB of b. Sums read k rows of b a piece, and less than
// a KiB of each would waste what the processor fetches ahead.
int64_t stop_columns(const MatmulShape& shape, bool dots, int64_t column_step) {
  const int64_t column_bytes = std::max<int64_t>(shape.k, 1) * type_bytes(shape.b.type);
  const int64_t columns = (int64_t(1) << 20) / column_bytes / column_step * column_step;
  return std::max(columns, dots ? column_step : int64_t(256));
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const MatmulShape& shape = s.shape;
  if (shape.m == 0 || shape.n == 0) return;
  const FewRowsKernels& kernels = RUDA_ISA_PICK(FewRowsKernels, few_rows_kernels);
  const float* bias = s.bias.get(l, shape.n);
  ThreadPool& pool = pool_of(l);

  const auto job_of = [&](int64_t index, int part) {
    const MatmulShape::Offsets at = shape.at(index);
    FewRows job{};
    job.rows = shape.m, job.k = shape.k;
    job.w = shape.b;
    job.w.data = address(l, RUDA_MATMUL_B, at.b, shape.b.type);
    job.y = const_cast<void*>(address(l, RUDA_MATMUL_C, at.c, shape.c.type));
    job.y_stride = shape.c.row, job.y_type = shape.c.type;
    job.bias = bias;
    job.x = static_cast<const float*>(address(l, RUDA_MATMUL_A, at.a, shape.a.type));
    job.x_stride = shape.a.row;
    if (s.widen_a) {
      float* x = l.at<float>(s.x) + part * shape.m * shape.k;
      job.x = x, job.x_stride = shape.k;
      for (int64_t row = 0; row < shape.m; ++row)
        for (int64_t i = 0; i < (shape.a.col == 1 ? 1 : shape.k); ++i)
          kernels.widen(shape.a.type,
                        address(l, RUDA_MATMUL_A, at.a + row * shape.a.row + i * shape.a.col, shape.a.type),
                        x + row * shape.k + i, shape.a.col == 1 ? shape.k : 1);
    }
    return job;
  };
  const auto kernel = s.dots ? kernels.dots : kernels.sums;
  const int64_t step = l.stop.armed() ? stop_columns(shape, s.dots, kernels.column_step) : shape.n;
  const auto columns = [&](const FewRows& job, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += step) {
      l.stop.check();
      kernel(&job, at, std::min(at + step, end));
    }
  };
  if (s.over_products) {
    // about 16 Ki products a thread at least
    const int64_t each = std::max<int64_t>(1, shape.m * shape.n * shape.k);
    pool.ranges(shape.count, std::max<int64_t>(1, 16384 / each), [&](int64_t begin, int64_t end, int part) {
      for (int64_t i = begin; i < end; ++i) {
        l.stop.check();
        const FewRows job = job_of(i, part);
        columns(job, 0, shape.n);
      }
    });
    return;
  }
  const int64_t grain =
      std::max<int64_t>(kernels.column_step, 16384 / std::max<int64_t>(1, shape.k * shape.m));
  for (int64_t i = 0; i < shape.count; ++i) {
    l.stop.check();
    const FewRows job = job_of(i, 0);
    pool.ranges(shape.n, grain, [&](int64_t begin, int64_t end, int) { columns(job, begin, end); });
  }
}

}  // namespace few_rows

namespace packed {

struct State {
  MatmulShape shape;
  GemmCut cut;
  Bias bias;
  bool over_products;  // a thread takes whole products
  int64_t space_bytes;
  WorkspaceSlot space;
};

Verdict prepare_with(const Problem& p, Prepare& prep, const GemmKernels& kernels) {
  if (const char* why = declined(p)) return why;
  State& s = prep.state<State>();
  s.shape = matmul_shape(p);
  const MatmulShape& shape = s.shape;
  if (shape.k == 0) return "k is 0";
  const int threads = thread_count(p);
  const double work = 2.0 * double(shape.m) * double(shape.n) * double(shape.k);
  s.over_products = shape.count >= 4 * threads || (shape.count >= threads && work < 2e7);
  s.cut =
      gemm_cut(kernels, shape.m, shape.n, shape.k, shape.a, shape.b, shape.c, s.over_products ? 1 : threads);
  s.bias.prepare(p, prep, shape.n);
  s.space_bytes = int64_t(s.cut.workspace_bytes());
  s.space = prep.book<std::byte>(s.space_bytes * (s.over_products ? threads : 1));
  prep.note(format("tile %dx%d, k %lld, columns %lld", kernels.tile_rows, kernels.tile_cols,
                   (long long)s.cut.k_block, (long long)s.cut.n_block));
  return nullptr;
}

Verdict prepare(const Problem& p, Prepare& prep) {
  return prepare_with(p, prep, RUDA_ISA_PICK(GemmKernels, gemm_kernels));
}

#if defined(__x86_64__)
Verdict prepare_amx(const Problem& p, Prepare& prep) {
  if (isa() < Isa::amx) return "no AMX";
  if (p[RUDA_MATMUL_A].dtype() != RUDA_BF16 || p[RUDA_MATMUL_B].dtype() != RUDA_BF16)
    return "operands are not BF16";
  return prepare_with(p, prep, amx::gemm_bf16_kernels);
}
#endif

void run(const Launch& l) {
  const State& s = l.state<State>();
  const MatmulShape& shape = s.shape;
  const float* bias = s.bias.get(l, shape.n);
  ThreadPool& pool = pool_of(l);
  const auto one = [&](int64_t index, int part, ThreadPool* threads) {
    const MatmulShape::Offsets at = shape.at(index);
    const GemmCall call{address(l, RUDA_MATMUL_A, at.a, shape.a.type),
                        address(l, RUDA_MATMUL_B, at.b, shape.b.type),
                        const_cast<void*>(address(l, RUDA_MATMUL_C, at.c, shape.c.type)), bias, &l.stop};
    gemm_run(s.cut, call, l.at<std::byte>(s.space) + part * s.space_bytes, threads);
  };
  if (s.over_products) {
    pool.ranges(shape.count, 1, [&](int64_t begin, int64_t end, int part) {
      for (int64_t i = begin; i < end; ++i) one(i, part, nullptr);
    });
  } else {
    for (int64_t i = 0; i < shape.count; ++i) one(i, 0, &pool);
  }
}

}  // namespace packed

namespace plain {

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_SCALAR)
    return "not of the strategy asked for";
  prep.state<MatmulShape>() = matmul_shape(p);
  return nullptr;
}

// FP8 codes as elements of their own types.
struct E4m3 {
  uint8_t code;
};
struct E5m2 {
  uint8_t code;
};
float to_float(E4m3 x) { return from_f8e4m3(x.code); }
float to_float(E5m2 x) { return from_f8e5m2(x.code); }
using ruda::to_float;

template <class A, class B, class C>
void product(const Launch& l, const MatmulShape& s, const MatmulShape::Offsets& at) {
  const A* a = l.ptr<const A>(RUDA_MATMUL_A) + at.a;
  const B* b = l.ptr<const B>(RUDA_MATMUL_B) + at.b;
  C* c = l.ptr<C>(RUDA_MATMUL_C) + at.c;
  const Epilogue epilogue(l);
  for (int64_t i = 0; i < s.m; ++i) {
    l.stop.check();
    for (int64_t j = 0; j < s.n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < s.k; ++k)
        sum = std::fma(to_float(a[i * s.a.row + k * s.a.col]), to_float(b[k * s.b.row + j * s.b.col]), sum);
      c[i * s.c.row + j] = from_float<C>(epilogue(sum, j));
    }
  }
}

template <class F>
void visit_operand(uint32_t dtype, F&& f) {
  if (dtype == RUDA_F8E4M3) return f(E4m3{});
  if (dtype == RUDA_F8E5M2) return f(E5m2{});
  visit(dtype, Types<float, f16, bf16>{}, f);
}

void run(const Launch& l) {
  const MatmulShape& s = l.state<MatmulShape>();
  for (int64_t i = 0; i < s.count; ++i)
    visit_operand(l.problem[RUDA_MATMUL_A].dtype(), [&](auto a) {
      visit_operand(l.problem[RUDA_MATMUL_B].dtype(), [&](auto b) {
        visit(l.problem[RUDA_MATMUL_C].dtype(), Types<float, f16, bf16>{},
              [&](auto c) { product<decltype(a), decltype(b), decltype(c)>(l, s, s.at(i)); });
      });
    });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/matmul/rows", few_rows::prepare, few_rows::run},
#if defined(__x86_64__)
                           {"cpu/matmul/amx", packed::prepare_amx, packed::run},
#endif
                           {"cpu/matmul/packed", packed::prepare, packed::run},
                           {"cpu/matmul/staged", staged::prepare, staged::run},
                           {"cpu/matmul/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels matmul{list};

}  // namespace ruda::cpu
