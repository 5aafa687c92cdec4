// src/cpu/position/rope.cpp - rope on the CPU: tokens on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.hpp"
#include "cpu/position/rope_tokens.hpp"
#include "cpu/position/rotation.hpp"
#include "cpu/runtime/device.hpp"

namespace ruda::cpu {
namespace {

constexpr int64_t grain_elements = 16384;  // below this a second thread costs more than it brings

namespace vector_tokens {

struct State {
  RopeTokens tokens;
  int64_t count, grain;
  int dtype_index;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &x = p[RUDA_ROPE_X], &y = p[RUDA_ROPE_Y];
  const RopeConstants& c = rope_constants_of<ruda_rope_desc>(p.options);
  State& s = prep.state<State>();
  s.tokens = rope_tokens_of(c, p[RUDA_ROPE_FREQUENCIES].present, x);
  s.tokens.y_token = y.stride(0);
  s.tokens.y_head = y.stride(1);
  s.tokens.wide_positions = p[RUDA_ROPE_POSITIONS].dtype() == RUDA_I64;
  s.count = x.layout->elements ? x.dim(0) : 0;
  const int64_t token_elements = x.dim(1) * x.dim(2);
  s.grain = token_elements >= grain_elements || !token_elements ? 1 : grain_elements / token_elements;
  s.dtype_index = row_dtype_index(x.dtype());
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  RopeTokens tokens = s.tokens;
  tokens.x = l.ptr<const void>(RUDA_ROPE_X);
  tokens.y = l.ptr<void>(RUDA_ROPE_Y);
  tokens.positions = l.ptr<const void>(RUDA_ROPE_POSITIONS);
  tokens.frequencies_f32 = l.ptr<const float>(RUDA_ROPE_FREQUENCIES);
  const auto kernel = RUDA_ISA_PICK(PositionTable, position_table).rope[s.dtype_index];
  parallel(l, s.count, s.grain, [&](int64_t begin, int64_t end) { kernel(tokens, begin, end); });
}

}  // namespace vector_tokens

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

template <class T>
void tokens(const Launch& l) {
  const Operand &x = l.problem[RUDA_ROPE_X], &y = l.problem[RUDA_ROPE_Y];
  const bool wide = l.problem[RUDA_ROPE_POSITIONS].dtype() == RUDA_I64;
  for (int64_t t = 0; t < x.dim(0); ++t) {
    l.stop.check();
    const double position = wide ? double(l.ptr<const int64_t>(RUDA_ROPE_POSITIONS)[t])
                                 : double(l.ptr<const int32_t>(RUDA_ROPE_POSITIONS)[t]);
    const Rotation<T> rotation{rope_constants_of<ruda_rope_desc>(l.problem.options),
                               l.ptr<const float>(RUDA_ROPE_FREQUENCIES), position};
    for (int64_t h = 0; h < x.dim(1); ++h) {
      const T* from = l.ptr<const T>(RUDA_ROPE_X) + t * x.stride(0) + h * x.stride(1);
      T* to = l.ptr<T>(RUDA_ROPE_Y) + t * y.stride(0) + h * y.stride(1);
      rotation.each(from, x.dim(2), [&](int64_t e, T value) { to[e] = value; });
    }
  }
}

void run(const Launch& l) {
  visit(l.problem[RUDA_ROPE_X].dtype(), Types<float, f16, bf16>{}, [&](auto t) { tokens<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/rope/tokens", vector_tokens::prepare, vector_tokens::run},
                           {"cpu/rope/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels rope{list};

}  // namespace ruda::cpu
