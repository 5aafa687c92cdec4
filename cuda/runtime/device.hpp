// cuda/runtime/device.hpp - one GPU as a device: its memory, streams and what kernels ask of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "device/device.hpp"
#include "core/fork.hpp"
#include "runtime/allocator.hpp"
#include "runtime/index_word.hpp"
#include "tune/capability.hpp"

#include <string>

namespace ruda::cuda {

// Device memory from a pool of the context's own; blocks go back in stream order, so that giving never waits.
class PoolMemory final : public MemorySource {
 public:
  explicit PoolMemory(int device);
  ~PoolMemory() override;
  void* take(uint64_t bytes) override;
  void give(void* data) noexcept override;
  void after(cudaEvent_t event) noexcept override;
  void flush() noexcept override;
  void room(uint64_t& free_bytes, uint64_t& total_bytes) override;
  // Lets copies of another device reach the pool without a way through the host, where the two can.
  void open_to(int device) noexcept;
  void forget() noexcept { pool_ = nullptr, stream_ = nullptr; }

 private:
  const int device_;
  std::mutex opened_mutex_;
  std::vector<int> opened_;       // devices that open_to() has seen
  cudaMemPool_t pool_ = nullptr;  // null where the device has no pools
  cudaStream_t stream_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, const ruda_context_desc& desc);
  ~CudaDevice() override;

  uint32_t backend() const override { return RUDA_BACKEND_CUDA; }
  int index() const override { return index_; }
  const char* name() const override { return name_.c_str(); }
  bool asynchronous() const override { return true; }
  void check_usable() const override {
    if (forked()) [[unlikely]]
      fail_forked();
  }
  std::unique_ptr<DeviceStream> open_stream() override;
  std::unique_ptr<DeviceStream> wrap_stream(void* native, uint32_t flags) override;
  std::unique_ptr<DeviceEvent> open_event() override;
  std::unique_ptr<DeviceRing> open_ring(DeviceStream& stream) override;
  void* allocate(uint64_t bytes, DeviceStream* stream) override;
  void release(void* data, uint64_t bytes, DeviceStream* stream) noexcept override;
  void release_after(void* data, uint64_t bytes,
                     std::span<const std::shared_ptr<DeviceStream>> streams) noexcept override;
  void trim() override;
  void retire(std::function<void()> done,
              std::span<const std::shared_ptr<DeviceStream>> streams) noexcept override;
  void memory(ruda_context_info& info) const override {
    if (!forked()) allocator_.memory(info);
  }
  int enter() noexcept override;
  void leave(int before) noexcept override;
  void write(DeviceStream& stream, void* to, const void* from, uint64_t bytes) override;
  void read(DeviceStream& stream, void* to, const void* from, uint64_t bytes) override;
  void fetch(DeviceStream* writer, void* to, const void* from, uint64_t bytes) override;
  bool copy_from(DeviceStream& stream, void* to, Device& owner, const void* from, uint64_t bytes) override;

  const tune::Capability& capability() const { return capability_; }
  Allocator& allocator() { return allocator_; }
  EventPool& events() { return *events_; }
  std::shared_ptr<IndexWord> make_index_word();
  // After all work so far of streams of any device. Where no mark can be had it waits for the stream instead.
  static std::vector<Mark> marks_of(std::span<const std::shared_ptr<DeviceStream>> streams) noexcept;
  bool forked() const noexcept { return forked_since(generation_); }

  // A library's handle or the like, made on first use, once a device.
  template <class T>
  T& part() {
    static const char tag = 0;
    std::lock_guard lock(parts_mutex_);
    for (const auto& [key, object] : parts_)
      if (key == &tag) return *static_cast<T*>(object.get());
    parts_.emplace_back(&tag, std::make_shared<T>(*this));
    return *static_cast<T*>(parts_.back().second.get());
  }

 private:
  [[noreturn]] void fail_forked() const;
  void copy_out(CudaStream& queue, void* to, const void* from, uint64_t bytes);
  const int index_;
  const uint32_t generation_;
  std::string name_;
  tune::Capability capability_;
  std::shared_ptr<EventPool> events_;
  PoolMemory memory_;
  Allocator allocator_;
  std::mutex parts_mutex_;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> parts_;
  std::mutex fetchers_mutex_;
  std::vector<std::shared_ptr<DeviceStream>> fetchers_;  // streams of fetch() that wait for the next one
};

}  // namespace ruda::cuda
