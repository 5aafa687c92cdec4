// src/model/text/bpe.hpp - byte-pair merging of one piece of text, and the byte alphabet it is written in.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/text/vocabulary.hpp"

#include <array>
#include <string>

namespace ruda::text {

// Byte-level BPE: bytes are letters of a printable alphabet; the pair of lowest rank is merged first,
// leftmost on ties.
class BytePairs {
 public:
  // Reads tokenizer.ggml.merges; RUDA_E_FORMAT when one names a token that the vocabulary lacks.
  BytePairs(const store::GgufFile& file, const Vocabulary& vocabulary);

  // Appends the tokens of `piece`. Bytes that are no token of the vocabulary are left out, as the reference
  // does. Time n log n in the bytes of the piece; `stop` is looked at meanwhile.
  void encode(std::string_view piece, std::vector<int32_t>& out, const StopSign& stop) const;
  // Token of the whole piece or -1.
  int32_t whole(std::string_view piece, const Vocabulary& vocabulary) const;

 private:
  struct Merge {
    uint64_t pair = free_pair;
    uint32_t rank = 0;
    int32_t token = -1;
  };
  static constexpr uint64_t free_pair = ~uint64_t{0};
  const Merge* find(int32_t left, int32_t right) const;

  std::array<int32_t, 256> byte_token_{};
  std::vector<Merge> merges_;  // open addressing
  uint64_t seed_ = 0;
};

// The printable alphabet: 188 bytes stand for themselves, the others for code points from 256.
uint32_t code_of_byte(uint8_t byte);
// Appends the bytes that `text` stands for; false, and nothing appended, when a character is not of the
// alphabet.
bool append_bytes(std::string& out, std::string_view text);

}  // namespace ruda::text
