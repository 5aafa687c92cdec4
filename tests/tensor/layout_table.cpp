// tests/tensor/layout_table.cpp - interned layouts: one address a value, many threads, bounded memory.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/layout.hpp"
#include "support/expect_all.hpp"

#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <thread>
#include <vector>

using ruda::Layout;
using ruda::LayoutRef;
using ruda::LayoutTable;

namespace {

// The n-th of many layouts: [n, n + 1] of alternating dtypes.
Layout layout(int64_t n) {
  const int64_t shape[] = {n, n + 1};
  return ruda::make_layout(n % 2 ? RUDA_F32 : RUDA_I8, shape, nullptr, 2, false, 0, "test");
}

bool is(const Layout& found, int64_t n) {
  return found.rank == 2 && found.shape[0] == n && found.shape[1] == n + 1 && found.strides[0] == n + 1 &&
         found.strides[1] == 1 && found.dtype == (n % 2 ? RUDA_F32 : RUDA_I8) &&
         found.elements == n * (n + 1) && found.contiguous;
}

void one_address() {
  LayoutTable table;
  const LayoutRef a = table.intern(layout(7)), b = table.intern(layout(7)), c = table.intern(layout(8));
  EXPECT(a.get() == b.get());
  EXPECT(a.get() != c.get());
  const int64_t shape[] = {7, 8}, strides[] = {16, 2};
  const LayoutRef wide = table.intern(ruda::make_layout(RUDA_F32, shape, strides, 2, false, 0, "test"));
  EXPECT(wide.get() != a.get());
  EXPECT(is(*a, 7) && is(*c, 8) && wide->strides[0] == 16);
}

// What nobody uses is swept, what somebody holds stays where it is.
void sweeps() {
  LayoutTable table;
  constexpr int held = 50, passing = 100000;
  std::vector<LayoutRef> kept;
  for (int n = 0; n < held; ++n) kept.push_back(table.intern(layout(n)));
  std::set<const Layout*> places;
  for (int n = held; n < passing; ++n) {
    const LayoutRef ref = table.intern(layout(n));
    EXPECT(is(*ref, n));
    places.insert(ref.get());
  }
  EXPECT(places.size() <= 1024);
  for (int n = 0; n < held; ++n) {
    EXPECT(is(*kept[size_t(n)], n));
    EXPECT(places.count(kept[size_t(n)].get()) == 0);
    EXPECT(table.intern(layout(n)).get() == kept[size_t(n)].get());
  }
  // More in use than a sweep waits for.
  kept.clear();
  for (int n = 0; n < 5000; ++n) kept.push_back(table.intern(layout(n)));
  for (int n = 0; n < 5000; ++n) EXPECT(is(*kept[size_t(n)], n));
  places.clear();
  for (const LayoutRef& ref : kept) places.insert(ref.get());
  EXPECT(places.size() == 5000);
}

// Threads ask for layouts that others let go and sweep at the same time. A few are asked for often, so that
// the way without the lock is taken too.
void many_threads() {
  LayoutTable table;
  std::vector<std::thread> all;
  for (unsigned t = 0; t < 4; ++t)
    all.emplace_back([&table, t] {
      std::mt19937 random(t);
      std::vector<std::pair<LayoutRef, int64_t>> held(8);
      for (int i = 0; i < (RUDA_TEST_SANITIZED ? 20000 : 100000); ++i) {
        const int64_t n = random() % 2 ? int64_t(random() % 20) : int64_t(random() % 6000);
        LayoutRef ref = table.intern(layout(n));
        if (!is(*ref, n)) EXPECT(!"another layout than asked for");
        auto& place = held[random() % held.size()];
        if (place.first) {
          if (!is(*place.first, place.second)) EXPECT(!"a layout changed while it was held");
          if (place.first.get() != table.intern(layout(place.second)).get())
            EXPECT(!"two addresses of one layout");
        }
        place = {std::move(ref), n};
      }
    });
  for (std::thread& thread : all) thread.join();
}

}  // namespace

int main() {
  one_address();
  sweeps();
  many_threads();
  return failures_to_exit_code();
}
