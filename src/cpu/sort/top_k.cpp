// src/cpu/sort/top_k.cpp - top_k: a scan against a rising threshold, or insertion into the result.
// SPDX-License-Identifier: Apache-2.0
#include "core/half.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"
#include "cpu/sort/top_k_table.hpp"

#include <ruda/sort.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ruda::cpu {
namespace {

constexpr int64_t grain = 8192;  // elements a thread takes at least

int64_t row_grain(int64_t cols) { return cols >= grain ? 1 : grain / cols; }

struct Outputs {
  std::byte *values, *indices;
  bool wide_index;

  Outputs(const Launch& l, int64_t row) {
    const Layout &v = *l.problem[RUDA_TOP_K_VALUES].layout, &i = *l.problem[RUDA_TOP_K_INDICES].layout;
    wide_index = i.dtype == RUDA_I64;
    values = l.ptr<std::byte>(RUDA_TOP_K_VALUES) + row_offset(v, row) * dtype_info(v.dtype).block_bytes;
    indices = l.ptr<std::byte>(RUDA_TOP_K_INDICES) + row_offset(i, row) * (wide_index ? 8 : 4);
  }
  void set_index(int64_t at, int64_t index) const {
    if (wide_index)
      reinterpret_cast<int64_t*>(indices)[at] = index;
    else
      reinterpret_cast<int32_t*>(indices)[at] = int32_t(index);
  }
  int64_t index(int64_t at) const {
    return wide_index ? reinterpret_cast<int64_t*>(indices)[at] : reinterpret_cast<int32_t*>(indices)[at];
  }
};

namespace threshold {

// Key above, place below: larger first, and of equal keys the lower place, as one unsigned comparison.
uint64_t join(int32_t key, int32_t place) {
  return uint64_t(uint32_t(key) ^ 0x80000000u) << 32 | uint32_t(~uint32_t(place));
}
int32_t key_of(uint64_t joined) { return int32_t(uint32_t(joined >> 32) ^ 0x80000000u); }
int32_t place_of(uint64_t joined) { return int32_t(~uint32_t(joined)); }

struct State {
  TopKScan scan;
  int64_t capacity;  // candidates before the best k are kept
  WorkspaceSlot keys, places, joined;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout& x = *p[RUDA_TOP_K_X].layout;
  const auto& d = p.as<ruda_top_k_desc>();
  if (x.dim(-1) > 1 && x.stride(-1) != 1) return "rows are not dense";
  if (x.dim(-1) > INT32_MAX) return "more than 2^31 - 1 columns";
  const uint32_t dtype = x.dtype;
  const int index = dtype == RUDA_F32 ? 0 : dtype == RUDA_F16 ? 1 : dtype == RUDA_BF16 ? 2 : 3;
  State& s = prep.state<State>();
  s.scan = RUDA_ISA_PICK(TopKTable, top_k_table).scan[d.smallest][index];
  // Half of the places are empty after each round, so that rising rows cost no more than twice a selection an
  // element.
  s.capacity = x.elements ? std::min<int64_t>(x.dim(-1), 2 * d.k + 512) + 64 : 0;
  const int threads = thread_count(p);
  s.keys = prep.book<int32_t>(s.capacity * threads);
  s.places = prep.book<int32_t>(s.capacity * threads);
  s.joined = prep.book<uint64_t>(s.capacity * threads);
  prep.note(isa_name(isa()));
  return nullptr;
}

// The elements that order below all thresholds: NaN among the smallest, an end of the integers.
bool is_worst(const std::byte* x, uint32_t dtype, int64_t place, bool smallest) {
  switch (dtype) {
    case RUDA_F32: return smallest && std::isnan(reinterpret_cast<const float*>(x)[place]);
    case RUDA_F16: return smallest && (reinterpret_cast<const uint16_t*>(x)[place] & 0x7FFF) > 0x7C00;
    case RUDA_BF16: return smallest && (reinterpret_cast<const uint16_t*>(x)[place] & 0x7FFF) > 0x7F80;
    default: return reinterpret_cast<const int32_t*>(x)[place] == (smallest ? INT32_MAX : INT32_MIN);
  }
}

struct Row {
  const std::byte* x;
  int64_t cols, k, bytes;
  uint32_t dtype;
  bool smallest;
};

void best_of_row(const Row& row, TopKScan scan, TopKCandidates found, uint64_t* joined, const Outputs& out) {
  const int64_t k = row.k;
  const auto keep_best = [&] {
    for (int64_t i = 0; i < found.count; ++i) joined[i] = join(found.keys[i], found.places[i]);
    if (found.count <= k) return;
    std::nth_element(joined, joined + k - 1, joined + found.count, std::greater<>());
    found.count = k;
    for (int64_t i = 0; i < k; ++i) {
      found.keys[i] = key_of(joined[i]);
      found.places[i] = place_of(joined[i]);
    }
  };
  // Later elements that equal the worst of k lose by their place, so the threshold itself need not pass.
  int32_t limit = INT32_MIN;
  for (int64_t at = 0; (at = scan(row.x, at, row.cols, limit, &found)) < row.cols;) {
    keep_best();
    if (found.count == k) limit = *std::min_element(found.keys, found.keys + k);
  }
  keep_best();
  std::sort(joined, joined + found.count, std::greater<>());
  int64_t n = 0;
  const auto take = [&](int64_t place) {
    std::memcpy(out.values + n * row.bytes, row.x + place * row.bytes, size_t(row.bytes));
    out.set_index(n++, place);
  };
  while (n < found.count) take(place_of(joined[n]));
  for (int64_t place = 0; n < k && place < row.cols; ++place)
    if (is_worst(row.x, row.dtype, place, row.smallest)) take(place);
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Layout& x = *l.problem[RUDA_TOP_K_X].layout;
  const auto& d = l.problem.as<ruda_top_k_desc>();
  const int64_t cols = x.dim(-1), bytes = dtype_info(x.dtype).block_bytes;
  pool_of(l).ranges(x.elements / cols, row_grain(cols), [&](int64_t begin, int64_t end, int part) {
    const int64_t own = part * s.capacity;
    for (int64_t r = begin; r < end; ++r) {
      l.stop.check();
      const Row row{l.ptr<const std::byte>(RUDA_TOP_K_X) + row_offset(x, r) * bytes,
                    cols,
                    d.k,
                    bytes,
                    x.dtype,
                    d.smallest != 0};
      best_of_row(row, s.scan, {l.at<int32_t>(s.keys) + own, l.at<int32_t>(s.places) + own, 0, s.capacity},
                  l.at<uint64_t>(s.joined) + own, Outputs(l, r));
    }
  });
}

}  // namespace threshold

namespace plain {

Verdict prepare(const Problem&, Prepare&) { return nullptr; }

// Keeps the result sorted and inserts each element that beats the last one.
template <class T>
void rows(const Launch& l) {
  const Layout& x = *l.problem[RUDA_TOP_K_X].layout;
  const auto& d = l.problem.as<ruda_top_k_desc>();
  const int64_t cols = x.dim(-1), step = x.stride(-1);
  const auto number = [](T v) {
    if constexpr (std::is_same_v<T, int32_t>)
      return double(v);
    else
      return double(to_float(v));
  };
  const auto beats = [&](double a, double b) {
    if (std::isnan(a) || std::isnan(b))
      return d.smallest ? !std::isnan(a) && std::isnan(b) : std::isnan(a) && !std::isnan(b);
    return d.smallest ? a < b : a > b;
  };
  parallel(l, x.elements / cols, row_grain(cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = l.ptr<const T>(RUDA_TOP_K_X) + row_offset(x, r);
      const Outputs out(l, r);
      T* values = reinterpret_cast<T*>(out.values);
      int64_t n = 0;
      for (int64_t c = 0; c < cols; ++c) {
        const T v = from[c * step];
        if (n == d.k && !beats(number(v), number(values[n - 1]))) continue;
        int64_t at = n < d.k ? n++ : n - 1;
        for (; at > 0 && beats(number(v), number(values[at - 1])); --at) {
          values[at] = values[at - 1];
          out.set_index(at, out.index(at - 1));
        }
        values[at] = v;
        out.set_index(at, c);
      }
    }
  });
}

void run(const Launch& l) {
  visit(l.problem[RUDA_TOP_K_X].dtype(), Types<float, f16, bf16, int32_t>{},
        [&](auto t) { rows<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/top_k/threshold", threshold::prepare, threshold::run},
                           {"cpu/top_k/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels top_k{list};

}  // namespace ruda::cpu
