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

// Base of everything a handle can name. Destructors must not throw and must not wait for a device.
class Object {
 public:
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  Cell* cell() const { return cell_; }

 private:
  friend Cell* attach(std::unique_ptr<Object>, Kind, Cell*);
  Cell* cell_ = nullptr;
};

// What a handle points to. Cells live in slabs that are never unmapped and are reused oldest first, so a
// stale handle is recognised instead of being read from freed memory.
struct alignas(64) Cell {
  std::atomic<uint32_t> kind{0};
  std::atomic<uint32_t> refs{0};
  Object* object = nullptr;
  Cell* parent = nullptr;
  Cell* root = nullptr;           // the context cell, or itself
  std::atomic<uint64_t> live{0};  // on a root: objects that hang below it
  Cell* next = nullptr;           // free list
};

Cell* attach(std::unique_ptr<Object> object, Kind kind, Cell* parent);
void retain(Cell* cell) noexcept;
void release(Cell* cell) noexcept;

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

// Makes an object below `parent` (nullptr for a root). T names its kind as T::kind.
template <class T, class... Args>
Ref<T> make(Cell* parent, Args&&... args) {
  auto object = std::make_unique<T>(std::forward<Args>(args)...);
  T* raw = object.get();
  attach(std::move(object), T::kind, parent);
  return Ref<T>::adopt(raw);
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
