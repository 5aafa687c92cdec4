// tests/infer/sampler.cpp - the steps of sampling and the search for stop texts, against plain counting.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "core/philox.hpp"
#include "infer/sampler.hpp"
#include "infer/stop_text.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using ruda::infer::Sampler;
using ruda::infer::StopText;

namespace {

int failures = 0;

#define EXPECT(condition)                                         \
  do {                                                            \
    if (!(condition)) {                                           \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                 \
    }                                                             \
  } while (0)

ruda_sampling options() {
  ruda_sampling o = RUDA_SAMPLING_INIT;
  o.temperature = 1;
  o.seed = 7;
  return o;
}

std::map<int, double> frequencies(const ruda_sampling& o, const std::vector<float>& logits,
                                  const std::vector<int32_t>& history = {}, int draws = 20000) {
  Sampler sampler;
  sampler.set(o, 0);
  std::map<int, double> counts;
  for (int i = 0; i < draws; ++i) counts[sampler.choose(logits, history)] += 1.0 / draws;
  return counts;
}

// Six standard deviations of a frequency from `draws` draws.
bool near(double got, double want, int draws = 20000) {
  return std::fabs(got - want) <= 6 * std::sqrt(want * (1 - want) / draws) + 1e-9;
}

// A caller that flushes subnormals takes no other token.
void any_float_mode() {
#if defined(__x86_64__)
  const uint32_t former = _mm_getcsr();
  _mm_setcsr(former | 0x8040);
  Sampler sampler;
  const int32_t token = sampler.choose(std::vector<float>{1e-39f, 2e-39f}, {});
  EXPECT((_mm_getcsr() & ~0x3Fu) == ((former | 0x8040) & ~0x3Fu));
  _mm_setcsr(former);
  EXPECT(token == 1);
#endif
}

void greedy() {
  Sampler sampler;
  EXPECT(sampler.choose(std::vector<float>{1, 5, 5, 2}, {}) == 1);
  EXPECT(sampler.choose(std::vector<float>{NAN, -3, NAN, -2}, {}) == 3);
  EXPECT(sampler.choose(std::vector<float>{0, INFINITY, 3}, {}) == 1);
  EXPECT(sampler.draws() == 0);
  bool threw = false;
  try {
    sampler.choose(std::vector<float>{NAN, -INFINITY, NAN}, {});
  } catch (const ruda::Error& error) {
    threw = error.status == RUDA_E_ARGUMENT;
  }
  EXPECT(threw);
}

void softmax_frequencies() {
  const std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f)};
  const auto f = frequencies(options(), logits);
  EXPECT(near(f.at(0), 1 / 8.0) && near(f.at(1), 2 / 8.0) && near(f.at(2), 5 / 8.0));
  auto o = options();
  o.temperature = 0.5;  // squares the ratios
  const auto cold = frequencies(o, logits);
  EXPECT(near(cold.at(0), 1 / 30.0) && near(cold.at(1), 4 / 30.0) && near(cold.at(2), 25 / 30.0));
}

void top_k_keeps_ties() {
  auto o = options();
  o.top_k = 2;
  const auto f = frequencies(o, {1, 3, 2, 2, 0});
  EXPECT(f.size() == 3 && f.count(1) && f.count(2) && f.count(3));
  o.top_k = 1;
  EXPECT(frequencies(o, {1, 3, 3}).size() == 1);
}

void top_p_keeps_the_crossing_token() {
  auto o = options();
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  o.top_p = 0.5;
  EXPECT(frequencies(o, logits).size() == 1);
  o.top_p = 0.6;
  const auto f = frequencies(o, logits);
  EXPECT(f.size() == 2 && near(f.at(0), 5 / 8.0));
  o.top_p = 1;
  EXPECT(frequencies(o, logits).size() == 3);
}

void min_p_is_relative_to_the_best() {
  auto o = options();
  o.min_p = 0.5;
  EXPECT(frequencies(o, {std::log(0.5f), std::log(0.3f), std::log(0.2f)}).size() == 2);
}

void penalty_counts_a_token_once() {
  auto o = options();
  o.temperature = 0;
  o.repetition_penalty = 2;
  Sampler sampler;
  sampler.set(o, 0);
  EXPECT(sampler.choose(std::vector<float>{4, 3}, std::vector<int32_t>{0, 0, 0}) == 1);  // 2 against 3
  EXPECT(sampler.choose(std::vector<float>{-1, -1.5f}, std::vector<int32_t>{0}) == 1);   // -2 against -1.5
  o.repetition_window = 1;
  sampler.set(o, 0);
  EXPECT(sampler.choose(std::vector<float>{4, 3}, std::vector<int32_t>{0, 1}) == 0);
}

void large_vocabulary() {
  std::vector<float> logits(50000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = float(std::sin(double(i) * 0.7) * 8);
  auto o = options();
  o.top_p = 0.9;
  double total = 0;
  std::multimap<double, int> order;
  for (size_t i = 0; i < logits.size(); ++i) {
    total += std::exp(double(logits[i]));
    order.emplace(-logits[i], int(i));
  }
  std::set<int> kept;
  double mass = 0;
  for (const auto& [logit, token] : order) {
    kept.insert(token);
    mass += std::exp(-logit) / total;
    if (mass >= 0.9) break;
  }
  Sampler sampler;
  sampler.set(o, 0);
  for (int i = 0; i < 300; ++i) EXPECT(kept.count(sampler.choose(logits, {})) == 1);
}

void same_seed_same_tokens() {
  const std::vector<float> logits = {0, 1, 2, 3, 2.5f};
  Sampler a, b;
  a.set(options(), 0);
  b.set(options(), 0);
  for (int i = 0; i < 100; ++i) EXPECT(a.choose(logits, {}) == b.choose(logits, {}));
}

void bad_options() {
  const auto refused = [](auto change) {
    auto o = options();
    change(o);
    try {
      Sampler().set(o, 1);
    } catch (const ruda::Error& error) {
      return error.status == RUDA_E_ARGUMENT && error.arg == 1;
    }
    return false;
  };
  EXPECT(refused([](auto& o) { o.temperature = -1; }));
  EXPECT(refused([](auto& o) { o.temperature = NAN; }));
  EXPECT(refused([](auto& o) { o.top_p = 1.5; }));
  EXPECT(refused([](auto& o) { o.min_p = 1; }));
  EXPECT(refused([](auto& o) { o.repetition_penalty = -2; }));
}

// What the text up to now gives by the definition: every stop sequence is looked for at every place.
std::pair<size_t, bool> searched(const std::string& text, const std::vector<std::string>& stops) {
  size_t first = std::string::npos, keep = 0;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  if (first != std::string::npos) return {first, true};
  for (const std::string& stop : stops)
    for (size_t n = 1; n < stop.size(); ++n)
      if (text.ends_with(stop.substr(0, n))) keep = std::max(keep, n);
  return {text.size() - keep, false};
}

void stop_texts_as_searched() {
  uint32_t state = 1;
  const auto draw = [&](uint32_t below) {
    return (state = state * 1664525u + 1013904223u) % 65536 * below >> 16;
  };
  const auto word = [&](uint32_t most) {
    std::string out(1 + draw(most), 'a');
    for (char& c : out) c = char('a' + draw(2));
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops(1 + draw(4));
    std::vector<const char*> pointers;
    for (std::string& stop : stops) stop = word(9);
    for (const std::string& stop : stops) pointers.push_back(stop.c_str());
    StopText filter(pointers.data(), uint32_t(pointers.size()));
    std::string given, got;
    while (!filter.stopped() && given.size() < 60) {
      const std::string piece = word(4);
      given += piece;
      got += filter.push(piece);
      const auto [size, stopped] = searched(given, stops);
      EXPECT(filter.stopped() == stopped && got == given.substr(0, size));
      if (draw(3) || stopped) continue;
      const std::string held = filter.finish();  // goes back in, as a session does
      EXPECT(got + held == given && filter.push(held) == "");
    }
  }
}

// A piece costs what its bytes cost, not what the stop sequences are: a search for each would take minutes.
void many_stop_texts() {
  std::vector<std::string> stops(200000);
  std::vector<const char*> pointers;
  for (size_t i = 0; i < stops.size(); ++i) stops[i] = "stop " + std::to_string(i) + ";";
  for (const std::string& stop : stops) pointers.push_back(stop.c_str());
  StopText filter(pointers.data(), uint32_t(pointers.size()));
  std::string got;
  for (int i = 0; i < 100000; ++i) got += filter.push("stop 1");
  EXPECT(!filter.stopped() && got.size() == 599994);
  EXPECT(filter.push("99999;!") == "" && filter.stopped());
}

// Values published with the generator: key and counter all zero, and all ones.
void philox_known_answers() {
  const auto zero = ruda::philox(0, 0, 0);
  EXPECT(zero[0] == 0x6627e8d5 && zero[1] == 0xe169c58d && zero[2] == 0xbc57ac4c && zero[3] == 0x9b00dbd8);
  const auto ones = ruda::philox(~0ull, ~0ull, ~0ull);
  EXPECT(ones[0] == 0x408f276d && ones[1] == 0x41c83b0e && ones[2] == 0xa20bc7c6 && ones[3] == 0x6d5451fd);
}

void stop_texts() {
  const char* stops[] = {"END", "</s>"};
  StopText plain(stops, 2);
  EXPECT(plain.push("hello E") == "hello ");
  EXPECT(plain.push("N") == "");
  EXPECT(plain.push("X") == "ENX");
  EXPECT(plain.push("a</") == "a" && plain.push("s>tail") == "" && plain.stopped());
  StopText rest(stops, 2);
  EXPECT(rest.push("x</s") == "x" && rest.finish() == "</s" && !rest.stopped());
  StopText early(stops, 2);
  EXPECT(early.push("one</s>two END") == "one" && early.stopped());
  bool threw = false;
  try {
    const char* empty[] = {""};
    StopText(empty, 1);
  } catch (const ruda::Error& error) {
    threw = error.status == RUDA_E_ARGUMENT;
  }
  EXPECT(threw);
}

}  // namespace

int main() {
  greedy();
  any_float_mode();
  softmax_frequencies();
  top_k_keeps_ties();
  top_p_keeps_the_crossing_token();
  min_p_is_relative_to_the_best();
  penalty_counts_a_token_once();
  large_vocabulary();
  same_seed_same_tokens();
  bad_options();
  philox_known_answers();
  stop_texts();
  stop_texts_as_searched();
  many_stop_texts();
  std::printf("%s\n", failures ? "failed" : "passed");
  return failures != 0;
}
