// cuda/attention/paged_attention_tile.cu - paged_attention for many queries a history, on the matrix units.
// SPDX-License-Identifier: Apache-2.0
//
// A block holds 64 rows, a row being a query and a head of one kv head's group, and walks tiles of keys with
// a running softmax; each of its four warps has 16 rows. Operands are TF32, which holds F16 and BF16 exactly;
// F32 queries and the softmax's weights go in as two parts, which leaves an error of 2^-22. Inside a product
// the index that is summed over is permuted so that neighbours lie in one lane: no value is shuffled.
#include "attention/paged_attention.hpp"
#include "attention/softmax_state.cuh"
#include "device/mma_tf32.cuh"

#include <algorithm>

namespace ruda::cuda::attention {
namespace {

constexpr int warps = 4, threads = warps * 32, rows = 64;
constexpr uint32_t fewest_queries = 16;      // of a plan
constexpr uint32_t fewest_of_a_history = 4;  // on average; below it a query a block is faster

template <class C, int Dim>
struct Tile {
  static constexpr int keys = Dim > 128 ? 32 : 64;
  static constexpr int q_stride = Dim + 8, k_stride = Dim + 8;  // no two lanes of a load meet in a bank
  float q[rows * q_stride];
  C k[keys * k_stride];
  C v[keys * k_stride];
  uint32_t sequence[rows], seen[rows];  // by query of the tile
};

__device__ inline float2 pair_of(const __half* from) {
  return __half22float2(*reinterpret_cast<const __half2*>(from));
}
__device__ inline float2 pair_of(const __nv_bfloat16* from) {
  const uint32_t bits = *reinterpret_cast<const uint32_t*>(from);
  return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xFFFF0000u)};
}

struct Parts {
  uint32_t high[4], low[4];
};

__device__ inline Parts split(float a0, float a1, float a2, float a3) {
  const float a[4] = {a0, a1, a2, a3};
  Parts p;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    p.high[i] = to_tf32(a[i]);
    p.low[i] = to_tf32(a[i] - __uint_as_float(p.high[i]));
  }
  return p;
}

template <class C, int Dim>
__device__ inline void load_keys(const Args& a, C* shared, const C* from, int64_t page_stride,
                                 int64_t slot_stride, uint32_t dim, const uint32_t* table, uint32_t first,
                                 uint32_t end) {
  using T = Tile<C, Dim>;
  constexpr int chunks = Dim / 8;
  for (int i = threadIdx.x; i < T::keys * chunks; i += threads) {
    const uint32_t row = i / chunks, column = i % chunks * 8, key = first + row;
    const bool valid = key < end && column < dim;
    const C* source = from;
    if (valid) source += table[key / a.page_size] * page_stride + key % a.page_size * slot_stride + column;
    load_async_16(shared + row * T::k_stride + column, source, valid);
  }
  commit_async();
}

// Split: q is F32.
template <class C, int Dim, bool Split>
__global__ void __launch_bounds__(threads) attend_tile(const __grid_constant__ Args a, uint32_t tile_heads) {
  using T = Tile<C, Dim>;
  constexpr int key_tiles = T::keys / 8;
  extern __shared__ __align__(16) unsigned char memory[];
  T& s = *reinterpret_cast<T*>(memory);
  const uint32_t live = a.words[0], tile_queries = rows / tile_heads;
  const uint32_t first_query = (gridDim.x - 1 - blockIdx.x) * tile_queries;  // the longest rows start first
  if (first_query >= live) return;
  const uint32_t queries = min(tile_queries, live - first_query);
  const uint32_t head_tiles = (a.group + tile_heads - 1) / tile_heads;
  const uint32_t kv_head = blockIdx.y / head_tiles, head_in_group = blockIdx.y % head_tiles * tile_heads;
  const uint32_t heads = min(tile_heads, a.group - head_in_group);
  const uint32_t first_head = kv_head * a.group + head_in_group;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  for (uint32_t i = threadIdx.x; i < queries; i += threads) {
    const uint32_t sequence = a.words[PagedSchedule::ids_word + first_query + i],
                   position = a.words[a.positions_word + first_query + i],
                   length = a.words[a.lengths_word + sequence];
    s.sequence[i] = sequence;
    s.seen[i] = a.causal && position < length ? position + 1 : length;
  }
  for (int i = threadIdx.x; i < rows * Dim; i += threads) {
    const uint32_t row = i / Dim, d = i % Dim, query = row / tile_heads, head = row % tile_heads;
    const bool valid = query < queries && head < heads && d < a.head_dim;
    const int64_t from = (first_query + query) * a.q_stride + (first_head + head) * a.q_head_stride + d;
    s.q[row * T::q_stride + d] = valid ? load_as_float(a.q, from, a.q_dtype) : 0.0f;
  }
  __syncthreads();

  // Of the two rows of a lane, g and g + 8 of its warp.
  const uint32_t row_query[2] = {(warp * 16 + g) / tile_heads, (warp * 16 + g + 8) / tile_heads};
  const uint32_t row_head[2] = {(warp * 16 + g) % tile_heads, (warp * 16 + g + 8) % tile_heads};
  float largest[2] = {-INFINITY, -INFINITY}, weight[2] = {0, 0};
  float out[Dim / 8][4] = {};

  const C* k = static_cast<const C*>(a.k) + kv_head * a.k_head;
  const C* v = static_cast<const C*>(a.v) + kv_head * a.v_head;
  for (uint32_t begin = 0; begin < queries;) {
    // Neighbours of one history; the rows of others see nothing meanwhile.
    const uint32_t sequence = s.sequence[begin];
    uint32_t end = begin, seen = 0;
    for (; end < queries && s.sequence[end] == sequence; ++end) seen = max(seen, s.seen[end]);
    uint32_t limit[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const bool in_run = row_query[r] >= begin && row_query[r] < end && row_head[r] < heads;
      limit[r] = in_run ? s.seen[row_query[r]] : 0;
    }
    const uint32_t warp_limit = __reduce_max_sync(~0u, max(limit[0], limit[1]));
    const uint32_t* table = a.words + a.tables_word + uint64_t(sequence) * a.table_stride;
    if (seen) {
      load_keys<C, Dim>(a, s.k, k, a.k_page, a.k_slot, a.head_dim, table, 0, seen);
      load_keys<C, Dim>(a, s.v, v, a.v_page, a.v_slot, a.value_dim, table, 0, seen);
    }
    for (uint32_t first = 0; first < seen; first += T::keys) {
      wait_async<1>();
      __syncthreads();
      const bool active = first < warp_limit;
      float score[key_tiles][4] = {};
      if (active) {
#pragma unroll 4
        for (int kk = 0; kk < Dim / 8; ++kk) {
          const float2 upper =
              *reinterpret_cast<const float2*>(&s.q[(warp * 16 + g) * T::q_stride + 8 * kk + 2 * t]);
          const float2 lower =
              *reinterpret_cast<const float2*>(&s.q[(warp * 16 + g + 8) * T::q_stride + 8 * kk + 2 * t]);
          const Parts q = split(upper.x, lower.x, upper.y, lower.y);
#pragma unroll
          for (int j = 0; j < key_tiles; ++j) {
            const float2 b = pair_of(&s.k[(8 * j + g) * T::k_stride + 8 * kk + 2 * t]);
            mma_16x8x8(score[j], q.high, __float_as_uint(b.x), __float_as_uint(b.y));
            if constexpr (Split) mma_16x8x8(score[j], q.low, __float_as_uint(b.x), __float_as_uint(b.y));
          }
        }
      }
      __syncthreads();
      if (first + T::keys < seen)
        load_keys<C, Dim>(a, s.k, k, a.k_page, a.k_slot, a.head_dim, table, first + T::keys, seen);
      else
        commit_async();

      if (active) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          float best = largest[r];
#pragma unroll
          for (int j = 0; j < key_tiles; ++j)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
              float& x = score[j][2 * r + c];
              x = first + 8 * j + 2 * t + c < limit[r] ? x * a.scale : -INFINITY;
              if (x > best) best = x;
            }
          best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
          best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
          const float factor = rescale(largest[r], best);
          largest[r] = best;
          weight[r] *= factor;
#pragma unroll
          for (int j = 0; j < key_tiles; ++j)
#pragma unroll
            for (int c = 0; c < 2; ++c) {
              float& x = score[j][2 * r + c];
              x = first + 8 * j + 2 * t + c < limit[r] ? score_weight(x, best) : 0.0f;
              weight[r] += x;
            }
#pragma unroll
          for (int j = 0; j < Dim / 8; ++j) {
            out[j][2 * r] *= factor;
            out[j][2 * r + 1] *= factor;
          }
        }
      }
      wait_async<1>();
      __syncthreads();
      if (active) {
#pragma unroll
        for (int kk = 0; kk < key_tiles; ++kk) {
          const Parts p = split(score[kk][0], score[kk][2], score[kk][1], score[kk][3]);
#pragma unroll
          for (int j = 0; j < Dim / 16; ++j) {
            const float2 x = pair_of(&s.v[(8 * kk + 2 * t) * T::k_stride + 16 * j + 2 * g]);
            const float2 y = pair_of(&s.v[(8 * kk + 2 * t + 1) * T::k_stride + 16 * j + 2 * g]);
            mma_16x8x8(out[2 * j], p.high, __float_as_uint(x.x), __float_as_uint(y.x));
            mma_16x8x8(out[2 * j + 1], p.high, __float_as_uint(x.y), __float_as_uint(y.y));
            mma_16x8x8(out[2 * j], p.low, __float_as_uint(x.x), __float_as_uint(y.x));
            mma_16x8x8(out[2 * j + 1], p.low, __float_as_uint(x.y), __float_as_uint(y.y));
          }
        }
      }
      __syncthreads();
      if (first + T::keys < seen)
        load_keys<C, Dim>(a, s.v, v, a.v_page, a.v_slot, a.value_dim, table, first + T::keys, seen);
      else
        commit_async();
    }
    wait_async<0>();
    __syncthreads();
    begin = end;
  }

#pragma unroll
  for (int r = 0; r < 2; ++r) {
    weight[r] += __shfl_xor_sync(~0u, weight[r], 1);
    weight[r] += __shfl_xor_sync(~0u, weight[r], 2);
    if (row_query[r] >= queries || row_head[r] >= heads) continue;
    const float inverse = weight[r] == 0 ? 0.0f : 1.0f / weight[r];
    const int64_t query = first_query + row_query[r], head = first_head + row_head[r];
    const int64_t to = query * a.out_stride + head * a.out_head_stride;
#pragma unroll
    for (int j = 0; j < Dim / 16; ++j)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const uint32_t d = 16 * j + 4 * t + c;
        if (d < a.value_dim)
          store_float(a.out, to + d, a.q_dtype, out[2 * j + c % 2][2 * r + c / 2] * inverse);
      }
    if (t == 0 && a.lse)
      a.lse[query * a.lse_stride + head * a.lse_head_stride] = log_sum(largest[r], weight[r]);
  }
}

struct TileState {
  Decode decode;  // for steps of few queries a history
  uint32_t tile_heads, dim;
  bool always;
};

template <class F>
auto visit(uint32_t dtype, uint32_t dim, bool split, F&& f) {
  const auto by_split = [&]<class C, int Dim>() {
    return split ? f.template operator()<C, Dim, true>() : f.template operator()<C, Dim, false>();
  };
  const auto by_dim = [&]<class C>() {
    if (dim == 64) return by_split.template operator()<C, 64>();
    if (dim == 128) return by_split.template operator()<C, 128>();
    return by_split.template operator()<C, 256>();
  };
  return dtype == RUDA_F16 ? by_dim.template operator()<__half>()
                           : by_dim.template operator()<__nv_bfloat16>();
}

}  // namespace

Verdict prepare_tile(const Problem& p, Prepare& prep) {
  const Operand &q = p[RUDA_PAGED_ATTENTION_Q], &k = p[RUDA_PAGED_ATTENTION_K];
  const auto& d = p.as<ruda_paged_attention_desc>();
  if (d.splits != RUDA_SPLITS_AUTO) return "splits that are not AUTO: rows must not depend on the batch";
  if (q.dim(0) < fewest_queries && p.forced_kernel.empty()) return "fewer than 16 queries";
  if (k.dtype() == RUDA_F32) return "an F32 cache";
  TileState s{};
  if (const Verdict verdict = plan_decode(p, prep, s.decode)) return verdict;
  const Args& a = s.decode.base.args;
  s.tile_heads = std::min<uint32_t>(a.group, rows);
  const uint32_t dim = std::max(a.head_dim, a.value_dim);
  s.dim = dim <= 64 ? 64 : dim <= 128 ? 128 : 256;
  s.always = !p.forced_kernel.empty();
  const DeviceScope scope(p.device());
  const Verdict verdict =
      visit(k.dtype(), s.dim, q.dtype() == RUDA_F32, [&]<class C, int Dim, bool Split>() -> Verdict {
        constexpr int bytes = int(sizeof(Tile<C, Dim>));
        if (bytes > capability_of(p).shared_bytes_per_block) return "too little shared memory";
        check_cuda(cudaFuncSetAttribute(attend_tile<C, Dim, Split>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                   "paged_attention");
        return nullptr;
      });
  if (verdict) return verdict;
  prep.state<TileState>() = s;
  return nullptr;
}

void run_tile(const Launch& l) {
  if (!ready(l)) return;
  const TileState& s = l.state<TileState>();
  const auto& schedule = l.object<PagedSchedule>(RUDA_PAGED_ATTENTION_SCHEDULE);
  if (!s.always && schedule.queries() < fewest_of_a_history * schedule.runs().size())
    return launch_decode(l, s.decode);
  const Args a = bind_args(l, s.decode.base.args);
  const Operand& q = l.problem[RUDA_PAGED_ATTENTION_Q];
  const unsigned tile_queries = rows / s.tile_heads, head_tiles = (a.group + s.tile_heads - 1) / s.tile_heads;
  const dim3 grid((unsigned(q.dim(0)) + tile_queries - 1) / tile_queries, a.q_heads / a.group * head_tiles);
  visit(l.problem[RUDA_PAGED_ATTENTION_K].dtype(), s.dim, q.dtype() == RUDA_F32,
        [&]<class C, int Dim, bool Split>() {
          attend_tile<C, Dim, Split><<<grid, threads, sizeof(Tile<C, Dim>), stream_of(l)>>>(a, s.tile_heads);
        });
  check_launch(l);
}

}  // namespace ruda::cuda::attention
