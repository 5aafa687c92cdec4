# tests/bindings/python/test_enumerations.py - enumerations of the C API as Python enums, and the arguments that take them.
# SPDX-License-Identifier: Apache-2.0
import enum
import inspect
import os
import pathlib
import re
import sys
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

HEADERS = pathlib.Path(__file__).resolve().parents[3] / "include" / "ruda"


def header_enums():
    """[{name: number}] of the headers, but for slots; read here again, without the generator."""
    found = []
    for path in sorted(HEADERS.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        for m in re.finditer(r"(?:/\*\*(?P<doc>(?:(?!\*/).)*)\*/\s*)?^enum \{(?P<body>.*?)\};", text, re.S | re.M):
            if (m.group("doc") or "").lstrip().startswith("Slots of"):
                continue
            body = re.sub(r"/\*.*?\*/", "", m.group("body"), flags=re.S)
            found.append(dict(re.findall(r"(RUDA_\w+)\s*=\s*(-?\w+)", body)))
    return found


class EnumerationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = ruda.Context("cpu")
        cls.x = cls.ctx.tensor([[-1.0, 2.0], [3.0, -4.0]])

    @classmethod
    def tearDownClass(cls):
        cls.ctx.close()

    def refuses(self, error, text, call, *arguments, **named):
        with self.assertRaises(error) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))

    def test_stubs(self):
        """Type checkers know ruda.F32 and the like, and that results are tensors."""
        folder = os.path.dirname(ruda.__file__)
        with open(os.path.join(folder, "_constants.pyi"), encoding="utf-8") as file:
            constants = file.read()
        for name, member in ruda.DType.__members__.items():
            self.assertIs(getattr(ruda, name), member)
            self.assertIn(f"\n{name} = DType.{name}\n", constants)
        with open(os.path.join(folder, "_ops.pyi"), encoding="utf-8") as file:
            ops = file.read()
        results = re.findall(r"def (\w+)\(.*\) -> (.*): \.\.\.", ops)
        self.assertNotIn("Optional", "".join(made for _, made in results))
        self.assertEqual([made for name, made in results if name == "top_k"], ["Tuple[Tensor, Tensor]"])
        appended = [made for name, made in results if name == "paged_append"]
        self.assertEqual(appended, ["Tuple[Tensor, Tensor]", "Tuple[Tensor, None]"])

    def test_every_enumeration(self):
        """Each enumerator of a header is a member of an IntEnum with that number and a docstring."""
        kinds = [k for k in vars(ruda).values() if inspect.isclass(k) and issubclass(k, enum.IntEnum)]
        enums = header_enums()
        self.assertGreater(len(enums), 20)
        for members in enums:
            fits = [
                k
                for k in kinds
                if len(k.__members__) == len(members)
                and all(any(full.endswith(name) for full in members) for name in k.__members__)
                and sorted(map(int, k)) == sorted(int(n, 0) for n in members.values() if n.lstrip("-")[0].isdigit())
            ]
            if all(n.lstrip("-")[0].isdigit() for n in members.values()):
                self.assertTrue(fits, members)
        for kind in kinds:
            self.assertTrue(kind.__doc__ and "An enumeration" not in kind.__doc__, kind)
        self.assertIn("a + b; integers wrap", ruda.Binary.__doc__)
        self.assertEqual((ruda.RopePairing.INTERLEAVED, ruda.RopeDirection.INVERSE, ruda.RopeFlags.EXACT_RAMP), (1, 1, 1))
        self.assertIs(ruda.Rope.INTERLEAVED, ruda.RopePairing.INTERLEAVED)
        self.assertEqual(ruda.Splits.AUTO, 0xFFFFFFFF)

    def test_member_number_and_name(self):
        x = self.x
        for op in (ruda.Unary.NEG, 1, "neg", "NEG"):
            self.assertEqual(ruda.unary(x, op).tolist(), [[1.0, -2.0], [-3.0, 4.0]])
            with ruda.plans.unary(self.ctx, x=x, op=op) as plan:
                y = self.ctx.empty((2, 2))
                plan(x=x, y=y)
                self.assertEqual(y.tolist(), [[1.0, -2.0], [-3.0, 4.0]])
        for op in (ruda.Binary.MUL, 3, "mul"):
            self.assertEqual(ruda.binary(x, x, op).tolist(), [[1.0, 4.0], [9.0, 16.0]])
        for op in (ruda.Reduce.MAX, int(ruda.Reduce.MAX), "max"):
            self.assertEqual(ruda.reduce(x, op).item(), 3.0)
        for activation in (ruda.Activation.RELU, 1, "relu"):
            self.assertEqual(ruda.matmul(x, x, activation=activation).tolist(), [[7.0, 0.0], [0.0, 22.0]])
        for none in (ruda.Activation.NONE, 0, "none", None):
            self.assertEqual(ruda.matmul(x, x, activation=none).tolist(), [[7.0, -10.0], [-15.0, 22.0]])
        wide = self.ctx.tensor([1e6])
        for overflow in (ruda.Overflow.SATURATE, 1, "saturate"):
            self.assertEqual(wide.cast("f8e5m2", overflow=overflow).tolist(), [57344.0])
            with ruda.plans.copy(self.ctx, x=wide, dtype="f8e5m2", overflow=overflow) as plan:
                y = self.ctx.empty(1, "f8e5m2")
                plan(x=wide, y=y)
                self.assertEqual(y.tolist(), [57344.0])
        q, at = self.ctx.tensor([[[1.0, 2.0, 3.0, 4.0]]]), self.ctx.tensor([1], "i32")
        half = ruda.rope(q, at, theta=1e4).tolist()
        other = ruda.rope(q, at, theta=1e4, pairing=1).tolist()
        self.assertNotEqual(half, other)
        for pairing in (ruda.RopePairing.INTERLEAVED, ruda.Rope.INTERLEAVED, "interleaved"):
            self.assertEqual(ruda.rope(q, at, theta=1e4, pairing=pairing).tolist(), other)
        linear = ruda.rope(q, at, theta=1e4, scaling=ruda.RopeScaling.LINEAR, factor=2.0).tolist()
        self.assertEqual(ruda.rope(q, at, theta=1e4, scaling="linear", factor=2.0).tolist(), linear)
        with ruda.plans.matmul(self.ctx, a=x, b=x, math="strict", determinism="required", strategy="auto") as plan:
            self.assertTrue(plan.deterministic)
        for backend in (ruda.Backend.CPU, 1, "cpu"):
            with ruda.Context(backend, log_level="debug") as ctx:
                self.assertIs(ctx.backend, ruda.Backend.CPU)
                ctx.set_log_level("error")
                ctx.set_log_level(ruda.LogLevel.INFO)
                ctx.set_log_level(2)
            self.assertEqual(ruda.device_count(backend), 1)
            self.assertEqual(ruda.op_kernels("matmul", backend), ruda.op_kernels("matmul"))

    def test_unknown(self):
        x, ctx = self.x, self.ctx
        saturate = "expected one of Overflow: default, saturate, nonfinite"
        self.refuses(ValueError, f"overflow is 'clip', {saturate}", x.cast, "f8e4m3", overflow="clip")
        self.refuses(ValueError, f"overflow is 3, {saturate}", x.cast, "f8e4m3", overflow=3)
        self.refuses(TypeError, f"overflow is 1.5, {saturate}", x.cast, "f8e4m3", overflow=1.5)
        self.refuses(ValueError, f"overflow is 7, {saturate}", ruda.plans.copy, ctx, x=x, overflow=7)
        listed = ", ".join(ruda.Binary.__members__).lower()
        for call in (lambda op: ruda.binary(x, x, op), lambda op: ruda.plans.binary(ctx, a=x, b=x, op=op)):
            self.refuses(ValueError, f"op is 'plus', expected one of Binary: {listed}", call, "plus")
            for wrong in (0, -1, 999, 1 << 40):
                self.refuses(ValueError, f"op is {wrong}, expected one of Binary: {listed}", call, wrong)
            self.refuses(TypeError, f"op is Unary.NEG, expected one of Binary: {listed}", call, ruda.Unary.NEG)
            self.refuses(TypeError, "op is [], expected one of Binary", call, [])
        self.refuses(ValueError, "op is 'nope', expected one of Unary: neg,", ruda.unary, x, "nope")
        self.refuses(ValueError, "op is 77, expected one of Reduce: sum,", ruda.reduce, x, 77)
        self.refuses(ValueError, "activation is 'x', expected one of Activation: none, relu", ruda.matmul, x, x, activation="x")
        self.refuses(ValueError, "math is 'fast', expected one of MathMode: default, strict, tf32",
                     ruda.plans.matmul, ctx, a=x, b=x, math="fast")
        self.refuses(ValueError, "backend is 9, expected one of Backend: auto, cpu, cuda", ruda.Context, 9)
        self.refuses(ValueError, "backend is 'gpu', expected one of Backend: auto, cpu, cuda", ruda.device_count, "gpu")
        self.refuses(ValueError, "log_level is 'loud', expected one of LogLevel: error, warning, info, debug",
                     ruda.Context, "cpu", log_level="loud")
        self.refuses(ValueError, "level is 0, expected one of LogLevel: error,", ctx.set_log_level, 0)
        self.refuses(ValueError, "pairing is 'pairs', expected one of RopePairing: half, interleaved",
                     ruda.rope, x, x, theta=1e4, pairing="pairs")

    def test_bools(self):
        """A bool is no number of a value, one of NumPy or PyTorch neither, whatever the way in."""
        x, ctx = self.x, self.ctx
        desc = {"q": ruda.TensorDesc((1, 2, 64)), "k": ruda.TensorDesc((4, 16, 2, 64)), "v": ruda.TensorDesc((4, 16, 2, 64))}
        bools = [True, False]
        bools += [numpy.True_, numpy.array(False)] if numpy else []
        bools += [torch.tensor(True)] if torch else []
        for value in bools:
            for kind, name, call in (
                ("Binary", "op", lambda v: ruda.binary(x, x, v)),
                ("Binary", "op", lambda v: ruda.plans.binary(ctx, a=x, b=x, op=v)),
                ("Unary", "op", lambda v: ruda.unary(x, op=v)),
                ("Reduce", "op", lambda v: ruda.reduce(x, v)),
                ("Activation", "activation", lambda v: ruda.matmul(x, x, activation=v)),
                ("Overflow", "overflow", lambda v: x.cast("f8e4m3", overflow=v)),
                ("Overflow", "overflow", lambda v: ruda.plans.copy(ctx, x=x, overflow=v)),
                ("RopeFlags", "flags", lambda v: ruda.rope(x, x, theta=1e4, flags=v)),
                ("RopePairing", "pairing", lambda v: ruda.rope(x, x, theta=1e4, pairing=v)),
                ("MathMode", "math", lambda v: ruda.plans.matmul(ctx, a=x, b=x, math=v)),
                ("Splits", "splits", lambda v: ruda.plans.paged_attention(ctx, **desc, scale=0.125, splits=v)),
                ("Backend", "backend", ruda.Context),
                ("Backend", "backend", ruda.device_count),
                ("Backend", "backend", lambda v: ruda.op_kernels("copy", v)),
                ("LogLevel", "log_level", lambda v: ruda.Context("cpu", log_level=v)),
                ("LogLevel", "level", ctx.set_log_level),
            ):
                self.refuses(TypeError, f"{name} is {value!r}, expected one of {kind}: ", call, value)
            self.refuses(TypeError, f"dtype is {value!r}, expected one of DType: ", x.cast, value)
            self.refuses(TypeError, "expected None, an integer or integers", ruda.reduce, x, "sum", value)

    def test_numbers_beside_an_enumeration(self):
        """splits takes numbers too, and AUTO by name."""
        ctx = self.ctx
        desc = {"q": ruda.TensorDesc((1, 2, 64)), "k": ruda.TensorDesc((4, 16, 2, 64)), "v": ruda.TensorDesc((4, 16, 2, 64))}
        for splits in ("auto", ruda.Splits.AUTO, 0xFFFFFFFF, 0, 4, None):
            ruda.plans.paged_attention(ctx, **desc, scale=0.125, splits=splits).close()
        text = "splits is 'many', expected one of Splits: auto, or a number from 0 to 4294967295"
        self.refuses(ValueError, text, ruda.plans.paged_attention, ctx, **desc, scale=0.125, splits="many")
        self.refuses(ValueError, "splits is -1, expected one of Splits: auto, or a number from 0 to 4294967295",
                     ruda.plans.paged_attention, ctx, **desc, scale=0.125, splits=-1)

    def test_documentation(self):
        for function, name, kind in (
            (ruda.binary, "op", "Binary"),
            (ruda.plans.binary, "op", "Binary"),
            (ruda.unary, "op", "Unary"),
            (ruda.reduce, "op", "Reduce"),
            (ruda.rope, "pairing", "RopePairing"),
            (ruda.matmul, "activation", "Activation"),
            (ruda.plans.copy, "overflow", "Overflow"),
        ):
            self.assertIn(f"{name} is one of {kind}, its number or its name", " ".join(function.__doc__.split()))
        self.assertIn("math is one of MathMode", " ".join(ruda.plans.matmul.__doc__.split()))
        self.assertEqual(inspect.signature(ruda.matmul).parameters["activation"].default, ruda.Activation.NONE)
        self.assertIs(inspect.signature(ruda.Tensor.cast).parameters["overflow"].default, ruda.Overflow.DEFAULT)
        stub = pathlib.Path(sys.modules["ruda._ops"].__file__).with_suffix(".pyi").read_text(encoding="utf-8")
        self.assertIn("def binary(a: Tensor, b: Tensor, op: Union[Binary, int, str], *,", stub)


if __name__ == "__main__":
    unittest.main()
