// src/model/text/pretokenize.cpp - hand-written matchers for the regular expressions of known tokenizers.
// SPDX-License-Identifier: Apache-2.0
// A general regex engine recurses on long runs and is about ten times slower; each matcher below quotes its
// expression. Bytes that are no UTF-8 count as symbols of one byte.
#include "model/text/pretokenize.hpp"

#include "model/text/unicode.hpp"

namespace ruda::text {
namespace {

struct Char {
  uint32_t code = 0;
  uint32_t bytes = 0;  // 0 at the end of the text
  CharClass kind = CharClass::other;

  explicit operator bool() const { return bytes != 0; }
  bool letter() const { return bytes && is_letter(kind); }
  bool number() const { return bytes && kind == CharClass::number; }
  bool space() const { return bytes && kind == CharClass::space; }
  bool mark() const { return bytes && kind == CharClass::mark; }
  bool newline() const { return bytes && (code == '\r' || code == '\n'); }
  bool symbol() const { return bytes && (kind == CharClass::punctuation || kind == CharClass::symbol); }
};

Char char_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const Decoded d = decode_utf8(text.substr(at));
  return {d.code, d.bytes, char_class(d.code)};
}

// End of the longest run from `at` whose characters satisfy `test`, of at most `limit` characters.
template <class Test>
size_t run(std::string_view text, size_t at, Test test, size_t limit = SIZE_MAX) {
  for (; limit > 0; --limit) {
    const Char c = char_at(text, at);
    if (!c || !test(c)) break;
    at += c.bytes;
  }
  return at;
}

const auto letters = [](const Char& c) { return c.letter(); };
const auto numbers = [](const Char& c) { return c.number(); };
const auto newlines = [](const Char& c) { return c.newline(); };
const auto others = [](const Char& c) { return !c.space() && !c.letter() && !c.number(); };

// 's|'t|'re|'ve|'m|'ll|'d   Length of the match at `at`, 0 for none. Ignoring case, the long s counts as s.
size_t contraction(std::string_view text, size_t at, bool ignore_case) {
  if (at >= text.size() || text[at] != '\'') return 0;
  const auto folded = [&](size_t i) -> char {
    if (i >= text.size()) return 0;
    const char c = text[i];
    return ignore_case && c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  };
  const char a = folded(at + 1), b = folded(at + 2);
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if (ignore_case && text.substr(at + 1, 2) == "\xC5\xBF") return 3;
  return 0;
}

// \s+(?!\S)|\s+   `at` is on white space.
size_t spaces(std::string_view text, size_t at) {
  size_t end = at, last = at;
  for (Char c = char_at(text, end); c.space(); c = char_at(text, end)) {
    last = end;
    end += c.bytes;
  }
  return end == text.size() || last == at ? end : last;
}

// \s*[\r\n]+|\s+(?!\S)|\s+   `at` is on white space.
size_t spaces_or_lines(std::string_view text, size_t at) {
  size_t after_line = 0;
  size_t end = at;
  for (Char c = char_at(text, end); c.space(); c = char_at(text, end)) {
    end += c.bytes;
    if (c.newline()) after_line = end;
  }
  return after_line ? after_line : spaces(text, at);
}

// Calls sink.piece for each match of `next`, which gives the end of the match that begins at its position.
template <class Next>
void split_all(std::string_view text, PieceSink& sink, Next next) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = next(text, at);
    sink.piece(text.substr(at, end - at));
    at = end;
  }
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t next_gpt2(std::string_view text, size_t at) {
  if (const size_t n = contraction(text, at, false)) return at + n;
  Char c = char_at(text, at);
  size_t start = at;
  if (c.code == ' ') {
    const Char after = char_at(text, at + 1);
    if (!after || after.space()) return spaces(text, at);
    start = at + 1;
    c = after;
  }
  if (c.letter()) return run(text, start, letters);
  if (c.number()) return run(text, start, numbers);
  if (c.space()) return spaces(text, at);
  return run(text, start, others);
}

void split_gpt2(std::string_view text, PieceSink& sink) { split_all(text, sink, next_gpt2); }

// \p{N} alone first, then the expression of GPT-2 inside what lies between.
void split_digits_gpt2(std::string_view text, PieceSink& sink) {
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    size_t end = at + c.bytes;
    if (c.number()) {
      sink.piece(text.substr(at, c.bytes));
    } else {
      end = run(text, at, [](const Char& x) { return !x.number(); });
      split_gpt2(text.substr(at, end - at), sink);
    }
    at = end;
  }
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|
// \s*[\r\n]+|\s+(?!\S)|\s+   With `marks`, \p{M} counts as a letter but for the optional character in front.
template <size_t digits, bool marks>
size_t next_llama3(std::string_view text, size_t at) {
  const auto word = [](const Char& c) { return c.letter() || (marks && c.mark()); };
  const auto rest = [](const Char& c) { return others(c) && !(marks && c.mark()); };
  if (const size_t n = contraction(text, at, true)) return at + n;
  const Char c = char_at(text, at);
  if (word(c)) return run(text, at, word);
  if (c.number()) return run(text, at, numbers, digits);
  const Char after = char_at(text, at + c.bytes);
  if (!c.newline() && word(after)) return run(text, at + c.bytes, word);
  if (!c.space()) return run(text, run(text, at, rest), newlines);
  if (c.code == ' ' && after && rest(after)) return run(text, run(text, at + 1, rest), newlines);
  return spaces_or_lines(text, at);
}

void split_llama3(std::string_view text, PieceSink& sink) { split_all(text, sink, next_llama3<3, false>); }
void split_qwen2(std::string_view text, PieceSink& sink) { split_all(text, sink, next_llama3<1, false>); }
void split_qwen35(std::string_view text, PieceSink& sink) { split_all(text, sink, next_llama3<1, true>); }

const auto upper_part = [](const Char& c) {
  return c.bytes && is_letter(c.kind) ? c.kind != CharClass::lower_letter : c.mark();
};
const auto lower_part = [](const Char& c) {
  return c.bytes && is_letter(c.kind) ? c.kind != CharClass::upper_letter && c.kind != CharClass::title_letter
                                      : c.mark();
};

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+   0 for no match. The second class takes back
// from the first, which has classes in common with it.
size_t cased_word(std::string_view text, size_t at) {
  size_t end = at, after_last_lower = 0;
  for (Char c = char_at(text, end); c && upper_part(c); c = char_at(text, end)) {
    end += c.bytes;
    if (lower_part(c)) after_last_lower = end;
  }
  const size_t lower_end = run(text, end, lower_part);
  return lower_end > end ? lower_end : after_last_lower;
}

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*   0 for no match.
size_t capital_word(std::string_view text, size_t at) {
  const size_t end = run(text, at, upper_part);
  return end == at ? 0 : run(text, end, lower_part);
}

// [^\r\n\p{L}\p{N}]?cased_word|[^\r\n\p{L}\p{N}]?capital_word, each with (?i:'s|'t|'re|'ve|'m|'ll|'d)? if
// `contractions`, then |\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <size_t digits, bool contractions>
size_t next_o200k(std::string_view text, size_t at) {
  const Char c = char_at(text, at);
  const bool prefix = !c.newline() && !c.letter() && !c.number();
  for (const auto word : {cased_word, capital_word}) {
    size_t end = prefix ? word(text, at + c.bytes) : 0;
    if (!end) end = word(text, at);
    if (end) return end + (contractions ? contraction(text, end, true) : 0);
  }
  if (c.number()) return run(text, at, numbers, digits);
  const auto tail = [](const Char& x) { return x.newline() || x.code == '/'; };
  const Char after = char_at(text, at + c.bytes);
  if (others(c)) return run(text, run(text, at, others), tail);
  if (c.code == ' ' && after && others(after)) return run(text, run(text, at + 1, others), tail);
  return spaces_or_lines(text, at);
}

void split_o200k(std::string_view text, PieceSink& sink) { split_all(text, sink, next_o200k<3, true>); }
void split_tekken(std::string_view text, PieceSink& sink) { split_all(text, sink, next_o200k<1, false>); }

bool is_cjk(const Char& c) {
  return (c.code >= 0x4E00 && c.code <= 0x9FA5) || (c.code >= 0x3040 && c.code <= 0x30FF);
}

// [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
// ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ `at` itself for no match.
size_t match_deepseek(std::string_view text, size_t at) {
  const auto ascii_letter = [](const Char& c) {
    return (c.code | 32) >= 'a' && (c.code | 32) <= 'z' && c.code < 128;
  };
  const auto word = [](const Char& c) { return c.letter() || c.mark(); };
  const auto symbols = [](const Char& c) { return c.symbol(); };
  const Char c = char_at(text, at);
  const Char after = char_at(text, at + c.bytes);
  if (c.code > 32 && c.code < 127 && c.symbol() && after && ascii_letter(after))
    return run(text, at + 1, ascii_letter);
  if (!c.newline() && !c.letter() && !c.symbol() && word(after)) return run(text, at + c.bytes, word);
  if (word(c)) return run(text, at, word);
  if (c.symbol()) return run(text, run(text, at, symbols), newlines);
  if (c.code == ' ' && after.symbol()) return run(text, run(text, at + 1, symbols), newlines);
  return c.space() ? spaces_or_lines(text, at) : at;
}

void split_deepseek_words(std::string_view text, PieceSink& sink) {
  size_t gap = 0;  // start of text that no alternative has matched
  for (size_t at = 0; at < text.size();) {
    const size_t end = match_deepseek(text, at);
    if (end == at) {
      at += char_at(text, at).bytes;
      continue;
    }
    if (gap < at) sink.piece(text.substr(gap, at - gap));
    sink.piece(text.substr(at, end - at));
    gap = at = end;
  }
  if (gap < text.size()) sink.piece(text.substr(gap));
}

// \p{N}{1,3} first, then runs of Chinese and Japanese, then the words of what lies between.
void split_deepseek3(std::string_view text, PieceSink& sink) {
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text, at);
    size_t end;
    if (c.number()) {
      end = run(text, at, numbers, 3);
      split_deepseek_words(text.substr(at, end - at), sink);
    } else if (is_cjk(c)) {
      end = run(text, at, is_cjk);
      split_deepseek_words(text.substr(at, end - at), sink);
    } else {
      end = run(text, at, [](const Char& x) { return !x.number() && !is_cjk(x); });
      split_deepseek_words(text.substr(at, end - at), sink);
    }
    at = end;
  }
}

constexpr PreTokenizer known[] = {
    {"gpt-2", "gpt2", split_gpt2, false, false},
    {"phi-2", "gpt2", split_gpt2, false, false},
    {"mpt", "gpt2", split_gpt2, false, false},
    {"olmo", "gpt2", split_gpt2, false, false},
    {"roberta-bpe", "gpt2", split_gpt2, false, false},
    {"smollm", "digits-gpt2", split_digits_gpt2, false, false},
    {"starcoder", "digits-gpt2", split_digits_gpt2, false, false},
    {"refact", "digits-gpt2", split_digits_gpt2, false, false},
    {"codeshell", "digits-gpt2", split_digits_gpt2, false, false},
    {"exaone", "digits-gpt2", split_digits_gpt2, false, false},
    {"minerva-7b", "digits-gpt2", split_digits_gpt2, false, false},
    {"llama3", "llama3", split_llama3, true, true},
    {"llama-v3", "llama3", split_llama3, true, true},
    {"llama-bpe", "llama3", split_llama3, true, true},
    {"falcon3", "llama3", split_llama3, true, true},
    {"lfm2", "llama3", split_llama3, true, true},
    {"dbrx", "llama3", split_llama3, false, false},
    {"smaug-bpe", "llama3", split_llama3, false, false},
    {"qwen2", "qwen2", split_qwen2, false, false},
    {"deepseek-r1-qwen", "qwen2", split_qwen2, false, false},
    {"stablelm2", "qwen2", split_qwen2, false, false},
    {"megrez", "qwen2", split_qwen2, false, false},
    {"qwen35", "qwen35", split_qwen35, false, false},
    {"gpt-4o", "o200k", split_o200k, false, false},
    {"llama4", "o200k", split_o200k, false, false},
    {"tekken", "tekken", split_tekken, true, true},
    {"deepseek-v3", "deepseek-v3", split_deepseek3, false, false},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizer& entry : known)
    if (name == entry.name) return &entry;
  return nullptr;
}

}  // namespace ruda::text
