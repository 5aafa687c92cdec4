// src/ops/elementwise/copy.cpp - contract of copy, and the tensor calls that are copies.
// SPDX-License-Identifier: Apache-2.0
#include "core/float_mode.hpp"
#include "plan/contract.hpp"
#include "plan/eager.hpp"
#include "tensor/overlap.hpp"

#include <ruda/elementwise.h>

#include <cmath>

RUDA_DECLARE_KERNELS(copy)

namespace ruda::ops {

extern const OpDef copy{"copy", RUDA_KERNELS(copy)};

namespace {

void check_conversion(uint32_t from, uint32_t to, int arg) {
  RUDA_CHECK(!is_block(to) || from == to, RUDA_E_DTYPE, arg,
             "copy: dtype %s cannot be converted to block format %s", dtype_name(from), dtype_name(to));
  RUDA_CHECK(!is_block(from) || from == to || dtype_info(to).type_class == DtypeClass::real, RUDA_E_DTYPE,
             arg, "copy: block format %s cannot be converted to %s, expected a float dtype", dtype_name(from),
             dtype_name(to));
}

void check_overflow(uint32_t overflow, uint32_t dtype, int arg) {
  RUDA_CHECK(overflow <= RUDA_OVERFLOW_NONFINITE, RUDA_E_ARGUMENT, arg,
             "copy: overflow is %u, expected 0..%u", overflow, RUDA_OVERFLOW_NONFINITE);
  RUDA_CHECK(overflow == RUDA_OVERFLOW_DEFAULT || dtype == RUDA_F8E4M3 || dtype == RUDA_F8E5M2,
             RUDA_E_ARGUMENT, arg,
             "copy: overflow is %u with dtype %s, expected 0: F8E4M3 and F8E5M2 have the choice", overflow,
             dtype_name(dtype));
}

Problem check(ruda_context context, const ruda_copy_desc* desc) {
  Contract c(copy, context, desc);
  const auto d = c.options<ruda_copy_desc>();
  c.in("x", d.x);
  const Operand x = c[RUDA_COPY_X];
  const uint32_t dtype = d.dtype ? d.dtype
                         : d.y   ? struct_in(d.y, Contract::arg_desc, "desc.y").dtype
                                 : x.dtype();
  c.require(find_dtype(dtype), RUDA_E_DTYPE, "dtype is %u, which is no known code", dtype);
  check_conversion(x.dtype(), dtype, Contract::arg_desc);
  check_overflow(d.overflow, dtype, Contract::arg_desc);
  c.out("y", d.y, dtype, x.layout->shape, x.rank());
  return c.take();
}

// A copy into a tensor that stands already.
void copy_into(Stream& stream, ruda_tensor from, ruda_tensor to) {
  Eager call(copy, handle_of<ruda_stream>(stream));
  call.in(RUDA_COPY_X, from, 1, "from");
  call.inout(RUDA_COPY_Y, to, 2, "to");
  call.plan([&] {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.x = call.desc(RUDA_COPY_X);
    desc.y = call.desc(RUDA_COPY_Y);
    return check(call.context_handle(), &desc);
  });
  call.run(nullptr, nullptr, 0);
}

Ref<Tensor> copy_new(Stream& stream, ruda_tensor from, uint32_t dtype, uint32_t overflow = 0) {
  Eager call(copy, handle_of<ruda_stream>(stream));
  call.in(RUDA_COPY_X, from, 1, "tensor");
  call.key(dtype);
  call.key(overflow);
  call.plan([&] {
    ruda_copy_desc desc = RUDA_COPY_DESC_INIT;
    desc.x = call.desc(RUDA_COPY_X);
    desc.dtype = dtype;
    desc.overflow = overflow;
    return check(call.context_handle(), &desc);
  });
  const ruda_tensor out = call.run(RUDA_COPY_Y);
  return Ref<Tensor>::adopt(&get_tensor(out, -1));
}

Tensor& same_context(Stream& stream, ruda_tensor handle, int arg, const char* name, bool write = false) {
  Tensor& tensor = get_tensor(handle, arg, name);
  RUDA_CHECK(&tensor.context() == &stream.context(), RUDA_E_ARGUMENT, arg,
             "%s: belongs to another context than the stream", name);
  stream.check_healthy();
  if (stream.context().asynchronous()) tensor.storage().check_stream(stream, write, arg, name);
  return tensor;
}

void cast(ruda_stream stream, ruda_tensor tensor, uint32_t dtype, uint32_t overflow, ruda_tensor* out,
          int out_arg) {
  RUDA_CHECK(out, RUDA_E_NULL, out_arg, "out is NULL");
  *out = nullptr;
  Stream& s = get_stream(stream);
  Tensor& t = same_context(s, tensor, 1, "tensor");
  RUDA_CHECK(find_dtype(dtype), RUDA_E_DTYPE, 2, "dtype is %u, which is no known code", dtype);
  check_conversion(t.layout().dtype, dtype, 2);
  check_overflow(overflow, dtype, 3);
  *out = copy_new(s, tensor, dtype, overflow).detach<ruda_tensor>();
}

// From a tensor of another context into one of the stream's.
void transfer(Stream& stream, Tensor& from, Tensor& to) {
  stream.check_not_capturing("ruda_tensor_copy");
  stream.check_healthy();
  RUDA_CHECK(from.layout().dtype == to.layout().dtype, RUDA_E_DTYPE, 2,
             "to: dtype %s, expected %s: a copy from another context does not convert",
             dtype_name(to.layout().dtype), dtype_name(from.layout().dtype));
  RUDA_CHECK(from.layout().contiguous, RUDA_E_UNSUPPORTED, 1,
             "from: belongs to another context and has strides; make it contiguous there first");
  Context& context = stream.context();
  Context& owner = from.context();
  owner.device().check_usable();
  if (context.asynchronous()) to.storage().check_stream(stream, true, 2, "to");
  const uint64_t bytes = from.layout().packed_bytes();
  if (bytes == 0) return;
  const Ref<Tensor> packed =
      to.layout().contiguous
          ? Ref<Tensor>(&to)
          : make_tensor(context,
                        context.layouts().contiguous(to.layout().dtype, to.layout().shape, to.layout().rank),
                        &stream);
  bool done = false;
  if (context.asynchronous() && owner.backend() == context.backend()) {
    from.storage().fence(stream);
    const DeviceScope scope(context.device());
    done = context.device().copy_from(stream.queue(), packed->data(), owner.device(), from.data(), bytes);
    if (done) from.storage().note_use(stream, false);
  }
  if (!done) {
    const std::byte* host = from.data();
    std::unique_ptr<std::byte[]> staged;
    if (owner.asynchronous()) {
      const std::shared_ptr<DeviceStream> last = from.storage().last_stream();
      staged.reset(new std::byte[bytes]);
      owner.device().fetch(last.get(), staged.get(), from.data(), bytes);
      host = staged.get();
    }
    stream.write(packed->data(), host, bytes);
  }
  if (context.asynchronous()) packed->storage().note_use(stream, true);
  if (packed.get() != &to) copy_into(stream, handle_of<ruda_tensor>(*packed), handle_of<ruda_tensor>(to));
}

}  // namespace
}  // namespace ruda::ops

using namespace ruda;

extern "C" {

ruda_status ruda_copy_plan_create(ruda_context context, const ruda_copy_desc* desc, ruda_plan* out) noexcept {
  return create_plan(__func__, out, [&] { return ops::check(context, desc); });
}

ruda_status ruda_tensor_write(ruda_stream stream, ruda_tensor tensor, const void* data,
                              uint64_t bytes) noexcept {
  return guard(__func__, [&] {
    Stream& s = get_stream(stream);
    s.check_not_capturing("ruda_tensor_write");
    Tensor& t = ops::same_context(s, tensor, 1, "tensor", true);
    const uint64_t need = t.layout().packed_bytes();
    RUDA_CHECK(data || !bytes, RUDA_E_NULL, 2, "data is NULL with %llu bytes", (unsigned long long)bytes);
    RUDA_CHECK(bytes == need, RUDA_E_SHAPE, 3, "bytes is %llu, the tensor holds %llu",
               (unsigned long long)bytes, (unsigned long long)need);
    RUDA_CHECK(!t.read_only(), RUDA_E_ARGUMENT, 1, "tensor: is read-only");
    if (t.layout().contiguous) {
      s.write(t.data(), data, bytes);
      if (s.context().asynchronous()) t.storage().note_use(s, true);
      return;
    }
    const auto packed = make_tensor(
        s.context(), s.context().layouts().contiguous(t.layout().dtype, t.layout().shape, t.layout().rank),
        &s);
    s.write(packed->data(), data, bytes);
    if (s.context().asynchronous()) packed->storage().note_use(s, true);
    ops::copy_into(s, handle_of<ruda_tensor>(*packed), tensor);
  });
}

ruda_status ruda_tensor_read(ruda_stream stream, ruda_tensor tensor, void* data, uint64_t bytes) noexcept {
  return guard(__func__, [&] {
    Stream& s = get_stream(stream);
    s.check_not_capturing("ruda_tensor_read");
    Tensor& t = ops::same_context(s, tensor, 1, "tensor");
    const uint64_t need = t.layout().packed_bytes();
    RUDA_CHECK(data || !bytes, RUDA_E_NULL, 2, "data is NULL with %llu bytes", (unsigned long long)bytes);
    RUDA_CHECK(bytes >= need, RUDA_E_SHAPE, 3, "bytes is %llu, the tensor holds %llu",
               (unsigned long long)bytes, (unsigned long long)need);
    if (t.layout().contiguous) return s.read(data, t.data(), need);
    const auto packed = ops::copy_new(s, tensor, t.layout().dtype);
    s.read(data, packed->data(), need);
  });
}

ruda_status ruda_tensor_fill(ruda_stream stream, ruda_tensor tensor, double value) noexcept {
  return guard(__func__, [&] {
    Stream& s = get_stream(stream);
    s.check_not_capturing("ruda_tensor_fill");
    Tensor& t = ops::same_context(s, tensor, 1, "tensor", true);
    const Layout& layout = t.layout();
    RUDA_CHECK(!is_block(layout.dtype), RUDA_E_DTYPE, 1,
               "tensor: dtype %s cannot be filled, expected a plain dtype", dtype_name(layout.dtype));
    RUDA_CHECK(!t.read_only(), RUDA_E_ARGUMENT, 1, "tensor: is read-only");
    const FloatMode mode;
    // One element, seen as the whole shape through strides of 0; conversions truncate, so round integers
    // here.
    const bool real = dtype_info(layout.dtype).type_class == DtypeClass::real;
    if (!real && layout.dtype != RUDA_BOOL) value = std::nearbyint(value);
    const auto one = make_tensor(s.context(), s.context().layouts().contiguous(RUDA_F64, nullptr, 0), &s);
    s.write(one->data(), &value, sizeof value);
    if (s.context().asynchronous()) one->storage().note_use(s, true);
    const int64_t strides[RUDA_MAX_RANK] = {};
    const Layout repeated = make_layout(RUDA_F64, layout.shape, strides, layout.rank, true, 1, "tensor");
    const auto view = make_view(*one, repeated, 0, true);
    ops::copy_into(s, handle_of<ruda_tensor>(*view), tensor);
  });
}

ruda_status ruda_tensor_contiguous(ruda_stream stream, ruda_tensor tensor, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    Stream& s = get_stream(stream);
    Tensor& t = ops::same_context(s, tensor, 1, "tensor");
    *out = (t.layout().contiguous ? Ref<Tensor>(&t) : ops::copy_new(s, tensor, t.layout().dtype))
               .detach<ruda_tensor>();
  });
}

ruda_status ruda_tensor_cast(ruda_stream stream, ruda_tensor tensor, uint32_t dtype,
                             ruda_tensor* out) noexcept {
  return guard(__func__, [&] { ops::cast(stream, tensor, dtype, RUDA_OVERFLOW_DEFAULT, out, 3); });
}

ruda_status ruda_tensor_convert(ruda_stream stream, ruda_tensor tensor, uint32_t dtype, uint32_t overflow,
                                ruda_tensor* out) noexcept {
  return guard(__func__, [&] { ops::cast(stream, tensor, dtype, overflow, out, 4); });
}

ruda_status ruda_tensor_copy(ruda_stream stream, ruda_tensor from, ruda_tensor to) noexcept {
  return guard(__func__, [&] {
    Stream& s = get_stream(stream);
    Tensor& foreign = get_tensor(from, 1, "from");
    const bool transfer = &foreign.context() != &s.context();
    Tensor& a = transfer ? foreign : ops::same_context(s, from, 1, "from");
    Tensor& b = ops::same_context(s, to, 2, "to");
    RUDA_CHECK(!b.read_only(), RUDA_E_ARGUMENT, 2, "to: is read-only");
    RUDA_CHECK(a.layout().same_shape(b.layout()), RUDA_E_SHAPE, 2, "to: shape %s, expected %s",
               b.layout().shape_text().c_str(), a.layout().shape_text().c_str());
    if (transfer) return ops::transfer(s, a, b);
    ops::check_conversion(a.layout().dtype, b.layout().dtype, 2);
    RUDA_CHECK(!share_bytes(a, b), RUDA_E_OVERLAP, 2, "to: memory overlaps from");
    ops::copy_into(s, from, to);
  });
}

ruda_status ruda_tensor_reshape(ruda_stream stream, ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                ruda_bool* out_copied, ruda_tensor* out) noexcept {
  return guard(__func__, [&] {
    if (out_copied) *out_copied = 0;
    RUDA_CHECK(out, RUDA_E_NULL, 5, "out is NULL");
    *out = nullptr;
    Stream& s = get_stream(stream);
    Tensor& t = ops::same_context(s, tensor, 1, "tensor");
    RUDA_CHECK(rank <= RUDA_MAX_RANK, RUDA_E_SHAPE, 3, "rank is %u, expected 0..%d", rank, RUDA_MAX_RANK);
    Layout layout;
    if (reshape_layout(t.layout(), shape, int(rank), 2, layout) != ReshapeKind::copy) {
      *out = make_view(t, layout, 0, false).detach<ruda_tensor>();
      return;
    }
    const auto packed = ops::copy_new(s, tensor, t.layout().dtype);
    *out = make_view(*packed, layout, 0, false).detach<ruda_tensor>();
    if (out_copied) *out_copied = 1;
  });
}

}  // extern "C"
