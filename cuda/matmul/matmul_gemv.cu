// cuda/matmul/matmul_gemv.cu - matmul of up to eight rows: a warp computes a few columns of c, all in F32.
// SPDX-License-Identifier: Apache-2.0
//
// b is read once, along its dense k, 16 bytes a lane. The sum of an element is one lane's pieces in ascending
// order, then the lanes, then the warps that share k: it depends on no other element.
#include "matmul/matmul_gemv.hpp"

#include "device/dependent.cuh"
#include "device/reduce.cuh"
#include "device/vec.cuh"
#include "matmul/activation.cuh"
#include "matmul/leading.cuh"
#include "matmul/lt_product.hpp"
#include "runtime/launch.hpp"
#include "tune/matmul.hpp"

namespace ruda::cuda::matmul_gemv {
namespace {

constexpr int warps = 4;
constexpr int most_rows = 8;
constexpr int far_steps = 4;  // of a column that a warp asks for before the kernel ahead has ended

struct State {
  int rows;  // of all leading axes together
  int splits, columns;
  int early_blocks;  // that ask for their weights before the kernel ahead has ended
  uint32_t activation, bias_dtype, c_dtype;
  int64_t n, k, b_stride;
  int64_t a_at[most_rows], c_at[most_rows];
};

struct Args {
  const void *a, *b, *bias;
  void* c;
  State s;
};

// Two 16-bit elements as they lie in a register, lower half first.
template <class T>
__device__ void widen_pair(uint32_t pair, float& low, float& high);
template <>
__device__ void widen_pair<__nv_bfloat16>(uint32_t pair, float& low, float& high) {
  low = __uint_as_float(pair << 16), high = __uint_as_float(pair & 0xFFFF0000u);
}
template <>
__device__ void widen_pair<__half>(uint32_t pair, float& low, float& high) {
  const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&pair));
  low = two.x, high = two.y;
}

// N elements of T as words.
template <class T, int N>
struct Run {
  static constexpr int words = N * int(sizeof(T)) / 4;
  uint32_t word[words];

  __device__ void load(const T* from) {
    using Raw = typename RawVec<4 * words>::type;
    *reinterpret_cast<Raw*>(word) = *reinterpret_cast<const Raw*>(from);
  }
  __device__ void load_once(const T* from) {
    using Raw = typename RawVec<4 * words>::type;
    *reinterpret_cast<Raw*>(word) = __ldcg(reinterpret_cast<const Raw*>(from));
  }
  __device__ void widen(float (&to)[N]) const {
#pragma unroll
    for (int i = 0; i < words; ++i) {
      if constexpr (sizeof(T) == 4)
        to[i] = __uint_as_float(word[i]);
      else
        widen_pair<T>(word[i], to[2 * i], to[2 * i + 1]);
    }
  }
};

// Sums of N values over a warp, N a power of two up to 32: lane i gets that of value i / (32 / N). The order
// of additions is that of warp_sum.
template <int N>
__device__ float warp_sums(float (&v)[N], int lane) {
  int offset = 16;
#pragma unroll
  for (int half = N / 2; half; half /= 2, offset /= 2)
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const bool upper = lane & offset;
      const float away = upper ? v[i] : v[i + half], kept = upper ? v[i + half] : v[i];
      v[i] = kept + __shfl_xor_sync(~0u, away, offset);
    }
  float sum = v[0];
  for (; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  return sum;
}

__device__ void store_c(void* c, uint32_t dtype, int64_t i, float value) {
  if (dtype == RUDA_F32)
    static_cast<float*>(c)[i] = value;
  else if (dtype == RUDA_F16)
    static_cast<__half*>(c)[i] = from_f32<__half>(value);
  else
    static_cast<__nv_bfloat16*>(c)[i] = from_f32<__nv_bfloat16>(value);
}

// M rows of a, R columns a warp. A lane's elements of a step are one run, or two where a is wider than b, so
// that a warp's loads of both have no gaps. All branches but the stores are those of whole warps.
template <class A, class B, int M, int R>
__global__ void __launch_bounds__(32 * warps, M* R <= 2 ? 8 : 1)
    matmul_gemv_rows(const __grid_constant__ Args args) {
  constexpr int run = vec_size<A>, runs = int(sizeof(A) / sizeof(B));  // elements of a run, runs of a step
  constexpr int steps = M * R > 16 ? 1 : R == 1 && M <= 4 ? 4 : 2;     // loads of a column in flight
  constexpr int step_elements = 32 * run * runs;
  using RunA = Run<A, run>;
  using RunB = Run<B, run>;
  const State& s = args.s;
  __shared__ float shares[warps][M * R];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, share = warp % s.splits;
  const int64_t col = (int64_t(blockIdx.x) * (warps / s.splits) + warp / s.splits) * R;
  const B* b[R];
#pragma unroll
  for (int r = 0; r < R; ++r)
    b[r] = static_cast<const B*>(args.b) + (col + r < s.n ? col + r : s.n - 1) * s.b_stride + lane * run;
  const A* a[M];
#pragma unroll
  for (int m = 0; m < M; ++m) a[m] = static_cast<const A*>(args.a) + s.a_at[m] + lane * run;
  const int k = int(s.k), whole = k / run * run - lane * run;  // a run at i is inside where i < whole
  const int stride = step_elements * s.splits;

  // The weights of the first blocks come closer while the kernel before this one ends.
  let_next_start();
  if (int(blockIdx.x) < s.early_blocks)
    for (int i = 0, at = share * step_elements; i < far_steps && at < k; ++i, at += stride)
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < runs; ++j)
          if (at + j * 32 * run < whole) prefetch_far(b[r] + at + j * 32 * run);
  wait_for_previous();

  float sums[M][R] = {};
  for (int begin = share * step_elements; begin < k; begin += steps * stride) {
    RunB raw[steps][R][runs];
#pragma unroll
    for (int t = 0; t < steps; ++t)
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int j = 0; j < runs; ++j) {
          const int at = begin + t * stride + j * 32 * run;
          raw[t][r][j] = {};
          if (at < whole) raw[t][r][j].load_once(b[r] + at);
        }
#pragma unroll
    for (int t = 0; t < steps; ++t)
#pragma unroll
      for (int j = 0; j < runs; ++j) {
        const int at = begin + t * stride + j * 32 * run;
        if (at >= k) break;
        float w[R][run];
#pragma unroll
        for (int r = 0; r < R; ++r) raw[t][r][j].widen(w[r]);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          RunA part{};
          if (at < whole) part.load(a[m] + at);
          float x[run];
          part.widen(x);
#pragma unroll
          for (int r = 0; r < R; ++r)
#pragma unroll
            for (int i = 0; i < run; ++i) sums[m][r] = fmaf(x[i], w[r][i], sums[m][r]);
        }
      }
  }
  // What is left of k is less than one run.
  const int rest = k % run;
  if (share == 0 && rest) {
    const int at = k - rest + (lane < rest ? lane : 0) - lane * run;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const float x = lane < rest ? to_f32(a[m][at]) : 0.0f, w = lane < rest ? to_f32(b[r][at]) : 0.0f;
        sums[m][r] = fmaf(x, w, sums[m][r]);
      }
  }

  float all[M * R];
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int r = 0; r < R; ++r) all[m * R + r] = sums[m][r];
  __syncwarp();
  float mine = warp_sums<M * R>(all, lane);
  constexpr int lanes = 32 / (M * R);  // that have the same sum
  const int element = lane / lanes;
  if (s.splits > 1) {
    if (lane % lanes == 0) shares[warp][element] = mine;
    __syncthreads();
    if (share) return;
    for (int i = 1; i < s.splits; ++i) mine += shares[warp + i][element];
  }
  const int m = element / R;
  const int64_t j = col + element % R;
  if (lane % lanes || m >= s.rows || j >= s.n) return;
  if (args.bias) mine += bias_value(args.bias, s.bias_dtype, j);
  store_c(args.c, s.c_dtype, s.c_at[m] + j, activate(s.activation, mine));
}

template <class A, class B, int M>
void launch(const Args& args, const Launch& l) {
  const State& s = args.s;
  const int64_t columns = int64_t(warps / s.splits) * s.columns;
  const auto blocks = unsigned((s.n + columns - 1) / columns);
  const auto start = [&](void (*kernel)(const Args)) {
    launch_dependent(s.early_blocks > 0, kernel, blocks, 32 * warps, stream_of(l), args);
  };
  if (s.columns == 4) return start(matmul_gemv_rows<A, B, M, 4>);
  if (s.columns == 2) return start(matmul_gemv_rows<A, B, M, 2>);
  start(matmul_gemv_rows<A, B, M, 1>);
}

template <class A, class B>
void launch(const Args& args, const Launch& l) {
  if (args.s.rows == 1) return launch<A, B, 1>(args, l);
  if (args.s.rows == 2) return launch<A, B, 2>(args, l);
  if (args.s.rows <= 4) return launch<A, B, 4>(args, l);
  launch<A, B, 8>(args, l);
}

bool fp8(uint32_t dtype) { return dtype == RUDA_F8E4M3 || dtype == RUDA_F8E5M2; }

// Every row of a begins at a multiple of 16 bytes.
bool aligned_rows(const State& s, uint32_t dtype) {
  const int64_t elements = dtype == RUDA_F32 ? 4 : 8;
  for (int64_t at : s.a_at)
    if (at % elements) return false;
  return true;
}

}  // namespace

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p.strategy != RUDA_STRATEGY_AUTO && p.strategy != RUDA_STRATEGY_SCALAR)
    return "not of the strategy asked for";
  const auto& d = p.as<ruda_matmul_desc>();
  const Operand &a = p[RUDA_MATMUL_A], &b = p[RUDA_MATMUL_B], &c = p[RUDA_MATMUL_C];
  if (fp8(a.dtype())) return "operands are FP8";
  const int row_axis = d.transpose_a ? -1 : -2, k_axis = d.transpose_a ? -2 : -1;
  const int col_axis = d.transpose_b ? -2 : -1, b_k_axis = d.transpose_b ? -1 : -2;
  State& s = prep.state<State>();
  Leading leading{};
  const int64_t m = c.dim(-2), count = make_leading(p, leading);
  s.n = c.dim(-1), s.k = a.dim(k_axis);
  if (m == 0 || s.n == 0 || count == 0 || s.k == 0) return "empty";
  if (s.k > (int64_t(1) << 30)) return "k is above 2^30";
  if (m > most_rows || count > most_rows || m * count > most_rows) return "more than 8 rows";
  s.rows = int(m * count);
  for (int axis = 0; axis < leading.axes; ++axis)
    if (leading.b[axis]) return "b has leading axes";
  if (s.k > 1 && (a.stride(k_axis) != 1 || b.stride(b_k_axis) != 1)) return "k is not dense in a and b";
  s.b_stride = s.n == 1 ? s.k : b.stride(col_axis);
  const int64_t piece = b.dtype() == RUDA_F32 ? 4 : 8;
  if (b.align_log2 < 4 || (s.n > 1 && s.b_stride % piece)) return "columns of b are not aligned to 16 bytes";
  for (int row = 0; row < most_rows; ++row) {
    int64_t product = (row < s.rows ? row : s.rows - 1) / m;
    const int64_t i = (row < s.rows ? row : s.rows - 1) % m;
    s.a_at[row] = i * a.stride(row_axis), s.c_at[row] = i * c.stride(-2);
    for (int axis = leading.axes - 1; axis >= 0; --axis) {
      const int64_t at = product % leading.extent[axis];
      product /= leading.extent[axis];
      s.a_at[row] += at * leading.a[axis], s.c_at[row] += at * leading.c[axis];
    }
  }
  if (a.align_log2 < 4 || !aligned_rows(s, a.dtype())) return "rows of a are not aligned to 16 bytes";
  // Of two 16-bit operands the tensor cores read several rows as fast.
  if (a.dtype() == b.dtype() && a.dtype() != RUDA_F32 && s.rows > 1 && p.forced_kernel.empty() &&
      lt::context_of(static_cast<CudaDevice&>(p.device()), false))
    return "two or more rows of 16 bits are left to cuBLASLt";
  const tune::Gemv choice = tune::matmul_gemv(capability_of(p), s.rows, s.n, s.k, 32 * piece);
  s.splits = choice.splits, s.columns = choice.columns;
  if (s.n / s.columns > INT32_MAX / 4) return "n is above 2^29";
  s.early_blocks = capability_of(p).code_arch >= dependent_arch ? capability_of(p).multiprocessors * 8 : 0;
  s.activation = d.activation;
  s.bias_dtype = p[RUDA_MATMUL_BIAS].present ? p[RUDA_MATMUL_BIAS].dtype() : 0;
  s.c_dtype = c.dtype();
  prep.note(format("%d columns a warp, k over %d warps", s.columns, s.splits));
  return nullptr;
}

void run(const Launch& l) {
  const Args args{l.ptr<const void>(RUDA_MATMUL_A), l.ptr<const void>(RUDA_MATMUL_B),
                  l.problem[RUDA_MATMUL_BIAS].present ? l.ptr<const void>(RUDA_MATMUL_BIAS) : nullptr,
                  l.ptr<void>(RUDA_MATMUL_C), l.state<State>()};
  const uint32_t a = l.problem[RUDA_MATMUL_A].dtype(), b = l.problem[RUDA_MATMUL_B].dtype();
  if (a == RUDA_F16)
    launch<__half, __half>(args, l);
  else if (a == RUDA_BF16)
    launch<__nv_bfloat16, __nv_bfloat16>(args, l);
  else if (b == RUDA_F16)
    launch<float, __half>(args, l);
  else if (b == RUDA_BF16)
    launch<float, __nv_bfloat16>(args, l);
  else
    launch<float, float>(args, l);
  check_launch(l);
}

}  // namespace ruda::cuda::matmul_gemv
