// tests/cuda/gpu_runtime.cpp - the CUDA runtime layer on a real GPU: order, graphs, faults, memory,
// processes.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/child.hpp"
#include "support/answers.hpp"
#include "support/objects.hpp"
#include "support/op_run.hpp"
#include "support/paged.hpp"

#include <ruda/ruda.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ruda::test;

namespace {

ruda_tensor make_filled(Env& env, const Shape& shape, const std::vector<float>& values) {
  ruda_tensor tensor = new_tensor(env.context, RUDA_F32, shape);
  MUST(ruda_tensor_write(env.stream, tensor, values.data(), values.size() * 4));
  return tensor;
}

std::vector<float> ramp(int64_t count, float step) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 1000) * step;
  return values;
}

}  // namespace

RUDA_TEST(copies_and_events) {
  const int64_t count = 64 << 20;
  const auto values = ramp(count, 0.5f);
  ruda_event before = nullptr, after = nullptr;
  MUST(ruda_event_create(env.context, &before));
  MUST(ruda_event_create(env.context, &after));
  ruda_tensor x = make_filled(env, {count}, values), y = new_tensor(env.context, RUDA_F32, {count});
  MUST(ruda_event_record(before, env.stream));
  MUST(ruda_tensor_copy(env.stream, x, y));
  MUST(ruda_event_record(after, env.stream));
  std::vector<float> got(values.size());
  MUST(ruda_tensor_read(env.stream, y, got.data(), got.size() * 4));
  CHECK(got == values, "a copy of 256 MiB came back different");
  double seconds = 0;
  MUST(ruda_event_elapsed(before, after, &seconds));
  CHECK(seconds > 1e-6 && seconds < 1, "the copy took %g s", seconds);
  MUST(ruda_stream_query(env.stream));
  release({x, y, before, after});
}

// Two streams hand a tensor back and forth; without the fences the copies would race.
RUDA_TEST(streams_in_turn) {
  ruda_stream other = nullptr;
  MUST(ruda_stream_create(env.context, 0, &other));
  const int64_t count = 8 << 20;
  for (int round = 0; round < 20; ++round) {
    const auto values = ramp(count, float(round + 1));
    ruda_tensor x = make_filled(env, {count}, values), y = nullptr, z = nullptr;
    CHECK_FAILS(ruda_tensor_cast(other, x, RUDA_F32, &y), RUDA_E_WRONG_STREAM, 1, "fence");
    MUST(ruda_tensor_fence(x, other));
    MUST(ruda_tensor_cast(other, x, RUDA_F32, &y));
    ruda_release(x);
    MUST(ruda_tensor_fence(y, env.stream));
    MUST(ruda_tensor_cast(env.stream, y, RUDA_F32, &z));
    ruda_release(y);
    std::vector<float> got(values.size());
    MUST(ruda_tensor_read(env.stream, z, got.data(), got.size() * 4));
    CHECK(got == values, "round %d came back different", round);
    ruda_release(z);
  }
  ruda_release(other);
}

RUDA_TEST(graph_of_an_operator) {
  const int64_t rows = 64, cols = 512;
  ruda_tensor x = make_filled(env, {rows, cols}, ramp(rows * cols, 0.01f));
  ruda_tensor gamma = make_filled(env, {cols}, std::vector<float>(cols, 2.0f)), warm = nullptr, y = nullptr,
              z = nullptr;
  MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &warm));
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_stream_sync");
  MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &y));
  MUST(ruda_rms_norm(env.stream, y, gamma, 1e-5, &z));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  const auto other = ramp(rows * cols, -0.3f);
  MUST(ruda_tensor_write(env.stream, x, other.data(), other.size() * 4));
  std::vector<float> replayed(other.size()), direct(other.size());
  for (int i = 0; i < 3; ++i) MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_tensor_read(env.stream, z, replayed.data(), replayed.size() * 4));
  ruda_tensor once = nullptr, twice = nullptr;
  MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &once));
  MUST(ruda_rms_norm(env.stream, once, gamma, 1e-5, &twice));
  MUST(ruda_tensor_read(env.stream, twice, direct.data(), direct.size() * 4));
  CHECK(replayed == direct, "replay and direct calls differ");
  // The graph outlives every handle of what it uses.
  release({x, gamma, warm, y, once, twice});
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_stream_sync(env.stream));
  MUST(ruda_tensor_read(env.stream, z, replayed.data(), replayed.size() * 4));
  CHECK(replayed == direct, "the graph lost memory that it uses");
  release({graph, z});
}

// What the launches of a graph do to a schedule on the device is what the getters say.
RUDA_TEST(schedule_in_a_graph) {
  ruda_paged_schedule schedule = make_schedule(env, 4, 2000, 300, 300, 5);
  std::vector<uint32_t> tables, lengths;
  for (uint32_t s = 0; s < 300; ++s) {
    lengths.push_back(s % 3 ? s % 7 : 0);
    for (uint32_t j = 0; j < 5; ++j) tables.push_back(s * 5 + j);
  }
  MUST(ruda_paged_schedule_set(schedule, env.stream, tables.data(), 5, lengths.data(), 300, nullptr, nullptr,
                               0));
  MUST(ruda_capture_begin(env.stream));
  MUST(ruda_paged_schedule_advance(schedule, env.stream));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  for (int i = 0; i < 5; ++i) MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_paged_schedule_advance(schedule, env.stream));
  MUST(ruda_stream_sync(env.stream));
  ruda_paged_schedule_info info = RUDA_PAGED_SCHEDULE_INFO_INIT;
  MUST(ruda_paged_schedule_get_info(schedule, &info));
  int64_t words = int64_t(info.tables_word) + 300 * 5;
  ruda_tensor_desc image_desc = RUDA_TENSOR_DESC_INIT;
  image_desc.dtype = RUDA_U32;
  image_desc.rank = 1;
  image_desc.shape = &words;
  ruda_tensor image = nullptr;
  MUST(ruda_tensor_wrap(env.context, &image_desc, const_cast<void*>(info.device_data), uint64_t(words) * 4,
                        nullptr, nullptr, &image));
  std::vector<uint32_t> device(static_cast<size_t>(words)), host;
  MUST(ruda_tensor_read(env.stream, image, device.data(), device.size() * 4));
  uint64_t count = 0;
  MUST(ruda_paged_schedule_get_packed(schedule, nullptr, 0, &count));
  host.resize(count);
  MUST(ruda_paged_schedule_get_packed(schedule, host.data(), count, nullptr));
  std::vector<uint32_t> packed;
  const auto add = [&](uint32_t from, uint64_t many) {
    packed.insert(packed.end(), device.begin() + from, device.begin() + from + int64_t(many));
  };
  CHECK(device[0] == info.queries && device[1] == 300, "the image has %u queries of %u", device[0],
        info.queries);
  add(info.sequence_ids_word, info.queries);
  add(info.positions_word, info.queries);
  add(info.lengths_word, 300);
  add(info.tables_word, 300 * 5);
  // The getter leaves the reserve out.
  for (size_t s = 0; s < 300; ++s)
    for (uint32_t j = (device[info.lengths_word + s] + 3) / 4; j < 5; ++j)
      packed[packed.size() - (300 - s) * 5 + j] = RUDA_NO_PAGE;
  CHECK(packed == host, "device and host differ");
  release({image, graph, schedule});
}

// Between two contexts of this GPU, to the CPU, and to a second GPU where there is one.
RUDA_TEST(copies_between_contexts) {
  uint32_t devices = 0;
  MUST(ruda_backend_probe(RUDA_BACKEND_CUDA, &devices));
  for (const auto& [backend, device] :
       {std::pair{RUDA_BACKEND_CUDA, 0}, {RUDA_BACKEND_CPU, 0}, {RUDA_BACKEND_CUDA, 1}}) {
    if (uint32_t(device) >= devices) continue;
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = uint32_t(backend);
    desc.device = device;
    ruda_context there = nullptr;
    ruda_stream stream = nullptr;
    MUST(ruda_context_create(&desc, &there));
    MUST(ruda_stream_create(there, 0, &stream));
    const int64_t count = 3 << 20;
    const auto values = ramp(count, 0.25f);
    ruda_tensor x = make_filled(env, {count}, values), y = nullptr,
                back = new_tensor(env.context, RUDA_F32, {count});
    ruda_tensor_desc like = RUDA_TENSOR_DESC_INIT;
    MUST(ruda_tensor_get_desc(x, &like));
    like.flags = 0;
    MUST(ruda_tensor_create(there, &like, &y));
    MUST(ruda_tensor_copy(stream, x, y));
    ruda_release(x);
    MUST(ruda_tensor_copy(env.stream, y, back));
    ruda_release(y);
    std::vector<float> got(values.size());
    MUST(ruda_tensor_read(env.stream, back, got.data(), got.size() * 4));
    CHECK(got == values, "backend %d, device %d: a copy came back different", backend, device);
    release({back, stream, there});
  }
}

// Every matmul kernel that accepts is timed by events; the choice computes.
RUDA_TEST(autotune_on_the_gpu) {
  const int64_t n = 512;
  const int64_t shape[] = {n, n};
  ruda_tensor_desc square = RUDA_TENSOR_DESC_INIT;
  square.dtype = RUDA_F32;
  square.rank = 2;
  square.shape = shape;
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
  desc.options = &options;
  desc.a = desc.b = &square;
  ruda_plan plan = nullptr;
  MUST(ruda_matmul_plan_create(env.context, &desc, &plan));
  MUST(ruda_plan_warm(plan, env.stream));
  char text[4096];
  MUST(ruda_plan_explain(plan, text, sizeof text, nullptr));
  CHECK(std::strstr(text, "autotune: "), "%s", text);
  CHECK(!std::strstr(text, "not timed yet"), "%s", text);
  std::printf("%s\n", text);
  std::vector<float> ones(size_t(n * n), 1.0f), got(size_t(n * n));
  ruda_tensor a = make_filled(env, {n, n}, ones), b = make_filled(env, {n, n}, ones),
              c = new_tensor(env.context, RUDA_F32, {n, n});
  ruda_binding bindings[3] = {};
  for (uint32_t i = 0; i < 3; ++i) bindings[i].kind = RUDA_BIND_TENSOR;
  bindings[0].slot = RUDA_MATMUL_A;
  bindings[0].v.handle = a;
  bindings[1].slot = RUDA_MATMUL_B;
  bindings[1].v.handle = b;
  bindings[2].slot = RUDA_MATMUL_C;
  bindings[2].v.handle = c;
  MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr));
  MUST(ruda_tensor_read(env.stream, c, got.data(), got.size() * 4));
  for (const float value : got) CHECK(value == float(n), "%g", double(value));
  release({a, b, c, plan});
}

RUDA_TEST(index_outside_the_table) {
  ruda_tensor table = make_filled(env, {10, 8}, ramp(80, 1.0f)), ids = new_tensor(env.context, RUDA_I32, {3}),
              y = nullptr;
  const int32_t bad[] = {1, 12, 3}, good[] = {1, 9, 3};
  MUST(ruda_tensor_write(env.stream, ids, bad, sizeof bad));
  MUST(ruda_embedding(env.stream, table, ids, RUDA_F32, &y));
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_INDEX, -1, "embedding: ids holds 12, expected 0..9");
  MUST(ruda_stream_sync(env.stream));
  ruda_release(y);
  MUST(ruda_tensor_write(env.stream, ids, good, sizeof good));
  MUST(ruda_embedding(env.stream, table, ids, RUDA_F32, &y));
  MUST(ruda_stream_sync(env.stream));
  release({table, ids, y});
}

// A cancelled answer keeps the tokens that were delivered, and goes on with those that it would have had.
RUDA_TEST(answer_that_is_cancelled) {
  const char* path = std::getenv("RUDA_TINY_MODEL");
  if (!path) throw Skip("RUDA_TINY_MODEL does not name the model that the build makes");
  ruda_store store = nullptr;
  ruda_model model = nullptr;
  MUST(ruda_store_open(path, nullptr, &store));
  MUST(ruda_model_load(env.context, store, nullptr, &model));
  const int32_t prompt[] = {5, 6, 7};
  uint32_t finish = 0;
  ruda_session whole = nullptr;
  MUST(ruda_session_create(model, nullptr, &whole));
  MUST(ruda_session_prompt(whole, prompt, 3, nullptr, nullptr, nullptr));
  CancelAfter cancel(0);  // not before it is told to
  ruda_generate_options options = cancel.options();
  options.max_new_tokens = 24;
  MUST(ruda_session_generate(whole, &options, &finish));
  const auto want = tokens_of(whole);
  CHECK(want.size() > 3 + 7, "an answer of %zu tokens, which is too short to cancel", want.size() - 3);
  for (const size_t after : {size_t(1), size_t(2), size_t(7)}) {
    if (want.size() < 3 + after + 1) continue;
    ruda_session session = nullptr;
    MUST(ruda_session_create(model, nullptr, &session));
    MUST(ruda_session_prompt(session, prompt, 3, nullptr, nullptr, nullptr));
    cancel.left = int(after);
    const ruda_status status = ruda_session_generate(session, &options, &finish);
    CHECK(status == RUDA_E_CANCELLED, "%s after %zu tokens", ruda_status_name(status), after);
    CHECK(tokens_of(session) == std::vector<int32_t>(want.begin(), want.begin() + 3 + long(after)),
          "a session that was cancelled after %zu tokens holds others", after);
    MUST(ruda_cancel_reset(cancel.token));
    options.max_new_tokens = want.size() - 3 - after;
    MUST(ruda_session_generate(session, &options, &finish));
    CHECK(tokens_of(session) == want, "another answer after a cancel at token %zu", after);
    options.max_new_tokens = 24;
    ruda_release(session);
  }
  release({whole, model, store});
}

RUDA_TEST(memory_runs_out_and_comes_back) {
  std::vector<ruda_tensor> held;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  int64_t count = int64_t(8) << 30;
  desc.dtype = RUDA_U8;
  desc.rank = 1;
  desc.shape = &count;
  ruda_status status = RUDA_OK;
  while (held.size() < 200) {
    ruda_tensor tensor = nullptr;
    status = ruda_tensor_create(env.context, &desc, &tensor);
    if (status != RUDA_OK) break;
    held.push_back(tensor);
  }
  CHECK(status == RUDA_E_OOM_DEVICE, "%s after %zu pieces", ruda_status_name(status), held.size());
  CHECK(last_message().find("8589934592 bytes asked for") != std::string::npos, "%s", last_message().c_str());
  ruda_tensor x = make_filled(env, {4, 16}, ramp(64, 1.0f));  // small requests still work
  // A call that draws its output in the midst of it fails whole, and works when there is room again.
  ruda_tensor wide = nullptr;
  CHECK_FAILS(ruda_tensor_cast(env.stream, held[0], RUDA_F16, &wide), RUDA_E_OOM_DEVICE, -1,
              "release tensors or other contexts, or ask for less at once");
  CHECK(!wide, "a failed call gave a tensor");
  MUST(ruda_stream_sync(env.stream));
  while (held.size() > 1) {
    ruda_release(held.back());
    held.pop_back();
  }
  MUST(ruda_tensor_cast(env.stream, held[0], RUDA_F16, &wide));
  MUST(ruda_stream_sync(env.stream));
  release({held[0], wide});
  // All of it is cached in one size; another size makes the allocator give it back and try again.
  count = int64_t(20) << 30;
  ruda_tensor large = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &large));
  release({x, large});
  MUST(ruda_context_trim(env.context));
}

RUDA_TEST(limit_in_the_middle) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CUDA;
  desc.memory_limit_bytes = 3 << 20;
  ruda_context context = nullptr;
  MUST(ruda_context_create(&desc, &context));
  ruda_stream stream = nullptr;
  MUST(ruda_stream_create(context, 0, &stream));
  int64_t shape[] = {256, 1024};
  ruda_tensor_desc tensor_desc = RUDA_TENSOR_DESC_INIT;
  tensor_desc.dtype = RUDA_F32;
  tensor_desc.rank = 2;
  tensor_desc.shape = shape;
  ruda_tensor a = nullptr, b = nullptr, c = nullptr;
  MUST(ruda_tensor_create(context, &tensor_desc, &a));
  MUST(ruda_tensor_create(context, &tensor_desc, &b));
  MUST(ruda_tensor_cast(stream, a, RUDA_F32, &c));
  ruda_tensor none = nullptr;
  CHECK_FAILS(ruda_tensor_cast(stream, a, RUDA_F32, &none), RUDA_E_BUDGET, -1, "limit 3145728");
  MUST(ruda_tensor_copy(stream, a, b));  // the stream goes on
  MUST(ruda_stream_sync(stream));
  release({context, stream, a, b, c});
}

RUDA_TEST(fork_is_refused) {
  ruda_tensor x = make_filled(env, {64}, ramp(64, 1.0f));
  MUST(ruda_stream_sync(env.stream));
  const pid_t child = fork();
  if (child == 0) {
    float got[64];
    bool good = ruda_tensor_read(env.stream, x, got, sizeof got) == RUDA_E_DEVICE &&
                last_message().find("before fork") != std::string::npos;
    good &= ruda_release(x) == RUDA_OK && ruda_release(env.stream) == RUDA_OK &&
            ruda_release(env.context) == RUDA_OK;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
  float got[64];
  MUST(ruda_tensor_read(env.stream, x, got, sizeof got));
  ruda_release(x);
}

RUDA_TEST(kernel_fault) {
  if (in_child()) return;
  const int status = run_child("fault");
  CHECK(status == 42, "the faulting child ended with %d, expected 42", status);
  // Faults end in their own process: this one goes on.
  ruda_tensor x = make_filled(env, {64}, ramp(64, 1.0f));
  MUST(ruda_stream_sync(env.stream));
  ruda_release(x);
}

RUDA_TEST(exit_with_live_objects) {
  if (in_child()) return;
  int status = run_child("exit");
  CHECK(status == 43, "a child that left objects alive ended with %d, expected 43", status);
  status = run_child("late");
  CHECK(status == 44, "a child that released while exiting ended with %d, expected 44", status);
}

RUDA_TEST(device_out_of_range) {
  uint32_t devices = 0;
  MUST(ruda_backend_probe(RUDA_BACKEND_CUDA, &devices));
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CUDA;
  ruda_context context = nullptr;
  for (const int device : {int(devices), -1, 1 << 20}) {
    desc.device = device;
    const std::string text = "desc.device is " + std::to_string(device) + ", this machine has " +
                             std::to_string(devices) + ", expected 0..";
    CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, text);
    CHECK(!context, "a failed call gave a context");
  }
}

RUDA_TEST(capture_misuse) {
  ruda_stream other = nullptr;
  ruda_event event = nullptr;
  ruda_graph graph = nullptr, none = nullptr;
  MUST(ruda_stream_create(env.context, 0, &other));
  MUST(ruda_event_create(env.context, &event));
  ruda_tensor x = make_filled(env, {64}, ramp(64, 1.0f)), y = new_tensor(env.context, RUDA_F32, {64});
  CHECK_FAILS(ruda_capture_end(env.stream, &none), RUDA_E_STATE, 0, "not under capture");
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_capture_begin(env.stream), RUDA_E_STATE, 0, "under capture already");
  CHECK_FAILS(ruda_event_record(event, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  float got[64];
  CHECK_FAILS(ruda_tensor_read(env.stream, x, got, sizeof got), RUDA_E_CAPTURE_UNSAFE, -1,
              "ruda_tensor_read");
  CHECK_FAILS(ruda_stream_query(env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_stream_query");
  MUST(ruda_stream_sync(other));
  MUST(ruda_context_trim(env.context));
  MUST(ruda_tensor_copy(env.stream, x, y));
  MUST(ruda_capture_end(env.stream, &graph));  // none of it broke the capture
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_graph_launch");
  MUST(ruda_capture_end(env.stream, &none));
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_tensor_read(env.stream, y, got, sizeof got));
  for (int i = 0; i < 64; ++i) CHECK(got[i] == float(i), "element %d is %g", i, double(got[i]));
  release({x, y, graph, none, event, other});
}

RUDA_TEST(no_device_visible) {
  if (in_child()) return;
  const int status = run_child("hidden", "CUDA_VISIBLE_DEVICES", "-1");
  CHECK(status == 77, "a child without a device ended with %d, expected a skip (77)", status);
}

// What run_child() runs: each ends the process with a number of its own.
RUDA_TEST(child) {
  if (is_child("fault")) {
    ruda_tensor bad = make_bad(env.context, 1 << 20), y = nullptr;
    ruda_status status = ruda_tensor_cast(env.stream, bad, RUDA_F16, &y);
    if (status == RUDA_OK) status = ruda_stream_sync(env.stream);
    ruda_error_info info = RUDA_ERROR_INFO_INIT;
    ruda_last_error(&info);
    std::printf("fault: %s, native %d: %s\n", ruda_status_name(status), info.native_code, info.message);
    bool good = status == RUDA_E_DEVICE && info.native_code == 700;
    good &= ruda_stream_sync(env.stream) == RUDA_E_STREAM_POISONED;
    ruda_tensor z = nullptr;
    good &= ruda_tensor_cast(env.stream, y ? y : bad, RUDA_F32, &z) == RUDA_E_STREAM_POISONED && !z;
    // The CPU is not touched by it.
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = RUDA_BACKEND_CPU;
    ruda_context cpu = nullptr;
    good &= ruda_context_create(&desc, &cpu) == RUDA_OK;
    release({bad, y, cpu});
    std::fflush(stdout);
    _exit(good ? 42 : 1);
  }
  if (is_child("exit")) {
    ruda_tensor x = make_filled(env, {1 << 20}, ramp(1 << 20, 1.0f)), y = nullptr;
    MUST(ruda_tensor_cast(env.stream, x, RUDA_F16, &y));
    std::exit(43);
  }
  if (is_child("late")) {
    static ruda_tensor left;
    left = make_filled(env, {1 << 20}, ramp(1 << 20, 1.0f));
    static ruda_stream stream = env.stream;
    static ruda_context context = env.context;
    std::atexit([] { release({left, stream, context}); });
    std::exit(44);
  }
}

RUDA_TEST(report) {
  char text[16384];
  MUST(ruda_backend_report(text, sizeof text, nullptr));
  CHECK(std::strstr(text, "CUDA: driver ") && std::strstr(text, "cuBLASLt: "), "%s", text);
  std::printf("%s", text);
}
