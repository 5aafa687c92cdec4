// cuda/device/digit_search.cuh - finds where a sum over codes, highest first, reaches a target: digit by
// digit,
// without a sort.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/cluster.cuh"

#include <cstdint>

namespace ruda::cuda {

// Orders as the floats do; the two zeros are one.
__device__ inline uint32_t order_key(float x) {
  const uint32_t bits = __float_as_uint(x + 0.0f);
  return bits ^ (bits >> 31 ? ~0u : 0x80000000u);
}
__device__ inline float order_value(uint32_t key) {
  return __uint_as_float(key >> 31 ? key ^ 0x80000000u : ~key);
}

// A key above, the complement of a place below: of equal keys the lower place has the higher code.
__device__ inline uint64_t code_of(uint32_t key, uint32_t place) { return uint64_t(key) << 32 | ~place; }
__device__ inline uint32_t place_of(uint64_t code) { return ~uint32_t(code); }

// The threads of a group of blocks. Weights are integers of up to Limbs * limb_bits bits, added in limbs
// whose sums in a block stay below 2^32, so results do not depend on the order of additions.
template <int Blocks, int Threads, int Limbs>
struct DigitSearch {
  static constexpr int bins = 2048, warps = Threads / 32;
  using Group = Cluster<Blocks>;

  struct Shared {
    uint32_t histogram[Limbs][bins];
    unsigned long long merged[bins / Blocks];  // this block's share of the bins of all blocks
    unsigned long long partial[warps];
    unsigned long long exchange, segment, before, inside;
    uint32_t digit;
  };
  // The digits known by now, the lower ones zero; what the sum over them has to reach; what all of them hold.
  struct Target {
    uint64_t code, left, inside;
  };

  Shared& sh;
  int limb_bits;

  template <class Join>
  __device__ unsigned long long block_join(unsigned long long x, Join&& join) {
#pragma unroll
    for (int offset = 16; offset; offset /= 2) x = join(x, __shfl_xor_sync(~0u, x, offset));
    if (threadIdx.x % 32 == 0) sh.partial[threadIdx.x / 32] = x;
    __syncthreads();
    x = sh.partial[0];
    for (int i = 1; i < warps; ++i) x = join(x, sh.partial[i]);
    __syncthreads();
    return x;
  }
  // Over all threads of the group; every thread gets the result.
  template <class Join>
  __device__ unsigned long long group_join(unsigned long long x, Join&& join) {
    x = block_join(x, join);
    if constexpr (Blocks > 1) {
      if (threadIdx.x == 0) sh.exchange = x;
      Group::sync();
      x = *Group::of(&sh.exchange, 0);
      for (int r = 1; r < Blocks; ++r) x = join(x, *Group::of(&sh.exchange, r));
      Group::sync();
    }
    return x;
  }

  // One digit of `bits` bits above `shift`: narrows the target to the value of the digit in which the sum
  // from above reaches it. each(visit) calls visit(code, weight) for this thread's codes, weight() is asked
  // where it counts. False when all together do not reach the target. Used: the limbs that the weights need.
  // The last reads of other blocks' memory need a Group::sync() behind them before a block ends.
  template <int Used, class Each>
  __device__ bool narrow(Target& t, int shift, int bits, Each&& each) {
    for (int b = threadIdx.x; b < bins; b += Threads)
      for (int k = 0; k < Used; ++k) sh.histogram[k][b] = 0;
    __syncthreads();
    const uint32_t low = Used == 1 ? ~0u : (1u << limb_bits) - 1;
    each([&](uint64_t code, auto&& weight) {
      if (shift + bits < 64 && (code ^ t.code) >> (shift + bits)) return;
      const int digit = int(code >> shift & ((1u << bits) - 1));
      const uint64_t w = weight();
#pragma unroll
      for (int k = 0; k < Used; ++k)
        if (const uint32_t part = uint32_t(w >> k * limb_bits) & low)
          atomicAdd(&sh.histogram[k][digit], part);
    });
    Group::sync();
    constexpr int share = bins / Blocks;
    const int rank = Group::rank();
    unsigned long long sum = 0;
    for (int j = threadIdx.x; j < share; j += Threads) {
      unsigned long long bin = 0;
#pragma unroll
      for (int r = 0; r < Blocks; ++r)
#pragma unroll
        for (int k = 0; k < Used; ++k)
          bin += uint64_t(*Group::of(&sh.histogram[k][rank * share + j], r)) << k * limb_bits;
      sh.merged[j] = bin;
      sum += bin;
    }
    sum = block_join(sum, [](auto a, auto b) { return a + b; });
    if (threadIdx.x == 0) sh.segment = sum;
    Group::sync();
    // From the highest share of bins down.
    unsigned long long before = 0;
    int owner = Blocks - 1;
    for (; owner >= 0; --owner) {
      const unsigned long long segment = *Group::of(&sh.segment, owner);
      if (t.left <= before + segment) break;
      before += segment;
    }
    if (rank == owner && threadIdx.x < 32) find_bin(t.left, before, rank * share);
    Group::sync();
    if (owner < 0) return false;
    t.code |= uint64_t(*Group::of(&sh.digit, owner)) << shift;
    t.left -= *Group::of(&sh.before, owner);
    t.inside = *Group::of(&sh.inside, owner);
    return true;
  }

 private:
  // One warp over this block's share: the bin in which the sum, from `before` on and from the highest bin
  // down, reaches `left`.
  __device__ void find_bin(unsigned long long left, unsigned long long before, int first_digit) {
    constexpr int share = bins / Blocks, own = share / 32;
    const int lane = threadIdx.x, highest = share - 1 - lane * own;  // of this lane's bins
    unsigned long long mine = 0;
    for (int j = 0; j < own; ++j) mine += sh.merged[highest - j];
    unsigned long long through = mine;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const unsigned long long other = __shfl_up_sync(~0u, through, offset);
      if (lane >= offset) through += other;
    }
    unsigned long long at = before + through - mine;
    if (left <= at || left > at + mine) return;
    int j = highest;
    while (left > at + sh.merged[j]) at += sh.merged[j--];
    sh.digit = uint32_t(first_digit + j);
    sh.before = at;
    sh.inside = sh.merged[j];
  }
};

}  // namespace ruda::cuda
