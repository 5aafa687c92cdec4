// src/model/text/spm.cpp - scored merging with a heap over a linked list of symbols.
// SPDX-License-Identifier: Apache-2.0
#include "model/text/spm.hpp"

#include "model/text/merge_pairs.hpp"
#include "model/text/unicode.hpp"

#include <algorithm>
#include <cstdio>

namespace ruda::text {
namespace {

constexpr std::string_view space_mark = "\xE2\x96\x81";  // U+2581

struct Symbol {
  uint32_t at, bytes;  // in the escaped text; bytes 0 = merged away
  uint32_t previous, next;
};

struct Candidate {
  float score;
  uint32_t left, right;  // symbols
  uint32_t bytes;        // of both: stale when either has grown since
  bool operator<(const Candidate& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

std::string escaped(std::string_view text, bool space_prefix) {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + 3);
  if (space_prefix) out += space_mark;
  for (const char c : text) {
    if (c == ' ')
      out += space_mark;
    else
      out += c;
  }
  return out;
}

}  // namespace

ScoredPieces::ScoredPieces(const Vocabulary& vocabulary, int32_t unknown_token)
    : vocabulary_(vocabulary), unknown_(unknown_token) {
  for (unsigned b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    const int32_t token = vocabulary.find(name);
    byte_token_[b] = token >= 0 && vocabulary.type(token) == TokenType::byte ? token : -1;
  }
  for (int32_t i = 0; i < vocabulary.size(); ++i) longest_ = std::max(longest_, vocabulary.text(i).size());
}

int ScoredPieces::byte_of(int32_t token) const {
  if (vocabulary_.type(token) != TokenType::byte) return -1;
  const auto at = std::find(byte_token_.begin(), byte_token_.end(), token);
  return at == byte_token_.end() ? -1 : int(at - byte_token_.begin());
}

void ScoredPieces::encode(std::string_view text, bool space_prefix, std::vector<int32_t>& out,
                          const StopSign& stop) const {
  const std::string whole = escaped(text, space_prefix);
  const std::string_view view = whole;
  std::vector<Symbol> symbols;
  for (uint32_t at = 0; at < view.size();) {
    const uint32_t bytes = decode_utf8(view.substr(at)).bytes;
    const auto i = uint32_t(symbols.size());
    if (i % look_every == 0) stop.check();
    symbols.push_back({at, bytes, i ? i - 1 : no_symbol, i + 1});
    at += bytes;
  }
  if (symbols.empty()) return;
  symbols.back().next = no_symbol;

  const auto candidate = [&](uint32_t left, uint32_t right, Candidate& best) {
    const uint32_t bytes = symbols[left].bytes + symbols[right].bytes;
    if (bytes > longest_) return false;
    const int32_t token = vocabulary_.find(view.substr(symbols[left].at, bytes));
    if (token >= 0) best = {vocabulary_.score(token), left, right, bytes};
    return token >= 0;
  };
  merge_pairs<Candidate>(symbols, stop, candidate, [](Symbol& left, Symbol& right, const Candidate& best) {
    if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != best.bytes) return false;
    left.bytes = best.bytes;
    right.bytes = 0;
    return true;
  });
  for (uint32_t i = 0; i != no_symbol; i = symbols[i].next) {
    const std::string_view piece = view.substr(symbols[i].at, symbols[i].bytes);
    if (const int32_t token = vocabulary_.find(piece); token >= 0) {
      out.push_back(token);
      continue;
    }
    for (const char c : piece) {
      const int32_t byte = byte_token_[static_cast<unsigned char>(c)];
      if (byte >= 0) {
        out.push_back(byte);
      } else {
        if (unknown_ >= 0) out.push_back(unknown_);
        break;  // one unknown token stands for the whole character
      }
    }
  }
}

void append_unescaped(std::string& out, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, space_mark.size()) == space_mark) {
      out += ' ';
      at += space_mark.size();
    } else {
      out += text[at++];
    }
  }
}

}  // namespace ruda::text
