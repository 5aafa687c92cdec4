// src/model/text/merge_pairs.hpp - merging neighbours of a linked list of symbols, the best pair first.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/text/vocabulary.hpp"
#include "plan/op.hpp"

#include <algorithm>
#include <vector>

namespace ruda::text {

constexpr uint32_t no_symbol = ~0U;

// Symbols know their neighbours by `previous` and `next`, in order at first; candidates theirs by `left` and
// `right`, and the best is the largest. find(left, right, candidate) says whether two symbols may merge.
// join(left, right, best) makes the left symbol the merged one, or says that the candidate is stale: one of
// the two has changed since it was queued. Time n log n; `stop` is looked at meanwhile.
template <class Candidate, class Symbol, class Find, class Join>
void merge_pairs(std::vector<Symbol>& symbols, const StopSign& stop, const Find& find, const Join& join) {
  std::vector<Candidate> heap;
  const auto queue = [&](uint32_t left, uint32_t right) {
    Candidate candidate{};
    if (!find(left, right, candidate)) return false;
    heap.push_back(candidate);
    return true;
  };
  for (uint32_t i = 1; i < symbols.size(); ++i) {
    if (i % look_every == 0) stop.check();
    queue(i - 1, i);
  }
  std::make_heap(heap.begin(), heap.end());
  for (size_t done = 1; !heap.empty(); ++done) {
    if (done % look_every == 0) stop.check();
    std::pop_heap(heap.begin(), heap.end());
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[best.left];
    Symbol& right = symbols[best.right];
    if (!join(left, right, best)) continue;
    left.next = right.next;
    if (left.next != no_symbol) symbols[left.next].previous = best.left;
    if (left.previous != no_symbol && queue(left.previous, best.left))
      std::push_heap(heap.begin(), heap.end());
    if (left.next != no_symbol && queue(best.left, left.next)) std::push_heap(heap.begin(), heap.end());
  }
}

}  // namespace ruda::text
