// cuda/runtime/ring.hpp - words from kernels to the host through pinned memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/staging.hpp"
#include "runtime/stream.hpp"

namespace ruda::cuda {

class CudaRing final : public DeviceRing {
 public:
  CudaRing(CudaDevice& device, CudaStream& stream);
  ~CudaRing() override;
  void post(DeviceStream& stream, const void* from) override;
  bool read(uint64_t n, uint32_t& word) const noexcept override;

 private:
  CudaDevice& device_;
  std::shared_ptr<DeviceStream> stream_;
  PinnedChunk chunk_;          // the slots
  uint32_t* count_ = nullptr;  // on the device
};

}  // namespace ruda::cuda
