// src/model/template/value.cpp - truth, equality, order and printing as in Python.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/value.hpp"

#include "core/error.hpp"
#include "core/text.hpp"
#include "model/template/context.hpp"
#include "model/text/unicode.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ruda::jinja {
namespace {

struct Extent {
  int depth = 1;
  uint64_t weight = 1, work = 1;

  void add(const Value& part) {
    depth = std::max(depth, part.depth() + 1);
    weight += part.weight();
    add_work(part.work());
  }
  void add_work(uint64_t more) { work = std::min(work + more, UINT64_MAX / 4); }
  void check() const {
    RUDA_CHECK(depth <= max_depth, RUDA_E_BUDGET, -1,
               "template: lists and dictionaries are nested %d deep, at most %d", depth, max_depth);
    RUDA_CHECK(weight <= max_weight, RUDA_E_BUDGET, -1, "template: a value has more than %llu parts",
               static_cast<unsigned long long>(max_weight));
  }
};

// Integers and booleans are the same numbers in Python.
bool is_number(const Value& value) { return value.boolean() || value.integer() || value.real(); }

int compare_numbers(const Value& a, const Value& b) {
  int64_t x, y;
  if (a.as_integer(x) && b.as_integer(y)) return x < y ? -1 : x > y;
  double p = 0, q = 0;
  a.as_real(p);
  b.as_real(q);
  return p < q ? -1 : p > q;
}

bool printable(uint32_t code) {
  const text::CharClass c = text::char_class(code);
  return code == ' ' || (c != text::CharClass::other && c != text::CharClass::space);
}

void append_hex(std::string& out, const char* prefix, uint32_t code, int digits) {
  out += prefix;
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += "0123456789abcdef"[code >> shift & 15];
}

void append_text_repr(std::string& out, std::string_view text) {
  const bool single = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = single ? '"' : '\'';
  out += quote;
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(text.substr(at));
    const uint32_t code = d.valid ? d.code : static_cast<unsigned char>(text[at]);
    if (code == uint32_t(quote) || code == '\\') {
      out += '\\';
      out += char(code);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (d.valid && printable(code)) {
      out += text.substr(at, d.bytes);
    } else if (code < 0x100) {
      append_hex(out, "\\x", code, 2);
    } else if (code < 0x10000) {
      append_hex(out, "\\u", code, 4);
    } else {
      append_hex(out, "\\U", code, 8);
    }
    at += d.bytes;
  }
  out += quote;
}

void append_json_text(std::string& out, std::string_view text, bool ascii) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(text.substr(at));
    const uint32_t code = d.code;
    switch (code) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\f': out += "\\f"; break;
      case '\b': out += "\\b"; break;
      default:
        if (code < 0x20 || (ascii && code >= 0x7F && code < 0x10000)) {
          if (code == 0x7F)
            out += '\x7F';
          else
            append_hex(out, "\\u", code, 4);
        } else if (ascii && code >= 0x10000) {
          append_hex(out, "\\u", 0xD800 + ((code - 0x10000) >> 10), 4);
          append_hex(out, "\\u", 0xDC00 + ((code - 0x10000) & 0x3FF), 4);
        } else {
          text::append_utf8(out, code);
        }
    }
    at += d.bytes;
  }
  out += '"';
}

void append_json_break(std::string& out, const JsonStyle& style, int level) {
  RUDA_CHECK(out.size() <= style.max_bytes, RUDA_E_BUDGET, -1, "template: more than %llu bytes of JSON",
             static_cast<unsigned long long>(style.max_bytes));
  if (style.indent < 0) return;
  out += '\n';
  out.append(size_t(style.indent) * size_t(level), ' ');
}

void append_json_key(std::string& out, const Value& key, const JsonStyle& style) {
  if (const std::string* text = key.text()) return append_json_text(out, *text, style.ascii);
  RUDA_CHECK(is_number(key) || key.is_none(), RUDA_E_FORMAT, -1, "template: tojson: a key is of type %s",
             key.type_name());
  out += '"';
  append_json(out, key, style);
  out += '"';
}

void append_json_list(std::string& out, const List& list, const JsonStyle& style, int level) {
  if (list.items.empty()) return void(out += "[]");
  out += '[';
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i) out += style.item_separator;
    append_json_break(out, style, level + 1);
    append_json(out, list.items[i], style, level + 1);
  }
  append_json_break(out, style, level);
  out += ']';
}

void append_json_dict(std::string& out, const Dict& dict, const JsonStyle& style, int level) {
  if (dict.pairs.empty()) return void(out += "{}");
  std::vector<const std::pair<Value, Value>*> order;
  for (const auto& pair : dict.pairs) order.push_back(&pair);
  if (style.sort_keys)
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return compare(a->first, b->first) < 0; });
  out += '{';
  for (size_t i = 0; i < order.size(); ++i) {
    if (i) out += style.item_separator;
    append_json_break(out, style, level + 1);
    append_json_key(out, order[i]->first, style);
    out += style.key_separator;
    append_json(out, order[i]->second, style, level + 1);
  }
  append_json_break(out, style, level);
  out += '}';
}

}  // namespace

const Value* Dict::find(const Value& key) const {
  for (const auto& pair : pairs)
    if (equal(pair.first, key)) return &pair.second;
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& pair : pairs)
    if (const std::string* text = pair.first.text(); text && *text == key) return &pair.second;
  return nullptr;
}

Value Value::undefined(std::string_view name) {
  Value out;
  out.data_ = Undefined{std::make_shared<const std::string>(name)};
  return out;
}

Value Value::list(Items items, bool tuple) {
  Extent extent;
  for (const Value& item : items) extent.add(item);
  extent.check();
  Value out;
  out.data_ =
      std::make_shared<const List>(List{std::move(items), tuple, extent.depth, extent.weight, extent.work});
  return out;
}

Value Value::dict(Pairs pairs) {
  Extent extent;
  for (const auto& [key, value] : pairs) {
    extent.add(key);
    extent.add(value);
  }
  extent.check();
  // Each key against the keys of the other: at most max_weight^2 / 8.
  for (const auto& [key, value] : pairs) extent.add_work(pairs.size() * key.weight() / 8);
  Value out;
  out.data_ = std::make_shared<const Dict>(Dict{std::move(pairs), extent.depth, extent.weight, extent.work});
  return out;
}

uint64_t Value::weight() const {
  if (const List* list = this->list()) return list->weight;
  if (const Dict* dict = this->dict()) return dict->weight;
  if (const std::string* text = this->text()) return 1 + text->size() / 64;
  return 1;
}

uint64_t Value::work() const {
  if (const List* list = this->list()) return list->work;
  if (const Dict* dict = this->dict()) return dict->work;
  return weight();
}

int Value::depth() const {
  if (const List* list = this->list()) return list->depth;
  if (const Dict* dict = this->dict()) return dict->depth;
  return 0;
}

bool Value::truth() const {
  if (is_undefined() || is_none()) return false;
  if (const bool* b = boolean()) return *b;
  if (const int64_t* i = integer()) return *i != 0;
  if (const double* d = real()) return *d != 0;
  if (const std::string* s = text()) return !s->empty();
  if (const List* l = list()) return !l->items.empty();
  if (const Dict* d = dict()) return !d->pairs.empty();
  return true;
}

bool Value::is_undefined(std::string_view name) const {
  const Undefined* undefined = std::get_if<Undefined>(&data_);
  return undefined && undefined->name && *undefined->name == name;
}

std::string Value::undefined_message() const {
  const Undefined* undefined = std::get_if<Undefined>(&data_);
  return in_quotes(undefined && undefined->name ? std::string_view(*undefined->name) : "value") +
         " is undefined";
}

const char* Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (boolean()) return "bool";
  if (integer()) return "int";
  if (real()) return "float";
  if (text()) return "str";
  if (const List* l = list()) return l->tuple ? "tuple" : "list";
  if (dict()) return "dict";
  if (name_space()) return "Namespace";
  return callable() ? "function" : "LoopContext";
}

bool Value::as_integer(int64_t& out) const {
  if (const bool* b = boolean())
    out = *b;
  else if (const int64_t* i = integer())
    out = *i;
  else
    return false;
  return true;
}

bool Value::as_real(double& out) const {
  int64_t i;
  if (const double* d = real())
    out = *d;
  else if (as_integer(i))
    out = double(i);
  else
    return false;
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) {
    double x, y;
    return compare_numbers(a, b) == 0 && a.as_real(x) && b.as_real(y) && x == x && y == y;
  }
  if (a.text() && b.text()) return *a.text() == *b.text();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.list() && b.list())
    return a.list()->tuple == b.list()->tuple &&
           std::equal(a.list()->items.begin(), a.list()->items.end(), b.list()->items.begin(),
                      b.list()->items.end(), equal);
  if (a.dict() && b.dict()) {
    const Dict &x = *a.dict(), &y = *b.dict();
    if (x.pairs.size() != y.pairs.size()) return false;
    for (const auto& [key, value] : x.pairs) {
      const Value* other = y.find(key);
      if (!other || !equal(value, *other)) return false;
    }
    return true;
  }
  return (a.name_space() && a.name_space() == b.name_space()) ||
         (a.callable() && a.callable() == b.callable()) || (a.loop() && a.loop() == b.loop());
}

int compare(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  // The order of UTF-8 bytes is the order of code points.
  if (a.text() && b.text()) return a.text()->compare(*b.text());
  if (a.list() && b.list() && a.list()->tuple == b.list()->tuple) {
    const Items &x = a.list()->items, &y = b.list()->items;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i)
      if (!equal(x[i], y[i])) return compare(x[i], y[i]);
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  if (a.is_undefined()) fail(RUDA_E_FORMAT, -1, "template: %s", a.undefined_message().c_str());
  if (b.is_undefined()) fail(RUDA_E_FORMAT, -1, "template: %s", b.undefined_message().c_str());
  fail(RUDA_E_FORMAT, -1, "template: '<' is not supported between %s and %s", a.type_name(), b.type_name());
}

void append_real(std::string& out, double value) {
  if (std::isnan(value)) return void(out += "nan");
  if (std::isinf(value)) return void(out += value < 0 ? "-inf" : "inf");
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific).ptr;
  const std::string_view text(digits, size_t(end - digits));
  const size_t e = text.find('e');
  int exponent = 0;
  const char* number = text.data() + e + 1 + (text[e + 1] == '+');
  std::from_chars(number, end, exponent);
  if (exponent < -4 || exponent >= 16) {
    out += text.substr(0, e + 2);
    const int magnitude = std::abs(exponent);
    if (magnitude < 10) out += '0';
    out += std::to_string(magnitude);
    return;
  }
  char fixed[64];
  const auto fixed_end = std::to_chars(fixed, fixed + sizeof fixed, value, std::chars_format::fixed).ptr;
  const std::string_view plain(fixed, size_t(fixed_end - fixed));
  out += plain;
  if (plain.find('.') == plain.npos) out += ".0";
}

void append_str(std::string& out, const Value& value) {
  if (value.is_undefined()) return;
  if (const std::string* text = value.text())
    out += *text;
  else
    append_repr(out, value);
}

void append_repr(std::string& out, const Value& value) {
  if (value.is_undefined()) {
    out += "Undefined";
  } else if (value.is_none()) {
    out += "None";
  } else if (const bool* b = value.boolean()) {
    out += *b ? "True" : "False";
  } else if (const int64_t* i = value.integer()) {
    out += std::to_string(*i);
  } else if (const double* d = value.real()) {
    append_real(out, *d);
  } else if (const std::string* text = value.text()) {
    append_text_repr(out, *text);
  } else if (const List* list = value.list()) {
    out += list->tuple ? '(' : '[';
    for (size_t k = 0; k < list->items.size(); ++k) {
      if (k) out += ", ";
      append_repr(out, list->items[k]);
    }
    if (list->tuple && list->items.size() == 1) out += ',';
    out += list->tuple ? ')' : ']';
  } else if (const Dict* dict = value.dict()) {
    out += '{';
    for (size_t k = 0; k < dict->pairs.size(); ++k) {
      if (k) out += ", ";
      append_repr(out, dict->pairs[k].first);
      out += ": ";
      append_repr(out, dict->pairs[k].second);
    }
    out += '}';
  } else if (const Callable* callable = value.callable()) {
    out += callable->body ? "<Macro '" + callable->name + "'>" : "<function " + callable->name + ">";
  } else {
    out += value.loop() ? "<LoopContext>" : "<Namespace>";
  }
}

std::string str(const Value& value) {
  std::string out;
  append_str(out, value);
  return out;
}

void append_json(std::string& out, const Value& value, const JsonStyle& style, int level) {
  // JSON written into a template has true and false in common with the language, but not null.
  if (value.is_none() || value.is_undefined("null")) {
    out += "null";
  } else if (const bool* b = value.boolean()) {
    out += *b ? "true" : "false";
  } else if (const int64_t* i = value.integer()) {
    out += std::to_string(*i);
  } else if (const double* d = value.real()) {
    if (std::isfinite(*d))
      append_real(out, *d);
    else
      out += std::isnan(*d) ? "NaN" : *d < 0 ? "-Infinity" : "Infinity";
  } else if (const std::string* text = value.text()) {
    append_json_text(out, *text, style.ascii);
  } else if (const List* list = value.list()) {
    append_json_list(out, *list, style, level);
  } else if (const Dict* dict = value.dict()) {
    append_json_dict(out, *dict, style, level);
  } else {
    fail(RUDA_E_FORMAT, -1, "template: tojson: a value of type %s is not JSON", value.type_name());
  }
}

}  // namespace ruda::jinja
