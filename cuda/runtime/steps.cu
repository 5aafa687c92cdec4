// cuda/runtime/steps.cu - one block each: a schedule's step in sequence order, one word written to the host.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/steps.hpp"

namespace ruda::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;

// Query numbers follow the sequences: each tile of sequences counts its live ones, in order.
__global__ void __launch_bounds__(threads) advance_schedule(const ScheduleImage image) {
  __shared__ uint32_t live[warps];
  uint32_t* lengths = image.words + image.lengths_word;
  const uint32_t sequences = image.words[1];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t queries = 0;
  for (uint32_t first = 0; first < sequences; first += threads) {
    const uint32_t s = first + threadIdx.x;
    const uint32_t length = s < sequences ? lengths[s] : 0;
    const uint32_t mask = __ballot_sync(~0u, length != 0);
    if (lane == 0) live[warp] = __popc(mask);
    __syncthreads();
    uint32_t query = queries + __popc(mask & ((1u << lane) - 1));
    for (uint32_t w = 0; w < warps; ++w) {
      if (w < warp) query += live[w];
      queries += live[w];
    }
    __syncthreads();
    if (length == 0) continue;
    image.words[image.ids_word + query] = s;
    image.words[image.positions_word + query] = length;
    lengths[s] = length + 1;
  }
  if (threadIdx.x == 0) image.words[0] = queries;
}

// One store of eight bytes carries word and tag, so that the host never sees half of it.
__global__ void post_word(const uint32_t* word, uint64_t* ring, uint32_t* count) {
  const uint32_t n = *count;
  *count = n + 1;
  const uint64_t value = uint64_t(n + 1) << 32 | *word;
  *static_cast<volatile uint64_t*>(ring + n % DeviceRing::slots) = value;
  __threadfence_system();
}

}  // namespace

cudaError_t launch_advance(const ScheduleImage& image, cudaStream_t stream) {
  advance_schedule<<<1, threads, 0, stream>>>(image);
  return cudaPeekAtLastError();
}

cudaError_t launch_post(const uint32_t* word, uint64_t* ring, uint32_t* count, cudaStream_t stream) {
  post_word<<<1, 1, 0, stream>>>(word, ring, count);
  return cudaPeekAtLastError();
}

}  // namespace ruda::cuda
