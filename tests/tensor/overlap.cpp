// tests/tensor/overlap.cpp - which strided tensors share bytes, against a map of every byte.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/overlap.hpp"
#include "support/expect_all.hpp"

#include <ruda/ruda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using ruda::Layout;
using ruda::Tensor;

namespace {

constexpr int64_t room = 1 << 12;  // bytes on either side of where tensors begin
alignas(64) std::byte memory[2 * room];

ruda_context context;
std::mt19937 random_numbers(7);

int64_t pick(int64_t low, int64_t high) { return low + int64_t(random_numbers() % uint64_t(high - low + 1)); }

using Map = std::vector<bool>;

// Marks the bytes of all elements, one index vector after another.
Map bytes_of(const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  const ruda::DtypeInfo& info = ruda::dtype_info(layout.dtype);
  Map map(sizeof memory);
  for (int64_t n = 0; n < layout.elements; n += info.block_elements) {
    int64_t rest = n, at = 0;
    for (int axis = layout.rank; axis-- > 0;) {
      at += rest % layout.shape[axis] * layout.strides[axis];
      rest /= layout.shape[axis];
    }
    const int64_t byte = tensor.data() - memory + at / info.block_elements * info.block_bytes;
    for (int64_t i = 0; i < int64_t(info.block_bytes); ++i) map[size_t(byte + i)] = true;
  }
  return map;
}

bool meet(const Map& a, const Map& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

// A layout made as views are: a dense tensor, permuted, sliced by steps either way, repeated.
struct Made {
  std::vector<int64_t> shape, strides;
  uint32_t dtype;
  bool repeats = false;
};

Made make() {
  Made made;
  made.dtype = pick(0, 5) == 0 ? RUDA_Q8_0 : pick(0, 1) ? RUDA_F32 : RUDA_I8;
  const int64_t block = ruda::dtype_info(made.dtype).block_elements;
  const int rank = int(pick(1, 4));
  int64_t step = 1;
  for (int i = 0; i < rank; ++i) {
    int64_t extent = pick(1, 5), full = extent * pick(1, 3) + pick(0, 2);
    if (i == 0) extent *= block, full *= block;
    int64_t by = i == 0 && block > 1 ? 1 : pick(1, std::max<int64_t>(1, full / extent));
    made.shape.insert(made.shape.begin(), extent);
    made.strides.insert(made.strides.begin(), pick(0, 5) == 0 && by == 1 && i ? -step : step * by);
    step *= full;
  }
  if (block == 1 && rank > 1 && pick(0, 2) == 0) {
    std::swap(made.shape[0], made.shape[1]);
    std::swap(made.strides[0], made.strides[1]);
  }
  if (pick(0, 7) == 0) {
    made.shape.insert(made.shape.begin(), 3);
    made.strides.insert(made.strides.begin(), 0);
    made.repeats = true;
  }
  return made;
}

ruda::Ref<Tensor> tensor_at(std::byte* data, const Made& made) {
  ruda::Context& c = ruda::get_context(context);
  const Layout layout = ruda::make_layout(made.dtype, made.shape.data(), made.strides.data(),
                                          int(made.shape.size()), true, 0, "test");
  ruda::StorageRef storage(new ruda::Storage(c, memory, sizeof memory, {}));
  return ruda::make<Tensor>(c.cell(), c, std::move(storage), c.layouts().intern(layout), data, false);
}

bool fits(const Made& made) {
  const Layout layout = ruda::make_layout(made.dtype, made.shape.data(), made.strides.data(),
                                          int(made.shape.size()), true, 0, "test");
  return layout.low_bytes > -room / 2 && layout.high_bytes < room / 2;
}

void blocks() {
  int met = 0, apart = 0;
  for (int i = 0; i < 3000; ++i) {
    const Made made = make();
    if (!fits(made)) continue;
    const auto tensor = tensor_at(memory + room + 4 * pick(0, 3), made);
    const Map map = bytes_of(*tensor);
    const ruda::Span span = ruda::span_of(*tensor);
    for (int k = 0; k < 20; ++k) {
      const int64_t from = span.begin - memory + pick(-20, span.end - span.begin + 20);
      const int64_t to = from + pick(0, pick(0, 1) ? 8 : 200);
      bool want = false;
      for (int64_t at = from; at < to; ++at) want = want || map[size_t(at)];
      const bool got = ruda::shares_bytes(*tensor, {memory + from, memory + to});
      EXPECT(got == want);
      ++(want ? met : apart);
    }
  }
  EXPECT(met > 5000 && apart > 5000);
}

// Never says apart of two that meet; right both ways where one has no gaps.
void pairs() {
  int met = 0, apart = 0, kept = 0;
  for (int i = 0; i < 20000; ++i) {
    const Made one = make();
    Made other = make();
    if (i % 3 == 0) other = one;  // halves of a wider matrix
    if (!fits(one) || !fits(other)) continue;
    const auto a = tensor_at(memory + room, one), b = tensor_at(memory + room + 4 * pick(-30, 30), other);
    const bool want = meet(bytes_of(*a), bytes_of(*b)), got = ruda::share_bytes(*a, *b);
    EXPECT(got == ruda::share_bytes(*b, *a));
    EXPECT(got || !want);
    const bool solid = a->layout().contiguous || b->layout().contiguous;
    EXPECT(!solid || got == want);
    ++(want ? met : apart);
    kept += !solid && !got && ruda::span_of(*a).overlaps(ruda::span_of(*b));
  }
  EXPECT(met > 2000 && apart > 2000 && kept > 50);
}

// Windows that slide over a line hold each other's elements: the gaps between them count too.
void windows() {
  Made made;
  made.dtype = RUDA_F32;
  made.shape = {4, 3};
  made.strides = {1, 8};
  const auto nested = tensor_at(memory + room, made);
  EXPECT(!ruda::shares_bytes(*nested, {memory + room + 16, memory + room + 32}));
  EXPECT(ruda::shares_bytes(*nested, {memory + room + 16, memory + room + 33}));
  made.strides = {2, 3};
  const auto among = tensor_at(memory + room, made);
  EXPECT(ruda::shares_bytes(*among, {memory + room, memory + room + 4}));
  EXPECT(ruda::shares_bytes(*among, {memory + room + 4, memory + room + 8}));
  EXPECT(!ruda::shares_bytes(*among, {memory + room + 4 * 13, memory + room + 4 * 14}));
  made.shape = {0, 3};
  const auto empty = tensor_at(memory + room, made);
  EXPECT(!ruda::shares_bytes(*empty, {memory, memory + sizeof memory}));
  EXPECT(!ruda::share_bytes(*empty, *among) && !ruda::share_bytes(*among, *empty));
}

}  // namespace

int main() {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  EXPECT(ruda_context_create(&desc, &context) == RUDA_OK);
  blocks();
  pairs();
  windows();
  uint64_t live = 1;
  EXPECT(ruda_context_live_objects(context, &live) == RUDA_OK && live == 0);
  ruda_release(context);
  return failures_to_exit_code();
}
