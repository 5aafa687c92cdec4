// src/tensor/tensor.cpp - storage lifetime, tensor construction, reshape analysis.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.hpp"

#include "core/struct_in.hpp"

#include <algorithm>
#include <bit>

namespace ruda {

Storage::Storage(Context& context, uint64_t bytes, Stream* stream)
    : device_(context.device()), bytes_(bytes), owned_(true) {
  data_ = static_cast<std::byte*>(device_.allocate(bytes, stream ? &stream->queue() : nullptr));
  if (!context.asynchronous() || !stream) return;
  streams_.assign(stream->shared_queue());
  sole_user_.store(&stream->queue(), std::memory_order_relaxed);
  written_.store(true, std::memory_order_relaxed);
}

Storage::Storage(Context& context, void* data, uint64_t bytes, std::function<void()> on_release)
    : device_(context.device()),
      data_(static_cast<std::byte*>(data)),
      bytes_(bytes),
      on_release_(std::move(on_release)) {}

Storage::~Storage() {
  if (streams_.empty() || (owned_ && streams_.size() == 1)) {
    if (owned_) device_.release(data_, bytes_, streams_.empty() ? nullptr : streams_.front().get());
    if (on_release_) on_release_();
    return;
  }
  // Others still use the memory: it goes back when all of them are past this point.
  if (owned_) device_.release_after(data_, bytes_, streams_.all());
  if (on_release_) device_.retire(std::move(on_release_), streams_.all());
}

bool Storage::shared_with(const DeviceStream& queue) const {
  for (const auto& entry : streams_.all())
    if (entry.get() == &queue) return true;
  return false;
}

void Storage::check_shared(const Stream& stream, bool write, int arg, const char* name) {
  device_.check_usable();  // not a child whose parent's threads may have held the mutex
  const std::lock_guard lock(lock_);
  RUDA_CHECK(!written_.load(std::memory_order_relaxed) || shared_with(stream.queue()), RUDA_E_WRONG_STREAM,
             arg, "%s: was last written on another stream, call ruda_tensor_fence first", name);
  if (!write) return;
  for (const auto& entry : streams_.all())
    if (entry.get() != &stream.queue()) stream.queue().follow(*entry);
}

void Storage::note_shared(const Stream& stream, bool write) {
  const std::lock_guard lock(lock_);
  if (write) {
    streams_.assign(stream.shared_queue());
    written_.store(true, std::memory_order_relaxed);
  } else if (!shared_with(stream.queue())) {
    streams_.push_back(stream.shared_queue());
  }
  sole_user_.store(streams_.size() == 1 ? streams_.front().get() : nullptr, std::memory_order_release);
}

std::shared_ptr<DeviceStream> Storage::last_stream() {
  device_.check_usable();
  const std::lock_guard lock(lock_);
  if (streams_.empty()) return nullptr;
  check_writer();
  return streams_.front();
}

// What a capture records is not there yet.
void Storage::check_writer() const {
  RUDA_CHECK(!streams_.front()->capturing(), RUDA_E_CAPTURE_UNSAFE, -1,
             "tensor: the stream that used it last is under capture; end the capture first");
}

void Storage::fence(Stream& stream) { join(stream, false); }

void Storage::join(Stream& stream, bool recorded_too) {
  device_.check_usable();
  const std::lock_guard lock(lock_);
  if (!written_.load(std::memory_order_relaxed) || shared_with(stream.queue())) return;
  stream.check_not_capturing(recorded_too ? "memory last used on another stream" : "ruda_tensor_fence");
  if (!recorded_too) check_writer();
  stream.queue().follow(*streams_.front());
  streams_.push_back(stream.shared_queue());
  sole_user_.store(nullptr, std::memory_order_release);
}

Tensor::Tensor(Context& context, StorageRef storage, LayoutRef layout, std::byte* data, bool read_only)
    : context_(context),
      layout_(std::move(layout)),
      storage_(std::move(storage)),
      data_(data),
      read_only_(read_only || !layout_->writable),
      align_log2_(uint8_t(std::min(6, data ? std::countr_zero(reinterpret_cast<uintptr_t>(data)) : 6))) {}

Ref<Tensor> make_tensor(Context& context, LayoutRef layout, Stream* stream) {
  StorageRef storage(new Storage(context, uint64_t(layout->high_bytes), stream));
  std::byte* data = storage->data();
  return make_with<Tensor>(context, std::move(storage), std::move(layout), data, false);
}

Ref<Tensor> make_view(const Tensor& tensor, const Layout& layout, int64_t offset_bytes, bool read_only) {
  Context& context = tensor.context();
  return make<Tensor>(context.cell(), context, tensor.storage_ref(), context.layouts().intern(layout),
                      tensor.data() + offset_bytes, read_only || tensor.read_only());
}

Ref<Tensor> wrap_memory(Context& context, const Layout& layout, void* data, uint64_t bytes, bool read_only,
                        std::function<void()> on_release, int arg) {
  RUDA_CHECK(layout.low_bytes == 0, RUDA_E_SHAPE, arg, "strides are negative, expected 0 or more");
  RUDA_CHECK(uint64_t(layout.high_bytes) <= bytes, RUDA_E_SHAPE, arg,
             "memory is %llu bytes, the shape needs %lld", (unsigned long long)bytes,
             (long long)layout.high_bytes);
  RUDA_CHECK(data || layout.high_bytes == 0, RUDA_E_NULL, arg, "data is NULL, the shape needs %lld bytes",
             (long long)layout.high_bytes);
  const DtypeInfo& info = dtype_info(layout.dtype);
  const uint32_t align = info.type_class == DtypeClass::block ? 2 : info.block_bytes;
  RUDA_CHECK(reinterpret_cast<uintptr_t>(data) % align == 0, RUDA_E_ARGUMENT, arg,
             "data is at %p, expected a multiple of %u bytes for %s", data, align, info.name);
  // Until the tensor stands, failing must leave the memory with its owner: the callback is set last.
  LayoutRef interned = context.layouts().intern(layout);
  auto armed = std::make_shared<std::function<void()>>();
  StorageRef storage(new Storage(context, data, bytes, [armed] {
    if (*armed) (*armed)();
  }));
  auto tensor = make_with<Tensor>(context, std::move(storage), std::move(interned),
                                  static_cast<std::byte*>(data), read_only);
  armed->swap(on_release);
  return tensor;
}

Layout layout_in(const ruda_tensor_desc* desc, bool allow_views, int arg, const char* name,
                 uint32_t* out_flags) {
  const ruda_tensor_desc copy = struct_in(desc, arg, name);
  RUDA_CHECK((copy.flags & ~uint32_t(RUDA_TENSOR_ALIGN_MASK | RUDA_TENSOR_READ_ONLY)) == 0 &&
                 ((copy.flags & RUDA_TENSOR_ALIGN_MASK) <= 12 ||
                  (copy.flags & RUDA_TENSOR_ALIGN_MASK) == RUDA_TENSOR_ALIGN_BYTE),
             RUDA_E_ARGUMENT, arg, "%s: flags are 0x%x, which holds unknown bits", name, copy.flags);
  if (out_flags) *out_flags = copy.flags;
  RUDA_CHECK(copy.rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, arg, "%s: rank is %u, expected 0..%d", name, copy.rank,
             RUDA_MAX_RANK);
  return make_layout(copy.dtype, copy.shape, copy.strides, int(copy.rank), allow_views, arg, name);
}

namespace {

// The caller's shape with -1 worked out.
void complete_shape(const Layout& layout, const int64_t* shape, int rank, int arg, int64_t* out) {
  RUDA_CHECK(rank >= 0 && rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, arg, "shape: rank is %d, expected 0..%d", rank,
             RUDA_MAX_RANK);
  RUDA_CHECK(shape || rank == 0, RUDA_E_NULL, arg, "shape is NULL with rank %d", rank);
  int open = -1;
  int64_t known = 1;
  for (int i = 0; i < rank; ++i) {
    out[i] = shape[i];
    if (shape[i] == -1 && open < 0) {
      open = i;
      continue;
    }
    RUDA_CHECK(shape[i] >= 0, RUDA_E_SHAPE, arg,
               "shape: extent of axis %d is %lld, expected 0 or more, or one -1", i, (long long)shape[i]);
    RUDA_CHECK(!__builtin_mul_overflow(known, shape[i], &known), RUDA_E_SHAPE, arg,
               "shape: element count overflows at axis %d", i);
  }
  if (open >= 0) {
    RUDA_CHECK(known > 0 && layout.elements % known == 0, RUDA_E_SHAPE, arg,
               "shape: %lld elements cannot be split by the known extents, whose product is %lld",
               (long long)layout.elements, (long long)known);
    out[open] = layout.elements / known;
  } else {
    RUDA_CHECK(known == layout.elements, RUDA_E_SHAPE, arg, "shape: has %lld elements, the tensor has %lld",
               (long long)known, (long long)layout.elements);
  }
}

}  // namespace

ReshapeKind reshape_layout(const Layout& layout, const int64_t* shape, int rank, int arg, Layout& out) {
  int64_t extents[RUDA_MAX_RANK];
  complete_shape(layout, shape, rank, arg, extents);
  if (rank == layout.rank && std::equal(extents, extents + rank, layout.shape)) {
    out = layout;
    return ReshapeKind::same;
  }
  out = make_layout(layout.dtype, extents, nullptr, rank, true, arg, "shape");
  if (layout.contiguous) return ReshapeKind::view;

  // Walk both shapes from the last axis; a run of old axes that is dense within itself may be cut anew.
  int64_t strides[RUDA_MAX_RANK];
  int old_axis = layout.rank - 1, new_axis = rank - 1;
  while (new_axis >= 0) {
    if (extents[new_axis] == 1) {
      strides[new_axis--] = 0;
      continue;
    }
    while (old_axis >= 0 && layout.shape[old_axis] == 1) --old_axis;
    int64_t have = layout.shape[old_axis], want = extents[new_axis];
    int64_t run_stride = layout.strides[old_axis], step = run_stride;
    strides[new_axis] = step;
    while (have != want) {
      if (have < want) {
        int next = old_axis - 1;
        while (next >= 0 && layout.shape[next] == 1) --next;
        if (next < 0 || layout.strides[next] != run_stride * layout.shape[old_axis]) return ReshapeKind::copy;
        old_axis = next;
        run_stride = layout.strides[old_axis];
        have *= layout.shape[old_axis];
      } else {
        step *= extents[new_axis];
        if (new_axis == 0) return ReshapeKind::copy;
        strides[--new_axis] = step;
        want *= extents[new_axis];
      }
    }
    --old_axis;
    --new_axis;
  }
  out = make_layout(layout.dtype, extents, strides, rank, true, arg, "shape");
  return ReshapeKind::view;
}

}  // namespace ruda
