// src/tensor/layout.hpp - dtype, shape and strides as one interned object, compared by address.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/dtype.hpp"
#include "core/error.hpp"
#include "core/fork.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <unordered_set>
#include <utility>
#include <vector>

namespace ruda {

struct Layout {
  uint32_t dtype = 0;
  int rank = 0;
  int64_t shape[RUDA_MAX_RANK] = {};
  int64_t strides[RUDA_MAX_RANK] = {};  // in elements
  int64_t elements = 1;
  // Bytes from the first element to the lowest and past the highest byte that an element occupies.
  int64_t low_bytes = 0, high_bytes = 0;
  bool contiguous = true;
  bool writable = true;  // no two elements share memory
  // What refs may be beside a count: the memory waits for another layout; nobody counts, it stays for good.
  static constexpr uint32_t swept = UINT32_MAX, lasting = UINT32_MAX - 1;
  mutable std::atomic<uint32_t> refs{0};

  Layout() = default;
  Layout(const Layout& other) { *this = other; }
  Layout& operator=(const Layout& other);

  // Negative axes count from the end.
  int64_t dim(int axis) const { return shape[axis < 0 ? rank + axis : axis]; }
  int64_t stride(int axis) const { return strides[axis < 0 ? rank + axis : axis]; }
  uint64_t packed_bytes() const;  // of a contiguous copy
  bool same_shape(const Layout& other) const;
  std::string shape_text() const;  // "[2, 3]"
};

// A counted reference to an interned layout.
class LayoutRef {
 public:
  LayoutRef() = default;
  LayoutRef(const LayoutRef& other) : layout_(other.layout_) { retain(); }
  LayoutRef(LayoutRef&& other) noexcept : layout_(std::exchange(other.layout_, nullptr)) {}
  LayoutRef& operator=(LayoutRef other) noexcept {
    std::swap(layout_, other.layout_);
    return *this;
  }
  ~LayoutRef() {
    if (counted()) layout_->refs.fetch_sub(1, std::memory_order_release);
  }
  const Layout* get() const { return layout_; }
  const Layout* operator->() const { return layout_; }
  const Layout& operator*() const { return *layout_; }
  explicit operator bool() const { return layout_; }

 private:
  friend class LayoutTable;
  explicit LayoutRef(const Layout* retained) : layout_(retained) {}
  bool counted() const { return layout_ && layout_->refs.load(std::memory_order_relaxed) != Layout::lasting; }
  void retain() {
    if (counted()) layout_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  const Layout* layout_ = nullptr;
};

// Fills the derived fields; checks extents, strides and size. `arg`/`name` name the operand in errors.
// allow_views: negative strides are legal.
Layout make_layout(uint32_t dtype, const int64_t* shape, const int64_t* strides, int rank, bool allow_views,
                   int arg, const char* name);

// One table a context. Its first layouts stay for good, since counting who uses them costs more than they do.
// Others that nobody uses are swept when the table has doubled; their memory serves others and is not given
// back before the table goes, so that a look at one that was swept is harmless. What was asked for lately is
// found without a lock.
class LayoutTable {
 public:
  LayoutRef intern(const Layout& layout);
  LayoutRef contiguous(uint32_t dtype, const int64_t* shape, int rank);

 private:
  struct Hash {
    size_t operator()(const Layout* layout) const;
  };
  struct Equal {
    bool operator()(const Layout* a, const Layout* b) const;
  };
  const Layout* add(const Layout& layout);
  void sweep();

  static constexpr size_t lasting_layouts = 512;
  std::array<std::atomic<const Layout*>, 256> recent_{};  // by hash; may be swept
  Mutex mutex_;
  std::unordered_set<const Layout*, Hash, Equal> table_;
  std::deque<Layout> all_;       // every layout there ever was
  std::vector<Layout*> unused_;  // the swept ones; has room for all
  size_t sweep_at_ = 1024;
};

}  // namespace ruda
