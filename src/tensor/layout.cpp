// src/tensor/layout.cpp - checks shapes and strides, derives extents, interns layouts.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ruda {

Layout& Layout::operator=(const Layout& other) {
  dtype = other.dtype;
  rank = other.rank;
  std::copy_n(other.shape, RUDA_MAX_RANK, shape);
  std::copy_n(other.strides, RUDA_MAX_RANK, strides);
  elements = other.elements;
  low_bytes = other.low_bytes;
  high_bytes = other.high_bytes;
  contiguous = other.contiguous;
  writable = other.writable;
  return *this;
}

uint64_t Layout::packed_bytes() const {
  const DtypeInfo& info = dtype_info(dtype);
  return uint64_t(elements + info.block_elements - 1) / info.block_elements * info.block_bytes;
}

bool Layout::same_shape(const Layout& other) const {
  return rank == other.rank && std::equal(shape, shape + rank, other.shape);
}

std::string Layout::shape_text() const {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

namespace {

// True when no two index vectors reach the same element: sorted by stride, each axis steps past all faster
// ones.
bool distinct_elements(const Layout& layout) {
  int order[RUDA_MAX_RANK];
  std::iota(order, order + layout.rank, 0);
  std::sort(order, order + layout.rank,
            [&](int a, int b) { return std::abs(layout.strides[a]) < std::abs(layout.strides[b]); });
  int64_t reach = 0;
  for (int i = 0; i < layout.rank; ++i) {
    const int axis = order[i];
    if (layout.shape[axis] <= 1) continue;
    const int64_t step = std::abs(layout.strides[axis]);
    if (step <= reach) return false;
    reach += step * (layout.shape[axis] - 1);
  }
  return true;
}

}  // namespace

Layout make_layout(uint32_t dtype, const int64_t* shape, const int64_t* strides, int rank, bool allow_views,
                   int arg, const char* name) {
  const DtypeInfo* info = find_dtype(dtype);
  RUDA_CHECK(info, RUDA_E_DTYPE, arg, "%s: dtype is %u, which is no known code", name, dtype);
  RUDA_CHECK(rank >= 0 && rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, arg, "%s: rank is %d, expected 0..%d", name,
             rank, RUDA_MAX_RANK);
  RUDA_CHECK(shape || rank == 0, RUDA_E_NULL, arg, "%s: shape is NULL with rank %d", name, rank);
  Layout layout;
  layout.dtype = dtype;
  layout.rank = rank;
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    RUDA_CHECK(shape[i] >= 0, RUDA_E_SHAPE, arg, "%s: extent of axis %d is %lld, expected 0 or more", name, i,
               (long long)shape[i]);
    layout.shape[i] = shape[i];
    empty |= shape[i] == 0;
  }
  // Sizes must be representable even when another extent is 0, so that views of empty tensors stay safe.
  int64_t product = 1;
  for (int i = rank - 1; i >= 0; --i) {
    layout.strides[i] = product;
    RUDA_CHECK(!__builtin_mul_overflow(product, std::max<int64_t>(shape[i], 1), &product) &&
                   product <= INT64_MAX / 512,
               RUDA_E_SHAPE, arg, "%s: element count overflows at axis %d with extent %lld", name, i,
               (long long)shape[i]);
  }
  layout.elements = empty ? 0 : product;
  const int64_t block = info->block_elements;
  if (block > 1)
    RUDA_CHECK(rank >= 1 && layout.shape[rank - 1] % block == 0, RUDA_E_SHAPE, arg,
               "%s: last extent of %s is %lld, expected a multiple of %lld", name, info->name,
               rank ? (long long)layout.shape[rank - 1] : 1LL, (long long)block);
  // The strides of a tensor without elements mean nothing: one layout a shape, whatever they are.
  if (strides && !empty) {
    for (int i = 0; i < rank; ++i) {
      if (layout.shape[i] <= 1) continue;  // the stride of an axis with one element means nothing
      RUDA_CHECK(allow_views || strides[i] >= 0, RUDA_E_SHAPE, arg,
                 "%s: stride of axis %d is %lld, expected 0 or more", name, i, (long long)strides[i]);
      RUDA_CHECK(i + 1 == rank ? block == 1 || strides[i] == 1 : strides[i] % block == 0, RUDA_E_SHAPE, arg,
                 "%s: stride of axis %d is %lld, which cuts the blocks of %s", name, i, (long long)strides[i],
                 info->name);
      if (layout.strides[i] != strides[i]) layout.contiguous = false;
      layout.strides[i] = strides[i];
    }
  }
  int64_t low = 0, high = 0;
  for (int i = 0; i < rank && !empty; ++i) {
    int64_t reach;
    int64_t& end = layout.strides[i] < 0 ? low : high;
    const bool overflow = __builtin_mul_overflow(layout.strides[i], layout.shape[i] - 1, &reach) ||
                          __builtin_add_overflow(end, reach, &end) || high > INT64_MAX / 512 ||
                          low < INT64_MIN / 512;
    RUDA_CHECK(!overflow, RUDA_E_SHAPE, arg, "%s: stride %lld of axis %d overflows", name,
               (long long)layout.strides[i], i);
  }
  // Both lie on borders of blocks; divisions cost more than all the rest.
  layout.low_bytes = (block == 1 ? low : low / block) * info->block_bytes;
  layout.high_bytes = empty ? 0 : (block == 1 ? high + 1 : (high + block) / block) * info->block_bytes;
  layout.writable = layout.contiguous || distinct_elements(layout);
  return layout;
}

namespace {

// Takes a reference unless the layout is swept. Its fields may be read only after that.
bool take_reference(const Layout& layout) noexcept {
  uint32_t refs = layout.refs.load(std::memory_order_relaxed);
  do {
    if (refs == Layout::lasting) [[likely]]
      return true;
    if (refs == Layout::swept) return false;
  } while (!layout.refs.compare_exchange_weak(refs, refs + 1, std::memory_order_acquire,
                                              std::memory_order_relaxed));
  return true;
}

}  // namespace

size_t LayoutTable::Hash::operator()(const Layout* layout) const {
  uint64_t h = layout->dtype * 0x9E3779B97F4A7C15ull + uint64_t(layout->rank);
  for (int i = 0; i < layout->rank; ++i) {
    h = (h ^ uint64_t(layout->shape[i])) * 0xFF51AFD7ED558CCDull;
    h = (h ^ (h >> 32) ^ uint64_t(layout->strides[i])) * 0xC4CEB9FE1A85EC53ull;
  }
  return h ^ (h >> 29);
}

bool LayoutTable::Equal::operator()(const Layout* a, const Layout* b) const {
  return a->dtype == b->dtype && a->same_shape(*b) &&
         std::equal(a->strides, a->strides + a->rank, b->strides);
}

LayoutRef LayoutTable::intern(const Layout& layout) {
  auto& recent = recent_[Hash()(&layout) % recent_.size()];
  const Layout* known = recent.load(std::memory_order_acquire);
  if (known && take_reference(*known)) [[likely]] {
    LayoutRef ref(known);
    if (Equal()(known, &layout)) [[likely]]
      return ref;
  }
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(&layout);
  const Layout* kept = found == table_.end() ? add(layout) : *found;
  take_reference(*kept);
  recent.store(kept, std::memory_order_release);
  return LayoutRef(kept);
}

// A new entry without references.
const Layout* LayoutTable::add(const Layout& layout) {
  if (table_.size() >= sweep_at_) sweep();
  if (unused_.empty()) {
    if (unused_.capacity() <= all_.size()) unused_.reserve(2 * all_.size() + 64);
    all_.emplace_back().refs.store(Layout::swept, std::memory_order_relaxed);
    unused_.push_back(&all_.back());
  }
  Layout* const made = unused_.back();
  *made = layout;
  table_.insert(made);
  unused_.pop_back();
  made->refs.store(all_.size() <= lasting_layouts ? Layout::lasting : 0, std::memory_order_release);
  return made;
}

void LayoutTable::sweep() {
  std::erase_if(table_, [this](const Layout* entry) {
    uint32_t nobody = 0;
    if (!entry->refs.compare_exchange_strong(nobody, Layout::swept, std::memory_order_acquire,
                                             std::memory_order_relaxed))
      return false;
    unused_.push_back(const_cast<Layout*>(entry));
    return true;
  });
  sweep_at_ = std::max<size_t>(1024, table_.size() * 2);
}

LayoutRef LayoutTable::contiguous(uint32_t dtype, const int64_t* shape, int rank) {
  return intern(make_layout(dtype, shape, nullptr, rank, false, -1, "out"));
}

}  // namespace ruda
