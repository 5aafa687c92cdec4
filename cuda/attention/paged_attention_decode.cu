// cuda/attention/paged_attention_decode.cu - paged_attention for few queries a history: the heads of a group
// share each key and value.
// SPDX-License-Identifier: Apache-2.0
//
// A block serves one query, one kv head (a tile of its group) and one part of the history: every `parts`-th
// stretch of keys, so that the first pages can be looked up before the length is known. Lanes in a row hold
// eight elements each of a key, which is one or two 16-byte loads; a row of lanes walks its own keys with its
// own running softmax. Rows, warps and parts are merged in ascending order. Up to eight parts form a cluster
// that merges in shared memory; more go through the workspace.
#include "attention/paged_attention.hpp"
#include "attention/softmax_state.cuh"
#include "device/convert.cuh"
#include "device/dependent.cuh"
#include "device/vec.cuh"

#include <cooperative_groups.h>

#include <algorithm>

namespace ruda::cuda::attention {
namespace {

namespace cg = cooperative_groups;

constexpr int warps = 4, threads = warps * 32;
constexpr int lane_elements = 8;
constexpr int most_cluster = 8, most_parts = 32;
constexpr int64_t cluster_tokens = 16384;  // histories up to here are served by eight parts

// Sums of one head: largest score, weight, and the value elements of a lane.
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

// The queries of a lane, scaled. All loads are on their way before the first is used.
template <class T, int Heads>
__device__ inline void load_queries(const Args& a, int64_t from, uint32_t heads, bool active,
                                    float (&q)[Heads][lane_elements]) {
  const T* first = static_cast<const T*>(a.q) + from;
  if (a.q_vectors) {
    Lane<T> raw[Heads];
#pragma unroll
    for (int h = 0; h < Heads; ++h) load_lane(first + h * a.q_head_stride, h < int(heads) && active, raw[h]);
#pragma unroll
    for (int h = 0; h < Heads; ++h) unpack(raw[h], q[h]);
  } else {
    T raw[Heads][lane_elements];
#pragma unroll
    for (int h = 0; h < Heads; ++h)
#pragma unroll
      for (int i = 0; i < lane_elements; ++i)
        raw[h][i] = h < int(heads) && active ? first[h * a.q_head_stride + i] : from_f32<T>(0.0f);
#pragma unroll
    for (int h = 0; h < Heads; ++h)
#pragma unroll
      for (int i = 0; i < lane_elements; ++i) q[h][i] = to_f32(raw[h][i]);
  }
#pragma unroll
  for (int h = 0; h < Heads; ++h)
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) q[h][i] *= a.scale;
}

template <int Heads>
__device__ inline void load_queries(const Args& a, int64_t from, uint32_t heads, bool active,
                                    float (&q)[Heads][lane_elements]) {
  switch (a.q_dtype) {
    case RUDA_F32: return load_queries<float>(a, from, heads, active, q);
    case RUDA_F16: return load_queries<__half>(a, from, heads, active, q);
    default: return load_queries<__nv_bfloat16>(a, from, heads, active, q);
  }
}

// a += b, whose softmax ran apart.
template <int Heads>
__device__ inline void join(Sums<Heads>& a, const Sums<Heads>& b) {
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    const float largest = fmaxf(a.largest[h], b.largest[h]);
    const float fa = rescale(a.largest[h], largest), fb = rescale(b.largest[h], largest);
    a.weight[h] = fmaf(b.weight[h], fb, a.weight[h] * fa);
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) a.value[h][i] = fmaf(b.value[h][i], fb, a.value[h][i] * fa);
    a.largest[h] = largest;
  }
}

// One head's sums in shared memory: values, then largest and weight.
template <int Lanes>
struct alignas(16) Shared {
  float value[Lanes * lane_elements];
  float largest, weight;
};

// Lanes: of one key, so that Lanes * 8 is the bucket of the head dims. Heads: of the group, at once.
template <class C, int Lanes, int Heads>
__global__ void __launch_bounds__(threads) attend_decode(const __grid_constant__ Args a, bool cluster) {
  constexpr int rows = 32 / Lanes, unroll = Heads > 4 ? 2 : 4;
  const uint32_t tiles = (a.group + Heads - 1) / Heads;
  const uint32_t query = blockIdx.x, kv_head = blockIdx.y / tiles, part = blockIdx.z;
  const uint32_t first_head = kv_head * a.group + blockIdx.y % tiles * Heads;
  const uint32_t heads = min(uint32_t(Heads), (kv_head + 1) * a.group - first_head);
  __shared__ Shared<Lanes> shared[warps][Heads];
  __shared__ float factors[warps][Heads];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = lane / Lanes, column = lane % Lanes;
  const uint32_t d = column * lane_elements;
  const bool in_key = d < a.head_dim, in_value = d < a.value_dim;
  const C* k = static_cast<const C*>(a.k) + kv_head * a.k_head + d;
  const C* v = static_cast<const C*>(a.v) + kv_head * a.v_head + d;
  const uint32_t* tables = a.words + a.tables_word;
  const uint32_t first = (part * warps + warp) * (rows * unroll) + row;
  uint32_t pages[unroll];
  // Keys from `first` on; those beyond the table are never used.
  const auto look_up = [&](auto&& load, const uint32_t* table) {
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      pages[u] = load(table + min((first + u * rows) / a.page_size, a.table_stride - 1));
  };
  let_next_start();
  if (a.early) {
    // Keys and values come closer meanwhile. The schedule may be about to change: it only says what to fetch.
    const auto load_far = [](const uint32_t* from) { return __ldcg(from); };
    const uint32_t likely = load_far(a.words + a.lengths_word);
    look_up(load_far, tables);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = first + u * rows, slot = j % a.page_size;
      if (j > likely || pages[u] >= a.pages) continue;
      if (in_key) prefetch_far(k + pages[u] * a.k_page + slot * a.k_slot);
      if (in_value) prefetch_far(v + pages[u] * a.v_page + slot * a.v_slot);
    }
  }
  wait_for_previous();
  // What most schedules need is on its way with the first words: the length and the pages of sequence 0.
  const uint32_t queries = load_now(a.words), sequence = load_now(a.words + PagedSchedule::ids_word + query),
                 position = load_now(a.words + a.positions_word + query);
  uint32_t length = load_now(a.words + a.lengths_word);
  look_up(load_now, tables);
  const bool live = query < queries;
  if (live && sequence) {
    tables += uint64_t(sequence) * a.table_stride;
    length = a.words[a.lengths_word + sequence];
    look_up(load_now, tables);
  }
  const uint32_t end = !live ? 0 : a.causal && position < length ? position + 1 : length;

  float q[Heads][lane_elements];
  Sums<Heads> sums;
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    sums.largest[h] = -INFINITY;
    sums.weight[h] = 0;
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) sums.value[h][i] = 0;
  }
  load_queries(a, query * a.q_stride + first_head * a.q_head_stride + d, heads, in_key && live, q);

  for (uint32_t base = first - row; base < end; base += a.parts * warps * rows * unroll) {
    Lane<C> key[unroll], value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = base + u * rows + row, slot = j % a.page_size;
      const bool valid = j < end;
      load_lane(k + pages[u] * a.k_page + slot * a.k_slot, valid && in_key, key[u]);
      load_lane(v + pages[u] * a.v_page + slot * a.v_slot, valid && in_value, value[u]);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = base + (a.parts * warps * unroll + u) * rows + row;
      if (j < end) pages[u] = tables[j / a.page_size];
    }
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
        if (base + u * rows + row < end && score[h][u] > largest) largest = score[h][u];
      factor[h] = rescale(sums.largest[h], largest);
      sums.largest[h] = largest;
      sums.weight[h] *= factor[h];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        score[h][u] = score_weight(base + u * rows + row < end ? score[h][u] : -INFINITY, largest);
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

  if (!live) return;  // a whole cluster leaves

    // Rows of lanes: the first row ends with the sum of all.
#pragma unroll
  for (int offset = Lanes; offset < 32; offset *= 2) {
    Sums<Heads> other;
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      other.largest[h] = __shfl_down_sync(~0u, sums.largest[h], offset);
      other.weight[h] = __shfl_down_sync(~0u, sums.weight[h], offset);
#pragma unroll
      for (int i = 0; i < lane_elements; ++i)
        other.value[h][i] = __shfl_down_sync(~0u, sums.value[h][i], offset);
    }
    join(sums, other);
  }
  // Warps.
  if (row == 0) {
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      Shared<Lanes>& to = shared[warp][h];
#pragma unroll
      for (int i = 0; i < lane_elements; ++i) to.value[d + i] = sums.value[h][i];
      if (column == 0) {
        to.largest = sums.largest[h];
        to.weight = sums.weight[h];
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < warps * Heads) {
    const int w = threadIdx.x / Heads, h = threadIdx.x % Heads;
    float most = -INFINITY;
    for (int i = 0; i < warps; ++i) most = fmaxf(most, shared[i][h].largest);
    factors[w][h] = rescale(shared[w][h].largest, most);
  }
  __syncthreads();
  float largest[Heads], weight[Heads];
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    largest[h] = -INFINITY;
    weight[h] = 0;
    for (int w = 0; w < warps; ++w) {
      largest[h] = fmaxf(largest[h], shared[w][h].largest);
      weight[h] = fmaf(shared[w][h].weight, factors[w][h], weight[h]);
    }
  }
  const auto total = [&](int h, uint32_t e) {
    float sum = 0;
    for (int w = 0; w < warps; ++w) sum = fmaf(shared[w][h].value[e], factors[w][h], sum);
    return sum;
  };
  if (!cluster && a.parts > 1) {
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      if (h >= int(heads)) break;
      const uint64_t at = (uint64_t(query) * a.q_heads + first_head + h) * a.parts + part;
      float* partial = a.partials + at * (a.value_dim + 2);
      for (uint32_t e = threadIdx.x; e < a.value_dim; e += threads) partial[e] = total(h, e);
      if (threadIdx.x == 0) {
        partial[a.value_dim] = largest[h];
        partial[a.value_dim + 1] = weight[h];
      }
    }
    return;
  }
  if (!cluster) {
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      if (h >= int(heads)) break;
      const float inverse = weight[h] == 0 ? 0.0f : 1.0f / weight[h];
      const int64_t to = query * a.out_stride + (first_head + h) * a.out_head_stride;
      for (uint32_t e = threadIdx.x; e < a.value_dim; e += threads)
        store_float(a.out, to + e, a.q_dtype, total(h, e) * inverse);
      if (threadIdx.x == 0 && a.lse)
        a.lse[query * a.lse_stride + (first_head + h) * a.lse_head_stride] = log_sum(largest[h], weight[h]);
    }
    return;
  }

  // Parts: each block leaves its sums in its own shared memory, all of the cluster read them.
#if __CUDA_ARCH__ >= 900
  __shared__ Shared<Lanes> whole[Heads];
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    for (uint32_t e = threadIdx.x; e < a.value_dim; e += threads) whole[h].value[e] = total(h, e);
    if (threadIdx.x == 0) {
      whole[h].largest = largest[h];
      whole[h].weight = weight[h];
    }
  }
  const cg::cluster_group group = cg::this_cluster();
  group.sync();
  for (uint32_t at = part * threads + threadIdx.x; at < heads * a.value_dim; at += a.parts * threads) {
    const uint32_t h = at / a.value_dim, e = at % a.value_dim;
    float part_largest[most_cluster], part_weight[most_cluster], part_value[most_cluster];
    float best = -INFINITY, sum = 0, value = 0;
#pragma unroll
    for (int p = 0; p < most_cluster; ++p) {
      if (p >= int(a.parts)) break;
      const Shared<Lanes>* from = group.map_shared_rank(&whole[h], p);
      part_largest[p] = from->largest;
      part_weight[p] = from->weight;
      part_value[p] = from->value[e];
    }
#pragma unroll
    for (int p = 0; p < most_cluster; ++p)
      if (p < int(a.parts)) best = fmaxf(best, part_largest[p]);
#pragma unroll
    for (int p = 0; p < most_cluster; ++p) {
      if (p >= int(a.parts)) break;
      const float factor = rescale(part_largest[p], best);
      sum = fmaf(part_weight[p], factor, sum);
      value = fmaf(part_value[p], factor, value);
    }
    const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
    store_float(a.out, query * a.out_stride + (first_head + h) * a.out_head_stride + e, a.q_dtype,
                value * inverse);
    if (e == 0 && a.lse)
      a.lse[query * a.lse_stride + (first_head + h) * a.lse_head_stride] = log_sum(best, sum);
  }
  group.sync();  // shared memory stays until it was read
#endif
}

bool aligned(const Operand& cache) {
  const int64_t step = cache.dtype() == RUDA_F32 ? 4 : 8;
  if (cache.align_log2 < 4 || cache.dim(3) % lane_elements) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (cache.dim(axis) > 1 && cache.stride(axis) % step) return false;
  return true;
}

template <class C, int Lanes, int Heads>
void launch(const Launch& l, const Args& a, bool cluster) {
  const unsigned tiles = (a.group + Heads - 1) / Heads;
  const dim3 grid(unsigned(l.problem[RUDA_PAGED_ATTENTION_Q].dim(0)), a.q_heads / a.group * tiles, a.parts);
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (a.early) attributes[count++] = early_start();
  if (cluster) {
    cudaLaunchAttribute& attribute = attributes[count++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = a.parts;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.stream = stream_of(l);
  config.attrs = attributes;
  config.numAttrs = count;
  check_cuda(cudaLaunchKernelEx(&config, attend_decode<C, Lanes, Heads>, a, cluster), "paged_attention");
  check_launch(l);
  if (a.parts > 1 && !cluster) merge_parts(l, a);
}

template <class C, int Lanes>
void launch(const Launch& l, const Args& a, const Decode& s) {
  switch (s.heads) {
    case 1: return launch<C, Lanes, 1>(l, a, s.cluster);
    case 3: return launch<C, Lanes, 3>(l, a, s.cluster);
    case 4: return launch<C, Lanes, 4>(l, a, s.cluster);
    default: return launch<C, Lanes, 8>(l, a, s.cluster);
  }
}

template <class C>
void launch(const Launch& l, const Args& a, const Decode& s) {
  switch (s.lanes) {
    case 8: return launch<C, 8>(l, a, s);
    case 16: return launch<C, 16>(l, a, s);
    default: return launch<C, 32>(l, a, s);
  }
}

}  // namespace

Verdict plan_decode(const Problem& p, Prepare& prep, Decode& s) {
  const Operand &q = p[RUDA_PAGED_ATTENTION_Q], &k = p[RUDA_PAGED_ATTENTION_K],
                &v = p[RUDA_PAGED_ATTENTION_V];
  const auto& d = p.as<ruda_paged_attention_desc>();
  if (q.dim(0) > INT32_MAX) return "more than 2^31 - 1 queries";
  if (q.dim(1) > 65535) return "more than 65535 heads";
  if (std::max(k.dim(3), v.dim(3)) > 256) return "a head dim above 256";
  if (!aligned(k) || !aligned(v)) return "keys or values that 16-byte loads do not fit";
  s = {};
  Args& a = s.base.args = plan_args(p);
  const int64_t dim = std::max(k.dim(3), v.dim(3));
  s.lanes = dim <= 64 ? 8 : dim <= 128 ? 16 : 32;
  s.heads = uint8_t(a.group == 1 ? 1 : a.group == 3 ? 3 : a.group <= 4 ? 4 : 8);
  const int64_t blocks = q.dim(0) * k.dim(2) * ((a.group + s.heads - 1) / s.heads);
  const tune::Capability& device = capability_of(p);
  const int64_t tokens = k.dim(0) * k.dim(1);  // no history is longer
  const bool clusters = device.code_arch >= 90;
  if (d.splits == RUDA_SPLITS_AUTO) {
    // Two blocks a multiprocessor keep the memory busy; a part below 64 keys is not worth its merge.
    const int64_t wanted = 2 * int64_t(device.multiprocessors) / std::max<int64_t>(blocks, 1);
    const int64_t useful = std::max<int64_t>(tokens / 64, 1);
    int64_t parts = std::clamp<int64_t>(std::min(wanted, useful), 1, most_parts);
    if (clusters && (parts <= most_cluster || tokens <= cluster_tokens)) {
      int64_t power = 1;
      while (power * 2 <= std::min<int64_t>(parts, most_cluster)) power *= 2;
      parts = power;
    }
    a.parts = uint32_t(parts);
  } else {
    a.parts = std::max(d.splits, 1u);
  }
  a.early = device.code_arch >= dependent_arch;
  a.pages = uint32_t(std::min<int64_t>(k.dim(0), UINT32_MAX));
  a.q_vectors = q.align_log2 >= 4;
  for (int axis = 0; axis < 2; ++axis)
    if (q.dim(axis) > 1 && q.stride(axis) % (16 / dtype_info(q.dtype()).block_bytes)) a.q_vectors = false;
  s.cluster = clusters && (a.parts == 2 || a.parts == 4 || a.parts == 8);
  if (a.parts > 1 && !s.cluster)
    s.base.partials = prep.book<float>(q.dim(0) * q.dim(1) * a.parts * (a.value_dim + 2));
  return nullptr;
}

void launch_decode(const Launch& l, const Decode& s) {
  Args a = bind_args(l, s.base.args);
  a.partials = a.parts > 1 && !s.cluster ? l.at<float>(s.base.partials) : nullptr;
  switch (l.problem[RUDA_PAGED_ATTENTION_K].dtype()) {
    case RUDA_F32: return launch<float>(l, a, s);
    case RUDA_F16: return launch<__half>(l, a, s);
    default: return launch<__nv_bfloat16>(l, a, s);
  }
}

}  // namespace ruda::cuda::attention
