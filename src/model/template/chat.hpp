// src/model/template/chat.hpp - chat templates: messages and variables in, prompt text out.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/evaluate.hpp"
#include "store/json.hpp"

#include <ruda/model.h>

#include <memory>

namespace ruda::jinja {

// A parsed template; may be rendered from many threads at once.
class Template {
 public:
  explicit Template(std::string_view source) : body_(parse_source(source)) {}
  std::string render(Names variables, const Limits& limits = {}, int64_t now = 0) const;

 private:
  static Body parse_source(std::string_view source);
  Body body_;
};

Value from_json(const store::Json& json);

}  // namespace ruda::jinja

namespace ruda::text {

class Tokenizer;

struct ChatOptions {
  bool generation_prompt = true;
  std::string_view source;  // empty = the template of the file
  std::string_view name;    // which of the file's templates; empty = the default one
  jinja::Names variables;   // extra ones; they win over the usual ones
  jinja::Limits limits;
  int64_t now = 0;  // 0 = the clock
};

// `messages` is a list of dictionaries. `tokenizer` may be null when options.source is not empty.
std::string render_chat(const Tokenizer* tokenizer, const jinja::Value& messages, const ChatOptions& options);
// The text of ruda_chat_render, whose arguments errors name; `stop` is looked at meanwhile.
std::string render_chat(ruda_tokenizer tokenizer, const ruda_chat_message* messages, uint64_t count,
                        const ruda_chat_options* options, const StopSign& stop);

}  // namespace ruda::text
