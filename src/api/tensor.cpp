// src/api/tensor.cpp - C entries that make tensors, describe them and look at them through other shapes.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "tensor/tensor.hpp"

#include <algorithm>

using namespace ruda;

extern "C" {

ruda_status ruda_tensor_create(ruda_context context, const ruda_tensor_desc* desc,
                               ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    uint32_t flags = 0;
    const Layout layout = layout_in(desc, false, 1, "desc", &flags);
    RUDA_CHECK(layout.writable, RUDA_E_SHAPE, 1,
               "desc: strides make elements share memory, expected distinct elements");
    RUDA_CHECK(!(flags & RUDA_TENSOR_READ_ONLY), RUDA_E_ARGUMENT, 1,
               "desc: flags hold RUDA_TENSOR_READ_ONLY, which only memory of the caller can be");
    c.device().check_usable();
    *out = make_tensor(c, c.layouts().intern(layout)).detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_wrap(ruda_context context, const ruda_tensor_desc* desc, void* data, uint64_t bytes,
                             ruda_free_fn on_free, void* user, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 6, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    uint32_t flags = 0;
    const Layout layout = layout_in(desc, false, 1, "desc", &flags);
    RUDA_CHECK(uint64_t(layout.high_bytes) <= bytes, RUDA_E_SHAPE, 3, "bytes is %llu, the shape needs %lld",
               (unsigned long long)bytes, (long long)layout.high_bytes);
    std::function<void()> on_release;
    if (on_free) on_release = [on_free, user, data] { on_free(user, data); };
    *out = wrap_memory(c, layout, data, bytes, flags & RUDA_TENSOR_READ_ONLY, std::move(on_release), 2)
               .detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_get_desc(ruda_tensor tensor, ruda_tensor_desc* inout) noexcept {
  return guard(__func__, [&] {
    const Tensor& t = get_tensor(tensor, 0);
    const Layout& layout = t.layout();
    ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
    desc.dtype = layout.dtype;
    desc.rank = uint32_t(layout.rank);
    desc.flags = t.align_flags() | (t.read_only() ? RUDA_TENSOR_READ_ONLY : 0);
    desc.shape = layout.shape;
    desc.strides = layout.strides;
    struct_out(inout, desc, 1, "inout");
  });
}

ruda_status ruda_tensor_get_data(ruda_tensor tensor, void** out_data, uint64_t* out_bytes) noexcept {
  return guard(__func__, [&] {
    if (out_data) *out_data = nullptr;
    if (out_bytes) *out_bytes = 0;
    const Tensor& t = get_tensor(tensor, 0);
    if (out_data) *out_data = t.data();
    if (out_bytes) *out_bytes = t.layout().packed_bytes();
  });
}

ruda_status ruda_tensor_get_context(ruda_tensor tensor, ruda_context* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    *out = Ref<Context>(&get_tensor(tensor, 0).context()).detach<ruda_context>();
  });
}

ruda_status ruda_tensor_is_contiguous(ruda_tensor tensor, ruda_bool* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = 0;
    *out = get_tensor(tensor, 0).layout().contiguous;
  });
}

ruda_status ruda_tensor_storage_users(ruda_tensor tensor, uint64_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = 0;
    *out = get_tensor(tensor, 0).storage().users();
  });
}

ruda_status ruda_tensor_fence(ruda_tensor tensor, ruda_stream stream) noexcept {
  return guard(__func__, [&] {
    Tensor& t = get_tensor(tensor, 0);
    Stream& s = get_stream(stream, 1);
    RUDA_CHECK(&t.context() == &s.context(), RUDA_E_ARGUMENT, 1,
               "stream: belongs to another context than the tensor");
    if (t.context().asynchronous()) t.storage().fence(s);
  });
}

ruda_status ruda_tensor_permute(ruda_tensor tensor, const uint32_t* axes, uint32_t rank,
                                ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    const Tensor& t = get_tensor(tensor, 0);
    const Layout& from = t.layout();
    RUDA_CHECK(axes || !rank, RUDA_E_NULL, 1, "axes is NULL with rank %u", rank);
    RUDA_CHECK(rank == uint32_t(from.rank), RUDA_E_SHAPE, 2, "rank is %u, the tensor has %d", rank,
               from.rank);
    int64_t shape[RUDA_MAX_RANK], strides[RUDA_MAX_RANK];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      RUDA_CHECK(axes[i] < rank && !(seen >> axes[i] & 1), RUDA_E_SHAPE, 1,
                 "axes[%u] is %u, expected each of 0..%u once", i, axes[i], rank - 1);
      seen |= 1u << axes[i];
      shape[i] = from.shape[axes[i]];
      strides[i] = from.strides[axes[i]];
    }
    RUDA_CHECK(dtype_info(from.dtype).block_elements == 1 || rank == 0 || axes[rank - 1] == rank - 1,
               RUDA_E_SHAPE, 1, "axes[%u] is %u, the last axis of %s must stay last", rank - 1,
               axes[rank - 1], dtype_name(from.dtype));
    const Layout layout = make_layout(from.dtype, shape, strides, from.rank, true, 1, "axes");
    *out = make_view(t, layout, 0, false).detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_slice(ruda_tensor tensor, const int64_t* begin, const int64_t* end,
                              const int64_t* step, uint32_t rank, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    const Tensor& t = get_tensor(tensor, 0);
    const Layout& from = t.layout();
    RUDA_CHECK(begin || !rank, RUDA_E_NULL, 1, "begin is NULL with rank %u", rank);
    RUDA_CHECK(end || !rank, RUDA_E_NULL, 2, "end is NULL with rank %u", rank);
    RUDA_CHECK(rank == uint32_t(from.rank), RUDA_E_SHAPE, 4, "rank is %u, the tensor has %d", rank,
               from.rank);
    const DtypeInfo& info = dtype_info(from.dtype);
    const int64_t block = info.block_elements;
    int64_t shape[RUDA_MAX_RANK], strides[RUDA_MAX_RANK], offset = 0;
    for (uint32_t i = 0; i < rank; ++i) {
      const int64_t extent = from.shape[i], by = step ? step[i] : 1;
      RUDA_CHECK(by != 0, RUDA_E_SHAPE, 3, "step[%u] is 0, expected not 0", i);
      // Python's rule: count negatives from the end, then clamp into what the direction can visit.
      const int64_t low = by > 0 ? 0 : -1, high = by > 0 ? extent : extent - 1;
      const auto place = [&](int64_t at) {
        return std::clamp(at < 0 ? std::max(at, -extent - 1) + extent : at, low, high);
      };
      const int64_t first = place(begin[i]), last = place(end[i]);
      const int64_t distance = by > 0 ? last - first : first - last;
      const uint64_t size = by > 0 ? uint64_t(by) : 0 - uint64_t(by);
      shape[i] = distance > 0 ? int64_t(uint64_t(distance - 1) / size) + 1 : 0;
      if (i + 1 == rank && block > 1)
        RUDA_CHECK(by == 1 && first % block == 0 && shape[i] % block == 0, RUDA_E_SHAPE, 1,
                   "begin[%u] to end[%u] is %lld..%lld by %lld, which cuts a block of %lld of %s", i, i,
                   (long long)first, (long long)last, (long long)by, (long long)block, info.name);
      strides[i] = shape[i] > 1 ? from.strides[i] * by : from.strides[i];
      if (shape[i] > 0) offset += first * from.strides[i];
    }
    const Layout layout = make_layout(from.dtype, shape, strides, from.rank, true, 1, "slice");
    *out = make_view(t, layout, layout.elements ? offset / block * info.block_bytes : 0, false)
               .detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_broadcast(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                  ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    const Tensor& t = get_tensor(tensor, 0);
    const Layout& from = t.layout();
    RUDA_CHECK(shape || !rank, RUDA_E_NULL, 1, "shape is NULL with rank %u", rank);
    RUDA_CHECK(rank >= uint32_t(from.rank) && rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, 2,
               "rank is %u, expected %d..%d", rank, from.rank, RUDA_MAX_RANK);
    int64_t strides[RUDA_MAX_RANK];
    const int added = int(rank) - from.rank;
    bool repeats = false;
    for (int i = 0; i < int(rank); ++i) {
      const int64_t have = i < added ? 1 : from.shape[i - added];
      RUDA_CHECK(shape[i] == have || (have == 1 && shape[i] >= 0), RUDA_E_SHAPE, 1,
                 "shape[%d] is %lld, the tensor has %lld there", i, (long long)shape[i], (long long)have);
      strides[i] = have == 1 ? 0 : from.strides[i - added];
      repeats |= have == 1 && shape[i] > 1;
    }
    RUDA_CHECK(dtype_info(from.dtype).block_elements == 1 || rank == 0 || from.rank == 0 ||
                   shape[rank - 1] == from.shape[from.rank - 1],
               RUDA_E_SHAPE, 1, "shape[%u] is %lld, the last axis of %s cannot be repeated", rank - 1,
               (long long)shape[rank - 1], dtype_name(from.dtype));
    const Layout layout = make_layout(from.dtype, shape, strides, int(rank), true, 1, "shape");
    *out = make_view(t, layout, 0, repeats && layout.elements).detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_view(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                             ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    const Tensor& t = get_tensor(tensor, 0);
    Layout layout;
    RUDA_CHECK(rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, 2, "rank is %u, expected 0..%d", rank, RUDA_MAX_RANK);
    const ReshapeKind kind = reshape_layout(t.layout(), shape, int(rank), 1, layout);
    RUDA_CHECK(kind != ReshapeKind::copy, RUDA_E_SHAPE, 1,
               "shape: strides of a tensor of shape %s need a copy, use ruda_tensor_reshape",
               t.layout().shape_text().c_str());
    *out = make_view(t, layout, 0, false).detach<ruda_tensor>();
  });
}

}  // extern "C"
