// tests/support/paged_attention.hpp - cases of paged_attention and their oracle in double.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "support/op_run.hpp"
#include "support/paged.hpp"

#include <cmath>

namespace ruda::test {

inline constexpr uint32_t Q = RUDA_PAGED_ATTENTION_Q, K = RUDA_PAGED_ATTENTION_K, V = RUDA_PAGED_ATTENTION_V,
                          SCHEDULE = RUDA_PAGED_ATTENTION_SCHEDULE, OUT = RUDA_PAGED_ATTENTION_OUT,
                          LSE = RUDA_PAGED_ATTENTION_LSE;

struct Case {
  uint32_t dtype = RUDA_F32, cache_dtype = RUDA_F32;
  int64_t q_heads = 4, kv_heads = 2, dim = 16, value_dim = 16;
  uint32_t page_size = 4;
  double scale = 0.25;
  bool causal = true;
  uint32_t splits = 0;
  bool lse = true;
  int64_t spare_rows = 0;
  double value_scale = 1;
  bool nan_tails = false;
  Shape q_strides = {}, out_strides = {}, lse_strides = {};
  bool heads_first = false;  // pages as [kv_heads, page_size, dim]
};

// Bounds of kernels in F32, and of those that multiply two bf16 for each operand (".. /amx").
struct Expected {
  std::vector<double> out, out_bound, lse, lse_bound, out_bound_tiles, lse_bound_tiles;

  const std::vector<double>& out_bounds(const std::string& kernel) const {
    return kernel.ends_with("/amx") ? out_bound_tiles : out_bound;
  }
  const std::vector<double>& lse_bounds(const std::string& kernel) const {
    return kernel.ends_with("/amx") ? lse_bound_tiles : lse_bound;
  }
};

// Each score is a chain of dim products, each sum a chain over the keys; exp and the rescaling add a few
// roundings a tile. As two bf16 an operand keeps all but 2^-16 of itself, a product loses as much for the two
// low parts that are not multiplied, and a chain has three terms for one; where the
// result is BF16 each weight is rounded to it.
inline Expected oracle(const Case& c, const Layout& l, const std::vector<double>& q,
                       const std::vector<double>& k, const std::vector<double>& v) {
  Expected e;
  const double eps = std::ldexp(1.0, -24);
  for (size_t i = 0; i < l.queries.size(); ++i) {
    const auto& [sequence, position] = l.queries[i];
    const auto s = sequence;  // a lambda captures no structured binding
    const int64_t length = l.lengths[s],
                  seen = c.causal ? std::min<int64_t>(length, int64_t(position) + 1) : length;
    for (int64_t h = 0; h < c.q_heads; ++h) {
      const int64_t kv = h / (c.q_heads / c.kv_heads);
      std::vector<double> x;
      double worst = 0, worst_tiles = 0, largest = -INFINITY;
      const double lost = 3 * std::ldexp(1.0, -16), rounded = c.dtype == RUDA_BF16 ? std::ldexp(1.0, -8) : 0;
      const auto row = [&](int64_t j) {
        return (int64_t(l.tables[s][size_t(j / c.page_size)]) * c.page_size + j % c.page_size) * c.kv_heads +
               kv;
      };
      for (int64_t j = 0; j < seen; ++j) {
        double dot = 0, magnitude = 0;
        for (int64_t d = 0; d < c.dim; ++d) {
          const double term =
              q[size_t((int64_t(i) * c.q_heads + h) * c.dim + d)] * k[size_t(row(j) * c.dim + d)];
          dot += term;
          magnitude += std::fabs(term);
        }
        x.push_back(dot * c.scale);
        largest = std::max(largest, x.back());
        worst = std::max(worst, (double(c.dim) + 3) * eps * magnitude * c.scale + std::fabs(x.back()) * eps);
        worst_tiles = std::max(worst_tiles, ((3 * double(c.dim) + 4) * eps + lost) * magnitude * c.scale +
                                                std::fabs(x.back()) * eps);
      }
      double weight = 0;
      for (double score : x) weight += std::exp(score - largest);
      // Scores off by `worst` move each weight by that, relative; the maximum subtracted from it by one
      // rounding.
      const double softmax = (double(seen) / 4 + 3.0 * double(seen) / 64 + 24) * eps;
      const double relative = std::expm1(2 * worst) + softmax,
                   relative_tiles = std::expm1(2 * worst_tiles) + softmax;
      for (int64_t d = 0; d < c.value_dim; ++d) {
        double total = 0, magnitude = 0;
        for (int64_t j = 0; j < seen; ++j) {
          const double term = std::exp(x[size_t(j)] - largest) / weight * v[size_t(row(j) * c.value_dim + d)];
          total += term;
          magnitude += std::fabs(term);
        }
        e.out.push_back(total);
        const double grid = c.dtype == RUDA_F16 ? std::ldexp(1.0, -25) : 1e-37;
        e.out_bound.push_back((relative + double(seen) * eps) * magnitude +
                              std::fabs(total) * epsilon(c.dtype) * 0.51 + grid);
        e.out_bound_tiles.push_back((relative_tiles + 3 * double(seen) * eps + lost + rounded) * magnitude +
                                    std::fabs(total) * epsilon(c.dtype) * 0.51 + grid);
      }
      e.lse.push_back(seen ? largest + std::log(weight) : -INFINITY);
      const double end = 4 * eps * (std::fabs(largest) + std::log(double(seen) + 1) + 1);
      e.lse_bound.push_back(seen ? relative + end : 0);
      e.lse_bound_tiles.push_back(seen ? relative_tiles + end : 0);
    }
  }
  return e;
}

inline OpRun::Create creator(Env& env, const OpRun& op, const Case& c) {
  return [&env, &op, c](const ruda_plan_options* options, ruda_plan* out) {
    ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
    desc.options = options;
    desc.q = op.desc(Q);
    desc.k = op.desc(K);
    desc.v = op.desc(V);
    desc.out = op.desc(OUT);
    desc.lse = c.lse ? op.desc(LSE) : nullptr;
    desc.scale = c.scale;
    desc.causal = c.causal;
    desc.splits = c.splits;
    desc.outputs = c.lse ? RUDA_PAGED_ATTENTION_WANT_LSE : 0;
    return ruda_paged_attention_plan_create(env.context, &desc, out);
  };
}

// The case on given values; fills slots of the pages that no history uses with NaN where asked.
inline void check_values(Env& env, const Case& c, const Layout& l, std::vector<double> q,
                         std::vector<double> k, std::vector<double> v) {
  PagedCase paged(env, c.page_size, l);
  const int64_t queries = int64_t(l.queries.size()), rows = queries + c.spare_rows, pages = l.pages;
  OpRun op(env, "paged_attention");
  if (c.nan_tails) {
    std::vector<bool> used(size_t(pages * c.page_size), false);
    for (size_t s = 0; s < l.tables.size(); ++s)
      for (uint32_t j = 0; j < l.lengths[s]; ++j)
        used[size_t(l.tables[s][j / c.page_size]) * c.page_size + j % c.page_size] = true;
    for (size_t slot = 0; slot < used.size(); ++slot) {
      if (used[slot]) continue;
      std::fill_n(k.begin() + int64_t(slot) * c.kv_heads * c.dim, c.kv_heads * c.dim, NAN);
      std::fill_n(v.begin() + int64_t(slot) * c.kv_heads * c.value_dim, c.kv_heads * c.value_dim, NAN);
    }
  }
  const auto strides = [&](int64_t dim) {
    return c.heads_first ? Shape{c.kv_heads * c.page_size * dim, dim, c.page_size * dim, 1} : Shape{};
  };
  q.resize(size_t(rows * c.q_heads * c.dim), NAN);  // rows past the schedule are not read
  q = op.input(Q, c.dtype, {rows, c.q_heads, c.dim}, q, c.q_strides);
  k = op.input(K, c.cache_dtype, {pages, c.page_size, c.kv_heads, c.dim}, k, strides(c.dim));
  v = op.input(V, c.cache_dtype, {pages, c.page_size, c.kv_heads, c.value_dim}, v, strides(c.value_dim));
  op.output(OUT, c.dtype, {rows, c.q_heads, c.value_dim}, c.out_strides);
  if (c.lse) op.output(LSE, RUDA_F32, {rows, c.q_heads}, c.lse_strides);
  op.bind_handle(SCHEDULE, paged.schedule);
  const Expected e = oracle(c, l, q, k, v);
  op.each_kernel(creator(env, op, c), [&](const std::string& kernel) {
    auto out = op.read(OUT);
    out.resize(e.out.size());  // the rest stays as it was
    check_close((kernel + " out").c_str(), out, e.out, [&](size_t i) { return e.out_bounds(kernel)[i]; });
    if (!c.lse) return;
    auto lse = op.read(LSE);
    lse.resize(e.lse.size());
    check_close((kernel + " lse").c_str(), lse, e.lse, [&](size_t i) { return e.lse_bounds(kernel)[i]; });
  });
}

inline void check_case(Env& env, const Case& c, const Layout& l) {
  const int64_t slots = int64_t(l.pages) * c.page_size * c.kv_heads;
  check_values(env, c, l, env.normal(int64_t(l.queries.size()) * c.q_heads * c.dim),
               env.normal(slots * c.dim), env.normal(slots * c.value_dim, c.value_scale));
}

// `sequences` histories of the given lengths in shuffled pages; the last `fresh` tokens of each are queries.
inline Layout make_layout(Env& env, uint32_t page_size, std::vector<uint32_t> lengths, uint32_t fresh) {
  Layout l;
  uint32_t pages = 0;
  for (uint32_t length : lengths) pages += (length + page_size - 1) / page_size;
  l.pages = pages + 3;
  std::vector<uint32_t> order(l.pages);
  for (uint32_t i = 0; i < l.pages; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), env.random);
  size_t at = 0;
  for (uint32_t s = 0; s < lengths.size(); ++s) {
    l.tables.emplace_back();
    for (uint32_t p = 0; p < (lengths[s] + page_size - 1) / page_size; ++p)
      l.tables.back().push_back(order[at++]);
    for (uint32_t i = lengths[s] > fresh ? lengths[s] - fresh : 0; i < lengths[s]; ++i)
      l.queries.push_back({s, i});
  }
  l.lengths = std::move(lengths);
  return l;
}

// One history of `length` one-dimensional keys; every query head asks at `positions`.
inline Layout simple_layout(uint32_t length, std::vector<uint32_t> positions) {
  Layout l;
  l.pages = (length + 3) / 4 + 1;
  l.tables = {{}};
  for (uint32_t p = 0; p < (length + 3) / 4; ++p) l.tables[0].push_back(p + 1);
  l.lengths = {length};
  for (uint32_t position : positions) l.queries.push_back({0, position});
  return l;
}

// The outputs of every kernel on scalar keys and values, against `expected`.
inline void check_tiny(Env& env, Case c, const Layout& l, const std::vector<double>& q,
                       const std::vector<double>& keys, const std::vector<double>& values,
                       const std::vector<double>& expected, const std::vector<double>& expected_lse = {}) {
  PagedCase paged(env, 4, l);
  const int64_t rows = int64_t(l.queries.size()), slots = int64_t(l.pages) * 4;
  OpRun op(env, "paged_attention");
  const auto place = [&](const std::vector<double>& row) {  // [token, kv_head] into pages, NaN elsewhere
    std::vector<double> cache(size_t(slots * c.kv_heads), NAN);
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t token = i / size_t(c.kv_heads), head = i % size_t(c.kv_heads);
      cache[(l.tables[0][token / 4] * 4 + token % 4) * size_t(c.kv_heads) + head] = row[i];
    }
    return cache;
  };
  op.input(Q, RUDA_F32, {rows, c.q_heads, 1}, q);
  op.input(K, RUDA_F32, {l.pages, 4, c.kv_heads, 1}, place(keys));
  op.input(V, RUDA_F32, {l.pages, 4, c.kv_heads, 1}, place(values));
  op.output(OUT, RUDA_F32, {rows, c.q_heads, 1});
  op.output(LSE, RUDA_F32, {rows, c.q_heads});
  op.bind_handle(SCHEDULE, paged.schedule);
  c.lse = true;
  op.each_kernel(creator(env, op, c), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(OUT), expected, [](size_t) { return 2e-6; });
    if (!expected_lse.empty())
      check_close((kernel + " lse").c_str(), op.read(LSE), expected_lse,
                  [&](size_t i) { return 1e-6 + std::fabs(expected_lse[i]) * 1e-7; });
  });
}

}  // namespace ruda::test
