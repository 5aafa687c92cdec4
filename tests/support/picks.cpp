// tests/support/picks.cpp - the files of picks and of what ran.
// SPDX-License-Identifier: Apache-2.0
#include "support/picks.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace ruda::test::picks {
namespace {

using Clock = std::chrono::steady_clock;

bool active = false;
std::set<std::string> tests;
std::set<std::tuple<std::string, int, std::string>> cases;
std::FILE* list = nullptr;
std::string current;
int number = 0;
Clock::time_point started, begun;
double limit = 0;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

void open(const std::string& pick_file, const std::string& list_file, double seconds) {
  started = Clock::now();
  limit = seconds;
  if (!list_file.empty() && !(list = std::fopen(list_file.c_str(), "w")))
    throw std::runtime_error("cannot write " + list_file);
  if (pick_file.empty()) return;
  active = true;
  std::ifstream file(pick_file);
  if (!file) throw std::runtime_error("cannot read " + pick_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what, test, kernel;
    int at = 0;
    words >> what >> test;
    if (what == "case" && words >> at >> kernel) cases.emplace(test, at, kernel);
    if (what == "case" || what == "test") tests.insert(test);
  }
}

bool wants_test(const char* name) {
  return !active || (tests.contains(name) && (limit <= 0 || since(started) < limit));
}

void begin_test(const char* name) {
  current = name;
  number = 0;
  begun = Clock::now();
}

void end_test() {
  if (!list) return;
  std::fprintf(list, "test %s %.6f %d\n", current.c_str(), since(begun), number);
  std::fflush(list);
}

int begin_case() { return number++; }

bool wants_case(int at, const std::string& kernel) {
  if (!active) return true;
  return (limit <= 0 || since(started) < limit) && cases.contains({current, at, kernel});
}

bool picking() { return active; }

void note_case(int at, const std::string& kernel, unsigned long long bytes, double seconds,
               const std::string& kind) {
  if (!list) return;
  std::fprintf(list, "case %s %d %s %llu %.9f %s\n", current.c_str(), at, kernel.c_str(), bytes, seconds,
               kind.c_str());
  std::fflush(list);
}

}  // namespace ruda::test::picks
