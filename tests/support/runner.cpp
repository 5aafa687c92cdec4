// tests/support/runner.cpp - main() of the test programs.
// SPDX-License-Identifier: Apache-2.0
#include "support/runner.hpp"

#include "support/picks.hpp"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ruda::test {
namespace {

struct Entry {
  const char* name;
  void (*body)(Env&);
  bool bench;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> list;
  return list;
}

int failures = 0, printed = 0;
std::string current_case;

[[noreturn]] void usage(const char* text) {
  std::fprintf(stderr,
               "%s\noptions: --backend cpu|cuda --kernel NAME --level 0..3 --seed N --filter TEXT --bench "
               "--json FILE --list FILE --pick FILE --seconds N\n",
               text);
  std::exit(2);
}

Settings parse(int argc, char** argv) {
  Settings s;
  s.seed = uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
  if (const char* backend = std::getenv("RUDA_TEST_BACKEND"))
    s.backend = std::strcmp(backend, "cuda") ? 1 : 2;
  if (const char* level = std::getenv("RUDA_TEST_LEVEL")) s.level = std::atoi(level);
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--bench") {
      s.bench = true;
      continue;
    }
    if (i + 1 >= argc) usage(("missing value of " + option).c_str());
    const std::string value = argv[++i];
    if (option == "--backend")
      s.backend = value == "cpu"    ? RUDA_BACKEND_CPU
                  : value == "cuda" ? RUDA_BACKEND_CUDA
                                    : (usage("unknown backend"), 0);
    else if (option == "--kernel")
      s.kernel = value;
    else if (option == "--level")
      s.level = std::atoi(value.c_str());
    else if (option == "--seed")
      s.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (option == "--filter")
      s.filter = value;
    else if (option == "--json")
      s.json = value;
    else if (option == "--list")
      s.list = value;
    else if (option == "--pick")
      s.pick = value;
    else if (option == "--seconds")
      s.seconds = std::atof(value.c_str());
    else
      usage(("unknown option " + option).c_str());
  }
  return s;
}

}  // namespace

Registration::Registration(const char* name, void (*body)(Env&), bool bench) {
  entries().push_back({name, body, bench});
}

Env::Env(const Settings& s) : settings(s), random(s.seed) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = s.backend;
  const ruda_status status = ruda_context_create(&desc, &context);
  if (status == RUDA_E_BACKEND_MISSING || status == RUDA_E_NOT_BUILT) throw Skip(last_message());
  if (status != RUDA_OK) throw Fatal("no context: " + last_message());
  MUST(ruda_stream_create(context, 0, &stream));
}

Env::~Env() {
  ruda_stream_sync(stream);
  ruda_release(stream);
  uint64_t live = 0;
  ruda_context_live_objects(context, &live);
  CHECK(live == 0, "%llu objects are alive at the end of the test", (unsigned long long)live);
  ruda_release(context);
}

std::vector<double> Env::normal(int64_t count, double scale) {
  std::normal_distribution<double> distribution(0, scale);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& v : values) v = distribution(random);
  return values;
}

void failure(const char* file, int line, const char* format, ...) {
  ++failures;
  if (++printed > 40) return;
  char text[2048];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  std::fprintf(stderr, "%s:%d: %s%s%s\n", file, line, current_case.c_str(), current_case.empty() ? "" : ": ",
               text);
}

std::string last_message() {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  return info.message ? info.message : "";
}

void set_case(const std::string& text) { current_case = text; }

void check_fails(const char* file, int line, const char* call, ruda_status got, ruda_status want, int arg,
                 const std::string& text) {
  if (got != want) {
    failure(file, line, "%s gave %s (%s), expected %s", call, ruda_status_name(got),
            got == RUDA_OK ? "" : last_message().c_str(), ruda_status_name(want));
    return;
  }
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  if (info.arg_index != arg)
    failure(file, line, "%s blamed argument %d, expected %d", call, info.arg_index, arg);
  if (std::strstr(info.message, text.c_str()) == nullptr)
    failure(file, line, "%s said \"%s\", expected \"%s\" in it", call, info.message, text.c_str());
}

}  // namespace ruda::test

int main(int argc, char** argv) {
  using namespace ruda::test;
  const Settings settings = parse(argc, argv);
  int passed = 0, failed = 0, skipped = 0;
  try {
    picks::open(settings.pick, settings.list, settings.seconds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  for (const Entry& entry : entries()) {
    if (entry.bench != settings.bench) continue;
    if (!settings.filter.empty() && !std::strstr(entry.name, settings.filter.c_str())) continue;
    if (!picks::wants_test(entry.name)) continue;
    picks::begin_test(entry.name);
    const int before = failures;
    set_case("");
    bool skip = false;
    try {
      Env env(settings);
      picks::begin_test(entry.name);  // the clock leaves the context out
      entry.body(env);
    } catch (const Skip& reason) {
      skip = true;
      std::printf("skipped %s: %s\n", entry.name, reason.what());
    } catch (const std::exception& error) {
      failure(argv[0], 0, "%s", error.what());
    }
    picks::end_test();
    if (skip) {
      ++skipped;
    } else if (failures == before) {
      ++passed;
    } else {
      ++failed;
      std::fprintf(stderr, "failed %s; repeat: %s --backend %s --seed %llu --level %d --filter %s\n",
                   entry.name, argv[0], settings.backend == RUDA_BACKEND_CUDA ? "cuda" : "cpu",
                   (unsigned long long)settings.seed, settings.level, entry.name);
    }
  }
  std::printf("%d passed, %d failed, %d skipped (seed %llu)\n", passed, failed, skipped,
              (unsigned long long)settings.seed);
  if (failed) return 1;
  return passed == 0 && skipped > 0 ? 77 : 0;
}
