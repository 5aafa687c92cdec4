// cuda/attention/paged_attention_decode.cu - paged_attention for few queries a history: the heads of a group
// share each key and value.
// SPDX-License-Identifier: Apache-2.0
//
// A block serves one query, one kv head (a tile of its group) and one part of the history: every `parts`-th
// stretch of keys, so that the first pages can be looked up before the length is known. Lanes in a row hold
// eight elements each of a key, which is one or two 16-byte loads; a row of lanes walks its own keys with its
// own running softmax. Rows, warps and parts are merged in ascending order. Up to eight parts form a cluster
// that merges in shared memory; more go through the workspace.
#include "attention/decode_parts.cuh"
#include "device/dependent.cuh"
#include "runtime/visit.hpp"

#include <algorithm>

namespace ruda::cuda::attention {
namespace {

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

// Lanes: of one key, so that Lanes * 8 is the bucket of the head dims. Heads: of the group, at once.
template <class C, int Lanes, int Heads>
__global__ void __launch_bounds__(threads) attend_decode(const __grid_constant__ Args a, bool cluster) {
  constexpr int rows = 32 / Lanes, unroll = Heads > 4 ? 2 : 4;
  const uint32_t tiles = (a.group + Heads - 1) / Heads;
  const uint32_t query = blockIdx.x, kv_head = blockIdx.y / tiles, part = blockIdx.z;
  const uint32_t first_head = kv_head * a.group + blockIdx.y % tiles * Heads;
  const uint32_t heads = min(uint32_t(Heads), (kv_head + 1) * a.group - first_head);
  const Seat<Lanes> seat;
  const int warp = seat.warp, row = seat.row;
  const uint32_t d = seat.d;
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
  if (cluster) cluster_arrive();
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
  const uint32_t index = min(query, a.last_query);
  const uint32_t queries = load_now(a.words), sequence = load_now(a.words + PagedSchedule::ids_word + index),
                 position = load_now(a.words + a.positions_word + index);
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
  clear(sums);
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
    add_keys<Lanes>(key, value, q, base + row, end, sums);
  }

  if (!live) return;  // a whole cluster leaves
  const bool alone = cluster && in_first_part<Lanes, unroll>(end);
  if (alone && part) return;
  finish<Lanes>(a, cluster && !alone, alone ? 1 : a.parts, sums, query, first_head, heads, part);
}

template <class C, int Lanes, int Heads>
void launch(const Launch& l, const Args& a, bool cluster) {
  const unsigned tiles = (a.group + Heads - 1) / Heads;
  const dim3 grid(unsigned(l.problem[RUDA_PAGED_ATTENTION_Q].dim(0)), a.q_heads / a.group * tiles, a.parts);
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (a.early) attributes[count++] = early_start();
  if (cluster) attributes[count++] = cluster_of(a.parts);
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
  s.heads = uint8_t(heads_at_once(a.group));
  const int64_t blocks = q.dim(0) * k.dim(2) * ((a.group + s.heads - 1) / s.heads);
  const tune::Capability& device = capability_of(p);
  const int64_t tokens = k.dim(0) * k.dim(1);  // no history is longer
  a.parts = d.splits == RUDA_SPLITS_AUTO ? auto_parts(device, blocks, tokens) : std::max(d.splits, 1u);
  a.early = device.code_arch >= dependent_arch;
  a.pages = uint32_t(std::min<int64_t>(k.dim(0), UINT32_MAX));
  a.q_vectors = q.align_log2 >= 4;
  for (int axis = 0; axis < 2; ++axis)
    if (q.dim(axis) > 1 && q.stride(axis) % (16 / dtype_info(q.dtype()).block_bytes)) a.q_vectors = false;
  s.cluster = device.code_arch >= 90 && (a.parts == 2 || a.parts == 4 || a.parts == 8);
  if (a.parts > 1 && !s.cluster)
    s.base.partials = prep.book<float>(q.dim(0) * q.dim(1) * a.parts * (a.value_dim + 2));
  return nullptr;
}

void launch_decode(const Launch& l, const Decode& s) {
  Args a = bind_args(l, s.base.args);
  a.partials = a.parts > 1 && !s.cluster ? l.at<float>(s.base.partials) : nullptr;
  visit_float(l.problem[RUDA_PAGED_ATTENTION_K].dtype(), [&](auto t) { launch<decltype(t)>(l, a, s); });
}

}  // namespace ruda::cuda::attention
