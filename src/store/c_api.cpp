// src/store/c_api.cpp - the C entries of store.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "store/store.hpp"
#include "core/text.hpp"

namespace {

using namespace ruda;
using store::GgufTensor;
using store::MetaEntry;
using store::MetaType;
using store::Store;
using ull = unsigned long long;

ruda_store_desc read_desc(const ruda_store_desc* desc, int arg) {
  const ruda_store_desc defaults = RUDA_STORE_DESC_INIT;
  const ruda_store_desc out = struct_in(desc ? desc : &defaults, arg, "desc");
  RUDA_CHECK(out.format == RUDA_STORE_DETECT || out.format == RUDA_STORE_GGUF, RUDA_E_ARGUMENT, arg,
             "desc.format is %u, expected RUDA_STORE_DETECT (0) or RUDA_STORE_GGUF (1)", out.format);
  return out;
}

uint64_t tensor_index(const Store& object, uint64_t index, int arg) {
  RUDA_CHECK(index < object.gguf().tensors.size(), RUDA_E_INDEX, arg,
             "index is %llu, the store has %llu tensors", ull(index), ull(object.gguf().tensors.size()));
  return index;
}

uint64_t meta_index(const Store& object, uint64_t index) {
  RUDA_CHECK(index < object.gguf().meta.size(), RUDA_E_INDEX, 1,
             "index is %llu, the store has %llu metadata entries", ull(index),
             ull(object.gguf().meta.size()));
  return index;
}

const MetaEntry& meta_element(const Store& object, uint64_t index, uint64_t element) {
  const MetaEntry& entry = object.gguf().meta[meta_index(object, index)];
  RUDA_CHECK(element < entry.count, RUDA_E_INDEX, 2, "element is %llu, key %s has %llu", ull(element),
             ruda::in_quotes(entry.key).c_str(), ull(entry.count));
  return entry;
}

[[noreturn]] void fail_type(const MetaEntry& entry, const char* expected) {
  fail(RUDA_E_DTYPE, 1, "key %s is of type %s, expected %s", ruda::in_quotes(entry.key).c_str(),
       store::meta_type_name(entry.element), expected);
}

bool is_integer(MetaType type) {
  return type != MetaType::string && type != MetaType::f32 && type != MetaType::f64;
}

bool is_signed(MetaType type) {
  return type == MetaType::i8 || type == MetaType::i16 || type == MetaType::i32 || type == MetaType::i64;
}

std::string_view meta_string(const Store& object, uint64_t index, uint64_t element) {
  const MetaEntry& entry = meta_element(object, index, element);
  if (entry.element != MetaType::string) fail_type(entry, "a string");
  return object.string(index, element);
}

}  // namespace

extern "C" ruda_status ruda_store_open(const char* path, const ruda_store_desc* desc,
                                       ruda_store* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    RUDA_CHECK(path, RUDA_E_NULL, 0, "path is NULL");
    const ruda_store_desc options = read_desc(desc, 1);
    *out = make<Store>(nullptr, store::MappedFile(path), options).detach<ruda_store>();
  });
}

extern "C" ruda_status ruda_store_open_memory(const void* data, uint64_t bytes, const ruda_store_desc* desc,
                                              ruda_free_fn on_free, void* user, ruda_store* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    RUDA_CHECK(data || bytes == 0, RUDA_E_NULL, 0, "data is NULL, bytes is %llu", ull(bytes));
    RUDA_CHECK(bytes <= uint64_t(INT64_MAX), RUDA_E_ARGUMENT, 1, "bytes is %llu, at most %llu", ull(bytes),
               ull(INT64_MAX));
    const ruda_store_desc options = read_desc(desc, 2);
    const store::Bytes memory{static_cast<const std::byte*>(data), size_t(bytes)};
    Ref<Store> object = make<Store>(nullptr, memory, options);
    object->own_memory(on_free, user);
    *out = object.detach<ruda_store>();
  });
}

extern "C" ruda_status ruda_store_get_format(ruda_store store, uint32_t* out_format,
                                             uint32_t* out_version) noexcept {
  return guard(__func__, [&] {
    if (out_format) *out_format = 0;
    if (out_version) *out_version = 0;
    const Store& object = get<Store>(store, 0, "store");
    if (out_format) *out_format = RUDA_STORE_GGUF;
    if (out_version) *out_version = object.gguf().version;
  });
}

extern "C" ruda_status ruda_store_count(ruda_store store, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = 0;
    *out = get<Store>(store, 0, "store").gguf().tensors.size();
  });
}

extern "C" ruda_status ruda_store_name(ruda_store store, uint64_t index, const char** out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    const Store& object = get<Store>(store, 0, "store");
    *out = object.name(tensor_index(object, index, 1));
  });
}

extern "C" ruda_status ruda_store_get_info(ruda_store store, uint64_t index,
                                           ruda_store_info* inout) noexcept {
  return guard(__func__, [&] {
    const Store& object = get<Store>(store, 0, "store");
    const GgufTensor& tensor = object.gguf().tensors[tensor_index(object, index, 1)];
    ruda_store_info info = RUDA_STORE_INFO_INIT;
    info.dtype = store::dtype_of(*tensor.type);
    info.name = object.name(index);
    info.shape = tensor.shape;
    info.rank = tensor.rank;
    info.offset_bytes = tensor.offset;
    info.bytes = tensor.bytes.size();
    struct_out(inout, info, 2, "inout");
  });
}

extern "C" ruda_status ruda_store_find(ruda_store store, const char* name, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = 0;
    const Store& object = get<Store>(store, 0, "store");
    RUDA_CHECK(name, RUDA_E_NULL, 1, "name is NULL");
    const GgufTensor* tensor = object.gguf().find_tensor(name);
    RUDA_CHECK(tensor, RUDA_E_NOT_FOUND, 1, "no tensor is called %s, the store has %llu tensors",
               ruda::in_quotes(name).c_str(), ull(object.gguf().tensors.size()));
    *out = uint64_t(tensor - object.gguf().tensors.data());
  });
}

extern "C" ruda_status ruda_store_data(ruda_store store, uint64_t index, const void** out_data,
                                       uint64_t* out_bytes) noexcept {
  return guard(__func__, [&] {
    if (out_data) *out_data = nullptr;
    if (out_bytes) *out_bytes = 0;
    RUDA_CHECK(out_data, RUDA_E_NULL, 2, "out_data is NULL");
    const Store& object = get<Store>(store, 0, "store");
    const GgufTensor& tensor = object.gguf().tensors[tensor_index(object, index, 1)];
    object.file().check_unchanged();
    *out_data = tensor.bytes.data();
    if (out_bytes) *out_bytes = tensor.bytes.size();
  });
}

extern "C" ruda_status ruda_store_tensor(ruda_store store, ruda_context context, uint64_t index,
                                         ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    Store& object = get<Store>(store, 0, "store");
    Context& device = get<Context>(context, 1, "context");
    *out = store::mapped_tensor(object, device, tensor_index(object, index, 2)).detach<ruda_tensor>();
  });
}

extern "C" ruda_status ruda_store_load(ruda_store store, ruda_stream stream, uint64_t index,
                                       ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    const Store& object = get<Store>(store, 0, "store");
    Stream& queue = get<Stream>(stream, 1, "stream");
    const Layout layout = store::layout_of(object, tensor_index(object, index, 2));
    object.file().check_unchanged();
    const auto tensor = make_tensor(queue.context(), queue.context().layouts().intern(layout), &queue);
    const store::Bytes bytes = object.gguf().tensors[index].bytes;
    const ruda_status status =
        ruda_tensor_write(stream, handle_of<ruda_tensor>(*tensor), bytes.data(), bytes.size());
    if (status == RUDA_OK) *out = Ref<Tensor>(tensor).detach<ruda_tensor>();
    return status;
  });
}

extern "C" ruda_status ruda_store_meta_count(ruda_store store, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = 0;
    *out = get<Store>(store, 0, "store").gguf().meta.size();
  });
}

extern "C" ruda_status ruda_store_meta_get_info(ruda_store store, uint64_t index,
                                                ruda_meta_info* inout) noexcept {
  return guard(__func__, [&] {
    const Store& object = get<Store>(store, 0, "store");
    const MetaEntry& entry = object.gguf().meta[meta_index(object, index)];
    ruda_meta_info info = RUDA_META_INFO_INIT;
    info.dtype = store::dtype_of(entry.element);
    info.key = object.key(index);
    info.is_array = entry.type == MetaType::array;
    info.count = entry.count;
    struct_out(inout, info, 2, "inout");
  });
}

extern "C" ruda_status ruda_store_meta_find(ruda_store store, const char* key, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = 0;
    const Store& object = get<Store>(store, 0, "store");
    RUDA_CHECK(key, RUDA_E_NULL, 1, "key is NULL");
    const MetaEntry* entry = object.gguf().find_meta(key);
    RUDA_CHECK(entry, RUDA_E_NOT_FOUND, 1, "no key is called %s, the store has %llu keys",
               ruda::in_quotes(key).c_str(), ull(object.gguf().meta.size()));
    *out = uint64_t(entry - object.gguf().meta.data());
  });
}

extern "C" ruda_status ruda_store_meta_i64(ruda_store store, uint64_t index, uint64_t element,
                                           int64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = 0;
    const MetaEntry& entry = meta_element(get<Store>(store, 0, "store"), index, element);
    if (!is_integer(entry.element)) fail_type(entry, "an integer");
    const uint64_t bits = store::meta_bits(entry, element);
    RUDA_CHECK(is_signed(entry.element) || bits <= uint64_t(INT64_MAX), RUDA_E_ARGUMENT, 1,
               "key %s is %llu, more than the largest signed value", ruda::in_quotes(entry.key).c_str(),
               ull(bits));
    *out = int64_t(bits);
  });
}

extern "C" ruda_status ruda_store_meta_u64(ruda_store store, uint64_t index, uint64_t element,
                                           uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = 0;
    const MetaEntry& entry = meta_element(get<Store>(store, 0, "store"), index, element);
    if (!is_integer(entry.element)) fail_type(entry, "an integer");
    const uint64_t bits = store::meta_bits(entry, element);
    RUDA_CHECK(!is_signed(entry.element) || int64_t(bits) >= 0, RUDA_E_ARGUMENT, 1,
               "key %s is %lld, expected 0 or more", ruda::in_quotes(entry.key).c_str(),
               static_cast<long long>(bits));
    *out = bits;
  });
}

extern "C" ruda_status ruda_store_meta_f64(ruda_store store, uint64_t index, uint64_t element,
                                           double* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = 0;
    const MetaEntry& entry = meta_element(get<Store>(store, 0, "store"), index, element);
    if (entry.element == MetaType::string) fail_type(entry, "a number");
    if (!is_integer(entry.element)) {
      *out = store::meta_float(entry, element);
    } else {
      const uint64_t bits = store::meta_bits(entry, element);
      *out = is_signed(entry.element) ? double(int64_t(bits)) : double(bits);
    }
  });
}

extern "C" ruda_status ruda_store_meta_string(ruda_store store, uint64_t index, uint64_t element,
                                              const char** out_data, uint64_t* out_bytes) noexcept {
  return guard(__func__, [&] {
    if (out_data) *out_data = nullptr;
    if (out_bytes) *out_bytes = 0;
    RUDA_CHECK(out_data, RUDA_E_NULL, 3, "out_data is NULL");
    RUDA_CHECK(out_bytes, RUDA_E_NULL, 4, "out_bytes is NULL");
    const std::string_view value = meta_string(get<Store>(store, 0, "store"), index, element);
    *out_data = value.data();
    *out_bytes = value.size();
  });
}

extern "C" ruda_status ruda_store_meta_text(ruda_store store, uint64_t index, uint64_t element, char* text,
                                            uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const std::string_view value = meta_string(get<Store>(store, 0, "store"), index, element);
    text_out(std::string(value), text, capacity, out_needed, 3);
  });
}
