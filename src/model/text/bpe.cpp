// src/model/text/bpe.cpp - ranked merging with a heap over a linked list of symbols.
// SPDX-License-Identifier: Apache-2.0
#include "model/text/bpe.hpp"

#include "core/error.hpp"
#include "model/text/hash.hpp"
#include "model/text/merge_pairs.hpp"
#include "model/text/unicode.hpp"
#include "store/meta.hpp"
#include "core/text.hpp"

#include <bit>

namespace ruda::text {
namespace {

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Alphabet {
  std::array<uint16_t, 256> code{};
  std::array<int16_t, 512> byte{};  // by code point; -1 = not of the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet out;
  out.byte.fill(-1);
  uint16_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    out.code[b] = stands_for_itself(b) ? uint16_t(b) : next++;
    out.byte[out.code[b]] = int16_t(b);
  }
  return out;
}
constexpr Alphabet alphabet = make_alphabet();

uint64_t pair_key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

struct Symbol {
  int32_t token;
  uint32_t previous, next;
};

// A merge that was possible when it was queued; stale when a neighbour has changed since.
struct Candidate {
  uint32_t rank;
  uint32_t left, right;  // symbols
  int32_t left_token, right_token, token;
  bool operator<(const Candidate& other) const {  // std heaps keep the largest in front
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

}  // namespace

uint32_t code_of_byte(uint8_t byte) { return alphabet.code[byte]; }

bool append_bytes(std::string& out, std::string_view text) {
  const size_t before = out.size();
  for (size_t at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text.substr(at));
    if (!d.valid || d.code >= alphabet.byte.size() || alphabet.byte[d.code] < 0) {
      out.resize(before);
      return false;
    }
    out += char(alphabet.byte[d.code]);
    at += d.bytes;
  }
  return true;
}

BytePairs::BytePairs(const store::GgufFile& file, const Vocabulary& vocabulary) {
  for (uint32_t b = 0; b < 256; ++b) {
    std::string letter;
    append_utf8(letter, alphabet.code[b]);
    byte_token_[b] = vocabulary.find(letter);
  }
  const store::MetaEntry* entry = store::meta_array(file, "tokenizer.ggml.merges", store::MetaType::string);
  RUDA_CHECK(entry, RUDA_E_NOT_FOUND, -1, "tokenizer: the file has no key tokenizer.ggml.merges");
  RUDA_CHECK(entry->count <= (1U << 26), RUDA_E_FORMAT, -1,
             "tokenizer: tokenizer.ggml.merges has %llu entries, at most %u are allowed",
             static_cast<unsigned long long>(entry->count), 1U << 26);
  seed_ = hash_seed(this);
  merges_.resize(std::bit_ceil(size_t(entry->count) * 2 + 2));
  store::MetaStrings strings(*entry);
  std::string joined;
  uint32_t rank = 0;
  for (std::string_view text; strings.next(text); ++rank) {
    const size_t space = text.find(' ', 1);
    RUDA_CHECK(space != text.npos && space + 1 < text.size(), RUDA_E_FORMAT, -1,
               "tokenizer: merge %u is %s, expected two tokens with a space between", rank,
               ruda::in_quotes(text).c_str());
    joined.assign(text.substr(0, space));
    joined += text.substr(space + 1);
    const int32_t left = vocabulary.find(text.substr(0, space));
    const int32_t right = vocabulary.find(text.substr(space + 1));
    const int32_t token = vocabulary.find(joined);
    RUDA_CHECK(left >= 0 && right >= 0 && token >= 0, RUDA_E_FORMAT, -1,
               "tokenizer: merge %u %s: its %s is not a token of the vocabulary", rank,
               ruda::in_quotes(text).c_str(),
               left < 0    ? "left half"
               : right < 0 ? "right half"
                           : "result");
    const uint64_t pair = pair_key(left, right);
    uint64_t slot = hash_word(pair, seed_) & (merges_.size() - 1);
    while (merges_[slot].pair != free_pair && merges_[slot].pair != pair)
      slot = (slot + 1) & (merges_.size() - 1);
    if (merges_[slot].pair == free_pair)
      merges_[slot] = {pair, rank, token};  // the first of equal merges counts
  }
}

const BytePairs::Merge* BytePairs::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_key(left, right);
  uint64_t slot = hash_word(pair, seed_) & (merges_.size() - 1);
  for (; merges_[slot].pair != free_pair; slot = (slot + 1) & (merges_.size() - 1))
    if (merges_[slot].pair == pair) return &merges_[slot];
  return nullptr;
}

int32_t BytePairs::whole(std::string_view piece, const Vocabulary& vocabulary) const {
  std::string letters;
  letters.reserve(piece.size() * 2);
  for (const char c : piece) append_utf8(letters, alphabet.code[static_cast<unsigned char>(c)]);
  return vocabulary.find(letters);
}

void BytePairs::encode(std::string_view piece, std::vector<int32_t>& out, const StopSign& stop) const {
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (const char c : piece) {
    const int32_t token = byte_token_[static_cast<unsigned char>(c)];
    if (token < 0) continue;
    const auto at = uint32_t(symbols.size());
    symbols.push_back({token, at ? at - 1 : no_symbol, at + 1});
  }
  if (symbols.empty()) return;
  symbols.back().next = no_symbol;

  const auto candidate = [&](uint32_t left, uint32_t right, Candidate& out) {
    const Merge* merge = find(symbols[left].token, symbols[right].token);
    if (merge) out = {merge->rank, left, right, symbols[left].token, symbols[right].token, merge->token};
    return merge != nullptr;
  };
  merge_pairs<Candidate>(symbols, stop, candidate, [](Symbol& left, Symbol& right, const Candidate& best) {
    if (left.token != best.left_token || right.token != best.right_token || left.next != best.right)
      return false;
    left.token = best.token;
    right.token = -1;
    return true;
  });
  for (uint32_t i = 0; i != no_symbol; i = symbols[i].next) out.push_back(symbols[i].token);
}

}  // namespace ruda::text
