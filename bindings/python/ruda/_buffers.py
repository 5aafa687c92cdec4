# bindings/python/ruda/_buffers.py - buffers of other libraries: their dtypes, and what is refused of them.
# SPDX-License-Identifier: Apache-2.0
"""A refusal names the parameter, what it holds and what is taken."""

from ._constants import DType, Status
from ._errors import ArgumentError
from ._numbers import FORMATS, counted, described

_CODES = {"d": DType.F64, "f": DType.F32, "e": DType.F16, "?": DType.BOOL}
_INTEGERS = {
    (False, 1): DType.U8,
    (True, 1): DType.I8,
    (False, 2): DType.U16,
    (True, 2): DType.I16,
    (False, 4): DType.U32,
    (True, 4): DType.I32,
    (False, 8): DType.U64,
    (True, 8): DType.I64,
}


def dtype_of_format(code, size):
    """The dtype of a buffer's elements; None when there is none."""
    code = code.lstrip("@=<" if memoryview(b"\1\0").cast("H")[0] == 1 else "@=>!")
    if code in _CODES:
        return _CODES[code]
    if len(code) == 1 and code in "bhilqBHILQ":
        return _INTEGERS[code.islower(), size]
    return None


BUFFERS = "expected a buffer, such as an array of NumPy, array.array or bytes"


def buffer_of(name, data, expected=BUFFERS):
    """The view of a buffer; anything else is refused by the name of the parameter."""
    try:
        return memoryview(data)
    except (TypeError, ValueError, BufferError):
        what = described(data)
        if hasattr(data, "dtype") and hasattr(data, "__array_interface__"):  # of a dtype that buffers lack
            raise no_elements(name, data) from None
        if hasattr(data, "__dlpack__"):
            expected += "; ruda.from_dlpack shares its memory"
        raise TypeError(f"{name} is {what}, {expected}") from None


def no_elements(name, data, view=None):
    """The error for elements that no dtype has."""
    kind = getattr(data, "dtype", None)
    kind = f"dtype {kind}" if kind is not None else f"format {view.format!r}"
    taken = ", ".join(d.name.lower() for d in FORMATS)
    return TypeError(f"{name} holds elements of {kind}, expected {taken} in the machine's byte order, or bytes")


def contiguous_buffer(name, data, expected=BUFFERS):
    view = buffer_of(name, data, expected)
    if not view.c_contiguous:
        strides = list(view.strides)
        raise ValueError(f"{name} has strides of {strides} bytes, expected a contiguous buffer, row-major")
    return view


def wrong_size(count, expected):
    message = f"data has {counted(count, 'byte')}, expected {expected} as the tensor"
    return ArgumentError(Status.E_SHAPE, message=message, name="RUDA_E_SHAPE")


def match_buffer(dtype, data, expected=BUFFERS):
    """The view of a buffer, refused where its elements are of another dtype; bytes are taken as they are, and so
    are unsigned integers of the same size for the floats that buffers don't have."""
    view = contiguous_buffer("data", data, expected)
    if view.itemsize == 1:
        return view
    have = dtype_of_format(view.format, view.itemsize)
    if have == dtype or (have in (DType.U16, DType.U32, DType.U64) and dtype not in FORMATS):
        return view
    if have is None:
        raise no_elements("data", data, view)
    raise TypeError(f"data holds {have.name}, expected {dtype.name} as the tensor: cast the tensor, or use bytes")
