// tests/cpu/simd.cpp - the SIMD layer at every level of this processor, against double and bit rules.
// SPDX-License-Identifier: Apache-2.0
#include "simd_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace ruda::cpu;

namespace {

int failures = 0;
const char* level_name = "";

void expect(bool ok, const char* what, double input, double actual, double expected) {
  if (ok) return;
  if (failures++ < 40)
    std::printf("FAIL %s %s: x %.9g (%a), got %.9g, expected %.9g\n", level_name, what, input, input, actual,
                expected);
}

uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
float from_bits(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

// Distance in units of the last place of the float nearest to `want`; huge for a wrong infinity, NaN or zero
// sign.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const double largest = std::numeric_limits<float>::max();
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(want) && std::fabs(want) > largest * (1 - 0x1p-21) ? 0 : 1e9;
  if (std::isinf(float(want)) && std::fabs(want) > largest * (1 + 0x1p-21)) return 1e9;
  int exponent;
  std::frexp(want, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, -125) - 24);
  return std::fabs(double(got) - want) / unit;
}

struct Function {
  int id;
  const char* name;
  std::function<double(double)> oracle;
  double bound, low, high;
};

double silu(double x) { return x / (1 + std::exp(-x)); }
double cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double gelu(double x) { return x * cdf(x); }
double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * inner));
}

// Walks the floats of [low, high] with a step of `step` bit patterns; the extremes come first.
std::vector<float> samples(double low, double high, uint32_t step) {
  std::vector<float> x;
  const float special[] = {0.0f,
                           -0.0f,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           from_bits(1),
                           from_bits(0x80000001u),
                           0x1p-126f,
                           from_bits(0x7f7fffffu),
                           from_bits(0xff7fffffu),
                           1.0f,
                           -1.0f,
                           88.722f,
                           88.73f,
                           -87.3f,
                           -103.9f,
                           -104.1f,
                           0.625f,
                           9.01f,
                           -14.2f};
  for (float s : special) x.push_back(s);
  for (uint64_t u = 0; u < 0x7f800000u; u += step)
    for (float v : {from_bits(uint32_t(u)), -from_bits(uint32_t(u))})
      if (v >= low && v <= high) x.push_back(v);
  return x;
}

void check_functions(const SimdTable& t, uint32_t step) {
  const double inf = INFINITY;
  const Function list[] = {
      {fn_exp, "exp", [](double x) { return std::exp(x); }, 1.1, -inf, inf},
      {fn_log, "log", [](double x) { return x < 0 ? NAN : std::log(x); }, 1.0, -inf, inf},
      {fn_tanh, "tanh", [](double x) { return std::tanh(x); }, 2.0, -inf, inf},
      {fn_sigmoid, "sigmoid",
       [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }, 3.0, -inf,
       inf},
      {fn_silu, "silu", silu, 4.0, -87, inf},
      {fn_silu, "silu tail", silu, 106.0, -1e30, -87},
      {fn_erf, "erf", [](double x) { return std::erf(x); }, 2.0, -inf, inf},
      {fn_normal_cdf, "normal_cdf", cdf, 8.0, -inf, inf},
      {fn_gelu, "gelu", gelu, 9.0, -12.9, inf},
      {fn_gelu, "gelu tail", gelu, 20.0, -1e30, -12.9},
      {fn_gelu_tanh, "gelu_tanh", gelu_tanh, 8.0, -2, inf},
      {fn_gelu_tanh, "gelu_tanh tail", gelu_tanh, 200.0, -1e30, -2},
      {fn_abs, "abs", [](double x) { return std::fabs(x); }, 0, -inf, inf},
      {fn_neg, "neg", [](double x) { return -x; }, 0, -inf, inf},
      {fn_sqrt, "sqrt", [](double x) { return std::sqrt(x); }, 0.5, -inf, inf},
      {fn_nearest, "nearest", [](double x) { return std::nearbyint(x); }, 0, -inf, inf},
      {fn_floor, "floor", [](double x) { return std::floor(x); }, 0, -inf, inf},
      {fn_ceil, "ceil", [](double x) { return std::ceil(x); }, 0, -inf, inf},
      {fn_trunc, "trunc", [](double x) { return std::trunc(x); }, 0, -inf, inf},
      {fn_to_int_nearest, "to_int_nearest", [](double x) { return std::nearbyint(x); }, 0, -2147483000.0,
       2147483000.0},
      {fn_to_int_trunc, "to_int_trunc", [](double x) { return std::trunc(x); }, 0, -2147483000.0,
       2147483000.0},
  };
  for (const Function& f : list) {
    const std::vector<float> x = samples(f.low, f.high, step);
    std::vector<float> y(x.size() + 1, 77.0f);
    t.unary(f.id, x.data(), y.data(), int64_t(x.size()));
    expect(y[x.size()] == 77.0f, f.name, 0, y[x.size()], 77);
    double worst = 0;
    float where = 0;
    for (size_t i = 0; i < x.size(); i++) {
      if (!(double(x[i]) >= f.low && double(x[i]) <= f.high) && !std::isnan(x[i])) continue;
      if (std::isnan(x[i]) && f.low == -2147483000.0) continue;
      const double want = f.oracle(x[i]), off = ulps(y[i], want);
      if (off > worst) worst = off, where = x[i];
      expect(off <= f.bound, f.name, x[i], y[i], want);
    }
    std::printf("%-10s %-16s worst %.3f ulp at %.9g (bound %g)\n", level_name, f.name, worst, where, f.bound);
  }
}

// ---- conversions, by rules written with integers

double half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

// Nearest 16-bit code of x by halving the interval between codes: positive codes are ordered like their
// values.
uint16_t nearest_code(float x, const std::function<double(uint16_t)>& value, uint16_t infinity) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  uint16_t low = 0, high = infinity;
  while (high - low > 1) {
    const uint16_t middle = uint16_t((low + high) / 2);
    (value(middle) <= a ? low : high) = middle;
  }
  const double below = value(low),
               above = high == infinity ? 2 * value(low) - value(uint16_t(low - 1)) : value(high);
  const bool up = a - below > above - a || (a - below == above - a && (low & 1));
  return uint16_t(sign | (up ? high : low));
}

void check_conversions(const SimdTable& t, uint32_t step) {
  const auto half = [](uint16_t h) { return half_value(h); };
  const auto brain = [](uint16_t b) { return double(from_bits(uint32_t(b) << 16)); };

  std::vector<uint16_t> codes(65536);
  for (int i = 0; i < 65536; i++) codes[size_t(i)] = uint16_t(i);
  std::vector<float> wide(65536);
  std::vector<uint16_t> back(65536);
  for (int kind = 0; kind < 2; kind++) {
    const char* name = kind ? "from_bf16" : "from_f16";
    (kind ? t.from_bf16 : t.from_f16)(codes.data(), wide.data(), 65536);
    (kind ? t.to_bf16 : t.to_f16)(wide.data(), back.data(), 65536);
    for (int i = 0; i < 65536; i++) {
      const double want = kind ? brain(uint16_t(i)) : half(uint16_t(i));
      if (std::isnan(want)) {
        expect(std::isnan(wide[size_t(i)]), name, i, wide[size_t(i)], want);
        const uint16_t one = kind ? 0x7fc0 : 0x7e00;  // whatever its sign and payload
        expect(back[size_t(i)] == one, "NaN", i, back[size_t(i)], one);
      } else {
        expect(double(wide[size_t(i)]) == want && std::signbit(wide[size_t(i)]) == std::signbit(want), name,
               i, wide[size_t(i)], want);
        expect(back[size_t(i)] == i, "round trip", i, back[size_t(i)], i);
      }
    }
  }

  std::vector<float> x = samples(-INFINITY, INFINITY, step);
  for (int i = 0; i < 0x7c00; i++)  // halfway cases and their neighbours
    for (int kind = 0; kind < 2; kind++) {
      const auto value = kind ? std::function<double(uint16_t)>(brain) : half;
      const float middle = float((value(uint16_t(i)) + value(uint16_t(i + 1))) / 2);
      if (std::isinf(middle)) continue;
      x.push_back(middle);
      x.push_back(std::nextafterf(middle, 0.0f));
      x.push_back(-std::nextafterf(middle, INFINITY));
    }
  std::vector<uint16_t> h(x.size() + 1, 0x1234), b(x.size() + 1, 0x1234);
  t.to_f16(x.data(), h.data(), int64_t(x.size()));
  t.to_bf16(x.data(), b.data(), int64_t(x.size()));
  expect(h[x.size()] == 0x1234 && b[x.size()] == 0x1234, "write behind the end", 0, h[x.size()], 0x1234);
  for (size_t i = 0; i < x.size(); i++) {
    if (std::isnan(x[i])) continue;
    const uint16_t want_h = nearest_code(x[i], half, 0x7c00), want_b = nearest_code(x[i], brain, 0x7f80);
    const uint16_t inf_h = uint16_t((want_h & 0x8000) | 0x7c00), inf_b = uint16_t((want_b & 0x8000) | 0x7f80);
    expect(h[i] == (std::isinf(x[i]) ? inf_h : want_h), "to_f16", x[i], h[i], want_h);
    expect(b[i] == (std::isinf(x[i]) ? inf_b : want_b), "to_bf16", x[i], b[i], want_b);
  }
}

// ---- pairs, masks, tails, reductions

bool same(float a, float b) { return std::isnan(a) ? std::isnan(b) : bits(a) == bits(b); }

void check_pairs(const SimdTable& t, bool fused) {
  std::vector<float> values = {0.0f,      -0.0f, 1.0f,         -1.0f, NAN,       INFINITY,
                               -INFINITY, 2.5f,  from_bits(1), 3e38f, 1.0000001f};
  std::vector<float> a, b, c;
  for (float x : values)
    for (float y : values)
      for (float z : values) a.push_back(x), b.push_back(y), c.push_back(z);
  const int64_t n = int64_t(a.size());
  std::vector<float> y(a.size());
  struct Row {
    int id;
    const char* name;
    std::function<float(float, float, float)> rule;
  };
  const Row rows[] = {
      {fn_add, "add", [](float p, float q, float) { return p + q; }},
      {fn_fma, "fma", [&](float p, float q, float r) { return fused ? std::fma(p, q, r) : p * q + r; }},
      {fn_fnma, "fnma", [&](float p, float q, float r) { return fused ? std::fma(-p, q, r) : r - p * q; }},
      {fn_min, "min", [](float p, float q, float) { return p < q ? p : q; }},
      {fn_max, "max", [](float p, float q, float) { return p > q ? p : q; }},
      {fn_min_nan, "min_nan", [](float p, float q, float) { return std::isnan(p) ? p
                                                                   : p < q       ? p
                                                                                 : q; }},
      {fn_max_nan, "max_nan", [](float p, float q, float) { return std::isnan(p) ? p
                                                                   : p > q       ? p
                                                                                 : q; }},
      {fn_less, "less", [](float p, float q, float) { return float(p < q); }},
      {fn_less_equal, "less_equal", [](float p, float q, float) { return float(p <= q); }},
      {fn_greater, "greater", [](float p, float q, float) { return float(p > q); }},
      {fn_greater_equal, "greater_equal", [](float p, float q, float) { return float(p >= q); }},
      {fn_equal, "equal", [](float p, float q, float) { return float(p == q); }},
      {fn_not_equal, "not_equal", [](float p, float q, float) { return float(p != q); }},
      {fn_copysign, "copysign", [](float p, float q, float) { return std::copysign(p, q); }},
  };
  for (const Row& row : rows) {
    t.binary(row.id, a.data(), b.data(), c.data(), y.data(), n);
    for (size_t i = 0; i < a.size(); i++) {
      const float want = row.rule(a[i], b[i], c[i]);
      expect(same(y[i], want), row.name, double(i), y[i], want);
    }
  }
  std::vector<float> index(100), table(100), out(100);
  for (int i = 0; i < 100; i++) index[size_t(i)] = float(i * 37 % 100), table[size_t(i)] = float(i) * 0.5f;
  t.binary(fn_gather, table.data(), index.data(), index.data(), out.data(), 100);
  const int whole = 100 / t.lanes * t.lanes;  // the partial vector gathers beyond its tail's table
  for (int i = 0; i < whole; i++)
    expect(out[size_t(i)] == index[size_t(i)] * 0.5f, "gather", i, out[size_t(i)], 0);
}

struct PairFunction {
  int id;
  const char* name;
  std::function<double(double, double)> oracle;
  double bound;
};
constexpr float bases[] = {0.0f,           1.0f,
                           0.5f,           2.0f,
                           3.0f,           10.0f,
                           0x1.fffffep-1f, 0x1.000002p+0f,
                           0x1p-149f,      0x1.8p-130f,
                           0x1p-126f,      0x1.fffffep127f,
                           0x1.6a09e6p+0f, 0x1.6a09e6p-1f,
                           0x1p24f,        0x1.fffffep23f,
                           0x1.8p22f,      2.5f,
                           7.0f,           127.0f,
                           128.0f,         149.0f,
                           150.0f,         1e9f,
                           INFINITY,       NAN};

// Every pair of the numbers above, of both signs; then random ones.
void pairs_of(uint32_t count, std::vector<float>& a, std::vector<float>& b) {
  for (float x : bases)
    for (float y : bases)
      for (int signs = 0; signs < 4; signs++)
        a.push_back(signs & 1 ? -x : x), b.push_back(signs & 2 ? -y : y);
  uint64_t state = 88172645463325252u;
  const auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return uint32_t(state >> 16);
  };
  const auto unit = [&] { return double(next()) * 0x1p-31 - 1; };
  for (uint32_t i = 0; i < count; i++) {
    float x = from_bits(next()), y = from_bits(next());
    const double size = std::log2(std::fabs(double(x)));
    switch (i % 6) {
      case 0: break;                                  // any two floats
      case 1: y = float(unit() * 152 / size); break;  // powers in range, subnormal ones too
      case 2: y = float(std::nearbyint(unit() * 152 / std::max(std::fabs(size), 1.0))); break;
      case 3: x = from_bits(0x3f000000u + next() % 0x1000000u), y = float(std::exp(unit() * 25)); break;
      case 4: x = float(double(y) * unit() * 2); break;  // any angle
      case 5: x = float(unit()), y = float(unit() * 20); break;
    }
    a.push_back(x), b.push_back(y);
  }
}

void check_pair_functions(const SimdTable& t, uint32_t count) {
  const PairFunction list[] = {{fn_pow, "pow", [](double x, double y) { return std::pow(x, y); }, 0.55},
                               {fn_atan2, "atan2", [](double y, double x) { return std::atan2(y, x); }, 1.6}};
  std::vector<float> a, b;
  pairs_of(count, a, b);
  std::vector<float> y(a.size() + 1, 77.0f);
  for (const PairFunction& f : list) {
    t.binary(f.id, a.data(), b.data(), b.data(), y.data(), int64_t(a.size()));
    expect(y[a.size()] == 77.0f, f.name, 0, y[a.size()], 77);
    double worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < a.size(); i++) {
      const double want = f.oracle(a[i], b[i]), off = ulps(y[i], want);
      if (off > worst) worst = off, where = i;
      const bool sign = std::isnan(want) || std::signbit(want) == std::signbit(y[i]);
      expect(off <= f.bound && sign, (f.name + (" of " + std::to_string(b[i])) + " and").c_str(), a[i], y[i],
             want);
    }
    std::printf("%-10s %-16s worst %.3f ulp at %.9g and %.9g (bound %g)\n", level_name, f.name, worst,
                a[where], b[where], f.bound);
  }
}

void check_rest(const SimdTable& t) {
  const int n = t.lanes;
  std::vector<float> x(64), y(64);
  std::vector<int32_t> xi(64), yi(64), zi(64), index(64);
  uint32_t seed = 12345;
  for (int round = 0; round < 200; round++) {
    for (size_t i = 0; i < 64; i++) {
      seed = seed * 1664525u + 1013904223u;
      x[i] = float(int32_t(seed) >> 8) * 0x1p-16f;
      xi[i] = int32_t(seed) >> 9;
      yi[i] = int32_t(seed * 7u) >> 9;
    }
    double want = 0, magnitude = 0;
    int32_t want_int = 0;
    for (int i = 0; i < n; i++)
      want += x[size_t(i)], magnitude += std::fabs(x[size_t(i)]), want_int += xi[size_t(i)];
    expect(std::fabs(t.reduce(fn_sum, x.data()) - want) <= magnitude * 4 * 0x1p-24, "sum", round,
           t.reduce(fn_sum, x.data()), want);
    expect(t.reduce(fn_max_lane, x.data()) == *std::max_element(x.begin(), x.begin() + n), "max_lane", round,
           0, 0);
    expect(t.reduce(fn_min_lane, x.data()) == *std::min_element(x.begin(), x.begin() + n), "min_lane", round,
           0, 0);
    expect(t.reduce_int(fn_sum, xi.data()) == want_int, "int sum", round, 0, want_int);
    expect(t.reduce_int(fn_max_lane, xi.data()) == *std::max_element(xi.begin(), xi.begin() + n), "int max",
           round, 0, 0);
    expect(t.reduce_int(fn_min_lane, xi.data()) == *std::min_element(xi.begin(), xi.begin() + n), "int min",
           round, 0, 0);

    const int count = round % 60;
    for (int f : {fn_min, fn_max, fn_add}) {
      std::fill(zi.begin(), zi.end(), 99);
      t.binary_int(f, xi.data(), yi.data(), zi.data(), count);
      for (int i = 0; i < 64; i++) {
        const int32_t p = xi[size_t(i)], q = yi[size_t(i)];
        const int32_t w = i >= count    ? 99
                          : f == fn_min ? std::min(p, q)
                          : f == fn_max ? std::max(p, q)
                                        : p + q;
        expect(zi[size_t(i)] == w, "binary_int", i, zi[size_t(i)], w);
      }
    }

    const float limit = float(round % 40 - 20) * 6.0f;
    std::fill(y.begin(), y.end(), -1e9f);
    std::fill(index.begin(), index.end(), -1);
    const int got = t.compress(x.data(), limit, y.data(), index.data());
    int k = 0, lowest = -1;
    for (int i = 0; i < n; i++)
      if (x[size_t(i)] > limit) {
        if (lowest < 0) lowest = i;
        expect(y[size_t(k)] == x[size_t(i)] && index[size_t(k)] == i, "compress", i, y[size_t(k)],
               x[size_t(i)]);
        k++;
      }
    expect(got == k && y[size_t(k)] == -1e9f && index[size_t(k)] == -1, "compress count", round, got, k);
    expect(t.first_above(x.data(), limit) == lowest, "first_true", round, t.first_above(x.data(), limit),
           lowest);
  }
  for (int count = -2; count <= n + 2; count++) {
    const uint32_t want = (1u << std::clamp(count, 0, n)) - 1u;
    expect(t.first_bits(count) == want, "first", count, t.first_bits(count), want);
  }
  for (int count = 0; count <= 3 * n; count++) {  // tails write nothing behind their end
    std::fill(y.begin(), y.end(), 5.0f);
    t.unary(fn_neg, x.data(), y.data(), count);
    for (int i = 0; i < 64; i++)
      expect(y[size_t(i)] == (i < count ? -x[size_t(i)] : 5.0f), "tail", i, y[size_t(i)], 0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A step of 1 takes every float (minutes); the default is a prime, so that all low bit patterns occur.
  const uint32_t step = argc > 1 ? uint32_t(std::stoul(argv[1])) : 4099;
  const IsaTable<SimdTable> list[] = {RUDA_ISA_LIST(SimdTable, simd_table)};
  for (const auto& entry : list) {
    if (entry.level > isa()) continue;
    level_name = isa_name(entry.level);
    const bool fused = level_name != isa_name(Isa::scalar) && std::strcmp(level_name, "sse4") != 0;
    check_functions(*entry.table, step);
    check_conversions(*entry.table, step * 16);
    check_pairs(*entry.table, fused);
    check_pair_functions(*entry.table, 0x7f800000u / step);
    check_rest(*entry.table);
  }
  if (failures) std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
