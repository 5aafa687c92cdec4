// cuda/sort/top_k.cu - top_k on the GPU: one block a row, one pass over the row for each of the k.
// SPDX-License-Identifier: Apache-2.0
#include "elementwise/strided.cuh"

#include <ruda/sort.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

struct State {
  Strided<3> rows;  // x, values, indices
  int64_t cols, step, k;
  int smallest, wide_index;
};

// Integers that order as the elements do: larger first, of equal ones the lower place first.
__device__ int64_t order(float x) {
  if (x != x) return INT32_MAX;
  const int32_t bits = __float_as_int(x + 0.0f);
  return bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ int64_t order(int32_t x) { return x; }
__device__ int64_t order(__half x) { return order(float(x)); }
__device__ int64_t order(__nv_bfloat16 x) { return order(float(x)); }

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
      const int64_t key = order(x[at[0] + c * s.step]);
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
      if (s.wide_index)
        static_cast<int64_t*>(indices)[at[2] + n] = last.place;
      else
        static_cast<int32_t*>(indices)[at[2] + n] = int32_t(last.place);
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

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.rows.elements == 0) return;
  top_k_rows<T><<<unsigned(s.rows.elements), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_TOP_K_X), l.ptr<T>(RUDA_TOP_K_VALUES), l.ptr<void>(RUDA_TOP_K_INDICES), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (l.problem[RUDA_TOP_K_X].dtype()) {
    case RUDA_F32: return launch<float>(l);
    case RUDA_F16: return launch<__half>(l);
    case RUDA_BF16: return launch<__nv_bfloat16>(l);
    default: return launch<int32_t>(l);
  }
}

constexpr Kernel list[] = {{"cuda/top_k/passes", prepare, run}};

}  // namespace

extern constinit const Kernels top_k{list};

}  // namespace ruda::cuda
