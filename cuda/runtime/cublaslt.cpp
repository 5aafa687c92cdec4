// cuda/runtime/cublaslt.cpp - fills the table of cuBLASLt's functions.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/cublaslt.hpp"

#include "core/error.hpp"
#include "runtime/dynlib.hpp"

namespace ruda::cuda::lt {

const Functions& functions() {
  // A throwing initialiser is run again by the next call.
  static const Functions table = [] {
    void* library = open_library(cublaslt_library);
    Functions f{};
#define RUDA_LOAD(name, signature) \
  f.name =                         \
      reinterpret_cast<Status(*) signature>(library_function(cublaslt_library, library, "cublasLt" #name));
    RUDA_CUBLASLT_FUNCTIONS(RUDA_LOAD)
#undef RUDA_LOAD
    return f;
  }();
  return table;
}

void check(Status status, const char* what) {
  if (status == 0) [[likely]]
    return;
  fail_native(status == 3 ? RUDA_E_OOM_DEVICE : RUDA_E_DEVICE, "cublasLt", status, "%s: cuBLASLt status %d",
              what, status);
}

Handle::Handle(CudaDevice& device) : device_(device) {
  const DeviceScope scope(device);
  check(functions().Create(&context_), "cublasLtCreate");
}

Handle::~Handle() {
  if (!device_.forked()) functions().Destroy(context_);
}

}  // namespace ruda::cuda::lt
