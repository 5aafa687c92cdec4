// tests/cuda/gpu_peers.cpp - two GPUs in one process: copies both ways, order between their streams, threads.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/child.hpp"
#include "cuda/host_kernels.hpp"
#include "support/objects.hpp"
#include "support/op_run.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

using namespace ruda::test;

namespace {

struct Side {
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
};

// A context and a stream on each of the first two GPUs.
struct Pair {
  explicit Pair(const Env& env) {
    uint32_t devices = 0;
    if (env.settings.backend == RUDA_BACKEND_CUDA) MUST(ruda_backend_probe(RUDA_BACKEND_CUDA, &devices));
    if (devices < 2) throw Skip("needs two GPUs, this machine has " + std::to_string(devices));
    for (int i = 0; i < 2; ++i) {
      ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
      desc.backend = RUDA_BACKEND_CUDA;
      desc.device = i;
      MUST(ruda_context_create(&desc, &side[i].context));
      MUST(ruda_stream_create(side[i].context, 0, &side[i].stream));
    }
  }
  ~Pair() {
    for (Side& s : side) {
      ruda_stream_sync(s.stream);
      ruda_release(s.stream);
      ruda_release(s.context);
    }
  }
  Side side[2];
};

ruda_tensor make(ruda_context context, uint32_t dtype, int64_t count, void* memory = nullptr) {
  if (!memory) return new_tensor(context, dtype, {count});
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = 1;
  desc.shape = &count;
  ruda_tensor tensor = nullptr;
  MUST(ruda_tensor_wrap(context, &desc, memory, uint64_t(count) * size_of(dtype), nullptr, nullptr, &tensor));
  return tensor;
}

std::vector<uint8_t> pattern(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; i += 8) {
    const uint64_t word = random();
    std::memcpy(&bytes[i], &word, std::min<size_t>(8, count - i));
  }
  return bytes;
}

// There and back through the other device's memory.
void round_trip(const Pair& pair, int from, size_t count, void* near, void* far, const char* what) {
  const Side &here = pair.side[from], &there = pair.side[1 - from];
  const auto sent = pattern(count, count + size_t(from));
  ruda_tensor x = make(here.context, RUDA_U8, int64_t(count), near),
              y = make(there.context, RUDA_U8, int64_t(count), far),
              back = make(here.context, RUDA_U8, int64_t(count));
  MUST(ruda_tensor_write(here.stream, x, sent.data(), count));
  MUST(ruda_tensor_copy(there.stream, x, y));
  MUST(ruda_tensor_copy(here.stream, y, back));
  std::vector<uint8_t> got(count);
  MUST(ruda_tensor_read(there.stream, y, got.data(), count));
  CHECK(got == sent, "%s: %zu bytes from device %d to %d differ", what, count, from, 1 - from);
  MUST(ruda_tensor_read(here.stream, back, got.data(), count));
  CHECK(got == sent, "%s: %zu bytes back to device %d differ", what, count, from);
  release({x, y, back});
}

// Of device `index`, dropped at the end.
struct Plain {
  Plain(int index, size_t bytes) : device(index), data(new_memory(index, bytes)) {
    if (!data) throw Fatal("no device memory");
  }
  ~Plain() { end_memory(device, data); }
  int device;
  void* data;
};

}  // namespace

RUDA_TEST(peers_both_ways) {
  const Pair pair(env);
  for (const size_t count : {size_t(1), size_t(1000), size_t(4099), size_t(5) << 20, (size_t(64) << 20) + 3})
    for (int from : {0, 1}) {
      const int before = current_device();
      round_trip(pair, from, count, nullptr, nullptr, "memory of the pools");
      CHECK(current_device() == before, "the thread's device is %d, was %d", current_device(), before);
    }
}

// Memory that the caller has from CUDA: direct when peer access is on, through the host when it is off.
RUDA_TEST(peers_plain_memory) {
  const Pair pair(env);
  for (const bool on : {false, true, false}) {
    if (!set_peer_access(0, 1, on)) {
      std::printf("devices 0 and 1 have no direct way: only copies through the host are tested\n");
      if (on) continue;
    }
    for (const size_t count : {size_t(1000), size_t(33) << 20})
      for (int from : {0, 1}) {
        const Plain near(from, count), far(1 - from, count);
        round_trip(pair, from, count, near.data, far.data, on ? "peer access on" : "peer access off");
      }
  }
}

// A copy waits for what writes its source, later writes wait for the copy, and no call waits for either.
RUDA_TEST(peers_in_order) {
  const Pair pair(env);
  const int64_t count = 16 << 20;
  for (int from : {0, 1}) {
    const Side &here = pair.side[from], &there = pair.side[1 - from];
    ruda_tensor x = make(here.context, RUDA_F32, count), y = make(there.context, RUDA_F32, count);
    std::vector<ruda_tensor> sources, copies;
    for (int round = 0; round < 8; ++round) {
      const std::vector<float> values(size_t(count), float(round + 1));
      sources.push_back(make(here.context, RUDA_F32, count));
      MUST(ruda_tensor_write(here.stream, sources.back(), values.data(), values.size() * 4));
    }
    for (int round = 0; round < 8; ++round) {
      MUST(ruda_tensor_copy(here.stream, sources[size_t(round)], x));  // waits for the last copy away
      MUST(ruda_tensor_copy(there.stream, x, y));
      ruda_tensor kept = nullptr;
      MUST(ruda_tensor_cast(there.stream, y, RUDA_F32, &kept));
      copies.push_back(kept);
    }
    for (int round = 0; round < 8; ++round) {
      std::vector<float> got(static_cast<size_t>(count));
      MUST(ruda_tensor_read(there.stream, copies[size_t(round)], got.data(), got.size() * 4));
      size_t wrong = 0;
      for (const float value : got) wrong += value != float(round + 1);
      CHECK(wrong == 0, "from device %d, round %d: %zu elements are of another round", from, round, wrong);
    }
    // A source that goes while its copy is pending.
    MUST(ruda_tensor_copy(there.stream, x, y));
    ruda_release(x);
    for (int i = 0; i < 4; ++i) {
      ruda_tensor next = nullptr;
      MUST(ruda_tensor_cast(here.stream, sources[0], RUDA_F32, &next));
      sources.push_back(next);
    }
    std::vector<float> got(static_cast<size_t>(count));
    MUST(ruda_tensor_read(there.stream, y, got.data(), got.size() * 4));
    size_t wrong = 0;
    for (const float value : got) wrong += value != 8.0f;
    CHECK(wrong == 0, "%zu elements changed with their source's memory", wrong);
    for (ruda_tensor tensor : sources) ruda_release(tensor);
    for (ruda_tensor tensor : copies) ruda_release(tensor);
    ruda_release(y);
  }
}

// Threads with streams of their own pass tensors between the two contexts.
RUDA_TEST(peers_from_threads) {
  const Pair pair(env);
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(6);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      try {
        ruda_stream streams[2] = {};
        for (int i = 0; i < 2; ++i) MUST(ruda_stream_create(pair.side[i].context, 0, &streams[i]));
        for (int round = 0; round < 20; ++round) {
          const size_t count = 100000 + 4096 * t + size_t(round);
          const int from = int(t + size_t(round)) & 1;
          const auto sent = pattern(count, t * 1000 + size_t(round));
          ruda_tensor x = make(pair.side[from].context, RUDA_U8, int64_t(count)),
                      y = make(pair.side[1 - from].context, RUDA_U8, int64_t(count)),
                      z = make(pair.side[from].context, RUDA_U8, int64_t(count));
          MUST(ruda_tensor_write(streams[from], x, sent.data(), count));
          MUST(ruda_tensor_copy(streams[1 - from], x, y));
          ruda_release(x);
          MUST(ruda_tensor_copy(streams[from], y, z));
          ruda_release(y);
          std::vector<uint8_t> got(count);
          MUST(ruda_tensor_read(streams[from], z, got.data(), count));
          if (got != sent) wrong[t] = "round " + std::to_string(round) + " came back different";
          ruda_release(z);
        }
        for (ruda_stream stream : streams) ruda_release(stream);
      } catch (const std::exception& error) {
        wrong[t] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < wrong.size(); ++t) CHECK(wrong[t].empty(), "thread %zu: %s", t, wrong[t].c_str());
}

// Work for the second GPU from a thread whose device is the first, and in a graph.
RUDA_TEST(peers_kernels) {
  const Pair pair(env);
  const Side& there = pair.side[1];
  const std::vector<float> values(1 << 16, 1.5f);
  ruda_tensor x = make(there.context, RUDA_F32, 1 << 16), warm = nullptr, y = nullptr, z = nullptr;
  MUST(ruda_tensor_write(there.stream, x, values.data(), values.size() * 4));
  MUST(ruda_binary(there.stream, x, x, RUDA_BINARY_ADD, &warm));
  MUST(ruda_capture_begin(there.stream));
  MUST(ruda_binary(there.stream, x, x, RUDA_BINARY_ADD, &y));
  MUST(ruda_binary(there.stream, y, x, RUDA_BINARY_ADD, &z));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(there.stream, &graph));
  for (int i = 0; i < 3; ++i) MUST(ruda_graph_launch(graph, there.stream));
  ruda_tensor home = make(pair.side[0].context, RUDA_F32, 1 << 16);
  MUST(ruda_tensor_copy(pair.side[0].stream, z, home));
  std::vector<float> got(values.size());
  MUST(ruda_tensor_read(pair.side[0].stream, home, got.data(), got.size() * 4));
  CHECK(got == std::vector<float>(values.size(), 4.5f), "got %g, expected 4.5", double(got[0]));
  release({x, warm, y, z, graph, home});
}

// After a fault of one GPU CUDA may end the whole process's work on all of them: the other works on, or says
// so; the CPU always works on.
RUDA_TEST(peers_fault) {
  if (in_child()) return;
  const Pair pair(env);
  const int status = run_child("fault");
  CHECK(status == 42, "the faulting child ended with %d, expected 42", status);
}

RUDA_TEST(child) {
  if (!is_child("fault")) return;
  const Pair pair(env);
  ruda_tensor good = make(pair.side[1].context, RUDA_F32, 1 << 16), bad = make_bad(env.context, 1 << 20),
              y = nullptr, z = nullptr;
  const std::vector<float> values(1 << 16, 2.0f);
  MUST(ruda_tensor_write(pair.side[1].stream, good, values.data(), values.size() * 4));
  ruda_status status = ruda_tensor_cast(env.stream, bad, RUDA_F16, &y);
  if (status == RUDA_OK) status = ruda_stream_sync(env.stream);
  bool right = status == RUDA_E_DEVICE && ruda_stream_sync(env.stream) == RUDA_E_STREAM_POISONED;
  std::vector<float> got(values.size());
  status = ruda_binary(pair.side[1].stream, good, good, RUDA_BINARY_ADD, &z);
  if (status == RUDA_OK) status = ruda_tensor_read(pair.side[1].stream, z, got.data(), got.size() * 4);
  right &= status == RUDA_OK ? got[77] == 4.0f : status == RUDA_E_DEVICE || status == RUDA_E_STREAM_POISONED;
  std::printf("the other GPU: %s\n", status == RUDA_OK ? "works on" : last_message().c_str());
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  ruda_context cpu = nullptr;
  ruda_stream stream = nullptr;
  MUST(ruda_context_create(&desc, &cpu));
  MUST(ruda_stream_create(cpu, 0, &stream));
  ruda_tensor two = make(cpu, RUDA_F32, 1 << 16), four = nullptr;
  MUST(ruda_tensor_write(stream, two, values.data(), values.size() * 4));
  MUST(ruda_binary(stream, two, two, RUDA_BINARY_ADD, &four));
  MUST(ruda_tensor_read(stream, four, got.data(), got.size() * 4));
  right &= got[77] == 4.0f;
  std::fflush(stdout);
  _exit(right ? 42 : 1);
}

RUDA_BENCH(peers_bandwidth) {
  const Pair pair(env);
  const int64_t count = int64_t(256) << 20;
  const auto rate = [&](int from, void* near, void* far) {
    const Side &here = pair.side[from], &there = pair.side[1 - from];
    ruda_tensor x = make(here.context, RUDA_U8, count, near), y = make(there.context, RUDA_U8, count, far);
    MUST(ruda_tensor_copy(there.stream, x, y));
    MUST(ruda_stream_sync(there.stream));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) MUST(ruda_tensor_copy(there.stream, x, y));
    MUST(ruda_stream_sync(there.stream));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    release({x, y});
    return double(count) * 10 / seconds / 1e9;
  };
  for (int from : {0, 1}) {
    std::printf("256 MiB from device %d to %d: pools %.0f GB/s", from, 1 - from,
                rate(from, nullptr, nullptr));
    const Plain near(from, size_t(count)), far(1 - from, size_t(count));
    set_peer_access(0, 1, false);
    std::printf(", plain memory without peer access %.0f GB/s", rate(from, near.data, far.data));
    if (set_peer_access(0, 1, true)) std::printf(", with %.0f GB/s", rate(from, near.data, far.data));
    set_peer_access(0, 1, false);
    std::printf("\n");
  }
}
