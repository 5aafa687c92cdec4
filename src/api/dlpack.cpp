// src/api/dlpack.cpp - tensors to and from other libraries by DLPack, versioned and legacy.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlpack.hpp"

#include "core/struct_in.hpp"
#include "tensor/tensor.hpp"

using namespace ruda;
using namespace ruda::dlpack;

namespace {

struct TypeCode {
  uint32_t dtype;
  uint8_t code, bits;
};

constexpr TypeCode type_codes[] = {
    {RUDA_F64, code_float, 64},   {RUDA_F32, code_float, 32},      {RUDA_F16, code_float, 16},
    {RUDA_BF16, code_bfloat, 16}, {RUDA_F8E4M3, code_f8e4m3fn, 8}, {RUDA_F8E5M2, code_f8e5m2, 8},
    {RUDA_I8, code_int, 8},       {RUDA_U8, code_uint, 8},         {RUDA_I16, code_int, 16},
    {RUDA_U16, code_uint, 16},    {RUDA_I32, code_int, 32},        {RUDA_U32, code_uint, 32},
    {RUDA_I64, code_int, 64},     {RUDA_U64, code_uint, 64},       {RUDA_BOOL, code_bool, 8},
};

// What an exported tensor owns: one reference and its own copies of shape and strides.
struct Export {
  Ref<Tensor> tensor;
  int64_t shape[RUDA_MAX_RANK], strides[RUDA_MAX_RANK];
};

struct ExportVersioned : Export {
  DLManagedTensorVersioned managed;
};
struct ExportLegacy : Export {
  DLManagedTensor managed;
};

DLTensor describe(Export& e, const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  const TypeCode* found = nullptr;
  for (const TypeCode& entry : type_codes)
    if (entry.dtype == layout.dtype) found = &entry;
  RUDA_CHECK(found, RUDA_E_UNSUPPORTED, 0, "tensor: dtype %s has no exact code in DLPack",
             dtype_name(layout.dtype));
  for (int i = 0; i < layout.rank; ++i) {
    e.shape[i] = layout.shape[i];
    e.strides[i] = layout.strides[i];
  }
  const bool on_cpu = tensor.context().backend() == RUDA_BACKEND_CPU;
  DLTensor out{};
  out.data = layout.elements ? tensor.data() : nullptr;
  out.device = {on_cpu ? int32_t(device_cpu) : int32_t(device_cuda), tensor.context().device().index()};
  out.ndim = layout.rank;
  out.dtype = {found->code, found->bits, 1};
  out.shape = e.shape;
  out.strides = e.strides;
  return out;
}

// Orders the consumer's stream after the last writer.
Tensor& for_export(ruda_tensor handle, ruda_stream consumer) {
  Tensor& tensor = get_tensor(handle, 0);
  if (consumer) {
    Stream& stream = get_stream(consumer, 1);
    RUDA_CHECK(&stream.context() == &tensor.context(), RUDA_E_ARGUMENT, 1,
               "consumer: belongs to another context than the tensor");
    if (tensor.context().asynchronous()) tensor.storage().fence(stream);
  }
  return tensor;
}

Ref<Tensor> import_tensor(Context& context, const DLTensor& given, bool read_only,
                          std::function<void()> on_release) {
  constexpr int arg = 1;
  const bool on_cpu = context.backend() == RUDA_BACKEND_CPU;
  const int32_t type = given.device.device_type;
  const bool reachable = on_cpu ? type == device_cpu || type == device_cuda_host
                                : (type == device_cuda || type == device_cuda_managed) &&
                                      given.device.device_id == context.device().index();
  RUDA_CHECK(reachable, RUDA_E_UNSUPPORTED, arg,
             "managed: device is type %d number %d, the context is %s number %d", type,
             given.device.device_id, on_cpu ? "the CPU (1)" : "CUDA (2)", context.device().index());
  RUDA_CHECK(given.dtype.lanes == 1, RUDA_E_UNSUPPORTED, arg, "managed: dtype has %u lanes, expected 1",
             given.dtype.lanes);
  const TypeCode* found = nullptr;
  for (const TypeCode& entry : type_codes)
    if (entry.code == given.dtype.code && entry.bits == given.dtype.bits) found = &entry;
  RUDA_CHECK(found, RUDA_E_UNSUPPORTED, arg, "managed: dtype code %u with %u bits has no counterpart",
             given.dtype.code, given.dtype.bits);
  RUDA_CHECK(given.ndim >= 0 && given.ndim <= RUDA_MAX_RANK, RUDA_E_SHAPE, arg,
             "managed: rank is %d, expected 0..%d", given.ndim, RUDA_MAX_RANK);
  const Layout layout =
      make_layout(found->dtype, given.shape, given.strides, given.ndim, false, arg, "managed");
  RUDA_CHECK(given.data || !layout.elements, RUDA_E_NULL, arg, "managed: data is NULL with %lld elements",
             (long long)layout.elements);
  const auto base = reinterpret_cast<uintptr_t>(given.data);
  uintptr_t end = 0;
  RUDA_CHECK(!layout.elements || (!__builtin_add_overflow(base, given.byte_offset, &end) &&
                                  !__builtin_add_overflow(end, uintptr_t(layout.high_bytes), &end)),
             RUDA_E_SHAPE, arg, "managed: byte_offset is %llu, beyond the end of memory",
             (unsigned long long)given.byte_offset);
  void* data = layout.elements ? reinterpret_cast<void*>(base + given.byte_offset) : nullptr;
  return wrap_memory(context, layout, data, uint64_t(layout.high_bytes), read_only, std::move(on_release),
                     arg);
}

}  // namespace

extern "C" {

ruda_status ruda_tensor_to_dlpack(ruda_tensor tensor, ruda_stream consumer, uint64_t flags,
                                  struct DLManagedTensorVersioned** out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    RUDA_CHECK(flags == 0, RUDA_E_ARGUMENT, 2, "flags is %llu, expected 0", (unsigned long long)flags);
    Tensor& t = for_export(tensor, consumer);
    auto e = std::make_unique<ExportVersioned>();
    e->managed.dl_tensor = describe(*e, t);
    e->managed.version = {major_version, minor_version};
    e->managed.flags = t.read_only() ? uint64_t(flag_read_only) : 0;
    e->managed.manager_ctx = e.get();
    e->managed.deleter = [](DLManagedTensorVersioned* self) {
      delete static_cast<ExportVersioned*>(self->manager_ctx);
    };
    e->tensor = Ref<Tensor>(&t);
    *out = &e.release()->managed;
  });
}

ruda_status ruda_tensor_to_dlpack_legacy(ruda_tensor tensor, ruda_stream consumer,
                                         struct DLManagedTensor** out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Tensor& t = for_export(tensor, consumer);
    RUDA_CHECK(!t.read_only(), RUDA_E_UNSUPPORTED, 0,
               "tensor: is read-only, which the form without version cannot say");
    auto e = std::make_unique<ExportLegacy>();
    e->managed.dl_tensor = describe(*e, t);
    e->managed.manager_ctx = e.get();
    e->managed.deleter = [](DLManagedTensor* self) { delete static_cast<ExportLegacy*>(self->manager_ctx); };
    e->tensor = Ref<Tensor>(&t);
    *out = &e.release()->managed;
  });
}

ruda_status ruda_tensor_from_dlpack(ruda_context context, struct DLManagedTensorVersioned* managed,
                                    uint64_t flags, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    RUDA_CHECK(managed, RUDA_E_NULL, 1, "managed is NULL");
    RUDA_CHECK(flags == 0, RUDA_E_ARGUMENT, 2, "flags is %llu, expected 0", (unsigned long long)flags);
    RUDA_CHECK(managed->version.major == major_version, RUDA_E_UNSUPPORTED, 1,
               "managed: version is %u.%u, expected %u.x", managed->version.major, managed->version.minor,
               major_version);
    *out = import_tensor(c, managed->dl_tensor, managed->flags & flag_read_only, [managed] {
             if (managed->deleter) managed->deleter(managed);
           }).detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_from_dlpack_legacy(ruda_context context, struct DLManagedTensor* managed,
                                           ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    RUDA_CHECK(managed, RUDA_E_NULL, 1, "managed is NULL");
    *out = import_tensor(c, managed->dl_tensor, false, [managed] {
             if (managed->deleter) managed->deleter(managed);
           }).detach<ruda_tensor>();
  });
}

}  // extern "C"
