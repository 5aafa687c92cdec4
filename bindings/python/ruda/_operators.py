# bindings/python/ruda/_operators.py - the operators of tensors: a + b, -a, abs(a), a += b.
# SPDX-License-Identifier: Apache-2.0
"""Each is a function of ruda.binary or ruda.unary with its rules: shapes broadcast, dtypes are never changed. Beside
a tensor stands another one of the same dtype, or a number that is one of the dtype: an integer within its range where
it holds integers. a += b writes into a, so that views of it and other names see it."""

from ._load import _raw
from ._constants import Binary, DType, Unary
from ._core import given, op_stream, wrap
from ._numbers import FORMATS, converter, pack_numbers

# Name of the method -> function, and what it says of itself.
_BINARY = {
    "add": (Binary.ADD, "a + b; integers wrap."),
    "sub": (Binary.SUB, "a - b; integers wrap."),
    "mul": (Binary.MUL, "a * b; integers wrap."),
    "truediv": (Binary.DIV, "a / b, of floats."),
    "floordiv": (Binary.FLOOR_DIV, "a // b, floor of the exact quotient; an integer over 0 gives 0."),
    "mod": (Binary.REMAINDER, "a % b with the sign of b; an integer over 0 gives 0."),
    "pow": (Binary.POW, "a ** b, of floats."),
    "and": (Binary.AND, "a & b bit by bit, of integers and BOOL."),
    "or": (Binary.OR, "a | b bit by bit, of integers and BOOL."),
    "xor": (Binary.XOR, "a ^ b bit by bit, of integers and BOOL."),
    "lshift": (Binary.SHIFT_LEFT, "a << b, of integers; 0 where b is negative or not below the width."),
    "rshift": (Binary.SHIFT_RIGHT, "a >> b, of integers, filled with the sign."),
}
_UNARY = {
    "neg": (Unary.NEG, "-a; integers wrap."),
    "abs": (Unary.ABS, "abs(a); the lowest integer stays."),
    "invert": (Unary.NOT, "~a bit by bit, of integers; of BOOL the other value."),
}
_SYMMETRIC = (Binary.ADD, Binary.MUL, Binary.AND, Binary.OR, Binary.XOR)


def as_number(name, dtype, value):
    """A number of Python or NumPy as a double that stands for it in a dtype, as an integer where no double does; None
    where the value is no number."""
    convert = converter(type(value))
    if convert is None:
        return None
    value, has_bools = convert(value), dtype == DType.BOOL
    if isinstance(value, bool) != has_bools:
        raise TypeError(f"{name} is {value!r}, expected a {'bool' if has_bools else 'number'} for {dtype.name}")
    pack_numbers(dtype if dtype in FORMATS else DType.F32, (), [value], name)  # refuses what does not fit
    whole = FORMATS.get(dtype, "f") not in "def"
    return value if whole and int(float(value)) != value else float(value)


def number_beside(tensor, value):
    """A tensor of no axes that holds what as_number gave."""
    made = tensor._beside(())
    return made.write(pack_numbers(made.dtype, (), [value])) if isinstance(value, int) else made.fill(value)


def no_operand(name, other):
    """What an operator makes of a value that it does not take. Arrays would take the elements of the tensor, by their
    own rules for dtypes."""
    if hasattr(other, "__array__"):
        given(other, "tensor", name)
    return NotImplemented


def compute(tensor, other, op, swapped=False):
    """op of a tensor and what stands right of it, or left of it where they are swapped."""
    own, name = tensor._open()._h, "a" if swapped else "b"
    s, context = op_stream(None, tensor, other)
    if isinstance(other, Operators):
        second = given(other, "tensor", name)
    else:
        value = as_number(name, tensor.dtype, other)
        if value is None:
            return no_operand(name, other)
        if isinstance(value, float) and (not swapped or op in _SYMMETRIC):
            return wrap("tensor", _raw.ruda_binary_scalar(s, own, value, op), context)
        made = number_beside(tensor, value)
        second = made._h
    operands = (second, own) if swapped else (own, second)
    return wrap("tensor", _raw.ruda_binary(s, *operands, op), context)


class Operators:
    """The operators that tensors have."""

    __slots__ = ()
    __array_priority__ = 1000  # arrays and numbers of NumPy leave the operator to the tensor


def _define(name, text, call):
    call.__name__, call.__qualname__, call.__doc__ = f"__{name}__", f"Tensor.__{name}__", text
    setattr(Operators, call.__name__, call)


def _define_binary(name, op, text):
    def in_place(self, other):
        made = compute(self, other, op)
        return made if made is NotImplemented else made.copy_to(self)

    _define(name, text, lambda self, other: compute(self, other, op))
    _define("r" + name, text, lambda self, other: compute(self, other, op, True))
    _define("i" + name, text + " Written into a, whose shape stays.", in_place)


def _define_unary(name, op, text):
    def call(self):
        s, context = op_stream(None, self._open())
        return wrap("tensor", _raw.ruda_unary(s, self._h, op), context)

    _define(name, text, call)


for _name, _row in _BINARY.items():
    _define_binary(_name, *_row)
for _name, _row in _UNARY.items():
    _define_unary(_name, *_row)
