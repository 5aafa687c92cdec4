# tests/ops/elementwise/compare_torch.py - every function of unary and binary against PyTorch, all float dtypes.
# SPDX-License-Identifier: Apache-2.0
"""usage: compare_torch.py LIBRARY ROOT

Values are bit patterns at even distances (every exponent, subnormals, infinities, NaN) and the corners of each function.
Results are compared with PyTorch in F64 on the same stored values, within the bounds that the operators' pages state;
functions of one IEEE operation and comparisons with PyTorch in the dtype itself, bit by bit."""

import ctypes
import pathlib
import re
import struct
import sys

DTYPES = {"F64": 1, "F32": 2, "F16": 3, "BF16": 4}
BOOL = 16


class Ruda:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.ruda_binary.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_uint32, ctypes.c_void_p]
        self.lib.ruda_unary.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint32, ctypes.c_void_p]
        desc = ctypes.create_string_buffer(64)
        struct.pack_into("<II", desc, 0, 64, 1)
        self.context = self.made(lambda out: self.lib.ruda_context_create(desc, out))
        self.stream = self.made(lambda out: self.lib.ruda_stream_create(ctypes.c_void_p(self.context), 0, out))

    @staticmethod
    def check(status):
        if status:
            sys.exit(f"a call gave {status}")

    def made(self, call):
        out = ctypes.c_void_p()
        self.check(call(ctypes.byref(out)))
        return out.value

    def tensor(self, values, dtype):
        shape = (ctypes.c_int64 * 1)(values.numel())
        desc = struct.pack("<IIQIIQQ", 40, dtype, 0, 1, 0, ctypes.addressof(shape), 0)
        made = self.made(lambda out: self.lib.ruda_tensor_create(ctypes.c_void_p(self.context), desc, out))
        size = values.numel() * values.element_size()
        self.check(
            self.lib.ruda_tensor_write(
                ctypes.c_void_p(self.stream), ctypes.c_void_p(made), ctypes.c_void_p(values.data_ptr()), ctypes.c_uint64(size)
            )
        )
        return made

    def read(self, tensor, like):
        size = like.numel() * like.element_size()
        self.check(
            self.lib.ruda_tensor_read(
                ctypes.c_void_p(self.stream), ctypes.c_void_p(tensor), ctypes.c_void_p(like.data_ptr()), ctypes.c_uint64(size)
            )
        )
        self.lib.ruda_release(ctypes.c_void_p(tensor))
        return like


def page_rows(root, name):
    """code -> (ulp, floor) of the page's table, 0 for exact, None for a comparison."""
    text = (root / f"docs/ops/elementwise/{name}.md").read_text().split("<!-- rows -->")[1].split("<!-- end of rows -->")[0]
    header = (root / "include/ruda/elementwise.h").read_text()
    rows = {}
    for code, gives, error in re.findall(rf"^\| `(RUDA_{name.upper()}_\w+)` \|.*\| ([^|]+) \| ([^|]+) \|$", text, re.M):
        number = int(re.search(rf"\b{code} = (\d+)", header)[1])
        error = error.replace("correctly rounded", "0.5 ulp")
        ulp = re.match(r"([\d.]+) ulp(?:, or ([\d.e-]+))?", error)
        rows[number] = (code, "BOOL" in gives, float(ulp[1]) if ulp else 0.0, float(ulp[2] or 0) if ulp else 0.0)
    return rows


def main():
    root = pathlib.Path(sys.argv[2])
    try:
        import numpy as np
        import torch
    except ImportError as error:
        print(f"skipped: {error}; install tests/requirements.txt")
        return 77
    ruda = Ruda(sys.argv[1])
    types = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    inf, nan = float("inf"), float("nan")
    sqrt2 = 2.0**0.5

    # PyTorch's vector forms of these give up early: the sigmoid below -709, remainders of far larger operands.
    # Its floor division rounds an F32 quotient twice, so the division is of F64.
    def sigmoid(x):
        e = torch.exp(-x.abs())
        return torch.where(x < 0, e, 1.0) / (1 + e)

    def by_numpy(function):
        def call(a, b):
            with np.errstate(all="ignore"):
                return torch.from_numpy(function(a.numpy(), b.numpy()))

        return call

    unary = {
        1: torch.neg, 2: torch.abs, 3: lambda x: torch.where(torch.isnan(x), x, torch.sign(x)), 4: torch.square,
        5: torch.relu, 7: torch.reciprocal, 8: torch.sqrt, 9: torch.rsqrt, 10: torch.exp, 11: torch.exp2,
        12: torch.expm1, 13: torch.log, 14: torch.log2, 15: torch.log10, 16: torch.log1p, 17: torch.sin, 18: torch.cos,
        19: torch.tan, 20: torch.asin, 21: torch.acos, 22: torch.atan, 23: torch.sinh, 24: torch.cosh, 25: torch.tanh,
        26: torch.asinh, 27: torch.acosh, 28: torch.atanh, 29: sigmoid, 30: lambda x: x * sigmoid(x),
        # PyTorch's own forms of the two cancel in the lower tail, also in F64.
        31: lambda x: x * (torch.erfc(x / -sqrt2) / 2),
        32: lambda x: x * sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)),
        33: lambda x: torch.nn.functional.softplus(x, threshold=700), 34: torch.erf, 35: torch.floor, 36: torch.ceil,
        37: torch.round, 38: torch.trunc, 39: torch.isnan, 40: torch.isinf, 41: torch.isfinite,
    }
    binary = {
        1: torch.add, 2: torch.sub, 3: torch.mul, 4: torch.div, 5: torch.minimum, 6: torch.maximum, 7: torch.pow,
        8: by_numpy(np.remainder), 9: by_numpy(np.fmod),
        10: lambda a, b: torch.div(a.double(), b.double(), rounding_mode="floor"), 11: torch.atan2,
        12: torch.eq, 13: torch.ne, 14: torch.lt, 15: torch.le, 16: torch.gt, 17: torch.ge,
    }
    corners = [0.0, -0.0, inf, -inf, nan, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 10, 88.7, 88.8, -87.3, -103.9, -104.5, 11, 709.7,
               709.8, -745, 1e-8, -1e-8, 1e-40, -1e-40, 6e-8, 65504, 3.3e38, -3.3e38, 0.99999994, -0.99999994, 1.0000001, 8191.5,
               8193, 1e10, 4.0e-5, 127.99, 128, -126, -149, -150, 0.70710678, 0.41421357, 2.4142137, 1e9, 1.2e9, 1e19, 2e19]

    def patterns(dtype, count):
        bits = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16}[dtype]
        step = (1 << bits) // count
        at = torch.arange(-count // 2, count // 2, dtype=torch.int64) * step + 12345 % max(step, 1)
        kind = {64: torch.int64, 32: torch.int32, 16: torch.int16}[bits]
        raw = at.to(kind).view(types[dtype])
        return torch.cat([raw, torch.tensor(corners, dtype=torch.float64).to(types[dtype])])

    def faults(label, dtype, got, want, row, inputs, exact):
        """want: F64, or the dtype itself when exact."""
        code, _, ulp, floor = row
        if exact:
            wrong = ~((got == want) | (torch.isnan(got.double()) & torch.isnan(want.double())))
        else:
            stored = want.to(types[dtype]).double()
            y = got.double()
            step = 2.0 ** {"F64": -52, "F32": -23, "F16": -10, "BF16": -7}[dtype]
            smallest = 2.0 ** {"F64": -1022, "F32": -126, "F16": -14, "BF16": -126}[dtype]
            size = torch.clamp(stored.abs(), min=smallest)
            if dtype == "F64":  # the C library's and PyTorch's own errors; arguments of erfc and e^x count x^2 times
                x = inputs[0].double()
                bound = size * step * (8 + 2 * ulp + 4 * torch.clamp(x * x, max=1e4) * (ulp > 5))
            elif dtype == "F32":
                bound = size * step * (ulp + 0.5) + floor
            else:  # the error in F32 may cross a tie
                bound = size * step * 1.01 + torch.finfo(types[dtype]).smallest_normal * step
            close = (y - stored).abs() <= bound
            # beside the largest number a rounding decides between it and infinity
            edge = want.abs() >= torch.finfo(types[dtype]).max * (1 - 300 * step * (dtype != "F64"))
            same = (y == stored) | (torch.isnan(y) & torch.isnan(stored)) | (edge & ~torch.isnan(y) & ~torch.isnan(stored))
            wrong = ~(same | close)
        bad = int(wrong.sum())
        if bad:
            i = int(wrong.nonzero()[0])
            at = ", ".join(repr(v[i].double().item()) for v in inputs)
            print(f"{label}: {bad} of {len(got)} differ, first {code}({at}) = {got[i].item()!r}, expected {want[i].item()!r}")
        return bad

    wrong = compared = 0
    unary_rows, binary_rows = page_rows(root, "unary"), page_rows(root, "binary")
    if set(unary_rows) - {6} != set(unary) or set(range(1, 18)) - set(binary_rows):
        sys.exit("the pages and this script know different functions")
    for dtype, code in DTYPES.items():
        x = patterns(dtype, 65536)
        wide = x.double()
        for op, function in unary.items():
            row = unary_rows[op]
            ours = ruda.tensor(x, code)
            out = ruda.made(lambda out: ruda.lib.ruda_unary(ruda.stream, ours, op, out))
            got = ruda.read(out, torch.empty_like(x, dtype=torch.bool if row[1] else x.dtype))
            ruda.lib.ruda_release(ctypes.c_void_p(ours))
            exact = row[1] or op in (1, 2, 3, 5, 35, 36, 37, 38)
            wrong += faults(f"unary {dtype}", dtype, got, function(x) if exact else function(wide), row, [x], exact)
            compared += len(x)

        ends = torch.tensor(corners, dtype=torch.float64).to(types[dtype])
        shuffle = torch.Generator().manual_seed(7)
        pairs = [ends.repeat_interleave(len(ends)), x[torch.randperm(len(x), generator=shuffle)][:20000]]
        others = [ends.repeat(len(ends)), x[torch.randperm(len(x), generator=shuffle)][:20000]]
        near = torch.randn(20000, generator=shuffle, dtype=torch.float64)
        a = torch.cat(pairs + [(near * 8).to(types[dtype])])
        b = torch.cat(others + [torch.randn(20000, generator=shuffle, dtype=torch.float64).to(types[dtype])])
        for op, function in binary.items():
            row = binary_rows[op]
            first, second = ruda.tensor(a, code), ruda.tensor(b, code)
            out = ruda.made(lambda out: ruda.lib.ruda_binary(ruda.stream, first, second, op, out))
            got = ruda.read(out, torch.empty_like(a, dtype=torch.bool if row[1] else a.dtype))
            for each in (first, second):
                ruda.lib.ruda_release(ctypes.c_void_p(each))
            # Of fmod and the like a rounded operand has another answer: the dtype's own, in F32 for halves.
            own = row[1] or op <= 6
            narrow = dtype in ("F16", "BF16")
            up = (lambda v: v.float() if narrow else v) if op in (8, 9, 10) else (lambda v: v.double())
            want = function(a, b) if own else function(up(a), up(b)).double()
            wrong += faults(f"binary {dtype}", dtype, got, want, row, [a, b], own)
            compared += len(a)
    print(f"{compared} results beside PyTorch {torch.__version__}, {wrong} outside their bounds")
    return 1 if wrong else 0


sys.exit(main())
