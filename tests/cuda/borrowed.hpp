// tests/cuda/borrowed.hpp - tensors of bytes, and streams whose native side a test can hold back.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cuda/fake_runtime.hpp"
#include "support/objects.hpp"

#include <vector>

namespace ruda::test {

inline ruda_tensor make(ruda_context context, int64_t bytes) { return new_tensor(context, RUDA_U8, {bytes}); }
inline ruda_tensor make(Env& env, int64_t bytes) { return make(env.context, bytes); }

// A stream of the caller, so that tests reach its native side.
struct Borrowed {
  explicit Borrowed(Env& env) {
    cudaStreamCreateWithFlags(&native, 0);
    MUST(ruda_stream_wrap(env.context, native, 0, &stream));
  }
  ~Borrowed() {
    fake::hold(native, false);
    ruda_release(stream);
    cudaStreamDestroy(native);
  }
  cudaStream_t native = nullptr;
  ruda_stream stream = nullptr;
};

inline std::vector<uint8_t> bytes(size_t count, uint8_t first) {
  std::vector<uint8_t> list(count);
  for (size_t i = 0; i < count; ++i) list[i] = uint8_t(first + i * 7);
  return list;
}

}  // namespace ruda::test
