// tests/fuzz/template.cpp - renders random templates over random messages, within small limits.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/chat.hpp"
#include "model/text/unicode.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

// The input: source, a NUL byte, JSON of the messages. Without the NUL a small conversation is used.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruda;
  std::string_view source(reinterpret_cast<const char*>(data), size);
  std::string_view messages = R"([{"role":"user","content":"h\u00e9llo <b> 'q'","n":[1,2.5,null,true]},)"
                              R"({"role":"assistant","content":" x\n"}])";
  if (const size_t nul = source.find('\0'); nul != source.npos) {
    messages = source.substr(nul + 1);
    source = source.substr(0, nul);
  }
  if (source.empty()) return 0;
  try {
    text::ChatOptions options;
    options.source = source;
    options.limits.steps = 50'000;
    options.limits.bytes = 8 << 20;
    options.limits.output = 1 << 20;
    options.now = 1'700'000'000;
    const std::string out =
        text::render_chat(nullptr, jinja::from_json(store::parse_json(messages, 0)), options);
    if (out.size() > options.limits.output) std::abort();
  } catch (const Error& error) {
    if (error.status == RUDA_E_INTERNAL || error.text.empty()) std::abort();
  }
  return 0;
}
