// tests/cuda/gpu_host.cpp - what a call costs the host above a bare launch, and memory from the cache.
// SPDX-License-Identifier: Apache-2.0
//
// Batches are short, so that the launch queue never fills; the variants of a case take turns.
#include "cuda/host_kernels.hpp"
#include "support/objects.hpp"
#include "support/op_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace ruda::test;

namespace {

using Clock = std::chrono::steady_clock;

struct Variant {
  std::string name;
  std::function<void()> call;
  int batch = 50;
  std::vector<double> seconds = {};
};

// The first variant is the bare launch, which the others are compared with; without one, each stands alone.
void measure(Env& env, const std::string& name, std::vector<Variant> variants, bool bare) {
  constexpr int rounds = 300;
  for (int round = -20; round < rounds; ++round)
    for (Variant& v : variants) {
      MUST(ruda_stream_sync(env.stream));
      const auto start = Clock::now();
      for (int i = 0; i < v.batch; ++i) v.call();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count() / v.batch;
      if (round >= 0) v.seconds.push_back(seconds);
    }
  MUST(ruda_stream_sync(env.stream));
  std::FILE* file = env.settings.json.empty() ? nullptr : std::fopen(env.settings.json.c_str(), "a");
  double bare_best = 0, bare_median = 0;
  for (Variant& v : variants) {
    std::sort(v.seconds.begin(), v.seconds.end());
    const double best = v.seconds.front(), median = v.seconds[v.seconds.size() / 2];
    const bool first = &v == &variants.front();
    if (first && bare) bare_best = best, bare_median = median;
    std::printf("host %s %s: min %.0f ns, median %.0f ns", name.c_str(), v.name.c_str(), best * 1e9,
                median * 1e9);
    if (bare && !first)
      std::printf(", above the bare launch %.0f and %.0f ns", (best - bare_best) * 1e9,
                  (median - bare_median) * 1e9);
    std::printf("\n");
    if (!file) continue;
    std::fprintf(file,
                 "{\"name\": \"host %s %s\", \"kernel\": \"host\", \"min_s\": %.9g, \"median_s\": %.9g, "
                 "\"bytes\": 0, \"flops\": 0, \"host_s\": %.9g, \"graph_s\": 0, \"above_bare_min_s\": %.9g, "
                 "\"above_bare_median_s\": %.9g}\n",
                 name.c_str(), v.name.c_str(), best, median, median, bare ? best - bare_best : 0,
                 bare ? median - bare_median : 0);
  }
  if (file) std::fclose(file);
}

void must_launch(const char* wrong) {
  if (wrong) throw Fatal(wrong);
}

ruda_tensor make(Env& env, const Shape& shape) {
  ruda_tensor tensor = new_tensor(env.context, RUDA_F32, shape);
  const std::vector<float> values(size_t(count_of(shape)), 0.5f);
  MUST(ruda_tensor_write(env.stream, tensor, values.data(), values.size() * 4));
  return tensor;
}

ruda_binding bind(uint32_t slot, ruda_tensor tensor) {
  ruda_binding binding{};
  binding.slot = slot;
  binding.kind = RUDA_BIND_TENSOR;
  binding.v.handle = tensor;
  return binding;
}

// The stream of the environment made anew over one that bare launches can use.
struct SharedStream {
  explicit SharedStream(Env& e) : env(e), before(e.stream), native(new_stream()) {
    if (!native) throw Fatal("no stream");
    MUST(ruda_stream_wrap(env.context, native, 0, &env.stream));
  }
  ~SharedStream() {
    ruda_stream_sync(env.stream);
    ruda_release(env.stream);
    env.stream = before;
    end_stream(native);
  }
  Env& env;
  ruda_stream before;
  void* native;
};

}  // namespace

// A stream of the caller carries the library's work among other launches, and lives on after its handle; the
// legacy default stream needs none.
RUDA_TEST(wrapped_streams) {
  if (env.settings.backend != RUDA_BACKEND_CUDA) throw Skip("needs a GPU");
  ruda_tensor a = make(env, {1536}), y = make(env, {1536});
  MUST(ruda_stream_sync(env.stream));
  void* const native = new_stream();
  ruda_stream stream = nullptr, legacy = nullptr;
  CHECK_FAILS(ruda_stream_wrap(env.context, nullptr, 0, &stream), RUDA_E_NULL, 1, "set bit 0 of flags");
  MUST(ruda_stream_wrap(env.context, native, 0, &stream));
  MUST(ruda_tensor_fence(a, stream));
  for (int i = 0; i < 3; ++i) {
    ruda_tensor sum = nullptr;
    MUST(ruda_binary(stream, a, a, RUDA_BINARY_ADD, &sum));
    must_launch(bare_add(native, data_of(a), data_of(a), data_of(sum)));
    ruda_release(a);
    a = sum;
  }
  ruda_release(stream);
  must_launch(bare_add(native, data_of(a), data_of(a), data_of(a)));
  MUST(ruda_tensor_fence(a, env.stream));
  std::vector<float> got(1536);
  MUST(ruda_tensor_read(env.stream, a, got.data(), got.size() * 4));
  CHECK(got[0] == 4.0f && got[1535] == 4.0f, "got %g and %g, expected 4", double(got[0]), double(got[1535]));
  MUST(ruda_stream_wrap(env.context, nullptr, 1, &legacy));
  MUST(ruda_tensor_fence(a, legacy));
  MUST(ruda_tensor_fence(y, legacy));
  MUST(ruda_tensor_copy(legacy, a, y));
  MUST(ruda_tensor_read(legacy, y, got.data(), got.size() * 4));
  CHECK(got[7] == 4.0f, "got %g, expected 4", double(got[7]));
  release({a, y, legacy});
  MUST(ruda_context_trim(env.context));
  end_stream(native);
}

RUDA_BENCH(host_add) {
  if (env.settings.backend != RUDA_BACKEND_CUDA) throw Skip("needs a GPU");
  SharedStream stream(env);
  ruda_tensor a = make(env, {1536}), b = make(env, {1536}), y = make(env, {1536});
  const ruda_tensor_desc ad = desc_of(a), bd = desc_of(b), yd = desc_of(y);
  ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
  desc.op = RUDA_BINARY_ADD;
  desc.a = &ad, desc.b = &bd, desc.y = &yd;
  ruda_plan plan = nullptr;
  MUST(ruda_binary_plan_create(env.context, &desc, &plan));
  const ruda_binding bindings[] = {bind(RUDA_BINARY_A, a), bind(RUDA_BINARY_B, b), bind(RUDA_BINARY_Y, y)};
  void *const ap = data_of(a), *const bp = data_of(b), *const yp = data_of(y);
  measure(
      env, "add f32 1536",
      {{"bare launch", [&] { must_launch(bare_add(stream.native, ap, bp, yp)); }},
       {"plan execute", [&] { MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr)); }},
       {"eager",
        [&] {
          ruda_tensor out = nullptr;
          MUST(ruda_binary(env.stream, a, b, RUDA_BINARY_ADD, &out));
          ruda_release(out);
        }}},
      true);
  release({a, b, y});
  ruda_release(plan);
}

RUDA_BENCH(host_rms_norm) {
  if (env.settings.backend != RUDA_BACKEND_CUDA) throw Skip("needs a GPU");
  SharedStream stream(env);
  ruda_tensor x = make(env, {4, 512}), gamma = make(env, {512}), y = make(env, {4, 512});
  const ruda_tensor_desc xd = desc_of(x), gd = desc_of(gamma), yd = desc_of(y);
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.x = &xd, desc.gamma = &gd, desc.y = &yd;
  desc.eps = 1e-5;
  ruda_plan plan = nullptr;
  MUST(ruda_rms_norm_plan_create(env.context, &desc, &plan));
  const ruda_binding bindings[] = {bind(RUDA_RMS_NORM_X, x), bind(RUDA_RMS_NORM_GAMMA, gamma),
                                   bind(RUDA_RMS_NORM_Y, y)};
  void *const xp = data_of(x), *const gp = data_of(gamma), *const yp = data_of(y);
  measure(
      env, "rms_norm f32 4x512",
      {{"bare launch", [&] { must_launch(bare_rms_norm(stream.native, xp, gp, yp)); }},
       {"plan execute", [&] { MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr)); }},
       {"eager",
        [&] {
          ruda_tensor out = nullptr;
          MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &out));
          ruda_release(out);
        }}},
      true);
  release({x, gamma, y});
  ruda_release(plan);
}

// A workspace is memory and its handle; a tensor has a layout and a place in the stream's order too.
RUDA_BENCH(host_memory) {
  if (env.settings.backend != RUDA_BACKEND_CUDA) throw Skip("needs a GPU");
  int64_t small = 256, large = int64_t(1) << 20;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_F32;
  desc.rank = 1;
  const auto tensor = [&](const int64_t* count) {
    desc.shape = count;
    ruda_tensor made = nullptr;
    MUST(ruda_tensor_create(env.context, &desc, &made));
    ruda_release(made);
  };
  measure(env, "memory from the cache",
          {{"tensor of 256 floats", [&] { tensor(&small); }, 2000},
           {"tensor of 1048576 floats", [&] { tensor(&large); }, 2000},
           {"workspace of 4 MiB",
            [&] {
              ruda_workspace made = nullptr;
              MUST(ruda_workspace_create(env.context, 4 << 20, &made));
              ruda_release(made);
            },
            2000}},
          false);
}
