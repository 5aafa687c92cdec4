// src/cpu/runtime/device.hpp - the CPU as a device, and how kernels reach its threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/runtime/allocator.hpp"
#include "cpu/runtime/pool.hpp"
#include "plan/op.hpp"

namespace ruda::cpu {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const ruda_context_desc& desc);

  ThreadPool& pool() { return pool_; }

  uint32_t backend() const override { return RUDA_BACKEND_CPU; }
  int index() const override { return 0; }
  const char* name() const override { return name_.c_str(); }
  uint32_t host_threads() const override { return uint32_t(pool_.size()); }
  bool asynchronous() const override { return false; }
  std::unique_ptr<DeviceStream> open_stream() override;
  std::unique_ptr<DeviceStream> wrap_stream(void* native, uint32_t flags) override;
  std::unique_ptr<DeviceEvent> open_event() override;
  void* allocate(uint64_t bytes, DeviceStream* stream) override;
  void release(void* data, uint64_t bytes, DeviceStream* stream) noexcept override;
  void trim() override { allocator_.trim(); }
  void memory(ruda_context_info& info) const override { allocator_.memory(info); }
  void write(DeviceStream& stream, void* to, const void* from, uint64_t bytes) override;
  void read(DeviceStream& stream, void* to, const void* from, uint64_t bytes) override;

 private:
  Allocator allocator_;
  std::unique_ptr<ruda_host_pool> host_pool_;  // before pool_, which points to it
  ThreadPool pool_;
  std::string name_;
};

inline ThreadPool& pool_of(const Context& context) {
  return static_cast<CpuDevice&>(context.device()).pool();
}
inline ThreadPool& pool_of(const Launch& launch) { return pool_of(launch.stream.context()); }
inline int thread_count(const Problem& problem) { return pool_of(*problem.context).size(); }

// f(begin, end) over 0..count-1 on the context's threads. With a cancel token or timeout each range is cut
// into pieces of about `grain`, and the sign is looked at before each.
template <class F>
void parallel(const Launch& launch, int64_t count, int64_t grain, F&& f) {
  // What one thread does at once needs neither the pool nor divisions.
  if (count <= grain && !launch.stop.armed()) [[likely]] {
    if (count > 0) f(0, count);
    return;
  }
  pool_of(launch).ranges(count, grain, [&](int64_t begin, int64_t end, int) {
    if (!launch.stop.armed()) return f(begin, end);
    for (int64_t at = begin; at < end; at += grain) {
      launch.stop.check();
      f(at, at + grain < end ? at + grain : end);
    }
  });
}

}  // namespace ruda::cpu
