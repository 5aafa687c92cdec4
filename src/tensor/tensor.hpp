// src/tensor/tensor.hpp - storage and tensors: memory on one side, shape and strides on the other.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tensor/context.hpp"

#include <functional>
#include <span>
#include <vector>

namespace ruda {

// The streams of a storage: mostly one, which needs no memory of its own.
class StreamList {
 public:
  using Entry = std::shared_ptr<DeviceStream>;
  size_t size() const { return more_.empty() ? size_t(one_ != nullptr) : more_.size(); }
  bool empty() const { return size() == 0; }
  std::span<const Entry> all() const { return more_.empty() ? std::span(&one_, size()) : std::span(more_); }
  const Entry& front() const { return all().front(); }
  void assign(Entry entry) noexcept {
    one_ = std::move(entry);
    more_.clear();
  }
  void push_back(const Entry& entry) {
    if (empty()) return assign(entry);
    if (more_.empty()) more_.push_back(one_);
    more_.push_back(entry);
  }

 private:
  Entry one_;
  std::vector<Entry> more_;  // all of them, from two on
};

// A block of device memory shared by tensors. The one who makes it is its first user.
class Storage {
 public:
  // Allocated from the context's device; `stream` may be null.
  Storage(Context& context, uint64_t bytes, Stream* stream);
  // Lent by somebody else; `on_release` (may be empty) runs when the last user is gone.
  Storage(Context& context, void* data, uint64_t bytes, std::function<void()> on_release);
  ~Storage();

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Without graphs, which work on the memory whoever has written it.
  uint64_t users() const {
    const uint64_t all = users_.load(std::memory_order_acquire);
    return uint32_t(all) - (all >> 32);
  }
  void add_user() noexcept { users_.fetch_add(one_user, std::memory_order_relaxed); }
  void drop_user() noexcept { drop(one_user); }
  // A graph's use, which no ruda_tensor_fence can name.
  void add_keeper() noexcept { users_.fetch_add(one_keeper, std::memory_order_relaxed); }
  void drop_keeper() noexcept { drop(one_keeper); }
  // Of an object that is no tensor; before others see the storage.
  void set_unfenceable() noexcept { unfenceable_ = true; }
  // Whether somebody may hold a tensor of it, and so hand it from stream to stream himself.
  bool fenceable() const noexcept {
    const uint64_t all = users_.load(std::memory_order_acquire);
    return !unfenceable_ && uint32_t(all) > all >> 32;
  }

  // Memory for the object of a handle that is made together with the storage: one allocation for both.
  static constexpr size_t room_bytes = 56;
  void* room() noexcept { return room_; }

  // Order between streams; only called for asynchronous devices. After a write one stream owns the storage; a
  // fence lets another read it too; a write by one of several orders itself after all of them and owns the
  // storage again. Before use: RUDA_E_WRONG_STREAM when `stream` may not use the storage yet.
  void check_stream(const Stream& stream, bool write, int arg, const char* name) {
    if (sole_user_.load(std::memory_order_acquire) != &stream.queue()) [[unlikely]]
      check_shared(stream, write, arg, name);
  }
  // After submission.
  void note_use(const Stream& stream, bool write) {
    if (sole_user_.load(std::memory_order_acquire) == &stream.queue() &&
        (!write || written_.load(std::memory_order_relaxed))) [[likely]]
      return;
    note_shared(stream, write);
  }
  void fence(Stream& stream);
  // A fence by the library itself, of what is not fenceable().
  void order(Stream& stream) {
    if (sole_user_.load(std::memory_order_acquire) != &stream.queue()) [[unlikely]]
      join(stream, true);
  }
  // The stream that wrote last, or read; null when none did. It may be closed; RUDA_E_CAPTURE_UNSAFE when it
  // is under capture.
  std::shared_ptr<DeviceStream> last_stream();

 private:
  Device& device_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  bool owned_ = false;
  std::function<void()> on_release_;
  static constexpr uint64_t one_user = 1, one_keeper = (uint64_t(1) << 32) + 1;
  void drop(uint64_t one) noexcept {
    // Beside a sole user nobody is left who could add one.
    if (users_.load(std::memory_order_acquire) == one ||
        users_.fetch_sub(one, std::memory_order_acq_rel) == one)
      delete this;
  }
  std::atomic<uint64_t> users_{one_user};  // all of them, and above them those that are keepers
  bool unfenceable_ = false;
  void join(Stream& stream, bool recorded_too);
  void check_writer() const;
  void check_shared(const Stream& stream, bool write, int arg, const char* name);
  void note_shared(const Stream& stream, bool write);
  bool shared_with(const DeviceStream& queue) const;

  std::atomic<DeviceStream*> sole_user_{nullptr};  // the only entry of streams_
  std::atomic<bool> written_{false};               // streams_[0] wrote, or drew the memory
  Lock lock_;                                      // only of asynchronous devices, which no child uses
  StreamList streams_;                             // those that may use the storage; all, when not written
  alignas(void*) std::byte room_[room_bytes];
};

class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* made) : storage_(made) {}  // takes over its first user
  StorageRef(const StorageRef& other) : storage_(other.storage_) {
    if (storage_) storage_->add_user();
  }
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() {
    if (storage_) storage_->drop_user();
  }
  Storage* operator->() const { return storage_; }
  Storage* get() const { return storage_; }

 private:
  Storage* storage_ = nullptr;
};

// Ends an object that keeps its storage by `kept`, and may lie in the room of that storage.
template <class T>
void dispose_with(T* object, StorageRef& kept) noexcept {
  const StorageRef storage = std::move(kept);
  if (storage.get() && storage->room() == object)
    object->~T();
  else
    delete object;
}

// Makes an object in the room of its storage, with a handle below the context.
template <class T, class... Args>
Ref<T> make_with(Context& context, StorageRef storage, Args&&... args) {
  static_assert(sizeof(T) <= Storage::room_bytes && alignof(T) <= alignof(void*));
  void* const room = storage->room();
  return make_from(context.cell(),
                   Owned<T>(new (room) T(context, std::move(storage), std::forward<Args>(args)...)));
}

class Tensor final : public Object {
 public:
  static constexpr Kind kind = Kind::tensor;
  Tensor(Context& context, StorageRef storage, LayoutRef layout, std::byte* data, bool read_only);

  Context& context() const { return context_; }
  const Layout& layout() const { return *layout_; }
  const LayoutRef& layout_ref() const { return layout_; }
  Storage& storage() const { return *storage_.get(); }
  const StorageRef& storage_ref() const { return storage_; }
  std::byte* data() const { return data_; }
  bool read_only() const { return read_only_; }
  uint32_t align_log2() const { return align_log2_; }  // of the address, at most 6 (64 bytes)
  uint32_t align_flags() const { return align_log2_ ? align_log2_ : uint32_t(RUDA_TENSOR_ALIGN_BYTE); }

 private:
  void dispose() noexcept override { dispose_with(this, storage_); }
  Context& context_;  // kept alive by the cell's parent
  LayoutRef layout_;
  StorageRef storage_;
  std::byte* data_;
  bool read_only_;
  uint8_t align_log2_;
};

inline Tensor& get_tensor(ruda_tensor handle, int arg, const char* name = "tensor") {
  return get<Tensor>(handle, arg, name);
}

// New memory; `stream` (may be null) orders its first use.
Ref<Tensor> make_tensor(Context& context, LayoutRef layout, Stream* stream = nullptr);
// Another look at the same memory; `offset_bytes` from the tensor's first element.
Ref<Tensor> make_view(const Tensor& tensor, const Layout& layout, int64_t offset_bytes, bool read_only);
// Memory of somebody else. `on_release` runs only if this returns.
Ref<Tensor> wrap_memory(Context& context, const Layout& layout, void* data, uint64_t bytes, bool read_only,
                        std::function<void()> on_release, int arg);

enum class ReshapeKind { same, view, copy };
// Strides of `layout` under another shape, or copy when strides do not allow it. `shape` may hold one -1.
ReshapeKind reshape_layout(const Layout& layout, const int64_t* shape, int rank, int arg, Layout& out);

// A Layout from a caller's descriptor, checked.
Layout layout_in(const ruda_tensor_desc* desc, bool allow_views, int arg, const char* name,
                 uint32_t* out_flags = nullptr);

}  // namespace ruda
