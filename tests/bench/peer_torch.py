# tests/bench/peer_torch.py - times PyTorch on the GPU for the cases of our benchmarks, by their names.
# SPDX-License-Identifier: Apache-2.0
"""usage: peer_torch.py NAME...    one JSON line a case that PyTorch has, and one with the ceilings of this run

Same rules as ours: random data, 256 MB of cache flushed before each run, CUDA events, the median of 30 runs."""

import json
import re
import sys

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def median_seconds(call):
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        call()
    times = []
    for _ in range(30):
        flush.zero_()
        before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        before.record()
        call()
        after.record()
        after.synchronize()
        times.append(before.elapsed_time(after) * 1e-3)
    return sorted(times)[len(times) // 2]


def random(dtype, *shape):
    return torch.randn(*shape, device="cuda").to(dtype)


def matmul(dtype, sizes, rest):
    m, n, k = sizes
    torch.backends.cuda.matmul.allow_tf32 = "tf32" in rest
    a, b = random(dtype, m, k), random(dtype, n, k)
    return lambda: a @ b.T


def rms_norm(dtype, sizes, _):
    x, gamma = random(dtype, *sizes), random(dtype, sizes[-1])
    return lambda: torch.nn.functional.rms_norm(x, (sizes[-1],), gamma, 1e-5)


def silu_mul(dtype, sizes, _):
    gate, up = random(dtype, *sizes), random(dtype, *sizes)
    return lambda: torch.nn.functional.silu(gate) * up


def add(dtype, sizes, _):
    a, b = random(dtype, *sizes), random(dtype, *sizes)
    return lambda: a + b


def softmax(dtype, sizes, _):
    x = random(dtype, *sizes)
    return lambda: torch.softmax(x, -1)


def copy(dtype, sizes, rest):
    x = random(dtype, *sizes)
    y = torch.empty(*reversed(sizes), dtype=dtype, device="cuda").T if "transposed" in rest else torch.empty_like(x)
    return lambda: y.copy_(x)


def cast(dtype, sizes, rest):
    x = random(dtype, *sizes)
    return lambda: x.to(DTYPES[rest[1]])


CASES = {"copy": copy, "cast": cast, "matmul": matmul, "rms_norm": rms_norm, "silu_mul": silu_mul, "add": add, "softmax": softmax}


def case_of(name):
    """"rms_norm bf16 16384x8192" -> a call; None for other names"""
    words = name.split()
    if len(words) < 3 or words[0] not in CASES or words[1] not in DTYPES or not re.fullmatch(r"\d+(x\d+)*", words[2]):
        return None
    return CASES[words[0]](DTYPES[words[1]], [int(n) for n in words[2].split("x")], words[3:])


def main():
    for name in sys.argv[1:]:
        call = case_of(name)
        if call:
            print(json.dumps({"name": name, "median_s": median_seconds(call), "by": f"PyTorch {torch.__version__}"}), flush=True)
    ceilings = {"name": "ceilings"}
    for mib in (64, 256, 1024):
        x, y = (torch.empty(mib << 20, dtype=torch.uint8, device="cuda") for _ in range(2))
        ceilings[f"copy_{mib}_MiB_TBps"] = round(2 * (mib << 20) / median_seconds(lambda: y.copy_(x)) / 1e12, 3)
    a, b = random(torch.bfloat16, 8192, 8192), random(torch.bfloat16, 8192, 8192)
    ceilings["matmul_bf16_8192_TFLOPs"] = round(2 * 8192**3 / median_seconds(lambda: a @ b) / 1e12, 1)
    print(json.dumps(ceilings), flush=True)
    return 0


sys.exit(main())
