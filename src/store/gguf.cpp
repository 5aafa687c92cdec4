// src/store/gguf.cpp - GGUF: header, metadata, tensor table; every size of the file is checked before it is
// used.
// SPDX-License-Identifier: Apache-2.0
//
// Source: the GGUF description of the ggml project (docs/gguf.md).
// Stricter than ggml on purpose: products of extents are checked, extents are at least 1, keys and names are
// unique, data of two tensors never overlaps.
#include "store/gguf.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace ruda::store {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie");

constexpr uint32_t max_rank = 4;
constexpr uint64_t max_name_bytes = 1024;
constexpr uint64_t min_meta_bytes = 8 + 1 + 4 + 1;        // key length, key, type, value
constexpr uint64_t min_tensor_bytes = 8 + 1 + 4 + 4 + 8;  // name length, name, rank, type, offset
using ull = unsigned long long;

// A cursor that never leaves the file.
class Cursor {
 public:
  explicit Cursor(Bytes file) : file_(file) {}
  uint64_t at() const { return at_; }
  uint64_t left() const { return file_.size() - at_; }

  Bytes take(uint64_t bytes, const char* what) {
    RUDA_CHECK(bytes <= left(), RUDA_E_FORMAT, -1,
               "gguf: %s at byte %llu needs %llu bytes, the file has %llu left", what, ull(at_), ull(bytes),
               ull(left()));
    const Bytes out = file_.subspan(size_t(at_), size_t(bytes));
    at_ += bytes;
    return out;
  }
  template <class T>
  T read(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view string(const char* what) {
    const auto length = read<uint64_t>(what);
    const Bytes bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  Bytes file_;
  uint64_t at_ = 0;
};

constexpr GgufType types[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},      {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},
    {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},    {42, "Q2_0", 64, 18},
};
constexpr uint32_t newest_type = 42;

uint32_t read_version(Cursor& in) {
  const Bytes magic = in.take(4, "magic");
  RUDA_CHECK(std::memcmp(magic.data(), "GGUF", 4) == 0, RUDA_E_FORMAT, -1,
             "gguf: the file starts with %s, expected \"GGUF\"",
             in_quotes({reinterpret_cast<const char*>(magic.data()), 4}).c_str());
  const auto version = in.read<uint32_t>("version");
  RUDA_CHECK((version & 0xFFFF) != 0, RUDA_E_UNSUPPORTED, -1,
             "gguf: version field 0x%08x is that of a big-endian file, only little-endian files are read",
             version);
  RUDA_CHECK(version == 2 || version == 3, RUDA_E_UNSUPPORTED, -1, "gguf: version is %u, expected 2 or 3",
             version);
  return version;
}

MetaType read_type(Cursor& in, const char* what, std::string_view key) {
  const auto type = in.read<uint32_t>(what);
  RUDA_CHECK(type <= uint32_t(MetaType::f64), RUDA_E_FORMAT, -1, "gguf: %s of key %s is %u, expected 0 to 12",
             what, in_quotes(key).c_str(), type);
  return MetaType(type);
}

// Leaves `entry.bytes` on the packed elements.
void read_elements(Cursor& in, MetaEntry& entry, Bytes file) {
  const uint64_t start = in.at();
  if (entry.element == MetaType::string) {
    RUDA_CHECK(entry.count <= in.left() / 8, RUDA_E_FORMAT, -1,
               "gguf: key %s holds %llu strings, the file has only %llu bytes left",
               in_quotes(entry.key).c_str(), ull(entry.count), ull(in.left()));
    for (uint64_t i = 0; i < entry.count; ++i) in.string("string of the metadata");
    entry.bytes = file.subspan(size_t(start), size_t(in.at() - start));
    return;
  }
  const uint64_t element_bytes = meta_type_bytes(entry.element);
  RUDA_CHECK(entry.count <= in.left() / element_bytes, RUDA_E_FORMAT, -1,
             "gguf: key %s holds %llu elements of %llu bytes, the file has only %llu bytes left",
             in_quotes(entry.key).c_str(), ull(entry.count), ull(element_bytes), ull(in.left()));
  entry.bytes = in.take(entry.count * element_bytes, "value");
  if (entry.element == MetaType::boolean)
    for (const std::byte b : entry.bytes)
      RUDA_CHECK(b <= std::byte{1}, RUDA_E_FORMAT, -1, "gguf: boolean of key %s is %u, expected 0 or 1",
                 in_quotes(entry.key).c_str(), unsigned(b));
}

MetaEntry read_meta(Cursor& in, Bytes file) {
  MetaEntry entry;
  entry.key = in.string("key");
  RUDA_CHECK(!entry.key.empty(), RUDA_E_FORMAT, -1, "gguf: the key that ends at byte %llu is empty",
             ull(in.at()));
  RUDA_CHECK(entry.key.find('\0') == entry.key.npos, RUDA_E_FORMAT, -1, "gguf: key %s holds a NUL byte",
             in_quotes(entry.key).c_str());
  entry.type = read_type(in, "type", entry.key);
  entry.element = entry.type;
  if (entry.type == MetaType::array) {
    entry.element = read_type(in, "element type", entry.key);
    RUDA_CHECK(entry.element != MetaType::array, RUDA_E_UNSUPPORTED, -1,
               "gguf: key %s is an array of arrays, which is not read", in_quotes(entry.key).c_str());
    entry.count = in.read<uint64_t>("array length");
  }
  read_elements(in, entry, file);
  return entry;
}

// Sorts the indices of `items` by name and refuses equal names.
template <class Items, class Name>
std::vector<uint32_t> sort_names(const Items& items, Name name, const char* what) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return name(items[a]) < name(items[b]); });
  for (size_t i = 1; i < order.size(); ++i)
    RUDA_CHECK(name(items[order[i - 1]]) != name(items[order[i]]), RUDA_E_FORMAT, -1,
               "gguf: %s %s stands twice", what, in_quotes(name(items[order[i]])).c_str());
  return order;
}

template <class Items, class Name>
auto find_name(const Items& items, const std::vector<uint32_t>& order, std::string_view wanted, Name name)
    -> decltype(items.data()) {
  const auto at =
      std::lower_bound(order.begin(), order.end(), wanted,
                       [&](uint32_t index, std::string_view text) { return name(items[index]) < text; });
  if (at == order.end() || name(items[*at]) != wanted) return nullptr;
  return &items[*at];
}

const auto key_of = [](const MetaEntry& entry) { return entry.key; };
const auto name_of = [](const GgufTensor& tensor) { return tensor.name; };

void read_alignment(GgufFile& out) {
  const MetaEntry* entry = out.find_meta("general.alignment");
  if (!entry) return;
  RUDA_CHECK(entry->type == MetaType::u32, RUDA_E_FORMAT, -1,
             "gguf: general.alignment is of type %s, expected u32", meta_type_name(entry->type));
  out.alignment = meta_bits(*entry, 0);
  RUDA_CHECK(std::has_single_bit(out.alignment) && out.alignment >= 8, RUDA_E_FORMAT, -1,
             "gguf: general.alignment is %llu, expected a power of two of at least 8", ull(out.alignment));
}

void refuse_split(const GgufFile& out) {
  const MetaEntry* count = out.find_meta("split.count");
  if (!count || count->type == MetaType::array || meta_type_bytes(count->type) == 0) return;
  const MetaEntry* no = out.find_meta("split.no");
  const bool known = no && no->type != MetaType::array && meta_type_bytes(no->type) != 0;
  RUDA_CHECK(
      meta_bits(*count, 0) <= 1, RUDA_E_UNSUPPORTED, -1,
      "gguf: the file is part %llu (from 0) of %llu of a split model, join the parts into one file first",
      ull(known ? meta_bits(*no, 0) : 0), ull(meta_bits(*count, 0)));
}

// Reads one row of the tensor table; `bytes` and the range of the data are settled once the data section is
// known.
GgufTensor read_tensor(Cursor& in, uint64_t& data_bytes) {
  GgufTensor tensor;
  tensor.name = in.string("tensor name");
  const std::string name = in_quotes(tensor.name);
  RUDA_CHECK(!tensor.name.empty(), RUDA_E_FORMAT, -1, "gguf: the tensor name that ends at byte %llu is empty",
             ull(in.at()));
  RUDA_CHECK(tensor.name.size() <= max_name_bytes, RUDA_E_FORMAT, -1,
             "gguf: tensor name %s has %llu bytes, at most %llu are allowed", name.c_str(),
             ull(tensor.name.size()), ull(max_name_bytes));
  RUDA_CHECK(tensor.name.find('\0') == tensor.name.npos, RUDA_E_FORMAT, -1,
             "gguf: tensor name %s holds a NUL byte", name.c_str());
  tensor.rank = in.read<uint32_t>("tensor rank");
  RUDA_CHECK(tensor.rank <= max_rank, RUDA_E_FORMAT, -1, "gguf: tensor %s has rank %u, at most %u is allowed",
             name.c_str(), tensor.rank, max_rank);
  int64_t elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const auto extent = in.read<int64_t>("tensor extent");
    RUDA_CHECK(extent >= 1, RUDA_E_FORMAT, -1, "gguf: tensor %s: dims[%u] is %lld, must be at least 1",
               name.c_str(), i, static_cast<long long>(extent));
    RUDA_CHECK(!__builtin_mul_overflow(elements, extent, &elements), RUDA_E_FORMAT, -1,
               "gguf: tensor %s: the element count does not fit 63 bits at dims[%u] = %lld", name.c_str(), i,
               static_cast<long long>(extent));
    tensor.shape[tensor.rank - 1 - i] = extent;  // the file lists the contiguous extent first
  }
  const auto id = in.read<uint32_t>("tensor type");
  tensor.type = gguf_type(id);
  RUDA_CHECK(tensor.type || id > newest_type, RUDA_E_FORMAT, -1,
             "gguf: tensor %s has type %u, which the format has removed", name.c_str(), id);
  RUDA_CHECK(tensor.type, RUDA_E_UNSUPPORTED, -1, "gguf: tensor %s has type %u, the newest known is %u",
             name.c_str(), id, newest_type);
  const int64_t row = tensor.rank ? tensor.shape[tensor.rank - 1] : 1;
  RUDA_CHECK(row % tensor.type->block_elements == 0, RUDA_E_FORMAT, -1,
             "gguf: tensor %s: dims[0] is %lld, must be a multiple of the %u elements of a %s block",
             name.c_str(), static_cast<long long>(row), tensor.type->block_elements, tensor.type->name);
  RUDA_CHECK(!__builtin_mul_overflow(uint64_t(elements) / tensor.type->block_elements,
                                     uint64_t(tensor.type->block_bytes), &data_bytes) &&
                 data_bytes <= uint64_t(INT64_MAX),
             RUDA_E_FORMAT, -1,
             "gguf: tensor %s: the byte count of %lld elements of type %s does not fit 63 bits", name.c_str(),
             static_cast<long long>(elements), tensor.type->name);
  tensor.offset = in.read<uint64_t>("tensor offset");
  return tensor;
}

void place_tensor(GgufTensor& tensor, uint64_t data_bytes, const GgufFile& out, Bytes file) {
  const uint64_t section = file.size() > out.data_offset ? file.size() - out.data_offset : 0;
  RUDA_CHECK(tensor.offset % out.alignment == 0, RUDA_E_FORMAT, -1,
             "gguf: tensor %s: offset %llu is not a multiple of the alignment %llu",
             in_quotes(tensor.name).c_str(), ull(tensor.offset), ull(out.alignment));
  RUDA_CHECK(tensor.offset <= section && data_bytes <= section - tensor.offset, RUDA_E_FORMAT, -1,
             "gguf: tensor %s: %llu bytes at offset %llu do not fit the %llu bytes of the data section",
             in_quotes(tensor.name).c_str(), ull(data_bytes), ull(tensor.offset), ull(section));
  tensor.offset += out.data_offset;
  tensor.bytes = file.subspan(size_t(tensor.offset), size_t(data_bytes));
}

void refuse_overlap(const std::vector<GgufTensor>& tensors) {
  std::vector<const GgufTensor*> order;
  order.reserve(tensors.size());
  for (const GgufTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& a = *order[i - 1];
    const GgufTensor& b = *order[i];
    RUDA_CHECK(b.offset - a.offset >= a.bytes.size(), RUDA_E_FORMAT, -1,
               "gguf: tensors %s and %s overlap: bytes %llu to %llu and from %llu", in_quotes(a.name).c_str(),
               in_quotes(b.name).c_str(), ull(a.offset), ull(a.offset + a.bytes.size()), ull(b.offset));
  }
}

}  // namespace

const char* meta_type_name(MetaType type) {
  constexpr const char* names[] = {"u8",      "i8",     "u16",   "i16", "u32", "i32", "f32",
                                   "boolean", "string", "array", "u64", "i64", "f64"};
  return uint32_t(type) < std::size(names) ? names[uint32_t(type)] : "unknown";
}

uint32_t meta_type_bytes(MetaType type) {
  constexpr uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return uint32_t(type) < std::size(bytes) ? bytes[uint32_t(type)] : 0;
}

const GgufType* gguf_type(uint32_t id) {
  const auto* end = std::end(types);
  const auto* at =
      std::lower_bound(std::begin(types), end, id, [](const GgufType& t, uint32_t i) { return t.id < i; });
  return at != end && at->id == id ? at : nullptr;
}

const MetaEntry* GgufFile::find_meta(std::string_view key) const {
  return find_name(meta, meta_order, key, key_of);
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  return find_name(tensors, tensor_order, name, name_of);
}

GgufFile parse_gguf(Bytes file, const GgufLimits& limits) {
  RUDA_CHECK(!file.empty(), RUDA_E_FORMAT, -1, "gguf: the file is empty");
  GgufFile out;
  Cursor in(file);
  out.version = read_version(in);
  const auto tensor_count = in.read<uint64_t>("tensor count");
  const auto meta_count = in.read<uint64_t>("key count");
  // A count that the bytes left cannot hold is refused before anything is reserved for it.
  RUDA_CHECK(meta_count <= in.left() / min_meta_bytes, RUDA_E_FORMAT, -1,
             "gguf: key count is %llu, the file has only %llu bytes left", ull(meta_count), ull(in.left()));
  RUDA_CHECK(tensor_count <= in.left() / min_tensor_bytes, RUDA_E_FORMAT, -1,
             "gguf: tensor count is %llu, the file has only %llu bytes left", ull(tensor_count),
             ull(in.left()));
  RUDA_CHECK(meta_count <= limits.meta, RUDA_E_BUDGET, -1, "gguf: key count is %llu, the limit is %llu",
             ull(meta_count), ull(limits.meta));
  RUDA_CHECK(tensor_count <= limits.tensors, RUDA_E_BUDGET, -1,
             "gguf: tensor count is %llu, the limit is %llu", ull(tensor_count), ull(limits.tensors));

  for (uint64_t i = 0; i < meta_count; ++i) out.meta.push_back(read_meta(in, file));
  out.meta_order = sort_names(out.meta, key_of, "key");
  read_alignment(out);
  refuse_split(out);

  std::vector<uint64_t> data_bytes;
  for (uint64_t i = 0; i < tensor_count; ++i)
    out.tensors.push_back(read_tensor(in, data_bytes.emplace_back()));
  out.tensor_order = sort_names(out.tensors, name_of, "tensor");

  // The alignment is at most 2^31 and the cursor is inside the file, so this sum cannot wrap.
  out.data_offset = (in.at() + out.alignment - 1) & ~(out.alignment - 1);
  for (size_t i = 0; i < out.tensors.size(); ++i) place_tensor(out.tensors[i], data_bytes[i], out, file);
  refuse_overlap(out.tensors);
  return out;
}

bool MetaStrings::next(std::string_view& out) {
  if (rest_.size() < 8) return false;
  uint64_t length = 0;
  std::memcpy(&length, rest_.data(), 8);
  if (length > rest_.size() - 8) return false;
  out = {reinterpret_cast<const char*>(rest_.data() + 8), size_t(length)};
  rest_ = rest_.subspan(size_t(8 + length));
  return true;
}

uint64_t meta_bits(const MetaEntry& entry, uint64_t index) {
  const std::byte* at = entry.bytes.data() + index * meta_type_bytes(entry.element);
  const auto load = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return uint64_t(int64_t(value));  // sign extension for the signed ones
  };
  switch (entry.element) {
    case MetaType::u8:
    case MetaType::boolean: return load(uint8_t{});
    case MetaType::i8: return load(int8_t{});
    case MetaType::u16: return load(uint16_t{});
    case MetaType::i16: return load(int16_t{});
    case MetaType::u32: return load(uint32_t{});
    case MetaType::i32: return load(int32_t{});
    case MetaType::u64: return load(uint64_t{});
    case MetaType::i64: return load(int64_t{});
    default: break;
  }
  fail(RUDA_E_FORMAT, -1, "gguf: key %s is of type %s, expected an integer", in_quotes(entry.key).c_str(),
       meta_type_name(entry.element));
}

double meta_float(const MetaEntry& entry, uint64_t index) {
  const std::byte* at = entry.bytes.data() + index * meta_type_bytes(entry.element);
  if (entry.element == MetaType::f32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  RUDA_CHECK(entry.element == MetaType::f64, RUDA_E_FORMAT, -1,
             "gguf: key %s is of type %s, expected a float", in_quotes(entry.key).c_str(),
             meta_type_name(entry.element));
  double value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace ruda::store
