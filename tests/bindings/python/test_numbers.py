# tests/bindings/python/test_numbers.py - numbers and arrays of other libraries as tensors, and what is refused of them.
# SPDX-License-Identifier: Apache-2.0
import decimal
import fractions
import time
import unittest
import warnings

import ruda

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


class NumberTest(unittest.TestCase):
    def setUp(self):
        self.ctx = ruda.Context("cpu")
        self.addCleanup(self.ctx.close)
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error")

    def refuses(self, error, text, call, *arguments, **named):
        with self.assertRaises(error) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))

    def makes(self, data, dtype, values, asked=None):
        made = self.ctx.tensor(data, asked)
        self.assertEqual((made.dtype, made.tolist()), (dtype, values), data)

    def test_numbers_of_python(self):
        self.makes([decimal.Decimal("1.5"), 2], ruda.F32, [1.5, 2.0])
        self.makes([fractions.Fraction(1, 4)], ruda.F32, [0.25])
        self.makes([ruda.DType.F32], ruda.I32, [int(ruda.DType.F32)])
        self.refuses(OverflowError, "expected a finite F32", self.ctx.tensor, [fractions.Fraction(10**400)])
        self.refuses(TypeError, "data[1] is 1j, expected a number for F32", self.ctx.tensor, [1, 1j])
        self.refuses(TypeError, "data[0] is 'a', expected a number for BOOL", self.ctx.tensor, ["a"], "bool")
        self.refuses(TypeError, "data[0][1] is None, expected a number for F32", self.ctx.tensor, [[1.0, None]])

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_numbers_of_numpy_in_lists(self):
        for kind in "bBhHiIqQ":
            self.makes([[numpy.dtype(kind).type(7)]], ruda.I32, [[7]])
        self.makes([numpy.int64(16777217)], ruda.I32, [16777217])
        self.makes([numpy.int64(1 << 40)], ruda.I64, [1 << 40], asked="i64")
        self.makes([numpy.bool_(True), False], ruda.BOOL, [True, False])
        self.makes([numpy.bool_(True), 3], ruda.I32, [1, 3])
        for kind in (numpy.float16, numpy.float32, numpy.float64):
            self.makes([kind(1), 2], ruda.F32, [1.0, 2.0])
        self.makes([numpy.float32(3e38)], ruda.F32, [float(numpy.float32(3e38))])
        self.makes([numpy.array(3), numpy.array(4)], ruda.I32, [3, 4])
        self.makes([numpy.array(True)], ruda.BOOL, [True])
        self.makes([numpy.array(3.5)], ruda.F32, [3.5])
        text = "data[0] is 1099511627776, expected -2147483648 to 2147483647 for I32"
        self.refuses(OverflowError, text, self.ctx.tensor, [numpy.int64(1 << 40)])
        self.refuses(OverflowError, "data[0] is 1e+300, expected a finite F32", self.ctx.tensor, [numpy.float64(1e300)])
        self.refuses(TypeError, "data[0] is 1.5, expected an integer for I8", self.ctx.tensor, [numpy.float64(1.5)], "i8")
        for value in (numpy.complex64(1), numpy.array(1j), numpy.datetime64("2020-01-01"), numpy.timedelta64(3, "D")):
            self.refuses(TypeError, f"data[0] is {value!r}, expected a number for F32", self.ctx.tensor, [value])
        text = "data[0] is an ndarray of shape [1], expected a number for F32"
        self.refuses(TypeError, text, self.ctx.tensor, [numpy.array([3])])

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_a_number_of_numpy_by_itself_is_an_array(self):
        for kind, dtype in (("d", "f64"), ("f", "f32"), ("e", "f16"), ("q", "i64"), ("B", "u8"), ("?", "bool")):
            for value in (numpy.dtype(kind).type(1), numpy.array(1, kind), numpy.array([1], kind)):
                made = self.ctx.tensor(value)
                self.assertEqual((made.dtype.name.lower(), made.shape), (dtype, value.shape))
        self.makes(3.0, ruda.F32, 3.0)
        self.makes(3, ruda.I32, 3)
        self.makes(True, ruda.BOOL, True)
        self.makes(numpy.float64(3), ruda.F16, 3.0, asked="f16")

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_a_long_list_of_numbers_of_numpy_is_quick(self):
        for values in ([0.5] * 200_000, [7] * 200_000, [True] * 200_000):
            theirs = list(numpy.array(values))
            began = time.process_time()  # what other programs take does not count
            made = self.ctx.tensor(values)
            own = time.process_time() - began
            began = time.process_time()
            other = self.ctx.tensor(theirs)
            self.assertLess(time.process_time() - began, 20 * own + 0.2)
            self.assertEqual((other.dtype, other.tobytes()), (made.dtype, made.tobytes()))

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_numbers_of_pytorch(self):
        self.makes([torch.tensor(16777217), 1], ruda.I32, [16777217, 1])
        self.makes([torch.tensor(True)], ruda.BOOL, [True])
        self.makes([torch.tensor(1.5)], ruda.F32, [1.5])
        self.refuses(TypeError, "expected a number for F32", self.ctx.tensor, [torch.tensor(1j)])
        self.refuses(
            TypeError, "buffer is a torch.Tensor of shape [2], expected a buffer", self.ctx.wrap, torch.ones(2)
        )
        text = "x is a torch.Tensor of shape [2], expected a tensor (ctx.tensor or ruda.from_dlpack makes one)"
        self.refuses(TypeError, text, ruda.softmax, torch.ones(2))

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_dtypes_that_no_tensor_has(self):
        x = self.ctx.zeros((2,))
        for data in (
            numpy.ones(2, ">f4"),
            numpy.ones(2, "c8"),
            numpy.array([None, None]),
            numpy.array(["2020-01-01"], "M8[D]"),
            numpy.array(["a"]),
        ):
            text = f" holds elements of dtype {data.dtype}, expected f64, f32, f16"
            self.refuses(TypeError, "data" + text, self.ctx.tensor, data)
            self.refuses(TypeError, "buffer" + text, self.ctx.wrap, data)
            self.refuses(TypeError, "data" + text, x.write, data)
        for kind in ("i4", "f8"):
            self.refuses(TypeError, "expected F32 as the tensor", x.write, numpy.ones(2, kind))

    def test_buffers(self):
        x = self.ctx.zeros((2,))
        self.refuses(TypeError, "data is a list, expected a buffer, such as an array of NumPy", x.write, [1])
        self.refuses(TypeError, "buffer is a list, expected a buffer, such as an array of NumPy", self.ctx.wrap, [1])
        self.refuses(TypeError, "data is a str, expected a writable buffer, such as an array", x.read_into, "x")
        self.refuses(TypeError, "data is a bytes, read-only, expected a writable buffer", x.read_into, bytes(8))
        text = "data has 3 bytes, expected at least 8 as the tensor"
        self.refuses(ruda.ArgumentError, text, x.read_into, bytearray(3))
        self.refuses(ruda.ArgumentError, "data has 1 byte, expected 8 as the tensor", x.write, bytes(1))
        strided = memoryview(bytes(8))[::2]
        self.refuses(ValueError, "buffer has strides of [2] bytes, expected a contiguous buffer", self.ctx.wrap, strided)
        self.refuses(ValueError, "data has strides of [2] bytes, expected a contiguous buffer", x.write, strided)

    def test_what_is_no_tensor(self):
        x = self.ctx.zeros((2,))
        made = "expected a tensor (ctx.tensor or ruda.from_dlpack makes one)"
        self.refuses(TypeError, f"x is a list, {made}", ruda.softmax, [1.0])
        self.refuses(TypeError, f"b is an int, {made}", ruda.binary, x, 1, "add")
        self.refuses(TypeError, f"a is an int, {made}", ruda.binary, 1, x, "add")
        self.refuses(TypeError, f"b is a float, {made}", ruda.matmul, None, 1.0)
        self.refuses(TypeError, "x is None, expected a tensor", ruda.softmax, None)
        self.refuses(TypeError, "x is a Context, expected a tensor", ruda.softmax, self.ctx)
        with self.ctx.stream():
            self.refuses(TypeError, f"x is a list, {made}", ruda.softmax, [1.0])


if __name__ == "__main__":
    unittest.main()
