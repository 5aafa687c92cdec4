// src/core/handle.cpp - the slab of cells, reference counting, ruda_retain and ruda_release.
// SPDX-License-Identifier: Apache-2.0
#include "core/handle.hpp"

#include "core/fork.hpp"

namespace ruda {
namespace {

constexpr uint32_t mark = 0x52440000, mark_mask = 0xFFFF0000;
constexpr int slab_cells = 512;
// This many cells rest in the queue before the oldest is used again, so that a stale handle stays
// recognisable.
constexpr size_t resting_cells = 256;

class CellHeap {
 public:
  // A cell for a child of `parent`, which may be null.
  Cell* take(Cell* parent) {
    const std::lock_guard lock(mutex_);
    if (count_ <= resting_cells) {
      auto* slab = new Cell[slab_cells];
      for (int i = 0; i < slab_cells; ++i) push(slab + i);
    }
    Cell* cell = head_;
    head_ = cell->next;
    __builtin_prefetch(head_, 1);  // nobody has touched the next one for long
    --count_;
    cell->parent = parent;
    cell->root = cell;
    if (parent) {
      cell->root = parent->root;
      ++parent->root->live;
      if (!parent->children++) retain(parent);
    }
    return cell;
  }
  // The parent when its last child goes: the caller releases what the children held together.
  Cell* give(Cell* cell) noexcept {
    Cell* const parent = cell->parent;
    Cell* const root = cell->root;
    const std::lock_guard lock(mutex_);
    push(cell);
    if (!parent) return nullptr;
    --root->live;
    return --parent->children ? nullptr : parent;
  }
  uint64_t live(const Cell& root) noexcept {
    const std::lock_guard lock(mutex_);
    return root.live;
  }

 private:
  void push(Cell* cell) noexcept {
    cell->next = nullptr;
    (tail_ ? tail_->next : head_) = cell;
    tail_ = cell;
    ++count_;
  }
  Mutex mutex_;
  Cell* head_ = nullptr;
  Cell* tail_ = nullptr;
  size_t count_ = 0;
};

Lasting<CellHeap> heap;

bool is_live(uint32_t kind) { return (kind & mark_mask) == mark; }

}  // namespace

const char* kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::context: return "context";
    case Kind::stream: return "stream";
    case Kind::event: return "event";
    case Kind::tensor: return "tensor";
    case Kind::plan: return "plan";
    case Kind::workspace: return "workspace";
    case Kind::graph: return "graph";
    case Kind::cancel: return "cancel";
    case Kind::paged_schedule: return "paged_schedule";
    case Kind::store: return "store";
    case Kind::model: return "model";
    case Kind::tokenizer: return "tokenizer";
    case Kind::session: return "session";
    case Kind::free: break;
  }
  return "unknown";
}

Cell* attach(Owned<Object> object, Kind kind, Cell* parent) {
  Cell* cell = (*heap).take(parent);
  object->cell_ = cell;
  cell->object = object.release();
  cell->refs.store(1, std::memory_order_relaxed);
  cell->kind.store(uint32_t(kind), std::memory_order_release);
  return cell;
}

void retain(Cell* cell) noexcept { cell->refs.fetch_add(1, std::memory_order_relaxed); }

void release(Cell* cell) noexcept {
  while (cell) {
    if (cell->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    cell->kind.store(0, std::memory_order_release);
    Dispose()(std::exchange(cell->object, nullptr));
    cell = (*heap).give(cell);
  }
}

uint64_t live_objects(const Cell& root) noexcept { return (*heap).live(root); }

namespace {

const char* article(Kind kind) { return kind == Kind::event ? "an" : "a"; }

}  // namespace

void fail_handle(const void* handle, Kind kind, int arg, const char* name) {
  RUDA_CHECK(handle, RUDA_E_NULL, arg, "%s: handle is NULL, expected %s %s", name, article(kind),
             kind_name(kind));
  const auto* cell = static_cast<const Cell*>(handle);
  const bool aligned = (reinterpret_cast<uintptr_t>(cell) & 63) == 0;
  const uint32_t found = aligned ? cell->kind.load(std::memory_order_acquire) : 0;
  if (is_live(found))
    fail(RUDA_E_BAD_HANDLE, arg, "%s: handle is %s %s, expected %s %s", name, article(Kind(found)),
         kind_name(Kind(found)), article(kind), kind_name(kind));
  fail(RUDA_E_BAD_HANDLE, arg, "%s: handle was released or never valid, expected %s %s", name, article(kind),
       kind_name(kind));
}

}  // namespace ruda

extern "C" ruda_status ruda_retain(void* handle) noexcept {
  using namespace ruda;
  return guard(__func__, [&] {
    RUDA_CHECK(handle, RUDA_E_NULL, 0, "handle is NULL");
    auto* cell = static_cast<Cell*>(handle);
    RUDA_CHECK(
        (reinterpret_cast<uintptr_t>(cell) & 63) == 0 && is_live(cell->kind.load(std::memory_order_acquire)),
        RUDA_E_BAD_HANDLE, 0, "handle was released or never valid");
    retain(cell);
  });
}

extern "C" ruda_status ruda_release(void* handle) noexcept {
  using namespace ruda;
  if (!handle) return RUDA_OK;
  return guard(__func__, [&] {
    auto* cell = static_cast<Cell*>(handle);
    RUDA_CHECK(
        (reinterpret_cast<uintptr_t>(cell) & 63) == 0 && is_live(cell->kind.load(std::memory_order_acquire)),
        RUDA_E_BAD_HANDLE, 0, "handle was released or never valid");
    release(cell);
  });
}
