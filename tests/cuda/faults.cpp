// tests/cuda/faults.cpp - what goes wrong on a GPU, against a fake driver: memory, capture, streams, the end.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/child.hpp"
#include "cuda/fake_runtime.hpp"
#include "plan/program.hpp"
#include "support/objects.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

// The sum of a vector that is long enough for scratch memory.
struct Sum {
  explicit Sum(Env& env)
      : x(new_tensor(env.context, RUDA_F32, {4 << 20})), y(new_tensor(env.context, RUDA_F32, {1})) {
    const ruda_tensor_desc xd = desc_of(x), yd = desc_of(y);
    ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
    desc.op = RUDA_REDUCE_SUM;
    desc.keepdims = 1;
    desc.x = &xd;
    desc.y = &yd;
    MUST(ruda_reduce_plan_create(env.context, &desc, &plan));
    ruda_plan_info info = RUDA_PLAN_INFO_INIT;
    MUST(ruda_plan_query(plan, &info));
    if (!info.workspace_bytes) throw Fatal("the plan needs no scratch memory");
    bindings[0] = {RUDA_REDUCE_X, RUDA_BIND_TENSOR, {x}};
    bindings[1] = {RUDA_REDUCE_Y, RUDA_BIND_TENSOR, {y}};
  }
  ~Sum() { release({x, y, plan}); }
  ruda_status run(Env& env) const {
    return ruda_plan_execute(plan, env.stream, nullptr, bindings, 2, nullptr);
  }
  ruda_tensor x, y;
  ruda_plan plan = nullptr;
  ruda_binding bindings[2];
};

// Leaves so much device memory, and nothing cached, while it lives.
struct Room {
  Room(Env& env, uint64_t bytes) {
    MUST(ruda_stream_sync(env.stream));
    MUST(ruda_context_trim(env.context));
    fake::set_room(bytes);
  }
  ~Room() { fake::set_room(uint64_t(1) << 40); }
};

}  // namespace

// Scratch memory is what is missing, after the output was drawn: the call fails whole, the stream goes on.
RUDA_TEST(memory_ends_in_a_plan) {
  const Sum sum(env);
  const uint64_t before = info_of(env.context).allocated_bytes;
  const int launches = fake::kernel_launches();
  {
    const Room none(env, 0);
    CHECK_FAILS(sum.run(env), RUDA_E_OOM_DEVICE, -1, "release tensors or other contexts, or ask for less");
    CHECK(fake::kernel_launches() == launches, "a plan without its scratch memory was launched");
  }
  {
    const Room output_only(env, 512);
    ruda_tensor y = nullptr;
    CHECK_FAILS(ruda_reduce(env.stream, sum.x, RUDA_REDUCE_SUM, 1, 1, &y), RUDA_E_OOM_DEVICE, -1,
                "out of device memory");
    CHECK(!y, "a failed call gave a tensor");
  }
  CHECK(info_of(env.context).allocated_bytes == before, "%llu bytes are held, %llu before",
        (unsigned long long)info_of(env.context).allocated_bytes, (unsigned long long)before);
  MUST(sum.run(env));
  MUST(ruda_stream_sync(env.stream));
  // Under capture the recording stays whole, without the call that failed.
  ruda_graph graph = nullptr;
  {
    const Room none(env, 0);
    MUST(ruda_capture_begin(env.stream));
    CHECK_FAILS(sum.run(env), RUDA_E_OOM_DEVICE, -1, "out of device memory");
    fake::set_room(uint64_t(1) << 40);
    MUST(sum.run(env));
    MUST(ruda_capture_end(env.stream, &graph));
  }
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_stream_sync(env.stream));
  ruda_release(graph);
}

RUDA_TEST(capture_misuse) {
  const Sum sum(env);
  ruda_stream other = nullptr;
  ruda_event event = nullptr, mark = nullptr;
  ruda_graph graph = nullptr, second = nullptr;
  MUST(ruda_stream_create(env.context, 0, &other));
  MUST(ruda_event_create(env.context, &event));
  MUST(ruda_event_create(env.context, &mark));
  MUST(ruda_event_record(mark, other));
  ruda_tensor elsewhere = new_tensor(env.context, RUDA_F32, {16}), copy = nullptr;
  MUST(ruda_tensor_cast(other, elsewhere, RUDA_F32, &copy));
  CHECK_FAILS(ruda_capture_end(env.stream, &graph), RUDA_E_STATE, 0, "not under capture");
  MUST(sum.run(env));
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_capture_begin(env.stream), RUDA_E_STATE, 0, "under capture already");
  CHECK_FAILS(ruda_event_record(event, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  CHECK_FAILS(ruda_stream_wait(env.stream, mark), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  CHECK_FAILS(ruda_tensor_fence(copy, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_tensor_fence");
  CHECK_FAILS(ruda_plan_warm(sum.plan, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_plan_warm");
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  // Another stream is free meanwhile, and so is the memory of the context.
  MUST(ruda_tensor_copy(other, copy, elsewhere));
  MUST(ruda_stream_sync(other));
  MUST(ruda_context_trim(env.context));
  MUST(sum.run(env));
  MUST(ruda_capture_end(env.stream, &graph));
  CHECK_FAILS(ruda_capture_end(env.stream, &second), RUDA_E_STATE, 0, "not under capture");
  CHECK(!second, "a failed call gave a graph");
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_graph_launch");
  MUST(ruda_capture_end(env.stream, &second));
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_graph_launch(second, env.stream));  // an empty one
  MUST(ruda_stream_sync(env.stream));
  release({other, event, mark, graph, second, elsewhere, copy});
}

// A kernel that cannot be recorded says so before it is run, and the capture stays valid.
RUDA_TEST(kernel_that_cannot_be_captured) {
  using namespace ruda;
  static int runs;
  runs = 0;
  static const Kernel list[] = {{"cuda/waits/host",
                                 [](const Problem&, Prepare& prep) -> Verdict {
                                   prep.not_capturable();
                                   return nullptr;
                                 },
                                 [](const Launch&) { ++runs; }}};
  static const Kernels kernels = list;
  static const OpDef op{"waits", nullptr, &kernels, nullptr};
  Problem problem;
  problem.op = &op;
  problem.context = &get_context(env.context);
  const auto program = Program::build(std::move(problem));
  Stream& stream = get_stream(env.stream);
  const auto run = [&] {
    return guard("waits", [&] { execute(*program, stream, nullptr, nullptr, 0, {}); });
  };
  CHECK(run() == RUDA_OK && runs == 1, "%s", last_message().c_str());
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(run(), RUDA_E_CAPTURE_UNSAFE, -1, "waits: cuda/waits/host waits or loads");
  CHECK(runs == 1, "it ran");
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  ruda_release(graph);
  CHECK(run() == RUDA_OK && runs == 2, "%s", last_message().c_str());
}

// What a kernel does wrong shows when somebody waits: this stream ends, the others go on.
RUDA_TEST(fault_found_by_waiting) {
  ruda_stream other = nullptr;
  MUST(ruda_stream_create(env.context, 0, &other));
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {16}), y = nullptr;
  fake::fail_next_sync(cudaErrorIllegalAddress);
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_DEVICE, -1, "cudaErrorIllegalAddress");
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  MUST(ruda_last_error(&info));
  CHECK(info.native_code == cudaErrorIllegalAddress && !std::strcmp(info.native_library, "cuda"), "%s %d",
        info.native_library, info.native_code);
  CHECK_FAILS(ruda_tensor_cast(env.stream, x, RUDA_F32, &y), RUDA_E_STREAM_POISONED, -1,
              "release the stream and make a new one");
  CHECK_FAILS(ruda_capture_begin(env.stream), RUDA_E_STREAM_POISONED, -1, "release the stream");
  MUST(ruda_tensor_cast(other, x, RUDA_F32, &y));
  MUST(ruda_stream_sync(other));
  release({x, y, other});
}

// Work that is still under way is no failure of the launch after it.
RUDA_TEST(launches_beside_pending_work) {
  cudaStream_t native = nullptr;
  cudaStreamCreateWithFlags(&native, 0);
  ruda_stream other = nullptr;
  MUST(ruda_stream_wrap(env.context, native, 0, &other));
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {1000}), far = new_tensor(env.context, RUDA_F32, {1000}),
              y = nullptr, z = nullptr;
  const std::vector<float> values(1000, 1.0f);
  fake::hold(native, true);
  for (int i = 0; i < 3; ++i) MUST(ruda_tensor_write(other, far, values.data(), 4000));
  CHECK(ruda_stream_query(other) == RUDA_PENDING, "the other stream is done");
  MUST(ruda_tensor_cast(env.stream, x, RUDA_F16, &y));
  for (int i = 0; i < 3; ++i) MUST(ruda_tensor_write(other, far, values.data(), 4000));
  MUST(ruda_tensor_copy(env.stream, x, y));  // nothing is allocated in between
  MUST(ruda_tensor_cast(env.stream, x, RUDA_BF16, &z));
  MUST(ruda_stream_sync(env.stream));
  fake::hold(native, false);
  release({x, far, y, z, other});
  MUST(ruda_context_trim(env.context));
  cudaStreamDestroy(native);
}

// A copy that cannot be marked fails, and its pinned memory is there for the next.
RUDA_TEST(copies_that_fail) {
  const int64_t count = 4 << 20;  // in several pieces
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {count});
  std::vector<float> values(size_t(count), 1.0f);
  MUST(ruda_tensor_write(env.stream, x, values.data(), values.size() * sizeof(float)));
  MUST(ruda_tensor_read(env.stream, x, values.data(), values.size() * sizeof(float)));
  const int before = fake::host_allocations();
  for (int i = 0; i < 40; ++i) {
    fake::fail_next_record(cudaErrorMemoryAllocation);
    CHECK_FAILS(ruda_tensor_read(env.stream, x, values.data(), values.size() * sizeof(float)),
                RUDA_E_OOM_DEVICE, -1, "event");
    fake::fail_next_record(cudaErrorMemoryAllocation);
    CHECK_FAILS(ruda_tensor_write(env.stream, x, values.data(), values.size() * sizeof(float)),
                RUDA_E_OOM_DEVICE, -1, "event");
  }
  CHECK(fake::host_allocations() == before, "%d pieces of pinned memory, %d before", fake::host_allocations(),
        before);
  MUST(ruda_tensor_read(env.stream, x, values.data(), values.size() * sizeof(float)));
  ruda_release(x);
}

// Kernels are shared by plans: what one plan allows them in shared memory is enough for all.
RUDA_TEST(shared_memory_of_several_plans) {
  const int64_t rows = 8, n = 64;
  struct Product {
    Product(Env& env, int64_t k)
        : x(new_tensor(env.context, RUDA_F32, {rows, k})),
          weights(new_tensor(env.context, RUDA_Q4_0, {n, k})),
          y(new_tensor(env.context, RUDA_F32, {rows, n})) {
      const ruda_tensor_desc xd = desc_of(x), wd = desc_of(weights), yd = desc_of(y);
      ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
      options.kernel = "cuda/matmul_block/staged_mma";
      ruda_matmul_block_desc desc = RUDA_MATMUL_BLOCK_DESC_INIT;
      desc.options = &options;
      desc.x = &xd;
      desc.weights = &wd;
      desc.y = &yd;
      MUST(ruda_matmul_block_plan_create(env.context, &desc, &plan));
    }
    ~Product() { release({x, weights, y, plan}); }
    void run(Env& env) const {
      const ruda_binding bindings[] = {{RUDA_MATMUL_BLOCK_X, RUDA_BIND_TENSOR, {x}},
                                       {RUDA_MATMUL_BLOCK_WEIGHTS, RUDA_BIND_TENSOR, {weights}},
                                       {RUDA_MATMUL_BLOCK_Y, RUDA_BIND_TENSOR, {y}}};
      MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr));
    }
    ruda_tensor x, weights, y;
    ruda_plan plan = nullptr;
  };
  const Product large(env, 16384), small(env, 4096);
  large.run(env);
  small.run(env);
  large.run(env);
  MUST(ruda_stream_sync(env.stream));

  const auto sample = [&](int64_t vocab) {
    ruda_tensor logits = new_tensor(env.context, RUDA_F32, {1, vocab}),
                params = new_tensor(env.context, RUDA_F64, {1, RUDA_SAMPLE_PARAM_COUNT}),
                random = new_tensor(env.context, RUDA_U64, {1, 2}), tokens = nullptr;
    MUST(ruda_sample(env.stream, logits, params, random, nullptr, nullptr, 0, &tokens));
    MUST(ruda_stream_sync(env.stream));
    release({logits, params, random, tokens});
    return fake::shared_allowed("sample_rows");
  };
  const int most = sample(200000);
  CHECK(most > 48 << 10, "sample is allowed %d bytes", most);
  CHECK(sample(120000) == most, "sample is allowed %d bytes after fewer tokens, %d before", sample(120000),
        most);
}

RUDA_TEST(wrapped_streams) {
  ruda_stream stream = nullptr;
  CHECK_FAILS(ruda_stream_wrap(env.context, nullptr, 0, &stream), RUDA_E_NULL, 1,
              "set bit 0 of flags for the legacy default stream");
  CHECK_FAILS(ruda_stream_wrap(env.context, nullptr, 2, &stream), RUDA_E_ARGUMENT, 2, "flags is 2");
  fake::set_devices(2, 13000);
  cudaStream_t native = nullptr;
  cudaSetDevice(1);
  cudaStreamCreateWithFlags(&native, 0);
  cudaSetDevice(0);
  CHECK_FAILS(ruda_stream_wrap(env.context, native, 0, &stream), RUDA_E_ARGUMENT, 1,
              "is a stream of device 1, the context has device 0");
  CHECK(!stream, "a failed call gave a stream");
  cudaStreamDestroy(native);
  fake::set_devices(1, 13000);
  // The caller's stream outlives the handle, with work pending.
  cudaStreamCreateWithFlags(&native, 0);
  MUST(ruda_stream_wrap(env.context, native, 0, &stream));
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {64}), y = nullptr;
  MUST(ruda_tensor_cast(stream, x, RUDA_F32, &y));
  fake::hold(native, true);
  MUST(ruda_tensor_copy(stream, y, x));
  ruda_release(stream);
  CHECK(cudaStreamQuery(native) == cudaErrorNotReady, "releasing the handle waited for the stream");
  fake::hold(native, false);
  CHECK(cudaStreamQuery(native) == cudaSuccess, "the caller's stream is gone");
  release({x, y});
  MUST(ruda_context_trim(env.context));
  cudaStreamDestroy(native);
}

RUDA_TEST(what_the_driver_lacks) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CUDA;
  ruda_context context = nullptr;
  const struct {
    int devices, version;
    const char* advice;
  } cases[] = {{0, 0, "install NVIDIA's driver 580 or newer"},
               {1, 12080, "this library needs 13.0 or newer; install NVIDIA's driver 580 or newer"},
               {0, 13000, "check nvidia-smi and CUDA_VISIBLE_DEVICES"}};
  for (const auto& c : cases) {
    fake::set_devices(c.devices, c.version);
    CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_BACKEND_MISSING, 0, c.advice);
    CHECK(!context, "a failed call gave a context");
    uint32_t count = 7;
    CHECK(ruda_backend_probe(RUDA_BACKEND_CUDA, &count) != RUDA_OK || count == 0, "%u devices", count);
    char text[16384];
    MUST(ruda_backend_report(text, sizeof text, nullptr));
    CHECK(std::strstr(text, c.advice), "\"%s\" is not in the report: %s", c.advice, text);
    // The CPU is there all the same.
    ruda_context_desc any = RUDA_CONTEXT_DESC_INIT;
    MUST(ruda_context_create(&any, &context));
    ruda_release(context);
  }
  fake::set_devices(1, 13000);
}

RUDA_TEST(exit_with_live_objects) {
  if (in_child()) return;
  int status = run_child("exit");
  CHECK(status == 43, "a child that left objects alive ended with %d, expected 43", status);
  status = run_child("late");
  CHECK(status == 44, "a child that released while exiting ended with %d, expected 44", status);
}

RUDA_TEST(child) {
  if (!is_child("exit") && !is_child("late")) return;
  static ruda_tensor x;
  static ruda_graph graph;
  static ruda_event event;
  static ruda_stream stream;
  static ruda_context context;
  stream = env.stream;
  context = env.context;
  x = new_tensor(env.context, RUDA_F32, {1000});
  MUST(ruda_event_create(env.context, &event));
  MUST(ruda_event_record(event, env.stream));
  MUST(ruda_capture_begin(env.stream));
  ruda_tensor y = nullptr;
  MUST(ruda_tensor_cast(env.stream, x, RUDA_F16, &y));
  MUST(ruda_capture_end(env.stream, &graph));
  MUST(ruda_graph_launch(graph, env.stream));
  if (is_child("exit")) std::exit(43);
  std::atexit([] { release({graph, event, x, stream, context}); });
  std::exit(44);
}
