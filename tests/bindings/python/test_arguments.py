# tests/bindings/python/test_arguments.py - what the Python package refuses, by name and value, and what it takes.
# SPDX-License-Identifier: Apache-2.0
import array
import inspect
import operator
import subprocess
import sys
import time
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


class Exporter:
    """A library that hands out its memory by DLPack and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **asked):
        return self.tensor.__dlpack__(**asked)


class ArgumentTest(unittest.TestCase):
    def setUp(self):
        self.ctx = ruda.Context("cpu")
        self.addCleanup(self.ctx.close)

    def refuses(self, error, text, call, *arguments, **named):
        with self.assertRaises(error) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))

    def test_axes(self):
        x = self.ctx.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
        for axes, want in (
            (None, 21.0),
            (2, [[6.0, 15.0]]),
            (-1, [[6.0, 15.0]]),
            ([0, 1], [5.0, 7.0, 9.0]),
            ((-1, 0), [6.0, 15.0]),
            (range(3), 21.0),
        ):
            self.assertEqual(ruda.reduce(x, ruda.Reduce.SUM, axes).tolist(), want)
            with ruda.plans.reduce(self.ctx, x=x, op=ruda.Reduce.SUM, axes=axes) as plan:
                y = self.ctx.empty(ruda.reduce(x, ruda.Reduce.SUM, axes).shape)
                plan(x=x, y=y)
                self.assertEqual(y.tolist(), want)
        desc = ruda.TensorDesc((2, 3))
        ruda.plans.reduce(self.ctx, x=desc, op=ruda.Reduce.SUM, axes=-2).close()
        for axes, error, text in (
            (3, IndexError, "axes is 3: 3 is none of 3 axes, expected -3 to 2"),
            ([0, -4], IndexError, "axes is [0, -4]: -4 is none of 3 axes"),
            ([1, -2], ValueError, "axes is [1, -2], which names axis 1 twice"),
            ((), ValueError, "axes is (), expected at least one axis, or None for all"),
            (1.0, TypeError, "axes is 1.0, expected None, an integer or integers"),
            (True, TypeError, "axes is True, expected None, an integer or integers"),
            ("01", TypeError, "axes is '01', expected None, an integer or integers"),
        ):
            self.refuses(error, text, ruda.reduce, x, ruda.Reduce.SUM, axes)
            self.refuses(error, text, ruda.plans.reduce, self.ctx, x=x, op=ruda.Reduce.SUM, axes=axes)
        self.refuses(ruda.ArgumentError, "axes[0] is 99, expected 0 to 2", x.permute, 99, 0, 1)

    def test_what_a_call_needs(self):
        a = self.ctx.tensor([1.0, 2.0])
        self.assertEqual(ruda.binary(a, a, ruda.Binary.ADD).tolist(), [2.0, 4.0])
        self.refuses(TypeError, "op", ruda.binary, a, a)
        self.assertIs(inspect.signature(ruda.binary).parameters["b"].default, inspect.Parameter.empty)
        self.refuses(TypeError, "op", ruda.plans.binary, self.ctx, a=a, b=a)
        x, positions = self.ctx.zeros((1, 1, 4)), self.ctx.tensor([0])
        text = "theta is None, expected a number above 0 where frequencies is None"
        self.refuses(TypeError, text, ruda.rope, x, positions)
        self.assertEqual(ruda.rope(x, positions, theta=1e4).shape, (1, 1, 4))
        self.assertEqual(ruda.rope(x, positions, self.ctx.tensor([1.0, 0.5])).shape, (1, 1, 4))

    def test_numbers_of_lists(self):
        for data, dtype, error, text in (
            ([300], "i8", OverflowError, "data[0] is 300, expected -128 to 127 for I8"),
            ([[1, 2], [-1, 0]], "u8", OverflowError, "data[1][0] is -1, expected 0 to 255 for U8"),
            ([0, 1 << 40], None, OverflowError, "data[1] is 1099511627776, expected -2147483648 to 2147483647"),
            ([1, 1.5], "i32", TypeError, "data[1] is 1.5, expected an integer for I32"),
            ([1.0, "a"], None, TypeError, "data[1] is 'a', expected a number for F32"),
            ([1e6], "f16", OverflowError, "data[0] is 1000000.0, expected a finite F16"),
            ([[1.0], [2.0, 3.0]], None, ValueError, "data[1] is a list of 2, expected a sequence of 1 as data[0]"),
            ([[1.0], 2.0], None, ValueError, "data[1] is a float, expected a sequence of 1 as data[0]"),
            ([1.0, [2.0]], None, ValueError, "data[1] is a list of 1, expected a number as data[0]"),
            ([[[1]], [[2, 3]]], None, ValueError, "data[1][0] is a list of 2, expected a sequence of 1 as data[0][0]"),
            (None, None, TypeError, "data is None, expected a number, nested sequences, a buffer"),
        ):
            self.refuses(error, text, self.ctx.tensor, data, dtype)
        self.assertEqual(self.ctx.tensor([[], []]).shape, (2, 0))
        self.assertEqual(self.ctx.tensor([[[1]], [[2]]]).shape, (2, 1, 1))
        self.refuses(ValueError, "dtype is 'f33', expected one of DType: f64, f32", self.ctx.empty, 1, "f33")
        self.refuses(ValueError, "dtype is 999, expected one of DType: f64, f32", self.ctx.empty, 1, 999)

    def test_a_long_list_is_quick(self):
        values = [0.5] * 1_000_000
        began = time.process_time()
        baseline = array.array("f", values)
        baseline = time.process_time() - began
        began = time.process_time()
        made = self.ctx.tensor(values)
        self.assertLess(time.process_time() - began, 20 * baseline + 0.2)
        self.assertEqual((made.shape, made[999_999].item()), ((1_000_000,), 0.5))

    def test_fill_is_exact(self):
        for kind, value in (("i64", 1 << 60), ("i64", -(1 << 63)), ("u64", 1 << 63), ("i8", -3), ("f32", 1 << 60)):
            self.assertEqual(self.ctx.full((1,), value, dtype=kind).tolist(), [value])
        for kind, value in (("i64", (1 << 60) + 1), ("u64", (1 << 64) - 1), ("i64", (1 << 53) + 1), ("i32", 10**400)):
            text = f"value is {value}, expected an integer that a double holds exactly"
            self.refuses(OverflowError, text, self.ctx.full, (1,), value, dtype=kind)

    def test_blocks_need_a_shape(self):
        text = "shape is not given, which a buffer of Q4_0 blocks needs"
        self.refuses(ValueError, text, self.ctx.wrap, bytes(18), dtype=ruda.DType.Q4_0)
        self.assertEqual(self.ctx.wrap(bytes(18), dtype=ruda.DType.Q4_0, shape=(1, 32)).shape, (1, 32))

    def test_operands_that_are_none(self):
        x = self.ctx.tensor([1.0, 2.0])
        with ruda.plans.binary(self.ctx, a=x, y=x, op=ruda.Binary.ADD) as plan:
            y = self.ctx.zeros(2)
            plan(a=x, y=y, scalar=2.0)
            self.assertEqual(y.tolist(), [3.0, 4.0])
            self.refuses(TypeError, "scalar is a str, expected a tensor, another object of the library or a number", plan, a=x, y=y, scalar="2")
            self.refuses(TypeError, "scalar is a list, expected", plan, a=x, y=y, scalar=[2.0])
            for two in (2, 2.0):
                plan(a=x, y=y, scalar=two)
                self.assertEqual(y.tolist(), [3.0, 4.0])
            plan(a=x, y=y, scalar=True)
            self.assertEqual(y.tolist(), [2.0, 3.0])
            plan(a=x, y=y, scalar=1 << 70)
            self.assertEqual(y.tolist(), [2.0**70] * 2)
            for wide in ((1 << 53) + 1, (1 << 63) - 1, -(1 << 63) + 1):
                self.refuses(ValueError, f"(scalar): is the integer {wide}, which no double holds", plan, a=x, y=y, scalar=wide)
            for wide in ((1 << 70) + 1, 10**400):
                self.refuses(OverflowError, f"scalar is {wide}, expected an integer that a double holds", plan, a=x, y=y, scalar=wide)
            if numpy:
                plan(a=x, y=y, scalar=numpy.int64(2))
                self.assertEqual(y.tolist(), [3.0, 4.0])
                plan(a=x, y=y, scalar=numpy.float32(3))
                self.assertEqual(y.tolist(), [4.0, 5.0])
                text = "scalar is an ndarray of shape [2], expected a tensor, another object of the library or a number"
                self.refuses(TypeError, text, plan, a=x, y=y, scalar=numpy.ones(2))
                self.refuses(TypeError, "a is an ndarray of shape [2]", plan, a=numpy.ones(2, "i4"), y=y)
                self.refuses(TypeError, "eps is an ndarray", ruda.plans.rms_norm, self.ctx, x=x, gamma=x, eps=numpy.ones(2))
            closed = self.ctx.zeros(2)
            closed.close()
            self.refuses(ValueError, "y: closed, expected an open tensor", plan, a=x, y=closed, scalar=1.0)
        self.refuses(ValueError, "gamma: closed, expected an open tensor", ruda.rms_norm, x, closed, 1e-6)
        self.refuses(ValueError, "tensor: closed, expected an open tensor", lambda: closed.cast("f64"))

    def test_objects_of_another_kind(self):
        t = self.ctx.zeros(2)
        self.refuses(TypeError, "to is a list, expected a tensor", t.copy_to, [0, 0])
        self.refuses(TypeError, "stream is a str, expected a stream", t.fence, "s")
        self.refuses(TypeError, "context is a str, expected a context", ruda.Stream, "cpu")
        self.refuses(TypeError, "context is a str", ruda.plans.binary, "cpu", a=t, b=t, op=1)
        self.refuses(TypeError, "store is a str, expected a store", ruda.Tokenizer, "a.gguf")
        self.refuses(TypeError, "context is None, expected a context", ruda.Stream, None)
        self.refuses(TypeError, "to is None, expected a tensor", t.copy_to, None)
        self.refuses(TypeError, "stream is None, expected a stream", t.fence, None)
        self.refuses(TypeError, "b is None, expected a tensor", ruda.binary, t, None, ruda.Binary.ADD)
        self.refuses(TypeError, "gamma is None, expected a tensor", ruda.rms_norm, t, None, 1e-6)
        self.refuses(TypeError, "gamma is None, which rms_norm needs", ruda.plans.rms_norm, self.ctx, x=t, gamma=None, eps=1)
        self.refuses(TypeError, "eps is None, which rms_norm needs", ruda.plans.rms_norm, self.ctx, x=t, gamma=t, eps=None)
        square = t.view(1, 2).broadcast_to(2, 2)
        self.assertEqual(ruda.matmul(square, square, None).shape, (2, 2))

    def test_dtypes_without_an_array(self):
        """What NumPy has no type for is refused with the way that works, which is tried here."""
        if not numpy:
            self.skipTest("needs NumPy")
        for name in ("BF16", "F8E4M3", "F8E5M2", "F4E2M1", "Q4_0", "Q8_0", "Q2_K"):
            t = self.ctx.empty(256, name) if "_" in name else self.ctx.full(256, 1.5, name)
            text = f"NumPy has no type for {name}: "
            text += "t.tobytes() gives its blocks" if name == "Q2_K" else "cast to F32 first: t.cast(ruda.F32)"
            for call in (t.numpy, t.numpy_view, lambda t=t: numpy.asarray(t)):
                self.refuses(TypeError, text, call)
            if name == "Q2_K":
                self.assertEqual(len(t.tobytes()), 84)
            else:
                self.assertEqual(t.cast(ruda.F32).numpy().shape, (256,))
            shares = name in ("BF16", "F8E4M3", "F8E5M2")
            with self.assertRaises(TypeError) as caught:
                t.numpy()
            self.assertEqual("torch.from_dlpack(t) shares it as it is" in str(caught.exception), shares)
            if torch and shares:
                self.assertEqual(torch.from_dlpack(t).float().tolist(), [1.5] * 256)

    def test_log_drains(self):
        self.refuses(TypeError, "context is None, expected a context", ruda.LogDrain, None)
        self.refuses(ValueError, "interval is -1, expected 0 or more", ruda.LogDrain, self.ctx, interval=-1)

    def test_truth_and_equality(self):
        self.assertTrue(self.ctx.tensor([2.0]))
        self.assertFalse(self.ctx.tensor(0))
        self.refuses(ValueError, "a tensor of shape [2] has no truth value", bool, self.ctx.zeros(2))
        self.refuses(ValueError, "a tensor of shape [0] has no truth value", bool, self.ctx.zeros(0))
        t = self.ctx.zeros(1)
        self.assertTrue(t == t and t != self.ctx.zeros(1))

    def test_schedule(self):
        with ruda.PagedSchedule(
            self.ctx, page_size=2, pages=4, max_sequences=2, max_queries=2, max_table_pages=2
        ) as schedule:
            schedule.set([[2, -1]], [1], [0], [0])
            good = {"tables": [[2], [0, 3]], "lengths": [1, 3], "sequence_ids": [0, 1], "positions": [0, 2]}
            for name in ("lengths", "sequence_ids", "positions"):
                for value in (-1, 1 << 32, 1 << 64):
                    text = f"{name}[1] is {value}, expected 0 to 4294967295"
                    self.refuses(OverflowError, text, schedule.set, **{**good, name: [0, value]})
            text = "tables has 70000 rows of up to 40000 pages, expected at most 2 of at most 2"
            self.refuses(ValueError, text, schedule.set, [[0] * 40000] + [[]] * 69999, [0] * 70000, [], [])
            text = "tables[1][0] is -2, expected -1 to 4294967295"
            self.refuses(OverflowError, "tables[1][0] is -2, expected -1", schedule.set, **{**good, "tables": [[0], [-2]]})
            stream = self.ctx.stream()
            raw = ruda._raw.rudax_schedule_set
            for at, text in (
                (5, "tables[1][0] is -2"), (7, "lengths[0] is -2"), (10, "sequence_ids[1] is -2"), (12, "positions[1] is -2")
            ):
                numbers = [2, 2, 2, 2, -1, 0, 3, 1, 3, 0, 1, 0, 2]
                numbers[at] = -2
                self.refuses(ruda.ArgumentError, text, raw, schedule._h, stream._h, numbers)

    def test_plans_name_what_there_is(self):
        x = self.ctx.zeros((1, 2))
        make = ruda._plan.make
        self.refuses(ruda.ArgumentError, 'reduce has no parameter "axes": it has', make, self.ctx, "reduce", {"axes": 1}, {})
        text = "rms_norm: x cannot hold a value of kind number, expected a tensor"
        self.refuses(ruda.ArgumentError, text, ruda.plans.rms_norm, self.ctx, x=2.0, gamma=x, eps=1e-6)

    def test_without_numpy(self):
        code = """import sys; sys.modules["numpy"] = None
import ruda
try:
    ruda.Context("cpu").zeros(1).numpy()
except ImportError as error:
    print(error)"""
        done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True)
        self.assertIn("pip install numpy", done.stdout)


class OddNumbersTest(unittest.TestCase):
    """Numbers that Python holds and a tensor does not."""

    def setUp(self):
        self.ctx = ruda.Context("cpu", host_threads=1)
        self.addCleanup(self.ctx.close)

    def test_nesting(self):
        around = []
        around.append(around)
        twice = []
        twice += [twice, twice]
        for data in (around, twice):
            with self.assertRaisesRegex(ValueError, "nested deeper than 16"):
                self.ctx.tensor(data)

    def test_bits_of_a_float_are_no_integer(self):
        x = self.ctx.zeros((2, 3))
        for call in (
            lambda: x.reshape(5e-324 * 3, 2),
            lambda: x.view(3.0, 2.0),
            lambda: x.broadcast_to(5e-324 * 4, 2, 3),
            lambda: x.permute(1.0, 0.0),
        ):
            with self.assertRaises(TypeError):
                call()

    def test_range(self):
        for dtype in ("f16", "f32", "bf16"):
            for value in (1e300, -1e300, 10**400):
                with self.assertRaisesRegex(OverflowError, r"data\[1\] is -?1.*, expected a finite"):
                    self.ctx.tensor([0.0, value], dtype)
        self.assertEqual(self.ctx.tensor([float("inf")], "f32").tolist(), [float("inf")])
        with self.assertRaisesRegex(TypeError, r"data\[0\] is '1', expected a number"):
            self.ctx.tensor(["1"])

    def test_two_ellipses(self):
        with self.assertRaisesRegex(IndexError, "more than one Ellipsis"):
            self.ctx.zeros((2, 3))[..., ...]


class HugeNumbersTest(unittest.TestCase):
    """An integer that no parameter holds is refused with the name, the value and the range."""

    setUp = ArgumentTest.setUp
    refuses = ArgumentTest.refuses

    def test_steps(self):
        t = self.ctx.tensor([0, 1, 2, 3, 4], dtype="I32")
        for step in (2**62 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**100):
            self.assertEqual(t[::step].tolist(), [0])
            self.assertEqual(t[3::step].tolist(), [3])
            self.assertEqual(t[::-step].tolist(), [4])
            self.assertEqual(t[2::-step].tolist(), [2])
            self.assertEqual(t[5::step].tolist(), [])
            self.assertEqual(t[-(10**30) : 10**30 : step].tolist(), [0])

    def test_names(self):
        ctx, huge = self.ctx, 2**70
        x = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        wide = "-9223372036854775808 to 9223372036854775807"
        for name, call in (
            ("shape[1]", lambda: ctx.empty((1, huge))),
            ("shape[0]", lambda: ctx.zeros(-huge)),
            ("shape[0]", lambda: x.view(huge)),
            ("shape[1]", lambda: x.reshape(2, huge)),
            ("shape[0]", lambda: x.broadcast_to(huge, 2)),
            ("axes[0]", lambda: x.permute(huge, 0)),
            ("shape[0]", lambda: ruda.TensorDesc((huge,))),
            ("strides[1]", lambda: ruda.TensorDesc((1, 2), strides=(1, huge))),
        ):
            self.refuses(OverflowError, f"{name} is ", call)
            self.refuses(OverflowError, f"expected {wide}", call)
        self.refuses(IndexError, f"first is {huge}, expected an axis, -2 to 1", x.transpose, huge)
        self.refuses(IndexError, "second is 1.0, expected an axis", x.transpose, 0, 1.0)
        self.refuses(TypeError, "an index is 1.5, expected an integer", lambda: x[1.5])
        for flag in (True, False, *([numpy.True_, numpy.bool_(False)] if numpy else ())):
            self.refuses(TypeError, f"an index is {flag!r}, expected an integer", lambda flag=flag: x[flag])
            self.refuses(TypeError, f"an index is {flag!r}, expected an integer", operator.setitem, x, (flag,), 1)
        self.refuses(OverflowError, f"k is {huge}, expected -9223372036854775808 to", ruda.top_k, x, huge)
        self.refuses(OverflowError, f"value is {10**400}, expected a finite F64", x.fill, 10**400)
        self.refuses(OverflowError, "host_threads is -1, expected 0 to 4294967295", ruda.Context, host_threads=-1)
        self.refuses(OverflowError, f"device is {huge}, expected", ruda.Context, "cpu", huge)
        self.refuses(OverflowError, f"is {huge}, expected", ctx.workspace, huge)
        top = ruda.plans.top_k
        self.refuses(OverflowError, f"k is {2**64}, expected", top, ctx, x=x, k=2**64)
        self.refuses(ruda.Error, f"top_k: k is {2**63}, expected at most {2**63 - 1}", top, ctx, x=x, k=2**63)
        rope = dict(x=ruda.TensorDesc((1, 1, 4)), positions=ruda.TensorDesc((1,), "I32"), theta=1e4)
        self.refuses(OverflowError, "short_factors[1] is ", ruda.plans.rope, ctx, **rope, short_factors=[1, huge])
        with ruda.plans.binary(ctx, a=x, op=ruda.Binary.ADD) as plan:
            self.refuses(OverflowError, f"scalar is {huge + 1}, expected an integer", plan, a=x, y=x, scalar=huge + 1)

    def test_unsigned(self):
        x = ruda.TensorDesc((2, 3))
        for limit in (2**63, 2**64 - 1):
            ruda.plans.softmax(self.ctx, x=x, workspace_limit_bytes=limit).close()
        self.refuses(
            OverflowError, f"is {2**64}, expected", ruda.plans.softmax, self.ctx, x=x, workspace_limit_bytes=2**64
        )
        self.refuses(
            ruda.Error, "softmax: workspace_limit_bytes is -1", ruda.plans.softmax, self.ctx, x=x,
            workspace_limit_bytes=-1,
        )

    def test_negative(self):
        ctx, x = self.ctx, self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        self.refuses(ValueError, "activation is -1, expected one of Activation: none", ruda.matmul, x, x, activation=-1)
        self.refuses(ValueError, "activation is -1, expected one of Activation: none", ruda.plans.matmul, ctx, a=x, b=x, activation=-1)
        sizes = dict(page_size=2, pages=2, max_sequences=1, max_queries=1, max_table_pages=1)
        self.refuses(OverflowError, "page_size is -1, expected 0 to", ruda.PagedSchedule, ctx, **{**sizes, "page_size": -1})

    def test_overflow(self):
        x = self.ctx.tensor([1000.0, -1e9, 1.0])
        for dtype, overflow, codes in (
            ("F8E4M3", ruda.Overflow.DEFAULT, [0x7E, 0xFE, 0x38]),
            ("F8E4M3", ruda.Overflow.SATURATE, [0x7E, 0xFE, 0x38]),
            ("F8E4M3", ruda.Overflow.NONFINITE, [0x7F, 0xFF, 0x38]),
            ("F8E5M2", ruda.Overflow.DEFAULT, [0x64, 0xFC, 0x3C]),
            ("F8E5M2", ruda.Overflow.SATURATE, [0x64, 0xFB, 0x3C]),
            ("F8E5M2", ruda.Overflow.NONFINITE, [0x64, 0xFC, 0x3C]),
        ):
            self.assertEqual(list(x.cast(dtype, overflow=overflow).tobytes()), codes)
            with ruda.plans.copy(self.ctx, x=x, dtype=dtype, overflow=overflow) as plan:
                y = self.ctx.empty(3, dtype)
                plan(x=x, y=y)
                self.assertEqual(list(y.tobytes()), codes)
        self.refuses(ValueError, "overflow is 3, expected one of Overflow: default", x.cast, "F8E4M3", overflow=3)
        self.refuses(ruda.ArgumentError, "overflow is 1 with dtype F16", x.cast, "F16", overflow=1)
        self.refuses(ValueError, "overflow is -1, expected one of Overflow: default", x.cast, "F8E4M3", overflow=-1)

    def test_booleans_are_no_dtype(self):
        x = self.ctx.tensor([1.0])
        self.refuses(ValueError, "dtype is None, expected one of DType: f64", x.cast, None)
        self.refuses(ValueError, "dtype is 1.5, expected one of DType: f64", x.cast, 1.5)
        for call in (
            lambda: self.ctx.empty((1,), True),
            lambda: self.ctx.tensor([1.0], dtype=True),
            lambda: x.cast(True),
            lambda: ruda.TensorDesc((1,), False),
            lambda: ruda.plans.copy(self.ctx, x=x, dtype=True),
            lambda: ruda.matmul(x.view(1, 1), x.view(1, 1), out_dtype=True),
        ):
            self.refuses(TypeError, "expected one of DType: f64, f32", call)

    def test_of_other_kinds(self):
        self.refuses(ValueError, "backend is 'x', expected one of Backend: auto, cpu, cuda", ruda.device_count, "x")
        with ruda.PagedSchedule(
            self.ctx, page_size=2, pages=4, max_sequences=2, max_queries=2, max_table_pages=2
        ) as schedule:
            self.refuses(TypeError, "tables is 5, expected a row of pages", schedule.set, 5, [1], [0], [0])
            self.refuses(TypeError, "tables[0] is 5, expected integers", schedule.set, [5], [1], [0], [0])
            self.refuses(OverflowError, f"tables[0][0] is {2**70}, expected -1 to", schedule.set, [[2**70]], [1], [0], [0])

    def test_texts(self):
        x = self.ctx.tensor([[1.0]])
        self.refuses(ruda.Error, "kernel holds a NUL at byte 10", ruda.plans.copy, self.ctx, x=x, kernel="cpu/copy/m\0emory")
        self.refuses(ValueError, "op holds a NUL at index 4, expected none", ruda.op_kernels, "copy\0x")

    def test_left_out(self):
        x = self.ctx.tensor([1.0])
        with ruda.plans.unary(self.ctx, x=x, op=ruda.Unary.NEG) as plan:
            self.refuses(ruda.Error, "x", plan, x=None, y=x)
            self.refuses(ruda.Error, "x", plan, y=x)


class DlpackTest(unittest.TestCase):
    def setUp(self):
        self.ctx = ruda.Context("cpu")
        self.addCleanup(self.ctx.close)
        self.data = bytes(range(8))
        self.fixed = self.ctx.wrap(self.data, "u8")

    def test_read_only_is_copied(self):
        for version in (None, (1, 0)):
            taken = ruda.from_dlpack(Fixed(self.fixed.__dlpack__(max_version=version)), context=self.ctx)
            self.assertFalse(taken.read_only)
            taken.fill(9)
            self.assertEqual((taken.tolist(), self.data), ([9] * 8, bytes(range(8))))
        shared = ruda.from_dlpack(Fixed(self.fixed.__dlpack__(max_version=(1, 0), copy=False)), context=self.ctx)
        self.assertTrue(shared.read_only)
        with self.assertRaisesRegex(BufferError, "read-only, which DLPack before version 1 cannot say"):
            self.fixed.__dlpack__(copy=False)
        self.assertTrue(ruda.from_dlpack(self.fixed, context=self.ctx).read_only)
        writable = self.ctx.zeros(2)
        ruda.from_dlpack(Fixed(writable.__dlpack__(max_version=(1, 0))), context=self.ctx).fill(3)
        self.assertEqual(writable.tolist(), [3, 3])
        ruda.from_dlpack(Fixed(writable.__dlpack__(copy=True)), context=self.ctx).fill(4)
        self.assertEqual(writable.tolist(), [3, 3])

    def test_malformed(self):
        t = self.ctx.tensor([1.0])
        for name, value in (
            ("max_version", ()),
            ("max_version", (1,)),
            ("max_version", (1, 0, 0)),
            ("max_version", 1),
            ("max_version", ("1", "0")),
            ("max_version", (1.0, 0.0)),
            ("dl_device", ()),
            ("dl_device", 1),
            ("dl_device", (1, None)),
            ("copy", 1),
            ("copy", "yes"),
            ("stream", "default"),
            ("stream", 1.5),
        ):
            with self.assertRaises(TypeError) as caught:
                t.__dlpack__(**{name: value})
            self.assertIn(f"{name} is {value!r}, expected", str(caught.exception))
        with self.assertRaises(BufferError):
            t.__dlpack__(dl_device=(2, 0))
        t.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=False, stream=-1)

    def test_dlpack_of_negative_strides(self):
        t = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        back = t[::-1]
        for version in (None, (1, 0)):
            copied = ruda.from_dlpack(Fixed(back.__dlpack__(max_version=version)), context=self.ctx)
            self.assertEqual((copied.strides, copied.tolist()), ((2, 1), [[3.0, 4.0], [1.0, 2.0]]))
        back.__dlpack__(copy=False)  # as it is, for those who take it
        if numpy:
            back.numpy_view()[:] = 5
            self.assertEqual((t.tolist(), copied.tolist()), ([[5.0, 5.0]] * 2, [[3.0, 4.0], [1.0, 2.0]]))
        if torch:
            self.assertEqual(torch.from_dlpack(self.ctx.tensor([1, 2, 3])[::-1]).tolist(), [3, 2, 1])

    def test_from_dlpack_of_something_else(self):
        with self.assertRaisesRegex(TypeError, "x is a list, expected an object with __dlpack__"):
            ruda.from_dlpack([1], context=self.ctx)

    def test_tensor_of_an_exporter(self):
        source = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        made = self.ctx.tensor(Exporter(source.T))
        source.fill(0)
        self.assertEqual((made.tolist(), made.dtype), ([[1, 3], [2, 4]], ruda.F32))
        self.assertEqual(self.ctx.tensor(Exporter(source), "f64").dtype, ruda.F64)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_numpy(self):
        view = self.fixed.numpy_view()
        self.assertFalse(view.flags.writeable)
        self.assertEqual(view.ctypes.data, self.fixed.numpy_view().ctypes.data)
        copied = numpy.from_dlpack(self.fixed)
        self.assertNotEqual(copied.ctypes.data, view.ctypes.data)
        writable = self.ctx.zeros(2)
        writable.numpy_view()[:] = 5
        self.assertEqual(writable.tolist(), [5, 5])

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_torch(self):
        taken = torch.from_dlpack(self.fixed)
        taken += 1
        self.assertEqual((taken.tolist(), self.data), (list(range(1, 9)), bytes(range(8))))
        self.assertEqual(self.ctx.tensor(torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16)).tolist(), [[1, 2]])


class Fixed:
    """An exporter of one capsule."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule


if __name__ == "__main__":
    unittest.main()
