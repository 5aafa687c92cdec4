// src/cpu/matmul/staged.cpp - matmul with FP8 operands or an activation: bf16 copies of FP8 operands, F32
// sums.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/staged.hpp"

#include "core/convert.hpp"
#include "core/half.hpp"
#include "core/scalar_math.hpp"
#include "cpu/matmul/gemm_driver.hpp"
#include "cpu/matmul/shape.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/matmul.h>

#include <algorithm>

namespace ruda::cpu {

bool is_fp8(uint32_t dtype) { return dtype == RUDA_F8E4M3 || dtype == RUDA_F8E5M2; }

Epilogue::Epilogue(const Launch& l) {
  const Operand& bias = l.problem[RUDA_MATMUL_BIAS];
  bias_ = bias.present ? l.ptr<const void>(RUDA_MATMUL_BIAS) : nullptr;
  bias_dtype_ = bias.present ? bias.dtype() : 0;
  activation_ = l.problem.as<ruda_matmul_desc>().activation;
  scale_ = 1;
  for (const uint32_t slot : {RUDA_MATMUL_A_SCALE, RUDA_MATMUL_B_SCALE})
    if (l.problem[slot].present && l.ptr<const float>(slot)) scale_ *= *l.ptr<const float>(slot);
}

float Epilogue::operator()(float sum, int64_t j) const {
  if (scale_ != 1) sum *= scale_;
  if (bias_)
    visit(bias_dtype_, Types<float, f16, bf16>{},
          [&](auto t) { sum += to_float(static_cast<const decltype(t)*>(bias_)[j]); });
  switch (activation_) {
    case RUDA_ACTIVATION_RELU: return sum > 0 || sum != sum ? sum : 0.0f;
    case RUDA_ACTIVATION_GELU: return scalar_math::gelu(sum);
    case RUDA_ACTIVATION_GELU_TANH: return scalar_math::gelu_tanh(sum);
    case RUDA_ACTIVATION_SILU: return scalar_math::silu(sum);
    default: return sum;
  }
}

namespace staged {
namespace {

struct State {
  MatmulShape shape;
  GemmCut cut;
  bool copy_a, copy_b, in_place;  // FP8 operands are copied; an F32 c holds the sums itself
  WorkspaceSlot a, b, sums, space;
};

constexpr int64_t copy_grain = 4096;  // elements a thread converts at least

// FP8 element (i, j) at i * row + j * col to bf16, dense along j.
void narrow_copy(const Launch& l, uint32_t dtype, const uint8_t* from, int64_t rows, int64_t cols,
                 int64_t row, int64_t col, bf16* to) {
  const Conversion convert = find_conversion(dtype, RUDA_BF16);
  parallel(l, rows, std::max<int64_t>(1, copy_grain / std::max<int64_t>(cols, 1)),
           [&](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i)
               convert(reinterpret_cast<std::byte*>(to + i * cols), 2,
                       reinterpret_cast<const std::byte*>(from + i * row), col, cols);
           });
}

}  // namespace

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p.strategy == RUDA_STRATEGY_SCALAR) return "the strategy asks for scalar";
  if (p.strategy != RUDA_STRATEGY_AUTO) return "not of the strategy asked for";
  State& s = prep.state<State>();
  s.copy_a = is_fp8(p[RUDA_MATMUL_A].dtype());
  s.copy_b = is_fp8(p[RUDA_MATMUL_B].dtype());
  s.in_place = p[RUDA_MATMUL_C].dtype() == RUDA_F32;
  s.shape = matmul_shape(p);
  const MatmulShape& shape = s.shape;
  if (shape.k == 0) return "k is 0";
  if (!s.copy_a && !p.as<ruda_matmul_desc>().activation) return "neither FP8 operands nor an activation";
  if (!p[RUDA_MATMUL_C].layout->elements) {
    s.shape.count = 0;  // no work, and no memory for it
    return nullptr;
  }
  GemmMatrix a = shape.a, b = shape.b, c = shape.c;
  if (s.copy_a) a = {nullptr, shape.k, 1, gemm_bf16}, s.a = prep.book<bf16>(shape.m * shape.k);
  if (s.copy_b) b = {nullptr, 1, shape.k, gemm_bf16}, s.b = prep.book<bf16>(shape.n * shape.k);
  if (!s.in_place) c = {nullptr, shape.n, 1, gemm_f32}, s.sums = prep.book<float>(shape.m * shape.n);
  const GemmKernels* kernels = &RUDA_ISA_PICK(GemmKernels, gemm_kernels);
#if defined(__x86_64__)
  if (isa() >= Isa::amx && a.type == gemm_bf16 && b.type == gemm_bf16) kernels = &amx::gemm_bf16_kernels;
#endif
  s.cut = gemm_cut(*kernels, shape.m, shape.n, shape.k, a, b, c, thread_count(p));
  s.space = prep.book<std::byte>(int64_t(s.cut.workspace_bytes()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const MatmulShape& shape = s.shape;
  if (shape.m == 0 || shape.n == 0) return;
  ThreadPool& pool = pool_of(l);
  const Epilogue epilogue(l);
  const uint32_t c_dtype = l.problem[RUDA_MATMUL_C].dtype();
  const auto bytes = [&](uint32_t slot, int64_t offset, GemmType type) {
    return l.ptr<const char>(slot) + offset * (type == gemm_f32 ? 4 : 2);
  };
  for (int64_t index = 0; index < shape.count; ++index) {
    l.stop.check();
    const MatmulShape::Offsets at = shape.at(index);
    GemmCall call{nullptr, nullptr, nullptr, nullptr, &l.stop};
    if (s.copy_a) {
      narrow_copy(l, l.problem[RUDA_MATMUL_A].dtype(), l.ptr<const uint8_t>(RUDA_MATMUL_A) + at.a, shape.m,
                  shape.k, shape.a.row, shape.a.col, l.at<bf16>(s.a));
      call.a = l.at<void>(s.a);
    } else {
      call.a = bytes(RUDA_MATMUL_A, at.a, shape.a.type);
    }
    if (s.copy_b) {
      narrow_copy(l, l.problem[RUDA_MATMUL_B].dtype(), l.ptr<const uint8_t>(RUDA_MATMUL_B) + at.b, shape.n,
                  shape.k, shape.b.col, shape.b.row, l.at<bf16>(s.b));
      call.b = l.at<void>(s.b);
    } else {
      call.b = bytes(RUDA_MATMUL_B, at.b, shape.b.type);
    }
    char* c = l.ptr<char>(RUDA_MATMUL_C) + at.c * (s.in_place ? 4 : 2);
    call.c = s.in_place ? static_cast<void*>(c) : l.at<void>(s.sums);
    gemm_run(s.cut, call, l.at<std::byte>(s.space), &pool);

    const float* sums = static_cast<const float*>(call.c);
    const int64_t stride = s.in_place ? shape.c.row : shape.n;
    visit(c_dtype, Types<float, f16, bf16>{}, [&](auto t) {
      using T = decltype(t);
      parallel(l, shape.m, std::max<int64_t>(1, copy_grain / shape.n), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t j = 0; j < shape.n; ++j)
            reinterpret_cast<T*>(c)[i * shape.c.row + j] = from_float<T>(epilogue(sums[i * stride + j], j));
      });
    });
  }
}

}  // namespace staged
}  // namespace ruda::cpu
