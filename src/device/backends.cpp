// src/device/backends.cpp - the table of backends; the one place besides contracts that names them.
// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "core/error.hpp"

namespace ruda {

bool Device::copy_from(DeviceStream&, void*, Device&, const void*, uint64_t) { return false; }
void Device::release_after(void* data, uint64_t bytes,
                           std::span<const std::shared_ptr<DeviceStream>>) noexcept {
  release(data, bytes, nullptr);
}
void Device::retire(std::function<void()> done, std::span<const std::shared_ptr<DeviceStream>>) noexcept {
  done();
}

void Device::fetch(DeviceStream*, void*, const void*, uint64_t) {
  fail(RUDA_E_UNSUPPORTED, -1, "fetch: this backend runs work at the call");
}
std::unique_ptr<DeviceRing> Device::open_ring(DeviceStream&) {
  fail(RUDA_E_UNSUPPORTED, -1, "ring: this backend runs work at the call");
}
void DeviceStream::advance(const ScheduleImage&) {
  fail(RUDA_E_UNSUPPORTED, -1, "schedule: this backend has no image of it");
}
void DeviceStream::begin_capture() {
  fail(RUDA_E_UNSUPPORTED, 0, "capture: this backend runs work at the call");
}
std::unique_ptr<DeviceGraph> DeviceStream::end_capture() {
  fail(RUDA_E_UNSUPPORTED, 0, "capture: this backend runs work at the call");
}
void DeviceStream::launch(DeviceGraph&) {
  fail(RUDA_E_UNSUPPORTED, 1, "graph: this backend runs work at the call");
}

namespace cpu {
extern const Backend backend;
}
namespace cuda {
extern const Backend backend;
}

const Backend* find_backend(uint32_t id) noexcept {
  if (id == RUDA_BACKEND_CPU) return &cpu::backend;
#if RUDA_WITH_CUDA
  if (id == RUDA_BACKEND_CUDA) return &cuda::backend;
#endif
  return nullptr;
}

}  // namespace ruda
