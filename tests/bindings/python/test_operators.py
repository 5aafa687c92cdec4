# tests/bindings/python/test_operators.py - the operators of tensors: sums of Python, numbers, what they refuse, in place.
# SPDX-License-Identifier: Apache-2.0
import inspect
import math
import operator
import random
import unittest

import ruda

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

FLOATS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
INTEGERS = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow]
NAN, INF = math.nan, math.inf


class OperatorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = ruda.Context("cpu")

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def refuses(self, error, text, call, *arguments):
        with self.assertRaises(error) as caught:
            call(*arguments)
        self.assertIn(text, str(caught.exception))

    def gives(self, made, dtype, values):
        self.assertIs(type(made), ruda.Tensor)
        self.assertIs(made.dtype, dtype)
        self.assertEqual(made.tolist(), values)

    def against_python(self, functions, dtype, left, right):
        a, b = self.ctx.tensor(left, dtype), self.ctx.tensor(right, dtype)
        for function in functions:
            self.gives(function(a, b), dtype, list(map(function, left, right)))
            number = right[1]
            self.gives(function(a, number), dtype, [function(x, number) for x in left])
            number = left[1]
            self.gives(function(number, b), dtype, [function(number, y) for y in right])
        self.gives(a, dtype, left)
        self.gives(b, dtype, right)

    def test_against_python(self):
        # Sums, products and quotients of these are exact in F16.
        left, right = [3.0, -7.5, 1.5, -0.25, 6.0], [2.0, 4.0, -0.5, 8.0, -4.0]
        for dtype in (ruda.F64, ruda.F32, ruda.F16, ruda.BF16):
            self.against_python(FLOATS, dtype, left, right)
        for dtype in (ruda.I8, ruda.I16, ruda.I32, ruda.I64):
            self.against_python(INTEGERS, dtype, [7, -7, 0, 12, -1], [2, 3, -5, -4, 7])
        for dtype in (ruda.U8, ruda.U16, ruda.U32, ruda.U64):
            self.against_python([f for f in INTEGERS if f is not operator.sub], dtype, [7, 9, 0, 12], [2, 3, 5, 4])
        self.against_python(SHIFTS, ruda.I32, [7, -7, 0, 1 << 20], [2, 3, 5, 4])
        self.against_python([operator.and_, operator.or_, operator.xor], ruda.BOOL, [True, False, True], [True, True, False])
        a = self.ctx.tensor([1.5, -2.0, 0.0])
        self.gives(-a, ruda.F32, [-1.5, 2.0, 0.0])
        self.gives(abs(a), ruda.F32, [1.5, 2.0, 0.0])
        self.gives(~self.ctx.tensor([0, 5, -1]), ruda.I32, [-1, -6, 0])
        self.gives(~self.ctx.tensor([True, False]), ruda.BOOL, [False, True])
        for made, expected in ((a**2, [2.25, 4.0, 0.0]), (2**a, [2**1.5, 0.25, 1.0]), (abs(a) ** a, [1.5**1.5, 0.25, 1.0])):
            for found, wanted in zip(made.tolist(), expected):
                self.assertAlmostEqual(found, wanted, delta=1e-6)
        # The text of a sum as people write it.
        x = self.ctx.tensor([1.0, 2.0])
        self.gives(2 * x + 1 - x / 2, ruda.F32, [2.5, 4.0])

    def test_wrap_and_zero(self):
        edge = self.ctx.tensor([2**31 - 1, -(2**31)])
        self.gives(edge + 1, ruda.I32, [-(2**31), -(2**31) + 1])
        self.gives(-edge, ruda.I32, [-(2**31) + 1, -(2**31)])
        self.gives(edge // 0, ruda.I32, [0, 0])
        self.gives(edge % 0, ruda.I32, [0, 0])
        self.gives(self.ctx.tensor([255], "u8") + 1, ruda.U8, [0])

    def test_nan(self):
        x = self.ctx.tensor([NAN, 1.0, INF, -INF])
        for function in FLOATS + [operator.pow]:
            for made in (function(x, NAN), function(NAN, x), function(x, self.ctx.tensor(NAN))):
                found = made.tolist()
                powers = function is operator.pow  # 1 to the power NaN is 1
                self.assertTrue(all(map(math.isnan, found)) or (powers and found.count(1.0) == 1), function)
        self.assertTrue(math.isnan((x - x).tolist()[2]))
        self.assertEqual((x + INF).tolist()[1:3], [INF, INF])
        self.assertTrue(math.isnan((-x).tolist()[0]) and math.isnan(abs(x).tolist()[0]))
        self.assertEqual((1 / self.ctx.tensor([0.0, -0.0])).tolist(), [INF, -INF])

    def test_broadcast(self):
        column, row = self.ctx.tensor([[1.0], [2.0]]), self.ctx.tensor([10.0, 20.0, 30.0])
        self.gives(column + row, ruda.F32, [[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]])
        self.gives(row - column, ruda.F32, [[9.0, 19.0, 29.0], [8.0, 18.0, 28.0]])
        self.gives(row * self.ctx.tensor(2.0), ruda.F32, [20.0, 40.0, 60.0])
        self.gives(self.ctx.tensor(2.0) - 5, ruda.F32, -3.0)
        self.gives(5 - self.ctx.tensor(2.0), ruda.F32, 3.0)
        self.gives((column.T + column)[:, ::-1] + 1, ruda.F32, [[4.0, 3.0], [5.0, 4.0]])
        self.assertEqual((self.ctx.zeros((0, 3)) + row).shape, (0, 3))
        self.refuses(ruda.ArgumentError, "RUDA_E_SHAPE", operator.add, row, self.ctx.zeros(2))

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_against_numpy(self):
        rng = random.Random()
        seed = rng.getrandbits(32)
        rng.seed(seed)
        values = [[rng.uniform(-1e3, 1e3) for _ in range(1000)] for _ in range(2)]
        for dtype in ("float32", "float64", "float16"):
            left, right = (numpy.array(v).astype(dtype) for v in values)
            a, b = self.ctx.tensor(left), self.ctx.tensor(right)
            for function in FLOATS[:4]:
                with numpy.errstate(all="ignore"):
                    wanted = function(left, right)
                self.assertTrue((function(a, b).numpy() == wanted).all(), (seed, dtype, function))

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_with_numpy(self):
        x, n = self.ctx.tensor([1.0, 2.0]), self.ctx.tensor([5, 6])
        for two in (numpy.float32(2), numpy.float64(2), numpy.int64(2), numpy.uint8(2), numpy.float16(2)):
            self.gives(x * two, ruda.F32, [2.0, 4.0])
            self.gives(two * x, ruda.F32, [2.0, 4.0])
            self.gives(two / x, ruda.F32, [2.0, 1.0])
        self.gives(numpy.int8(7) - n, ruda.I32, [2, 1])
        self.gives(self.ctx.tensor([True, False]) & numpy.bool_(True), ruda.BOOL, [True, False])
        self.refuses(TypeError, "b is 2.0, expected an integer for I32", operator.add, n, numpy.float64(2))
        array = numpy.array([1.0, 2.0])
        text = "is an ndarray of shape [2], expected a tensor (ctx.tensor or ruda.from_dlpack makes one)"
        for function in (operator.add, operator.sub, operator.truediv, operator.iadd, operator.matmul):
            self.refuses(TypeError, "b " + text, function, x, array)
        for function in (operator.add, operator.sub, operator.truediv):
            self.refuses(TypeError, "a " + text, function, array, x)
        self.refuses(TypeError, "unsupported operand type(s) for @", operator.matmul, array, x)
        self.assertEqual((x == array, array == x, x != array), (False, False, True))  # objects, as between tensors
        self.refuses(TypeError, "b is a complex64, expected a tensor", operator.add, x, numpy.complex64(1))
        self.refuses(TypeError, "a is a complex64, expected a tensor", operator.add, numpy.complex64(1), x)
        self.assertEqual(numpy.sqrt(self.ctx.tensor([4.0])).tolist(), [2.0])  # arrays of a tensor are still made

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_with_torch(self):
        x, other = self.ctx.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0])
        self.refuses(TypeError, "b is a torch.Tensor of shape [2], expected a tensor", operator.add, x, other)
        self.refuses(TypeError, "a is a torch.Tensor of shape [2], expected a tensor", operator.add, other, x)

    def test_dtypes(self):
        """Nothing is promoted."""
        f32, f64, i32 = self.ctx.tensor([1.0]), self.ctx.tensor([1.0], "f64"), self.ctx.tensor([1])
        u8, bools = self.ctx.tensor([1], "u8"), self.ctx.tensor([True])
        for a, b in ((f32, f64), (f64, f32), (f32, i32), (i32, f32), (i32, u8), (bools, i32)):
            self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.mul, a, b)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.truediv, i32, i32)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.truediv, i32, 2)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.truediv, 2, i32)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.and_, f32, f32)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.add, bools, bools)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.invert, f32)
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.neg, bools)
        self.gives(f32 + 0.1, ruda.F32, [(self.ctx.tensor([1.0]) + self.ctx.tensor([0.1])).item()])
        self.gives(self.ctx.tensor([1.0], "bf16") + 2, ruda.BF16, [3.0])

    def test_numbers(self):
        """A number beside a tensor is one of its dtype, or refused."""
        n, u8, x = self.ctx.tensor([1]), self.ctx.tensor([1], "u8"), self.ctx.tensor([1.0])
        half, wide, bools = self.ctx.tensor([1.0], "f16"), self.ctx.tensor([1], "i64"), self.ctx.tensor([True])
        self.refuses(TypeError, "b is 1.5, expected an integer for I32", operator.add, n, 1.5)
        self.refuses(TypeError, "a is 1.0, expected an integer for I32", operator.sub, 1.0, n)
        self.refuses(OverflowError, "b is 300, expected 0 to 255 for U8", operator.mul, u8, 300)
        self.refuses(OverflowError, "a is -1, expected 0 to 255 for U8", operator.floordiv, -1, u8)
        self.refuses(OverflowError, "b is 2147483648, expected -2147483648 to 2147483647 for I32", operator.add, n, 1 << 31)
        self.refuses(OverflowError, "expected a finite F32", operator.add, x, 1e300)
        self.refuses(OverflowError, "expected a finite F16", operator.mul, half, 1e6)
        self.refuses(OverflowError, "expected a finite F32", operator.add, x, 10**400)
        far = (1 << 53) + 1  # which no double holds
        self.gives(wide + far, ruda.I64, [far + 1])
        self.gives(far - wide, ruda.I64, [far - 1])
        wide_part = self.ctx.tensor([[1, 2], [3, 4]], "i64")
        wide_part[:, 1] = far
        wide_part[0, 0] = -far
        self.gives(wide_part, ruda.I64, [[-far, far], [3, far]])
        most = self.ctx.tensor([1], "u64")
        most += (1 << 64) - 2
        self.gives(most, ruda.U64, [(1 << 64) - 1])
        self.refuses(OverflowError, f"b is {1 << 64}, expected 0 to {(1 << 64) - 1} for U64", operator.add, most, 1 << 64)
        self.gives(wide - (1 << 60), ruda.I64, [1 - (1 << 60)])
        self.refuses(TypeError, "b is True, expected a number for F32", operator.add, x, True)
        self.refuses(TypeError, "a is False, expected a number for I32", operator.sub, False, n)
        self.refuses(TypeError, "b is 1, expected a bool for BOOL", operator.and_, bools, 1)

    def test_unsupported(self):
        x = self.ctx.tensor([1.0])
        for other in ("2", None, [1.0], (1.0,), {}, object(), 1j, ruda.F32.name, b"1"):
            for function in (operator.add, operator.truediv, operator.pow, operator.iadd, operator.or_):
                self.refuses(TypeError, "unsupported operand type(s) for", function, x, other)
            self.refuses(TypeError, "unsupported operand type(s) for", operator.sub, other, x)
            with self.assertRaises(TypeError):  # in words of their own where sequences repeat themselves
                x * other
        self.assertIs(x.__add__("2"), NotImplemented)
        self.assertIs(x.__rsub__([2]), NotImplemented)
        self.assertIs(x.__imul__(None), NotImplemented)
        for function in (operator.lt, operator.le, operator.gt, operator.ge):
            self.refuses(TypeError, "not supported between instances", function, x, x)
        self.assertTrue(x == x and x != self.ctx.tensor([1.0]) and len({x, x}) == 1)
        self.refuses(TypeError, "unsupported operand type(s) for", operator.matmul, x, 2.0)
        self.gives(x.__rsub__(self.ctx.tensor([5.0])), ruda.F32, [4.0])

    def test_matmul(self):
        a, b = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]]), self.ctx.tensor([[5.0, 6.0], [7.0, 8.0]])
        self.gives(a @ b, ruda.F32, [[19.0, 22.0], [43.0, 50.0]])
        batch = self.ctx.tensor([[[1.0, 0.0]], [[0.0, 2.0]]])
        self.gives(batch @ b, ruda.F32, [[[5.0, 6.0]], [[14.0, 16.0]]])
        self.refuses(ruda.ArgumentError, "RUDA_E_SHAPE", operator.matmul, a, self.ctx.zeros((3, 2)))
        self.refuses(ruda.ArgumentError, "RUDA_E_", operator.matmul, a, self.ctx.zeros(2))

    def test_closed_and_foreign(self):
        x, closed = self.ctx.tensor([1.0]), self.ctx.tensor([1.0])
        closed.close()
        for function in FLOATS + IN_PLACE:
            self.refuses(ValueError, "b: closed, expected an open tensor", function, x, closed)
            self.refuses(ValueError, "tensor: closed, expected an open tensor", function, closed, x)
            self.refuses(ValueError, "tensor: closed, expected an open tensor", function, closed, 1)
        self.refuses(ValueError, "tensor: closed, expected an open tensor", operator.sub, 1, closed)
        with ruda.Context("cpu") as other:
            foreign = other.tensor([1.0])
            for function in FLOATS + IN_PLACE:
                self.refuses(ruda.ArgumentError, "context", function, x, foreign)
            with other.stream():  # which is not one of the context of x
                self.gives(x + 1, ruda.F32, [2.0])
                self.gives(1 - x, ruda.F32, [0.0])
            with other.stream():
                made = foreign + foreign
                self.assertIs(made.context, other)
        self.gives(x, ruda.F32, [1.0])
        self.gives(foreign + foreign + 1, ruda.F32, [3.0])  # a tensor outlives its context

    def test_in_place(self):
        """Other names and views see it."""
        x = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        name, part = x, x[:, 1]
        x += 1
        self.assertIs(x, name)
        self.gives(part, ruda.F32, [3.0, 5.0])
        part *= self.ctx.tensor([10.0, 100.0])
        self.gives(name, ruda.F32, [[2.0, 30.0], [4.0, 500.0]])
        x -= x[0]  # the row as it was
        self.gives(name, ruda.F32, [[0.0, 0.0], [2.0, 470.0]])
        x /= 2
        x //= 3
        x %= 50
        x **= 2
        for found, wanted in zip(name.reshape(-1).tolist(), (0.0, 0.0, 0.0, 28.0**2)):
            self.assertAlmostEqual(found, wanted, delta=1e-3)
        n = same = self.ctx.tensor([12, 10])
        n &= 6
        n |= 1
        n ^= 2
        n <<= 3
        n >>= 1
        self.gives(same, ruda.I32, [(((v & 6) | 1) ^ 2) << 3 >> 1 for v in (12, 10)])
        # What is refused changes nothing.
        self.refuses(ruda.ArgumentError, "RUDA_E_DTYPE", operator.iadd, n, x)
        row = self.ctx.tensor([1.0, 2.0])
        self.refuses(ruda.ArgumentError, "RUDA_E_SHAPE", operator.iadd, row, self.ctx.zeros((2, 2)))
        self.gives(row, ruda.F32, [1.0, 2.0])
        fixed = self.ctx.wrap(bytes(8), "f32", (2,))
        self.refuses(ruda.ArgumentError, "read-only", operator.iadd, fixed, 1)
        self.gives(fixed + 1, ruda.F32, [1.0, 1.0])

    def test_parts(self):
        x = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        x[0] += 10
        x[:, 1] *= 2
        self.gives(x, ruda.F32, [[11.0, 24.0], [3.0, 8.0]])
        x[1:] += x[:-1]
        self.gives(x, ruda.F32, [[11.0, 24.0], [14.0, 32.0]])
        x[0, 0] = 5
        x[1] = self.ctx.tensor([7.0, 8.0])
        self.gives(x, ruda.F32, [[5.0, 24.0], [7.0, 8.0]])
        line = self.ctx.tensor([1, 2, 3, 4])
        line[1:] = line[:-1]
        self.gives(line, ruda.I32, [1, 1, 2, 3])
        line[...] = line[::-1]
        self.gives(line, ruda.I32, [3, 2, 1, 1])
        line[-1] = 9
        self.gives(line, ruda.I32, [3, 2, 1, 9])
        self.refuses(TypeError, "value is 1.5, expected an integer for I32", operator.setitem, line, 0, 1.5)
        self.refuses(TypeError, "value is a str, expected a tensor", operator.setitem, line, 0, "1")
        self.refuses(TypeError, "value is a list, expected a tensor", operator.setitem, line, 0, [1])
        self.refuses(IndexError, "index 4 is outside axis 0", operator.setitem, line, 4, 1)
        self.refuses(ruda.ArgumentError, "RUDA_E_SHAPE", operator.setitem, line, slice(0, 3), line[:2])
        self.refuses(ruda.ArgumentError, "read-only", operator.setitem, self.ctx.wrap(bytes(8), "f32", (2,)), 0, 1)
        self.gives(line, ruda.I32, [3, 2, 1, 9])

    def test_documentation(self):
        for name in ("add", "radd", "iadd", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
                     "rshift", "neg", "abs", "invert"):
            member = getattr(ruda.Tensor, f"__{name}__")
            self.assertEqual(member.__qualname__, f"Tensor.__{name}__")
            self.assertTrue(inspect.getdoc(member).startswith(("a ", "-a", "~a", "abs(a)")), name)
        self.assertIn("a + b and the like are functions of ruda.binary", inspect.getdoc(ruda.Tensor))


if __name__ == "__main__":
    unittest.main()
