// tests/support/objects.hpp - objects that a test makes, asks and releases by hand.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/runner.hpp"

#include <initializer_list>

namespace ruda::test {

// Contiguous; its contents are undefined.
inline ruda_tensor new_tensor(ruda_context context, uint32_t dtype, const std::vector<int64_t>& shape) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = uint32_t(shape.size());
  desc.shape = shape.data();
  ruda_tensor tensor = nullptr;
  MUST(ruda_tensor_create(context, &desc, &tensor));
  return tensor;
}

inline ruda_tensor_desc desc_of(ruda_tensor tensor) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  MUST(ruda_tensor_get_desc(tensor, &desc));
  return desc;
}

inline void* data_of(ruda_tensor tensor) {
  void* data = nullptr;
  MUST(ruda_tensor_get_data(tensor, &data, nullptr));
  return data;
}

inline ruda_context_info info_of(ruda_context context) {
  ruda_context_info info = RUDA_CONTEXT_INFO_INIT;
  MUST(ruda_context_get_info(context, &info));
  return info;
}

inline void release(std::initializer_list<void*> handles) {
  for (void* handle : handles) ruda_release(handle);
}

}  // namespace ruda::test
