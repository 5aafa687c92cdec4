// src/model/text/unicode.cpp - UTF-8 steps, look-ups in the tables, case conversion.
// SPDX-License-Identifier: Apache-2.0
#include "model/text/unicode.hpp"

#include "core/fork.hpp"

#include <algorithm>
#include <array>

namespace ruda::text {
namespace {

constexpr uint32_t code_count = 0x110000;
constexpr uint32_t block_codes = 128;

// `run` has for each block of code points the run that covers its first one: a look-up walks few runs from
// there. Alphabets with many short runs come first in Unicode and have their classes spelled out in `low`.
struct ClassIndex {
  std::array<uint16_t, code_count / block_codes> run{};
  std::array<CharClass, 0x800> low{};
};

Once<ClassIndex> index;

const ClassIndex& class_index() {
  return index.get([] {
    ClassIndex made;
    size_t run = 0;
    const auto advance = [&run](uint32_t code) {
      while (run + 1 < class_run_count && class_runs[run + 1] >> 4 <= code) ++run;
    };
    for (uint32_t block = 0; block < made.run.size(); ++block) {
      advance(block * block_codes);
      made.run[block] = uint16_t(run);
    }
    run = 0;
    for (uint32_t code = 0; code < made.low.size(); ++code) {
      advance(code);
      made.low[code] = CharClass(class_runs[run] & 15);
    }
    return made;
  });
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// What a lead byte promises: the length of the character and the range of the second byte. Length 0 = no lead
// byte.
struct Lead {
  uint32_t bytes;
  unsigned char low, high;
};
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Bytes at the front of `text` that agree with its lead byte; equals lead.bytes for a whole character.
uint32_t agreeing_bytes(std::string_view text, const Lead& lead) {
  if (lead.bytes == 0) return 0;
  uint32_t n = 1;
  while (n < lead.bytes && n < text.size()) {
    const auto byte = static_cast<unsigned char>(text[n]);
    if (n == 1 ? byte < lead.low || byte > lead.high : !is_continuation(text[n])) break;
    ++n;
  }
  return n;
}

const CaseRun* find_run(const CaseRun* runs, size_t count, uint32_t code) {
  const CaseRun* end = runs + count;
  const CaseRun* run =
      std::lower_bound(runs, end, code, [](const CaseRun& r, uint32_t c) { return r.last < c; });
  return run != end && code >= run->first && (code - run->first) % run->step == 0 ? run : nullptr;
}

bool append_expansion(std::string& out, const CaseExpansion* list, size_t count, uint32_t code) {
  const CaseExpansion* end = list + count;
  const CaseExpansion* at =
      std::lower_bound(list, end, code, [](const CaseExpansion& e, uint32_t c) { return e.code < c; });
  if (at == end || at->code != code) return false;
  for (const uint32_t c : at->to)
    if (c) append_utf8(out, c);
  return true;
}

void append_upper(std::string& out, uint32_t code) {
  if (append_expansion(out, upper_expansions, upper_expansion_count, code)) return;
  const CaseRun* run = find_run(upper_runs, upper_run_count, code);
  append_utf8(out, run ? uint32_t(int64_t(code) + run->delta) : code);
}

void append_title(std::string& out, uint32_t code) {
  if (append_expansion(out, title_expansions, title_expansion_count, code)) return;
  const CaseRun* run = find_run(title_runs, title_run_count, code);
  if (run) return append_utf8(out, uint32_t(int64_t(code) + run->delta));
  append_upper(out, code);
}

bool is_cased(uint32_t code) {
  const CharClass c = char_class(code);
  return c == CharClass::upper_letter || c == CharClass::lower_letter || c == CharClass::title_letter ||
         find_run(upper_runs, upper_run_count, code) || find_run(lower_runs, lower_run_count, code);
}

bool is_case_ignorable(uint32_t code) {
  const CharClass c = char_class(code);
  return c == CharClass::mark || c == CharClass::modifier_letter || code == '\'' || code == '.' ||
         code == ':' || code == '^' || code == '`' || code == 0xAD || code == 0xB7 || code == 0x2019;
}

// A capital sigma at the end of a word becomes the final form: a cased letter stands before it, none after
// it.
bool is_final_sigma(std::string_view text, size_t at) {
  size_t i = at;
  bool before = false;
  while (i > 0 && !before) {
    do --i;
    while (i > 0 && is_continuation(text[i]));
    const uint32_t code = decode_utf8(text.substr(i)).code;
    if (is_case_ignorable(code)) continue;
    before = is_cased(code);
    break;
  }
  if (!before) return false;
  for (i = at + 2; i < text.size();) {
    const Decoded next = decode_utf8(text.substr(i));
    i += next.bytes;
    if (is_case_ignorable(next.code)) continue;
    return !is_cased(next.code);
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t at, uint32_t code) {
  constexpr uint32_t capital_sigma = 0x3A3, final_sigma = 0x3C2, dotted_i = 0x130, dot_above = 0x307;
  if (code == capital_sigma && is_final_sigma(text, at)) return append_utf8(out, final_sigma);
  if (code == dotted_i) {
    out += 'i';
    return append_utf8(out, dot_above);
  }
  const CaseRun* run = find_run(lower_runs, lower_run_count, code);
  append_utf8(out, run ? uint32_t(int64_t(code) + run->delta) : code);
}

// Calls step(out, at, code) for each character; bytes that are no UTF-8 are copied.
template <class Step>
std::string convert(std::string_view text, Step step) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Decoded next = decode_utf8(text.substr(at));
    if (next.valid)
      step(out, at, next.code);
    else
      out += text[at];
    at += next.bytes;
  }
  return out;
}

}  // namespace

CharClass char_class(uint32_t code) {
  if (code >= code_count) return CharClass::other;
  const ClassIndex& index = class_index();
  if (code < index.low.size()) return index.low[code];
  size_t run = index.run[code / block_codes];
  while (run + 1 < class_run_count && class_runs[run + 1] >> 4 <= code) ++run;
  return CharClass(class_runs[run] & 15);
}

Decoded decode_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  if (lead.bytes == 0 || agreeing_bytes(text, lead) != lead.bytes) return {replacement_char, 1, false};
  uint32_t code = first & (0xFFU >> (lead.bytes + 1));
  for (uint32_t i = 1; i < lead.bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  return {code, lead.bytes, true};
}

void append_utf8(std::string& out, uint32_t code) {
  if (code >= code_count || (code >= 0xD800 && code < 0xE000)) code = replacement_char;
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xC0 | code >> 6);
    out += char(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += char(0xE0 | code >> 12);
    out += char(0x80 | (code >> 6 & 0x3F));
    out += char(0x80 | (code & 0x3F));
  } else {
    out += char(0xF0 | code >> 18);
    out += char(0x80 | (code >> 12 & 0x3F));
    out += char(0x80 | (code >> 6 & 0x3F));
    out += char(0x80 | (code & 0x3F));
  }
}

size_t incomplete_tail(std::string_view text) {
  for (size_t n = 1; n <= 3 && n <= text.size(); ++n) {
    const std::string_view tail = text.substr(text.size() - n);
    if (is_continuation(tail[0])) continue;
    const Lead lead = lead_of(static_cast<unsigned char>(tail[0]));
    return lead.bytes > n && agreeing_bytes(tail, lead) == n ? n : 0;
  }
  return 0;
}

std::string repair_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const Lead lead = lead_of(static_cast<unsigned char>(rest[0]));
    const uint32_t agreeing = agreeing_bytes(rest, lead);
    if (lead.bytes != 0 && agreeing == lead.bytes) {
      out += rest.substr(0, agreeing);
    } else {
      append_utf8(out, replacement_char);
    }
    at += std::max(agreeing, 1U);
  }
  return out;
}

size_t count_chars(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += decode_utf8(text.substr(at)).bytes;
  return count;
}

std::string to_upper(std::string_view text) {
  return convert(text, [](std::string& out, size_t, uint32_t code) { append_upper(out, code); });
}

std::string to_lower(std::string_view text) {
  return convert(text,
                 [text](std::string& out, size_t at, uint32_t code) { append_lower(out, text, at, code); });
}

std::string to_title(std::string_view text) {
  bool in_word = false;
  return convert(text, [&](std::string& out, size_t at, uint32_t code) {
    in_word ? append_lower(out, text, at, code) : append_title(out, code);
    in_word = is_cased(code);
  });
}

std::string to_capitalized(std::string_view text) {
  return convert(text, [text](std::string& out, size_t at, uint32_t code) {
    at == 0 ? append_title(out, code) : append_lower(out, text, at, code);
  });
}

}  // namespace ruda::text
