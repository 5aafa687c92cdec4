// tests/fuzz/dlpack.cpp - imports DLPack tensors made of random bytes, and exports what was imported.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlpack.hpp"

#include <ruda/ruda.h>

#include <cstdlib>
#include <cstring>

using namespace ruda::dlpack;

namespace {

struct Bytes {
  const uint8_t* data;
  size_t left;
  uint8_t byte() {
    if (!left) return 0;
    --left;
    return *data++;
  }
  int64_t number() {
    const uint8_t kind = byte();
    if (kind < 200) return kind % 9;
    if (kind < 220) return -int64_t(kind % 5);
    if (kind < 240) return int64_t(1) << (kind % 63);
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return int64_t(value);
  }
};

int deleted;
alignas(64) uint8_t memory[1 << 16];

template <class Managed>
void fill(Bytes& bytes, Managed& managed, int64_t* shape, int64_t* strides) {
  std::memset(&managed, 0, sizeof managed);
  auto& t = managed.dl_tensor;
  t.data = bytes.byte() < 230 ? memory + 4096 + bytes.byte() % 16 : nullptr;
  t.device.device_type = bytes.byte() < 200 ? 1 : int32_t(bytes.number());
  t.device.device_id = int32_t(bytes.number());
  t.ndim = bytes.byte() < 220 ? bytes.byte() % 5 : int32_t(bytes.number());
  t.dtype.code = bytes.byte() % 18;
  t.dtype.bits = uint8_t(8 << bytes.byte() % 5);
  t.dtype.lanes = bytes.byte() < 230 ? 1 : uint16_t(bytes.number());
  for (int i = 0; i < 64; ++i) shape[i] = bytes.left ? bytes.number() : 1;
  const bool has_strides = bytes.byte() < 128;
  for (int i = 0; i < 64; ++i) strides[i] = bytes.left ? bytes.number() : 1;
  t.shape = bytes.byte() < 245 ? shape : nullptr;
  t.strides = has_strides ? strides : nullptr;
  t.byte_offset = bytes.byte() < 200 ? bytes.byte() % 64 : uint64_t(bytes.number());
  managed.deleter = bytes.byte() < 240 ? [](Managed*) { ++deleted; } : nullptr;
}

// Reads the tensor when all its elements lie in `memory`.
void use(ruda_context context, ruda_stream stream, ruda_tensor tensor) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  if (ruda_tensor_get_desc(tensor, &desc)) std::abort();
  void* data = nullptr;
  uint64_t bytes = 0;
  if (ruda_tensor_get_data(tensor, &data, &bytes)) std::abort();
  __int128 reach = 0;
  for (uint32_t i = 0; i < desc.rank; ++i)
    reach += __int128(desc.shape[i] > 0 ? desc.shape[i] - 1 : 0) * desc.strides[i];
  const auto at = reinterpret_cast<uintptr_t>(data), low = reinterpret_cast<uintptr_t>(memory);
  static uint8_t copy[1 << 16];
  if (bytes <= sizeof copy && at >= low && __int128(at) + reach * 8 + 16 < __int128(low) + int(sizeof memory))
    ruda_tensor_read(stream, tensor, copy, sizeof copy);
  DLManagedTensorVersioned* exported = nullptr;
  if (ruda_tensor_to_dlpack(tensor, stream, 0, &exported) == RUDA_OK) exported->deleter(exported);
  (void)context;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ruda_context context;
  static ruda_stream stream;
  if (!context) {
    ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
    desc.backend = RUDA_BACKEND_CPU;
    desc.host_threads = 1;
    if (ruda_context_create(&desc, &context) || ruda_stream_create(context, 0, &stream)) std::abort();
  }
  Bytes bytes{data, size};
  int64_t shape[64], strides[64];
  ruda_tensor tensor = nullptr;
  deleted = 0;
  const bool versioned = bytes.byte() % 2;
  ruda_status status;
  bool has_deleter;
  DLManagedTensorVersioned fresh;
  DLManagedTensor legacy;
  if (versioned) {
    fill(bytes, fresh, shape, strides);
    fresh.version = {bytes.byte() < 230 ? 1u : bytes.byte(), bytes.byte()};
    fresh.flags = uint64_t(bytes.number());
    has_deleter = fresh.deleter != nullptr;
    status = ruda_tensor_from_dlpack(context, &fresh, bytes.byte() < 240 ? 0 : 1, &tensor);
  } else {
    fill(bytes, legacy, shape, strides);
    has_deleter = legacy.deleter != nullptr;
    status = ruda_tensor_from_dlpack_legacy(context, &legacy, &tensor);
  }
  if ((status == RUDA_OK) != (tensor != nullptr) || status == RUDA_E_INTERNAL) std::abort();
  // Ownership passes only on success.
  if (deleted) std::abort();
  if (!tensor) return 0;
  use(context, stream, tensor);
  ruda_release(tensor);
  if (deleted != (has_deleter ? 1 : 0)) std::abort();
  return 0;
}
