# tests/bench/peer_torch.py - times PyTorch on the GPU for the cases of our benchmarks, by their names.
# SPDX-License-Identifier: Apache-2.0
"""usage: peer_torch.py NAME...    one JSON line a case that PyTorch has, and one with the ceilings of this run

Same rules as ours: random data, 256 MB of cache flushed before each run, CUDA events, the median of 30 runs."""

import json
import re
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "i32": torch.int32}


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


def host_seconds(call):
    """Of the calling thread, in batches as short as ours."""
    times = []
    for _ in range(300):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(50):
            call()
        times.append((time.perf_counter() - start) / 50)
    torch.cuda.synchronize()
    return sorted(times)[len(times) // 2]


def random(dtype, *shape):
    return torch.randn(*shape, device="cuda").to(dtype)


def matmul(dtype, sizes, rest):
    m, n, k = sizes
    torch.backends.cuda.matmul.allow_tf32 = "tf32" in rest
    if "weights" in rest:  # of another dtype: the peer has both operands in that
        dtype = DTYPES[rest[rest.index("weights") + 1]]
    a, b = random(dtype, m, k), random(dtype, n, k)
    if dtype == torch.float8_e4m3fn:
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.T, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    bias = random(dtype, n) if "bias" in rest else None
    if "gelu" in rest:
        return lambda: torch.nn.functional.gelu(torch.nn.functional.linear(a, b, bias), approximate="tanh")
    if "relu" in rest:
        return lambda: torch.nn.functional.relu(a @ b.T)
    return lambda: torch.nn.functional.linear(a, b, bias) if bias is not None else a @ b.T


def matmul_block(sizes):
    """PyTorch has no packed weights: the same product with dense bf16 weights."""
    m, n, k = sizes
    a, b = random(torch.bfloat16, m, k), random(torch.bfloat16, n, k)
    return lambda: a @ b.T


def rms_norm(dtype, sizes, _):
    x, gamma = random(dtype, *sizes), random(dtype, sizes[-1])
    return lambda: torch.nn.functional.rms_norm(x, (sizes[-1],), gamma, 1e-5)


def silu_mul(dtype, sizes, _):
    gate, up = random(dtype, *sizes), random(dtype, *sizes)
    return lambda: torch.nn.functional.silu(gate) * up


def add(dtype, sizes, rest):
    a = random(dtype, *sizes)
    if "scalar" in rest:
        return lambda: a + 3
    b = random(dtype, *([1, sizes[1]] if "row" in rest else [sizes[0], 1] if "column" in rest else sizes))
    return lambda: a + b


def unary(function):
    def case(dtype, sizes, _):
        x = random(dtype, *sizes)
        return lambda: function(x)

    return case


def binary(function):
    def case(dtype, sizes, _):
        a, b = random(dtype, *sizes), random(dtype, *sizes)
        return lambda: function(a, b)

    return case


def softmax(dtype, sizes, _):
    x = random(dtype, *sizes)
    return lambda: torch.softmax(x, -1)


def log_softmax(dtype, sizes, _):
    x = random(dtype, *sizes)
    return lambda: torch.log_softmax(x, -1)


def reduction(function):
    """Along the rows, the columns or all."""

    def case(dtype, sizes, rest):
        x = random(dtype, *sizes)
        if "all" in rest:
            return lambda: function(x)
        return lambda: function(x, 0 if "columns" in rest else -1)

    return case


def top_k(dtype, sizes, rest):
    x, k = random(dtype, *sizes), int(rest[0])
    return lambda: torch.topk(x, k)


def embedding(dtype, sizes, _):
    rows, cols, count = sizes
    table, ids = random(dtype, rows, cols), torch.randint(rows, (count,), device="cuda")
    return lambda: torch.nn.functional.embedding(ids, table)


def rope(dtype, sizes, _):
    tokens, _, dim = sizes
    x = random(dtype, *sizes)
    angles = torch.arange(tokens, device="cuda")[:, None] * 10000.0 ** (-torch.arange(0, dim, 2, device="cuda") / dim)
    angles = torch.cat([angles, angles], -1)[:, None]
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)

    def turn():
        low, high = x.chunk(2, -1)
        return x * cos + torch.cat([-high, low], -1) * sin

    return turn


def sample(dtype, sizes, rest):
    x = random(dtype, *sizes)
    if "greedy" in rest:
        return lambda: x.argmax(-1)
    if rest == ["temperature"]:
        return lambda: torch.multinomial(torch.softmax(x / 0.8, -1), 1)

    def draw():
        logits = x / 0.8
        if "top_k" in rest:
            logits, ids = torch.topk(logits, 40)
        else:
            logits, ids = logits.sort(-1, descending=True)
        p = torch.softmax(logits, -1)
        p = p.masked_fill(p.cumsum(-1) - p >= 0.95, 0.0)
        return ids.gather(-1, torch.multinomial(p, 1))

    return draw


def copy(dtype, sizes, rest):
    x = random(dtype, *sizes)
    y = torch.empty(*reversed(sizes), dtype=dtype, device="cuda").T if "transposed" in rest else torch.empty_like(x)
    return lambda: y.copy_(x)


def cast(dtype, sizes, rest):
    x = random(dtype, *sizes)
    return lambda: x.to(DTYPES[rest[1]])


CASES = {
    "copy": copy,
    "cast": cast,
    "matmul": matmul,
    "rms_norm": rms_norm,
    "silu_mul": silu_mul,
    "add": add,
    "relu": unary(torch.relu),
    "exp": unary(torch.exp),
    "silu": unary(torch.nn.functional.silu),
    "gelu": unary(torch.nn.functional.gelu),
    "rsqrt": unary(torch.rsqrt),
    "sigmoid": unary(torch.sigmoid),
    "div": binary(torch.div),
    "maximum": binary(torch.maximum),
    "less": binary(torch.lt),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "sum": reduction(torch.sum),
    "amax": reduction(torch.amax),
    "argmax": reduction(torch.argmax),
    "top_k": top_k,
    "embedding": embedding,
    "rope": rope,
    "sample": sample,
}


def case_of(name):
    """"rms_norm bf16 16384x8192" -> a call; None for other names"""
    words = name.split()
    if words[0] == "matmul_block" and len(words) == 3:
        return matmul_block([int(n) for n in words[2].split("x")])
    if len(words) < 3 or words[0] not in CASES or words[1] not in DTYPES or not re.fullmatch(r"\d+(x\d+)*", words[2]):
        return None
    if words[3:4] and words[3] in ("KiB", "MiB", "Mi"):  # a size in bytes or millions, not extents
        return None
    return CASES[words[0]](DTYPES[words[1]], [int(n) for n in words[2].split("x")], words[3:])


def host_case(name):
    """"host add f32 1536 plan execute" -> the call that does as much; None where PyTorch has none"""
    if name.startswith("host add f32 1536 "):
        a, b = random(torch.float32, 1536), random(torch.float32, 1536)
        return {"plan execute": lambda: a.add_(b), "eager": lambda: a + b}.get(name[len("host add f32 1536 ") :])
    if name == "host rms_norm f32 4x512 eager":
        return rms_norm(torch.float32, [4, 512], [])
    if name == "host memory from the cache tensor of 256 floats":
        return lambda: torch.empty(256, device="cuda")
    return None


def main():
    for name in sys.argv[1:]:
        call = host_case(name)
        if call:
            print(json.dumps({"name": name, "median_s": host_seconds(call), "by": f"PyTorch {torch.__version__}"}), flush=True)
            continue
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
