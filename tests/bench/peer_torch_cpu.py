# tests/bench/peer_torch_cpu.py - times PyTorch on the CPU for the cases of bench_operators, by their names.
# SPDX-License-Identifier: Apache-2.0
"""usage: peer_torch_cpu.py THREADS SECONDS NAME...    one JSON line a case that PyTorch has

Same rules as bench_operators: random data, the median of the runs that fit into the time."""

import json
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random(dtype, *shape):
    return torch.randn(*shape).to(dtype)


def matmul(dtype, m, n, k, plain=False):
    a, b, c = random(dtype, m, k), random(dtype, k, n) if plain else random(dtype, n, k).T, torch.empty(m, n, dtype=dtype)
    return lambda: torch.mm(a, b, out=c)


def rms_norm(dtype, rows, width):
    x, gamma = random(dtype, rows, width), random(dtype, width)
    return lambda: torch.nn.functional.rms_norm(x, (width,), gamma, 1e-5)


def softmax(dtype, rows, width):
    x, y = random(dtype, rows, width), torch.empty(rows, width, dtype=dtype)
    return lambda: torch.softmax(x, -1, out=y)


def silu_mul(dtype, rows, width):
    gate, up = random(dtype, rows, width), random(dtype, rows, width)
    return lambda: torch.nn.functional.silu(gate) * up


def add(dtype, rows, width):
    a, b, y = random(dtype, rows, width), random(dtype, rows, width), torch.empty(rows, width, dtype=dtype)
    return lambda: torch.add(a, b, out=y)


def paged_attention(dtype, queries, keys, q_heads, kv_heads, dim):
    """Without pages: the peer reads keys and values where they lie together. F16 caches are given as the dtype of q."""
    q = random(dtype, 1, q_heads, queries, dim)
    k, v = random(dtype, 1, kv_heads, keys, dim), random(dtype, 1, kv_heads, keys, dim)
    causal = queries > 1
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


CASES = {"matmul": matmul, "rms_norm": rms_norm, "softmax": softmax, "silu_mul": silu_mul, "add": add, "paged_attention": paged_attention}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    limit = float(sys.argv[2])
    for name in sys.argv[3:]:
        op, dtype, extents = name.split()[:3]
        if op not in CASES or dtype not in DTYPES:
            continue
        words = {"plain": True} if name.endswith(" plain") else {}
        call = CASES[op](DTYPES[dtype], *(int(n) for n in extents.split("x")), **words)
        times = []
        with torch.inference_mode():
            call()
            begin = time.perf_counter()
            call()
            repeat = max(1, min(1000, int(20e-6 / max(time.perf_counter() - begin, 1e-9))))
            start = time.perf_counter()
            while len(times) < 5 or time.perf_counter() - start < limit:
                begin = time.perf_counter()
                for _ in range(repeat):
                    call()
                times.append((time.perf_counter() - begin) / repeat)
        times.sort()
        print(json.dumps({"name": name, "us": times[len(times) // 2] * 1e6, "best_us": times[0] * 1e6}), flush=True)


main()
