// cuda/sort/top_k.cu - top_k on the GPU: a search for the k-th element and a sort of the best, or one pass
// over
// the row for each of the k.
// SPDX-License-Identifier: Apache-2.0
#include "device/convert.cuh"
#include "device/digit_search.cuh"
#include "elementwise/strided.cuh"

#include <ruda/sort.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

struct State {
  Strided<3> rows;  // x, values, indices
  int64_t cols, step, k;
  int smallest, wide_index;
};

__device__ inline void give_index(const State& s, void* indices, int64_t at, int64_t place) {
  if (s.wide_index)
    static_cast<int64_t*>(indices)[at] = place;
  else
    static_cast<int32_t*>(indices)[at] = int32_t(place);
}

// Integers that order as the elements do, NaN above all.
__device__ inline uint32_t key_of(float x) { return x != x ? ~0u : order_key(x); }
__device__ inline uint32_t key_of(int32_t x) { return uint32_t(x) ^ 0x80000000u; }
__device__ inline uint32_t key_of(__half x) { return key_of(to_f32(x)); }
__device__ inline uint32_t key_of(__nv_bfloat16 x) { return key_of(to_f32(x)); }

namespace search {

constexpr int search_threads = 512, cluster_blocks = 8, capacity = 2048;
constexpr int64_t cluster_cols = 16384, cluster_rows = 256;

// The k-th code is found by digits; codes that are not lower are gathered and sorted. Rows that fit the
// buffer are sorted whole.
template <class T, int Blocks>
__global__ void __launch_bounds__(search_threads)
    top_k_search(const T* x, T* values, void* indices, const __grid_constant__ State s) {
  using Search = DigitSearch<Blocks, search_threads, 1>;
  using Group = Cluster<Blocks>;
  __shared__ typename Search::Shared sh;
  __shared__ unsigned long long best[capacity];
  __shared__ int gathered;
  const int rank = Group::rank();
  int64_t at[3];
  strided_offsets(s.rows, blockIdx.x / Blocks, at);
  const T* row = x + at[0];
  const uint32_t flip = s.smallest ? ~0u : 0u;
  if (threadIdx.x == 0) gathered = 0;
  __syncthreads();

  uint64_t lowest = 0;
  if (s.cols > capacity) {
    Search search{sh, 0};
    typename Search::Target t{0, uint64_t(s.k), 0};
    const auto each = [&](auto&& visit) {
#pragma unroll 4
      for (int64_t c = int64_t(rank) * search_threads + threadIdx.x; c < s.cols; c += Blocks * search_threads)
        visit(code_of(key_of(row[c * s.step]) ^ flip, uint32_t(c)), [] { return uint64_t(1); });
    };
    // Once all that share the digits are wanted, the lower digits do not matter.
    constexpr int shifts[] = {53, 42, 32, 21, 10, 0}, bits[] = {11, 11, 10, 11, 11, 10};
    for (int i = 0; i < 6; ++i) {
      search.template narrow<1>(t, shifts[i], bits[i], each);
      if (t.left == t.inside) break;
    }
    lowest = t.code;
  }
  for (int64_t c = int64_t(rank) * search_threads + threadIdx.x; c < s.cols; c += Blocks * search_threads) {
    const uint64_t code = code_of(key_of(row[c * s.step]) ^ flip, uint32_t(c));
    if (code >= lowest) best[atomicAdd(&gathered, 1)] = code;
  }
  Group::sync();

  // The first block collects the others' and sorts, highest first.
  if (rank == 0) {
    int count = gathered;
    for (int b = 1; b < Blocks; ++b) {
      const int more = *Group::of(&gathered, b);
      for (int i = threadIdx.x; i < more; i += search_threads) best[count + i] = *Group::of(best + i, b);
      count += more;
    }
    int extent = 1;
    while (extent < count) extent *= 2;
    for (int i = count + threadIdx.x; i < extent; i += search_threads) best[i] = 0;
    __syncthreads();
    for (int run = 2; run <= extent; run *= 2)
      for (int distance = run / 2; distance; distance /= 2) {
        for (int i = threadIdx.x; i < extent / 2; i += search_threads) {
          const int low = i / distance * (2 * distance) + i % distance, high = low + distance;
          const unsigned long long a = best[low], b = best[high];
          if ((a < b) == !(low & run)) best[low] = b, best[high] = a;
        }
        __syncthreads();
      }
    for (int i = threadIdx.x; i < s.k; i += search_threads) {
      const int64_t place = place_of(best[i]);
      values[at[1] + i] = row[place * s.step];
      give_index(s, indices, at[2] + i, place);
    }
  }
  Group::sync();
}

}  // namespace search

// Larger first, of equal ones the lower place first.
struct Entry {
  int64_t key, place;  // place -1 = none
};
__device__ bool before(Entry a, Entry b) {
  if (a.place < 0 || b.place < 0) return a.place >= 0;
  return a.key != b.key ? a.key > b.key : a.place < b.place;
}

template <class T>
__global__ void __launch_bounds__(threads) top_k_rows(const T* x, T* values, void* indices, State s) {
  __shared__ Entry part[threads];
  int64_t at[3];
  strided_offsets(s.rows, blockIdx.x, at);
  Entry last{0, -1};
  for (int64_t n = 0; n < s.k; ++n) {
    Entry best{0, -1};
    for (int64_t c = threadIdx.x; c < s.cols; c += threads) {
      const int64_t key = key_of(x[at[0] + c * s.step]);
      const Entry entry{s.smallest ? -key : key, c};
      if ((last.place < 0 || before(last, entry)) && before(entry, best)) best = entry;
    }
    part[threadIdx.x] = best;
    for (int step = threads / 2; step; step /= 2) {
      __syncthreads();
      if (threadIdx.x < step && before(part[threadIdx.x + step], part[threadIdx.x]))
        part[threadIdx.x] = part[threadIdx.x + step];
    }
    __syncthreads();
    last = part[0];
    __syncthreads();
    if (threadIdx.x == 0) {
      values[at[1] + n] = x[at[0] + last.place * s.step];
      give_index(s, indices, at[2] + n, last.place);
    }
  }
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_TOP_K_X].layout, &values = *p[RUDA_TOP_K_VALUES].layout;
  const Layout& indices = *p[RUDA_TOP_K_INDICES].layout;
  const auto& d = p.as<ruda_top_k_desc>();
  State& s = prep.state<State>();
  s.rows = make_strided_rows<3>({&x, &values, &indices});
  s.cols = x.dim(-1);
  s.step = x.stride(-1);
  s.k = d.k;
  s.smallest = d.smallest;
  s.wide_index = indices.dtype == RUDA_I64;
  return s.rows.elements <= INT32_MAX ? nullptr : "more than 2^31 - 1 rows";
}

template <int Blocks>
Verdict prepare_search(const Problem& p, Prepare& prep) {
  using namespace search;
  const int64_t cols = p[RUDA_TOP_K_X].dim(-1), k = p.as<ruda_top_k_desc>().k;
  if (cols > INT32_MAX) return "more than 2^31 - 1 columns";
  if (k > capacity && cols > capacity) return "k above 2048";
  if (Blocks > 1) {
    if (capability_of(p).code_arch < cluster_arch) return "GPU or code of a compute capability below 9.0";
    if (cols < cluster_cols) return "short rows";
    if (p[RUDA_TOP_K_X].outer() > cluster_rows) return "rows enough to fill the device";
  }
  return prepare(p, prep);
}

template <class Run>
void visit_dtype(const Launch& l, Run&& run) {
  if (l.state<State>().rows.elements == 0) return;
  switch (l.problem[RUDA_TOP_K_X].dtype()) {
    case RUDA_F32: return run(float{});
    case RUDA_F16: return run(__half{});
    case RUDA_BF16: return run(__nv_bfloat16{});
    default: return run(int32_t{});
  }
}

template <int Blocks>
void run_search(const Launch& l) {
  visit_dtype(l, [&](auto t) {
    using T = decltype(t);
    const State& s = l.state<State>();
    check_cuda(
        launch_clusters<Blocks>(false, search::top_k_search<T, Blocks>, unsigned(s.rows.elements * Blocks),
                                search::search_threads, 0, stream_of(l), l.ptr<const T>(RUDA_TOP_K_X),
                                l.ptr<T>(RUDA_TOP_K_VALUES), l.ptr<void>(RUDA_TOP_K_INDICES), s),
        "top_k");
  });
}

void run(const Launch& l) {
  visit_dtype(l, [&](auto t) {
    using T = decltype(t);
    const State& s = l.state<State>();
    top_k_rows<T><<<unsigned(s.rows.elements), threads, 0, stream_of(l)>>>(
        l.ptr<const T>(RUDA_TOP_K_X), l.ptr<T>(RUDA_TOP_K_VALUES), l.ptr<void>(RUDA_TOP_K_INDICES), s);
    check_launch(l);
  });
}

constexpr Kernel list[] = {
    {"cuda/top_k/cluster", prepare_search<search::cluster_blocks>, run_search<search::cluster_blocks>},
    {"cuda/top_k/block", prepare_search<1>, run_search<1>},
    {"cuda/top_k/passes", prepare, run}};

}  // namespace

extern constinit const Kernels top_k{list};

}  // namespace ruda::cuda
