// src/store/text.hpp - makes bytes of a file fit to stand in an error message.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace ruda::store {

// In double quotes, at most 80 bytes, control characters, quotes and bytes above 126 as \xNN.
std::string quoted(std::string_view bytes);

}  // namespace ruda::store
