// src/ops/position/rope.cpp - contract of rope: pairs of elements turned by an angle that grows with the
// position.
// SPDX-License-Identifier: Apache-2.0
#include "ops/position/rope_table.hpp"

#include "core/float_mode.hpp"
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/position.h>

RUDA_DECLARE_KERNELS(rope)

namespace ruda::ops {

extern const OpDef rope{"rope", RUDA_KERNELS(rope)};

namespace {

Problem check(ruda_context context, const ruda_rope_desc* desc) {
  Contract c(rope, context, desc);
  const auto d = c.options<ruda_rope_desc>();
  const ruda_rope_params params = struct_in(d.params, Contract::arg_desc, "desc.params");
  c.in("x", d.x).in("positions", d.positions).in_optional("frequencies", d.frequencies);
  c.dtype(RUDA_ROPE_X, Types<float, f16, bf16>{}).rank(RUDA_ROPE_X, 3, 3).dense_rows(RUDA_ROPE_X);
  c.dtype(RUDA_ROPE_POSITIONS, Types<int32_t, int64_t>{}).rank(RUDA_ROPE_POSITIONS, 1, 1);
  c.dim(RUDA_ROPE_POSITIONS, 0, c[RUDA_ROPE_X].dim(0)).contiguous(RUDA_ROPE_POSITIONS);
  const int64_t rotary_dim = check_rotation(c, params, RUDA_ROPE_X, RUDA_ROPE_FREQUENCIES);
  c.out_like("y", d.y, RUDA_ROPE_X).dense_rows(RUDA_ROPE_Y).alias(RUDA_ROPE_Y, RUDA_ROPE_X);

  auto& kept = c.mutable_options<ruda_rope_desc>();
  kept.x = kept.positions = kept.frequencies = kept.y = nullptr;
  kept.params = nullptr;
  return take_rope(c, params, rotary_dim, RUDA_ROPE_FREQUENCIES);
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;

extern "C" ruda_status ruda_rope_plan_create(ruda_context context, const ruda_rope_desc* desc,
                                             ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check(context, desc); });
}

extern "C" ruda_status ruda_rope(ruda_stream stream, ruda_tensor x, ruda_tensor positions,
                                 ruda_tensor frequencies, const ruda_rope_params* params,
                                 ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    ruda_rope_params p = struct_in(params, 4, "params");
    RUDA_CHECK(!p.short_factors && !p.long_factors, RUDA_E_ARGUMENT, 4,
               "rope: the eager form takes no factor arrays, give a frequency tensor or make a plan");
    p.next = nullptr;
    p.struct_size = sizeof p;
    Eager call(ops::rope, stream);
    call.in(RUDA_ROPE_X, x, 1, "x");
    call.in(RUDA_ROPE_POSITIONS, positions, 2, "positions");
    call.in(RUDA_ROPE_FREQUENCIES, frequencies, 3, "frequencies", true);
    for (const uint32_t value : {p.pairing, p.direction, p.scaling, p.factor_count, p.flags}) call.key(value);
    for (const int64_t value : {p.rotary_dim, p.original_positions, p.seq_len}) call.key(value);
    for (const double value : {p.theta, p.factor, p.attention_factor, p.low_frequency_factor,
                               p.high_frequency_factor, p.beta_fast, p.beta_slow, p.mscale, p.mscale_all_dim})
      call.key(value);
    call.plan([&] {
      ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
      desc.x = call.desc(RUDA_ROPE_X);
      desc.positions = call.desc(RUDA_ROPE_POSITIONS);
      desc.frequencies = call.desc(RUDA_ROPE_FREQUENCIES);
      desc.params = &p;
      return ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_ROPE_Y);
  });
}

extern "C" ruda_status ruda_rope_frequencies(const ruda_rope_params* params, double* frequencies,
                                             int64_t count, double* out_factor) noexcept {
  return guard(__func__, [&] {
    if (out_factor) *out_factor = 0;
    const FloatMode mode;
    const ruda_rope_params p = struct_in(params, 0, "params");
    constexpr int64_t most = ops::rope_max_dim;
    RUDA_CHECK(p.rotary_dim >= 0 && p.rotary_dim <= most && p.rotary_dim % 2 == 0, RUDA_E_SHAPE, 0,
               "rotary_dim is %lld, expected even and 0..%lld", (long long)p.rotary_dim, (long long)most);
    RUDA_CHECK(!p.rotary_dim || p.rotary_dim / 2 == count, RUDA_E_SHAPE, 2,
               "count is %lld, expected rotary_dim / 2, which is %lld", (long long)count,
               (long long)(p.rotary_dim / 2));
    RUDA_CHECK(count >= 0 && count <= most / 2, RUDA_E_SHAPE, 2, "count is %lld, expected 0..%lld",
               (long long)count, (long long)(most / 2));
    RUDA_CHECK(frequencies || !count || out_factor, RUDA_E_NULL, 1,
               "frequencies and out_factor are NULL with count %lld", (long long)count);
    const bool factor_only = !frequencies && out_factor;
    const ops::RopeTable table = ops::rope_table(p, 2 * count, !factor_only, 0, "ruda_rope_frequencies");
    std::copy(table.frequencies.begin(), table.frequencies.end(), frequencies);
    if (out_factor) *out_factor = table.factor;
  });
}
