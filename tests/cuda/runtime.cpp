// tests/cuda/runtime.cpp - the CUDA runtime layer against a fake driver: order, memory, capture, failures.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/borrowed.hpp"
#include "runtime/allocator.hpp"
#include "runtime/device.hpp"
#include "runtime/stream.hpp"
#include "tensor/context.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <tuple>
#include <sys/wait.h>
#include <unistd.h>

using namespace ruda::test;

RUDA_TEST(size_classes) {
  using ruda::cuda::SizeClass;
  for (uint64_t bytes : {uint64_t(0), uint64_t(1), uint64_t(511), uint64_t(512)})
    CHECK(SizeClass::of(bytes).index == 0, "%llu", (unsigned long long)bytes);
  int before = 0;
  for (uint64_t bytes = 513; bytes < uint64_t(1) << 46; bytes += bytes / 13) {
    const SizeClass size = SizeClass::of(bytes);
    CHECK(size.bytes >= bytes && size.bytes - bytes < size.bytes / 8, "%llu bytes are rounded to %llu",
          (unsigned long long)bytes, (unsigned long long)size.bytes);
    CHECK(size.bytes % 64 == 0 && size.index >= before && size.index < SizeClass::count, "class %d",
          size.index);
    CHECK(SizeClass::bytes_of(size.index) == size.bytes, "class %d is %llu and %llu bytes", size.index,
          (unsigned long long)SizeClass::bytes_of(size.index), (unsigned long long)size.bytes);
    CHECK(SizeClass::of(size.bytes).index == size.index, "%llu is not its own class",
          (unsigned long long)size.bytes);
    CHECK(SizeClass::of(size.bytes + 1).index == size.index + 1, "%llu + 1", (unsigned long long)size.bytes);
    before = size.index;
  }
}

RUDA_TEST(write_and_read_back) {
  for (size_t size : {size_t(0), size_t(1), size_t(1000), size_t(65536), size_t(65537), size_t(9) << 20}) {
    ruda_tensor tensor = make(env, int64_t(size));
    const auto sent = bytes(size, 3);
    std::vector<uint8_t> got(size);
    auto lent = sent;
    MUST(ruda_tensor_write(env.stream, tensor, lent.data(), size));
    std::fill(lent.begin(), lent.end(), uint8_t(0));  // the caller's memory is free again
    MUST(ruda_tensor_read(env.stream, tensor, got.data(), size));
    CHECK(got == sent, "%zu bytes came back different", size);
    ruda_release(tensor);
  }
}

// Reuse on the same stream is immediate; another stream must not get a block whose work is pending.
RUDA_TEST(reuse_follows_streams) {
  Borrowed a(env), b(env);
  const auto sent = bytes(4096, 1);
  ruda_tensor first = make(env, 4096);
  void* block = data_of(first);
  MUST(ruda_tensor_write(a.stream, first, sent.data(), 4096));
  fake::hold(a.native, true);
  ruda_tensor copy = nullptr;
  MUST(ruda_tensor_cast(a.stream, first, RUDA_U8, &copy));  // pending, reads `first`
  ruda_release(first);
  ruda_tensor on_a = nullptr;
  MUST(ruda_tensor_cast(a.stream, copy, RUDA_U8, &on_a));
  CHECK(data_of(on_a) == block, "the stream's own block was not reused");
  void* held = data_of(copy);
  ruda_release(copy);
  ruda_tensor other = make(env, 4096);
  CHECK(data_of(other) != held, "memory with pending work was given out");
  MUST(ruda_stream_sync(a.stream));
  fake::hold(a.native, false);
  ruda_tensor later = make(env, 4096);
  CHECK(data_of(later) == held, "memory whose work has ended was not reused");
  release({on_a, other, later});
  MUST(ruda_stream_sync(b.stream));
}

RUDA_TEST(steady_state_asks_nothing) {
  for (int round = 0; round < 20; ++round) {
    ruda_tensor x = make(env, 100000);
    const auto sent = bytes(100000, uint8_t(round));
    MUST(ruda_tensor_write(env.stream, x, sent.data(), sent.size()));
    ruda_tensor y = nullptr;
    MUST(ruda_tensor_cast(env.stream, x, RUDA_U8, &y));
    std::vector<uint8_t> got(sent.size());
    MUST(ruda_tensor_read(env.stream, y, got.data(), got.size()));
    CHECK(got == sent, "round %d", round);
    ruda_release(x);
    ruda_release(y);
    static int device_before, host_before;
    if (round == 3) device_before = fake::device_allocations(), host_before = fake::host_allocations();
    if (round > 3) {
      CHECK(fake::device_allocations() == device_before, "round %d allocated device memory", round);
      CHECK(fake::host_allocations() == host_before, "round %d allocated pinned memory", round);
    }
  }
}

RUDA_TEST(wrong_stream_and_fence) {
  Borrowed a(env), b(env);
  const auto sent = bytes(256, 9);
  ruda_tensor x = make(env, 256);
  fake::hold(a.native, true);
  MUST(ruda_tensor_write(a.stream, x, sent.data(), 256));
  ruda_tensor y = nullptr;
  CHECK_FAILS(ruda_tensor_cast(b.stream, x, RUDA_U8, &y), RUDA_E_WRONG_STREAM, 1,
              "call ruda_tensor_fence first");
  MUST(ruda_tensor_fence(x, b.stream));
  MUST(ruda_tensor_cast(b.stream, x, RUDA_U8, &y));
  std::vector<uint8_t> got(256);
  MUST(ruda_tensor_read(b.stream, y, got.data(), 256));
  CHECK(got == sent, "the fence did not order the streams");
  // Both may read now; a write by one is ordered after the other by itself.
  MUST(ruda_tensor_read(a.stream, x, got.data(), 256));
  fake::hold(b.native, true);
  ruda_tensor z = nullptr;
  MUST(ruda_tensor_cast(b.stream, x, RUDA_U8, &z));  // pending read of x
  const auto other = bytes(256, 77);
  MUST(ruda_tensor_write(a.stream, x, other.data(), 256));
  MUST(ruda_stream_sync(a.stream));
  MUST(ruda_tensor_read(b.stream, z, got.data(), 256));
  CHECK(got == sent, "a write overtook a pending read");
  CHECK_FAILS(ruda_tensor_read(b.stream, x, got.data(), 256), RUDA_E_WRONG_STREAM, 1,
              "last written on another stream");
  release({x, y, z});
}

RUDA_TEST(lent_memory_waits) {
  Borrowed a(env);
  static int freed;
  freed = 0;
  int64_t count = 64;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_U8;
  desc.rank = 1;
  desc.shape = &count;
  alignas(256) static uint8_t memory[64];
  ruda_tensor lent = nullptr, copy = nullptr;
  MUST(ruda_tensor_wrap(
      env.context, &desc, memory, 64, [](void*, void*) { ++freed; }, nullptr, &lent));
  fake::hold(a.native, true);
  MUST(ruda_tensor_cast(a.stream, lent, RUDA_U8, &copy));
  ruda_release(lent);
  CHECK(freed == 0, "lent memory went back while work was pending");
  MUST(ruda_stream_sync(a.stream));
  CHECK(freed == 1, "lent memory went back %d times", freed);
  ruda_release(copy);
}

// No block is given to two tensors at once, and all come back.
RUDA_TEST(threads_share_the_cache) {
  const uint64_t before = info_of(env.context).allocated_bytes;
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        ruda_tensor x = make(env, 512), y = make(env, 600 + i % 3 * 500);
        const std::atomic_ref<int> mine(*static_cast<int*>(data_of(x)));
        mine.store(t);
        std::atomic_ref<int>(*static_cast<int*>(data_of(y))).store(-1);
        ruda_release(y);
        shared += mine.load() != t;
        ruda_release(x);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.load() == 0, "%d blocks belonged to two tensors", shared.load());
  CHECK(info_of(env.context).allocated_bytes == before, "%llu bytes did not come back",
        (unsigned long long)(info_of(env.context).allocated_bytes - before));
}

RUDA_TEST(out_of_memory) {
  ruda_tensor x = make(env, 1 << 20), y = make(env, 3 << 20);
  ruda_release(y);
  fake::set_room(1 << 20);
  // The cached 3 MiB are given back to the device and serve the request.
  ruda_tensor z = make(env, 4 << 20);
  ruda_release(z);
  CHECK(info_of(env.context).allocated_bytes == 1 << 20, "%llu",
        (unsigned long long)info_of(env.context).allocated_bytes);
  int64_t count = 64 << 20;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_U8;
  desc.rank = 1;
  desc.shape = &count;
  ruda_tensor none = nullptr;
  CHECK_FAILS(ruda_tensor_create(env.context, &desc, &none), RUDA_E_OOM_DEVICE, -1,
              "67108864 bytes asked for (67108864 with rounding); this context holds 1048576 and caches 0");
  CHECK(!none, "a failed call gave a tensor");
  fake::set_room(uint64_t(1) << 40);
  ruda_release(x);
}

RUDA_TEST(memory_limit) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CUDA;
  desc.memory_limit_bytes = 1 << 20;
  ruda_context context = nullptr;
  MUST(ruda_context_create(&desc, &context));
  int64_t count = 1 << 19;
  ruda_tensor_desc tensor_desc = RUDA_TENSOR_DESC_INIT;
  tensor_desc.dtype = RUDA_U8;
  tensor_desc.rank = 1;
  tensor_desc.shape = &count;
  ruda_tensor x = nullptr, y = nullptr, z = nullptr;
  MUST(ruda_tensor_create(context, &tensor_desc, &x));
  MUST(ruda_tensor_create(context, &tensor_desc, &y));
  CHECK_FAILS(ruda_tensor_create(context, &tensor_desc, &z), RUDA_E_BUDGET, -1, "limit 1048576");
  ruda_release(x);
  // A block that waits in the cache counts as soon as it is given out again.
  ruda_tensor between = make(context, 400000);
  CHECK_FAILS(ruda_tensor_create(context, &tensor_desc, &z), RUDA_E_BUDGET, -1, "limit 1048576");
  ruda_release(between);
  MUST(ruda_tensor_create(context, &tensor_desc, &z));
  ruda_release(context);
  ruda_release(y);
  ruda_release(z);
}

RUDA_TEST(trim_gives_back) {
  ruda_tensor x = make(env, 5 << 20);
  const auto sent = bytes(5 << 20, 1);
  MUST(ruda_tensor_write(env.stream, x, sent.data(), sent.size()));
  ruda_release(x);
  const int before = fake::live_blocks();
  CHECK(info_of(env.context).cached_bytes >= 5 << 20, "nothing is cached");
  MUST(ruda_context_trim(env.context));
  CHECK(info_of(env.context).cached_bytes == 0, "%llu stay cached",
        (unsigned long long)info_of(env.context).cached_bytes);
  CHECK(fake::live_blocks() < before, "no block went back");
}

// A stream's handle may end before the tensors that it wrote, and before its work.
RUDA_TEST(stream_ends_first) {
  auto* a = new Borrowed(env);
  const auto sent = bytes(1024, 5);
  ruda_tensor x = make(env, 1024);
  MUST(ruda_tensor_write(a->stream, x, sent.data(), 1024));
  fake::hold(a->native, true);
  ruda_tensor y = nullptr;
  MUST(ruda_tensor_cast(a->stream, x, RUDA_U8, &y));
  ruda_release(a->stream);
  a->stream = nullptr;
  void* block = data_of(y);
  ruda_release(y);
  ruda_tensor z = make(env, 1024);
  CHECK(data_of(z) != block, "memory of a closed stream was given out while its work was pending");
  MUST(ruda_tensor_fence(x, env.stream));
  std::vector<uint8_t> got(1024);
  MUST(ruda_tensor_read(env.stream, x, got.data(), 1024));
  CHECK(got == sent, "different bytes");
  delete a;
  ruda_release(x);
  ruda_release(z);
}

RUDA_TEST(graph_replays_and_keeps) {
  const auto one = bytes(512, 1), two = bytes(512, 200);
  ruda_tensor x = make(env, 512), y = make(env, 512);
  MUST(ruda_tensor_write(env.stream, x, one.data(), 512));
  MUST(ruda_tensor_copy(env.stream, x, y));
  MUST(ruda_stream_sync(env.stream));
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_capture_begin(env.stream), RUDA_E_STATE, 0, "under capture already");
  std::vector<uint8_t> got(512);
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_stream_sync");
  CHECK_FAILS(ruda_tensor_read(env.stream, x, got.data(), 512), RUDA_E_CAPTURE_UNSAFE, -1,
              "ruda_tensor_read");
  CHECK_FAILS(ruda_tensor_write(env.stream, x, got.data(), 512), RUDA_E_CAPTURE_UNSAFE, -1,
              "ruda_tensor_write");
  CHECK_FAILS(ruda_stream_query(env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_stream_query");
  ruda_tensor inner = nullptr;
  MUST(ruda_tensor_cast(env.stream, x, RUDA_U8, &inner));  // memory of the graph
  MUST(ruda_tensor_copy(env.stream, inner, y));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  void* graph_block = data_of(inner);
  ruda_release(inner);
  ruda_tensor outside = make(env, 512);
  CHECK(data_of(outside) != graph_block, "memory of a living graph was given out");
  MUST(ruda_tensor_write(env.stream, x, two.data(), 512));
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_tensor_read(env.stream, y, got.data(), 512));
  CHECK(got == two, "the replay did not copy");
  // The graph keeps what it uses.
  ruda_release(x);
  ruda_release(y);
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_stream_sync(env.stream));
  ruda_release(graph);
  ruda_tensor again = make(env, 512), third = make(env, 512), fourth = make(env, 512);
  CHECK(data_of(again) == graph_block || data_of(third) == graph_block || data_of(fourth) == graph_block,
        "memory of a dead graph is lost");
  release({outside, again, third, fourth});
}

// Temporaries of a capture are reused by its later nodes, and a tensor may outlive its graph.
RUDA_TEST(graph_memory) {
  ruda_tensor x = make(env, 2048);
  const auto sent = bytes(2048, 4);
  MUST(ruda_tensor_write(env.stream, x, sent.data(), 2048));
  MUST(ruda_capture_begin(env.stream));
  ruda_tensor a = nullptr, b = nullptr, c = nullptr;
  MUST(ruda_tensor_cast(env.stream, x, RUDA_U8, &a));
  MUST(ruda_tensor_cast(env.stream, a, RUDA_U8, &b));
  CHECK(data_of(a) != data_of(b), "two living tensors share memory");
  MUST(ruda_tensor_cast(env.stream, b, RUDA_U8, &c));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  MUST(ruda_graph_launch(graph, env.stream));
  std::vector<uint8_t> got(2048);
  MUST(ruda_tensor_read(env.stream, c, got.data(), 2048));
  CHECK(got == sent, "different bytes");
  ruda_release(graph);
  void* kept = data_of(c);
  ruda_release(a);
  ruda_release(b);
  ruda_tensor d = make(env, 2048), e = make(env, 2048), f = make(env, 2048);
  for (ruda_tensor tensor : {d, e, f})
    CHECK(data_of(tensor) != kept, "memory of a living tensor was given out");
  MUST(ruda_tensor_read(env.stream, c, got.data(), 2048));
  CHECK(got == sent, "a tensor that outlived its graph changed");
  release({x, c, d, e, f});
}

RUDA_TEST(abandoned_capture) {
  ruda_stream stream = nullptr;
  MUST(ruda_stream_create(env.context, 0, &stream));
  ruda_tensor x = make(env, 100);
  MUST(ruda_capture_begin(stream));
  ruda_tensor y = nullptr;
  MUST(ruda_tensor_cast(stream, x, RUDA_U8, &y));
  ruda_release(stream);
  ruda_release(y);
  ruda_release(x);
}

RUDA_TEST(failed_read_poisons) {
  ruda_stream stream = nullptr;
  MUST(ruda_stream_create(env.context, 0, &stream));
  const ruda_tensor x = make(env, 512);
  const auto in = bytes(512, 1);
  auto out = in;
  MUST(ruda_tensor_write(stream, x, in.data(), 512));
  fake::fail_next_sync(cudaErrorIllegalAddress);
  CHECK_FAILS(ruda_tensor_read(stream, x, out.data(), 512), RUDA_E_DEVICE, -1, "cudaErrorIllegalAddress");
  CHECK_FAILS(ruda_stream_sync(stream), RUDA_E_STREAM_POISONED, -1, "RUDA_E_DEVICE");
  CHECK_FAILS(ruda_tensor_read(stream, x, out.data(), 512), RUDA_E_STREAM_POISONED, -1, "");
  release({x, stream});
}

RUDA_TEST(failed_launch_poisons) {
  ruda_stream other = nullptr;
  MUST(ruda_stream_create(env.context, 0, &other));
  int64_t shape[] = {4, 4}, strides[] = {1, 4};
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_F32;
  desc.rank = 2;
  desc.shape = shape;
  desc.strides = strides;
  ruda_tensor x = nullptr, y = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &x));
  fake::fail_next_launch(cudaErrorIllegalAddress);
  CHECK_FAILS(ruda_tensor_contiguous(env.stream, x, &y), RUDA_E_DEVICE, -1, "cudaErrorIllegalAddress");
  CHECK(!y, "a failed call gave a tensor");
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  MUST(ruda_last_error(&info));
  CHECK(info.native_code == cudaErrorIllegalAddress && !std::strcmp(info.native_library, "cuda"), "%s %d",
        info.native_library, info.native_code);
  CHECK_FAILS(ruda_tensor_contiguous(env.stream, x, &y), RUDA_E_STREAM_POISONED, -1,
              "cudaErrorIllegalAddress");
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_STREAM_POISONED, -1, "RUDA_E_DEVICE");
  MUST(ruda_tensor_contiguous(other, x, &y));
  MUST(ruda_stream_sync(other));
  release({x, y, other});
}

// Candidates are launched on scratch memory between events; a capture refuses that and stays valid.
RUDA_TEST(autotune_times_kernels) {
  const int64_t shape[] = {64, 256};
  ruda_tensor_desc x = RUDA_TENSOR_DESC_INIT;
  x.dtype = RUDA_F32;
  x.rank = 2;
  x.shape = shape;
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
  desc.op = RUDA_BINARY_ADD, desc.options = &options;
  desc.a = desc.b = &x;
  ruda_plan plan = nullptr;
  MUST(ruda_binary_plan_create(env.context, &desc, &plan));
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_plan_warm(plan, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "ruda_plan_warm");
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  const int before = fake::kernel_launches();
  MUST(ruda_plan_warm(plan, env.stream));
  CHECK(fake::kernel_launches() >= before + 4, "%d launches", fake::kernel_launches() - before);
  char text[2048];
  MUST(ruda_plan_explain(plan, text, sizeof text, nullptr));
  for (const char* piece : {"autotune: fastest of those timed", "cuda/binary/vector: ", "cuda/binary/simt: "})
    CHECK(std::strstr(text, piece), "\"%s\" is not in: %s", piece, text);
  const int warmed = fake::kernel_launches();
  MUST(ruda_plan_warm(plan, env.stream));
  CHECK(fake::kernel_launches() == warmed, "a second warm timed again");
  ruda_release(plan);

  // What fails on the device is the caller's to know, not a reason to take another kernel.
  const int64_t other[] = {65, 256};
  x.shape = other;
  ruda_stream stream = nullptr;
  MUST(ruda_stream_create(env.context, 0, &stream));
  MUST(ruda_binary_plan_create(env.context, &desc, &plan));
  fake::fail_next_launch(cudaErrorIllegalAddress);
  CHECK_FAILS(ruda_plan_warm(plan, stream), RUDA_E_DEVICE, -1, "cudaErrorIllegalAddress");
  CHECK_FAILS(ruda_plan_warm(plan, stream), RUDA_E_STREAM_POISONED, -1, "cudaErrorIllegalAddress");
  MUST(ruda_plan_warm(plan, env.stream));
  release({graph, plan, stream});
}

RUDA_TEST(index_report) {
  using namespace ruda;
  auto& queue = static_cast<cuda::CudaStream&>(get_stream(env.stream).queue());
  cuda::IndexWord* word = queue.index_word();
  word->site = cuda::index_site("embedding", "indices");
  word->index = 70000;
  word->extent = 49152;
  word->taken = 1;
  CHECK_FAILS(ruda_stream_sync(env.stream), RUDA_E_INDEX, -1,
              "embedding: indices holds 70000, expected 0..49151");
  MUST(ruda_stream_sync(env.stream));
  // A graph reports on the stream that launched it.
  Borrowed other(env);
  MUST(ruda_capture_begin(env.stream));
  word = queue.index_word();
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  MUST(ruda_graph_launch(graph, other.stream));
  word->site = cuda::index_site("gather", "rows");
  word->index = -1;
  word->extent = 3;
  word->taken = 1;
  CHECK_FAILS(ruda_stream_sync(other.stream), RUDA_E_INDEX, -1, "gather: rows holds -1, expected 0..2");
  MUST(ruda_stream_sync(env.stream));
  ruda_release(graph);
}

RUDA_TEST(child_of_fork) {
  ruda_tensor x = make(env, 64);
  const pid_t child = fork();
  if (child == 0) {
    uint8_t got[64];
    const int before = fake::device_allocations();
    bool good = ruda_tensor_read(env.stream, x, got, 64) == RUDA_E_DEVICE;
    good &= last_message().find("before fork") != std::string::npos;
    ruda_stream stream = nullptr;
    good &= ruda_stream_create(env.context, 0, &stream) == RUDA_E_DEVICE;
    good &= ruda_stream_sync(env.stream) == RUDA_E_DEVICE;
    good &= ruda_tensor_fence(x, env.stream) == RUDA_E_DEVICE;
    good &= info_of(env.context).allocated_bytes == 0;
    good &= ruda_release(x) == RUDA_OK && ruda_release(env.stream) == RUDA_OK &&
            ruda_release(env.context) == RUDA_OK;
    good &= fake::device_allocations() == before;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
  MUST(ruda_stream_sync(env.stream));
  ruda_release(x);
}

// Between contexts of two devices, of one device, and of two backends.
RUDA_TEST(copies_between_contexts) {
  fake::set_devices(2, 13000);
  for (const auto& [backend, device, refused] : {std::tuple{RUDA_BACKEND_CUDA, 1, false},
                                                 {RUDA_BACKEND_CUDA, 1, true},
                                                 {RUDA_BACKEND_CUDA, 0, false},
                                                 {RUDA_BACKEND_CPU, 0, false}}) {
    fake::refuse_peers(refused);
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = uint32_t(backend);
    desc.device = device;
    ruda_context there = nullptr;
    ruda_stream stream = nullptr;
    MUST(ruda_context_create(&desc, &there));
    MUST(ruda_stream_create(there, 0, &stream));
    const auto sent = bytes(5000, 9);
    ruda_tensor x = make(env, 5000), y = make(there, 5000), back = make(env, 5000);
    const int before = fake::copies_between_devices(), opened = fake::pools_opened();
    MUST(ruda_tensor_write(env.stream, x, sent.data(), sent.size()));
    MUST(ruda_tensor_copy(stream, x, y));
    MUST(ruda_tensor_copy(env.stream, y, back));
    std::vector<uint8_t> got(5000);
    MUST(ruda_tensor_read(env.stream, back, got.data(), got.size()));
    CHECK(got == sent, "backend %d, device %d: different bytes", backend, device);
    const int made = fake::copies_between_devices() - before;
    CHECK(made == (backend == RUDA_BACKEND_CUDA && device == 1 && !refused ? 2 : 0), "%d peer copies", made);
    // Each pool is opened once to the other device, where the two have a way; this test's own context stays.
    const bool pair = backend == RUDA_BACKEND_CUDA && device == 1 && !refused;
    CHECK(fake::pools_opened() - opened == (pair ? 2 : 0), "%d pools were opened",
          fake::pools_opened() - opened);
    // What is not a plain transfer is refused, and the source may go while its copy is pending.
    ruda_tensor shorter = make(there, 10);
    CHECK_FAILS(ruda_tensor_copy(stream, x, shorter), RUDA_E_SHAPE, 2, "shape");
    MUST(ruda_tensor_copy(stream, x, y));
    ruda_release(x);
    MUST(ruda_tensor_read(stream, y, got.data(), got.size()));
    CHECK(got == sent, "a released source changed its copy");
    release({y, back, shorter, stream, there});
  }
  fake::refuse_peers(false);
  fake::set_devices(1, 13000);
}

RUDA_TEST(no_driver) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CUDA;
  ruda_context context = nullptr;
  fake::set_devices(0, 0);
  CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_BACKEND_MISSING, 0, "no driver (libcuda.so.1)");
  fake::set_devices(1, 12040);
  CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_BACKEND_MISSING, 0,
              "the driver is made for CUDA 12.4, this library needs 13.0");
  fake::set_devices(0, 13000);
  CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_BACKEND_MISSING, 0, "CUDA_VISIBLE_DEVICES");
  fake::set_devices(1, 13000);
  desc.device = 1;
  CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0,
              "desc.device is 1, this machine has 1");
  desc.device = -1;
  CHECK_FAILS(ruda_context_create(&desc, &context), RUDA_E_ARGUMENT, 0, "desc.device is -1");
}
