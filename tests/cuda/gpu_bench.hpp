// tests/cuda/gpu_bench.hpp - inputs of the benchmarks that fill a GPU.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/op_run.hpp"

#include <algorithm>
#include <cstring>

namespace ruda::test {

// Random data made once and repeated: making every element anew would take far longer than the benchmark.
inline void random_input(Env& env, OpRun& op, uint32_t slot, uint32_t dtype, const Shape& shape) {
  static const std::vector<double> values = env.normal(1 << 20);
  const uint32_t size = size_of(dtype);
  std::vector<uint8_t> pattern(values.size() * size), bytes(size_t(count_of(shape)) * size);
  for (size_t i = 0; i < values.size(); ++i) encode(dtype, values[i], &pattern[i * size]);
  for (size_t at = 0; at < bytes.size(); at += pattern.size())
    std::memcpy(&bytes[at], pattern.data(), std::min(pattern.size(), bytes.size() - at));
  op.input_bytes(slot, dtype, shape, std::move(bytes));
}

}  // namespace ruda::test
