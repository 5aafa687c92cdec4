// src/store/json.hpp - a strict JSON reader: RFC 8259, no duplicate keys, limited depth, integers kept exact.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruda::store {

struct JsonMember;

struct Json {
  enum class Kind : uint8_t { null, boolean, integer, real, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;  // of numbers without fraction and exponent
  double real = 0;
  std::string string;
  std::vector<Json> items;
  std::vector<JsonMember> members;  // in the order of the text

  // nullptr when absent or when this is no object.
  const Json* find(std::string_view key) const;
};

struct JsonMember {
  std::string first;
  Json second;
};

// RUDA_E_FORMAT with the byte position for what is not JSON, for duplicate keys, for strings that are no
// UTF-8, for integers beyond 64 bits, and for nesting deeper than `max_depth`.
Json parse_json(std::string_view text, int arg, int max_depth = 100);

}  // namespace ruda::store
