// tests/bench/peer_gemm.cpp - times OpenBLAS or oneDNN for the dense products of bench_operators.
// SPDX-License-Identifier: Apache-2.0
//
// usage: peer_gemm LIBRARY THREADS SECONDS NAME...     one JSON line a case that the library has
// LIBRARY is a path or a name that the loader finds, libopenblas.so.0 or libdnnl.so.3: which of the two it is
// is told by its symbols, declared here as its manual has them, so that nothing of it is needed to build.
// Same rules as bench_operators: random data, the median of the runs that fit into the time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace {

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  std::exit(1);
}

void* library;

template <class F>
F* symbol(const char* name) {
  void* const found = dlsym(library, name);
  if (!found) give_up(dlerror());
  return reinterpret_cast<F*>(found);
}

// One product, C [m, n] = A [m, k] x B; B lies as [n, k], or as [k, n] where `plain`.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  bool plain = false, bf16 = false;
  void *a = nullptr, *b = nullptr, *c = nullptr;
};

// Int is what the library was built with for sizes.
template <class Int>
std::function<void()> with_openblas(const Product& p, const char* name) {
  using Gemm = void(int order, int a_trans, int b_trans, Int m, Int n, Int k, float alpha, const float* a,
                    Int lda, const float* b, Int ldb, float beta, float* c, Int ldc);
  constexpr int row_major = 101, as_is = 111, transposed = 112;
  if (p.bf16) return {};
  Gemm* const gemm = symbol<Gemm>(name);
  return [p, gemm] {
    gemm(row_major, as_is, p.plain ? as_is : transposed, Int(p.m), Int(p.n), Int(p.k), 1,
         static_cast<const float*>(p.a), Int(p.k), static_cast<const float*>(p.b), Int(p.plain ? p.n : p.k),
         0, static_cast<float*>(p.c), Int(p.n));
  };
}

void check(int status) {
  if (status != 0) give_up("oneDNN refused");
}

// The primitive is made once, as a plan is.
std::function<void()> with_onednn(const Product& p) {
  using Handle = void*;
  struct Argument {
    int which;
    Handle memory;
  };
  constexpr int cpu = 1, bf16 = 2, f32 = 3, source = 1, weights = 33, destination = 17, in_order = 1;
  static Handle engine = nullptr, stream = nullptr;
  if (!engine) {
    check(symbol<int(Handle*, int, size_t)>("dnnl_engine_create")(&engine, cpu, 0));
    check(symbol<int(Handle*, Handle, unsigned)>("dnnl_stream_create")(&stream, engine, in_order));
  }
  const auto describe =
      symbol<int(Handle*, int, const int64_t*, int, const int64_t*)>("dnnl_memory_desc_create_with_strides");
  const auto hold = symbol<int(Handle*, Handle, Handle, void*)>("dnnl_memory_create");
  const int type = p.bf16 ? bf16 : f32;
  const int64_t extents[3][12] = {{p.m, p.k}, {p.k, p.n}, {p.m, p.n}};
  const int64_t strides[3][12] = {{p.k, 1}, {p.plain ? p.n : 1, p.plain ? 1 : p.k}, {p.n, 1}};
  void* const data[3] = {p.a, p.b, p.c};
  Handle layout[3], memory[3], description = nullptr, primitive = nullptr;
  for (int i = 0; i < 3; ++i) {
    check(describe(&layout[i], 2, extents[i], type, strides[i]));
    check(hold(&memory[i], layout[i], engine, data[i]));
  }
  check(symbol<int(Handle*, Handle, Handle, Handle, Handle, Handle, Handle)>(
      "dnnl_matmul_primitive_desc_create")(&description, engine, layout[0], layout[1], nullptr, layout[2],
                                           nullptr));
  check(symbol<int(Handle*, Handle)>("dnnl_primitive_create")(&primitive, description));
  const auto execute = symbol<int(Handle, Handle, int, const Argument*)>("dnnl_primitive_execute");
  const auto wait = symbol<int(Handle)>("dnnl_stream_wait");
  const std::vector<Argument> arguments = {
      {source, memory[0]}, {weights, memory[1]}, {destination, memory[2]}};
  return [=] {
    check(execute(primitive, stream, 3, arguments.data()));
    check(wait(stream));
  };
}

void* filled(int64_t count, bool bf16) {
  const size_t bytes = (size_t(count) * (bf16 ? 2 : 4) + 255) / 256 * 256;
  void* const data = std::aligned_alloc(256, bytes);
  if (!data) give_up("no memory");
  std::mt19937 random_bits{20};
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    const float value = normal(random_bits);
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (bf16)
      static_cast<uint16_t*>(data)[i] = uint16_t(bits >> 16);
    else
      static_cast<float*>(data)[i] = value;
  }
  return data;
}

void measure(const std::string& name, double seconds) {
  Product p;
  char type[8] = "", rest[8] = "";
  long long m, n, k;
  const int found = std::sscanf(name.c_str(), "matmul %7s %lldx%lldx%lld %7s", type, &m, &n, &k, rest);
  p.bf16 = !std::strcmp(type, "bf16"), p.plain = !std::strcmp(rest, "plain");
  if (found < 4 || (!p.bf16 && std::strcmp(type, "f32"))) return;
  p.m = m, p.n = n, p.k = k;
  p.a = filled(m * k, p.bf16), p.b = filled(n * k, p.bf16), p.c = filled(m * n, p.bf16);
  constexpr const char *blas = "cblas_sgemm", *wide_blas = "scipy_cblas_sgemm64_";  // the latter in NumPy
  const std::function<void()> call = dlsym(library, blas)        ? with_openblas<int>(p, blas)
                                     : dlsym(library, wide_blas) ? with_openblas<int64_t>(p, wide_blas)
                                                                 : with_onednn(p);
  if (call) {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point from) {
      return std::chrono::duration<double>(Clock::now() - from).count();
    };
    call();
    call();
    std::vector<double> times;
    const auto start = Clock::now();
    do {
      const auto from = Clock::now();
      call();
      times.push_back(since(from));
    } while (since(start) < seconds || times.size() < 5);
    std::sort(times.begin(), times.end());
    std::printf("{\"name\": \"%s\", \"us\": %.3f, \"best_us\": %.3f}\n", name.c_str(),
                times[times.size() / 2] * 1e6, times.front() * 1e6);
    std::fflush(stdout);
  }
  std::free(p.a);
  std::free(p.b);
  std::free(p.c);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) give_up("usage: peer_gemm LIBRARY THREADS SECONDS NAME...");
  // before the library reads them as it is loaded
  setenv("OMP_NUM_THREADS", argv[2], 1);
  setenv("OPENBLAS_NUM_THREADS", argv[2], 1);
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(dlerror());
  for (int i = 4; i < argc; ++i) measure(argv[i], std::atof(argv[3]));
  return 0;
}
