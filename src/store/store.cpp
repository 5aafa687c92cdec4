// src/store/store.cpp - reading of tables into a Store, lazily indexed strings, element types.
// SPDX-License-Identifier: Apache-2.0
#include "store/store.hpp"

#include "core/dtype.hpp"
#include "core/fork.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cstring>

namespace ruda::store {
namespace {

Lasting<Mutex> strings_mutex;  // of the tables of all stores: held for a look-up

}  // namespace

Store::Store(MappedFile file, const ruda_store_desc& desc) : file_(std::move(file)) {
  try {
    read(file_.bytes(), desc);
  } catch (Error& error) {
    error.text = in_quotes(file_.path()) + ": " + error.text;
    throw;
  }
}

Store::Store(Bytes memory, const ruda_store_desc& desc) : memory_(memory.data()) { read(memory, desc); }

Store::~Store() {
  if (on_free_) on_free_(user_, const_cast<void*>(memory_));
}

void Store::own_memory(ruda_free_fn on_free, void* user) {
  on_free_ = on_free;
  user_ = user;
}

void Store::read(Bytes bytes, const ruda_store_desc& desc) {
  GgufLimits limits;
  if (desc.max_tensors) limits.tensors = std::min(limits.tensors, desc.max_tensors);
  if (desc.max_meta) limits.meta = std::min(limits.meta, desc.max_meta);
  gguf_ = parse_gguf(bytes, limits);
  const auto add = [this](std::string_view text) {
    name_at_.push_back(names_.size());
    names_ += text;
    names_ += '\0';
  };
  name_at_.reserve(gguf_.tensors.size() + gguf_.meta.size());
  for (const GgufTensor& tensor : gguf_.tensors) add(tensor.name);
  for (const MetaEntry& entry : gguf_.meta) add(entry.key);
}

// Two threads that come first together both make the table.
uint64_t Store::string_offset(uint64_t meta, uint64_t element) const {
  {
    const std::lock_guard lock(*strings_mutex);
    const auto found = string_at_.find(meta);
    if (found != string_at_.end()) return found->second[element];
  }
  const MetaEntry& entry = gguf_.meta[meta];
  std::vector<uint64_t> made;
  made.reserve(entry.count);
  MetaStrings strings(entry);
  std::string_view text;
  while (strings.next(text))
    made.push_back(uint64_t(reinterpret_cast<const std::byte*>(text.data()) - entry.bytes.data()) - 8);
  const std::lock_guard lock(*strings_mutex);
  return string_at_.try_emplace(meta, std::move(made)).first->second[element];
}

std::string_view Store::string(uint64_t meta, uint64_t element) const {
  const MetaEntry& entry = gguf_.meta[meta];
  uint64_t at = 0;
  if (entry.type == MetaType::array) at = string_offset(meta, element);
  uint64_t length = 0;
  std::memcpy(&length, entry.bytes.data() + at, sizeof length);
  return {reinterpret_cast<const char*>(entry.bytes.data() + at + 8), size_t(length)};
}

Layout layout_of(const Store& store, uint64_t index) {
  const GgufTensor& tensor = store.gguf().tensors[index];
  const uint32_t dtype = dtype_of(*tensor.type);
  RUDA_CHECK(find_dtype(dtype), RUDA_E_UNSUPPORTED, 2, "tensor %s is of type %s, which tensors do not have",
             in_quotes(tensor.name).c_str(), tensor.type->name);
  return make_layout(dtype, tensor.shape, nullptr, int(tensor.rank), false, 2, "tensor");
}

Ref<Tensor> mapped_tensor(Store& store, Context& context, uint64_t index) {
  const Layout layout = layout_of(store, index);
  RUDA_CHECK(!context.asynchronous(), RUDA_E_UNSUPPORTED, 1,
             "the context's device does not compute in host memory, use ruda_store_load");
  store.file().check_unchanged();
  const Bytes bytes = store.gguf().tensors[index].bytes;
  return wrap_memory(
      context, layout, const_cast<std::byte*>(bytes.data()), bytes.size(), true,
      [kept = Ref<Store>(&store)] {}, 2);
}

uint32_t dtype_of(const GgufType& type) {
  switch (type.id) {
    case 0: return RUDA_F32;
    case 1: return RUDA_F16;
    case 24: return RUDA_I8;
    case 25: return RUDA_I16;
    case 26: return RUDA_I32;
    case 27: return RUDA_I64;
    case 28: return RUDA_F64;
    case 30: return RUDA_BF16;
    default: return 256 + type.id;
  }
}

uint32_t dtype_of(MetaType type) {
  switch (type) {
    case MetaType::u8: return RUDA_U8;
    case MetaType::i8: return RUDA_I8;
    case MetaType::u16: return RUDA_U16;
    case MetaType::i16: return RUDA_I16;
    case MetaType::u32: return RUDA_U32;
    case MetaType::i32: return RUDA_I32;
    case MetaType::f32: return RUDA_F32;
    case MetaType::boolean: return RUDA_BOOL;
    case MetaType::u64: return RUDA_U64;
    case MetaType::i64: return RUDA_I64;
    case MetaType::f64: return RUDA_F64;
    case MetaType::string:
    case MetaType::array: break;
  }
  return RUDA_META_STRING;
}

}  // namespace ruda::store
