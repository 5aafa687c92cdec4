// src/model/template/chat.cpp - the variables of a chat template, and its C entries.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/chat.hpp"

#include "core/fork.hpp"
#include "core/struct_in.hpp"
#include "model/template/parser.hpp"
#include "model/text/tokenizer.hpp"
#include "model/text/unicode.hpp"
#include "store/meta.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace ruda::jinja {

Body Template::parse_source(std::string_view source) {
  constexpr size_t max_source_bytes = size_t{4} << 20;
  RUDA_CHECK(source.size() <= max_source_bytes, RUDA_E_BUDGET, -1,
             "template: %zu bytes of source, at most %zu", source.size(), max_source_bytes);
  return parse(source);
}

std::string Template::render(Names variables, const Limits& limits, int64_t now) const {
  Evaluator evaluator(limits, std::move(variables), now ? now : int64_t(std::time(nullptr)));
  return evaluator.render(body_);
}

Value from_json(const store::Json& json) {
  using Kind = store::Json::Kind;
  switch (json.kind) {
    case Kind::null: return Value(None{});
    case Kind::boolean: return Value(json.boolean);
    case Kind::integer: return Value(json.integer);
    case Kind::real: return Value(json.real);
    case Kind::string: return Value(json.string);
    case Kind::array: {
      Items items;
      items.reserve(json.items.size());
      for (const store::Json& item : json.items) items.push_back(from_json(item));
      return Value::list(std::move(items));
    }
    case Kind::object: break;
  }
  Pairs pairs;
  pairs.reserve(json.members.size());
  for (const auto& [key, value] : json.members) pairs.emplace_back(Value(key), from_json(value));
  return Value::dict(std::move(pairs));
}

}  // namespace ruda::jinja

namespace ruda::text {
namespace {

Lasting<Mutex> template_mutex;  // of the parsed templates of all tokenizers: held for a look

std::shared_ptr<const jinja::Template> template_for(const Tokenizer* tokenizer, const ChatOptions& options) {
  if (!options.source.empty()) return std::make_shared<const jinja::Template>(options.source);
  RUDA_CHECK(tokenizer, RUDA_E_NULL, 0, "tokenizer is NULL and options.source is not set");
  return tokenizer->chat_template(options.name);
}

}  // namespace

std::string render_chat(const Tokenizer* tokenizer, const jinja::Value& messages,
                        const ChatOptions& options) {
  const auto parsed = template_for(tokenizer, options);
  jinja::Names variables = options.variables;
  const auto add = [&variables](const char* name, jinja::Value value) {
    const auto same =
        std::find_if(variables.begin(), variables.end(), [name](auto& v) { return v.first == name; });
    if (same == variables.end()) variables.emplace_back(name, std::move(value));
  };
  add("messages", messages);
  add("tools", jinja::None{});
  add("documents", jinja::None{});
  add("add_generation_prompt", options.generation_prompt);
  const auto add_token = [&](const char* name, int32_t token) {
    if (token >= 0) add(name, std::string(tokenizer->vocabulary().text(token)));
  };
  if (tokenizer) {
    add_token("bos_token", tokenizer->bos());
    add_token("eos_token", tokenizer->eos());
    add_token("unk_token", tokenizer->unknown());
    add_token("pad_token", tokenizer->padding());
  }
  return parsed->render(std::move(variables), options.limits, options.now);
}

std::shared_ptr<const jinja::Template> Tokenizer::chat_template(std::string_view name) const {
  std::string key = "tokenizer.chat_template";
  if (!name.empty() && name != "default") key += "." + std::string(name);
  const auto source = store::meta_text(store_->gguf(), key);
  RUDA_CHECK(source, RUDA_E_NOT_FOUND, 0, "the file has no key %s", ruda::in_quotes(key).c_str());
  {
    const std::lock_guard lock(*template_mutex);
    if (template_ && template_key_ == key) return template_;
  }
  auto made = std::make_shared<const jinja::Template>(*source);
  std::shared_ptr<const jinja::Template> former;  // destroyed after the mutex is free
  const std::lock_guard lock(*template_mutex);
  template_key_ = key;
  former = std::exchange(template_, made);
  return made;
}

}  // namespace ruda::text

namespace {

using namespace ruda;
using text::ChatOptions;
using text::Tokenizer;
using ull = unsigned long long;

struct Call {
  const Tokenizer* tokenizer;
  ChatOptions options;
};

Call read_call(ruda_tokenizer tokenizer, const ruda_chat_options* options, int arg) {
  Call call{};
  const ruda_chat_options defaults = RUDA_CHAT_OPTIONS_INIT;
  const ruda_chat_options given = struct_in(options ? options : &defaults, arg, "options");
  RUDA_CHECK((given.flags & ~uint32_t(RUDA_CHAT_NO_GENERATION_PROMPT)) == 0, RUDA_E_ARGUMENT, arg,
             "options.flags is 0x%x, known are 0x%x", given.flags, RUDA_CHAT_NO_GENERATION_PROMPT);
  call.options.generation_prompt = !(given.flags & RUDA_CHAT_NO_GENERATION_PROMPT);
  if (given.source) call.options.source = given.source;
  if (given.name) call.options.name = given.name;
  call.options.now = given.now;
  if (given.max_bytes) call.options.limits.output = given.max_bytes;
  if (given.max_steps) call.options.limits.steps = given.max_steps;
  if (given.variables) {
    const store::Json json = store::parse_json(given.variables, arg);
    RUDA_CHECK(json.kind == store::Json::Kind::object, RUDA_E_FORMAT, arg,
               "options.variables is not a JSON object");
    for (const auto& [name, value] : json.members)
      call.options.variables.emplace_back(name, jinja::from_json(value));
  }
  if (tokenizer || call.options.source.empty()) call.tokenizer = &get<Tokenizer>(tokenizer, 0, "tokenizer");
  return call;
}

// Values of the language are valid UTF-8.
jinja::Value text_value(std::string_view bytes) { return jinja::Value(text::repair_utf8(bytes)); }

// All of the text with a NUL, or nothing.
void give(const std::string& value, char* text, uint64_t capacity, uint64_t* out_needed, int arg) {
  if (out_needed) *out_needed = value.size() + 1;
  if (capacity == 0) return;
  RUDA_CHECK(capacity > value.size(), RUDA_E_BUDGET, arg + 1, "capacity is %llu bytes, the text needs %llu",
             ull(capacity), ull(value.size() + 1));
  text_out(value, text, capacity, out_needed, arg);
}

}  // namespace

std::string text::render_chat(ruda_tokenizer tokenizer, const ruda_chat_message* messages, uint64_t count,
                              const ruda_chat_options* options, const StopSign& stop) {
  Call call = read_call(tokenizer, options, 3);
  call.options.limits.stop = stop;
  RUDA_CHECK(messages || count == 0, RUDA_E_NULL, 1, "messages is NULL, count is %llu", ull(count));
  RUDA_CHECK(count <= 1'000'000, RUDA_E_ARGUMENT, 2, "count is %llu, at most 1000000", ull(count));
  jinja::Items list;
  for (uint64_t i = 0; i < count; ++i) {
    stop.check();
    RUDA_CHECK(messages[i].role, RUDA_E_NULL, 1, "messages[%llu].role is NULL", ull(i));
    RUDA_CHECK(messages[i].content || messages[i].content_bytes == 0, RUDA_E_NULL, 1,
               "messages[%llu].content is NULL", ull(i));
    const char* content = messages[i].content ? messages[i].content : "";
    const size_t bytes = messages[i].content_bytes ? size_t(messages[i].content_bytes) : std::strlen(content);
    list.push_back(
        jinja::Value::dict({{jinja::Value(std::string("role")), text_value(messages[i].role)},
                            {jinja::Value(std::string("content")), text_value({content, bytes})}}));
  }
  return render_chat(call.tokenizer, jinja::Value::list(std::move(list)), call.options);
}

extern "C" ruda_status ruda_chat_render(ruda_tokenizer tokenizer, const ruda_chat_message* messages,
                                        uint64_t count, const ruda_chat_options* options, char* text,
                                        uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    RUDA_CHECK(text || capacity == 0, RUDA_E_NULL, 4, "text is NULL, capacity is %llu", ull(capacity));
    give(text::render_chat(tokenizer, messages, count, options, {}), text, capacity, out_needed, 4);
  });
}

extern "C" ruda_status ruda_chat_render_json(ruda_tokenizer tokenizer, const char* messages,
                                             const ruda_chat_options* options, char* text, uint64_t capacity,
                                             uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    RUDA_CHECK(text || capacity == 0, RUDA_E_NULL, 3, "text is NULL, capacity is %llu", ull(capacity));
    const Call call = read_call(tokenizer, options, 2);
    RUDA_CHECK(messages, RUDA_E_NULL, 1, "messages is NULL");
    const store::Json json = store::parse_json(messages, 1);
    RUDA_CHECK(json.kind == store::Json::Kind::array, RUDA_E_FORMAT, 1, "messages is not a JSON array");
    give(text::render_chat(call.tokenizer, jinja::from_json(json), call.options), text, capacity, out_needed,
         3);
  });
}
