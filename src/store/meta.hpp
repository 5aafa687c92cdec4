// src/store/meta.hpp - typed look-ups of metadata for C++ code; a value of another type is RUDA_E_FORMAT.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/gguf.hpp"

#include <optional>

namespace ruda::store {

std::optional<std::string_view> meta_text(const GgufFile& file, std::string_view key);
// Any integer type that fits; booleans are no integers here.
std::optional<int64_t> meta_int(const GgufFile& file, std::string_view key);
std::optional<double> meta_number(const GgufFile& file, std::string_view key);  // floats and integers
std::optional<bool> meta_flag(const GgufFile& file, std::string_view key);
// nullptr when absent.
const MetaEntry* meta_array(const GgufFile& file, std::string_view key, MetaType element);

}  // namespace ruda::store
