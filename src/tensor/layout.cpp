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
  if (strides) {
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
  if (empty) layout.contiguous = true;
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
  layout.low_bytes = low / block * info->block_bytes;
  layout.high_bytes = empty ? 0 : (high + block) / block * info->block_bytes;
  layout.writable = layout.contiguous || distinct_elements(layout);
  return layout;
}

size_t LayoutTable::Hash::operator()(const std::unique_ptr<Layout>& layout) const {
  uint64_t h = layout->dtype * 0x9E3779B97F4A7C15ull + uint64_t(layout->rank);
  for (int i = 0; i < layout->rank; ++i) {
    h = (h ^ uint64_t(layout->shape[i])) * 0xFF51AFD7ED558CCDull;
    h = (h ^ (h >> 32) ^ uint64_t(layout->strides[i])) * 0xC4CEB9FE1A85EC53ull;
  }
  return h ^ (h >> 29);
}

bool LayoutTable::Equal::operator()(const std::unique_ptr<Layout>& a,
                                    const std::unique_ptr<Layout>& b) const {
  return a->dtype == b->dtype && a->same_shape(*b) &&
         std::equal(a->strides, a->strides + a->rank, b->strides);
}

LayoutRef LayoutTable::intern(const Layout& layout) {
  // A key over the caller's object, which it never owns: what is there already is found without memory.
  struct Key {
    std::unique_ptr<Layout> pointer;
    ~Key() { static_cast<void>(pointer.release()); }
  } const key{std::unique_ptr<Layout>(const_cast<Layout*>(&layout))};
  std::lock_guard lock(mutex_);
  if (const auto found = table_.find(key.pointer); found != table_.end()) return LayoutRef(found->get());
  if (table_.size() >= sweep_at_) {
    std::erase_if(table_, [](const auto& entry) { return entry->refs.load(std::memory_order_acquire) == 0; });
    sweep_at_ = std::max<size_t>(1024, table_.size() * 2);
  }
  return LayoutRef(table_.insert(std::make_unique<Layout>(layout)).first->get());
}

LayoutRef LayoutTable::contiguous(uint32_t dtype, const int64_t* shape, int rank) {
  return intern(make_layout(dtype, shape, nullptr, rank, false, -1, "out"));
}

}  // namespace ruda
