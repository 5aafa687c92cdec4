// src/model/text/pretokenize.hpp - splits text into the pieces that byte-pair merging never crosses.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace ruda::text {

// Receives the pieces in order; together they are the whole text.
class PieceSink {
 public:
  virtual void piece(std::string_view bytes) = 0;

 protected:
  ~PieceSink() = default;
};

struct PreTokenizer {
  const char* name;    // as tokenizer.ggml.pre has it
  const char* family;  // which regular expression
  void (*split)(std::string_view text, PieceSink& sink);
  bool whole_words;  // a piece that is a token is taken as such, whatever the merges say
  bool add_bos;      // where the file does not say
};

// nullptr for an unknown name: a wrong guess would give wrong tokens without a sign of it.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace ruda::text
