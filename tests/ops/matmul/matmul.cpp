// tests/ops/matmul/matmul.cpp - matmul against plain loops in double, on every kernel.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/op_run.hpp"

#include <algorithm>
#include <cmath>

using namespace ruda::test;

namespace {

constexpr uint32_t A = RUDA_MATMUL_A, B = RUDA_MATMUL_B, BIAS = RUDA_MATMUL_BIAS, C = RUDA_MATMUL_C,
                   A_SCALE = RUDA_MATMUL_A_SCALE, B_SCALE = RUDA_MATMUL_B_SCALE;

struct Case {
  int64_t m, n, k;
  uint32_t a_dtype = RUDA_F32, b_dtype = RUDA_F32, c_dtype = RUDA_F32;
  bool transpose_a = false, transpose_b = false, bias = false;
  Shape a_lead = {}, b_lead = {};
  int64_t a_gap = 0, b_gap = 0, c_gap = 0;  // elements between rows
  uint32_t activation = RUDA_ACTIVATION_NONE;
  double a_scale = 0, b_scale = 0;  // 0 = none
  bool fp8() const { return size_of(a_dtype) == 1; }
};

double activated(uint32_t activation, double x) {
  switch (activation) {
    case RUDA_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case RUDA_ACTIVATION_GELU: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case RUDA_ACTIVATION_GELU_TANH:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case RUDA_ACTIVATION_SILU: return x / (1 + std::exp(-x));
    default: return x;
  }
}

// Leading extents of the result: aligned at the last, 1 or missing is repeated.
Shape broadcast(const Shape& x, const Shape& y) {
  Shape out(std::max(x.size(), y.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t from_end = out.size() - i;
    const int64_t p = from_end <= x.size() ? x[x.size() - from_end] : 1;
    const int64_t q = from_end <= y.size() ? y[y.size() - from_end] : 1;
    out[i] = p == 1 ? q : p;
  }
  return out;
}

// Which matrix of an operand with leading extents `own` the result's matrix `index` uses.
int64_t matrix_of(int64_t index, const Shape& full, const Shape& own) {
  int64_t at = 0, step = 1;
  for (size_t from_end = 1; from_end <= full.size(); ++from_end) {
    const int64_t extent = full[full.size() - from_end], i = index % extent;
    index /= extent;
    if (from_end > own.size()) continue;
    const int64_t mine = own[own.size() - from_end];
    at += (mine == 1 ? 0 : i) * step;
    step *= mine;
  }
  return at;
}

struct Expected {
  std::vector<double> value, magnitude;  // and the sum of absolute products
};

Expected oracle(const Case& t, const std::vector<double>& a, const std::vector<double>& b,
                const std::vector<double>& bias) {
  const Shape lead = broadcast(t.a_lead, t.b_lead);
  const int64_t count = count_of(lead);
  Expected e;
  for (int64_t p = 0; p < count; ++p) {
    const double* x = a.data() + matrix_of(p, lead, t.a_lead) * t.m * t.k;
    const double* y = b.data() + matrix_of(p, lead, t.b_lead) * t.n * t.k;
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t j = 0; j < t.n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < t.k; ++k) {
          const double product = (t.transpose_a ? x[k * t.m + i] : x[i * t.k + k]) *
                                 (t.transpose_b ? y[j * t.k + k] : y[k * t.n + j]);
          sum += product;
          magnitude += std::fabs(product);
        }
        if (t.a_scale != 0) sum *= t.a_scale, magnitude *= t.a_scale;
        if (t.b_scale != 0) sum *= t.b_scale, magnitude *= t.b_scale;
        if (t.bias) sum += bias[size_t(j)], magnitude += std::fabs(bias[size_t(j)]);
        e.value.push_back(activated(t.activation, sum));
        e.magnitude.push_back(magnitude);
      }
  }
  return e;
}

// Every product and every sum rounds once, in any order: (k + 2) half ulps of the sum of magnitudes. Then one
// rounding to the dtype of c, and at most 2^-126 a product where subnormals count as zero. Two more for
// scales. An activation is at most 1.13 times as steep as its argument and has the error of its row in unary.
// FP8 products in cuBLASLt have shorter sums.
double bound(const Case& t, const Expected& e, size_t i, const std::string& kernel = "") {
  const bool short_sums = t.fp8() && kernel.ends_with("cublaslt");
  double sum = (double(t.k + (t.fp8() ? 4 : 2)) * 0x1p-24 + (short_sums ? 0x1p-9 : 0)) * e.magnitude[i] +
               double(t.k) * 0x1p-126;
  if (t.activation) sum = 1.13 * sum + 240 * 0x1p-24 * std::fabs(e.value[i]) + 0x1p-120;
  return sum + (t.c_dtype == RUDA_F32 ? 0 : (std::fabs(e.value[i]) + sum) * epsilon(t.c_dtype) / 2) +
         (t.c_dtype == RUDA_F16 ? 0x1p-25 : 0x1p-126);
}

Shape strides_of(const Shape& shape, int64_t gap) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = step * std::max<int64_t>(shape[i], 1) + (i + 1 == shape.size() ? gap : 0);
  }
  return strides;
}

Shape shape_of(Shape lead, int64_t rows, int64_t cols) {
  lead.push_back(rows);
  lead.push_back(cols);
  return lead;
}

OpRun::Create creator(Env& env, const OpRun& op, const Case& t) {
  return [&env, &op, t](const ruda_plan_options* options, ruda_plan* out) {
    ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
    desc.options = options;
    desc.a = op.desc(A);
    desc.b = op.desc(B);
    desc.bias = t.bias ? op.desc(BIAS) : nullptr;
    desc.c = op.desc(C);
    desc.transpose_a = t.transpose_a;
    desc.transpose_b = t.transpose_b;
    desc.activation = t.activation;
    desc.a_scale = t.a_scale != 0 ? op.desc(A_SCALE) : nullptr;
    desc.b_scale = t.b_scale != 0 ? op.desc(B_SCALE) : nullptr;
    return ruda_matmul_plan_create(env.context, &desc, out);
  };
}

void describe(const Case& t) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "m %lld n %lld k %lld dtypes %u %u %u ta %d tb %d bias %d lead %zu %zu activation %u scales %g %g",
      (long long)t.m, (long long)t.n, (long long)t.k, t.a_dtype, t.b_dtype, t.c_dtype, t.transpose_a,
      t.transpose_b, t.bias, t.a_lead.size(), t.b_lead.size(), t.activation, t.a_scale, t.b_scale);
  set_case(text);
}

struct Operands {
  std::vector<double> a, b, bias;
};

Operands fill(OpRun& op, const Case& t) {
  Operands o;
  const Shape a = t.transpose_a ? shape_of(t.a_lead, t.k, t.m) : shape_of(t.a_lead, t.m, t.k);
  const Shape b = t.transpose_b ? shape_of(t.b_lead, t.n, t.k) : shape_of(t.b_lead, t.k, t.n);
  const Shape c = shape_of(broadcast(t.a_lead, t.b_lead), t.m, t.n);
  o.a = op.random_input(A, t.a_dtype, a, 1.0, strides_of(a, t.a_gap));
  o.b = op.random_input(B, t.b_dtype, b, 1.0, strides_of(b, t.b_gap));
  if (t.bias) o.bias = op.random_input(BIAS, t.fp8() ? uint32_t(RUDA_BF16) : t.b_dtype, {t.n});
  if (t.a_scale != 0) op.input(A_SCALE, RUDA_F32, {1}, {t.a_scale});
  if (t.b_scale != 0) op.input(B_SCALE, RUDA_F32, {1}, {t.b_scale});
  op.output(C, t.c_dtype, c, strides_of(c, t.c_gap));
  return o;
}

void verify(Env& env, OpRun& op, const Case& t, const Expected& e) {
  op.each_kernel(creator(env, op, t), [&](const std::string& kernel) {
    check_close(kernel.c_str(), op.read(C), e.value, [&](size_t i) { return bound(t, e, i, kernel); });
  });
}

void check_case(Env& env, const Case& t) {
  describe(t);
  OpRun op(env, "matmul");
  const Operands o = fill(op, t);
  verify(env, op, t, oracle(t, o.a, o.b, o.bias));
}

struct Dtypes {
  uint32_t a, b, c;
};
const Dtypes all_dtypes[] = {{RUDA_F32, RUDA_F32, RUDA_F32},   {RUDA_F16, RUDA_F16, RUDA_F16},
                             {RUDA_F16, RUDA_F16, RUDA_F32},   {RUDA_BF16, RUDA_BF16, RUDA_BF16},
                             {RUDA_BF16, RUDA_BF16, RUDA_F32}, {RUDA_F32, RUDA_BF16, RUDA_F32},
                             {RUDA_F32, RUDA_F16, RUDA_F32}};

}  // namespace

RUDA_TEST(matmul_dtypes_and_transposes) {
  for (const Dtypes& d : all_dtypes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (bool bias : {false, true})
          for (int64_t m : {1, 5, 37}) check_case(env, {m, 43, 67, d.a, d.b, d.c, ta, tb, bias, {}, {}});
}

// Around the sizes of register tiles, vectors, tile rows and k steps.
RUDA_TEST(matmul_edges) {
  const int64_t sizes[] = {1, 2, 3, 7, 8, 11, 12, 13, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65};
  for (int64_t s : sizes)
    for (int64_t t : {1, 16, 33})
      for (const Dtypes& d : {all_dtypes[0], all_dtypes[3], all_dtypes[4]}) {
        check_case(env, {s, t, 40, d.a, d.b, d.c, false, true, false, {}, {}});
        check_case(env, {t, s, 40, d.a, d.b, d.c, false, true, true, {}, {}});
        check_case(env, {17, t, s, d.a, d.b, d.c, false, true, false, {}, {}});
        check_case(env, {t, 35, s, d.a, d.b, d.c, false, false, false, {}, {}});
      }
}

// Every operand ends where its memory ends, in every pairing of tile, vector and remainder.
RUDA_TEST(matmul_ends_of_operands) {
  for (const Dtypes& d : all_dtypes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (int64_t m : {1, 10, 29})
          for (int64_t k : {1, 18, 69})
            for (int64_t n : {1, 12, 23, 34, 45})
              check_case(env, {m, n, k, d.a, d.b, d.c, ta, tb, n == 23, {}, {}});
}

RUDA_TEST(matmul_random_shapes) {
  for (int round = 0; round < 60 * (1 + env.settings.level * 5); ++round) {
    Case t{env.integer(1, 150), env.integer(1, 150), env.integer(1, 300)};
    const Dtypes& d = all_dtypes[size_t(env.integer(0, 6))];
    t.a_dtype = d.a, t.b_dtype = d.b, t.c_dtype = d.c;
    t.transpose_a = env.integer(0, 1), t.transpose_b = env.integer(0, 1), t.bias = env.integer(0, 1);
    t.a_gap = env.integer(0, 9), t.b_gap = env.integer(0, 9), t.c_gap = env.integer(0, 9);
    check_case(env, t);
  }
}

// More than one block of k, of columns and of rows.
RUDA_TEST(matmul_blocks) {
  check_case(env, {61, 67, 1031});
  check_case(env, {200, 70, 700, RUDA_BF16, RUDA_BF16, RUDA_BF16, false, true, true, {}, {}});
  check_case(env, {33, 1100, 129, RUDA_F16, RUDA_F16, RUDA_F16, false, true, true, {}, {}});
  check_case(env, {40, 1500, 1230, RUDA_BF16, RUDA_BF16, RUDA_BF16, false, true, true, {}, {}});
  check_case(env, {3, 2100, 900, RUDA_F32, RUDA_BF16, RUDA_F32, false, true, true, {}, {}});
  check_case(env, {1, 1500, 1100, RUDA_BF16, RUDA_BF16, RUDA_BF16, false, false, false, {}, {}});
  Case t{70, 1100, 900, RUDA_BF16, RUDA_BF16, RUDA_BF16, false, true, true, {}, {}};
  t.activation = RUDA_ACTIVATION_SILU;
  check_case(env, t);
}

// Rows that begin at multiples of 16 bytes whatever their length: vectors, their remainder, several warps
// that share k.
RUDA_TEST(matmul_few_rows) {
  for (const Dtypes& d : all_dtypes)
    for (int64_t m : {1, 2, 3, 4, 5, 8, 9})
      for (int64_t k : {1, 7, 8, 12, 67, 256, 259, 1100, 2083})
        for (int64_t n : {1, 3, 4, 37}) {
          Case t{m, n, k, d.a, d.b, d.c, false, true, n == 37, {}, {}};
          t.a_gap = t.b_gap = (8 - k % 8) % 8;
          if (n == 4) t.activation = RUDA_ACTIVATION_SILU, t.c_gap = 1;
          check_case(env, t);
        }
  // So many columns that a warp takes several; leading axes as rows.
  for (const Dtypes& d : {all_dtypes[0], all_dtypes[3], all_dtypes[5]})
    for (int64_t m : {1, 2, 3, 6}) {
      check_case(env, {m, 35001, 40, d.a, d.b, d.c, false, true, true, {}, {}});
      check_case(env, {m, 9001, 72, d.a, d.b, d.c, false, true, false, {}, {}});
      check_case(env, {m, 21, 80, d.a, d.b, d.c, false, true, false, {4, 1}, {}});
      check_case(env, {1, 21, 80, d.a, d.b, d.c, false, true, true, {2, m}, {1, 1}});
    }
}

// A processor with tiles multiplies 8 rows of BF16 or more by BF16 in them; other dtypes and fewer rows are
// for registers, of which rows of b take more than columns do.
RUDA_TEST(matmul_tiles_from_eight_rows) {
  if (env.settings.backend == RUDA_BACKEND_CUDA) throw Skip("the choice is that of the CPU");
  const auto kernel_of = [&](int64_t m, bool transpose_b, uint32_t dtype, const char* forced = nullptr) {
    Case t{m, 192, 576, dtype, dtype};
    t.transpose_b = transpose_b;
    OpRun op(env, "matmul");
    op.input(A, dtype, {t.m, t.k}, env.normal(t.m * t.k));
    op.input(B, dtype, transpose_b ? Shape{t.n, t.k} : Shape{t.k, t.n}, env.normal(t.n * t.k));
    op.output(C, RUDA_F32, {t.m, t.n});
    ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
    options.kernel = forced;
    ruda_plan plan = nullptr;
    const ruda_status status = creator(env, op, t)(&options, &plan);
    if (status == RUDA_E_UNSUPPORTED && forced) throw Skip("this processor, or RUDA_CPU_ISA, has no tiles");
    MUST(status);
    ruda_plan_info info = RUDA_PLAN_INFO_INIT;
    MUST(ruda_plan_query(plan, &info));
    const std::string kernel = info.kernel;
    ruda_release(plan);
    return kernel;
  };
  const char* const tiles = "cpu/matmul/amx";
  CHECK(kernel_of(16, true, RUDA_BF16, tiles) == tiles, "another kernel than the one forced");
  for (bool transpose_b : {false, true})
    for (int64_t m = 1; m <= 16; ++m) {
      const std::string kernel = kernel_of(m, transpose_b, RUDA_BF16);
      if (transpose_b || m < 3 || m >= 8)
        CHECK((kernel == tiles) == (m >= 8), "%lld rows are given to %s", (long long)m, kernel.c_str());
      for (uint32_t dtype : {RUDA_F32, RUDA_F16})
        CHECK(kernel_of(m, transpose_b, dtype) != tiles, "%lld rows of dtype %u", (long long)m, dtype);
    }
}

RUDA_TEST(matmul_batches) {
  for (const Dtypes& d : {all_dtypes[0], all_dtypes[3]})
    for (bool tb : {false, true})
      for (int64_t m : {1, 19}) {
        const auto run = [&](Shape a, Shape b) {
          check_case(env, {m, 21, 35, d.a, d.b, d.c, false, tb, true, a, b});
        };
        run({3}, {});
        run({2, 3}, {});
        run({3}, {3});
        run({2, 1, 3}, {4, 1});
        run({}, {5});
        run({1, 3}, {2, 1});
        run({13}, {13});
        run({0}, {});
      }
  Case gaps{6, 10, 12, RUDA_F32, RUDA_F32, RUDA_F32, false, true, false, {4}, {}};
  gaps.a_gap = 3, gaps.c_gap = 5;
  check_case(env, gaps);
}

RUDA_TEST(matmul_empty) {
  for (const Dtypes& d : all_dtypes) {
    check_case(env, {0, 5, 7, d.a, d.b, d.c, false, false, false, {}, {}});
    check_case(env, {5, 0, 7, d.a, d.b, d.c, false, true, false, {}, {}});
    check_case(env, {5, 6, 0, d.a, d.b, d.c, false, true, false, {}, {}});
    check_case(env, {50, 6, 0, d.a, d.b, d.c, false, true, true, {}, {}});
    check_case(env, {1, 6, 0, d.a, d.b, d.c, false, false, true, {2}, {}});
  }
}

RUDA_TEST(matmul_activations) {
  for (const Dtypes& d : all_dtypes)
    for (uint32_t activation = RUDA_ACTIVATION_RELU; activation <= RUDA_ACTIVATION_SILU; ++activation)
      for (bool bias : {false, true})
        for (int64_t m : {1, 21}) {
          Case t{m, 40, 24, d.a, d.b, d.c, false, true, bias, {}, {}};
          t.activation = activation;
          check_case(env, t);
          t.a_lead = {2}, t.b_lead = {2}, t.c_gap = 3;
          check_case(env, t);
        }
}

RUDA_TEST(matmul_fp8) {
  for (uint32_t a : {RUDA_F8E4M3, RUDA_F8E5M2})
    for (uint32_t b : {RUDA_F8E4M3, RUDA_F8E5M2})
      for (uint32_t c : {RUDA_F32, RUDA_F16, RUDA_BF16}) {
        // Sizes and strides that tensor cores take, then odd ones.
        Case t{32, 48, 64, a, b, c, false, true};
        check_case(env, t);
        t.a_scale = 0.5, t.b_scale = 3;
        check_case(env, t);
        t.bias = true, t.activation = RUDA_ACTIVATION_RELU;
        check_case(env, t);
        t.m = 5, t.n = 80, t.k = 400, t.activation = RUDA_ACTIVATION_GELU, t.b_scale = 0;
        check_case(env, t);
        t = {7, 13, 37, a, b, c, true, false, true};
        check_case(env, t);
        t = {9, 16, 33, a, b, c, false, true, false, {2}, {}};
        t.a_gap = 2, t.b_gap = 5;
        check_case(env, t);
        check_case(env, {3, 5, 0, a, b, c, false, true, true});
      }
  const Case t{17, 32, 48, RUDA_F8E4M3, RUDA_F8E4M3, RUDA_BF16, false, true, false, {3}, {3}};
  check_case(env, t);
}

// No axis of the operands is dense.
RUDA_TEST(matmul_strided_columns) {
  for (const Dtypes& d : {all_dtypes[0], all_dtypes[3], all_dtypes[5]})
    for (int64_t m : {1, 30}) {
      const Case t{m, 20, 33, d.a, d.b, d.c};
      describe(t);
      OpRun op(env, "matmul");
      const auto a = op.random_input(A, t.a_dtype, {t.m, t.k}, 1.0, {t.k * 2 + 1, 2});
      const auto b = op.random_input(B, t.b_dtype, {t.k, t.n}, 1.0, {t.n * 3, 3});
      op.output(C, t.c_dtype, {t.m, t.n});
      verify(env, op, t, oracle(t, a, b, {}));
    }
}

// NaN and infinity reach their row and column only, and nothing beyond the end of k leaks in.
RUDA_TEST(matmul_non_finite) {
  for (const Dtypes& d : all_dtypes)
    for (int64_t m : {1, 18})
      for (int64_t k : {1, 33, 70}) {
        const Case t{m, 19, k, d.a, d.b, d.c, false, true};
        describe(t);
        OpRun op(env, "matmul");
        std::vector<double> a(size_t(t.m * k), 1.0), b(size_t(t.n * k), 2.0);
        b[0] = NAN;
        b[size_t(3 * k)] = INFINITY;
        if (t.m > 9) a[size_t(7 * k)] = -INFINITY, a[size_t(9 * k + k - 1)] = NAN;
        a = op.input(A, t.a_dtype, {t.m, k}, a, {k + 3, 1});
        b = op.input(B, t.b_dtype, {t.n, k}, b, {k + 5, 1});
        op.output(C, t.c_dtype, {t.m, t.n});
        verify(env, op, t, oracle(t, a, b, {}));
      }
}

RUDA_TEST(matmul_extremes) {
  const Case t{20, 20, 40};
  describe(t);
  for (double scale : {1e18, 1e-18, 1e-22}) {
    OpRun op(env, "matmul");
    const auto a = op.random_input(A, RUDA_F32, {t.m, t.k}, scale);
    const auto b = op.random_input(B, RUDA_F32, {t.k, t.n}, scale);
    op.output(C, RUDA_F32, {t.m, t.n});
    verify(env, op, t, oracle(t, a, b, {}));
  }
}

namespace {

std::vector<uint8_t> encoded(uint32_t dtype, const std::vector<double>& values) {
  std::vector<uint8_t> out(values.size() * size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) encode(dtype, values[i], out.data() + i * size_of(dtype));
  return out;
}

// a [m, k] x b [n, k] transposed, on a context with its own number of threads.
std::vector<uint8_t> product_bytes(Env& env, uint32_t threads, const Dtypes& d, int64_t m, int64_t n,
                                   int64_t k, const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = env.settings.backend;
  desc.host_threads = threads;
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
  MUST(ruda_context_create(&desc, &context));
  MUST(ruda_stream_create(context, 0, &stream));
  const auto tensor = [&](uint32_t dtype, int64_t rows, const std::vector<uint8_t>& data) {
    ruda_tensor x = new_tensor(context, dtype, {rows, k});
    MUST(ruda_tensor_write(stream, x, data.data(), data.size()));
    return x;
  };
  ruda_tensor ta = tensor(d.a, m, a), tb = tensor(d.b, n, b), tc = nullptr;
  ruda_matmul_options options = RUDA_MATMUL_OPTIONS_INIT;
  options.out_dtype = d.c;
  options.transpose_b = 1;
  MUST(ruda_matmul(stream, ta, tb, nullptr, &options, &tc));
  std::vector<uint8_t> c(size_t(m * n) * size_of(d.c));
  MUST(ruda_tensor_read(stream, tc, c.data(), c.size()));
  release({ta, tb, tc, stream, context});
  return c;
}

}  // namespace

RUDA_TEST(matmul_threads) {
  for (const Dtypes& d : all_dtypes)
    for (int64_t m : {1, 9, 150}) {
      const int64_t n = 333, k = 600;
      const auto a = encoded(d.a, env.normal(m * k)), b = encoded(d.b, env.normal(n * k));
      const auto first = product_bytes(env, 1, d, m, n, k, a, b);
      for (uint32_t threads : {2u, 3u, 5u})
        CHECK(product_bytes(env, threads, d, m, n, k, a, b) == first,
              "m %lld: %u threads give other bits than 1", (long long)m, threads);
    }
}

RUDA_TEST(matmul_errors) {
  OpRun op(env, "matmul");
  op.random_input(A, RUDA_F32, {2, 4, 5});
  op.random_input(B, RUDA_F32, {5, 6});
  op.random_input(BIAS, RUDA_F32, {6});
  op.output(C, RUDA_F32, {2, 4, 6});
  ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
  const auto reset = [&] {
    desc = RUDA_MATMUL_DESC_INIT;
    desc.a = op.desc(A);
    desc.b = op.desc(B);
    desc.bias = op.desc(BIAS);
    desc.c = op.desc(C);
  };
  ruda_plan plan = nullptr;
  const auto create = [&] {
    const ruda_status status = ruda_matmul_plan_create(env.context, &desc, &plan);
    CHECK(status == RUDA_OK || !plan, "a failed call left a plan");
    ruda_release(plan);
    plan = nullptr;
    return status;
  };
  reset();
  MUST(create());
  CHECK_FAILS(ruda_matmul_plan_create(env.context, nullptr, &plan), RUDA_E_NULL, 1, "desc is NULL");
  CHECK_FAILS(ruda_matmul_plan_create(env.context, &desc, nullptr), RUDA_E_NULL, 2, "out");
  CHECK_FAILS(ruda_matmul_plan_create(nullptr, &desc, &plan), RUDA_E_NULL, 0, "context");
  desc.a = nullptr;
  CHECK_FAILS(create(), RUDA_E_NULL, 1, "a is NULL");
  reset(), desc.b = nullptr;
  CHECK_FAILS(create(), RUDA_E_NULL, 1, "b is NULL");
  reset(), desc.transpose_b = 1;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "b dim 1 is 6, expected 5");
  reset(), desc.transpose_a = 2;
  CHECK_FAILS(create(), RUDA_E_ARGUMENT, 1, "transpose_a is 2");
  reset(), desc.out_dtype = RUDA_BF16;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "c has dtype BF16, expected F32");

  const auto other = [&](uint32_t dtype, const Shape& shape) {
    ruda_tensor_desc d = RUDA_TENSOR_DESC_INIT;
    d.dtype = dtype, d.rank = uint32_t(shape.size()), d.shape = shape.data();
    return d;
  };
  const Shape vector = {5}, cube = {3, 5, 6}, flat = {5, 6}, seven = {7}, wide = {2, 4, 7};
  ruda_tensor_desc d = other(RUDA_F32, vector);
  reset(), desc.a = &d;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "a has rank 1, expected 2..16");
  d = other(RUDA_F32, cube), reset(), desc.b = &d;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "a dim 0 is 2 and b dim 0 is 3, expected equal or 1");
  d = other(RUDA_I32, flat), reset(), desc.b = &d;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "b has dtype I32");
  d = other(RUDA_F32, seven), reset(), desc.bias = &d;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "bias dim 0 is 7, expected 6");
  d = other(RUDA_F32, wide), reset(), desc.c = &d;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "c has shape [2, 4, 7], expected [2, 4, 6]");
  reset(), desc.activation = 5;
  CHECK_FAILS(create(), RUDA_E_ARGUMENT, 1, "activation is 5, expected 0..4");
  reset(), desc.reserved = 1;
  CHECK_FAILS(create(), RUDA_E_ARGUMENT, 1, "reserved is 1");
  const Shape one = {1}, cube8 = {2, 4, 5};
  const ruda_tensor_desc scale = other(RUDA_F32, one), a8 = other(RUDA_F8E4M3, cube8),
                         b8 = other(RUDA_F8E5M2, flat);
  reset(), desc.a_scale = &scale;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "scales are given, but a has dtype F32");
  reset(), desc.a = &a8;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "b has dtype F32, expected one of F8E4M3, F8E5M2");
  reset(), desc.a = &a8, desc.b = &b8, desc.c = nullptr, desc.out_dtype = RUDA_F8E4M3;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "c has dtype F8E4M3, expected F32, F16 or BF16");
  reset(), desc.c = nullptr, desc.out_dtype = 777;
  CHECK_FAILS(create(), RUDA_E_DTYPE, 1, "c has dtype 777, expected F32");
  reset(), desc.a = &a8, desc.b = &b8, desc.b_scale = &d;
  CHECK_FAILS(create(), RUDA_E_SHAPE, 1, "b_scale has rank 3, expected 1");
}

RUDA_TEST(matmul_eager) {
  OpRun op(env, "matmul");
  const Case t{7, 9, 11, RUDA_F32, RUDA_F32, RUDA_F32, false, true, true, {}, {}};
  const Operands o = fill(op, t);
  const Expected e = oracle(t, o.a, o.b, o.bias);
  ruda_matmul_options options = RUDA_MATMUL_OPTIONS_INIT;
  options.transpose_b = 1;
  for (int round = 0; round < 3; ++round) {
    ruda_tensor c = nullptr;
    MUST(ruda_matmul(env.stream, op.tensor(A), op.tensor(B), op.tensor(BIAS), &options, &c));
    float got[63];
    MUST(ruda_tensor_read(env.stream, c, got, sizeof got));
    check_close("eager", {got, got + 63}, e.value, [&](size_t i) { return bound(t, e, i); });
    ruda_release(c);
  }
  ruda_tensor c = nullptr;
  CHECK_FAILS(ruda_matmul(env.stream, op.tensor(A), op.tensor(B), nullptr, nullptr, &c), RUDA_E_SHAPE, 2,
              "b dim 0");
}

RUDA_BENCH(matmul_bench) {
  for (const Dtypes& d : {all_dtypes[0], all_dtypes[3]})
    for (int64_t n : {64, 128, 256, 512, 1024, 2048}) {
      const Case t{n, n, n, d.a, d.b, d.c, false, true};
      OpRun op(env, "matmul");
      fill(op, t);
      const std::string name = std::string(d.a == RUDA_F32 ? "f32 " : "bf16 ") + std::to_string(n);
      op.bench(name, double(3 * n * n) * size_of(d.a), 2.0 * double(n) * double(n) * double(n),
               creator(env, op, t));
    }
  for (const Dtypes& d : all_dtypes) {
    const Case t{1, 4096, 4096, d.a, d.b, d.c, false, true};
    OpRun op(env, "matmul");
    fill(op, t);
    op.bench("one row, dtypes " + std::to_string(d.a) + " " + std::to_string(d.b),
             4096.0 * 4096.0 * size_of(d.b), 2.0 * 4096 * 4096, creator(env, op, t));
  }
}
