// cuda/runtime/ring.cpp - life and reading of a ring.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/ring.hpp"

#include "core/error.hpp"
#include "runtime/device.hpp"
#include "runtime/steps.hpp"

#include <cstring>

namespace ruda::cuda {
namespace {

constexpr uint64_t count_bytes = 256;

}  // namespace

CudaRing::CudaRing(CudaDevice& device, CudaStream& stream)
    : device_(device), stream_(stream.shared_from_this()) {
  device.check_usable();
  stream.check_not_capturing("ring");
  const DeviceScope scope(device);
  count_ = static_cast<uint32_t*>(device.allocator().allocate(count_bytes, &stream));
  try {
    check_cuda(cudaMemsetAsync(count_, 0, count_bytes, stream.handle()), "ring");
    chunk_ = PinnedMemory::get().take(false);
    std::memset(chunk_.data, 0, slots * sizeof(uint64_t));
  } catch (...) {
    device.allocator().release(count_, count_bytes, &stream);
    throw;
  }
}

CudaRing::~CudaRing() {
  if (device_.forked()) return;
  auto& stream = static_cast<CudaStream&>(*stream_);
  const DeviceScope scope(device_);
  Mark last;
  try {
    last = stream.mark();
  } catch (...) {
    stream.drain();
  }
  PinnedMemory::get().give(std::move(chunk_), std::move(last));
  device_.allocator().release(count_, count_bytes, &stream);
}

void CudaRing::post(DeviceStream& given, const void* from) {
  auto& stream = static_cast<CudaStream&>(given);
  RUDA_CHECK(&stream == stream_.get(), RUDA_E_INTERNAL, -1, "ring: another stream posts");
  check_cuda(launch_post(static_cast<const uint32_t*>(from), reinterpret_cast<uint64_t*>(chunk_.data), count_,
                         stream.handle()),
             "ring");
}

bool CudaRing::read(uint64_t n, uint32_t& word) const noexcept {
  const auto* slot = reinterpret_cast<const uint64_t*>(chunk_.data) + n % slots;
  const uint64_t value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
  if (uint32_t(value >> 32) != uint32_t(n + 1)) return false;
  word = uint32_t(value);
  return true;
}

std::unique_ptr<DeviceRing> CudaDevice::open_ring(DeviceStream& stream) {
  return std::make_unique<CudaRing>(*this, static_cast<CudaStream&>(stream));
}

}  // namespace ruda::cuda
