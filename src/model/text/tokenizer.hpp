// src/model/text/tokenizer.hpp - text to tokens and back, as the metadata of a GGUF file describes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/handle.hpp"
#include "model/text/bpe.hpp"
#include "model/text/pretokenize.hpp"
#include "model/text/spm.hpp"
#include "model/text/vocabulary.hpp"
#include "plan/op.hpp"
#include "store/store.hpp"

#include <ruda/model.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ruda::jinja {
class Template;
}

namespace ruda::text {

// Immutable after construction; every method may be called from any thread.
class Tokenizer : public Object {
 public:
  static constexpr Kind kind = Kind::tokenizer;

  explicit Tokenizer(Ref<store::Store> store);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const store::Store& store() const { return *store_; }
  // -1 where the file names none.
  int32_t bos() const { return bos_; }
  int32_t eos() const { return eos_; }
  int32_t unknown() const { return unknown_; }
  int32_t padding() const { return padding_; }
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }
  const char* model_name() const { return bpe_ ? "gpt2" : "llama"; }
  const char* pre_name() const { return pre_ ? pre_->name : ""; }
  // Generation stops at these: end of sequence, of turn, of message.
  bool is_end(int32_t token) const;

  // `flags` are RUDA_ENCODE_*. RUDA_E_ARGUMENT for text of 2 GiB or more. `stop` is looked at meanwhile.
  void encode(std::string_view text, uint32_t flags, std::vector<int32_t>& out,
              const StopSign& stop = {}) const;
  // `flags` are RUDA_DECODE_*; the result is valid UTF-8 unless RUDA_DECODE_RAW is set.
  std::string decode(std::span<const int32_t> tokens, uint32_t flags) const;
  // Bytes of one token as decode gives them inside a text; RUDA_E_INDEX for a number outside the vocabulary.
  void append_token(std::string& out, int32_t token, uint32_t flags) const;
  // One leading space belongs to the encoding, not to the text.
  bool strips_space() const { return space_prefix_; }
  void check_token(int32_t token, int arg) const;
  // The chat template of the file, parsed once; RUDA_E_NOT_FOUND when it has none of that name.
  std::shared_ptr<const jinja::Template> chat_template(std::string_view name) const;

 private:
  void encode_plain(std::string_view text, bool prefix, std::vector<int32_t>& out,
                    const StopSign& stop) const;
  int32_t special_token(const char* key) const;
  // RUDA_E_FORMAT for a token whose text is longer than a caller's buffer has room for.
  void check_lengths() const;

  Ref<store::Store> store_;
  Vocabulary vocabulary_;
  SpecialTokens special_;
  const PreTokenizer* pre_ = nullptr;
  std::optional<BytePairs> bpe_;
  std::optional<ScoredPieces> spm_;
  int32_t bos_ = -1, eos_ = -1, unknown_ = -1, padding_ = -1, eot_ = -1, eom_ = -1;
  bool add_bos_ = false, add_eos_ = false, space_prefix_ = false;
  mutable std::shared_ptr<const jinja::Template> template_;
  mutable std::string template_key_;
};

// Decodes token by token and keeps back bytes that are not yet a whole character.
class TextStream {
 public:
  explicit TextStream(uint32_t flags = 0) : flags_(flags) {}
  // What has become certain; may be empty.
  std::string push(const Tokenizer& tokenizer, int32_t token);
  // The rest: bytes kept back become one replacement character. The text may go on.
  std::string flush();
  // The rest, and the next token begins a text.
  std::string finish();
  std::string_view pending() const { return pending_; }
  // To carry the state in a plain struct.
  TextStream(uint32_t flags, std::string_view pending, bool started)
      : flags_(flags), pending_(pending), started_(started) {}
  bool started() const { return started_; }

 private:
  uint32_t flags_;
  std::string pending_;
  bool started_ = false;
};

}  // namespace ruda::text
