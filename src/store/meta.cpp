// src/store/meta.cpp - typed look-ups of metadata.
// SPDX-License-Identifier: Apache-2.0
#include "store/meta.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

namespace ruda::store {
namespace {

[[noreturn]] void fail_type(const MetaEntry& entry, const char* expected) {
  fail(RUDA_E_FORMAT, -1, "gguf: key %s is of type %s%s, expected %s", in_quotes(entry.key).c_str(),
       entry.type == MetaType::array ? "array of " : "", meta_type_name(entry.element), expected);
}

bool is_signed(MetaType type) {
  return type == MetaType::i8 || type == MetaType::i16 || type == MetaType::i32 || type == MetaType::i64;
}

bool is_unsigned(MetaType type) {
  return type == MetaType::u8 || type == MetaType::u16 || type == MetaType::u32 || type == MetaType::u64;
}

}  // namespace

std::optional<std::string_view> meta_text(const GgufFile& file, std::string_view key) {
  const MetaEntry* entry = file.find_meta(key);
  if (!entry) return {};
  if (entry->type != MetaType::string) fail_type(*entry, "string");
  std::string_view text;
  MetaStrings(*entry).next(text);
  return text;
}

std::optional<int64_t> meta_int(const GgufFile& file, std::string_view key) {
  const MetaEntry* entry = file.find_meta(key);
  if (!entry) return {};
  if (!is_signed(entry->type) && !is_unsigned(entry->type)) fail_type(*entry, "an integer");
  const uint64_t bits = meta_bits(*entry, 0);
  RUDA_CHECK(is_signed(entry->type) || bits <= uint64_t(INT64_MAX), RUDA_E_FORMAT, -1,
             "gguf: key %s is %llu, more than the largest signed value", in_quotes(key).c_str(),
             static_cast<unsigned long long>(bits));
  return int64_t(bits);
}

std::optional<double> meta_number(const GgufFile& file, std::string_view key) {
  const MetaEntry* entry = file.find_meta(key);
  if (!entry) return {};
  if (entry->type == MetaType::f32 || entry->type == MetaType::f64) return meta_float(*entry, 0);
  if (is_unsigned(entry->type)) return double(meta_bits(*entry, 0));
  if (is_signed(entry->type)) return double(int64_t(meta_bits(*entry, 0)));
  fail_type(*entry, "a number");
}

std::optional<bool> meta_flag(const GgufFile& file, std::string_view key) {
  const MetaEntry* entry = file.find_meta(key);
  if (!entry) return {};
  if (entry->type != MetaType::boolean) fail_type(*entry, "boolean");
  return meta_bits(*entry, 0) != 0;
}

const MetaEntry* meta_array(const GgufFile& file, std::string_view key, MetaType element) {
  const MetaEntry* entry = file.find_meta(key);
  if (!entry) return nullptr;
  if (entry->type != MetaType::array || entry->element != element) {
    const std::string expected = std::string("array of ") + meta_type_name(element);
    fail_type(*entry, expected.c_str());
  }
  return entry;
}

}  // namespace ruda::store
