// cuda/device/block_decode.cuh - the value of one element of a GGUF block row.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/tensor.h>

#include <cuda_fp16.h>

namespace ruda::cuda {

template <uint32_t Dtype>
struct BlockLayout {
  static constexpr bool large = Dtype == RUDA_Q4_K || Dtype == RUDA_Q5_K || Dtype == RUDA_Q6_K;
  static constexpr int elements = large ? 256 : 32;
  static constexpr int bytes = Dtype == RUDA_Q4_0   ? 18
                               : Dtype == RUDA_Q4_1 ? 20
                               : Dtype == RUDA_Q5_0 ? 22
                               : Dtype == RUDA_Q5_1 ? 24
                               : Dtype == RUDA_Q8_0 ? 34
                               : Dtype == RUDA_Q4_K ? 144
                               : Dtype == RUDA_Q5_K ? 176
                                                    : 210;
};

// Blocks start at even addresses only.
__device__ inline float block_half(const uint8_t* p) {
  return __half2float(__ushort_as_half(*reinterpret_cast<const unsigned short*>(p)));
}

// scale * code + minimum: the product is exact, so one rounding to F32 remains.
template <uint32_t Dtype>
__device__ float block_value(const uint8_t* row, int64_t i) {
  using L = BlockLayout<Dtype>;
  const uint8_t* b = row + i / L::elements * L::bytes;
  const int j = int(i % L::elements);
  if constexpr (Dtype == RUDA_Q8_0) return block_half(b) * float(int8_t(b[2 + j]));
  if constexpr (!L::large && Dtype != RUDA_Q8_0) {
    constexpr bool has_min = Dtype == RUDA_Q4_1 || Dtype == RUDA_Q5_1;
    constexpr bool five = Dtype == RUDA_Q5_0 || Dtype == RUDA_Q5_1;
    constexpr int high = has_min ? 4 : 2, codes = high + (five ? 4 : 0);
    int code = (b[codes + j % 16] >> (j / 16 * 4)) & 15;
    if constexpr (five) code |= ((b[high + j / 8] >> (j % 8)) & 1) << 4;
    if constexpr (has_min) return fmaf(block_half(b), float(code), block_half(b + 2));
    return block_half(b) * float(code - (five ? 16 : 8));
  }
  if constexpr (Dtype == RUDA_Q4_K || Dtype == RUDA_Q5_K) {
    const int group = j / 32, element = j % 32;
    const uint8_t* s = b + 4;
    const int scale = group < 4 ? s[group] & 63 : (s[group + 4] & 15) | (s[group - 4] >> 6) << 4;
    const int minimum = group < 4 ? s[group + 4] & 63 : (s[group + 4] >> 4) | (s[group] >> 6) << 4;
    int code = (b[(Dtype == RUDA_Q4_K ? 16 : 48) + group / 2 * 32 + element] >> (group % 2 * 4)) & 15;
    if constexpr (Dtype == RUDA_Q5_K) code |= ((b[16 + element] >> group) & 1) << 4;
    return fmaf(block_half(b) * float(scale), float(code), -(block_half(b + 2) * float(minimum)));
  }
  if constexpr (Dtype == RUDA_Q6_K) {
    const int top = j / 128, part = j % 128 / 32, element = j % 32;
    const int low = (b[top * 64 + part % 2 * 32 + element] >> (part / 2 * 4)) & 15;
    const int high = (b[128 + top * 32 + element] >> (2 * part)) & 3;
    return block_half(b + 208) * float(int8_t(b[192 + j / 16])) * float((low | high << 4) - 32);
  }
}

// Calls f(BlockTag<dtype>{}) for a block dtype; false for any other.
template <uint32_t Dtype>
struct BlockTag {
  static constexpr uint32_t dtype = Dtype;
};
template <class F>
bool visit_block(uint32_t dtype, F&& f) {
  switch (dtype) {
    case RUDA_Q4_0: return f(BlockTag<RUDA_Q4_0>{}), true;
    case RUDA_Q4_1: return f(BlockTag<RUDA_Q4_1>{}), true;
    case RUDA_Q5_0: return f(BlockTag<RUDA_Q5_0>{}), true;
    case RUDA_Q5_1: return f(BlockTag<RUDA_Q5_1>{}), true;
    case RUDA_Q8_0: return f(BlockTag<RUDA_Q8_0>{}), true;
    case RUDA_Q4_K: return f(BlockTag<RUDA_Q4_K>{}), true;
    case RUDA_Q5_K: return f(BlockTag<RUDA_Q5_K>{}), true;
    case RUDA_Q6_K: return f(BlockTag<RUDA_Q6_K>{}), true;
    default: return false;
  }
}

}  // namespace ruda::cuda
