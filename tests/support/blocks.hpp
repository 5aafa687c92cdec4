// tests/support/blocks.hpp - GGUF blocks for tests: sizes, random rows, and the value of one element in
// double.
// SPDX-License-Identifier: Apache-2.0
//
// Written from the layout tables of the format, apart from the library.
#pragma once
#include "support/op_run.hpp"

#include <cmath>

namespace ruda::test {

struct BlockSize {
  uint32_t dtype;
  int64_t elements, bytes;
  const char* name;
};
inline constexpr BlockSize block_sizes[] = {
    {RUDA_Q4_0, 32, 18, "Q4_0"},   {RUDA_Q4_1, 32, 20, "Q4_1"},   {RUDA_Q5_0, 32, 22, "Q5_0"},
    {RUDA_Q5_1, 32, 24, "Q5_1"},   {RUDA_Q8_0, 32, 34, "Q8_0"},   {RUDA_Q4_K, 256, 144, "Q4_K"},
    {RUDA_Q5_K, 256, 176, "Q5_K"}, {RUDA_Q6_K, 256, 210, "Q6_K"},
};

inline const BlockSize& block_size(uint32_t dtype) {
  for (const BlockSize& size : block_sizes)
    if (size.dtype == dtype) return size;
  throw Fatal("not a block format");
}

// Element i of a row as scale * code + minimum.
struct BlockValue {
  double scale, code, minimum;
  double value() const { return scale * code + minimum; }
};

inline BlockValue block_value(uint32_t dtype, const uint8_t* row, int64_t i) {
  const BlockSize& size = block_size(dtype);
  const uint8_t* b = row + i / size.elements * size.bytes;
  const int j = int(i % size.elements);
  const auto half = [&](int at) { return decode(RUDA_F16, b + at); };
  const auto nibble = [&](int at, int high) { return (b[at] >> (high ? 4 : 0)) & 15; };
  switch (dtype) {
    case RUDA_Q4_0: return {half(0), double(nibble(2 + j % 16, j >= 16) - 8), 0};
    case RUDA_Q4_1: return {half(0), double(nibble(4 + j % 16, j >= 16)), half(2)};
    case RUDA_Q5_0:
      return {half(0), double(nibble(6 + j % 16, j >= 16) + 16 * ((b[2 + j / 8] >> j % 8) & 1) - 16), 0};
    case RUDA_Q5_1:
      return {half(0), double(nibble(8 + j % 16, j >= 16) + 16 * ((b[4 + j / 8] >> j % 8) & 1)), half(2)};
    case RUDA_Q8_0: return {half(0), double(int8_t(b[2 + j])), 0};
    case RUDA_Q4_K:
    case RUDA_Q5_K: {
      const int group = j / 32, element = j % 32;
      const uint8_t* s = b + 4;
      const int scale = group < 4 ? s[group] % 64 : s[group + 4] % 16 + s[group - 4] / 64 * 16;
      const int minimum = group < 4 ? s[group + 4] % 64 : s[group + 4] / 16 + s[group] / 64 * 16;
      int code = nibble((dtype == RUDA_Q4_K ? 16 : 48) + group / 2 * 32 + element, group % 2);
      if (dtype == RUDA_Q5_K) code += 16 * ((b[16 + element] >> group) & 1);
      return {half(0) * scale, double(code), -half(2) * minimum};
    }
    case RUDA_Q6_K: {
      const int top = j / 128, part = j % 128 / 32, element = j % 32;
      const int code = nibble(top * 64 + part % 2 * 32 + element, part / 2) +
                       16 * ((b[128 + top * 32 + element] >> (2 * part)) & 3) - 32;
      return {half(208) * int8_t(b[192 + j / 16]), double(code), 0};
    }
  }
  throw Fatal("not a block format");
}

// Random codes under scales that give values of about 1.
inline std::vector<uint8_t> random_blocks(Env& env, uint32_t dtype, int64_t rows, int64_t cols) {
  const BlockSize& size = block_size(dtype);
  std::vector<uint8_t> bytes(size_t(rows * (cols / size.elements) * size.bytes));
  for (uint8_t& byte : bytes) byte = uint8_t(env.random());
  for (size_t at = 0; at < bytes.size(); at += size_t(size.bytes)) {
    const auto put = [&](int64_t offset, double low, double high) {
      encode(RUDA_F16, env.uniform(low, high), bytes.data() + at + size_t(offset));
    };
    switch (dtype) {
      case RUDA_Q4_1: put(0, 0.02, 0.2), put(2, -1.5, 0); break;
      case RUDA_Q5_1: put(0, 0.01, 0.1), put(2, -1.5, 0); break;
      case RUDA_Q8_0: put(0, -0.01, 0.01); break;
      case RUDA_Q4_K: put(0, 0.0005, 0.005), put(2, 0.001, 0.02); break;
      case RUDA_Q5_K: put(0, 0.0003, 0.003), put(2, 0.001, 0.02); break;
      case RUDA_Q6_K: put(208, -0.0005, 0.0005); break;
      default: put(0, -0.15, 0.15);
    }
  }
  return bytes;
}

inline int64_t block_row_bytes(uint32_t dtype, int64_t cols) {
  return cols / block_size(dtype).elements * block_size(dtype).bytes;
}

}  // namespace ruda::test
