// src/store/store.hpp - the object behind ruda_store: a file or memory, its tables, and texts fit for C.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/handle.hpp"
#include "store/gguf.hpp"
#include "store/mapped_file.hpp"
#include "tensor/tensor.hpp"

#include <ruda/store.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace ruda::store {

class Store : public Object {
 public:
  static constexpr Kind kind = Kind::store;

  Store(MappedFile file, const ruda_store_desc& desc);
  Store(Bytes memory, const ruda_store_desc& desc);
  ~Store() override;

  // From now on the destructor gives the memory back.
  void own_memory(ruda_free_fn on_free, void* user);
  const GgufFile& gguf() const { return gguf_; }
  const MappedFile& file() const { return file_; }
  // NUL-terminated copies.
  const char* name(uint64_t tensor) const { return names_.data() + name_at_[tensor]; }
  const char* key(uint64_t meta) const { return names_.data() + name_at_[gguf_.tensors.size() + meta]; }
  // Element of a string entry; `element` is below the entry's count.
  std::string_view string(uint64_t meta, uint64_t element) const;

 private:
  void read(Bytes bytes, const ruda_store_desc& desc);
  uint64_t string_offset(uint64_t meta, uint64_t element) const;

  MappedFile file_;
  const void* memory_ = nullptr;
  ruda_free_fn on_free_ = nullptr;
  void* user_ = nullptr;
  GgufFile gguf_;
  std::string names_;
  std::vector<uint64_t> name_at_;  // tensors, then keys
  // Offsets of the strings of an array, made when one of its elements is first asked for.
  mutable std::unordered_map<uint64_t, std::vector<uint64_t>> string_at_;
};

// Rank, extents and element type of tensor `index`; RUDA_E_UNSUPPORTED for an encoding that tensors do not
// have.
Layout layout_of(const Store& store, uint64_t index);
// A read-only tensor on the mapped bytes; it keeps the store alive. The context's device must use host
// memory.
Ref<Tensor> mapped_tensor(Store& store, Context& context, uint64_t index);

// The library's element type of a tensor or a metadata value.
uint32_t dtype_of(const GgufType& type);
uint32_t dtype_of(MetaType type);

}  // namespace ruda::store
