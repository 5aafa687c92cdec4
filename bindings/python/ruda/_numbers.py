# bindings/python/ruda/_numbers.py - Python numbers as elements, as parameters and as axes.
# SPDX-License-Identifier: Apache-2.0
"""A number that does not fit is refused with its name or place, its value, and what is expected."""

import array
import itertools
import math
import numbers
import operator
import struct

from ._constants import OPEN, DType, Named

MAX_RANK = 16
LARGEST_F32 = 3.4028235677973366e38  # from here on a double rounds to infinity

# dtype -> format of a buffer (struct, memoryview, NumPy)
FORMATS = {
    DType.F64: "d",
    DType.F32: "f",
    DType.F16: "e",
    DType.I8: "b",
    DType.U8: "B",
    DType.I16: "h",
    DType.U16: "H",
    DType.I32: "i",
    DType.U32: "I",
    DType.I64: "q",
    DType.U64: "Q",
    DType.BOOL: "?",
}


LEAST_I64, MOST_I64 = -(1 << 63), (1 << 63) - 1


def check_range(name, value, least=LEAST_I64, most=MOST_I64):
    """The value, which is within the range."""
    if not least <= value <= most:
        raise OverflowError(f"{name} is {value}, expected {least} to {most}")
    return value


def exact_float(name, value):
    """An integer as the float that equals it."""
    try:
        taken = float(value)
    except OverflowError:
        taken = math.inf
    if taken != value:
        raise OverflowError(f"{name} is {value}, expected an integer that a double holds exactly")
    return taken


def integers(name, values, least=LEAST_I64, most=MOST_I64):
    """A tuple of Python integers within a range; a float is none, whatever its value."""
    try:
        taken = tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"{name} is {values!r}, expected integers") from None
    for i, value in enumerate(taken):
        check_range(f"{name}[{i}]", value, least, most)
    return taken


def article(word):
    """The word behind a or an."""
    vowel = word[:1].lower() in tuple("aeio") or word.startswith("ndarray")
    return f"an {word}" if vowel else f"a {word}"


def counted(count, word):
    """The number of things: "1 page", "2 pages"."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def described(value):
    """What a value is, for a message: "None", "an int", "an ndarray of shape [2]"."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    of = f" of shape {list(shape)}" if shape and isinstance(shape, tuple) else ""
    name, module = type(value).__name__, type(value).__module__.partition(".")[0]
    other = module not in ("builtins", "numpy", "ruda", "__main__")
    return article(f"{module}.{name}" if other else name) + of


def flatten(data):
    """(shape, flat list) of nested sequences."""
    if not isinstance(data, (list, tuple)):
        return (), [data]
    shape, flat = [len(data)], data
    while flat and isinstance(flat[0], (list, tuple)):
        if len(shape) == MAX_RANK:
            raise ValueError(f"data is nested deeper than {MAX_RANK}, the largest rank")
        extent = len(flat[0])
        for at, item in enumerate(flat):
            if not isinstance(item, (list, tuple)):
                refuse_ragged(shape, at, described(item), extent)
            elif len(item) != extent:
                refuse_ragged(shape, at, f"{article(type(item).__name__)} of {len(item)}", extent)
        shape.append(extent)
        flat = list(itertools.chain.from_iterable(flat))
    if any(issubclass(kind, (list, tuple)) for kind in set(map(type, flat))):
        at, item = next((at, item) for at, item in enumerate(flat) if isinstance(item, (list, tuple)))
        what, first = article(type(item).__name__), place(shape, 0)
        raise ValueError(f"{place(shape, at)} is {what} of {len(item)}, expected a number as {first}")
    return tuple(shape), flat


def refuse_ragged(shape, at, what, extent):
    first = place(shape, 0)
    raise ValueError(f"{place(shape, at)} is {what}, expected a sequence of {extent} as {first}")


_PLAIN = {bool, int, float}


def dtype_name(value):
    """The name of the dtype of another library's number or array: "int64", "bool"; "" where it has none."""
    return str(getattr(value, "dtype", "")).rpartition(".")[2]


def is_bool(value):
    """Whether a value is a bool, one of NumPy and other libraries among them."""
    return isinstance(value, bool) or dtype_name(value) == "bool"


def plain_numbers(dtype, shape, flat):
    """The numbers as those of Python: numbers of other libraries, scalars and arrays of rank 0, are bools,
    integers or floats by their kind. dtype: of the tensor, None where the numbers decide."""
    kinds = set(map(type, flat))
    if kinds <= _PLAIN:
        return flat
    taken = {kind: convert for kind, convert in ((kind, converter(kind)) for kind in kinds) if convert}
    if len(taken) == len(kinds):
        try:
            return [taken[type(v)](v) for v in flat]
        except (OverflowError, TypeError, ValueError):
            pass  # told below, with its place
    return [v if type(v) in _PLAIN else plain_number(dtype, shape, at, v) for at, v in enumerate(flat)]


def converter(kind):
    """What makes Python's number of one of a type, where the type alone tells; else None."""
    if kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")):
        return bool
    if not issubclass(kind, numbers.Real) or kind.__name__.startswith("timedelta"):
        return None
    return int if issubclass(kind, numbers.Integral) else float


def plain_number(dtype, shape, at, value):
    kind = dtype_name(value)
    known = not isinstance(value, (str, bytes, bytearray)) and getattr(value, "shape", ()) == ()
    if known and not kind.startswith(("complex", "datetime", "timedelta")):
        try:
            if kind == "bool":
                return bool(value)
            try:
                return int(operator.index(value))
            except TypeError:
                if hasattr(value, "__float__"):
                    return float(value)
        except OverflowError:  # a fraction beyond the doubles
            wanted = (dtype or DType.F32).name
            raise OverflowError(f"{place(shape, at)} is {value!r}, expected a finite {wanted}") from None
        except (TypeError, ValueError, RuntimeError):
            pass
    what = repr(value) if known or isinstance(value, (str, bytes, bytearray)) else described(value)
    wanted = "an integer" if FORMATS.get(dtype, "f") not in "def?" else "a number"
    raise TypeError(f"{place(shape, at)} is {what}, expected {wanted} for {(dtype or DType.F32).name}")


def place(shape, at, name="data"):
    """Where the element `at` of flattened sequences stands: "data[1][0]"."""
    parts = []
    for extent in reversed(shape):
        at, part = divmod(at, extent)
        parts.append(f"[{part}]")
    return name + "".join(reversed(parts))


def pack_numbers(dtype, shape, flat, name="data"):
    """The bytes of Python numbers as elements of a dtype that buffers have."""
    code = FORMATS[dtype]
    try:
        if code == "e":
            return struct.pack(f"={len(flat)}e", *flat)
        if code == "f" and any(LARGEST_F32 <= abs(v) < math.inf for v in flat):
            raise OverflowError
        return bytes(map(bool, flat)) if code == "?" else array.array(code, flat).tobytes()
    except (OverflowError, TypeError, ValueError, struct.error):
        real = code in "def"
        for at, value in enumerate(flat):
            try:
                struct.pack("=" + code, value)
            except (OverflowError, TypeError, ValueError, struct.error):
                where = place(shape, at, name)
                try:
                    if isinstance(value, (str, bytes)):
                        raise TypeError
                    (float if real else operator.index)(value)
                except OverflowError:
                    pass
                except (TypeError, ValueError):
                    kind = "a number" if real else "an integer"
                    raise TypeError(f"{where} is {value!r}, expected {kind} for {dtype.name}") from None
                bits, signed = 8 * struct.calcsize("=" + code), code.islower()
                least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
                what = f"a finite {dtype.name}" if real else f"{least} to {most} for {dtype.name}"
                raise OverflowError(f"{where} is {value!r}, expected {what}") from None
        raise


def utf8(name, text):
    """The UTF-8 of a text."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} holds a lone surrogate at index {error.start}, expected none") from None


def numpy_module():
    """NumPy, which only the functions that return arrays need."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError("arrays need NumPy: install it with pip install numpy") from error
    return numpy


def number(name, value, expected):
    """An int, or a float where the value has a fraction of its own; an array of elements is none."""
    shape = getattr(value, "shape", ())
    if shape == () and not isinstance(value, (str, bytes)):
        try:
            return operator.index(value)
        except TypeError:
            if hasattr(value, "__float__"):
                return float(value)
    raise TypeError(f"{name} is {described(value)}, expected {expected}")


def choice(name, value, kind, unset=False):
    """The number of a value of an enumeration: of one of its members, their numbers, or their names in lower case.
    unset: None and 0 stand for the default."""
    if type(value) is kind:
        return int(value)
    if value is None and unset:
        return 0
    known = kind._value2member_map_
    if isinstance(value, str):
        if value.upper() in kind.__members__:
            return int(kind.__members__[value.upper()])
    elif type(value) is int and value in known:
        return value
    # Numbers of other types, those that are open or stand for the default, and what is refused.
    expected = f"expected one of {kind.__name__}: " + ", ".join(kind.__members__).lower()
    expected += ", or a number from 0 to 4294967295" if kind in OPEN else ""
    if isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, {expected}")
    try:
        if is_bool(value):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, {expected}") from None
    if isinstance(value, Named):
        raise TypeError(f"{name} is {value}, {expected}")
    takes = kind in OPEN and 0 <= number <= 0xFFFFFFFF
    if number not in known and not takes and (number or not unset):
        raise ValueError(f"{name} is {number}, {expected}")
    return number


def field(name, value, kind, unset=False):
    """As choice for a field of a plan, which None leaves out."""
    return None if value is None else choice(name, value, kind, unset)


def axis_mask(name, axes, operand):
    """The bits that stand for axes of an operand: None for all of them, an axis, or a sequence of axes;
    negative ones count from the end."""
    if axes is None:
        return 0
    if not isinstance(getattr(operand, "shape", None), tuple):
        raise TypeError(f"{name} counts the axes of a tensor, which {operand!r} is not")
    rank, mask = len(operand.shape), 0
    try:
        given = list(axes) if hasattr(axes, "__iter__") else [axes]
        if any(map(is_bool, given)):
            raise TypeError
        numbers = list(map(operator.index, given))
    except TypeError:
        raise TypeError(f"{name} is {axes!r}, expected None, an integer or integers") from None
    if not numbers:
        raise ValueError(f"{name} is {axes!r}, expected at least one axis, or None for all")
    for axis in numbers:
        if not -rank <= axis < rank:
            raise IndexError(f"{name} is {axes!r}: {axis} is none of {rank} axes, expected {-rank} to {rank - 1}")
        bit = 1 << axis % rank
        if mask & bit:
            raise ValueError(f"{name} is {axes!r}, which names axis {axis % rank} twice")
        mask |= bit
    return mask


def needed(name, value, other, given):
    """The value of a parameter that may be left out only where another operand is given."""
    if value is None and given is None:
        raise TypeError(f"{name} is None, expected a number above 0 where {other} is None")
    return 0.0 if value is None else value
