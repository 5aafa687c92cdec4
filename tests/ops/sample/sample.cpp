// tests/ops/sample/sample.cpp - sample against a plain sort, and its draws against their probabilities.
// SPDX-License-Identifier: Apache-2.0
#include "support/op_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace ruda::test;

namespace {

constexpr uint32_t LOGITS = RUDA_SAMPLE_LOGITS, PARAMS = RUDA_SAMPLE_PARAMS, RANDOM = RUDA_SAMPLE_RANDOM,
                   HISTORY = RUDA_SAMPLE_HISTORY, LENGTHS = RUDA_SAMPLE_LENGTHS, TOKENS = RUDA_SAMPLE_TOKENS;
using Values = std::vector<double>;

struct Params {
  double temperature = 0, top_k = 0, top_p = 0, min_p = 0, penalty = 0, window = 0;
};

struct Case {
  uint32_t dtype = RUDA_F32;
  Shape shape;
  Values logits;
  std::vector<Params> params;  // of all rows; empty = left out
  std::vector<std::vector<int>> history = {};
  int64_t capacity = 0;
  bool append = false;
  uint64_t seed = 1, draws = 0;
  Shape strides = {};
};

// Philox4x32-10 as published, written apart from the library's.
double uniform(uint64_t seed, uint64_t counter) {
  std::array<uint64_t, 4> c{counter & 0xffffffff, counter >> 32, 0, 0};
  uint64_t k0 = seed & 0xffffffff, k1 = seed >> 32;
  for (int i = 0; i < 10; ++i) {
    const uint64_t p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c = {(p1 >> 32) ^ c[1] ^ k0, p1 & 0xffffffff, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xffffffff};
    k0 = (k0 + 0x9E3779B9ull) & 0xffffffff;
    k1 = (k1 + 0xBB67AE85ull) & 0xffffffff;
  }
  return std::ldexp(double((c[0] << 32 | c[1]) >> 11), -53);
}

// What may be chosen: one token, or two where the draw lies too near a border for the rounding of the sums.
struct Choice {
  std::set<int> tokens;
  bool drawn = false;
};

Choice oracle(const double* row, int64_t vocab, const Params& p, const std::vector<int>& history,
              uint64_t seed, uint64_t draws) {
  std::vector<float> logit(row, row + vocab);
  if (p.penalty > 0 && p.penalty != 1 && std::isfinite(p.penalty)) {
    size_t first = 0;
    if (p.window >= 1 && double(history.size()) > p.window) first = history.size() - size_t(p.window);
    const std::set<int> seen(history.begin() + int64_t(first), history.end());
    for (int token : seen)
      if (token >= 0 && token < vocab) {
        float& x = logit[size_t(token)];
        x = x > 0 ? x / float(p.penalty) : x * float(p.penalty);
      }
  }
  std::vector<int> order;
  for (int i = 0; i < int(vocab); ++i)
    if (!std::isnan(logit[size_t(i)]) && logit[size_t(i)] != -INFINITY) order.push_back(i);
  if (order.empty()) return {{-1}};
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return logit[size_t(a)] > logit[size_t(b)]; });
  if (!(p.temperature > 0) || std::isinf(p.temperature) || p.top_k == 1 ||
      std::isinf(logit[size_t(order[0])]))
    return {{order[0]}};
  const float scale = float(1 / p.temperature);
  for (float& x : logit) x *= scale;
  if (p.top_k >= 1 && p.top_k < double(order.size())) {
    size_t n = size_t(p.top_k);
    while (n < order.size() && logit[size_t(order[n])] == logit[size_t(order[size_t(p.top_k) - 1])]) ++n;
    order.resize(n);
  }
  std::vector<long double> weight;
  long double total = 0;
  for (int token : order) {
    weight.push_back(expl((long double)logit[size_t(token)] - (long double)logit[size_t(order[0])]));
    total += weight.back();
  }
  constexpr long double slack = 1e-10L;
  size_t kept = order.size(), kept_more = order.size();  // where the sum is within the slack of top_p: both
  if (p.top_p > 0 && p.top_p < 1) {
    long double sum = 0;
    kept = kept_more = 0;
    for (size_t i = 0; i < order.size() && !kept_more; ++i) {
      sum += weight[i] / total;
      if (!kept && sum >= p.top_p - slack) kept = i + 1;
      if (sum >= p.top_p + slack || i + 1 == order.size()) kept_more = i + 1;
    }
  }
  if (p.min_p > 0 && p.min_p < 1) {
    size_t n = 1;
    while (n < order.size() && logit[size_t(order[n])] >= double(logit[size_t(order[0])]) + std::log(p.min_p))
      ++n;
    kept = std::min(kept, n), kept_more = std::min(kept_more, n);
  }
  Choice choice;
  choice.drawn = true;
  for (size_t end : {kept, kept_more}) {
    long double mass = 0, sum = 0;
    for (size_t i = 0; i < end; ++i) mass += weight[i];
    const long double u = uniform(seed, draws);
    for (size_t i = 0; i < end; ++i) {
      const long double from = sum / mass;
      sum += weight[i];
      if (u >= from - slack && u < sum / mass + slack) choice.tokens.insert(order[i]);
    }
  }
  return choice;
}

void check_case(Env& env, const Case& c) {
  const int64_t rows = c.shape[0], vocab = c.shape[1];
  OpRun op(env, "sample");
  const Values logits = op.input(LOGITS, c.dtype, c.shape, c.logits, c.strides);
  if (!c.params.empty()) {
    Values params, random;
    for (const Params& p : c.params) {
      for (double v : {p.temperature, p.top_k, p.top_p, p.min_p, p.penalty, p.window, 0.0, 0.0})
        params.push_back(v);
      random.push_back(double(c.seed + params.size()));
      random.push_back(double(c.draws));
    }
    op.input(PARAMS, RUDA_F64, {rows, RUDA_SAMPLE_PARAM_COUNT}, params);
    op.inout(RANDOM, RUDA_U64, {rows, 2}, random);
  }
  Values history, lengths;
  if (!c.history.empty()) {
    for (const auto& row : c.history) {
      lengths.push_back(double(row.size()));
      for (int64_t i = 0; i < c.capacity; ++i)
        history.push_back(i < int64_t(row.size()) ? double(row[size_t(i)]) : -7.0);
    }
    op.inout(HISTORY, RUDA_I32, {rows, c.capacity}, history);
    op.inout(LENGTHS, RUDA_I32, {rows}, lengths);
  }
  op.output(TOKENS, RUDA_I32, {rows});
  op.each_kernel(
      [&](const ruda_plan_options* options, ruda_plan* out) {
        ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
        desc.options = options;
        desc.append = c.append;
        desc.logits = op.desc(LOGITS);
        if (!c.params.empty()) desc.params = op.desc(PARAMS), desc.random = op.desc(RANDOM);
        if (!c.history.empty()) desc.history = op.desc(HISTORY), desc.lengths = op.desc(LENGTHS);
        desc.tokens = op.desc(TOKENS);
        return ruda_sample_plan_create(env.context, &desc, out);
      },
      [&](const std::string& kernel) {
        const Values tokens = op.read(TOKENS);
        for (int64_t r = 0; r < rows; ++r) {
          const size_t at = size_t(r);
          const Params p = c.params.empty() ? Params{} : c.params[at];
          const Choice want =
              oracle(&logits[at * size_t(vocab)], vocab, p,
                     c.history.empty() ? std::vector<int>{} : c.history[at], c.seed + 8 * (at + 1), c.draws);
          CHECK(want.tokens.count(int(tokens[at])), "%s: row %lld: token %d, expected %d of %zu",
                kernel.c_str(), (long long)r, int(tokens[at]), *want.tokens.begin(), want.tokens.size());
          if (!c.params.empty()) {
            const Values random = op.read(RANDOM);
            CHECK(random[2 * at] == double(c.seed + 8 * (at + 1)), "%s: the seed changed", kernel.c_str());
            CHECK(random[2 * at + 1] == double(c.draws + want.drawn), "%s: row %lld: %g draws",
                  kernel.c_str(), (long long)r, random[2 * at + 1]);
          }
          if (c.history.empty()) continue;
          const bool grows = c.append && tokens[at] >= 0 && int64_t(c.history[at].size()) < c.capacity;
          CHECK(op.read(LENGTHS)[at] == lengths[at] + grows, "%s: row %lld: length %g", kernel.c_str(),
                (long long)r, op.read(LENGTHS)[at]);
          const Values now = op.read(HISTORY);
          for (int64_t i = 0; i < c.capacity; ++i) {
            const size_t k = size_t(r * c.capacity + i);
            const double expected = grows && i == int64_t(c.history[at].size()) ? tokens[at] : history[k];
            CHECK(now[k] == expected, "%s: history[%lld][%lld] is %g, expected %g", kernel.c_str(),
                  (long long)r, (long long)i, now[k], expected);
          }
        }
      });
}

}  // namespace

RUDA_TEST(sample_greedy) {
  for (uint32_t dtype : {RUDA_F32, RUDA_F16, RUDA_BF16})
    for (int64_t vocab : {1, 2, 31, 33, 1009, 4096, 5000})
      check_case(env, {dtype, {3, vocab}, env.normal(3 * vocab, 4.0), {}});
  check_case(env, {RUDA_F32, {0, 7}, {}, {}});
  check_case(env, {RUDA_F32, {2, 5}, {1, 5, 5, 2, 5, NAN, -3, NAN, -2, -INFINITY}, {}});
  check_case(env, {RUDA_F32, {2, 3}, {NAN, -INFINITY, NAN, 0, INFINITY, INFINITY}, {}});
  check_case(env, {RUDA_F32, {1, 4}, {-0.0, 0.0, -0.0, -1}, {}});
  Values ties(70000, 1.5);
  ties[3] = NAN;
  ties[40000] = ties[69999] = 2.5;
  check_case(env, {RUDA_F32, {1, 70000}, ties, {}});
  check_case(env, {RUDA_F32, {2, 9}, env.normal(18), {}, {}, 0, false, 1, 0, Shape{20, 1}});
}

RUDA_TEST(sample_steps) {
  std::vector<Params> steps;
  for (const Params& p :
       {Params{1}, Params{0.3}, Params{2.5}, Params{1, 1}, Params{1, 5}, Params{0.7, 40}, Params{1, 1e9},
        Params{1, 0, 0.5}, Params{1, 0, 0.95}, Params{1, 0, 1e-9}, Params{1, 0, 1}, Params{1, 0, 0, 0.1},
        Params{0.8, 40, 0.9, 0.02}, Params{1e-30}, Params{-1, 3}, Params{NAN}, Params{INFINITY},
        Params{1, -2, -0.5, 1.5}, Params{1, 3, 0.7, 0.9}})
    steps.push_back(p);
  const int64_t rows = int64_t(steps.size());
  for (uint32_t dtype : {RUDA_F32, RUDA_BF16, RUDA_F16})
    for (int64_t vocab : {1, 2, 3, 65, 1009, 4096, 20011}) {
      if (vocab > 5000 && dtype != RUDA_F32) continue;
      for (double scale : {0.0, 0.5, 6.0})
        for (uint64_t draw = 0; draw < (vocab < 5000 ? 6u : 2u); ++draw) {
          Values logits = env.normal(rows * vocab);
          for (double& x : logits) x *= scale;
          check_case(
              env,
              {dtype, {rows, vocab}, logits, steps, {}, 0, false, uint64_t(env.integer(0, 1 << 30)), draw});
        }
    }
}

RUDA_TEST(sample_penalty) {
  const int64_t vocab = 600;
  std::vector<Params> steps = {{0, 0, 0, 0, 3},      {1, 0, 0, 0, 1.3}, {1, 0, 0, 0, 0.5, 4},
                               {1, 0, 0, 0, 2, 1e6}, {0, 0, 0, 0, 1},   {0.5, 5, 0, 0, 5, 1},
                               {1, 0, 0, 0, -2}};
  const int64_t rows = int64_t(steps.size()), capacity = 50;
  for (bool append : {false, true})
    for (int round = 0; round < 8; ++round) {
      Case c{RUDA_F32, {rows, vocab}, env.normal(rows * vocab, 4.0), steps};
      c.capacity = capacity;
      c.append = append;
      c.draws = uint64_t(round);
      for (int64_t r = 0; r < rows; ++r) {
        std::vector<int> row;
        const int64_t count = r == 0 ? 0 : r == 1 ? capacity : env.integer(1, capacity);
        for (int64_t i = 0; i < count; ++i) row.push_back(int(env.integer(-3, vocab + 3)));
        // The most likely token is among them.
        const auto* begin = &c.logits[size_t(r * vocab)];
        if (count > 1) row[1] = row.back() = int(std::max_element(begin, begin + vocab) - begin);
        c.history.push_back(row);
      }
      check_case(env, c);
    }
}

// Flat rows, where nearly all tokens are needed, and rows of few values, where ids decide.
RUDA_TEST(sample_large_vocabularies) {
  const std::vector<Params> steps = {{1}, {1, 0, 0.9}, {1, 30000, 0.99}, {0.5, 0, 0, 0.5}, {1, 0, 0.9999}};
  const int64_t rows = int64_t(steps.size());
  for (int64_t vocab : {49152, 151936})
    for (int kind = 0; kind < 3; ++kind) {
      Values logits = env.normal(rows * vocab, kind == 0 ? 3.0 : 0.01);
      if (kind == 2)
        for (double& x : logits) x = double(env.integer(0, 2));
      check_case(env,
                 {RUDA_F32, {rows, vocab}, logits, steps, {}, 0, false, uint64_t(env.integer(0, 1 << 30))});
    }
}

// Frequencies of many draws within six standard deviations.
RUDA_TEST(sample_frequencies) {
  const int64_t rows = 4096;
  Values logits;
  std::vector<Params> params(size_t(rows), Params{0.5});
  for (int64_t r = 0; r < rows; ++r)
    for (double x : {0.0, std::log(2.0), std::log(5.0)}) logits.push_back(x);
  OpRun op(env, "sample");
  Values flat, random;
  for (int64_t r = 0; r < rows; ++r) {
    for (int k = 0; k < 8; ++k) flat.push_back(k == 0 ? 0.5 : 0);
    random.push_back(7), random.push_back(double(r));
  }
  op.input(LOGITS, RUDA_F32, {rows, 3}, logits);
  op.input(PARAMS, RUDA_F64, {rows, 8}, flat);
  op.inout(RANDOM, RUDA_U64, {rows, 2}, random);
  op.output(TOKENS, RUDA_I32, {rows});
  op.each_kernel(
      [&](const ruda_plan_options* options, ruda_plan* out) {
        ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
        desc.options = options;
        desc.logits = op.desc(LOGITS);
        desc.params = op.desc(PARAMS);
        desc.random = op.desc(RANDOM);
        return ruda_sample_plan_create(env.context, &desc, out);
      },
      [&](const std::string& kernel) {
        double counts[3] = {};
        for (double token : op.read(TOKENS)) counts[int(token)] += 1.0 / double(rows);
        const double want[] = {1 / 30.0, 4 / 30.0, 25 / 30.0};
        for (int i = 0; i < 3; ++i)
          CHECK(std::fabs(counts[i] - want[i]) <= 6 * std::sqrt(want[i] * (1 - want[i]) / double(rows)),
                "%s: token %d came with frequency %g, expected %g", kernel.c_str(), i, counts[i], want[i]);
      });
}

RUDA_TEST(sample_eager) {
  OpRun op(env, "sample");
  op.input(LOGITS, RUDA_F32, {2, 4}, {0, 3, 1, 2, 5, 4, 3, 2});
  op.input(PARAMS, RUDA_F64, {2, 8}, Values(16, 0.0));
  op.inout(RANDOM, RUDA_U64, {2, 2}, {1, 0, 2, 0});
  op.inout(HISTORY, RUDA_I32, {2, 3}, {9, 9, 9, 9, 9, 9});
  op.inout(LENGTHS, RUDA_I32, {2}, {0, 2});
  for (bool with_params : {false, true}) {
    ruda_tensor tokens = nullptr;
    MUST(ruda_sample(env.stream, op.tensor(LOGITS), with_params ? op.tensor(PARAMS) : nullptr,
                     with_params ? op.tensor(RANDOM) : nullptr, op.tensor(HISTORY), op.tensor(LENGTHS), 1,
                     &tokens));
    int32_t got[2] = {};
    MUST(ruda_tensor_read(env.stream, tokens, got, sizeof got));
    CHECK(got[0] == 1 && got[1] == 0, "tokens are %d and %d, expected 1 and 0", got[0], got[1]);
    ruda_release(tokens);
  }
  CHECK(op.read(HISTORY) == (Values{1, 1, 9, 9, 9, 0}), "history of two eager calls");
  CHECK(op.read(LENGTHS) == (Values{2, 3}), "lengths of two eager calls");
}

RUDA_TEST(sample_errors) {
  OpRun op(env, "sample"), other(env, "sample");
  op.input(LOGITS, RUDA_F32, {2, 4}, Values(8, 0.0));
  op.input(PARAMS, RUDA_F64, {2, 8}, Values(16, 0.0));
  op.inout(RANDOM, RUDA_U64, {2, 2}, {1, 0, 2, 0});
  op.inout(HISTORY, RUDA_I32, {2, 3}, Values(6, 0.0));
  op.inout(LENGTHS, RUDA_I32, {2}, {0, 0});
  other.input(LOGITS, RUDA_I32, {2, 4}, Values(8, 0.0));
  other.input(PARAMS, RUDA_F64, {2, 6}, Values(12, 0.0));
  other.inout(LENGTHS, RUDA_I32, {3}, {0, 0, 0});
  other.output(TOKENS, RUDA_I64, {2});
  const auto attempt = [&](auto change) {
    ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
    desc.logits = op.desc(LOGITS);
    desc.params = op.desc(PARAMS);
    desc.random = op.desc(RANDOM);
    desc.history = op.desc(HISTORY);
    desc.lengths = op.desc(LENGTHS);
    change(desc);
    ruda_plan plan = nullptr;
    const ruda_status status = ruda_sample_plan_create(env.context, &desc, &plan);
    CHECK(!plan, "a failed call gave a plan");
    return status;
  };
  using D = ruda_sample_desc;
  CHECK_FAILS(attempt([&](D& d) { d.logits = nullptr; }), RUDA_E_NULL, 1, "sample: logits is NULL");
  CHECK_FAILS(attempt([&](D& d) { d.append = 2; }), RUDA_E_ARGUMENT, 1, "append is 2, expected 0 or 1");
  CHECK_FAILS(attempt([&](D& d) { d.random = nullptr; }), RUDA_E_ARGUMENT, 1,
              "random is NULL, expected params and random or neither");
  CHECK_FAILS(attempt([&](D& d) { d.history = nullptr; }), RUDA_E_ARGUMENT, 1,
              "history is NULL, expected history and lengths or neither");
  CHECK_FAILS(attempt([&](D& d) {
                d.history = d.lengths = nullptr;
                d.append = 1;
              }),
              RUDA_E_ARGUMENT, 1, "append is 1 without history");
  CHECK_FAILS(attempt([&](D& d) { d.logits = other.desc(LOGITS); }), RUDA_E_DTYPE, 1,
              "logits has dtype I32, expected one of F32, F16, BF16");
  CHECK_FAILS(attempt([&](D& d) { d.params = other.desc(PARAMS); }), RUDA_E_SHAPE, 1,
              "params dim 1 is 6, expected 8");
  CHECK_FAILS(attempt([&](D& d) { d.lengths = other.desc(LENGTHS); }), RUDA_E_SHAPE, 1,
              "lengths dim 0 is 3, expected 2");
  CHECK_FAILS(attempt([&](D& d) { d.tokens = other.desc(TOKENS); }), RUDA_E_DTYPE, 1,
              "tokens has dtype I64, expected I32");
}

RUDA_BENCH(sample_bench) {
  const struct {
    const char* name;
    int64_t rows;
    bool params;
    Params p;
  } cases[] = {{" greedy", 1, false, {}},           {" greedy", 64, false, {}},
               {" temperature", 1, true, {0.8}},    {" top_k top_p", 1, true, {0.8, 40, 0.95}},
               {" top_p", 1, true, {0.8, 0, 0.95}}, {" top_k top_p", 64, true, {0.8, 40, 0.95}}};
  for (const auto& c : cases) {
    const int64_t vocab = 49152;
    OpRun op(env, "sample");
    op.input(LOGITS, RUDA_F32, {c.rows, vocab}, env.normal(c.rows * vocab, 3.0));
    if (c.params) {
      Values params, random;
      for (int64_t r = 0; r < c.rows; ++r) {
        for (double v : {c.p.temperature, c.p.top_k, c.p.top_p, 0.0, 0.0, 0.0, 0.0, 0.0}) params.push_back(v);
        random.push_back(double(r)), random.push_back(0);
      }
      op.input(PARAMS, RUDA_F64, {c.rows, 8}, params);
      op.inout(RANDOM, RUDA_U64, {c.rows, 2}, random);
    }
    op.output(TOKENS, RUDA_I32, {c.rows});
    op.bench("sample f32 " + std::to_string(c.rows) + "x49152" + c.name, double(c.rows * vocab) * 4, 0,
             [&](const ruda_plan_options* options, ruda_plan* out) {
               ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
               desc.options = options;
               desc.logits = op.desc(LOGITS);
               if (c.params) desc.params = op.desc(PARAMS), desc.random = op.desc(RANDOM);
               return ruda_sample_plan_create(env.context, &desc, out);
             });
  }
}
