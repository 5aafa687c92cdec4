// cuda/attention/decode_parts.cuh - what kernels for one query a block share: lanes of keys, the running
// softmax of a row of lanes, and the merge of rows, warps and parts.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "attention/paged_attention.hpp"
#include "attention/softmax_state.cuh"
#include "device/cluster.cuh"
#include "device/convert.cuh"

#include <algorithm>

namespace ruda::cuda::attention {

constexpr int warps = 4, threads = warps * 32;
constexpr int lane_elements = 8;
constexpr int most_cluster = 8, most_parts = 32;
constexpr int64_t cluster_tokens = 16384;  // histories up to here are served by one cluster

// What the plans decide alike: whether a cache fits 16-byte loads, query heads that a block takes at once,
// and into how many parts histories are cut for `blocks` blocks and caches of `tokens` tokens.
inline bool aligned(const Operand& cache) {
  const int64_t step = cache.dtype() == RUDA_F32 ? 4 : 8;
  if (cache.align_log2 < 4 || cache.dim(3) % lane_elements) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (cache.dim(axis) > 1 && cache.stride(axis) % step) return false;
  return true;
}

inline int heads_at_once(uint32_t group) { return group == 1 ? 1 : group == 3 ? 3 : group <= 4 ? 4 : 8; }

inline uint32_t auto_parts(const tune::Capability& device, int64_t blocks, int64_t tokens) {
  // Two blocks a multiprocessor keep the memory busy; a part below 64 keys is not worth its merge.
  const int64_t wanted = 2 * int64_t(device.multiprocessors) / std::max<int64_t>(blocks, 1);
  const int64_t useful = std::max<int64_t>(tokens / 64, 1);
  const int64_t parts = std::clamp<int64_t>(std::min(wanted, useful), 1, most_parts);
  if (device.code_arch < 90 || (parts > most_cluster && tokens > cluster_tokens)) return uint32_t(parts);
  int64_t power = 1;
  while (power * 2 <= std::min<int64_t>(parts, most_cluster)) power *= 2;
  return uint32_t(power);
}

// How a kernel is launched whose blocks along z form a cluster.
inline cudaLaunchAttribute cluster_of(uint32_t parts) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = parts;
  return attribute;
}

// Where a thread stands: rows of lanes share a key, a lane holds elements d .. d + 7 of it.
template <int Lanes>
struct Seat {
  static constexpr int rows = 32 / Lanes;
  const int warp = threadIdx.x / 32, row = threadIdx.x % 32 / Lanes, column = threadIdx.x % 32 % Lanes;
  const uint32_t d = column * lane_elements;
};

// Sums of one head: the largest score of the warp's keys, and relative to it the weight and the value
// elements of a lane's own keys.
template <int Heads>
struct Sums {
  float largest[Heads], weight[Heads], value[Heads][lane_elements];
};

// A lane's elements as they lie in memory: loads in flight keep whole registers until they are used.
template <class C>
struct Lane {
  uint4 raw[sizeof(C) / 2];
};

template <class C>
__device__ inline void load_lane(const C* from, bool active, Lane<C>& to) {
#pragma unroll
  for (int i = 0; i < int(sizeof(C) / 2); ++i)
    to.raw[i] = active ? reinterpret_cast<const uint4*>(from)[i] : uint4{};
}

__device__ inline void unpack(const Lane<float>& lane, float (&to)[lane_elements]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    to[4 * i] = __uint_as_float(lane.raw[i].x), to[4 * i + 1] = __uint_as_float(lane.raw[i].y);
    to[4 * i + 2] = __uint_as_float(lane.raw[i].z), to[4 * i + 3] = __uint_as_float(lane.raw[i].w);
  }
}
__device__ inline void unpack_pair(__half, uint32_t word, float* to) {
  const float2 pair = __half22float2(reinterpret_cast<const __half2&>(word));
  to[0] = pair.x, to[1] = pair.y;
}
__device__ inline void unpack_pair(__nv_bfloat16, uint32_t word, float* to) {
  to[0] = __uint_as_float(word << 16), to[1] = __uint_as_float(word & 0xFFFF0000u);
}
template <class C>
__device__ inline void unpack(const Lane<C>& lane, float (&to)[lane_elements]) {
  unpack_pair(C{}, lane.raw[0].x, to), unpack_pair(C{}, lane.raw[0].y, to + 2);
  unpack_pair(C{}, lane.raw[0].z, to + 4), unpack_pair(C{}, lane.raw[0].w, to + 6);
}

// A load that is not put off until its value is needed.
__device__ inline uint32_t load_now(const uint32_t* from) {
  uint32_t value;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(value) : "l"(from));
  return value;
}

// A warp's sums in shared memory: the values by column of lanes, then head.
template <int Lanes, int Heads>
struct alignas(16) Shared {
  float value[Lanes][Heads * lane_elements];
  float largest[Heads], weight[Heads];
};

// Adds keys j, j + rows, .. of those below `end`, which lie in the lanes of a row.
template <int Lanes, int Heads, int unroll, class C>
__device__ inline void add_keys(const Lane<C> (&key)[unroll], const Lane<C> (&value)[unroll],
                                const float (&q)[Heads][lane_elements], uint32_t j, uint32_t end,
                                Sums<Heads>& sums) {
  constexpr int rows = 32 / Lanes;
  float score[Heads][unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    float k_element[lane_elements];
    unpack(key[u], k_element);
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < lane_elements; ++i) sum = fmaf(q[h][i], k_element[i], sum);
#pragma unroll
      for (int offset = Lanes / 2; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
      score[h][u] = sum;
    }
  }
  float factor[Heads];
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    float largest = sums.largest[h];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (j + u * rows < end && score[h][u] > largest) largest = score[h][u];
#pragma unroll
    for (int offset = Lanes; offset < 32; offset *= 2) {
      const float other = __shfl_xor_sync(~0u, largest, offset);
      if (other > largest) largest = other;
    }
    factor[h] = rescale(sums.largest[h], largest);
    sums.largest[h] = largest;
    sums.weight[h] *= factor[h];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      score[h][u] = score_weight(j + u * rows < end ? score[h][u] : -INFINITY, largest);
      sums.weight[h] += score[h][u];
    }
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) sums.value[h][i] *= factor[h];
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    float v_element[lane_elements];
    unpack(value[u], v_element);
#pragma unroll
    for (int i = 0; i < lane_elements; ++i)
#pragma unroll
      for (int h = 0; h < Heads; ++h) sums.value[h][i] = fmaf(score[h][u], v_element[i], sums.value[h][i]);
  }
}

template <int Heads>
__device__ inline void clear(Sums<Heads>& sums) {
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    sums.largest[h] = -INFINITY;
    sums.weight[h] = 0;
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) sums.value[h][i] = 0;
  }
}

// Adds up the rows of lanes: a lane gives half of its values to the one Offset away, adds that one's to those
// it keeps, and so on. Gives the first of the values that lie in values[0 ..] then.
template <int Offset, int Lanes, int Count>
__device__ inline int add_rows(float (&values)[Count], int lane) {
  if constexpr (Offset < Lanes) {
    return 0;
  } else {
    constexpr int kept = Count / 2;
    const bool upper = lane & Offset;
    float half[kept];
#pragma unroll
    for (int i = 0; i < kept; ++i)
      half[i] = (upper ? values[i + kept] : values[i]) +
                __shfl_xor_sync(~0u, upper ? values[i] : values[i + kept], Offset);
    const int begin = add_rows<Offset / 2, Lanes>(half, lane);
#pragma unroll
    for (int i = 0; i < kept; ++i) values[i] = half[i];
    return begin + (upper ? kept : 0);
  }
}

// An element's value and its head's weight, relative to the largest score.
struct Total {
  float largest, weight, value;
};

// What the parts of a cluster leave with a block: their sums of the elements that the block finishes, and the
// largest score and weight of every head.
template <int Lanes, int Heads>
struct Inbox {
  float value[Heads * Lanes * lane_elements + most_cluster];
  float largest[most_cluster][Heads], weight[most_cluster][Heads];
};

// A history that the first part of a cluster holds whole: that block finishes, the others leave.
template <int Lanes, int unroll>
__device__ inline bool in_first_part(uint32_t end) {
  return end <= warps * Seat<Lanes>::rows * unroll;
}

// Merges the sums of a block's rows and warps and writes the outputs, or its part of them. In a cluster its
// blocks along z are the parts, and cluster_arrive() must have been called when the block began.
template <int Lanes, int Heads>
__device__ inline void finish(const Args& a, bool cluster, uint32_t parts, Sums<Heads>& sums, uint32_t query,
                              uint32_t first_head, uint32_t heads, uint32_t part) {
  __shared__ Shared<Lanes, Heads> shared[warps];
  const Seat<Lanes> seat;
  const int lane = threadIdx.x % 32;
  float values[Heads * lane_elements];
#pragma unroll
  for (int h = 0; h < Heads; ++h)
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) values[h * lane_elements + i] = sums.value[h][i];
  constexpr int kept = Heads * lane_elements / Seat<Lanes>::rows;
  const int begin = add_rows<16, Lanes>(values, lane);
#pragma unroll
  for (int offset = 16; offset >= Lanes; offset /= 2)
#pragma unroll
    for (int h = 0; h < Heads; ++h) sums.weight[h] += __shfl_xor_sync(~0u, sums.weight[h], offset);
#pragma unroll
  for (int i = 0; i < kept; ++i) shared[seat.warp].value[seat.column][begin + i] = values[i];
  if (lane == 0)
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      shared[seat.warp].largest[h] = sums.largest[h];
      shared[seat.warp].weight[h] = sums.weight[h];
    }
  __syncthreads();
  // Warps: each thread for the elements that it writes.
  const uint32_t elements = heads * a.value_dim;
  const auto total = [&](uint32_t h, uint32_t e) {
    Total t{-INFINITY, 0, 0};
#pragma unroll
    for (int w = 0; w < warps; ++w) t.largest = fmaxf(t.largest, shared[w].largest[h]);
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      const float factor = rescale(shared[w].largest[h], t.largest);
      t.weight = fmaf(shared[w].weight[h], factor, t.weight);
      t.value =
          fmaf(shared[w].value[e / lane_elements][h * lane_elements + e % lane_elements], factor, t.value);
    }
    return t;
  };
  if (!cluster) {
    for (uint32_t at = threadIdx.x; at < elements; at += threads) {
      const uint32_t h = at / a.value_dim, e = at - h * a.value_dim, head = first_head + h;
      const Total t = total(h, e);
      if (parts > 1) {
        float* partial =
            a.partials + ((uint64_t(query) * a.q_heads + head) * parts + part) * (a.value_dim + 2);
        partial[e] = t.value;
        if (e) continue;
        partial[a.value_dim] = t.largest;
        partial[a.value_dim + 1] = t.weight;
      } else {
        const float inverse = t.weight == 0 ? 0.0f : 1.0f / t.weight;
        store_float(a.out, query * a.out_stride + head * a.out_head_stride + e, a.q_dtype, t.value * inverse);
        if (e == 0 && a.lse)
          a.lse[query * a.lse_stride + head * a.lse_head_stride] = log_sum(t.largest, t.weight);
      }
    }
    return;
  }

  // Parts: each block finishes `own` elements, and gets the sums of these from all.
#if __CUDA_ARCH__ >= 900
  __shared__ Inbox<Lanes, Heads> inbox;
  const uint32_t own = (elements + parts - 1) / parts;
  cluster_wait();  // all blocks have begun
  for (uint32_t at = threadIdx.x; at < elements; at += threads) {
    const uint32_t rank = at / own, h = at / a.value_dim;
    *cluster_address(&inbox.value[part * own + at - rank * own], rank) = total(h, at - h * a.value_dim).value;
  }
  static_assert(most_cluster * Heads <= threads);
  if (threadIdx.x < parts * Heads) {
    const uint32_t rank = threadIdx.x / Heads, h = threadIdx.x % Heads;
    const Total t = total(h, 0);
    *cluster_address(&inbox.largest[part][h], rank) = t.largest;
    *cluster_address(&inbox.weight[part][h], rank) = t.weight;
  }
  cluster_arrive();
  cluster_wait();
  for (uint32_t i = threadIdx.x; i < own && part * own + i < elements; i += threads) {
    const uint32_t at = part * own + i, h = at / a.value_dim, e = at % a.value_dim;
    float best = -INFINITY, sum = 0, value = 0;
#pragma unroll
    for (int p = 0; p < most_cluster; ++p)
      if (p < int(parts)) best = fmaxf(best, inbox.largest[p][h]);
#pragma unroll
    for (int p = 0; p < most_cluster; ++p) {
      if (p >= int(parts)) break;
      const float factor = rescale(inbox.largest[p][h], best);
      sum = fmaf(inbox.weight[p][h], factor, sum);
      value = fmaf(inbox.value[p * own + i], factor, value);
    }
    const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
    store_float(a.out, query * a.out_stride + (first_head + h) * a.out_head_stride + e, a.q_dtype,
                value * inverse);
    if (e == 0 && a.lse)
      a.lse[query * a.lse_stride + (first_head + h) * a.lse_head_stride] = log_sum(best, sum);
  }
#endif
}

}  // namespace ruda::cuda::attention
