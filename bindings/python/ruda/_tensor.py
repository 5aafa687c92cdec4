# bindings/python/ruda/_tensor.py - tensors: shape, views, copies, buffers, NumPy, DLPack.
# SPDX-License-Identifier: Apache-2.0
"""A view shares storage with the tensor it was made from. Reading and writing host memory copies;
numpy_view() and wrap() do not. NumPy is imported only by the functions that return arrays."""

import math
import operator
import struct

from ._load import _raw
from ._constants import Backend, DType, Overflow, Status
from ._buffers import contiguous_buffer, dtype_of_format, match_buffer, no_elements, wrong_size
from ._errors import ArgumentError
from ._core import Context, Handle, context_handle, given, lend, op_stream, register, take_returned, wrap
from ._numbers import (
    FORMATS,
    MOST_I64,
    choice,
    described,
    exact_float,
    flatten,
    integers,
    is_bool,
    numpy_module,
    pack_numbers,
    plain_numbers,
)
from ._operators import Operators, as_number, no_operand, number_beside

# Names of other libraries for the eight-bit and four-bit floats.
_OTHER_NAMES = {
    "F8_E4M3FN": "F8E4M3",
    "F8_E4M3": "F8E4M3",
    "F8_E5M2": "F8E5M2",
    "F4_E2M1FN": "F4E2M1",
    "F4_E2M1": "F4E2M1",
}


def no_dtype(value):
    return f"dtype is {value!r}, expected one of DType: " + ", ".join(DType.__members__).lower()


def dtype_from(value):
    """A DType from a DType, its number, its name ("f32", "F32", "float32"), or the dtype of an array library
    (numpy.float32, numpy.dtype("int8"), torch.bfloat16)."""
    if isinstance(value, DType):
        return value
    if is_bool(value):
        raise TypeError(no_dtype(value))
    if value is None or isinstance(value, float):
        raise ValueError(no_dtype(value))
    if isinstance(value, int):
        if value not in DType._value2member_map_:
            raise ValueError(no_dtype(value))
        return DType(value)
    name = value
    if not isinstance(name, str):
        name = getattr(value, "name", None) or getattr(value, "__name__", None)
        if not isinstance(name, str):
            name = str(value)
    short = name.rpartition(".")[2].upper().rstrip("_")
    for long, letter in (("BFLOAT", "BF"), ("FLOAT", "F"), ("UINT", "U"), ("INT", "I")):
        if short.startswith(long):
            short = letter + short[len(long) :]
    short = _OTHER_NAMES.get(short, short)
    if short not in DType.__members__:
        raise ValueError(no_dtype(name))
    return DType[short]


def dtype_or_default(value):
    """The number of a dtype; None and 0 stand for the default of the call."""
    return 0 if value is None or (value == 0 and type(value) is int) else int(dtype_from(value))


# Dtypes that PyTorch has and NumPy lacks.
_SHARED = (DType.BF16, DType.F8E4M3, DType.F8E5M2)


def no_numpy(dtype):
    """What is said where an array of a dtype that NumPy lacks is asked for."""
    if dtype in (DType.Q2_K, DType.Q3_K):  # nothing converts them
        return f"NumPy has no type for {dtype.name}: t.tobytes() gives its blocks"
    shared = "; torch.from_dlpack(t) shares it as it is" if dtype in _SHARED else ""
    return f"NumPy has no type for {dtype.name}: cast to F32 first: t.cast(ruda.F32){shared}"


def extents(shape, name="shape"):
    return integers(name, shape if isinstance(shape, (tuple, list)) else (shape,))


def pair(name, value):
    """Two integers, as DLPack gives a version and a device."""
    try:
        first, second = map(operator.index, value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, expected two integers") from None
    return first, second


@register("tensor")
class Tensor(Operators, Handle):
    """Elements of one dtype with a shape and strides, in the memory of a context's device.

    a + b and the like are functions of ruda.binary on the current stream; beside a tensor stands one of its dtype,
    or a number that is one of it. a += b writes into a. == and hash() are those of the object, not of the elements:
    two tensors are never equal. bool() is for tensors of one element."""

    __slots__ = ("_facts",)

    def __init__(self, *_, **__):
        raise TypeError(
            "tensors are made by a Context: empty, zeros, full, tensor, wrap; or by from_dlpack"
        )

    # ---- making ----

    @staticmethod
    def empty(context, shape, dtype=DType.F32):
        return wrap(
            "tensor", _raw.rudax_tensor_create(context_handle(context), dtype_from(dtype), extents(shape)), context
        )

    @staticmethod
    def full(context, shape, value, dtype=DType.F32, *, stream=None):
        made = Tensor.empty(context, shape, dtype)
        return made.fill(value, stream=stream)

    @staticmethod
    def from_data(context, data, dtype=None, *, stream=None):
        wanted = None if dtype is None else dtype_from(dtype)
        # A number of an array library is an array of rank 0, also where it is a float of Python as numpy.float64.
        if isinstance(data, (int, float, list, tuple)) and not hasattr(data, "dtype"):
            shape, flat = flatten(data)
            flat = plain_numbers(wanted, shape, flat)
            have = wanted if wanted in FORMATS else DType.F32
            if wanted is None:
                kinds = set(map(type, flat))
                if kinds == {bool}:
                    have = DType.BOOL
                elif kinds and kinds <= {bool, int}:
                    have = DType.I32
            source = pack_numbers(have, shape, flat)
        else:
            try:
                view = memoryview(data)
            except (TypeError, ValueError, BufferError):
                if hasattr(data, "dtype") and hasattr(data, "__array_interface__"):
                    raise no_elements("data", data) from None
                if not hasattr(data, "__dlpack__"):
                    raise TypeError(
                        f"data is {described(data)}, expected a number, nested sequences, a buffer, or an object "
                        "with __dlpack__"
                    ) from None
                with from_dlpack(data, context=context) as shared:
                    made = Tensor.empty(context, shared.shape, shared.dtype if wanted is None else wanted)
                    return shared.copy_to(made, stream=stream)
            have = dtype_of_format(view.format, view.itemsize)
            if have is None:
                raise no_elements("data", data, view)
            shape = view.shape
            source = view if view.c_contiguous else view.tobytes()
        made = Tensor.empty(context, shape, have)
        made.write(source, stream=stream)
        return made if wanted in (None, have) else made.cast(wanted, stream=stream)

    @staticmethod
    def over(context, buffer, dtype=None, shape=None):
        take_returned()
        view = contiguous_buffer("buffer", buffer)
        if dtype is None:
            dtype = dtype_of_format(view.format, view.itemsize)
            if dtype is None:
                raise no_elements("buffer", buffer, view)
        kind = dtype_from(dtype)
        if shape is None:
            bits = _raw.rudax_dtype_get(kind)[0]
            if dtype_of_format(view.format, view.itemsize) == kind:
                shape = view.shape
            elif bits:
                shape = (view.nbytes * 8 // bits,)
            else:
                raise ValueError(f"shape is not given, which a buffer of {kind.name} blocks needs")
        loan = lend(view)
        try:
            return wrap(
                "tensor",
                _raw._wrap(context_handle(context), kind, extents(shape), view, int(not view.readonly), loan),
                context,
            )
        except BaseException:
            from ._core import _loans

            _loans.pop(loan, None)
            raise

    # ---- facts ----

    def _layout(self):
        self._open()
        try:
            return self._facts
        except AttributeError:
            self._facts = _raw.rudax_tensor_layout(self._h)
            return self._facts

    def _context_handle(self):
        """A tensor outlives its context: it leads to it also when that was closed."""
        return _raw.ruda_tensor_get_context(self._h) if self._context.closed else self._context._h

    def _beside(self, shape):
        """A new tensor of the same dtype and context, which may be closed."""
        return wrap("tensor", _raw.rudax_tensor_create(self._context_handle(), self.dtype, shape), self._context)

    @property
    def context(self):
        return self._open()._context

    @property
    def dtype(self):
        return DType(self._layout()[0])

    @property
    def read_only(self):
        return bool(self._layout()[1] & 0x100)

    @property
    def nbytes(self):
        """Bytes of a contiguous copy."""
        return self._layout()[2]

    @property
    def is_contiguous(self):
        return self._layout()[3]

    @property
    def shape(self):
        return self._layout()[4]

    @property
    def strides(self):
        """In elements."""
        return self._layout()[5]

    @property
    def ndim(self):
        return len(self._layout()[4])

    @property
    def size(self):
        return math.prod(self._layout()[4])

    @property
    def storage_users(self):
        """Tensors that share the storage."""
        return _raw.ruda_tensor_storage_users(self._h)

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __bool__(self):
        """Whether the element is not 0; a tensor of none or several elements has no truth value."""
        if self.size != 1:
            raise ValueError(f"a tensor of shape {list(self.shape)} has no truth value: one element has")
        return bool(self.item())

    def _about(self):
        return f"{self.dtype.name} {list(self.shape)}"

    # ---- host memory ----

    def write(self, data, *, stream=None):
        """Copies a contiguous buffer of exactly the tensor's bytes into the tensor: of its dtype, or bytes."""
        view = match_buffer(self.dtype, data)
        if view.nbytes != self.nbytes:
            raise wrong_size(view.nbytes, str(self.nbytes))
        _raw.ruda_tensor_write(op_stream(stream, self)[0], self._h, data)
        return self

    def read_into(self, data, *, stream=None):
        """Copies the tensor, row-major, into a writable buffer of its dtype, or of bytes, and at least its
        size."""
        view = match_buffer(self.dtype, data, "expected a writable buffer, such as an array of NumPy or a bytearray")
        if view.readonly:
            raise TypeError(f"data is {described(data)}, read-only, expected a writable buffer")
        if view.nbytes < self.nbytes:
            raise wrong_size(view.nbytes, f"at least {self.nbytes}")
        _raw.ruda_tensor_read(op_stream(stream, self)[0], self._h, data)
        return data

    def tobytes(self, *, stream=None):
        return bytes(self.read_into(bytearray(self.nbytes), stream=stream))

    def tolist(self, *, stream=None):
        """Nested lists of Python numbers; dtypes without one are read as F32."""
        source = self if self.dtype in FORMATS else self.cast(DType.F32, stream=stream)
        raw = source.tobytes(stream=stream)
        code = FORMATS[source.dtype]
        if code == "e":
            flat = list(struct.unpack(f"={source.size}e", raw))
        else:
            flat = memoryview(raw).cast(code).tolist() if raw else []
        for extent in reversed(self.shape[1:]):
            flat = (
                [flat[i : i + extent] for i in range(0, len(flat), extent)]
                if extent
                else [[] for _ in range(math.prod(self.shape[: self.shape.index(0)]))]
            )
        return flat if self.shape else flat[0]

    def item(self, *, stream=None):
        if self.size != 1:
            raise ValueError(f"a tensor of shape {list(self.shape)} is no single number")
        value = self.tolist(stream=stream)
        while isinstance(value, list):
            value = value[0]
        return value

    def numpy(self, *, stream=None):
        """A NumPy array with a copy of the elements."""
        numpy = numpy_module()
        kind = self.dtype
        if kind not in FORMATS:
            raise TypeError(no_numpy(kind))
        made = numpy.empty(self.shape, numpy.dtype(FORMATS[kind]))
        if made.size:
            self.read_into(made, stream=stream)
        return made

    def numpy_view(self):
        """A NumPy array over the tensor's own memory, which it keeps alive; that of a read-only tensor is not
        writable. CPU only."""
        if self.dtype not in FORMATS:
            raise TypeError(no_numpy(self.dtype))
        return numpy_module().from_dlpack(InPlace(self))

    def __array__(self, dtype=None, copy=None):
        made = self.numpy()
        return made if dtype is None else made.astype(dtype)

    # ---- DLPack ----

    def __dlpack_device__(self):
        self._open()
        context = self._context_handle()
        if _raw.rudax_context_get(context, 0) == Backend.CPU:
            return (1, 0)
        return (2, _raw.rudax_context_get(context, 1))

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """The tensor for another library. copy=None shares memory, but for a read-only tensor and one with a
        negative stride, of which it hands out a copy: many libraries ignore the flag and would write to a mapped
        file or to a bytes object, and PyTorch ends the process over such strides. copy=False always shares; the
        consumer must honour the flag READ_ONLY of DLPack 1. copy=True copies."""
        here = self.__dlpack_device__()
        if dl_device is not None and pair("dl_device", dl_device) != here:
            raise BufferError(f"the tensor is on device {here}, {tuple(dl_device)} is asked for")
        source, versioned = self, max_version is not None and pair("max_version", max_version)[0] >= 1
        if copy is not None and not isinstance(copy, bool):
            raise TypeError(f"copy is {copy!r}, expected True, False or None")
        if stream is not None:
            try:
                operator.index(stream)
            except TypeError:
                raise TypeError(f"stream is {stream!r}, expected an integer or None") from None
        if copy or (copy is None and (self.read_only or min(self.strides, default=0) < 0)):
            _raw._to_dlpack(self._h, None, 1)  # what cannot be exported is refused before it is copied
            source = self._beside(self.shape)
            self.copy_to(source)
        if here[0] == 1:
            if stream not in (None, -1):
                raise ValueError("a tensor in host memory takes no stream")
        elif stream != -1:
            _raw.ruda_stream_sync(op_stream(None, source)[0])
        if copy is False and self.read_only and not versioned:
            raise BufferError("the tensor is read-only, which DLPack before version 1 cannot say: ask for a copy")
        return _raw._to_dlpack(source._h, None, int(versioned))

    # ---- work ----

    def fill(self, value, *, stream=None):
        """Sets every element, converted to the dtype: rounded to nearest even, integers saturate. The value travels
        as a double: for a dtype of integers, an integer that no double holds is an OverflowError."""
        if FORMATS.get(self.dtype, "d") in "bBhHiIqQ" and hasattr(value, "__index__"):
            value = exact_float("value", operator.index(value))
        _raw.ruda_tensor_fill(op_stream(stream, self)[0], self._h, value)
        return self

    def cast(self, dtype, *, overflow=Overflow.DEFAULT, stream=None):
        """A contiguous copy of another dtype. overflow, an Overflow or its name, for F8E4M3 and F8E5M2: what
        becomes of numbers beyond the largest; by default infinity, 448 in F8E4M3."""
        overflow = choice("overflow", overflow, Overflow, True)
        s, context = op_stream(stream, self)
        return wrap("tensor", _raw.ruda_tensor_convert(s, self._h, dtype_from(dtype), overflow), context)

    def contiguous(self, *, stream=None):
        s, context = op_stream(stream, self)
        return wrap("tensor", _raw.ruda_tensor_contiguous(s, self._h), context)

    def copy_to(self, to, *, stream=None):
        """Copies into a tensor of the same shape; dtypes are converted."""
        _raw.ruda_tensor_copy(op_stream(stream, self)[0], self._open()._h, given(to, "tensor", "to"))
        return to

    def reshape(self, *shape, stream=None):
        """The elements under another shape: a view where strides allow it, else a copy."""
        s, context = op_stream(stream, self)
        shape = extents(shape[0] if len(shape) == 1 else shape)
        return wrap("tensor", _raw.rudax_tensor_reshape(s, self._h, shape), context)

    def fence(self, stream):
        """Orders later use on `stream` after the last writer on another stream."""
        _raw.ruda_tensor_fence(self._h, given(stream, "stream", "stream"))

    # ---- views ----

    def _view(self, capsule):
        return wrap("tensor", capsule, self._context)

    def view(self, *shape):
        """The elements under another shape, never a copy."""
        return self._view(_raw.ruda_tensor_view(self._h, extents(shape[0] if len(shape) == 1 else shape)))

    def permute(self, *axes):
        axes = extents(axes[0] if len(axes) == 1 else axes, "axes")
        rank = self.ndim
        axes = tuple(a + rank if -rank <= a < 0 else a for a in axes)
        return self._view(_raw.rudax_tensor_permute(self._h, axes))

    def transpose(self, first=-2, second=-1):
        rank = self.ndim
        for name, axis in (("first", first), ("second", second)):
            if not isinstance(axis, int) or not -rank <= axis < rank:
                raise IndexError(f"{name} is {axis!r}, expected an axis, {-rank} to {rank - 1}")
        axes = list(range(rank))
        axes[first], axes[second] = axes[second], axes[first]
        return self.permute(*axes)

    @property
    def T(self):
        return self.permute(*reversed(range(self.ndim)))

    def broadcast_to(self, *shape):
        shape = extents(shape[0] if len(shape) == 1 else shape)
        return self._view(_raw.ruda_tensor_broadcast(self._h, shape))

    def __getitem__(self, index):
        """A view by integers, slices, Ellipsis and None, as in NumPy."""
        index = index if isinstance(index, tuple) else (index,)
        if sum(part is Ellipsis for part in index) > 1:
            raise IndexError("the index holds more than one Ellipsis")
        count = sum(1 for part in index if part is not None and part is not Ellipsis)
        if count > self.ndim:
            raise IndexError(f"{count} indices are given, the tensor has rank {self.ndim}")
        if Ellipsis not in index:
            index += (Ellipsis,)
        parts, axis, shape = [], 0, []
        for part in index:
            if part is None:
                shape.append(1)
            elif part is Ellipsis:
                for _ in range(self.ndim - count):
                    parts.append((0, self.shape[axis], 1))
                    shape.append(self.shape[axis])
                    axis += 1
            elif isinstance(part, slice):
                begin, end, step = part.indices(self.shape[axis])
                # A step past the axis is as good as any other.
                step = max(-MOST_I64, min(step, MOST_I64))
                parts.append((begin, end if end >= 0 else -1 - self.shape[axis], step))
                shape.append(len(range(begin, end, step)))
                axis += 1
            else:
                try:
                    if is_bool(part):
                        raise TypeError
                    at, extent = operator.index(part), self.shape[axis]
                except TypeError:
                    raise TypeError(
                        f"an index is {part!r}, expected an integer, a slice, Ellipsis or None"
                    ) from None
                if not -extent <= at < extent:
                    raise IndexError(f"index {at} is outside axis {axis} of extent {extent}")
                at += extent if at < 0 else 0
                parts.append((at, at + 1, 1))
                axis += 1
        bounds = [p[0] for p in parts] + [p[1] for p in parts] + [p[2] for p in parts]
        made = self._view(_raw.rudax_tensor_slice(self._h, bounds))
        return made if made.shape == tuple(shape) else made.view(shape)

    def __setitem__(self, index, value):
        """Copies a tensor of the part's shape into a part, as copy_to, or sets all of it to a number of the dtype."""
        part = self[index]
        if not isinstance(value, Tensor):
            taken = as_number("value", self.dtype, value)
            if taken is None:
                given(value, "tensor", "value")
            if isinstance(taken, float):
                part.fill(taken)
                return
            value = number_beside(self, taken).broadcast_to(part.shape)
        try:
            value.copy_to(part)
        except ArgumentError as error:
            if error.status != Status.E_OVERLAP:
                raise
            value.cast(value.dtype).copy_to(part)

    def __matmul__(self, other):
        from . import _ops

        if not hasattr(_ops, "matmul") or not isinstance(other, Tensor):
            return no_operand("b", other)
        return _ops.matmul(self._open(), other)


class InPlace:
    """Exports a tensor without a copy, whatever the consumer asks for: to NumPy, whose arrays keep to the flag
    READ_ONLY, and to this package."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **asked):
        asked["copy"] = False
        return self.tensor.__dlpack__(**asked)


def from_dlpack(x, *, context=None, stream=None):
    """A tensor over the memory of `x`, anything with __dlpack__; nothing is copied. context: where it goes;
    by default that of the current stream, else a CPU context made for it. On a GPU the producer's work on the memory
    must have ended."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"x is {described(x)}, expected an object with __dlpack__, such as an array of NumPy or PyTorch"
        )
    if isinstance(x, Tensor):
        x = InPlace(x)
    if context is None:
        from ._core import current_stream

        current = current_stream()
        context = current._context if current is not None else Context("cpu")
    try:
        capsule = (
            x.__dlpack__(max_version=(1, 1))
            if stream is None
            else x.__dlpack__(stream=stream, max_version=(1, 1))
        )
    except TypeError:  # an exporter from before DLPack 1
        capsule = x.__dlpack__() if stream is None else x.__dlpack__(stream=stream)
    return wrap("tensor", _raw._from_dlpack(context_handle(context), capsule), context)
