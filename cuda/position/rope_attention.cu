// cuda/position/rope_attention.cu - rope_attention on the GPU: the decode kernel of paged_attention with rope
// and the append in front of it.
// SPDX-License-Identifier: Apache-2.0
//
// A block serves one query, one kv head (a tile of its group) and one part of the history, as in
// attention/paged_attention_decode.cu. Every block turns its queries and the new key, while the first keys
// are on their way; the row of lanes whose turn the new key is takes it from registers and writes it to the
// cache.
#include "attention/decode_parts.cuh"
#include "device/dependent.cuh"
#include "device/paging.cuh"
#include "plan/paged_schedule.hpp"
#include "position/rotary.cuh"
#include "runtime/visit.hpp"

namespace ruda::cuda {
namespace attention {
namespace {

constexpr uint32_t Q = RUDA_ROPE_ATTENTION_Q, K = RUDA_ROPE_ATTENTION_K, V = RUDA_ROPE_ATTENTION_V,
                   FREQUENCIES = RUDA_ROPE_ATTENTION_FREQUENCIES, OUT = RUDA_ROPE_ATTENTION_OUT,
                   K_CACHE = RUDA_ROPE_ATTENTION_K_CACHE, V_CACHE = RUDA_ROPE_ATTENTION_V_CACHE;
constexpr int most_pairs = 64;

// The new rows of keys and values, and their caches.
struct Fresh {
  const float *k, *v;
  void *k_cache, *v_cache;
  const float* frequencies;
  int64_t k_row, k_head, v_row, v_head;
  uint32_t last_query;  // that the schedule's image has room for
  int page_shift;       // log2 of the page size, or -1
};

__device__ inline void load_row(const float* from, bool active, float (&to)[lane_elements]) {
  Lane<float> raw;
  load_lane(from, active, raw);
  unpack(raw, to);
}

template <class C>
__device__ inline Lane<C> pack(const float (&x)[lane_elements]) {
  alignas(16) C elements[lane_elements];
  round_f32(x, elements);
  Lane<C> lane;
#pragma unroll
  for (int i = 0; i < int(sizeof(C) / 2); ++i) lane.raw[i] = reinterpret_cast<const uint4*>(elements)[i];
  return lane;
}

template <class C>
__device__ inline void store_lane(C* to, const Lane<C>& lane) {
#pragma unroll
  for (int i = 0; i < int(sizeof(C) / 2); ++i) reinterpret_cast<uint4*>(to)[i] = lane.raw[i];
}

// Elements d .. d + 7 of a head, turned. `other`: the other elements of their pairs where these lie half a
// rotation away.
__device__ inline void turn_lane(const Rotary& r, const Turn* turns, int d,
                                 const float (&other)[lane_elements], float (&x)[lane_elements]) {
  const int half = int(r.half);
  if (d >= 2 * half) return;
  if (r.interleaved) {
#pragma unroll
    for (int i = 0; i < lane_elements; i += 2)
      if ((d + i) / 2 < half) turn_pair(turns[(d + i) / 2], x[i], x[i + 1]);
  } else {
    const bool first = d < half;
    const Turn* from = turns + (first ? d : d - half);
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
      float u = first ? x[i] : other[i], v = first ? other[i] : x[i];
      turn_pair(from[i], u, v);
      x[i] = first ? u : v;
    }
  }
}

template <class C, int Lanes, int Heads>
__global__ void __launch_bounds__(threads)
    rope_attend(const __grid_constant__ Args a, const __grid_constant__ Fresh f,
                const __grid_constant__ Rotary r, bool cluster) {
  constexpr int rows = 32 / Lanes, unroll = Heads > 4 ? 2 : 4;
  const uint32_t tiles = (a.group + Heads - 1) / Heads, tile = blockIdx.y % tiles;
  const uint32_t query = blockIdx.x, kv_head = blockIdx.y / tiles, part = blockIdx.z;
  const uint32_t first_head = kv_head * a.group + tile * Heads;
  const uint32_t heads = min(uint32_t(Heads), (kv_head + 1) * a.group - first_head);
  __shared__ Turn turns[most_pairs];
  const Seat<Lanes> seat;
  const int warp = seat.warp, row = seat.row, pair = int(threadIdx.x), half = int(r.half);
  const uint32_t d = seat.d;
  const bool in_key = d < a.head_dim, in_value = d < a.value_dim;
  C* k = static_cast<C*>(f.k_cache) + kv_head * a.k_head + d;
  C* v = static_cast<C*>(f.v_cache) + kv_head * a.v_head + d;
  const uint32_t* tables = a.words + a.tables_word;
  const uint32_t first = (part * warps + warp) * (rows * unroll) + row;
  const double own_frequency = r.own_table && pair < half ? r.frequencies[pair] : 0.0;
  uint32_t pages[unroll];
  const auto page_of = [&](uint32_t j) { return f.page_shift >= 0 ? j >> f.page_shift : j / a.page_size; };
  const auto slot_of = [&](uint32_t j) {
    return f.page_shift >= 0 ? j & (a.page_size - 1) : j % a.page_size;
  };
  // Keys from `first` on; those beyond the table are never used.
  const auto look_up = [&](auto&& load, const uint32_t* table) {
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      pages[u] = load(table + min(page_of(first + u * rows), a.table_stride - 1));
  };
  if (cluster) cluster_arrive();
  let_next_start();
  uint32_t likely_position = 0;
  Turn likely_turn{};
  if (a.early) {
    // Keys and values come closer meanwhile, and the turns are made. The schedule may be about to change: it
    // only says what to fetch, and turns of another position are made again.
    const auto load_far = [](const uint32_t* from) { return __ldcg(from); };
    const uint32_t likely = load_far(a.words + a.lengths_word);
    look_up(load_far, tables);
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = first + u * rows, slot = slot_of(j);
      if (j > likely || pages[u] >= a.pages) continue;
      if (in_key) prefetch_far(k + pages[u] * a.k_page + slot * a.k_slot);
      if (in_value) prefetch_far(v + pages[u] * a.v_page + slot * a.v_slot);
    }
    likely_position = load_far(a.words + a.positions_word + min(query, f.last_query));
    if (r.own_table && pair < half) likely_turn = turn_by(r, double(likely_position) * own_frequency);
  }
  wait_for_previous();
  // Rows past the live count: what lies there is read and left aside.
  const uint32_t index = min(query, f.last_query);
  const uint32_t queries = load_now(a.words), sequence = load_now(a.words + PagedSchedule::ids_word + index),
                 position = load_now(a.words + a.positions_word + index);
  look_up(load_now, tables);
  float q[Heads][lane_elements], q_other[Heads][lane_elements], new_key[lane_elements],
      key_other[lane_elements], new_value[lane_elements];
  const float* q_from =
      static_cast<const float*>(a.q) + query * a.q_stride + first_head * a.q_head_stride + d;
  const float* k_from = f.k + query * f.k_row + kv_head * f.k_head + d;
#pragma unroll
  for (int h = 0; h < Heads; ++h) load_row(q_from + h * a.q_head_stride, h < int(heads) && in_key, q[h]);
  load_row(k_from, in_key, new_key);
  load_row(f.v + query * f.v_row + kv_head * f.v_head + d, in_value, new_value);
  if (!r.interleaved) {
    // Where the other elements of a lane's pairs are.
    const bool apart = in_key && int(d) < 2 * half;
    const int64_t away = int(d) < half ? half : -half;
#pragma unroll
    for (int h = 0; h < Heads; ++h)
      load_row(q_from + h * a.q_head_stride + away, h < int(heads) && apart, q_other[h]);
    load_row(k_from + away, apart, key_other);
  }
  const double frequency = r.own_table || pair >= half ? own_frequency : double(f.frequencies[pair]);
  if (query >= queries) return;  // a whole cluster leaves
  if (sequence) {
    tables += uint64_t(sequence) * a.table_stride;
    look_up(load_now, tables);
  }
  const uint32_t end = position + 1, stride = a.parts * warps * rows * unroll;
  const bool alone = cluster && in_first_part<Lanes, unroll>(end);
  if (alone && part) return;

  Lane<C> key[unroll], value[unroll];
  const auto fetch = [&](uint32_t base) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = base + u * rows + row, slot = slot_of(j);
      load_lane<C>(k + pages[u] * a.k_page + slot * a.k_slot, j < position && in_key, key[u]);
      load_lane<C>(v + pages[u] * a.v_page + slot * a.v_slot, j < position && in_value, value[u]);
    }
  };
  uint32_t base = first - row;
  if (base < end) fetch(base);
  if (pair < half)
    turns[pair] = a.early && r.own_table && position == likely_position
                      ? likely_turn
                      : turn_by(r, double(position) * frequency);
  __syncthreads();
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    turn_lane(r, turns, int(d), q_other[h], q[h]);
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) q[h][i] *= a.scale;
  }
  turn_lane(r, turns, int(d), key_other, new_key);
  const Lane<C> turned_key = pack<C>(new_key), packed_value = pack<C>(new_value);

  Sums<Heads> sums;
  clear(sums);
  for (; base < end; base += stride) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = base + u * rows + row, slot = slot_of(j);
      if (j != position) continue;
      key[u] = turned_key;
      value[u] = packed_value;
      if (tile) continue;
      if (in_key) store_lane(k + pages[u] * a.k_page + slot * a.k_slot, turned_key);
      if (in_value) store_lane(v + pages[u] * a.v_page + slot * a.v_slot, packed_value);
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const uint32_t j = base + stride + u * rows + row;
      if (j < end) pages[u] = tables[page_of(j)];
    }
    add_keys<Lanes>(key, value, q, base + row, end, sums);
    if (base + stride < end) fetch(base + stride);
  }
  finish<Lanes>(a, cluster && !alone, alone ? 1 : a.parts, sums, query, first_head, heads, part);
}

struct RopeDecode {
  Args args;
  Fresh fresh;
  Rotary rotary;
  unsigned rows;
  bool cluster, wide;  // wide: head dims above 64
  int heads;
};

Verdict prepare_rope(const Problem& p, Prepare& prep) {
  const Operand &q = p[Q], &k = p[K], &v = p[V], &keys = p[K_CACHE], &values = p[V_CACHE], &out = p[OUT];
  const tune::Capability& device = capability_of(p);
  const RopeConstants& c = rope_constants_of<ruda_rope_attention_desc>(p.options);
  if (device.code_arch < 90) return "before compute capability 9.0";
  if (q.dtype() != RUDA_F32) return "rows that are not F32";
  if (q.dim(0) > INT32_MAX) return "more than 2^31 - 1 rows";
  if (q.dim(1) > 65535) return "more than 65535 heads";
  const int64_t dim = std::max(q.dim(2), v.dim(2));
  if (dim > 2 * most_pairs) return "a head dim above 128";
  if (!aligned(keys) || !aligned(values)) return "caches that 16-byte loads do not fit";
  for (const Operand* rows : {&q, &k, &v}) {
    if (rows->align_log2 < 4) return "rows not aligned to 16 bytes";
    for (int axis = 0; axis < 2; ++axis)
      if (rows->dim(axis) > 1 && rows->stride(axis) % 4) return "heads not aligned to 16 bytes";
  }
  if (c.pairing == RUDA_ROPE_HALF && c.half % lane_elements) return "halves not in whole 16-byte pieces";
  RopeDecode& s = prep.state<RopeDecode>();
  Args& a = s.args;
  a.q_stride = q.stride(0), a.q_head_stride = q.stride(1);
  a.out_stride = out.stride(0), a.out_head_stride = out.stride(1);
  a.k_page = keys.stride(0), a.k_slot = keys.stride(1), a.k_head = keys.stride(2);
  a.v_page = values.stride(0), a.v_slot = values.stride(1), a.v_head = values.stride(2);
  a.page_size = uint32_t(keys.dim(1));
  a.group = uint32_t(q.dim(1) / k.dim(1));
  a.q_heads = uint32_t(q.dim(1));
  a.head_dim = uint32_t(q.dim(2)), a.value_dim = uint32_t(v.dim(2));
  a.q_dtype = q.dtype();
  a.scale = float(p.as<ruda_rope_attention_desc>().scale);
  a.pages = uint32_t(std::min<int64_t>(keys.dim(0), UINT32_MAX));
  a.early = device.code_arch >= dependent_arch;
  s.rows = unsigned(q.dim(0));
  s.wide = dim > 64;
  s.heads = heads_at_once(a.group);
  const int64_t blocks = q.dim(0) * k.dim(1) * ((a.group + s.heads - 1) / s.heads);
  a.parts = auto_parts(device, blocks, keys.dim(0) * keys.dim(1));
  if (a.parts > most_cluster) return "histories that are cut into more than eight parts";
  s.cluster = a.parts > 1;
  s.fresh.page_shift = page_shift(int(a.page_size));
  s.fresh.k_row = k.stride(0), s.fresh.k_head = k.stride(1);
  s.fresh.v_row = v.stride(0), s.fresh.v_head = v.stride(1);
  s.rotary.set(c, p[FREQUENCIES].present);
  prep.note(format("%u parts", a.parts));
  return nullptr;
}

template <class C, int Lanes, int Heads>
void launch_rope(const Launch& l, Args& a, Fresh& f) {
  const RopeDecode& s = l.state<RopeDecode>();
  const unsigned tiles = (a.group + Heads - 1) / Heads;
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (a.early) attributes[count++] = early_start();
  bool cluster = s.cluster;
  if (cluster) attributes[count++] = cluster_of(a.parts);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(s.rows, a.q_heads / a.group * tiles, a.parts);
  config.blockDim = dim3(threads);
  config.stream = stream_of(l);
  config.attrs = attributes;
  config.numAttrs = count;
  void* arguments[] = {&a, &f, const_cast<Rotary*>(&s.rotary), &cluster};
  check_cuda(
      cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(rope_attend<C, Lanes, Heads>), arguments),
      "rope_attention");
}

template <class C, int Lanes>
void launch_rope(const Launch& l, Args& a, Fresh& f) {
  switch (l.state<RopeDecode>().heads) {
    case 1: return launch_rope<C, Lanes, 1>(l, a, f);
    case 3: return launch_rope<C, Lanes, 3>(l, a, f);
    case 4: return launch_rope<C, Lanes, 4>(l, a, f);
    default: return launch_rope<C, Lanes, 8>(l, a, f);
  }
}

template <class C>
void launch_rope(const Launch& l, Args& a, Fresh& f) {
  return l.state<RopeDecode>().wide ? launch_rope<C, 16>(l, a, f) : launch_rope<C, 8>(l, a, f);
}

void run_rope(const Launch& l) {
  const PagedSchedule& schedule = one_token_schedule(l, RUDA_ROPE_ATTENTION_SCHEDULE, K_CACHE, Q);
  if (l.problem[Q].layout->elements == 0) return;
  schedule.use_on(l.stream);
  Args a = l.state<RopeDecode>().args;
  Fresh f = l.state<RopeDecode>().fresh;
  a.q = l.ptr<const void>(Q);
  a.out = l.ptr<void>(OUT);
  f.k = l.ptr<const float>(K), f.v = l.ptr<const float>(V);
  f.k_cache = l.ptr<void>(K_CACHE), f.v_cache = l.ptr<void>(V_CACHE);
  f.frequencies = l.ptr<const float>(FREQUENCIES);
  a.words = schedule.device_words();
  a.positions_word = schedule.positions_word();
  a.lengths_word = schedule.lengths_word();
  a.tables_word = schedule.tables_word();
  a.table_stride = schedule.table_stride();
  f.last_query = std::max(schedule.capacity().max_queries, 1u) - 1;
  visit_float(l.problem[K_CACHE].dtype(), [&](auto t) { launch_rope<decltype(t)>(l, a, f); });
}

constexpr Kernel rope_list[] = {{"cuda/rope_attention/decode", prepare_rope, run_rope}};

}  // namespace
}  // namespace attention

extern constinit const Kernels rope_attention{attention::rope_list};

}  // namespace ruda::cuda
