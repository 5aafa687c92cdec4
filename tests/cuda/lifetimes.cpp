// tests/cuda/lifetimes.cpp - objects that end and graphs that move while work is recorded or pending.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/borrowed.hpp"
#include "runtime/stream.hpp"
#include "tensor/context.hpp"

#include <cstring>

using namespace ruda::test;

namespace {

int freed;
void on_free(void*, void* data) {
  ++freed;
  std::memset(data, 0xee, 512);
}

ruda_tensor lend(Env& env, void* memory) {
  int64_t count = 512;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_U8;
  desc.rank = 1;
  desc.shape = &count;
  ruda_tensor lent = nullptr;
  MUST(ruda_tensor_wrap(env.context, &desc, memory, 512, on_free, nullptr, &lent));
  return lent;
}

// Tensors of which each is written on `stream`, so that a block given out too early loses what it held.
void overwrite(Env& env, ruda_stream stream, int count) {
  const auto junk = bytes(512, 99);
  std::vector<ruda_tensor> list;
  for (int i = 0; i < count; ++i) {
    list.push_back(make(env, 512));
    MUST(ruda_tensor_write(stream, list.back(), junk.data(), 512));
  }
  MUST(ruda_stream_sync(stream));
  for (ruda_tensor tensor : list) ruda_release(tensor);
}

struct OtherContext {
  explicit OtherContext(uint32_t backend) {
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = backend;
    MUST(ruda_context_create(&desc, &context));
    MUST(ruda_stream_create(context, 0, &stream));
  }
  ~OtherContext() { release({stream, context}); }
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
};

void report(ruda::cuda::IndexWord* word) {
  word->site = ruda::cuda::index_site("gather", "rows");
  word->index = 9;
  word->extent = 3;
  word->taken = 1;
}

}  // namespace

// Each release while a stream captures leaves the capture valid, and memory goes back when the work that was
// submitted before the capture has ended, no sooner.
RUDA_TEST(releases_beside_a_capture) {
  enum Released {
    nothing,
    of_two_streams,
    last_view,
    lent,
    launched_graph,
    other_stream,
    recorded_event,
    cases
  };
  alignas(256) static uint8_t memory[512];
  const auto sent = bytes(512, 1);
  for (int kind = 0; kind < cases; ++kind) {
    Borrowed a(env);
    ruda_stream b = nullptr, third = nullptr;
    MUST(ruda_stream_create(env.context, 0, &b));
    MUST(ruda_stream_create(env.context, 0, &third));
    freed = 0;
    ruda_tensor x = make(env, 512), y = kind == lent ? lend(env, memory) : make(env, 512), view = nullptr,
                copy = make(env, 512), there = make(env, 512), out = make(env, 512);
    ruda_graph before = nullptr, graph = nullptr;
    ruda_event event = nullptr;
    MUST(ruda_event_create(env.context, &event));
    MUST(ruda_tensor_write(a.stream, x, sent.data(), 512));
    MUST(ruda_tensor_write(a.stream, y, sent.data(), 512));
    if (kind == of_two_streams || kind == last_view) {
      MUST(ruda_tensor_fence(y, b));
      MUST(ruda_tensor_copy(b, y, there));
    }
    if (kind == last_view) {
      const int64_t shape[] = {512};
      MUST(ruda_tensor_view(y, shape, 1, &view));
      ruda_release(y);
      y = nullptr;
    }
    if (kind == launched_graph) {
      MUST(ruda_capture_begin(a.stream));
      ruda_tensor inner = nullptr;
      MUST(ruda_tensor_cast(a.stream, x, RUDA_U8, &inner));
      MUST(ruda_tensor_copy(a.stream, inner, y));
      MUST(ruda_capture_end(a.stream, &before));
      ruda_release(inner);
    }
    MUST(ruda_event_record(event, a.stream));
    MUST(ruda_stream_sync(a.stream));
    MUST(ruda_stream_sync(b));
    fake::hold(a.native, true);
    if (before) MUST(ruda_graph_launch(before, a.stream));
    MUST(ruda_tensor_copy(a.stream, view ? view : y, copy));  // pending: reads y

    MUST(ruda_capture_begin(a.stream));
    switch (kind) {
      case of_two_streams:
      case lent:
        ruda_release(y);
        y = nullptr;
        break;
      case last_view:
        ruda_release(view);
        view = nullptr;
        break;
      case launched_graph:
        ruda_release(before);
        before = nullptr;
        break;
      case other_stream:
        ruda_release(third);
        third = nullptr;
        break;
      case recorded_event:
        ruda_release(event);
        event = nullptr;
        break;
      default: break;
    }
    MUST(ruda_context_trim(env.context));
    CHECK(freed == 0, "case %d: lent memory went back while work was pending", kind);
    overwrite(env, b, 8);
    MUST(ruda_tensor_copy(a.stream, x, out));
    MUST(ruda_capture_end(a.stream, &graph));
    if (!graph) continue;
    fake::hold(a.native, false);
    std::vector<uint8_t> got(512);
    MUST(ruda_tensor_read(a.stream, copy, got.data(), 512));
    CHECK(got == sent, "case %d: pending work read other bytes", kind);
    MUST(ruda_graph_launch(graph, a.stream));
    MUST(ruda_tensor_read(a.stream, out, got.data(), 512));
    CHECK(got == sent, "case %d: the graph copied other bytes", kind);
    MUST(ruda_context_trim(env.context));
    CHECK(freed == (kind == lent), "case %d: lent memory went back %d times", kind, freed);
    release({x, y, view, copy, there, out, before, graph, event, b, third});
  }
}

// A mark that cannot be had: the release waits, though one of the streams is gone and one captures.
RUDA_TEST(releases_without_a_mark) {
  Borrowed a(env), b(env);
  const auto sent = bytes(512, 1);
  ruda_stream gone = nullptr;
  MUST(ruda_stream_create(env.context, 0, &gone));
  ruda_tensor x = make(env, 512), y = make(env, 512), z = make(env, 512), w = make(env, 512);
  MUST(ruda_tensor_write(a.stream, x, sent.data(), 512));
  MUST(ruda_tensor_fence(x, gone));
  MUST(ruda_tensor_copy(gone, x, w));
  MUST(ruda_tensor_fence(x, b.stream));
  fake::hold(a.native, true);
  fake::hold(b.native, true);
  MUST(ruda_tensor_copy(a.stream, x, y));
  MUST(ruda_tensor_copy(b.stream, x, z));
  ruda_release(gone);
  MUST(ruda_capture_begin(a.stream));
  const int uses = fake::uses_of_destroyed_streams();
  fake::fail_next_record(cudaErrorMemoryAllocation);  // for b, the only one that needs a new mark
  ruda_release(x);
  CHECK(cudaStreamQuery(b.native) == cudaSuccess, "the release neither marked the stream nor waited for it");
  CHECK(fake::uses_of_destroyed_streams() == uses, "the release used a stream that was gone");
  overwrite(env, env.stream, 8);
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(a.stream, &graph));
  fake::hold(a.native, false);
  fake::hold(b.native, false);
  std::vector<uint8_t> got(512);
  MUST(ruda_tensor_read(a.stream, y, got.data(), 512));
  CHECK(got == sent, "pending work of the captured stream read other bytes");
  MUST(ruda_tensor_read(b.stream, z, got.data(), 512));
  CHECK(got == sent, "pending work of the other stream read other bytes");
  release({graph, y, z, w});
}

// Other streams go on beside a capture: what they wait for is the work that was submitted.
RUDA_TEST(writes_beside_a_capture) {
  Borrowed a(env);
  const auto one = bytes(512, 1), two = bytes(512, 2);
  ruda_tensor x = make(env, 512), y = make(env, 512), z = nullptr;
  MUST(ruda_tensor_write(env.stream, x, one.data(), 512));
  MUST(ruda_tensor_fence(x, a.stream));
  fake::hold(a.native, true);
  MUST(ruda_tensor_copy(a.stream, x, y));
  MUST(ruda_capture_begin(a.stream));
  MUST(ruda_tensor_write(env.stream, x, two.data(), 512));
  CHECK_FAILS(ruda_tensor_fence(y, env.stream), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  OtherContext cpu(RUDA_BACKEND_CPU);
  ruda_tensor host = make(cpu.context, 512);
  CHECK_FAILS(ruda_tensor_copy(cpu.stream, y, host), RUDA_E_CAPTURE_UNSAFE, -1, "end the capture first");
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(a.stream, &graph));
  MUST(ruda_stream_sync(env.stream));
  fake::hold(a.native, false);
  std::vector<uint8_t> got(512);
  MUST(ruda_tensor_read(a.stream, y, got.data(), 512));
  CHECK(got == one, "a write overtook a pending read of a captured stream");
  MUST(ruda_tensor_cast(env.stream, x, RUDA_U8, &z));
  MUST(ruda_tensor_read(env.stream, z, got.data(), 512));
  CHECK(got == two, "the write is lost");
  release({graph, x, y, z, host});
}

// A copy to a host context neither needs the writer's stream nor takes its report.
RUDA_TEST(copies_after_the_stream) {
  OtherContext cpu(RUDA_BACKEND_CPU);
  const auto sent = bytes(100000, 5);
  const int uses = fake::uses_of_destroyed_streams();
  for (int round = 0; round < 3; ++round) {
    ruda_stream gone = nullptr;
    MUST(ruda_stream_create(env.context, 0, &gone));
    ruda_tensor x = make(env, 100000), y = make(cpu.context, 100000);
    MUST(ruda_tensor_write(gone, x, sent.data(), sent.size()));
    ruda_release(gone);
    MUST(ruda_tensor_copy(cpu.stream, x, y));
    std::vector<uint8_t> got(sent.size());
    MUST(ruda_tensor_read(cpu.stream, y, got.data(), got.size()));
    CHECK(got == sent, "round %d: different bytes", round);
    release({x, y});
  }
  CHECK(fake::uses_of_destroyed_streams() == uses, "a copy used a stream that was gone");

  Borrowed a(env);
  ruda_tensor x = make(env, 100000), y = make(cpu.context, 100000);
  fake::hold(a.native, true);
  MUST(ruda_tensor_write(a.stream, x, sent.data(), sent.size()));
  report(static_cast<ruda::cuda::CudaStream&>(ruda::get_stream(a.stream).queue()).index_word());
  MUST(ruda_tensor_copy(cpu.stream, x, y));
  std::vector<uint8_t> got(sent.size());
  MUST(ruda_tensor_read(cpu.stream, y, got.data(), got.size()));
  CHECK(got == sent, "the copy overtook the writer");
  fake::hold(a.native, false);
  CHECK_FAILS(ruda_stream_sync(a.stream), RUDA_E_INDEX, -1, "gather: rows holds 9, expected 0..2");
  release({x, y});
}

// Memory that only another context's stream read goes back to its own context.
RUDA_TEST(memory_read_by_another_context) {
  OtherContext there(RUDA_BACKEND_CUDA);
  MUST(ruda_context_trim(env.context));
  ruda_tensor x = make(env, 4096), y = make(there.context, 4096);
  void* const block = data_of(x);
  MUST(ruda_tensor_copy(there.stream, x, y));
  ruda_release(x);
  MUST(ruda_stream_sync(there.stream));
  ruda_tensor z = make(env, 4096), w = make(there.context, 4096);
  CHECK(data_of(z) == block, "the memory did not come back");
  release({y, z, w});
}

// A graph may leave its stream: the library orders what the graph alone keeps, the caller fences the rest.
RUDA_TEST(graph_on_another_stream) {
  auto* a = new Borrowed(env);
  Borrowed b(env);
  const auto one = bytes(512, 1), two = bytes(512, 50);
  ruda_tensor x = make(env, 512), y = make(env, 512), inner = nullptr, kept = make(env, 512);
  fake::hold(a->native, true);
  MUST(ruda_tensor_write(a->stream, kept, one.data(), 512));  // pending when the graph is launched elsewhere
  MUST(ruda_tensor_write(a->stream, x, two.data(), 512));
  MUST(ruda_capture_begin(a->stream));
  MUST(ruda_tensor_cast(a->stream, kept, RUDA_U8, &inner));
  MUST(ruda_tensor_copy(a->stream, inner, y));
  MUST(ruda_tensor_copy(a->stream, x, kept));  // so that the next launch reads what this one wrote
  ruda_graph graph = nullptr, second = nullptr;
  MUST(ruda_capture_end(a->stream, &graph));
  CHECK_FAILS(ruda_graph_launch(graph, b.stream), RUDA_E_WRONG_STREAM, 1, "call ruda_tensor_fence first");
  ruda_release(kept);
  ruda_release(inner);
  CHECK_FAILS(ruda_graph_launch(graph, b.stream), RUDA_E_WRONG_STREAM, 1, "call ruda_tensor_fence first");
  MUST(ruda_tensor_fence(x, b.stream));
  MUST(ruda_tensor_fence(y, b.stream));
  MUST(ruda_graph_launch(graph, b.stream));
  std::vector<uint8_t> got(512);
  MUST(ruda_tensor_read(b.stream, y, got.data(), 512));
  CHECK(got == one, "the launch overtook the writer of what it keeps");

  // Back to the first stream, after the launch that is pending on the other.
  fake::hold(a->native, false);
  fake::hold(b.native, true);
  MUST(ruda_graph_launch(graph, b.stream));
  CHECK_FAILS(ruda_graph_launch(graph, a->stream), RUDA_E_WRONG_STREAM, 1, "call ruda_tensor_fence first");
  MUST(ruda_tensor_fence(y, a->stream));
  MUST(ruda_graph_launch(graph, a->stream));
  MUST(ruda_tensor_read(a->stream, y, got.data(), 512));
  CHECK(got == two, "the second launch did not see the first");
  // Nothing is left to fence, and the stream of the last launch captures.
  release({x, y});
  MUST(ruda_graph_launch(graph, b.stream));
  MUST(ruda_graph_launch(graph, a->stream));
  CHECK(cudaStreamQuery(a->native) == cudaErrorNotReady, "a launch overtook the one before");
  static_cast<void>(cudaGetLastError());  // the answer, which the next launch would take for its own
  MUST(ruda_capture_begin(a->stream));
  MUST(ruda_graph_launch(graph, b.stream));
  MUST(ruda_capture_end(a->stream, &second));
  fake::hold(b.native, false);

  // The stream of the capture ends.
  delete a;
  MUST(ruda_graph_launch(graph, env.stream));
  MUST(ruda_stream_sync(env.stream));
  release({graph, second});
}

// Two graphs that keep one tensor which nobody else holds, and a workspace, which nobody can fence.
RUDA_TEST(graphs_that_share) {
  Borrowed a(env), b(env);
  const auto one = bytes(512, 1);
  ruda_tensor x = make(env, 512), y = make(env, 512);
  MUST(ruda_tensor_write(a.stream, x, one.data(), 512));
  ruda_graph graphs[2] = {};
  for (ruda_graph& graph : graphs) {
    MUST(ruda_capture_begin(a.stream));
    MUST(ruda_tensor_copy(a.stream, x, y));
    MUST(ruda_capture_end(a.stream, &graph));
  }
  release({x, y});
  fake::hold(a.native, true);
  MUST(ruda_graph_launch(graphs[0], a.stream));
  MUST(ruda_graph_launch(graphs[1], b.stream));
  MUST(ruda_graph_launch(graphs[0], b.stream));
  MUST(ruda_stream_sync(b.stream));
  CHECK(cudaStreamQuery(a.native) == cudaSuccess, "the other stream was not waited for");
  fake::hold(a.native, false);
  release({graphs[0], graphs[1]});

  const ruda_tensor big = new_tensor(env.context, RUDA_F32, {4 << 20}),
                    sum = new_tensor(env.context, RUDA_F32, {1});
  const ruda_tensor_desc xd = desc_of(big), yd = desc_of(sum);
  ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
  desc.op = RUDA_REDUCE_SUM;
  desc.keepdims = 1;
  desc.x = &xd;
  desc.y = &yd;
  ruda_plan plan = nullptr;
  MUST(ruda_reduce_plan_create(env.context, &desc, &plan));
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  MUST(ruda_plan_query(plan, &info));
  if (!info.workspace_bytes) throw Fatal("the plan needs no scratch memory");
  ruda_workspace workspace = nullptr;
  MUST(ruda_workspace_create(env.context, info.workspace_bytes, &workspace));
  const ruda_binding bindings[] = {{RUDA_REDUCE_X, RUDA_BIND_TENSOR, {big}},
                                   {RUDA_REDUCE_Y, RUDA_BIND_TENSOR, {sum}}};
  fake::hold(a.native, true);
  MUST(ruda_plan_execute(plan, a.stream, workspace, bindings, 2, nullptr));
  MUST(ruda_tensor_fence(sum, b.stream));
  MUST(ruda_plan_execute(plan, b.stream, workspace, bindings, 2, nullptr));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_begin(b.stream));
  MUST(ruda_plan_execute(plan, b.stream, workspace, bindings, 2, nullptr));
  MUST(ruda_capture_end(b.stream, &graph));
  MUST(ruda_tensor_fence(sum, a.stream));
  MUST(ruda_graph_launch(graph, a.stream));
  MUST(ruda_stream_sync(a.stream));
  release({big, sum, plan, workspace, graph});
}

// A graph works on the memory whoever has written it: eager calls beside one still write in place.
RUDA_TEST(graphs_share_no_storage) {
  Borrowed queue(env);
  const ruda_tensor x = make(env, 512), y = make(env, 512);
  MUST(ruda_tensor_fill(queue.stream, x, 3));
  MUST(ruda_tensor_fill(queue.stream, y, 4));
  MUST(ruda_capture_begin(queue.stream));
  MUST(ruda_tensor_copy(queue.stream, x, y));
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(queue.stream, &graph));
  for (ruda_tensor tensor : {x, y}) {
    uint64_t users = 0;
    MUST(ruda_tensor_storage_users(tensor, &users));
    CHECK(users == 1, "%llu users beside a graph", (unsigned long long)users);
  }
  release({x, y});
  MUST(ruda_graph_launch(graph, queue.stream));
  MUST(ruda_stream_sync(queue.stream));
  ruda_release(graph);
}

// A captured step of a schedule follows what was submitted to it on other streams before each launch.
RUDA_TEST(schedule_of_a_graph) {
  Borrowed a(env), b(env);
  ruda_paged_schedule_desc desc = RUDA_PAGED_SCHEDULE_DESC_INIT;
  desc.page_size = desc.pages = 4;
  desc.max_sequences = desc.max_queries = 1;
  desc.max_table_pages = 4;
  ruda_paged_schedule schedule = nullptr;
  MUST(ruda_paged_schedule_create(env.context, &desc, &schedule));
  const uint32_t table[] = {0, 1, 2, 3}, length = 3, id = 0, position = 2;
  const auto set = [&](ruda_stream stream) {
    MUST(ruda_paged_schedule_set(schedule, stream, table, 4, &length, 1, &id, &position, 1));
  };
  fake::hold(a.native, true);
  set(a.stream);
  ruda_graph graph = nullptr;
  MUST(ruda_capture_begin(b.stream));
  MUST(ruda_paged_schedule_advance(schedule, b.stream));
  MUST(ruda_capture_end(b.stream, &graph));
  for (int i = 0; i < 2; ++i) {
    MUST(ruda_graph_launch(graph, b.stream));
    CHECK(cudaStreamQuery(b.native) == cudaErrorNotReady, "launch %d overtook the schedule's last set", i);
    static_cast<void>(cudaGetLastError());
    MUST(ruda_stream_sync(b.stream));
    set(a.stream);
  }
  fake::hold(a.native, false);
  MUST(ruda_stream_sync(a.stream));
  release({graph, schedule});
}
