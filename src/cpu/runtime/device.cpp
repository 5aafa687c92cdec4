// src/cpu/runtime/device.cpp - the CPU backend: work runs at the call, so streams and events are clocks.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/runtime/device.hpp"

#include "core/struct_in.hpp"
#include "cpu/runtime/isa.hpp"

#include <atomic>
#include <chrono>
#include <cstring>

namespace ruda::cpu {
namespace {

class CpuEvent final : public DeviceEvent {
 public:
  void sync() override {}
  double since(const DeviceEvent& earlier) const override {
    return std::chrono::duration<double>(time() - static_cast<const CpuEvent&>(earlier).time()).count();
  }
  void record() { ticks_.store(Clock::now().time_since_epoch().count(), std::memory_order_release); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::duration time() const { return Clock::duration(ticks_.load(std::memory_order_acquire)); }
  std::atomic<Clock::rep> ticks_{0};  // of any two threads that record, one comes last
};

class CpuStream final : public DeviceStream {
 public:
  void sync() override {}
  bool done() override { return true; }
  void record(DeviceEvent& event) override { static_cast<CpuEvent&>(event).record(); }
  void wait(DeviceEvent&) override {}
};

// The pool wants a hook with plain ints; the API speaks in fixed-width types with a calling convention.
struct HostPoolAdapter {
  static int parallel(void* user, int parts, void (*task)(void*, int), void* arg) {
    const auto& host = *static_cast<const ruda_host_pool*>(user);
    Call call{task, arg};
    return host.parallel(
        host.user, uint32_t(parts),
        [](void* given, uint32_t part) {
          const auto* c = static_cast<const Call*>(given);
          c->task(c->arg, int(part));
        },
        &call);
  }
  struct Call {
    void (*task)(void*, int);
    void* arg;
  };
};

ThreadPool make_pool(const ruda_context_desc& desc, std::unique_ptr<ruda_host_pool>& kept) {
  if (!desc.host_pool) {
    const int all = available_processors();
    RUDA_CHECK(desc.host_threads <= 4096, RUDA_E_ARGUMENT, 0, "desc.host_threads is %u, expected 0..4096",
               desc.host_threads);
    return ThreadPool(desc.host_threads ? int(desc.host_threads) : all);
  }
  kept = std::make_unique<ruda_host_pool>(struct_in(desc.host_pool, 0, "desc.host_pool"));
  RUDA_CHECK(kept->parallel, RUDA_E_NULL, 0, "desc.host_pool: parallel is NULL");
  RUDA_CHECK(kept->size >= 1 && kept->size <= 4096, RUDA_E_ARGUMENT, 0,
             "desc.host_pool: size is %u, expected 1..4096", kept->size);
  return ThreadPool(HostPool{int(kept->size), kept.get(), HostPoolAdapter::parallel});
}

int probe(std::string&) { return 1; }

std::unique_ptr<Device> open(const ruda_context_desc& desc) { return std::make_unique<CpuDevice>(desc); }

void report(std::string& text) {
  text += std::string("CPU: ") + isa_name(hardware_isa()) + ", " + std::to_string(available_processors()) +
          " threads\n";
}

}  // namespace

CpuDevice::CpuDevice(const ruda_context_desc& desc)
    : allocator_(desc.allocator, desc.memory_limit_bytes), pool_(make_pool(desc, host_pool_)) {
  RUDA_CHECK(desc.device == 0, RUDA_E_ARGUMENT, 0, "desc.device is %d, the CPU backend has only device 0",
             desc.device);
  name_ = std::string("cpu ") + isa_name(detect());
}

std::unique_ptr<DeviceStream> CpuDevice::open_stream() { return std::make_unique<CpuStream>(); }

std::unique_ptr<DeviceStream> CpuDevice::wrap_stream(void*, uint32_t) {
  fail(RUDA_E_UNSUPPORTED, 0, "the CPU backend has no native streams to wrap");
}

std::unique_ptr<DeviceEvent> CpuDevice::open_event() { return std::make_unique<CpuEvent>(); }

void* CpuDevice::allocate(uint64_t bytes, DeviceStream*) { return allocator_.allocate(bytes); }

void CpuDevice::release(void* data, uint64_t bytes, DeviceStream*) noexcept {
  allocator_.release(data, bytes);
}

void CpuDevice::write(DeviceStream&, void* to, const void* from, uint64_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

void CpuDevice::read(DeviceStream&, void* to, const void* from, uint64_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

extern constinit const Backend backend{RUDA_BACKEND_CPU, "CPU", probe, open, report};

}  // namespace ruda::cpu
