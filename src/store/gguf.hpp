// src/store/gguf.hpp - reader of GGUF version 2 and 3 on a span of bytes; nothing is copied but tables.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ruda::store {

using Bytes = std::span<const std::byte>;

// Numbers as the file has them.
enum class MetaType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
const char* meta_type_name(MetaType type);
// Bytes of one element; 0 for strings and arrays.
uint32_t meta_type_bytes(MetaType type);

struct MetaEntry {
  std::string_view key;
  MetaType type = MetaType::u8;     // array for arrays
  MetaType element = MetaType::u8;  // type of the elements; equals `type` for a scalar
  uint64_t count = 1;               // elements
  Bytes bytes;                      // packed elements; strings as u64 length and bytes each
};

// One encoding of tensor data: `block_elements` values are stored in `block_bytes` bytes.
struct GgufType {
  uint32_t id;
  const char* name;
  uint32_t block_elements;
  uint32_t block_bytes;
};
// nullptr for ids that were removed from the format or are not known.
const GgufType* gguf_type(uint32_t id);

struct GgufTensor {
  std::string_view name;
  const GgufType* type = nullptr;
  uint32_t rank = 0;
  int64_t shape[4] = {1, 1, 1, 1};  // row-major: the last of `rank` extents is the one stored contiguously
  uint64_t offset = 0;              // from the start of the file
  Bytes bytes;
};

struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = 32;
  uint64_t data_offset = 0;
  std::vector<MetaEntry> meta;         // in file order
  std::vector<GgufTensor> tensors;     // in file order
  std::vector<uint32_t> meta_order;    // indices sorted by key
  std::vector<uint32_t> tensor_order;  // indices sorted by name

  const MetaEntry* find_meta(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;
};

// Counts above these are refused with RUDA_E_BUDGET before anything is read.
struct GgufLimits {
  uint64_t tensors = UINT32_MAX;
  uint64_t meta = UINT32_MAX;
};

// Fails with RUDA_E_FORMAT (breaks the format) or RUDA_E_UNSUPPORTED (a version, byte order, encoding or
// split that is not read). The result points into `file`.
GgufFile parse_gguf(Bytes file, const GgufLimits& limits = {});

// Walks the strings of a string or array-of-string entry in order.
class MetaStrings {
 public:
  explicit MetaStrings(const MetaEntry& entry) : rest_(entry.bytes) {}
  bool next(std::string_view& out);

 private:
  Bytes rest_;
};

// Element `index` (below count) of an integer or boolean entry as 64 bits; the type says how to read them.
uint64_t meta_bits(const MetaEntry& entry, uint64_t index);
double meta_float(const MetaEntry& entry, uint64_t index);

}  // namespace ruda::store
