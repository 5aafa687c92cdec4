// cuda/sample/sample.cu - sample on the GPU: one block or a cluster of blocks a row; bounds and the drawn
// token are found digit by digit.
// SPDX-License-Identifier: Apache-2.0
//
// Instead of a sort, a search walks the digits of the 64-bit codes of the tokens, which order as the tokens
// do (logit, then the lower id first): each round counts what every value of the next digit holds and picks
// the one that the target falls into. Weights are integers, so that sums do not depend on the order of
// additions. Rejected: a sort of each row (several times the memory traffic), sums in floating point by
// atomics (not deterministic), a head of fixed size (flat rows need nearly all tokens).
#include "core/philox.hpp"
#include "device/convert.cuh"
#include "device/digit_search.cuh"
#include "runtime/launch.hpp"
#include "runtime/visit.hpp"

#include <ruda/sample.h>

#include <algorithm>
#include <cfloat>

namespace ruda::cuda {
namespace {

constexpr int threads = 512, limbs = 3, cluster_blocks = 8;
constexpr int64_t shared_most = 160 << 10;  // of the row's values and marks in one block

struct State {
  int64_t rows, vocab, range, logits_stride, history_stride, capacity;  // range: tokens of a block
  int64_t value_words, mark_words, shared_words;
  int mass_bits, limb_bits;
  bool append, values_shared, marks_shared;
  WorkspaceSlot values, marks;
};

struct Pointers {
  const void* logits;
  const double* params;
  uint64_t* random;
  int32_t *history, *lengths, *tokens;
  float* values;
  uint32_t* marks;
};

__device__ inline uint64_t count_param(double x) { return x >= 1 ? uint64_t(fmin(x, 0x1p53)) : 0; }

template <int Blocks>
struct Row {
  using Search = DigitSearch<Blocks, threads, limbs>;
  using Target = typename Search::Target;
  Search search;
  const State& s;
  float* values;             // this block's; each thread uses its own elements only; NaN = no candidate
  int64_t begin, count;      // of this block's tokens
  uint64_t lowest_code = 0;  // of the tokens that are kept
  float top = 0;             // highest value

  // f(code, value) of this thread's kept candidates.
  template <class F>
  __device__ void each(F&& f) const {
    for (int64_t i = threadIdx.x; i < count; i += threads) {
      const float x = values[i];
      if (x != x) continue;
      const uint64_t code = code_of(order_key(x), uint32_t(begin + i));
      if (code >= lowest_code) f(code, x);
    }
  }

  // exp(x - top) as an integer of 2^-mass_bits.
  __device__ uint64_t mass(float x) const {
    return __double2ull_rn(ldexp(exp(double(x) - double(top)), s.mass_bits));
  }
  __device__ uint64_t kept_mass() {
    uint64_t sum = 0;
    each([&](uint64_t, float x) { sum += mass(x); });
    return search.group_join(sum, [](auto a, auto b) { return a + b; });
  }

  template <bool Mass>
  __device__ bool narrow(Target& t, int shift, int bits) {
    constexpr int used = Mass ? limbs : 1;
    return search.template narrow<used>(t, shift, bits, [&](auto&& visit) {
      each([&](uint64_t code, float x) { visit(code, [&] { return Mass ? mass(x) : uint64_t(1); }); });
    });
  }
  // The value of the token at which the sum over the kept candidates, best first, reaches `target` (1 or
  // more): of weights, or of counts.
  template <bool Mass>
  __device__ bool find_value(uint64_t target, Target& t) {
    t = {0, target, 0};
    return narrow<Mass>(t, 53, 11) && narrow<Mass>(t, 42, 11) && narrow<Mass>(t, 32, 10);
  }
  // Completes the code where several tokens have the value.
  __device__ void find_token(Target& t) {
    if (s.vocab > 1 << 21)
      narrow<true>(t, 21, 11);
    else
      t.code |= uint64_t(0x7ff) << 21;
    narrow<true>(t, 10, 11);
    narrow<true>(t, 0, 10);
  }
  __device__ bool is_one_token(const Target& t) const {
    return t.inside == mass(order_value(uint32_t(t.code >> 32)));
  }
};

__device__ void give_out(const State& s, const Pointers& p, int64_t row, int64_t length, int32_t token) {
  p.tokens[row] = token;
  if (!s.append || token < 0 || length == s.capacity) return;
  p.history[row * s.history_stride + length] = token;
  p.lengths[row] = int32_t(length + 1);
}

template <class T, int Blocks>
__global__ void __launch_bounds__(threads)
    sample_rows(const __grid_constant__ Pointers p, const __grid_constant__ State s) {
  using Group = Cluster<Blocks>;
  __shared__ typename Row<Blocks>::Search::Shared sh;
  extern __shared__ uint32_t dynamic[];
  const int rank = Group::rank();
  const int64_t row = blockIdx.x / Blocks, part = row * Blocks + rank;
  const int64_t begin = rank * s.range, count = max(int64_t(0), min(s.vocab - begin, s.range));
  float* values = s.values_shared ? reinterpret_cast<float*>(dynamic) : p.values + part * s.value_words;
  volatile uint32_t* marks =
      s.marks_shared ? dynamic + (s.values_shared ? s.value_words : 0) : p.marks + part * s.mark_words;

  double temperature = 0, top_p = 0, min_p = 0, penalty = 1;
  uint64_t top_k = 0, window = 0, seed = 0, draws = 0;
  if (p.params) {
    const double* params = p.params + row * RUDA_SAMPLE_PARAM_COUNT;
    temperature = params[RUDA_SAMPLE_TEMPERATURE];
    if (isinf(temperature)) temperature = 0;
    top_k = count_param(params[RUDA_SAMPLE_TOP_K]);
    top_p = params[RUDA_SAMPLE_TOP_P];
    min_p = params[RUDA_SAMPLE_MIN_P];
    penalty = params[RUDA_SAMPLE_REPETITION_PENALTY];
    window = count_param(params[RUDA_SAMPLE_REPETITION_WINDOW]);
    seed = p.random[2 * row];
    draws = p.random[2 * row + 1];
  }
  const bool greedy = !(temperature > 0) || top_k == 1;
  const int64_t length = p.lengths ? max(int64_t(0), min(int64_t(p.lengths[row]), s.capacity)) : 0;

  // Marks of the tokens that the penalty is for.
  const bool penalises =
      penalty >= double(FLT_MIN) && penalty <= double(FLT_MAX) && penalty != 1 && length > 0;
  if (penalises) {
    for (int64_t i = threadIdx.x; i < s.mark_words; i += threads) marks[i] = 0;
    __syncthreads();
    const int64_t first = window && uint64_t(length) > window ? length - int64_t(window) : 0;
    for (int64_t i = first + threadIdx.x; i < length; i += threads) {
      const int64_t at = p.history[row * s.history_stride + i] - begin;
      if (at >= 0 && at < count) atomicOr(const_cast<uint32_t*>(marks) + at / 32, 1u << (at % 32));
    }
    __syncthreads();
  }

  Row<Blocks> r{{sh, s.limb_bits}, s, values, begin, count};
  const T* logits = static_cast<const T*>(p.logits) + row * s.logits_stride + begin;
  uint64_t best = 0;
#pragma unroll 4
  for (int64_t i = threadIdx.x; i < count; i += threads) {
    float x = to_f32(logits[i]);
    if (penalises && marks[i / 32] >> (i % 32) & 1) x = x > 0 ? x / float(penalty) : x * float(penalty);
    if (!greedy) values[i] = x;
    if (x > -INFINITY) best = max(best, code_of(order_key(x), uint32_t(begin + i)));
  }
  best = r.search.group_join(best, [](auto a, auto b) { return a > b ? a : b; });
  const float scale = float(1 / temperature);
  r.top = order_value(uint32_t(best >> 32)) * scale;
  if (best == 0 || greedy || !isfinite(r.top)) {
    if (rank == 0 && threadIdx.x == 0) give_out(s, p, row, length, best ? int32_t(place_of(best)) : -1);
    return;
  }

  for (int64_t i = threadIdx.x; i < count; i += threads)
    values[i] = values[i] > -INFINITY ? values[i] * scale : NAN;
  typename Row<Blocks>::Target t;
  // Ties with the k-th stay.
  if (top_k && top_k < uint64_t(s.vocab) && r.template find_value<false>(top_k, t)) r.lowest_code = t.code;
  uint64_t total = r.kept_mass();
  if (top_p > 0 && top_p < 1) {
    const uint64_t bound = min(total, max(uint64_t(1), uint64_t(ceil(top_p * double(total)))));
    r.template find_value<true>(bound, t);
    if (!r.is_one_token(t)) r.find_token(t);
    r.lowest_code = max(r.lowest_code, t.code);
  }
  if (min_p > 0 && min_p < 1) {
    const float bound = __double2float_ru(double(r.top) + log(min_p));
    r.lowest_code = max(r.lowest_code, uint64_t(order_key(bound)) << 32);
  }
  if ((top_p > 0 && top_p < 1) || (min_p > 0 && min_p < 1)) total = r.kept_mass();
  const double u = philox_uniform(seed, draws);
  r.template find_value<true>(min(total, uint64_t(u * double(total)) + 1), t);
  const bool one = r.is_one_token(t);
  if (!one) r.find_token(t);
  if (one)
    r.each([&](uint64_t code, float) {
      if (code >> 32 == t.code >> 32) give_out(s, p, row, length, int32_t(place_of(code)));
    });
  else if (rank == 0 && threadIdx.x == 0)
    give_out(s, p, row, length, int32_t(place_of(t.code)));
  if (rank == 0 && threadIdx.x == 0) p.random[2 * row + 1] = draws + 1;
  Group::sync();
}

// What a block has for values and marks beside the search. One number for all launches of a kernel: threads
// may launch it side by side, and what one of them allows holds for the others too.
template <int Blocks>
int64_t shared_room(const Problem& p) {
  const int64_t search = int64_t(sizeof(typename Row<Blocks>::Search::Shared));
  return std::clamp<int64_t>(capability_of(p).shared_bytes_per_block - search, 0, shared_most);
}

int bits_of(int64_t n) {
  int bits = 0;
  while (int64_t(1) << bits < n) ++bits;
  return bits;
}

template <int Blocks>
Verdict prepare(const Problem& p, Prepare& prep) {
  const Operand &logits = p[RUDA_SAMPLE_LOGITS], &history = p[RUDA_SAMPLE_HISTORY];
  if (Blocks > 1 && capability_of(p).code_arch < cluster_arch)
    return "GPU or code of a compute capability below 9.0";
  if (Blocks > 1 && logits.dim(1) < Blocks * threads) return "a small vocabulary";
  if (logits.dim(0) > INT32_MAX / Blocks) return "more rows than a grid holds";
  State& s = prep.state<State>();
  s.rows = logits.dim(0);
  s.vocab = logits.dim(1);
  s.range = (s.vocab + Blocks - 1) / Blocks;
  s.logits_stride = logits.stride(0);
  if (history.present) s.history_stride = history.stride(0), s.capacity = history.dim(1);
  s.append = p.as<ruda_sample_desc>().append;
  // The sum of all weights stays below 2^62, the sum of a limb in a block below 2^32.
  s.limb_bits = std::min(15, 32 - bits_of(s.range + 1));
  s.mass_bits = std::min({44, limbs * s.limb_bits - 1, 62 - bits_of(s.vocab)});
  const bool draws = p[RUDA_SAMPLE_PARAMS].present, marks = draws && history.present;
  s.value_words = draws ? s.range : 0;
  s.mark_words = marks ? (s.range + 31) / 32 : 0;
  const int64_t room = shared_room<Blocks>(p);
  s.marks_shared = s.mark_words * 4 <= room / 4;
  s.values_shared = s.value_words * 4 <= room - (s.marks_shared ? s.mark_words * 4 : 0);
  s.shared_words = (s.marks_shared ? s.mark_words : 0) + (s.values_shared ? s.value_words : 0);
  if (!s.values_shared) s.values = prep.book<float>(s.rows * Blocks * s.value_words);
  if (!s.marks_shared) s.marks = prep.book<uint32_t>(s.rows * Blocks * s.mark_words);
  return nullptr;
}

template <class T, int Blocks>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.rows == 0) return;
  const Pointers p{l.ptr<const void>(RUDA_SAMPLE_LOGITS),
                   l.ptr<const double>(RUDA_SAMPLE_PARAMS),
                   l.ptr<uint64_t>(RUDA_SAMPLE_RANDOM),
                   l.ptr<int32_t>(RUDA_SAMPLE_HISTORY),
                   l.ptr<int32_t>(RUDA_SAMPLE_LENGTHS),
                   l.ptr<int32_t>(RUDA_SAMPLE_TOKENS),
                   l.at<float>(s.values),
                   l.at<uint32_t>(s.marks)};
  const auto kernel = sample_rows<T, Blocks>;
  const size_t bytes = size_t(s.shared_words) * 4;
  if (bytes + sizeof(typename Row<Blocks>::Search::Shared) > 48 << 10)
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    int(shared_room<Blocks>(l.problem))),
               "sample");
  check_cuda(
      launch_clusters<Blocks>(false, kernel, unsigned(s.rows * Blocks), threads, bytes, stream_of(l), p, s),
      "sample");
}

template <int Blocks>
void run(const Launch& l) {
  visit_float(l.problem[RUDA_SAMPLE_LOGITS].dtype(), [&](auto t) { launch<decltype(t), Blocks>(l); });
}

constexpr Kernel list[] = {{"cuda/sample/cluster", prepare<cluster_blocks>, run<cluster_blocks>},
                           {"cuda/sample/block", prepare<1>, run<1>}};

}  // namespace

extern constinit const Kernels sample{list};

}  // namespace ruda::cuda
