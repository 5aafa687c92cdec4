// cuda/attention/paged_append.cu - paged_append on the GPU: one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "device/dependent.cuh"
#include "plan/paged_schedule.hpp"
#include "runtime/launch.hpp"
#include "runtime/visit.hpp"

#include <ruda/attention.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

namespace ruda::cuda {
namespace {

constexpr int threads = 128;
constexpr int ahead = 2;  // elements of a row that a thread loads before it knows where they go
constexpr uint32_t K = RUDA_PAGED_APPEND_K, V = RUDA_PAGED_APPEND_V, K_CACHE = RUDA_PAGED_APPEND_K_CACHE,
                   V_CACHE = RUDA_PAGED_APPEND_V_CACHE;

struct Rows {
  const void* rows;
  void* cache;
  int64_t row_stride, head_stride, page_stride, slot_stride, cache_head_stride;
  uint32_t elements, dim;  // of a row, of a head
};

struct Args {
  Rows parts[2];  // keys, values
  int part_count;
  const uint32_t* words;  // the schedule's image
  uint64_t positions_word, tables_word;
  uint32_t last_query, page_size, table_stride;  // last_query: the last that the image has room for
  bool early;                                    // starts while the kernel before it ends
};

// The grid covers the rows of the plan; the live count is read here, so that one captured graph serves every
// step.
template <class From, class To>
__global__ void __launch_bounds__(threads) append_rows(const __grid_constant__ Args a) {
  const uint32_t i = blockIdx.x;
  let_next_start();
  wait_for_previous();
  // The rows are on their way while the schedule tells where they go.
  From rows[2][ahead];
#pragma unroll
  for (int part = 0; part < 2; ++part)
#pragma unroll
    for (int n = 0; n < ahead; ++n) {
      const Rows& r = a.parts[part];
      const uint32_t e = threadIdx.x + n * threads;
      if (part < a.part_count && e < r.elements)
        rows[part][n] =
            static_cast<const From*>(r.rows)[i * r.row_stride + e / r.dim * r.head_stride + e % r.dim];
    }
  const uint32_t query = min(i, a.last_query), queries = a.words[0],
                 sequence = a.words[PagedSchedule::ids_word + query],
                 position = a.words[a.positions_word + query];
  if (i >= queries) return;
  const uint32_t page = a.words[a.tables_word + uint64_t(sequence) * a.table_stride + position / a.page_size];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    if (part >= a.part_count) break;
    const Rows& r = a.parts[part];
    const From* from = static_cast<const From*>(r.rows) + i * r.row_stride;
    To* to = static_cast<To*>(r.cache) + page * r.page_stride + position % a.page_size * r.slot_stride;
    const auto store = [&](uint32_t e, From x) {
      to[e / r.dim * r.cache_head_stride + e % r.dim] = To(float(x));
    };
#pragma unroll
    for (int n = 0; n < ahead; ++n)
      if (threadIdx.x + n * threads < r.elements) store(threadIdx.x + n * threads, rows[part][n]);
    for (uint32_t e = threadIdx.x + ahead * threads; e < r.elements; e += threads)
      store(e, from[e / r.dim * r.head_stride + e % r.dim]);
    __syncthreads();  // one cache for both holds the rows of v
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p[K].dim(0) > INT32_MAX) return "more than 2^31 - 1 rows";
  if (p[K].dim(1) * p[K].dim(2) > INT32_MAX || (p[V].present && p[V].dim(1) * p[V].dim(2) > INT32_MAX))
    return "rows of more than 2^31 - 1 elements";
  Args& a = prep.state<Args>();
  const auto part = [&](uint32_t rows, uint32_t cache) {
    a.parts[a.part_count++] = {nullptr,
                               nullptr,
                               p[rows].stride(0),
                               p[rows].stride(1),
                               p[cache].stride(0),
                               p[cache].stride(1),
                               p[cache].stride(2),
                               uint32_t(p[rows].dim(1) * p[rows].dim(2)),
                               uint32_t(p[rows].dim(2))};
  };
  part(K, K_CACHE);
  if (p[V].present) part(V, V_CACHE);
  a.early = capability_of(p).code_arch >= dependent_arch;
  return nullptr;
}

template <class From, class To>
void launch(const Launch& l, const Args& a) {
  check_cuda(launch_dependent(a.early, append_rows<From, To>, unsigned(l.problem[K].dim(0)), threads,
                              stream_of(l), a),
             "paged_append");
  check_launch(l);
}

void run(const Launch& l) {
  const PagedSchedule& schedule = appendable_schedule(l, RUDA_PAGED_APPEND_SCHEDULE, K_CACHE, K);
  if (l.problem[K].dim(0) == 0) return;
  schedule.use_on(l.stream);
  Args a = l.state<Args>();
  a.parts[0].rows = l.ptr<const void>(K);
  a.parts[0].cache = l.ptr<void>(K_CACHE);
  a.parts[1].rows = l.ptr<const void>(V);
  a.parts[1].cache = l.ptr<void>(V_CACHE);
  a.words = schedule.device_words();
  a.positions_word = schedule.positions_word();
  a.tables_word = schedule.tables_word();
  a.last_query = std::max(schedule.capacity().max_queries, 1u) - 1;
  a.page_size = schedule.page_size();
  a.table_stride = schedule.table_stride();
  visit_float(l.problem[K].dtype(), [&](auto from) {
    visit_float(l.problem[K_CACHE].dtype(), [&](auto to) { launch<decltype(from), decltype(to)>(l, a); });
  });
}

constexpr Kernel list[] = {{"cuda/paged_append/block_row", prepare, run}};

}  // namespace

extern constinit const Kernels paged_append{list};

}  // namespace ruda::cuda
