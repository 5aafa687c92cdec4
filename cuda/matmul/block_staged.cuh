// cuda/matmul/block_staged.cuh - packed weights by way of shared memory, decoded in registers, times x.
// SPDX-License-Identifier: Apache-2.0
//
// The products are those of block_tiles.cuh. Two things keep the multiprocessor's load unit from being the
// limit: a first kernel lays x down in the order in which the lanes need it, 16 bytes a lane and load; and
// each warp copies its rows' share of the packed weights, in chunks of k and pieces of 16 bytes, to memory of
// its own, several chunks ahead.
#pragma once
#include "device/async_copy.cuh"
#include "device/cluster.cuh"
#include "matmul/block_product.cuh"

#include <algorithm>

namespace ruda::cuda::block {

template <uint32_t Dtype>
struct Chunk {
  using L = BlockLayout<Dtype>;
  static constexpr int elements = L::elements == 256 ? 256 : 128;
  static constexpr int steps = elements / 32;
  static constexpr int bytes = elements / L::elements * L::bytes;
  // Of 16 bytes from the last aligned address on: rows begin at even ones. An odd number of them puts the
  // eight rows of a fragment into different banks.
  static constexpr int pieces = (bytes + 14 + 15) / 16 | 1;
};

// x [rows, k] to [tile of 8 rows][step of 32 elements][lane][8].
template <uint32_t Dtype, class X>
__global__ void __launch_bounds__(256)
    matmul_block_arrange(const X* x, int64_t stride, uint4* to, int64_t rows, int steps) {
  let_next_start();
  wait_for_previous();
  const int64_t total = (rows + 7) / 8 * steps * 32;
  for (int64_t at = int64_t(blockIdx.x) * 256 + threadIdx.x; at < total; at += int64_t(gridDim.x) * 256) {
    const int lane = int(at % 32), step = int(at / 32 % steps);
    const int64_t row = at / 32 / steps * 8 + lane / 4;
    uint4 out{};
    if (row < rows) {
      float v[8];
      load_unit<BlockUnit<Dtype>>(x + row * stride, 4 * step + lane % 4, v);
      out = pack_eight(v);
    }
    to[at] = out;
  }
}

extern __shared__ __align__(16) uint8_t staged_memory[];

// Weight tiles of 16 rows: A of them a block; columns of 8 rows of x: N of them. Warp w takes the chunks
// w, w + warps, .. of k.
template <uint32_t Dtype, int A, int N>
__global__ void __launch_bounds__(32 * staged_most_warps(16 * A))
    matmul_block_staged(const __grid_constant__ Staged s) {
  using Unit = BlockUnit<Dtype>;
  using C = Chunk<Dtype>;
  constexpr int ahead = staged_slots(C::elements, 16 * A) - 1;  // chunks under way beside the current
  constexpr int slot_bytes = 16 * A * 16 * C::pieces;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, g = lane / 4,
            q = lane % 4;
  const int groups = int((s.rows + 8 * N - 1) / (8 * N));
  const int64_t row0 = int64_t(blockIdx.x / groups) * (16 * A), tile0 = int64_t(blockIdx.x % groups) * N;
  const int chunks = (s.steps + C::steps - 1) / C::steps;
  uint8_t* const ring = staged_memory + warp * s.slots * slot_bytes;

  const auto row_begin = [&](int r) { return (row0 + r < s.n ? row0 + r : s.n - 1) * s.row_bytes; };
  // f(place in the slot, offset in the weights) for the lane's pieces of a chunk.
  const auto each_piece = [&](int chunk, auto&& f) {
    const int64_t begin = int64_t(chunk) * C::bytes;
    const int64_t here = s.row_bytes - begin < C::bytes ? s.row_bytes - begin : C::bytes;
#pragma unroll
    for (int i = 0; i < (16 * A * C::pieces + 31) / 32; ++i) {
      const int piece = lane + 32 * i;
      if (piece >= 16 * A * C::pieces) break;
      const int64_t first = row_begin(piece / C::pieces) + begin;
      const int64_t from = (first & ~int64_t(15)) + piece % C::pieces * 16;
      if (from < first + here) f(16 * piece, from);
    }
  };
  const int64_t total = s.n * s.row_bytes;
  const auto load = [&](int chunk, int slot) {
    if (chunk < chunks)
      each_piece(chunk, [&](int to, int64_t from) {
        copy_async_part(ring + slot * slot_bytes + to, s.weights + from,
                        total - from < 16 ? uint32_t(total - from) : 16u);
      });
    commit_copies();
  };

  // The weights come closer while x is laid down.
  let_next_start();
  if (s.early)
    for (int chunk = warp, i = 0; chunk < chunks && i < 4; chunk += warps, ++i)
      each_piece(chunk, [&](int to, int64_t from) {
        if (to / 16 % 2 == 0) prefetch_far(s.weights + from);
      });
  wait_for_previous();
  int slot = 0, next_slot = 0;
  for (int i = 0; i < ahead; ++i) {
    load(warp + i * warps, next_slot);
    next_slot = next_slot + 1 == s.slots ? 0 : next_slot + 1;
  }

  int low[A][2];  // bytes from an aligned address to the row's first
#pragma unroll
  for (int a = 0; a < A; ++a)
#pragma unroll
    for (int h = 0; h < 2; ++h) low[a][h] = int(row_begin(16 * a + 8 * h + g) & 15);
  const int64_t last_tile = (s.rows + 7) / 8 - 1;
  const uint4* x[N];
#pragma unroll
  for (int n = 0; n < N; ++n)
    x[n] = static_cast<const uint4*>(s.arranged) +
           (tile0 + n < last_tile ? tile0 + n : last_tile) * s.steps * 32 + lane;

  float sums[A][N][4] = {};
  for (int chunk = warp; chunk < chunks; chunk += warps) {
    load(chunk + ahead * warps, next_slot);
    next_slot = next_slot + 1 == s.slots ? 0 : next_slot + 1;
    wait_copies<ahead>();
    __syncwarp();
    const uint8_t* rows[A][2];
#pragma unroll
    for (int a = 0; a < A; ++a)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        rows[a][h] = ring + slot * slot_bytes + (16 * a + 8 * h + g) * (16 * C::pieces) +
                     ((low[a][h] + chunk * C::bytes) & 15);
    const int first = chunk * C::steps, here = s.steps - first < C::steps ? s.steps - first : C::steps;
    for (int step = 0; step < here; ++step) {
      uint4 right[N];
#pragma unroll
      for (int n = 0; n < N; ++n) right[n] = x[n][(first + step) * 32];
      const int u = 4 * step + q;
#pragma unroll
      for (int a = 0; a < A; ++a) {
        float w[2][8];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          Unit unit;
          unit.load(rows[a][h], u);
          unit.decode(u, w[h]);
        }
        add_products(sums[a], w, [&](int n, int half) {
          return half ? uint2{right[n].z, right[n].w} : uint2{right[n].x, right[n].y};
        });
      }
    }
    slot = slot + 1 == s.slots ? 0 : slot + 1;
    __syncwarp();  // everyone is done with the slot
  }

  // The warps' shares of k in their order.
  wait_copies<0>();
  __syncthreads();
  constexpr int line = staged_line(16 * A);
  float* const shares = reinterpret_cast<float*>(staged_memory);
#pragma unroll
  for (int a = 0; a < A; ++a)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        shares[(warp * 8 * N + 8 * n + 2 * q + i % 2) * line + 16 * a + i / 2 * 8 + g] = sums[a][n][i];
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * A * 8 * N; i += blockDim.x) {
    const int own = i / (16 * A), col = i % (16 * A);
    const int64_t row = 8 * tile0 + own, j = row0 + col;
    if (row >= s.rows || j >= s.n) continue;
    float value = shares[own * line + col];
    for (int w = 1; w < warps; ++w) value += shares[(w * 8 * N + own) * line + col];
    put_y(s, row, j, value);
  }
}

// f(kernel) for the tile and the columns of x.
template <uint32_t Dtype, class F>
auto visit_staged(const Staged& s, F&& f) {
  if (s.tile == 32)
    return s.columns == 8 ? f(matmul_block_staged<Dtype, 2, 8>) : f(matmul_block_staged<Dtype, 2, 4>);
  return s.columns == 8   ? f(matmul_block_staged<Dtype, 1, 8>)
         : s.columns == 4 ? f(matmul_block_staged<Dtype, 1, 4>)
         : s.columns == 2 ? f(matmul_block_staged<Dtype, 1, 2>)
                          : f(matmul_block_staged<Dtype, 1, 1>);
}

template <uint32_t Dtype>
StagedShape staged_shape() {
  using C = Chunk<Dtype>;
  return {C::elements, 16 * C::pieces};
}

template <uint32_t Dtype>
cudaError_t allow_staged(const Staged& s, int most_bytes) {
  if (staged_bytes(staged_shape<Dtype>(), s) <= 48 << 10) return cudaSuccess;
  return visit_staged<Dtype>(s, [&](auto kernel) {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_bytes);
  });
}

template <uint32_t Dtype>
void run_staged(const Staged& s, cudaStream_t stream) {
  auto* arranged = static_cast<uint4*>(s.arranged);
  const int64_t pieces = (s.rows + 7) / 8 * s.steps * 32;
  const auto arrange = [&](auto* x) {
    using X = std::remove_cv_t<std::remove_pointer_t<decltype(x)>>;
    launch_dependent(s.early, matmul_block_arrange<Dtype, X>,
                     unsigned(std::min<int64_t>((pieces + 255) / 256, 2048)), 256, stream, x, s.x_stride,
                     arranged, s.rows, s.steps);
  };
  if (s.x_bf16)
    arrange(static_cast<const __nv_bfloat16*>(s.x));
  else
    arrange(static_cast<const float*>(s.x));
  const int64_t blocks = (s.n + s.tile - 1) / s.tile * ((s.rows + 8 * s.columns - 1) / (8 * s.columns));
  visit_staged<Dtype>(s, [&](auto kernel) {
    return launch_clusters<1>(s.early, kernel, unsigned(blocks), unsigned(32 * s.warps),
                              size_t(staged_bytes(staged_shape<Dtype>(), s)), stream, s);
  });
}

// The launchers of one format.
#define RUDA_STAGED_KERNELS(dtype)                              \
  template StagedShape staged_shape<dtype>();                   \
  template cudaError_t allow_staged<dtype>(const Staged&, int); \
  template void run_staged<dtype>(const Staged&, cudaStream_t);

}  // namespace ruda::cuda::block
