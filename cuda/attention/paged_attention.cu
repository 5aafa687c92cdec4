// cuda/attention/paged_attention.cu - paged_attention on the GPU: one block a (query, head, part), keys over
// warps.
// SPDX-License-Identifier: Apache-2.0
#include "attention/paged_attention.hpp"
#include "attention/softmax_state.cuh"
#include "runtime/visit.hpp"

#include <algorithm>

namespace ruda::cuda {
namespace attention {
namespace {

constexpr int warps = 4, threads = warps * 32;
constexpr int64_t auto_blocks = 256;  // blocks below which AUTO splits
constexpr uint32_t Q = RUDA_PAGED_ATTENTION_Q, K = RUDA_PAGED_ATTENTION_K, V = RUDA_PAGED_ATTENTION_V,
                   OUT = RUDA_PAGED_ATTENTION_OUT, LSE = RUDA_PAGED_ATTENTION_LSE;

__device__ inline float warp_sum(float x) {
  for (int offset = 16; offset; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

// Each lane holds elements lane, lane + 32, ... of the query and of the sums: `held` of them at most.
template <class T, class C, int held>
__global__ void __launch_bounds__(threads) attend(const __grid_constant__ Args a) {
  const uint32_t query = blockIdx.x, head = blockIdx.y, part = blockIdx.z;
  if (query >= a.words[0]) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t sequence = a.words[PagedSchedule::ids_word + query],
                 position = a.words[a.positions_word + query];
  const uint32_t length = a.words[a.lengths_word + sequence];
  const uint32_t* table = a.words + a.tables_word + uint64_t(sequence) * a.table_stride;
  const uint32_t seen = a.causal && position < length ? position + 1 : length;
  const uint32_t keys = (length + a.parts - 1) / a.parts, begin = min(part * keys, seen),
                 end = min(begin + keys, seen);

  float q[held], sums[held];
  const T* from = static_cast<const T*>(a.q) + query * a.q_stride + head * a.q_head_stride;
#pragma unroll
  for (int i = 0; i < held; ++i) {
    const uint32_t d = lane + 32 * i;
    q[i] = d < a.head_dim ? float(from[d]) * a.scale : 0.0f;
    sums[i] = 0;
  }
  float largest = -INFINITY, weight = 0;
  const C* k = static_cast<const C*>(a.k) + head / a.group * a.k_head;
  const C* v = static_cast<const C*>(a.v) + head / a.group * a.v_head;
  for (uint32_t j = begin + warp; j < end; j += warps) {
    const int64_t page = table[j / a.page_size], slot = j % a.page_size;
    const C* key = k + page * a.k_page + slot * a.k_slot;
    float score = 0;
#pragma unroll
    for (int i = 0; i < held; ++i)
      if (lane + 32 * i < a.head_dim) score = fmaf(q[i], float(key[lane + 32 * i]), score);
    score = warp_sum(score);
    const float before = largest;
    if (score > largest) largest = score;
    const float factor = rescale(before, largest), p = score_weight(score, largest);
    weight = fmaf(weight, factor, p);
    const C* value = v + page * a.v_page + slot * a.v_slot;
#pragma unroll
    for (int i = 0; i < held; ++i)
      if (lane + 32 * i < a.value_dim) sums[i] = fmaf(p, float(value[lane + 32 * i]), sums[i] * factor);
  }

  // The warps' sums in warp order.
  __shared__ float shared_sums[warps][held * 32];
  __shared__ float shared_largest[warps], shared_weight[warps];
#pragma unroll
  for (int i = 0; i < held; ++i) shared_sums[warp][lane + 32 * i] = sums[i];
  if (lane == 0) {
    shared_largest[warp] = largest;
    shared_weight[warp] = weight;
  }
  __syncthreads();
  largest = -INFINITY;
  for (int w = 0; w < warps; ++w) largest = fmaxf(largest, shared_largest[w]);
  weight = 0;
  for (int w = 0; w < warps; ++w)
    weight = fmaf(shared_weight[w], rescale(shared_largest[w], largest), weight);
  const float inverse = weight == 0 ? 0.0f : 1.0f / weight;
  float* partial = nullptr;
  if (a.partials) {
    const uint64_t row = (uint64_t(query) * gridDim.y + head) * a.parts + part;
    partial = a.partials + row * (a.value_dim + 2);
  }
  T* out = static_cast<T*>(a.out) + query * a.out_stride + head * a.out_head_stride;
  for (uint32_t d = threadIdx.x; d < a.value_dim; d += threads) {
    float total = 0;
    for (int w = 0; w < warps; ++w)
      total = fmaf(shared_sums[w][d], rescale(shared_largest[w], largest), total);
    if (partial)
      partial[d] = total;
    else
      out[d] = T(total * inverse);
  }
  if (threadIdx.x) return;
  if (partial) {
    partial[a.value_dim] = largest;
    partial[a.value_dim + 1] = weight;
  } else if (a.lse) {
    a.lse[query * a.lse_stride + head * a.lse_head_stride] = log_sum(largest, weight);
  }
}

__global__ void __launch_bounds__(threads) merge(const __grid_constant__ Args a) {
  const uint32_t query = blockIdx.x, head = blockIdx.y;
  if (query >= a.words[0]) return;
  const uint64_t row = uint64_t(query) * gridDim.y + head, step = a.value_dim + 2;
  const float* parts = a.partials + row * a.parts * step;
  float largest = -INFINITY, weight = 0;
  for (uint32_t i = 0; i < a.parts; ++i) largest = fmaxf(largest, parts[i * step + a.value_dim]);
  for (uint32_t i = 0; i < a.parts; ++i)
    weight = fmaf(parts[i * step + a.value_dim + 1], rescale(parts[i * step + a.value_dim], largest), weight);
  const float inverse = weight == 0 ? 0.0f : 1.0f / weight;
  const int64_t to = query * a.out_stride + head * a.out_head_stride;
  for (uint32_t d = threadIdx.x; d < a.value_dim; d += threads) {
    float total = 0;
    for (uint32_t i = 0; i < a.parts; ++i)
      total = fmaf(parts[i * step + d], rescale(parts[i * step + a.value_dim], largest), total);
    store_float(a.out, to + d, a.q_dtype, total * inverse);
  }
  if (threadIdx.x == 0 && a.lse)
    a.lse[query * a.lse_stride + head * a.lse_head_stride] = log_sum(largest, weight);
}

}  // namespace

Args plan_args(const Problem& p) {
  const Operand &q = p[Q], &k = p[K], &v = p[V], &out = p[OUT], &lse = p[LSE];
  const auto& d = p.as<ruda_paged_attention_desc>();
  Args a{};
  a.q_stride = q.stride(0);
  a.q_head_stride = q.stride(1);
  a.out_stride = out.stride(0);
  a.out_head_stride = out.stride(1);
  a.lse_stride = lse.present ? lse.stride(0) : 0;
  a.lse_head_stride = lse.present ? lse.stride(1) : 0;
  a.k_page = k.stride(0);
  a.k_slot = k.stride(1);
  a.k_head = k.stride(2);
  a.v_page = v.stride(0);
  a.v_slot = v.stride(1);
  a.v_head = v.stride(2);
  a.page_size = uint32_t(k.dim(1));
  a.group = uint32_t(q.dim(1) / k.dim(2));
  a.q_heads = uint32_t(q.dim(1));
  a.head_dim = uint32_t(q.dim(2));
  a.value_dim = uint32_t(v.dim(3));
  a.q_dtype = q.dtype();
  a.scale = float(d.scale);
  a.causal = d.causal;
  a.parts = 1;
  return a;
}

bool ready(const Launch& l) {
  const PagedSchedule& schedule = fitting_schedule(l, RUDA_PAGED_ATTENTION_SCHEDULE, K, Q);
  if (l.problem[Q].layout->elements == 0) return false;
  schedule.use_on(l.stream);
  return true;
}

Args bind_args(const Launch& l, Args a) {
  const auto& schedule = l.object<PagedSchedule>(RUDA_PAGED_ATTENTION_SCHEDULE);
  a.q = l.ptr<const void>(Q);
  a.k = l.ptr<const void>(K);
  a.v = l.ptr<const void>(V);
  a.out = l.ptr<void>(OUT);
  a.lse = l.ptr<float>(LSE);
  a.words = schedule.device_words();
  a.positions_word = schedule.positions_word();
  a.lengths_word = schedule.lengths_word();
  a.tables_word = schedule.tables_word();
  a.table_stride = schedule.table_stride();
  a.last_query = std::max(schedule.capacity().max_queries, 1u) - 1;
  return a;
}

void merge_parts(const Launch& l, const Args& a) {
  merge<<<dim3(unsigned(l.problem[Q].dim(0)), a.q_heads), threads, 0, stream_of(l)>>>(a);
  check_launch(l);
}

namespace {

Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand& q = p[Q];
  const auto& d = p.as<ruda_paged_attention_desc>();
  if (q.dim(0) > INT32_MAX) return "more than 2^31 - 1 queries";
  if (q.dim(1) > 65535) return "more than 65535 heads";
  State& s = prep.state<State>();
  Args& a = s.args = plan_args(p);
  const int64_t rows = q.dim(0) * q.dim(1);
  a.parts = d.splits == RUDA_SPLITS_AUTO
                ? uint32_t(std::clamp<int64_t>(auto_blocks / std::max<int64_t>(rows, 1), 1, 32))
                : std::max(d.splits, 1u);
  if (a.parts > 1) s.partials = prep.book<float>(rows * a.parts * (a.value_dim + 2));
  return nullptr;
}

template <class T, class C>
void launch(const Launch& l, const Args& a) {
  const dim3 grid(unsigned(l.problem[Q].dim(0)), unsigned(l.problem[Q].dim(1)), a.parts);
  const uint32_t dim = std::max(a.head_dim, a.value_dim);
  const auto stream = stream_of(l);
  if (dim <= 64)
    attend<T, C, 2><<<grid, threads, 0, stream>>>(a);
  else if (dim <= 128)
    attend<T, C, 4><<<grid, threads, 0, stream>>>(a);
  else if (dim <= 256)
    attend<T, C, 8><<<grid, threads, 0, stream>>>(a);
  else
    attend<T, C, 32><<<grid, threads, 0, stream>>>(a);
  check_launch(l);
  if (a.partials) merge_parts(l, a);
}

void run(const Launch& l) {
  if (!ready(l)) return;
  const State& s = l.state<State>();
  Args a = bind_args(l, s.args);
  a.partials = a.parts > 1 ? l.at<float>(s.partials) : nullptr;
  visit_float(l.problem[Q].dtype(), [&](auto q) {
    visit_float(l.problem[K].dtype(), [&](auto k) { launch<decltype(q), decltype(k)>(l, a); });
  });
}

namespace decode {

Verdict prepare(const Problem& p, Prepare& prep) {
  Decode decode;
  if (const Verdict verdict = plan_decode(p, prep, decode)) return verdict;
  prep.note(format("%u parts%s", decode.base.args.parts, decode.cluster ? " in a cluster" : ""));
  prep.state<Decode>() = decode;
  return nullptr;
}

void run(const Launch& l) {
  if (ready(l)) launch_decode(l, l.state<Decode>());
}

}  // namespace decode

constexpr Kernel list[] = {{"cuda/paged_attention/tile", prepare_tile, run_tile},
                           {"cuda/paged_attention/decode", decode::prepare, decode::run},
                           {"cuda/paged_attention/simt", prepare, run}};

}  // namespace
}  // namespace attention

extern constinit const Kernels paged_attention{attention::list};

}  // namespace ruda::cuda
