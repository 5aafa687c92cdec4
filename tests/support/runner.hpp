// tests/support/runner.hpp - registers test functions, parses the command line, counts failures.
// SPDX-License-Identifier: Apache-2.0
//
// A test program is one or more files with RUDA_TEST functions, linked with runner.cpp, which holds main().
// Options: --backend cpu|cuda, --kernel NAME, --level 0..3, --seed N, --filter TEXT, --bench, --json FILE,
// --list FILE, --pick FILE, --seconds N (support/picks.hpp).
#pragma once
#include <ruda/ruda.h>

#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace ruda::test {

struct Settings {
  uint32_t backend = RUDA_BACKEND_CPU;
  std::string kernel;  // only this kernel; empty = all
  int level = 0;
  uint64_t seed = 0;
  std::string filter;
  bool bench = false;
  std::string json;
  std::string pick, list;
  double seconds = 0;  // 0 = no limit
};

// One context and stream a test, and the random numbers of the run.
class Env {
 public:
  explicit Env(const Settings& settings);
  ~Env();
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;

  const Settings& settings;
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
  std::mt19937_64 random;

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  }
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  std::vector<double> normal(int64_t count, double scale = 1.0);
};

struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Fatal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Notes a failure and goes on.
__attribute__((format(printf, 3, 4))) void failure(const char* file, int line, const char* format, ...);
// What was last failed in this thread, for messages.
std::string last_message();
// Context of failures: which case and kernel is running.
void set_case(const std::string& text);

struct Registration {
  Registration(const char* name, void (*body)(Env&), bool bench);
};

#define RUDA_TEST(name)                                                            \
  static void name(::ruda::test::Env& env);                                        \
  static const ::ruda::test::Registration name##_registration{#name, name, false}; \
  static void name([[maybe_unused]] ::ruda::test::Env& env)

#define RUDA_BENCH(name)                                                          \
  static void name(::ruda::test::Env& env);                                       \
  static const ::ruda::test::Registration name##_registration{#name, name, true}; \
  static void name([[maybe_unused]] ::ruda::test::Env& env)

#define CHECK(condition, ...)                                                 \
  do {                                                                        \
    if (!(condition)) ::ruda::test::failure(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

// The call must succeed, or the test ends.
#define MUST(call)                                                                                     \
  do {                                                                                                 \
    const ruda_status must_status = (call);                                                            \
    if (must_status != RUDA_OK)                                                                        \
      throw ::ruda::test::Fatal(std::string(#call) + " gave " + ruda_status_name(must_status) + ": " + \
                                ::ruda::test::last_message());                                         \
  } while (0)

// The call must fail with `status` at argument `arg`, with `text` in its message.
#define CHECK_FAILS(call, status, arg, text) \
  ::ruda::test::check_fails(__FILE__, __LINE__, #call, (call), status, arg, text)
void check_fails(const char* file, int line, const char* call, ruda_status got, ruda_status want, int arg,
                 const std::string& text);

}  // namespace ruda::test
