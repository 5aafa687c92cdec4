// src/model/text/tokenizer.cpp - loading from metadata, encoding around special tokens, decoding, streaming.
// SPDX-License-Identifier: Apache-2.0
#include "model/text/tokenizer.hpp"

#include "model/text/unicode.hpp"
#include "store/meta.hpp"
#include "core/text.hpp"

namespace ruda::text {
namespace {

// What a session gives for one token is at most 1024 bytes: this, and the replacement character for an
// unfinished one before it.
constexpr size_t max_token_bytes = 1020;

class BpeSink : public PieceSink {
 public:
  BpeSink(const BytePairs& pairs, const Vocabulary* words, std::vector<int32_t>& out, const StopSign& stop)
      : pairs_(pairs), words_(words), out_(out), stop_(stop) {}
  void piece(std::string_view bytes) override {
    stop_.check();
    if (words_) {
      const int32_t token = pairs_.whole(bytes, *words_);
      if (token >= 0) return out_.push_back(token);
    }
    pairs_.encode(bytes, out_, stop_);
  }

 private:
  const BytePairs& pairs_;
  const Vocabulary* words_;
  std::vector<int32_t>& out_;
  const StopSign& stop_;
};

}  // namespace

Tokenizer::Tokenizer(Ref<store::Store> store)
    : store_(std::move(store)), vocabulary_(store_->gguf()), special_(vocabulary_) {
  const store::GgufFile& file = store_->gguf();
  const auto model = store::meta_text(file, "tokenizer.ggml.model");
  RUDA_CHECK(model, RUDA_E_NOT_FOUND, 0, "tokenizer: the file has no key tokenizer.ggml.model");
  bos_ = special_token("tokenizer.ggml.bos_token_id");
  eos_ = special_token("tokenizer.ggml.eos_token_id");
  unknown_ = special_token("tokenizer.ggml.unknown_token_id");
  padding_ = special_token("tokenizer.ggml.padding_token_id");
  eot_ = special_token("tokenizer.ggml.eot_token_id");
  eom_ = special_token("tokenizer.ggml.eom_token_id");
  bool default_bos = false;
  if (*model == "gpt2") {
    const auto pre = store::meta_text(file, "tokenizer.ggml.pre");
    RUDA_CHECK(pre, RUDA_E_UNSUPPORTED, 0,
               "tokenizer: the file has no key tokenizer.ggml.pre, so how text is split is not known");
    pre_ = find_pre_tokenizer(*pre);
    RUDA_CHECK(pre_, RUDA_E_UNSUPPORTED, 0, "tokenizer: tokenizer.ggml.pre is %s, which is not known",
               in_quotes(*pre).c_str());
    bpe_.emplace(file, vocabulary_);
    default_bos = pre_->add_bos;
  } else if (*model == "llama") {
    RUDA_CHECK(vocabulary_.has_scores(), RUDA_E_NOT_FOUND, 0,
               "tokenizer: a llama tokenizer needs the key tokenizer.ggml.scores");
    spm_.emplace(vocabulary_, unknown_);
    space_prefix_ = store::meta_flag(file, "tokenizer.ggml.add_space_prefix").value_or(true);
    default_bos = true;
  } else {
    fail(RUDA_E_UNSUPPORTED, 0, "tokenizer: tokenizer.ggml.model is %s, expected \"gpt2\" or \"llama\"",
         in_quotes(*model).c_str());
  }
  const auto add_bos = store::meta_flag(file, "tokenizer.ggml.add_bos_token");
  const auto add_eos = store::meta_flag(file, "tokenizer.ggml.add_eos_token");
  RUDA_CHECK(!add_bos.value_or(false) || bos_ >= 0, RUDA_E_FORMAT, 0,
             "tokenizer: add_bos_token is true, but there is no bos_token_id");
  RUDA_CHECK(!add_eos.value_or(false) || eos_ >= 0, RUDA_E_FORMAT, 0,
             "tokenizer: add_eos_token is true, but there is no eos_token_id");
  add_bos_ = add_bos.value_or(default_bos) && bos_ >= 0;
  add_eos_ = add_eos.value_or(false);
  check_lengths();
}

void Tokenizer::check_lengths() const {
  constexpr size_t widest = 3;  // bytes of the replacement character, for one byte that is not UTF-8
  std::string bytes;
  for (int32_t token = 0; token < vocabulary_.size(); ++token) {
    if (vocabulary_.text(token).size() * widest <= max_token_bytes) continue;
    bytes.clear();
    append_token(bytes, token, RUDA_DECODE_SKIP_SPECIAL);
    const size_t found = repair_utf8(bytes).size();
    RUDA_CHECK(found <= max_token_bytes, RUDA_E_FORMAT, 0,
               "tokenizer: token %d has %zu bytes of text, at most %zu are allowed", token, found,
               max_token_bytes);
  }
}

int32_t Tokenizer::special_token(const char* key) const {
  const auto value = store::meta_int(store_->gguf(), key);
  if (!value) return -1;
  RUDA_CHECK(*value >= 0 && *value < vocabulary_.size(), RUDA_E_FORMAT, 0,
             "tokenizer: %s is %lld, the vocabulary has %d tokens", key, static_cast<long long>(*value),
             vocabulary_.size());
  return int32_t(*value);
}

bool Tokenizer::is_end(int32_t token) const {
  return token >= 0 && (token == eos_ || token == eot_ || token == eom_);
}

void Tokenizer::check_token(int32_t token, int arg) const {
  RUDA_CHECK(token >= 0 && token < vocabulary_.size(), RUDA_E_INDEX, arg,
             "token is %d, the vocabulary has %d", token, vocabulary_.size());
}

void Tokenizer::encode_plain(std::string_view text, bool prefix, std::vector<int32_t>& out,
                             const StopSign& stop) const {
  if (text.empty()) return;
  if (spm_) return spm_->encode(text, prefix && space_prefix_, out, stop);
  BpeSink sink(*bpe_, pre_->whole_words ? &vocabulary_ : nullptr, out, stop);
  pre_->split(text, sink);
}

void Tokenizer::encode(std::string_view text, uint32_t flags, std::vector<int32_t>& out,
                       const StopSign& stop) const {
  RUDA_CHECK(text.size() <= size_t(INT32_MAX) / 4, RUDA_E_ARGUMENT, 2,
             "text has %zu bytes, at most %d are allowed", text.size(), INT32_MAX / 4);
  const bool add_special = flags & RUDA_ENCODE_ADD_SPECIAL;
  if (add_special && add_bos_) out.push_back(bos_);
  bool prefix = true;  // at the start and after a special token
  for (size_t at = 0; at < text.size();) {
    const auto match = special_.next(text, at, flags & RUDA_ENCODE_PARSE_SPECIAL, stop);
    encode_plain(text.substr(at, match.at - at), prefix, out, stop);
    if (match.token >= 0) out.push_back(match.token);
    at = match.at + match.bytes;
    prefix = true;
  }
  if (add_special && add_eos_) out.push_back(eos_);
}

void Tokenizer::append_token(std::string& out, int32_t token, uint32_t flags) const {
  check_token(token, 1);
  const std::string_view text = vocabulary_.text(token);
  if (vocabulary_.is_special(token)) {
    if (!(flags & RUDA_DECODE_SKIP_SPECIAL)) out += text;
  } else if (vocabulary_.type(token) == TokenType::user_defined) {
    out += text;
  } else if (spm_) {
    const int byte = spm_->byte_of(token);
    if (byte >= 0)
      out += char(byte);
    else
      append_unescaped(out, text);
  } else if (!append_bytes(out, text)) {
    out += text;  // not written in the byte alphabet, so it is plain text
  }
}

std::string Tokenizer::decode(std::span<const int32_t> tokens, uint32_t flags) const {
  std::string out;
  for (const int32_t token : tokens) append_token(out, token, flags);
  if (space_prefix_ && !out.empty() && out[0] == ' ') out.erase(0, 1);
  return flags & RUDA_DECODE_RAW ? out : repair_utf8(out);
}

std::string TextStream::push(const Tokenizer& tokenizer, int32_t token) {
  std::string text = pending_;
  tokenizer.append_token(text, token, flags_);
  if (!started_ && !text.empty()) {
    if (tokenizer.strips_space() && text[0] == ' ') text.erase(0, 1);
    started_ = true;
  }
  if (flags_ & RUDA_DECODE_RAW) return text;
  const size_t kept = incomplete_tail(text);
  pending_ = text.substr(text.size() - kept);
  text.resize(text.size() - kept);
  return repair_utf8(text);
}

std::string TextStream::flush() {
  std::string rest = repair_utf8(pending_);
  pending_.clear();
  return rest;
}

std::string TextStream::finish() {
  started_ = false;
  return flush();
}

}  // namespace ruda::text
