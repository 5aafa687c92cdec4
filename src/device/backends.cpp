// src/device/backends.cpp - the table of backends; the one place besides contracts that names them.
// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

namespace ruda {

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
