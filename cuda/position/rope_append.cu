// cuda/position/rope_append.cu - rope_append on the GPU: one block a row, which takes the sines and cosines
// once for the heads of q and k.
// SPDX-License-Identifier: Apache-2.0
#include "device/dependent.cuh"
#include "plan/paged_schedule.hpp"
#include "position/rotary.cuh"
#include "runtime/launch.hpp"
#include "runtime/visit.hpp"

namespace ruda::cuda {
namespace {

constexpr int threads = 128, vector_threads = 256;
constexpr uint32_t Q = RUDA_ROPE_APPEND_Q, K = RUDA_ROPE_APPEND_K, V = RUDA_ROPE_APPEND_V,
                   FREQUENCIES = RUDA_ROPE_APPEND_FREQUENCIES, Y = RUDA_ROPE_APPEND_Y,
                   K_CACHE = RUDA_ROPE_APPEND_K_CACHE, V_CACHE = RUDA_ROPE_APPEND_V_CACHE;

// Strides in elements. Of y a row is where of a cache a slot of a page is.
struct Rows {
  int64_t row, head, to_page, to_row, to_head;
  int heads, dim;
};

// The plan's part, and that of an execution.
struct Args {
  Rows q, k, v;
  Rotary rotary;
};
struct Data {
  const void *q, *k, *v;
  void *y, *k_cache, *v_cache;
  const float* frequencies;
  const uint32_t* words;  // the schedule's image
  uint64_t positions_word, tables_word;
  uint32_t last_query, page_size, table_stride;  // last_query: the last that the image has room for
};

// Where the tokens of a row go; `live` is false for rows past the live count, which is read here, so that one
// captured graph serves every step.
struct Place {
  bool live;
  uint32_t sequence, position;

  __device__ Place(const Data& d, uint32_t row) {
    const uint32_t query = min(row, d.last_query);
    live = row < d.words[0];
    sequence = d.words[PagedSchedule::ids_word + query];
    position = d.words[d.positions_word + query];
  }
  __device__ int64_t page(const Data& d) const {
    return d.words[d.tables_word + uint64_t(sequence) * d.table_stride + position / d.page_size];
  }
};

template <class To, class From>
__device__ To stored(From x) {
  return from_f32<To>(to_f32(x));
}

// Everything, one element at a time. A launch for each part of the pairs that the arguments can hold.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    rope_append_elements(const __grid_constant__ Args a, const __grid_constant__ Data d) {
  const int64_t row = blockIdx.x;
  const Place place(d, uint32_t(row));
  if (!place.live) return;
  const int64_t page = place.page(d), slot = place.position % d.page_size;
  const Rotary& r = a.rotary;
  const From* q = static_cast<const From*>(d.q) + row * a.q.row;
  const From* k = static_cast<const From*>(d.k) + row * a.k.row;
  const From* v = static_cast<const From*>(d.v) + row * a.v.row;
  From* y = static_cast<From*>(d.y) + row * a.q.to_row;
  To* keys = static_cast<To*>(d.k_cache) + page * a.k.to_page + slot * a.k.to_row;
  To* values = static_cast<To*>(d.v_cache) + page * a.v.to_page + slot * a.v.to_row;
  for (int64_t i = r.begin + threadIdx.x; i < r.end; i += threads) {
    const Turn t = turn_of(r, d.frequencies, double(place.position), i);
    const int64_t first = r.first(i), second = r.second(i);
    const auto turn = [&](const From* from, auto&& put) {
      float x = to_f32(from[first]), z = to_f32(from[second]);
      turn_pair(t, x, z);
      put(first, from_f32<From>(x));
      put(second, from_f32<From>(z));
    };
    for (int h = 0; h < a.q.heads; ++h)
      turn(q + h * a.q.head, [&](int64_t e, From x) { y[h * a.q.to_head + e] = x; });
    for (int h = 0; h < a.k.heads; ++h)
      turn(k + h * a.k.head, [&](int64_t e, From x) { keys[h * a.k.to_head + e] = stored<To>(x); });
  }
  if (r.begin) return;
  // What no angle turns.
  const auto rest = [&](const Rows& rows, int begin, auto&& put) {
    const int count = rows.dim - begin;
    for (int64_t i = threadIdx.x; i < int64_t(count) * rows.heads; i += threads)
      put(i / count, begin + i % count);
  };
  const int turned = int(2 * r.half);
  if (y != q) rest(a.q, turned, [&](int64_t h, int64_t e) { y[h * a.q.to_head + e] = q[h * a.q.head + e]; });
  rest(a.k, turned,
       [&](int64_t h, int64_t e) { keys[h * a.k.to_head + e] = stored<To>(k[h * a.k.head + e]); });
  rest(a.v, 0, [&](int64_t h, int64_t e) { values[h * a.v.to_head + e] = stored<To>(v[h * a.v.head + e]); });
}

// Pieces of 16 bytes of a row: pairs of pieces to turn in q and k, then pieces of k and v that stay as they
// are, and of q unless it is y.
template <class From, class To>
struct Pieces {
  static constexpr int n = vec_size<From>;
  using Piece = Vec<From, n>;
  enum Part { of_q, of_k, of_v };

  const Args& a;
  const Data& d;
  int per_head, rest;  // pairs of pieces to turn in a head; pieces behind them
  int q_turns, turns, k_rest, v_rest, q_rest;

  __device__ Pieces(const Args& args, const Data& data) : a(args), d(data) {
    per_head = int(a.rotary.half) / n;
    rest = a.k.dim / n - 2 * per_head;
    q_turns = a.q.heads * per_head;
    turns = q_turns + a.k.heads * per_head;
    k_rest = a.k.heads * rest;
    v_rest = a.v.heads * (a.v.dim / n);
    q_rest = d.y == d.q ? 0 : a.q.heads * rest;
  }
  __device__ int count() const { return turns + k_rest + v_rest + q_rest; }

  // One of them: `low` and, when two turn, `high` are elements of the head.
  struct Task {
    Part part;
    bool turn;
    int head, low, high;
  };
  __device__ Task at(int i) const {
    if (i < turns) {
      const bool q = i < q_turns;
      const int task = q ? i : i - q_turns, head = task / per_head, piece = (task - head * per_head) * n;
      return a.rotary.interleaved ? Task{q ? of_q : of_k, true, head, 2 * piece, 2 * piece + n}
                                  : Task{q ? of_q : of_k, true, head, piece, piece + int(a.rotary.half)};
    }
    i -= turns;
    const bool v = i >= k_rest && i < k_rest + v_rest;
    const int begin = v ? 0 : 2 * per_head, width = v ? a.v.dim / n : rest;
    const int task = i < k_rest ? i : v ? i - k_rest : i - k_rest - v_rest;
    const int head = task / width, element = (begin + task - head * width) * n;
    return {i < k_rest ? of_k : v ? of_v : of_q, false, head, element, element};
  }

  __device__ const Rows& rows(Part part) const { return part == of_q ? a.q : part == of_k ? a.k : a.v; }
  __device__ const From* source(const Task& t, int64_t row) const {
    const Rows& r = rows(t.part);
    const void* from = t.part == of_q ? d.q : t.part == of_k ? d.k : d.v;
    return static_cast<const From*>(from) + row * r.row + t.head * r.head;
  }

  __device__ static void put(To* to, const Piece& piece) {
    To out[n];
#pragma unroll
    for (int k = 0; k < n; ++k) out[k] = stored<To>(piece[k]);
    store_run(to, out);
  }
  __device__ void store(const Task& t, int64_t row, int64_t page, int64_t slot, const Piece& low,
                        const Piece& high) const {
    const Rows& r = rows(t.part);
    if (t.part == of_q) {
      From* to = static_cast<From*>(d.y) + row * r.to_row + t.head * r.to_head;
      store_vec(to + t.low, low);
      if (t.turn) store_vec(to + t.high, high);
      return;
    }
    To* to = static_cast<To*>(t.part == of_k ? d.k_cache : d.v_cache) + page * r.to_page + slot * r.to_row +
             t.head * r.to_head;
    put(to + t.low, low);
    if (t.turn) put(to + t.high, high);
  }
};

// A thread has a frequency at most before the kernel ahead of it ends, and its first pieces are on their way
// while the schedule tells where they go.
template <class From, class To>
__global__ void __launch_bounds__(vector_threads)
    rope_append_vectors(const __grid_constant__ Args a, const __grid_constant__ Data d) {
  using Piece = typename Pieces<From, To>::Piece;
  constexpr int n = vec_size<From>;
  __shared__ Turn turns[table_pairs];
  const int64_t row = blockIdx.x;
  const Pieces<From, To> pieces(a, d);
  const int half = int(a.rotary.half), pair = int(threadIdx.x), count = pieces.count();
  double frequency = 0;
  if (a.rotary.own_table && pair < half) frequency = a.rotary.frequencies[pair];
  int i = int(threadIdx.x);
  typename Pieces<From, To>::Task task{};
  if (i < count) task = pieces.at(i);
  const From* from = pieces.source(task, row);
  let_next_start();
  wait_for_previous();
  const Place place(d, uint32_t(row));
  Piece low{}, high{};
  if (i < count) {
    low = load_vec<n>(from + task.low);
    high = load_vec<n>(from + task.high);
  }
  if (!a.rotary.own_table && pair < half) frequency = double(d.frequencies[pair]);
  if (!place.live) return;
  const int64_t page = place.page(d), slot = place.position % d.page_size;
  if (pair < half) turns[pair] = turn_by(a.rotary, double(place.position) * frequency);
  __syncthreads();
  while (i < count) {
    if (task.turn)
      turn_pieces(a.rotary.interleaved, turns + (a.rotary.interleaved ? task.low / 2 : task.low), low, high);
    pieces.store(task, row, page, slot, low, high);
    if ((i += blockDim.x) >= count) break;
    task = pieces.at(i);
    from = pieces.source(task, row);
    low = load_vec<n>(from + task.low);
    high = load_vec<n>(from + task.high);
  }
}

struct State {
  int64_t rows;
  unsigned block;
  bool early;  // starts while the kernel before it ends
  Args args;   // of the first pairs
};

Verdict prepare(const Problem& p, Prepare& prep) {
  if (p[Q].dim(0) > INT32_MAX) return "more than 2^31 - 1 rows";
  for (const uint32_t slot : {Q, K, V})
    if (p[slot].dim(1) > INT32_MAX || p[slot].dim(2) > INT32_MAX ||
        p[slot].dim(1) * p[slot].dim(2) > INT32_MAX / 4)
      return "rows of more than 2^29 - 1 elements";
  State& s = prep.state<State>();
  s.rows = p[Q].dim(0);
  s.early = capability_of(p).code_arch >= dependent_arch;
  const auto rows = [&](uint32_t from) {
    return Rows{p[from].stride(0), p[from].stride(1), 0, 0, 0, int(p[from].dim(1)), int(p[from].dim(2))};
  };
  s.args.q = rows(Q);
  s.args.q.to_row = p[Y].stride(0), s.args.q.to_head = p[Y].stride(1);
  const auto cached = [&](uint32_t from, const Operand& cache) {
    Rows r = rows(from);
    r.to_page = cache.stride(0), r.to_row = cache.stride(1), r.to_head = cache.stride(2);
    return r;
  };
  s.args.k = cached(K, p[K_CACHE]);
  s.args.v = cached(V, p[V_CACHE]);
  const RopeConstants& c = rope_constants_of<ruda_rope_append_desc>(p.options);
  s.args.rotary.set(c, p[FREQUENCIES].present);
  // All of a row's pieces at once where the block is that large, and a thread for each pair.
  const int64_t n = 16 / dtype_info(p[Q].dtype()).block_bytes;
  const int64_t tasks = (p[Q].dim(1) + p[K].dim(1)) * (c.half / n) + p[V].dim(1) * (p[V].dim(2) / n);
  s.block = unsigned(std::clamp<int64_t>((std::max(tasks, c.half) + 31) / 32 * 32, 64, vector_threads));
  return nullptr;
}

// Whether pieces of n elements lie at multiples of `bytes`.
bool in_pieces(const Operand& o, int64_t n, int bytes_log2) {
  if (o.align_log2 < bytes_log2) return false;
  for (int axis = 0; axis + 1 < o.rank(); ++axis)
    if (o.dim(axis) > 1 && o.stride(axis) % n) return false;
  return o.dim(-1) % n == 0;
}

Verdict prepare_vectors(const Problem& p, Prepare& prep) {
  const int64_t half = rope_constants_of<ruda_rope_append_desc>(p.options).half,
                n = 16 / dtype_info(p[Q].dtype()).block_bytes;
  if (half > table_pairs) return "rotary_dim above 512";
  if (half == 0 || half % n) return "pairs not in whole 16-byte pieces";
  for (const uint32_t slot : {Q, K, V, Y})
    if (!in_pieces(p[slot], n, 4)) return "heads not in aligned 16-byte pieces";
  const int cache_log2 = n * dtype_info(p[K_CACHE].dtype()).block_bytes < 16 ? 3 : 4;
  for (const uint32_t slot : {K_CACHE, V_CACHE})
    if (!in_pieces(p[slot], n, cache_log2)) return "cache not in aligned pieces";
  return prepare(p, prep);
}

Data data_of(const Launch& l) {
  const PagedSchedule& schedule = appendable_schedule(l, RUDA_ROPE_APPEND_SCHEDULE, K_CACHE, Q);
  schedule.use_on(l.stream);
  Data d;
  d.q = l.ptr<const void>(Q), d.k = l.ptr<const void>(K), d.v = l.ptr<const void>(V);
  d.y = l.ptr<void>(Y), d.k_cache = l.ptr<void>(K_CACHE), d.v_cache = l.ptr<void>(V_CACHE);
  d.frequencies = l.ptr<const float>(FREQUENCIES);
  d.words = schedule.device_words();
  d.positions_word = schedule.positions_word(), d.tables_word = schedule.tables_word();
  d.last_query = std::max(schedule.capacity().max_queries, 1u) - 1;
  d.page_size = schedule.page_size(), d.table_stride = schedule.table_stride();
  return d;
}

template <class From, class To>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  const Data d = data_of(l);
  if (s.rows == 0) return;
  const auto part = [&](const Args& args) {
    rope_append_elements<From, To><<<unsigned(s.rows), threads, 0, stream_of(l)>>>(args, d);
    check_launch(l);
  };
  part(s.args);
  for (int64_t begin = s.args.rotary.end; begin < s.args.rotary.half; begin += table_pairs) {
    Args more = s.args;
    more.rotary.set_pairs(rope_constants_of<ruda_rope_append_desc>(l.problem.options), begin);
    part(more);
  }
}

template <class From, class To>
void launch_vectors(const Launch& l) {
  const State& s = l.state<State>();
  const Data d = data_of(l);
  if (s.rows == 0) return;
  check_cuda(launch_dependent(s.early, rope_append_vectors<From, To>, unsigned(s.rows), s.block, stream_of(l),
                              s.args, d),
             "rope_append");
  check_launch(l);
}

// A launch for the dtypes of rows and cache.
template <bool vectors>
void run(const Launch& l) {
  visit_float(l.problem[Q].dtype(), [&](auto from) {
    visit_float(l.problem[K_CACHE].dtype(), [&](auto to) {
      if constexpr (vectors)
        launch_vectors<decltype(from), decltype(to)>(l);
      else
        launch<decltype(from), decltype(to)>(l);
    });
  });
}

constexpr Kernel list[] = {{"cuda/rope_append/vectors", prepare_vectors, run<true>},
                           {"cuda/rope_append/elements", prepare, run<false>}};

}  // namespace

extern constinit const Kernels rope_append{list};

}  // namespace ruda::cuda
