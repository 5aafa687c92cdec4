// tests/support/rope_append.hpp - rope, then paged_append: what the operators that join them must leave.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/objects.hpp"
#include "support/op_run.hpp"
#include "support/paged.hpp"

namespace ruda::test {

// The elements of a contiguous tensor, which is released.
inline std::vector<double> taken(Env& env, ruda_tensor tensor) {
  const ruda_tensor_desc d = desc_of(tensor);
  const uint32_t dtype = d.dtype, size = size_of(dtype);
  std::vector<uint8_t> bytes(size_t(count_of(Shape(d.shape, d.shape + d.rank))) * size);
  MUST(ruda_tensor_read(env.stream, tensor, bytes.data(), bytes.size()));
  ruda_release(tensor);
  std::vector<double> values;
  for (size_t at = 0; at < bytes.size(); at += size) values.push_back(decode(dtype, &bytes[at]));
  return values;
}

// The turned q, and both caches with the new rows.
struct Appended {
  std::vector<double> q, k_cache, v_cache;
};

// By ruda_rope and ruda_paged_append, from the inputs of `op`, which is rope_append or rope_attention; both
// have the same slots.
inline Appended append_by_two(Env& env, const OpRun& op, const PagedCase& paged, const Layout& layout,
                              const ruda_rope_params& params, bool given_frequencies) {
  const int64_t rows = op.desc(RUDA_ROPE_APPEND_Q)->shape[0];
  std::vector<double> places(size_t(rows), 0);
  for (size_t i = 0; i < layout.queries.size(); ++i) places[i] = layout.queries[i].second;
  OpRun positions(env, "rope");
  positions.input(RUDA_ROPE_POSITIONS, RUDA_I32, {rows}, places);
  const auto turned = [&](uint32_t slot) {
    ruda_tensor out = nullptr;
    MUST(ruda_rope(env.stream, op.tensor(slot), positions.tensor(RUDA_ROPE_POSITIONS),
                   given_frequencies ? op.tensor(RUDA_ROPE_APPEND_FREQUENCIES) : nullptr, &params, &out));
    return out;
  };
  ruda_tensor k = turned(RUDA_ROPE_APPEND_K), k_cache = nullptr, v_cache = nullptr;
  MUST(ruda_paged_append(env.stream, paged.schedule, k, op.tensor(RUDA_ROPE_APPEND_V),
                         op.tensor(RUDA_ROPE_APPEND_K_CACHE), op.tensor(RUDA_ROPE_APPEND_V_CACHE), &k_cache,
                         &v_cache));
  ruda_release(k);
  return {taken(env, turned(RUDA_ROPE_APPEND_Q)), taken(env, k_cache), taken(env, v_cache)};
}

}  // namespace ruda::test
