// src/core/handle.hpp - reference-counted objects behind opaque handles that may be released in any order.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace ruda {

// High half: a mark that a live cell carries; low half: the kind of object. A free cell holds 0.
enum class Kind : uint32_t {
  free = 0,
  context = 0x52440001,
  stream,
  event,
  tensor,
  plan,
  workspace,
  graph,
  cancel,
  paged_schedule,
  store,
  model,
  tokenizer,
  session,
};
const char* kind_name(Kind kind) noexcept;

struct Cell;
struct Dispose;

// Base of everything a handle can name. Destructors must not throw and must not wait for a device.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  Cell* cell() const { return cell_; }

 private:
  friend struct Dispose;
  friend Cell* attach(std::unique_ptr<Object, Dispose>, Kind, Cell*);
  // Ends the object. Those that lie in memory of something else have their own.
  virtual void dispose() noexcept { delete this; }
  Cell* cell_ = nullptr;
};

struct Dispose {
  void operator()(Object* object) const noexcept { object->dispose(); }
};
template <class T>
using Owned = std::unique_ptr<T, Dispose>;

// What a handle points to. Cells live in slabs that are never unmapped and are reused oldest first, so a
// stale handle is recognised instead of being read from freed memory.
struct alignas(64) Cell {
  std::atomic<uint32_t> kind{0};
  std::atomic<uint32_t> refs{0};  // one of them is that of all children together
  Object* object = nullptr;
  Cell* parent = nullptr;
  Cell* root = nullptr;  // the context cell, or itself
  // Under the lock of all cells, which is taken for each cell that comes or goes.
  Cell* next = nullptr;   // of the cells that rest
  uint64_t children = 0;  // cells whose parent this is
  uint64_t live = 0;      // on a root: objects that hang below it
};

Cell* attach(Owned<Object> object, Kind kind, Cell* parent);
void retain(Cell* cell) noexcept;
void release(Cell* cell) noexcept;
uint64_t live_objects(const Cell& root) noexcept;

// A counted reference from C++ code.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) retain(object_->cell());
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) release(object_->cell());
  }
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_; }
  // Gives the reference to the caller as a C handle.
  template <class H>
  H detach() {
    return reinterpret_cast<H>(std::exchange(object_, nullptr)->cell());
  }

 private:
  T* object_ = nullptr;
};

// Gives an object a handle below `parent` (nullptr for a root). T names its kind as T::kind.
template <class T>
Ref<T> make_from(Cell* parent, Owned<T> object) {
  T* raw = object.get();
  attach(std::move(object), T::kind, parent);
  return Ref<T>::adopt(raw);
}

template <class T, class... Args>
Ref<T> make(Cell* parent, Args&&... args) {
  return make_from(parent, Owned<T>(new T(std::forward<Args>(args)...)));
}

[[noreturn]] void fail_handle(const void* handle, Kind kind, int arg, const char* name);

// The object behind a handle, or RUDA_E_NULL / RUDA_E_BAD_HANDLE naming argument `arg`.
template <class T>
T& get(const void* handle, int arg, const char* name) {
  auto* cell = static_cast<Cell*>(const_cast<void*>(handle));
  if (!cell || (reinterpret_cast<uintptr_t>(cell) & 63) ||
      cell->kind.load(std::memory_order_acquire) != uint32_t(T::kind)) [[unlikely]]
    fail_handle(handle, T::kind, arg, name);
  return static_cast<T&>(*cell->object);
}

template <class H, class T>
H handle_of(const T& object) {
  return reinterpret_cast<H>(object.cell());
}

}  // namespace ruda
