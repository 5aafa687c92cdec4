// src/infer/calls.hpp - the plan tier of the C API for C++ callers: owned handles, statuses thrown as errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"
#include "plan/op.hpp"

#include <ruda/plan.h>

#include <initializer_list>
#include <utility>

namespace ruda::infer {

// Turns a failed call of the C API into an exception with the record that it left. same_arguments: the caller
// has its arguments in the same places, so the one at fault is named too.
inline void ok(ruda_status status) {
  if (status == RUDA_OK) [[likely]]
    return;
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  Error error;
  error.status = status;
  error.native_code = info.native_code;
  error.native_library = info.native_library;
  const bool stopped =
      status == RUDA_E_CANCELLED || status == RUDA_E_TIMEOUT;  // on request: no call is at fault
  error.text = stopped ? info.message : std::string(info.function) + ": " + info.message;
  throw error;
}

// One reference to a handle of the C API.
template <class H>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { ruda_release(handle_); }
  H get() const { return handle_; }
  H* out() { return &handle_; }
  explicit operator bool() const { return handle_; }

 private:
  H handle_ = nullptr;
};

inline ruda_tensor handle(const Ref<Tensor>& tensor) {
  return tensor ? handle_of<ruda_tensor>(*tensor) : nullptr;
}

inline ruda_binding bind(uint32_t slot, const Ref<Tensor>& tensor) {
  ruda_binding b{};
  b.slot = slot;
  b.kind = RUDA_BIND_TENSOR;
  b.v.handle = handle(tensor);
  return b;
}

inline ruda_binding bind_handle(uint32_t slot, void* object) {
  ruda_binding b{};
  b.slot = slot;
  b.kind = RUDA_BIND_HANDLE;
  b.v.handle = object;
  return b;
}

// Descriptor of a tensor; its arrays live as long as the tensor.
inline ruda_tensor_desc describe(const Ref<Tensor>& tensor) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  ok(ruda_tensor_get_desc(handle(tensor), &desc));
  return desc;
}

}  // namespace ruda::infer
