// src/tensor/dlpack.hpp - the DLPack 1.x structures, declared from the published layout.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

extern "C" {

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
};

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace ruda::dlpack {

enum : int32_t { device_cpu = 1, device_cuda = 2, device_cuda_host = 3, device_cuda_managed = 13 };
enum : uint8_t {
  code_int = 0,
  code_uint = 1,
  code_float = 2,
  code_bfloat = 4,
  code_bool = 6,
  code_f8e4m3fn = 10,
  code_f8e5m2 = 12,
  code_f4e2m1fn = 17,
};
enum : uint64_t { flag_read_only = 1, flag_copied = 2, flag_subbyte_padded = 4 };
constexpr uint32_t major_version = 1, minor_version = 1;

}  // namespace ruda::dlpack
