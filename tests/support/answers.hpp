// tests/support/answers.hpp - the tokens of a session, and answers that are cancelled on their way.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/runner.hpp"

namespace ruda::test {

inline std::vector<int32_t> tokens_of(ruda_session session) {
  std::vector<int32_t> tokens(4096);
  uint64_t count = 0;
  MUST(ruda_session_tokens(session, tokens.data(), tokens.size(), &count));
  tokens.resize(count);
  return tokens;
}

// Raises its token when `left` more texts were handed over.
struct CancelAfter {
  explicit CancelAfter(int texts) : left(texts) { MUST(ruda_cancel_create(&token)); }
  ~CancelAfter() { ruda_release(token); }
  CancelAfter(const CancelAfter&) = delete;
  CancelAfter& operator=(const CancelAfter&) = delete;

  ruda_generate_options options() {
    ruda_generate_options made = RUDA_GENERATE_OPTIONS_INIT;
    made.cancel = token;
    made.user = this;
    made.on_text = [](void* user, const char*, uint64_t, int32_t) -> int32_t {
      auto& self = *static_cast<CancelAfter*>(user);
      if (--self.left == 0) ruda_cancel_request(self.token);
      return 0;
    };
    return made;
  }

  ruda_cancel token = nullptr;
  int left;
};

}  // namespace ruda::test
