// tests/fuzz/json.cpp - what the JSON reader takes must survive being written and read again.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/chat.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruda;
  const auto write = [](std::string_view text) {
    std::string out;
    jinja::append_json(out, jinja::from_json(store::parse_json(text, 0)), {});
    return out;
  };
  std::string once;
  try {
    once = write({reinterpret_cast<const char*>(data), size});
  } catch (const Error& error) {
    if (error.status == RUDA_E_INTERNAL || error.text.empty()) std::abort();
    return 0;
  }
  if (write(once) != once) std::abort();
  return 0;
}
