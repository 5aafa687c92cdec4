// src/model/text/spm.hpp - SentencePiece-style merging by score, with bytes for characters that are no token.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/text/vocabulary.hpp"

#include <array>
#include <string>

namespace ruda::text {

class ScoredPieces {
 public:
  ScoredPieces(const Vocabulary& vocabulary, int32_t unknown_token);

  // Appends the tokens of `text`, whose spaces are written as U+2581 first. The pair whose joined text is the
  // token of the highest score is merged first, leftmost on ties. Time n log n in the bytes of the text.
  void encode(std::string_view text, bool space_prefix, std::vector<int32_t>& out,
              const StopSign& stop) const;
  // Byte of a token such as <0x0A>, -1 for others.
  int byte_of(int32_t token) const;

 private:
  const Vocabulary& vocabulary_;
  int32_t unknown_;
  std::array<int32_t, 256> byte_token_{};
  size_t longest_ = 0;  // bytes of the longest token
};

// Appends the text of a token with U+2581 as a space.
void append_unescaped(std::string& out, std::string_view text);

}  // namespace ruda::text
