// tests/cuda/child.hpp - runs the test program again for a case that ends its process.
// SPDX-License-Identifier: Apache-2.0
//
// The program has a RUDA_TEST named child, which asks is_child() what to do.
#pragma once
#include "support/runner.hpp"

#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ;

namespace ruda::test {

// Its exit status, with 128 more than the signal that ended it.
inline int run_child(const char* what, const char* variable = nullptr, const char* value = nullptr) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) throw Fatal("no /proc/self/exe");
  self[length] = 0;
  setenv("RUDA_TEST_CHILD", what, 1);
  const char* before = variable ? std::getenv(variable) : nullptr;
  const std::string kept = before ? before : "";
  if (variable) setenv(variable, value, 1);
  char name[] = "child";
  char* arguments[] = {
      self,   const_cast<char*>("--backend"), const_cast<char*>("cuda"), const_cast<char*>("--filter"), name,
      nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, self, nullptr, nullptr, arguments, environ);
  unsetenv("RUDA_TEST_CHILD");
  if (variable) before ? setenv(variable, kept.c_str(), 1) : unsetenv(variable);
  if (error) throw Fatal("posix_spawn failed");
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

inline bool is_child(const char* what) {
  const char* wanted = std::getenv("RUDA_TEST_CHILD");
  return wanted && !std::strcmp(wanted, what);
}

inline bool in_child() { return std::getenv("RUDA_TEST_CHILD") != nullptr; }

// A tensor over an address that the device cannot read.
inline ruda_tensor make_bad(ruda_context context, int64_t count) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = RUDA_F32;
  desc.rank = 1;
  desc.shape = &count;
  ruda_tensor tensor = nullptr;
  MUST(ruda_tensor_wrap(context, &desc, reinterpret_cast<void*>(uintptr_t(0x100000)), uint64_t(count) * 4,
                        nullptr, nullptr, &tensor));
  return tensor;
}

}  // namespace ruda::test
