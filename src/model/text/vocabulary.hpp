// src/model/text/vocabulary.hpp - the tokens of a file: text, type, score, look-up by text, special tokens in
// text.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/gguf.hpp"

#include <bitset>
#include <string_view>
#include <vector>

namespace ruda {
struct StopSign;
}

namespace ruda::text {

// Steps of long work between two looks at what stops the call.
constexpr size_t look_every = 4096;

enum class TokenType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6,
};

// Texts point into the file.
class Vocabulary {
 public:
  // Reads tokenizer.ggml.tokens, token_type and scores; RUDA_E_FORMAT when their lengths differ.
  explicit Vocabulary(const store::GgufFile& file);

  int32_t size() const { return int32_t(texts_.size()); }
  std::string_view text(int32_t token) const { return texts_[size_t(token)]; }
  TokenType type(int32_t token) const { return types_[size_t(token)]; }
  float score(int32_t token) const { return scores_.empty() ? 0.0f : scores_[size_t(token)]; }
  bool has_scores() const { return !scores_.empty(); }
  // Control tokens and the unknown token: they carry no text of their own.
  bool is_special(int32_t token) const {
    return type(token) == TokenType::control || type(token) == TokenType::unknown;
  }
  // -1 when absent; the lowest number when a text stands more than once.
  int32_t find(std::string_view text) const;

 private:
  uint64_t slot_of(std::string_view text) const;

  std::vector<std::string_view> texts_;
  std::vector<TokenType> types_;
  std::vector<float> scores_;
  std::vector<int32_t> slots_;  // open addressing; -1 = free
  uint64_t seed_ = 0;
};

// Finds tokens that are matched in raw text before it is split: leftmost, and of those the longest.
class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  struct Match {
    size_t at;
    size_t bytes;
    int32_t token;  // -1: none up to the end of the text
  };
  // With `control` also control and unknown tokens are matched, else only those of the user-defined type.
  Match next(std::string_view text, size_t from, bool control, const StopSign& stop) const;

 private:
  struct Entry {
    std::string_view text;
    int32_t token;
    bool control;
  };
  std::vector<Entry> entries_;  // sorted by text
  std::bitset<256> first_;      // bytes that begin one
};

}  // namespace ruda::text
