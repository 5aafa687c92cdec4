// tests/ops/elementwise/stop.cpp - cancel tokens and timeouts stop every long operator well before its end.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"

#include <chrono>
#include <cstring>
#include <thread>

using namespace ruda::test;

namespace {

using Shape = std::vector<int64_t>;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A plan with its operands. Large inputs are broadcast views, so that the work is long and the memory small.
struct Work {
  explicit Work(Env& env) : env(env) {}
  ~Work() {
    ruda_release(plan);
    for (void* handle : owned) ruda_release(handle);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Small numbers of any dtype; with `repeat`, axis 0 repeats its first element.
  ruda_tensor tensor(uint32_t slot, uint32_t dtype, Shape shape, bool repeat = false) {
    const Shape whole = shape;
    if (repeat) shape[0] = 1;
    ruda_tensor t = new_tensor(env.context, dtype, shape);
    owned.push_back(t);
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    uint32_t state = slot + 1;
    uint64_t bytes = 0;
    MUST(ruda_tensor_get_data(t, nullptr, &bytes));
    std::vector<uint8_t> values(bytes);
    void* data = values.data();
    for (int64_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      const uint32_t bits = state >> 20;  // 12 random bits
      if (dtype == RUDA_F32)
        static_cast<float*>(data)[i] = float(int32_t(bits) - 2048) / 1024;
      else if (dtype == RUDA_I32)
        static_cast<int32_t*>(data)[i] = int32_t(bits % 1000);
      else if (dtype == RUDA_BF16)
        static_cast<uint16_t*>(data)[i] = uint16_t((bits & 0x800) << 4 | 0x3f00 | (bits & 0x7f));
      else if (dtype == RUDA_F8E4M3)
        static_cast<uint8_t*>(data)[i] = uint8_t((bits & 0x80) | 0x30 | (bits & 0x7));
    }
    MUST(ruda_tensor_write(env.stream, t, values.data(), bytes));
    if (repeat) {
      ruda_tensor view = nullptr;
      MUST(ruda_tensor_broadcast(t, whole.data(), uint32_t(whole.size()), &view));
      owned.push_back(view);
      t = view;
    }
    bind(slot, RUDA_BIND_TENSOR, t);
    return t;
  }
  void output(uint32_t slot, uint32_t dtype, const Shape& shape) { out = tensor(slot, dtype, shape); }
  void bind(uint32_t slot, uint32_t kind, void* handle) {
    ruda_binding b{slot, kind, {handle}};
    bindings.push_back(b);
  }
  // `rows` queries at the end of a history in pages of 64.
  void schedule(uint32_t slot, uint32_t history, uint32_t rows) {
    ruda_paged_schedule_desc d = RUDA_PAGED_SCHEDULE_DESC_INIT;
    d.page_size = 64;
    d.pages = history / 64;
    d.max_sequences = 1;
    d.max_queries = rows;
    d.max_table_pages = history / 64;
    ruda_paged_schedule made = nullptr;
    MUST(ruda_paged_schedule_create(env.context, &d, &made));
    owned.push_back(made);
    std::vector<uint32_t> table(history / 64), sequences(rows, 0), positions(rows);
    for (uint32_t i = 0; i < table.size(); ++i) table[i] = i;
    for (uint32_t i = 0; i < rows; ++i) positions[i] = history - rows + i;
    MUST(ruda_paged_schedule_set(made, env.stream, table.data(), history / 64, &history, 1, sequences.data(),
                                 positions.data(), rows));
    bind(slot, RUDA_BIND_HANDLE, made);
  }

  ruda_status run(const ruda_exec_opts* options, double& seconds) {
    const double start = now();
    const ruda_status status =
        ruda_plan_execute(plan, env.stream, nullptr, bindings.data(), uint32_t(bindings.size()), options);
    seconds = now() - start;
    return status;
  }
  std::vector<uint8_t> result() const {
    uint64_t bytes = 0;
    MUST(ruda_tensor_get_data(out, nullptr, &bytes));
    std::vector<uint8_t> values(bytes);
    MUST(ruda_tensor_read(env.stream, out, values.data(), bytes));
    return values;
  }

  Env& env;
  ruda_plan plan = nullptr;
  ruda_tensor out = nullptr;
  std::vector<void*> owned;
  std::vector<ruda_binding> bindings;
};

struct Case {
  const char* kernel;
  const char* what;
  int64_t first, last;  // sizes, doubled until the call takes long enough
  std::function<ruda_status(Work&, const ruda_plan_options*, int64_t size)> make;
};

ruda_status embed(Work& w, const ruda_plan_options* options, int64_t size) {
  const auto table = desc_of(w.tensor(RUDA_EMBEDDING_TABLE, RUDA_F32, {1000, 1})),
             ids = desc_of(w.tensor(RUDA_EMBEDDING_IDS, RUDA_I32, {size}));
  w.output(RUDA_EMBEDDING_Y, RUDA_F32, {size, 1});
  ruda_embedding_desc d = RUDA_EMBEDDING_DESC_INIT;
  d.options = options;
  d.table = &table;
  d.ids = &ids;
  return ruda_embedding_plan_create(w.env.context, &d, &w.plan);
}

// b [n, k] where it is transposed, else [k, n]; axis 0 of it repeats, and of a where there are many rows.
ruda_status multiply(Work& w, const ruda_plan_options* options, uint32_t dtype, int64_t m, int64_t n,
                     int64_t k, bool transposed, uint32_t activation = 0) {
  const auto a = desc_of(w.tensor(RUDA_MATMUL_A, dtype, {m, k}, m > 1024)),
             b = desc_of(w.tensor(RUDA_MATMUL_B, dtype, transposed ? Shape{n, k} : Shape{k, n}, true));
  w.output(RUDA_MATMUL_C, RUDA_F32, {m, n});
  const auto c = desc_of(w.out);
  ruda_matmul_desc d = RUDA_MATMUL_DESC_INIT;
  d.options = options;
  d.a = &a;
  d.b = &b;
  d.c = &c;
  d.transpose_b = transposed;
  d.activation = activation;
  return ruda_matmul_plan_create(w.env.context, &d, &w.plan);
}

ruda_status attend(Work& w, const ruda_plan_options* options, int64_t history, int64_t rows, int64_t heads) {
  const Shape cache{history / 64, 64, 1, 128}, query{rows, heads, 128};
  const auto q = desc_of(w.tensor(RUDA_PAGED_ATTENTION_Q, RUDA_F32, query)),
             k = desc_of(w.tensor(RUDA_PAGED_ATTENTION_K, RUDA_F32, cache, true)),
             v = desc_of(w.tensor(RUDA_PAGED_ATTENTION_V, RUDA_F32, cache, true));
  w.schedule(RUDA_PAGED_ATTENTION_SCHEDULE, uint32_t(history), uint32_t(rows));
  w.output(RUDA_PAGED_ATTENTION_OUT, RUDA_F32, query);
  ruda_paged_attention_desc d = RUDA_PAGED_ATTENTION_DESC_INIT;
  d.options = options;
  d.q = &q;
  d.k = &k;
  d.v = &v;
  d.causal = 1;
  d.scale = 0.1;
  return ruda_paged_attention_plan_create(w.env.context, &d, &w.plan);
}

ruda_status attend_rotated(Work& w, const ruda_plan_options* options, int64_t history) {
  const Shape cache{history / 64, 64, 1, 128}, one{1, 1, 128}, query{1, 32, 128};
  const auto q = desc_of(w.tensor(RUDA_ROPE_ATTENTION_Q, RUDA_F32, query)),
             k = desc_of(w.tensor(RUDA_ROPE_ATTENTION_K, RUDA_F32, one)),
             v = desc_of(w.tensor(RUDA_ROPE_ATTENTION_V, RUDA_F32, one)),
             k_cache = desc_of(w.tensor(RUDA_ROPE_ATTENTION_K_CACHE, RUDA_F32, cache)),
             v_cache = desc_of(w.tensor(RUDA_ROPE_ATTENTION_V_CACHE, RUDA_F32, cache));
  w.schedule(RUDA_ROPE_ATTENTION_SCHEDULE, uint32_t(history), 1);
  w.output(RUDA_ROPE_ATTENTION_OUT, RUDA_F32, query);
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 1e4;
  ruda_rope_attention_desc d = RUDA_ROPE_ATTENTION_DESC_INIT;
  d.options = options;
  d.q = &q;
  d.k = &k;
  d.v = &v;
  d.k_cache = &k_cache;
  d.v_cache = &v_cache;
  d.params = &params;
  d.scale = 0.1;
  return ruda_rope_attention_plan_create(w.env.context, &d, &w.plan);
}

ruda_status choose(Work& w, const ruda_plan_options* options, int64_t rows) {
  const auto logits = desc_of(w.tensor(RUDA_SAMPLE_LOGITS, RUDA_F32, {rows, 16384}, true));
  w.output(RUDA_SAMPLE_TOKENS, RUDA_I32, {rows});
  ruda_sample_desc d = RUDA_SAMPLE_DESC_INIT;
  d.options = options;
  d.logits = &logits;
  return ruda_sample_plan_create(w.env.context, &d, &w.plan);
}

ruda_status total(Work& w, const ruda_plan_options* options, int64_t rows) {
  const auto x = desc_of(w.tensor(RUDA_REDUCE_X, RUDA_F32, {rows, 16384}, true));
  w.output(RUDA_REDUCE_Y, RUDA_F32, {rows});
  ruda_reduce_desc d = RUDA_REDUCE_DESC_INIT;
  d.options = options;
  d.op = RUDA_REDUCE_SUM;
  d.x = &x;
  d.axes = 2;
  return ruda_reduce_plan_create(w.env.context, &d, &w.plan);
}

const Case cases[] = {
    {"cpu/sample/rows", "", 1 << 10, 1 << 20, choose},
    {"cpu/reduce/rows", "", 1 << 12, 1 << 22, total},
    {"cpu/embedding/rows", "", 1 << 22, 1 << 26, embed},
    {"cpu/embedding/scalar", "", 1 << 22, 1 << 26, embed},
    {"cpu/matmul/rows", " of dots", 1 << 15, 1 << 24,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 4, n, 4096, true);
     }},
    {"cpu/matmul/rows", " of sums", 1 << 15, 1 << 24,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 4, n, 4096, false);
     }},
    {"cpu/matmul/packed", "", 1 << 10, 1 << 18,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 512, n, 1024, true);
     }},
    {"cpu/matmul/packed", " of many rows", 1 << 12, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t m) {
       return multiply(w, o, RUDA_F32, m, 64, 16384, true);
     }},
    {"cpu/matmul/packed", " of many columns", 1 << 14, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 12, n, 16384, false);
     }},
    {"cpu/matmul/amx", "", 1 << 13, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_BF16, 64, n, 16384, true);
     }},
    {"cpu/matmul/amx", " of many rows", 1 << 13, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t m) {
       return multiply(w, o, RUDA_BF16, m, 64, 16384, true);
     }},
    {"cpu/matmul/staged", " of many rows", 1 << 12, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t m) {
       return multiply(w, o, RUDA_F8E4M3, m, 64, 8192, true);
     }},
    {"cpu/matmul/scalar", "", 1 << 8, 1 << 20,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 64, n, 1024, true);
     }},
    {"cpu/matmul/staged", " conversions", 1 << 12, 1 << 16,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F8E4M3, 1, n, 8192, true);
     }},
    {"cpu/matmul/staged", " activations", 1 << 10, 1 << 16,
     [](Work& w, const ruda_plan_options* o, int64_t n) {
       return multiply(w, o, RUDA_F32, 1024, n, 8, true, RUDA_ACTIVATION_GELU);
     }},
    {"cpu/paged_attention/rows", "", 1 << 13, 1 << 24,
     [](Work& w, const ruda_plan_options* o, int64_t n) { return attend(w, o, n, 1, 4); }},
    {"cpu/paged_attention/scalar", "", 1 << 13, 1 << 24,
     [](Work& w, const ruda_plan_options* o, int64_t n) { return attend(w, o, n, 1, 1); }},
    {"cpu/paged_attention/amx", "", 1 << 13, 1 << 24,
     [](Work& w, const ruda_plan_options* o, int64_t n) { return attend(w, o, n, 64, 1); }},
    {"cpu/rope_attention/rows", "", 1 << 12, 1 << 17, attend_rotated},
};

bool same(const Work& work, const std::vector<uint8_t>& want) {
  const std::vector<uint8_t> got = work.result();
  return got.size() == want.size() && std::memcmp(got.data(), want.data(), want.size()) == 0;
}

void check_stops(Env& env, const Case& c) {
  constexpr double long_enough = 0.3;  // seconds
  constexpr int attempts = 6;          // other programs may hold a stopped call up
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.kernel = c.kernel;
  set_case(std::string(c.kernel) + c.what);
  for (int64_t size = c.first;; size *= 2) {
    Work work(env);
    const ruda_status made = c.make(work, &options, size);
    if (made == RUDA_E_UNSUPPORTED) return;  // by this processor
    MUST(made);
    double whole = 0, again = 0;
    MUST(work.run(nullptr, whole));
    const std::vector<uint8_t> want = work.result();
    if (whole < long_enough && size < c.last) continue;
    MUST(work.run(nullptr, again));
    whole = std::min(whole, again);

    ruda_exec_opts stop{sizeof stop, 0, nullptr, uint64_t(whole / 8 * 1e9)};
    double seconds = 0;
    const auto check_best = [&](const char* what, ruda_status expected, const auto& run) {
      double best = 1e9;
      for (int i = 0; i < attempts && best > whole / 2; ++i) {
        const ruda_status status = run();
        if (status == expected) best = std::min(best, seconds);
      }
      CHECK(best <= whole / 2, "%s after %.3f s of %.3f s stopped it after %.3f s", what, whole / 8, whole,
            best);
    };
    check_best("a timeout", RUDA_E_TIMEOUT, [&] { return work.run(&stop, seconds); });

    stop.timeout_ns = 0;
    MUST(ruda_cancel_create(&stop.cancel));
    work.owned.push_back(stop.cancel);
    check_best("a token raised", RUDA_E_CANCELLED, [&] {
      MUST(ruda_cancel_reset(stop.cancel));
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::duration<double>(whole / 8));
        ruda_cancel_request(stop.cancel);
      });
      const ruda_status status = work.run(&stop, seconds);
      other.join();
      return status;
    });

    MUST(ruda_cancel_reset(stop.cancel));
    MUST(work.run(&stop, seconds));
    CHECK(same(work, want), "other bits with a token that is not raised");
    MUST(work.run(nullptr, seconds));
    CHECK(same(work, want), "other bits after a stopped call");
    return;
  }
}

}  // namespace

// A call whose token is raised, or whose time is over, writes nothing; then its stream and objects serve on.
RUDA_TEST(stopped_calls_write_nothing) {
  // Kernels of the library's own.
  ruda_plan_options tiles = RUDA_PLAN_OPTIONS_INIT, mma = RUDA_PLAN_OPTIONS_INIT;
  if (env.settings.backend == RUDA_BACKEND_CUDA)
    tiles.kernel = "cuda/matmul/tiles", mma.kernel = "cuda/matmul/mma";
  const struct {
    const char* name;
    std::function<ruda_status(Work&)> make;
  } calls[] = {
      {"embedding", [](Work& w) { return embed(w, nullptr, 1000); }},
      {"matmul", [&](Work& w) { return multiply(w, &tiles, RUDA_F32, 64, 100, 256, true); }},
      {"matmul of BF16", [&](Work& w) { return multiply(w, &mma, RUDA_BF16, 256, 256, 256, true); }},
      {"paged_attention", [](Work& w) { return attend(w, nullptr, 1 << 10, 4, 4); }},
      {"rope_attention", [](Work& w) { return attend_rotated(w, nullptr, 1 << 10); }},
      {"sample", [](Work& w) { return choose(w, nullptr, 4); }},
      {"reduce", [](Work& w) { return total(w, nullptr, 4); }},
  };
  for (const auto& call : calls) {
    set_case(call.name);
    Work work(env);
    MUST(call.make(work));
    double seconds = 0;
    MUST(work.run(nullptr, seconds));
    const std::vector<uint8_t> want = work.result(), marks(want.size(), 0x5A);
    MUST(ruda_tensor_write(env.stream, work.out, marks.data(), marks.size()));

    ruda_exec_opts stop{sizeof stop, 0, nullptr, 1};
    ruda_status status = work.run(&stop, seconds);
    CHECK(status == RUDA_E_TIMEOUT, "a call of a nanosecond gave %s", ruda_status_name(status));
    stop.timeout_ns = 0;
    MUST(ruda_cancel_create(&stop.cancel));
    work.owned.push_back(stop.cancel);
    MUST(ruda_cancel_request(stop.cancel));
    status = work.run(&stop, seconds);
    CHECK(status == RUDA_E_CANCELLED, "a call with a raised token gave %s", ruda_status_name(status));
    MUST(ruda_stream_sync(env.stream));
    CHECK(work.result() == marks, "a call that was stopped at once wrote");

    MUST(ruda_cancel_reset(stop.cancel));
    stop.timeout_ns = uint64_t(60) * 1000000000;
    MUST(work.run(&stop, seconds));
    CHECK(work.result() == want, "other bits with a token that is not raised and time left");
  }
}

// Pieces of a product that may be stopped are cut at other places; few columns and many rows go through the
// memory of the operands themselves, in several passes over k.
RUDA_TEST(stoppable_products_give_the_same_bits) {
  struct {
    int64_t m, n, k;
  } const shapes[] = {{24000, 64, 512}, {24000, 128, 512}, {24000, 32, 512}, {5000, 300, 700}};
  for (const auto& [m, n, k] : shapes)
    for (const bool transposed : {false, true}) {
      set_case("m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k));
      Work work(env);
      MUST(multiply(work, nullptr, RUDA_F32, m, n, k, transposed));
      double seconds = 0;
      MUST(work.run(nullptr, seconds));
      const std::vector<uint8_t> want = work.result();
      ruda_exec_opts stop{sizeof stop, 0, nullptr, uint64_t(600) * 1000000000};
      for (int round = 0; round < 3; ++round) {
        MUST(work.run(&stop, seconds));
        CHECK(same(work, want), "other bits with time left");
      }
    }
}

// Inside a call: a GPU looks between launches, so that what it was given runs to its end.
RUDA_TEST(long_calls_stop) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("a launch on a GPU is not stopped half way");
  for (const Case& c : cases)
    if (env.settings.kernel.empty() || env.settings.kernel == c.kernel) check_stops(env, c);
}

// One thread takes larger pieces than several do.
RUDA_TEST(long_calls_of_one_thread_stop) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("a GPU has no threads of the host's");
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_threads = 1;
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
  MUST(ruda_context_create(&desc, &context));
  MUST(ruda_stream_create(context, 0, &stream));
  std::swap(env.context, context);
  std::swap(env.stream, stream);
  for (const Case& c : cases)
    if (std::strncmp(c.kernel, "cpu/matmul/", 11) == 0 && std::strcmp(c.kernel, "cpu/matmul/scalar") != 0 &&
        (env.settings.kernel.empty() || env.settings.kernel == c.kernel))
      check_stops(env, c);
  std::swap(env.context, context);
  std::swap(env.stream, stream);
  ruda_release(stream);
  ruda_release(context);
}
