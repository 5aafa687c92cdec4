// cuda/norm/row_group.cuh - rows held in the registers of a warp, of a block or of a cluster of blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/cluster.cuh"
#include "device/convert.cuh"
#include "device/reduce.cuh"
#include "device/vec.cuh"
#include "norm/rows.cuh"
#include "runtime/launch.hpp"

#include <iterator>
#include <string>

namespace ruda::cuda {

// Pieces of 16 bytes that a thread keeps, warps of a block that share a row, rows of a block, blocks of a
// row.
struct RowVariant {
  int vectors, warps, rows, blocks;
};
// A warp a row while it keeps at most 4 pieces a thread, then more warps, more pieces, more blocks.
inline constexpr RowVariant row_variants[] = {{1, 1, 4, 1},  {2, 1, 4, 1},  {4, 1, 4, 1},  {2, 4, 1, 1},
                                              {4, 4, 1, 1},  {4, 8, 1, 1},  {8, 8, 1, 1},  {8, 16, 1, 1},
                                              {8, 16, 1, 2}, {8, 16, 1, 4}, {8, 16, 1, 8}, {16, 16, 1, 8}};

// A thread's registers hold 64 elements in F32.
template <class T>
constexpr bool fits_registers(const RowVariant& v) {
  return v.vectors * vec_size<T> <= 64;
}

struct RowState {
  Rows x, y;
  int variant;
  bool whole;  // all pieces lie at multiples of 16 bytes; else elements move one by one
  bool early;  // for kernels that wait_for_previous()
};

// Chooses the variant by the length of the rows alone: where they lie decides how they are read, and leaves
// the order of the additions. `whole` is false where another operand keeps 16-byte accesses away.
inline Verdict choose_rows(const Problem& p, const Operand& x, const Operand& y, bool whole, Prepare& prep,
                           RowState& s) {
  s.x = make_rows(*x.layout);
  s.y = make_rows(*y.layout);
  s.early = capability_of(p).code_arch >= dependent_arch;
  const int64_t n = 16 / dtype_info(x.dtype()).block_bytes;
  s.whole = whole && x.align_log2 >= 4 && y.align_log2 >= 4 && s.x.cols % n == 0 && s.x.aligned(n) &&
            s.y.aligned(n);
  for (s.variant = 0; s.variant < int(std::size(row_variants)); ++s.variant) {
    const RowVariant& v = row_variants[s.variant];
    if (s.x.cols > int64_t(v.vectors) * v.warps * v.blocks * warp_threads * n || v.vectors * n > 64) continue;
    if (v.blocks > 1 && capability_of(p).code_arch < cluster_arch) break;
    if ((s.x.count + v.rows - 1) / v.rows > INT32_MAX / v.blocks) return "more rows than a grid holds";
    prep.note(std::to_string(v.vectors) + " pieces a thread, " + std::to_string(v.warps) + " warps and " +
              std::to_string(v.blocks) + " blocks a row" + (s.whole ? "" : ", element by element"));
    return nullptr;
  }
  return "rows longer than the registers of a block or cluster";
}

// Elements piece * n .. of a row of `cols`; those past its end are `fill`.
template <bool Whole, class T, int n = vec_size<T>>
__device__ inline Vec<T, n> load_piece(const T* row, int piece, int cols, T fill) {
  const int at = piece * n;
  if constexpr (Whole) {
    return load_vec_once<n>(row + at);
  } else {
    Vec<T, n> v;
#pragma unroll
    for (int i = 0; i < n; ++i) v[i] = at + i < cols ? row[at + i] : fill;
    return v;
  }
}
template <bool Whole, class T, int n>
__device__ inline void store_piece(T* row, int piece, int cols, const Vec<T, n>& v) {
  const int at = piece * n;
  if constexpr (Whole) {
    store_vec(row + at, v);
  } else {
#pragma unroll
    for (int i = 0; i < n; ++i)
      if (at + i < cols) row[at + i] = v[i];
  }
}

// The threads of one row. `shared` holds Warps + 1 values, the same for all calls; every thread gets the
// result.
template <int Warps, int Blocks>
struct RowGroup {
  static constexpr int lanes = Warps * Blocks * warp_threads;
  using Group = Cluster<Blocks>;

  __device__ static int lane() {
    return Group::rank() * Warps * warp_threads + threadIdx.x % (Warps * warp_threads);
  }

  template <class Join>
  __device__ static float join(float x, float* shared, Join&& f) {
#pragma unroll
    for (int offset = warp_threads / 2; offset; offset /= 2) x = f(x, __shfl_xor_sync(~0u, x, offset));
    if constexpr (Warps == 1 && Blocks == 1) return x;
    if (threadIdx.x % warp_threads == 0) shared[threadIdx.x / warp_threads] = x;
    __syncthreads();
    x = shared[0];
#pragma unroll
    for (int i = 1; i < Warps; ++i) x = f(x, shared[i]);
    if constexpr (Blocks > 1) {
      if (threadIdx.x == 0) shared[Warps] = x;
      Group::sync();
      x = *Group::of(shared + Warps, 0);
#pragma unroll
      for (int i = 1; i < Blocks; ++i) x = f(x, *Group::of(shared + Warps, i));
    }
    Group::sync();
    return x;
  }
  __device__ static float sum(float x, float* shared) {
    return join(x, shared, [](float a, float b) { return a + b; });
  }
  __device__ static float max(float x, float* shared) {
    return join(x, shared, [](float a, float b) { return fmaxf(a, b); });
  }
};

// launch(variant index, whole) as constants for what choose_rows chose.
template <int Index = 0, class F>
void visit_row_variant(const RowState& s, F&& launch) {
  if constexpr (Index < int(std::size(row_variants))) {
    if (s.variant != Index) return visit_row_variant<Index + 1>(s, launch);
    if (s.whole) return launch(std::integral_constant<int, Index>{}, std::true_type{});
    launch(std::integral_constant<int, Index>{}, std::false_type{});
  }
}

}  // namespace ruda::cuda
