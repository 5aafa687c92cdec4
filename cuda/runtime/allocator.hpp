// cuda/runtime/allocator.hpp - device memory in stream order: freed blocks wait on their stream for the next
// request.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/lock.hpp"
#include "runtime/events.hpp"

#include <ruda/context.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>

namespace ruda::cuda {

class CudaStream;

// Eight classes a power of two from 512 bytes: at most a ninth of a block is lost.
struct SizeClass {
  static constexpr int count = 8 * 38 + 1;
  int index;
  uint64_t bytes;
  static SizeClass of(uint64_t bytes);
  static uint64_t bytes_of(int index);
};

// Blocks of one stream (or of none) that wait to be given out again.
struct FreeLists {
  std::vector<void*> bins[SizeClass::count];
};

struct Block {
  void* data;
  int size_class;
};

// What a graph under construction, and later the graph, owns. A block comes back when graph and tensor are
// both gone.
struct GraphMemory {
  FreeLists free;  // for later nodes of the same capture
  std::vector<Block> blocks;
  bool capturing = true, alive = true;
};

// Where blocks come from.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual void* take(uint64_t bytes) = 0;  // nullptr when the device has no more; usable on every stream
  virtual void give(void* data) noexcept = 0;
  virtual void after(cudaEvent_t event) noexcept = 0;  // later give() take effect after the event
  virtual void flush() noexcept = 0;  // after some give(): returns when the device has the pages back
  virtual void room(uint64_t& free_bytes, uint64_t& total_bytes) = 0;
};

// A block freed on a stream is free at once for later work of that stream, and for other streams when the
// work submitted before has ended. In the steady state no CUDA call is made.
class Allocator {
 public:
  Allocator(MemorySource& source, uint64_t limit_bytes) : source_(source), limit_(limit_bytes) {}

  // `stream` null: the block may be used on every stream at once.
  void* allocate(uint64_t bytes, CudaStream* stream);
  // The same where a block waits that nothing has to be done for, without a call to CUDA; else nullptr.
  void* allocate_cached(uint64_t bytes, CudaStream* stream) noexcept;
  void release(void* data, uint64_t bytes, CudaStream* stream) noexcept;
  // As release(), once all marks have happened.
  void release_after(void* data, uint64_t bytes, std::vector<Mark> marks) noexcept;
  void trim() noexcept;
  void memory(ruda_context_info& info) const;

  // Calls `done` when all marks have happened.
  void retire(std::vector<Mark> marks, std::function<void()> done) noexcept;
  // Takes back what has ended.
  void poll() noexcept;

  void add_stream(CudaStream& stream);
  // A stream ends: its blocks, and `done`, wait for `last`.
  void drop_stream(CudaStream& stream, Mark last, std::function<void()> done) noexcept;
  void end_capture(GraphMemory& graph);
  // A graph ends: its blocks, and `done`, wait for `marks`.
  void drop_graph(GraphMemory& graph, std::vector<Mark> marks, std::function<void()> done) noexcept;
  // The context ends: callbacks that still wait go to a thread of their own, but what streams and graphs keep
  // for their work is set aside: nobody waits for it, and a process that exits must not meet such a thread.
  void close(int device) noexcept;

 private:
  struct Pending {
    std::vector<Mark> marks;
    std::vector<Block> blocks;
    std::function<void()> done;
    bool own = false;  // `done` only keeps something until then
  };
  struct GraphBlock {
    std::shared_ptr<GraphMemory> graph;
    bool in_use;
  };
  using Calls = std::vector<std::function<void()>>;

  void* pop(FreeLists& lists, int index) noexcept;
  void note_allocated(uint64_t bytes) noexcept;
  void* take_new(const SizeClass& size, CudaStream* stream, uint64_t asked, Calls& done);
  void* take_captured(const SizeClass& size, CudaStream& stream, uint64_t asked, Calls& done);
  void collect(Calls& done) noexcept;
  void collect_idle_streams(const CudaStream* except) noexcept;
  bool release_to_graph(void* data, int index) noexcept;
  void put_idle(void* data, int index) noexcept;
  [[nodiscard]] std::function<void()> wait_for(
      Pending&& pending) noexcept;  // what to call at once, mostly nothing
  void drop_cached() noexcept;

  MemorySource& source_;
  const uint64_t limit_;
  mutable Lock lock_;
  uint64_t allocated_ = 0, cached_ = 0, peak_ = 0;
  FreeLists idle_;  // no work pending
  std::deque<Pending> pending_;
  std::vector<CudaStream*> streams_;
  std::unordered_map<void*, GraphBlock> graph_blocks_;
};

}  // namespace ruda::cuda
