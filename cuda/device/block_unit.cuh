// cuda/device/block_unit.cuh - eight elements of a GGUF block as one thread loads and decodes them.
// SPDX-License-Identifier: Apache-2.0
//
// A unit is what one word of codes yields: elements first(u) .. + 3 and first(u) + distance .. + 3.
// Neighbouring units are neighbouring words, so a warp reads whole blocks; loading is apart from decoding, so
// that many loads are in flight before the first value is needed.
#pragma once
#include "device/block_decode.cuh"

#include <cuda_bf16.h>

namespace ruda::cuda {

// Formats whose blocks are multiples of 4 bytes; their words are read whole where the row starts at such an
// address. The others are read in halves.
template <uint32_t Dtype>
inline constexpr bool block_words = BlockLayout<Dtype>::bytes % 4 == 0;

__host__ __device__ inline uint32_t load_half(const uint8_t* p) {
  return *reinterpret_cast<const unsigned short*>(p);
}

template <bool Whole>
__host__ __device__ inline uint32_t load_word(const uint8_t* p) {
  if constexpr (Whole) return *reinterpret_cast<const uint32_t*>(p);
  return load_half(p) | load_half(p + 2) << 16;
}

// Four bytes of `codes` as floats less `offset`, exact: a byte is placed under the exponent of 2^23.
__host__ __device__ inline void code_floats(uint32_t codes, float offset, float* to) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#ifdef __CUDA_ARCH__
    to[i] = __uint_as_float(__byte_perm(codes, 0x4B000000, 0x7440 + i)) - (8388608.0f + offset);
#else
    to[i] = float((codes >> 8 * i) & 255) - offset;
#endif
  }
}

// Bits 0..3 of x to bit 4 of each byte.
__host__ __device__ inline uint32_t spread_fifth(uint32_t x) {
  return (((x & 15) * 0x00204081u) & 0x01010101u) << 4;
}

__host__ __device__ inline float half_bits(uint32_t bits) {
  return __half2float(__half(__half_raw{static_cast<unsigned short>(bits)}));
}

template <uint32_t Dtype>
struct BlockUnit {
  using L = BlockLayout<Dtype>;
  static constexpr bool five = Dtype == RUDA_Q5_0 || Dtype == RUDA_Q5_1;
  static constexpr bool has_min = Dtype == RUDA_Q4_1 || Dtype == RUDA_Q5_1;
  static constexpr bool pair_of_groups = Dtype == RUDA_Q4_K || Dtype == RUDA_Q5_K;
  static constexpr int per_block = L::elements / 8;
  // From the first element of the lower four to that of the upper four.
  static constexpr int distance = Dtype == RUDA_Q8_0 ? 4 : Dtype == RUDA_Q6_K ? 64 : pair_of_groups ? 32 : 16;
  static constexpr int words = Dtype == RUDA_Q4_0 || Dtype == RUDA_Q4_1 ? 2 : pair_of_groups ? 5 : 3;

  uint32_t raw[words];

  __host__ __device__ static int first(int unit) {
    const int word = unit % per_block, start = unit / per_block * L::elements;
    if constexpr (Dtype == RUDA_Q8_0) return start + 8 * word;
    if constexpr (pair_of_groups) return start + word / 8 * 64 + word % 8 * 4;
    if constexpr (Dtype == RUDA_Q6_K) return start + word / 16 * 128 + word % 16 / 8 * 32 + word % 8 * 4;
    return start + 4 * word;
  }

  __host__ __device__ void load(const uint8_t* row, int unit) {
    const int word = unit % per_block;
    const uint8_t* b = row + int64_t(unit / per_block) * L::bytes;
    constexpr bool whole = block_words<Dtype>;
    if constexpr (Dtype == RUDA_Q8_0) {
      raw[0] = load_word<false>(b + 2 + 8 * word);
      raw[1] = load_word<false>(b + 6 + 8 * word);
      raw[2] = load_half(b);
    } else if constexpr (pair_of_groups) {
      const int pair = word / 8, r = pair % 2 * 2;
      raw[0] = load_word<whole>(b + (Dtype == RUDA_Q4_K ? 16 : 48) + 4 * word);
      raw[1] = load_word<whole>(b);
      raw[2] = load_half(b + 4 + r) | load_half(b + 8 + r) << 16;
      raw[3] = load_half(b + 12 + r);
      raw[4] = Dtype == RUDA_Q5_K ? load_word<whole>(b + 16 + word % 8 * 4) : 0;
    } else if constexpr (Dtype == RUDA_Q6_K) {
      const int scale = 192 + word / 16 * 8 + word % 16 / 8 * 2 + word % 8 / 4;
      raw[0] = load_word<false>(b + 4 * word);
      raw[1] = load_word<false>(b + 128 + word / 16 * 32 + word % 8 * 4);
      raw[2] = load_half(b + 208) | uint32_t(b[scale]) << 16 | uint32_t(b[scale + 4]) << 24;
    } else {
      constexpr int high = has_min ? 4 : 2, codes = high + (five ? 4 : 0);
      raw[0] = load_word<whole>(b + codes + 4 * word);
      raw[1] = has_min ? load_word<whole>(b) : load_half(b);
      if constexpr (five) raw[2] = load_word<whole>(b + high);
    }
  }

  // The eight values in F32, as block_value gives them.
  __host__ __device__ void decode(int unit, float (&v)[8]) const {
    const int word = unit % per_block;
    if constexpr (Dtype == RUDA_Q8_0) {
      code_floats(raw[0] ^ 0x80808080u, 128, v);
      code_floats(raw[1] ^ 0x80808080u, 128, v + 4);
      scale_all(v, half_bits(raw[2]), half_bits(raw[2]));
    } else if constexpr (pair_of_groups) {
      const uint32_t a = raw[2] & 0xFFFF, b = raw[2] >> 16, c = raw[3];
      const bool low = word < 16;
      const uint32_t scales = low ? a & 0x3F3F : (c & 0x0F0F) | ((a >> 2) & 0x3030);
      const uint32_t minima = low ? b & 0x3F3F : ((c >> 4) & 0x0F0F) | ((b >> 2) & 0x3030);
      uint32_t lower = raw[0] & 0x0F0F0F0F, upper = raw[0] >> 4 & 0x0F0F0F0F;
      if constexpr (Dtype == RUDA_Q5_K) {
        const int group = word / 8 * 2;
        lower |= (raw[4] >> group & 0x01010101) << 4;
        upper |= (raw[4] >> (group + 1) & 0x01010101) << 4;
      }
      code_floats(lower, 0, v);
      code_floats(upper, 0, v + 4);
      const float d = half_bits(raw[1]), m = half_bits(raw[1] >> 16);
      const float s0 = d * float(scales & 255), s1 = d * float(scales >> 8);
      const float m0 = -(m * float(minima & 255)), m1 = -(m * float(minima >> 8));
#pragma unroll
      for (int i = 0; i < 4; ++i) v[i] = fmaf(s0, v[i], m0), v[i + 4] = fmaf(s1, v[i + 4], m1);
    } else if constexpr (Dtype == RUDA_Q6_K) {
      const int shift = word % 16 / 8 * 2;
      code_floats((raw[0] & 0x0F0F0F0F) | (raw[1] >> shift & 0x03030303) << 4, 32, v);
      code_floats((raw[0] >> 4 & 0x0F0F0F0F) | (raw[1] >> (shift + 4) & 0x03030303) << 4, 32, v + 4);
      const float d = half_bits(raw[2]);
      scale_all(v, d * float(int8_t(raw[2] >> 16)), d * float(int8_t(raw[2] >> 24)));
    } else {
      uint32_t lower = raw[0] & 0x0F0F0F0F, upper = raw[0] >> 4 & 0x0F0F0F0F;
      if constexpr (five) {
        lower |= spread_fifth(raw[2] >> 4 * word);
        upper |= spread_fifth(raw[2] >> (16 + 4 * word));
      }
      const float offset = has_min ? 0 : five ? 16 : 8;
      code_floats(lower, offset, v);
      code_floats(upper, offset, v + 4);
      const float d = half_bits(raw[1]);
      if constexpr (has_min) {
        const float m = half_bits(raw[1] >> 16);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = fmaf(d, v[i], m);
      } else {
        scale_all(v, d, d);
      }
    }
  }

 private:
  __host__ __device__ static void scale_all(float (&v)[8], float lower, float upper) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] *= lower, v[i + 4] *= upper;
  }
};

}  // namespace ruda::cuda
