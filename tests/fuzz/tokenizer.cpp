// tests/fuzz/tokenizer.cpp - encodes random bytes with each family of splits, and reads tokenizers from
// random metadata.
// SPDX-License-Identifier: Apache-2.0
#include <ruda/model.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

class File {
 public:
  explicit File(uint64_t keys) {
    bytes_ = "GGUF";
    number<uint32_t>(3);
    number<uint64_t>(0);
    number<uint64_t>(keys);
  }
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& value) {
    number<uint64_t>(value.size());
    bytes_ += value;
  }
  void key_text(const char* key, const std::string& value) {
    text(key);
    number<uint32_t>(8);
    text(value);
  }
  void key_texts(const char* key, const std::vector<std::string>& values) {
    text(key);
    number<uint32_t>(9);
    number<uint32_t>(8);
    number<uint64_t>(values.size());
    for (const std::string& value : values) text(value);
  }
  template <class T>
  void key_numbers(const char* key, uint32_t element, const std::vector<T>& values) {
    text(key);
    number<uint32_t>(9);
    number<uint32_t>(element);
    number<uint64_t>(values.size());
    for (const T value : values) number(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string letter(unsigned byte) {
  static const std::vector<unsigned> codes = [] {
    std::vector<unsigned> made(256);
    unsigned next = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      made[b] = itself ? b : next++;
    }
    return made;
  }();
  const unsigned code = codes[byte];
  if (code < 0x80) return {char(code)};
  return {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
}

// Takes the file's bytes over; null when they are refused.
ruda_tokenizer open(const std::string& file) {
  ruda_store store = nullptr;
  ruda_tokenizer tokenizer = nullptr;
  char* copy = static_cast<char*>(std::malloc(file.size() + 1));
  std::memcpy(copy, file.data(), file.size());
  const ruda_free_fn give_back = [](void*, void* data) { std::free(data); };
  if (ruda_store_open_memory(copy, file.size(), nullptr, give_back, nullptr, &store)) {
    std::free(copy);
    return nullptr;
  }
  const ruda_status status = ruda_tokenizer_from_store(store, nullptr, &tokenizer);
  if ((status == RUDA_OK) != (tokenizer != nullptr) || status == RUDA_E_INTERNAL) std::abort();
  ruda_release(store);
  return tokenizer;
}

ruda_tokenizer make(const char* pre) {
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types(256, 1);
  for (unsigned b = 0; b < 256; ++b) tokens.push_back(letter(b));
  const auto merge = [&](const std::string& a, const std::string& b) {
    merges.push_back(a + " " + b);
    tokens.push_back(a + b);
    types.push_back(1);
  };
  for (const char* pair : {"aa", "  ", "\n\n", "11", "th", "!!", "'s", "\xE2\x82"})
    merge(letter(static_cast<unsigned char>(pair[0])), letter(static_cast<unsigned char>(pair[1])));
  merge(letter('a') + letter('a'), letter('a') + letter('a'));
  merge(letter(' ') + letter(' '), letter('a'));
  for (const char* special : {"<|x|>", "<|x", "<|", "aa<|x|>"}) {
    tokens.emplace_back(special);
    types.push_back(special[1] == '|' ? 3 : 4);
  }
  File file(5);
  file.key_text("tokenizer.ggml.model", "gpt2");
  file.key_text("tokenizer.ggml.pre", pre);
  file.key_texts("tokenizer.ggml.tokens", tokens);
  file.key_numbers("tokenizer.ggml.token_type", 5, types);
  file.key_texts("tokenizer.ggml.merges", merges);
  ruda_tokenizer tokenizer = open(file.bytes());
  if (!tokenizer) std::abort();
  return tokenizer;
}

std::string decode(ruda_tokenizer tokenizer, const std::vector<int32_t>& tokens, uint32_t flags) {
  uint64_t needed = 0;
  if (ruda_tokenizer_decode(tokenizer, tokens.data(), tokens.size(), flags, nullptr, 0, &needed))
    std::abort();
  std::vector<char> text(needed);
  if (ruda_tokenizer_decode(tokenizer, tokens.data(), tokens.size(), flags, text.data(), needed, &needed))
    std::abort();
  return {text.data(), needed - 1};
}

std::string stream(ruda_tokenizer tokenizer, const std::vector<int32_t>& tokens) {
  ruda_text_stream state = RUDA_TEXT_STREAM_INIT;
  std::string out;
  std::vector<char> text(1 << 16);
  uint64_t needed = 0;
  for (const int32_t token : tokens) {
    if (ruda_text_stream_push(tokenizer, &state, token, text.data(), text.size(), &needed)) std::abort();
    out.append(text.data(), needed - 1);
  }
  if (ruda_text_stream_end(&state, text.data(), text.size(), &needed)) std::abort();
  return out.append(text.data(), needed - 1);
}

std::vector<int32_t> encode(ruda_tokenizer tokenizer, const std::string& text, uint32_t flags) {
  uint64_t count = 0;
  if (ruda_tokenizer_encode(tokenizer, text.data(), text.size(), flags, nullptr, 0, &count)) std::abort();
  std::vector<int32_t> tokens(count);
  if (count &&
      ruda_tokenizer_encode(tokenizer, text.data(), text.size(), flags, tokens.data(), count, &count))
    std::abort();
  return tokens;
}

void check_text(ruda_tokenizer tokenizer, const std::string& text, uint32_t flags, bool exact) {
  const std::vector<int32_t> tokens = encode(tokenizer, text, flags);
  if (exact && decode(tokenizer, tokens, RUDA_DECODE_RAW) != text) std::abort();
  if (stream(tokenizer, tokens) != decode(tokenizer, tokens, 0)) std::abort();
}

// Tables of tokens, types and scores cut out of the input.
std::string hostile_file(const uint8_t* data, size_t size) {
  const bool scored = data[0] & 1;
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types;
  std::vector<float> scores;
  size_t at = 1;
  while (at < size && tokens.size() < 200) {
    const size_t length = std::min<size_t>(data[at] % 6, size - at - 1);
    types.push_back(data[at] / 6 % 8);
    tokens.emplace_back(reinterpret_cast<const char*>(data) + at + 1, length);
    scores.push_back(float(data[at]) - 100);
    if (tokens.size() > 2 && data[at] % 5 == 0)
      merges.push_back(tokens[tokens.size() - 2] + " " + tokens[tokens.size() - 3]);
    at += 1 + length;
  }
  File file(scored ? 4 : 5);
  file.key_text("tokenizer.ggml.model", scored ? "llama" : "gpt2");
  if (!scored) file.key_text("tokenizer.ggml.pre", "gpt-2");
  file.key_texts("tokenizer.ggml.tokens", tokens);
  file.key_numbers("tokenizer.ggml.token_type", 5, types);
  if (scored)
    file.key_numbers("tokenizer.ggml.scores", 6, scores);
  else
    file.key_texts("tokenizer.ggml.merges", merges);
  return file.bytes();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ruda_tokenizer> tokenizers = [] {
    std::vector<ruda_tokenizer> made;
    for (const char* pre :
         {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken", "deepseek-v3"})
      made.push_back(make(pre));
    return made;
  }();
  if (size < 2) return 0;
  const uint8_t mode = data[0];
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (mode < 160) {
    check_text(tokenizers[mode % tokenizers.size()], rest, mode & 64 ? RUDA_ENCODE_PARSE_SPECIAL : 0, true);
    return 0;
  }
  ruda_tokenizer tokenizer = open(mode < 240 ? hostile_file(data + 1, size - 1) : rest);
  if (!tokenizer) return 0;
  check_text(tokenizer, rest, mode & 3, false);
  ruda_release(tokenizer);
  return 0;
}
