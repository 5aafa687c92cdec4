# tests/bindings/python/test_core.py - contexts, streams, tensors, plans, errors and logs in Python.
# SPDX-License-Identifier: Apache-2.0
import array
import logging
import math
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest

import ruda

try:
    import numpy
except ImportError:
    numpy = None


class CoreTest(unittest.TestCase):
    def setUp(self):
        self.ctx = ruda.Context("cpu")
        self.addCleanup(self.ctx.close)

    def test_context(self):
        self.assertEqual(self.ctx.backend, ruda.Backend.CPU)
        self.assertIn("cpu", self.ctx.device_name)
        self.assertGreaterEqual(self.ctx.host_threads, 1)
        self.assertEqual(ruda.Context("cpu", host_threads=1).host_threads, 1)
        self.assertEqual(ruda.device_count("cpu"), 1)
        self.assertIn("cpu", ruda.backend_report().lower())
        with self.assertRaises(ValueError):
            ruda.Context("tpu")
        before = self.ctx.allocated_bytes
        big = self.ctx.empty((1024, 1024))
        self.assertGreaterEqual(self.ctx.allocated_bytes - before, big.nbytes)
        self.assertGreaterEqual(self.ctx.peak_bytes, self.ctx.allocated_bytes)

    def test_round_trip(self):
        t = self.ctx.tensor([[1, 2, 3], [4, 5, 6]], ruda.F32)
        self.assertEqual(
            (t.shape, t.strides, t.dtype, t.nbytes, t.ndim, t.size), ((2, 3), (3, 1), ruda.F32, 24, 2, 6)
        )
        self.assertEqual(t.tolist(), [[1, 2, 3], [4, 5, 6]])
        self.assertEqual(array.array("f", t.tobytes()).tolist(), [1, 2, 3, 4, 5, 6])
        t.write(array.array("f", [6, 5, 4, 3, 2, 1]))
        into = bytearray(24)
        t.read_into(into)
        self.assertEqual(memoryview(into).cast("f").tolist(), [6, 5, 4, 3, 2, 1])

    def test_dtypes(self):
        for name in ("F64", "F32", "F16", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64"):
            t = self.ctx.tensor([0, 1, 2, 100], name)
            self.assertEqual((t.dtype.name, t.tolist()), (name, [0, 1, 2, 100]))
        self.assertEqual(self.ctx.tensor([True, False]).dtype, ruda.BOOL)
        self.assertEqual(self.ctx.tensor([1, 2]).dtype, ruda.I32)
        self.assertEqual(self.ctx.tensor([1, 2.5]).dtype, ruda.F32)
        self.assertEqual(self.ctx.tensor([1.0, 2.5], "bfloat16").tolist(), [1.0, 2.5])
        self.assertEqual(self.ctx.tensor(7).shape, ())
        self.assertEqual(self.ctx.tensor(7).item(), 7)
        self.assertEqual(self.ctx.tensor([[], []]).tolist(), [[], []])
        with self.assertRaises(ValueError):
            self.ctx.tensor([[1], [2, 3]])

    def test_names_of_dtypes(self):
        for name in ("f32", "F32", "float32", ruda.F32, 2, "torch.float32"):
            self.assertEqual(self.ctx.empty(1, name).dtype, ruda.F32)
        for name, dtype in (("bf16", "BF16"), ("bfloat16", "BF16"), ("float8_e4m3fn", "F8E4M3"), ("bool", "BOOL")):
            self.assertEqual(self.ctx.empty(2, name).dtype.name, dtype)
        self.assertEqual(self.ctx.empty(1, bool).dtype, ruda.BOOL)
        for name in ("float33", float, "f", 999, None):
            with self.assertRaises(ValueError):
                self.ctx.empty(1, name)
        a = self.ctx.tensor([[2.0]])
        self.assertEqual(ruda.matmul(a.cast("bf16"), a.cast("bf16"), out_dtype="float32").dtype, ruda.F32)
        self.assertEqual(ruda.embedding(a, self.ctx.tensor([0]), "f16").dtype, ruda.F16)
        self.assertEqual(ruda.plans.copy(self.ctx, x=a, dtype="bf16").op, "copy")
        with self.assertRaises(ValueError):
            ruda.matmul(a, a, out_dtype="f33")

    def test_constants_are_written_by_name(self):
        self.assertEqual((str(ruda.F32), f"{ruda.F32}", f"{ruda.F32:d}"), ("DType.F32", "DType.F32", "2"))
        self.assertEqual(repr(ruda.F32), "<DType.F32: 2>")
        with self.assertRaises(ruda.Error) as caught:
            self.ctx.empty((-1,))
        self.assertEqual(str(caught.exception.status), "Status.E_SHAPE")
        self.assertEqual(caught.exception.status, 1002)
        self.assertEqual(ruda._errors.make(1999, -1, 0, ("", "", "", "")).status, 1999)

    def test_buffers_of_another_dtype(self):
        t = self.ctx.zeros(4)
        for code in "diIHq":
            data = array.array(code, bytes(16))
            with self.assertRaises(TypeError) as caught:
                t.write(data)
            self.assertIn("expected F32 as the tensor", str(caught.exception))
            with self.assertRaises(TypeError):
                t.read_into(data)
        t.write(bytes(16))
        t.read_into(bytearray(16))
        half = self.ctx.zeros(2, "bf16")
        half.write(array.array("H", [0x3F80, 0x4000]))
        self.assertEqual(half.tolist(), [1, 2])
        with self.assertRaises(TypeError):
            half.write(array.array("h", [1, 2]))

    def test_optional_operands(self):
        x = self.ctx.tensor([[1.0, 3.0, 2.0]])
        self.assertEqual(ruda.sample(x).tolist(), [1])
        self.assertEqual(ruda.reduce(x, ruda.Reduce.SUM).item(), 6)
        self.assertEqual(ruda.reduce(x, ruda.Reduce.SUM, 1, True).tolist(), [[6]])
        self.assertEqual(ruda.top_k(x, 1)[1].tolist(), [[1]])
        self.assertEqual(ruda.plans.sample(self.ctx, logits=x).op, "sample")

    def test_schedule(self):
        with ruda.PagedSchedule(
            self.ctx, page_size=2, pages=4, max_sequences=2, max_queries=2, max_table_pages=2
        ) as schedule:
            schedule.set([[2], [0, 3]], [1, 3], [0, 1], [0, 2])
            facts = (schedule.sequences, schedule.queries, schedule.page_size, schedule.pages)
            self.assertEqual(facts, (2, 2, 2, 4))
            cache = self.ctx.full((4, 2, 1, 1), 1)
            rows = self.ctx.tensor([5.0, 7.0]).view(2, 1, 1)
            keys, values = ruda.paged_append(schedule, rows, cache)
            self.assertIsNone(values)
            self.assertEqual(keys.reshape(-1).tolist(), [1, 1, 1, 1, 5, 1, 7, 1])
            out = ruda.paged_attention(schedule, self.ctx.zeros((2, 1, 1)), keys, keys, 1.0, 1)[0]
            self.assertEqual(out.reshape(-1).tolist(), [5, 3])
            schedule.advance()
            self.assertEqual(schedule.generation, 2)
            with self.assertRaises(ruda.ArgumentError) as caught:
                schedule.set([[9]], [1], [], [])
            self.assertEqual(caught.exception.name, "RUDA_E_INDEX")
            with self.assertRaises(ValueError):
                schedule.set([], [1], [], [])
            for numbers in (([[1.5e-323]], [1], [0], [0]), ([[0]], [1.0], [0], [0]), ([[0]], [1], [0], [0.0])):
                with self.assertRaisesRegex(TypeError, "expected integers"):
                    schedule.set(*numbers)

    def test_numbers_of_a_desc(self):
        for shape, strides in (((2, 3), (1.5e-323, 5e-324)), ((2.0, 3), None), ((2, 3), "ab")):
            with self.assertRaisesRegex(TypeError, "expected integers"):
                ruda.TensorDesc(shape, strides=strides)
        with self.assertRaisesRegex(ValueError, "strides has 1 number, expected 2 as shape"):
            ruda.TensorDesc((2, 3), strides=(3,))
        x, w = ruda.TensorDesc((1, 32)), ruda.TensorDesc((4, 32), ruda.Q4_0)
        with ruda.plans.matmul_block(self.ctx, x=x, weights=w) as plan:
            self.assertIn("matmul_block", plan.explain())

    def test_fill(self):
        self.assertEqual(self.ctx.full((2, 2), 2.5).tolist(), [[2.5, 2.5], [2.5, 2.5]])
        self.assertEqual(self.ctx.full(3, 2.5, ruda.I32).tolist(), [2, 2, 2])
        self.assertEqual(self.ctx.full(3, 3.5, ruda.I8).tolist(), [4, 4, 4])
        self.assertEqual(self.ctx.full(2, 1e9, ruda.I8).tolist(), [127, 127])
        self.assertEqual(self.ctx.full(2, float("nan"), ruda.I32).tolist(), [0, 0])
        t = self.ctx.zeros((2, 3))
        t[:, 1].fill(7)
        self.assertEqual(t.tolist(), [[0, 7, 0], [0, 7, 0]])

    def test_views(self):
        t = self.ctx.tensor(list(range(24)), ruda.F32).view(2, 3, 4)
        want = [[[12 * i + 4 * j + k for k in range(4)] for j in range(3)] for i in range(2)]
        self.assertEqual(t.tolist(), want)
        self.assertEqual(t[1, 2, 3].item(), 23)
        self.assertEqual(t[..., 0].tolist(), [[0, 4, 8], [12, 16, 20]])
        self.assertEqual(t[:, None, -1, ::-2].shape, (2, 1, 2))
        self.assertEqual(t[0, ::-1, 1:3].tolist(), [[9, 10], [5, 6], [1, 2]])
        self.assertEqual(t.T.shape, (4, 3, 2))
        self.assertEqual(t.transpose().tolist()[0][1], [1, 5, 9])
        self.assertEqual(t.permute(2, 0, -2).shape, (4, 2, 3))
        self.assertEqual(self.ctx.tensor([1.0, 2.0]).broadcast_to(2, 2).tolist(), [[1, 2], [1, 2]])
        self.assertFalse(t.T.is_contiguous)
        self.assertTrue(t.T.contiguous().is_contiguous)
        self.assertEqual(t.T.reshape(24).tolist()[:4], [0, 12, 4, 16])
        self.assertEqual(t.reshape(6, -1).shape, (6, 4))
        self.assertEqual(t.storage_users, 1)
        view = t[0]
        self.assertEqual((t.storage_users, view.storage_users), (2, 2))
        with self.assertRaises(IndexError):
            t[2]
        with self.assertRaises(ruda.ArgumentError):
            t.T.view(24)

    def test_cast_and_copy(self):
        t = self.ctx.tensor([1.5, -2.5, 300.0])
        self.assertEqual(t.cast("i8").tolist(), [1, -2, 127])
        to = self.ctx.zeros(3, ruda.F64)
        self.assertIs(t.copy_to(to), to)
        self.assertEqual(to.tolist(), [1.5, -2.5, 300.0])

    def test_operator(self):
        with self.ctx.stream() as s:
            self.assertIs(ruda.current_stream(), s)
            y = ruda.rms_norm(self.ctx.tensor([[3.0, 4.0]]), self.ctx.tensor([1.0, 1.0]), 1e-6)
        self.assertIsNone(ruda.current_stream())
        for got, want in zip(y.tolist()[0], (3 / math.sqrt(12.5), 4 / math.sqrt(12.5))):
            self.assertAlmostEqual(got, want, places=6)

    def test_plan(self):
        x, gamma, y = self.ctx.tensor([[3.0, 4.0]]), self.ctx.tensor([2.0, 2.0]), self.ctx.zeros((1, 2))
        plan = ruda.plans.rms_norm(
            self.ctx, x=ruda.TensorDesc((1, 2)), gamma=gamma, eps=1e-6, kernel="cpu/rms_norm/scalar"
        )
        self.assertEqual(plan.slots, {"x": (0, False), "gamma": (1, False), "y": (2, True)})
        self.assertEqual((plan.op, plan.kernel), ("rms_norm", "cpu/rms_norm/scalar"))
        self.assertIn("scalar", plan.explain())
        plan(x=x, gamma=gamma, y=y)
        self.assertAlmostEqual(y.tolist()[0][1], 8 / math.sqrt(12.5), places=6)
        with self.ctx.workspace(max(plan.workspace_bytes, 256)) as workspace:
            plan(x=x, gamma=gamma, y=y, workspace=workspace)
        self.assertIn(plan.kernel, ruda.op_kernels("rms_norm"))
        self.assertIn("rms_norm", ruda.op_names())
        with self.assertRaises(TypeError):
            plan(x=x, gamma=gamma, z=y)
        with self.assertRaises(ruda.CancelledError), ruda.Cancel() as cancel:
            cancel.request()
            big = self.ctx.zeros((4096, 512))
            ruda.plans.rms_norm(self.ctx, x=big, gamma=self.ctx.zeros(512), eps=1e-6)(
                x=big, gamma=self.ctx.zeros(512), y=self.ctx.empty((4096, 512)), cancel=cancel
            )

    def test_descriptor_faults(self):
        x, gamma = self.ctx.zeros((1, 2)), self.ctx.zeros(2)

        def fails(text, **change):
            arguments = {"x": x, "gamma": gamma, "eps": 1e-6, **change}
            with self.assertRaises(ruda.ArgumentError) as caught:
                ruda.plans.rms_norm(self.ctx, **arguments)
            self.assertIn(text, str(caught.exception))

        fails('no parameter "nonsense"', nonsense=1)
        fails("cannot hold a value of kind", eps=[1.0])
        fails("cannot hold a value of kind", x=2.0)
        fails("expected 0 to 4294967295", autotune=-1)
        fails("rank 17", x=ruda.TensorDesc((1,) * 17))
        fails("eps is 0", eps=0)

    def test_errors_by_category(self):
        with self.assertRaises(ruda.ArgumentError) as caught:
            ruda.rms_norm(self.ctx.zeros((1, 3)), self.ctx.zeros(2), 1e-6)
        error = caught.exception
        self.assertEqual((error.status, error.name), (ruda.Status.E_SHAPE, "RUDA_E_SHAPE"))
        self.assertEqual(error.function, "ruda_rms_norm")
        self.assertIn("gamma dim 0 is 2, expected 3", error.message)
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(error, ruda.Error)
        self.assertEqual(pickle.loads(pickle.dumps(error)).message, error.message)
        with self.assertRaises(ruda.UnsupportedError):
            self.ctx.empty(32, "q4_0").__dlpack__()
        with self.assertRaises(ruda.ResourceError):
            ruda.Context("cpu", memory_limit=1024).empty((1 << 20,))
        with self.assertRaises(ruda.FileError):
            ruda.op_kernels("no_such_operator")
        with self.assertRaises(ruda.Error) as caught:
            ruda.Context("cuda:999")
        self.assertIsInstance(
            caught.exception, (ruda.BackendMissingError, ruda.UnsupportedError, ruda.ArgumentError)
        )
        for category, kind in ruda._errors.CATEGORIES.items():
            made = ruda._errors.make(category * 1000 + 999, -1, 0, ("m", "f", "", "RUDA_E_UNKNOWN"))
            self.assertIs(type(made), kind)

    def test_wrong_types(self):
        t = self.ctx.zeros(2)
        with self.assertRaises(TypeError):
            ruda.rms_norm(t, [1.0, 1.0], 1e-6)
        with self.assertRaises(TypeError):
            ruda.rms_norm(t, t, "eps")
        for wrong, error, text in (
            (-1, OverflowError, "causal is -1, expected 0 to 4294967295"),
            (1 << 32, OverflowError, "causal is 4294967296, expected 0 to 4294967295"),
            (1.0, TypeError, "causal is 1.0, expected an integer"),
            ("yes", TypeError, "causal is 'yes', expected an integer"),
        ):
            with self.assertRaisesRegex(error, text), ruda.PagedSchedule(
                self.ctx, page_size=1, pages=1, max_sequences=1, max_queries=1, max_table_pages=1
            ) as schedule:
                ruda.paged_attention(schedule, t, t, t, 1.0, wrong)
        with self.assertRaisesRegex(TypeError, "eps is 'eps', expected a number"):
            ruda.rms_norm(t, t, "eps")
        with self.assertRaisesRegex(OverflowError, "page_size is -1, expected 0 to 4294967295"):
            ruda.PagedSchedule(self.ctx, page_size=-1, pages=1, max_sequences=1, max_queries=1, max_table_pages=1)
        with self.assertRaisesRegex(ValueError, "op holds a NUL at index 3, expected none"):
            ruda._plan.op_kernels("add\0mul")
        with self.assertRaisesRegex(TypeError, "op is 3, expected a text"):
            ruda._plan.op_kernels(3)
        x = ruda.TensorDesc(2)
        with self.assertRaisesRegex(ruda.ArgumentError, "kernel holds a NUL at byte 4"):
            ruda.plans.binary(self.ctx, a=x, b=x, op=ruda.Binary.ADD, kernel="cpu/\0binary")
        with ruda.plans.binary(self.ctx, a=x, b=x, op=ruda.Binary.ADD) as plan:
            with self.assertRaisesRegex(ruda.ArgumentError, "slot 1 .b. of binary is not bound"):
                plan(a=t, b=None, y=t)
            with self.assertRaisesRegex(TypeError, "b is a dict, expected a tensor"):
                plan(a=t, b={}, y=t)
        with self.assertRaises(TypeError):
            ruda._raw.ruda_stream_sync(t._h)
        with self.assertRaises(TypeError):
            pickle.dumps(t)
        with self.assertRaises(ruda.ArgumentError):
            t.write(b"123")
        with self.assertRaises(OverflowError):
            self.ctx.empty((1 << 70,))
        with self.assertRaises(ruda.ArgumentError):
            self.ctx.empty((1 << 62, 1 << 62))

    def test_buffer_is_let_go_after_an_error(self):
        target = bytearray(3)
        with self.assertRaises(ruda.Error):
            self.ctx.zeros(4).read_into(target)
        target.extend(b"x")  # a buffer still exported would refuse

    def test_stream_and_event(self):
        with self.ctx.stream() as s, self.ctx.event() as first, self.ctx.event() as second:
            first.record(s)
            second.record(s)
            s.wait(first)
            s.sync()
            second.sync()
            self.assertTrue(s.done())
            self.assertGreaterEqual(first.elapsed(second), 0)

    def test_log_drain(self):
        class Keep(logging.Handler):
            def __init__(self):
                super().__init__()
                self.lines = []

            def emit(self, record):
                self.lines.append((record.name, record.levelno, record.getMessage()))

        logger, keep = logging.getLogger("ruda.test"), Keep()
        logger.addHandler(keep)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        ctx = ruda.Context("cpu", log_level=ruda.LogLevel.DEBUG)
        with ruda.LogDrain(ctx, logger, interval=0.01):
            for _ in range(3):
                ruda.rms_norm(ctx.zeros((1, 8)), ctx.zeros(8), 1e-6)
        self.assertTrue(keep.lines)
        for name, level, _ in keep.lines:
            self.assertTrue(name.startswith("ruda.test."))
            self.assertLessEqual(level, logging.ERROR)
        self.assertEqual(ctx.drain_log(), [])

    def test_log_drain_whose_logger_raises(self):
        told = []

        class Raises(logging.Filter):
            def filter(self, record):
                told.append(record.getMessage())
                raise ValueError(f"filter {len(told)}")

        logger = logging.getLogger("ruda.raises")
        logger.setLevel(logging.DEBUG)
        logger.getChild("plan").addFilter(Raises())
        for interval, first in ((0.001, 5), (60, 8)):
            told.clear()
            ctx = ruda.Context("cpu", log_level=ruda.LogLevel.DEBUG)
            ctx.drain_log()
            drain = ruda.LogDrain(ctx, logger, interval=interval)
            for extent in range(first, first + 3):
                ruda.plans.softmax(ctx, x=ruda.TensorDesc((extent,))).close()
            with self.assertRaisesRegex(ValueError, "^filter 1$"):
                drain.close()
            self.assertEqual(len(told), 3)
            drain.close()

    def test_wrap(self):
        data = array.array("f", [1, 2, 3, 4])
        t = self.ctx.wrap(data, shape=(2, 2))
        data[3] = 9
        self.assertEqual(t.tolist(), [[1, 2], [3, 9]])
        t.fill(5)
        self.assertEqual(data.tolist(), [5, 5, 5, 5])
        fixed = self.ctx.wrap(bytes(8), "i32")
        self.assertEqual((fixed.shape, fixed.read_only), ((2,), True))
        with self.assertRaises(ruda.ArgumentError):
            fixed.fill(1)

    def test_library_override(self):
        path = ruda.library_path()
        code = "import ruda; print(ruda.library_path())"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "RUDA_LIBRARY": path},
            text=True,
            capture_output=True,
            check=True,
        )
        self.assertEqual(done.stdout.strip(), path)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "RUDA_LIBRARY": "/nonexistent.so"},
            text=True,
            capture_output=True,
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("ImportError: RUDA_LIBRARY names /nonexistent.so", done.stderr)


    def test_other_python(self):
        """A raw module of another Python, and none, are told with what to do."""
        folder = os.path.dirname(ruda.__file__)
        this = f"CPython {sys.version_info[0]}.{sys.version_info[1]}"
        with tempfile.TemporaryDirectory() as place:
            copy = os.path.join(place, "ruda")
            os.mkdir(copy)
            for name in os.listdir(folder):
                if name.endswith(".py"):
                    shutil.copy(os.path.join(folder, name), copy)
            for names, text in (
                ((), f"ruda is not built: {copy} has no raw module, expected one for {this}"),
                (("_raw.cpython-36m-x86_64-linux-gnu.so",), f"ruda was built for CPython 3.6m (file {copy}/_raw.cpython-36m-"),
            ):
                for name in names:
                    open(os.path.join(copy, name), "wb").close()
                environment = {**os.environ, "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"}
                done = subprocess.run([sys.executable, "-c", "import ruda"], env=environment, text=True, capture_output=True)
                self.assertEqual(done.returncode, 1)
                self.assertIn("ImportError: " + text, done.stderr)
                self.assertIn(f"build with -Dbindings=python -Dpython={sys.executable}", done.stderr)
                if names:
                    self.assertIn(f"), this is {this}", done.stderr)


@unittest.skipUnless(numpy, "NumPy is not installed")
class NumpyTest(unittest.TestCase):
    def setUp(self):
        self.ctx = ruda.Context("cpu")
        self.addCleanup(self.ctx.close)

    def test_copies(self):
        rng = numpy.random.default_rng(1)
        for dtype in ("f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"):
            a = (rng.standard_normal((3, 5)) * 10).astype(dtype)
            t = self.ctx.tensor(a)
            numpy.testing.assert_array_equal(t.numpy(), a)
            numpy.testing.assert_array_equal(t.T.numpy(), a.T)
            numpy.testing.assert_array_equal(self.ctx.tensor(a.T).numpy(), a.T)
            numpy.testing.assert_array_equal(numpy.asarray(t), a)
        numpy.testing.assert_array_equal(self.ctx.tensor(a, "f32").numpy(), a.astype("f4"))
        for dtype in (numpy.float32, numpy.dtype("float32"), numpy.bool_, numpy.int8, numpy.dtype("uint64")):
            self.assertEqual(self.ctx.empty(1, dtype).numpy().dtype, numpy.dtype(dtype))
        with self.assertRaises(TypeError):
            self.ctx.zeros(4).write(numpy.zeros(2))
        with self.assertRaises(TypeError):
            self.ctx.zeros(2, "bf16").numpy()
        with self.assertRaises(TypeError):
            self.ctx.tensor(numpy.array(["text"]))

    def test_indexing_as_numpy(self):
        a = numpy.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
        t = self.ctx.tensor(a)
        s = numpy.s_
        for index in (
            s[0],
            s[-1],
            s[:, 1],
            s[..., 2],
            s[None, 0],
            s[:, ::-1],
            s[1, 5:, ::2],
            s[::-1, ::-1, ::-1],
            s[:0],
            s[0, 2:0:-1],
            s[:, -2:, None, 1:3],
            s[5:0:-3],
            s[...],
        ):
            numpy.testing.assert_array_equal(t[index].numpy(), a[index], err_msg=str(index))

    def test_rms_norm(self):
        x = numpy.random.default_rng(2).standard_normal((7, 33)).astype("f4")
        gamma = numpy.linspace(0.5, 1.5, 33, dtype="f4")
        y = ruda.rms_norm(self.ctx.tensor(x), self.ctx.tensor(gamma), 1e-5).numpy()
        want = x / numpy.sqrt((x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5) * gamma
        numpy.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-7)

    def test_dlpack_out(self):
        t = self.ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        live = self.ctx.live_objects
        a = numpy.from_dlpack(t)
        b = t.T.numpy_view()
        t.close()
        numpy.testing.assert_array_equal(a, [[1, 2], [3, 4]])
        numpy.testing.assert_array_equal(b, [[1, 3], [2, 4]])
        self.assertEqual(self.ctx.live_objects, live + 1)  # the arrays hold the tensor and its view
        del a, b
        self.assertEqual(self.ctx.live_objects, live - 1)

    def test_dlpack_capsule_that_nobody_takes(self):
        t = self.ctx.zeros(3)
        live = self.ctx.live_objects
        for version in (None, (1, 0)):
            capsule = t.__dlpack__(max_version=version)
            del capsule
        self.assertEqual(self.ctx.live_objects, live)
        with self.assertRaises(ValueError):
            t.__dlpack__(stream=5)
        with self.assertRaises(BufferError):
            t.__dlpack__(dl_device=(2, 0))

    def test_dlpack_in(self):
        a = numpy.arange(6, dtype="f4").reshape(2, 3)
        t = ruda.from_dlpack(a, context=self.ctx)
        a[1, 2] = 50
        self.assertEqual(t.tolist(), [[0, 1, 2], [3, 4, 50]])
        del a
        self.assertEqual(t[1].tolist(), [3, 4, 50])
        other = ruda.from_dlpack(t, context=self.ctx)
        other.fill(1)
        self.assertEqual(t.tolist(), [[1, 1, 1], [1, 1, 1]])
        copied = ruda.from_dlpack(numpy.ones(3, "i8")[::2], context=self.ctx)
        self.assertEqual(copied.tolist(), [1, 1])


if __name__ == "__main__":
    unittest.main()
