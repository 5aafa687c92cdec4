#!/usr/bin/env python3
# tests/bench/page.py - turns a file of measure_cpu.py into a page of tables.
# SPDX-License-Identifier: Apache-2.0
"""usage: page.py docs/performance/cpu.json > docs/performance/cpu.md"""

import json
import sys


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if theirs else ""


def models(data):
    rows = []
    for x in data["models"]:
        row = [x["name"], x["file_mb"]]
        for key in ("prompt_per_s", "generate_per_s"):
            theirs = x.get("llama_" + key)
            row += [f"{x[key]:.0f}", f"{theirs:.0f}" if theirs else "", ratio(x[key], theirs)]
        rows.append([*row, f'{x["first_token_s"]:.3f}', x["peak_mb"]])
    head = ["File", "MB", "prompt", "llama.cpp", "ratio", "generation", "llama.cpp", "ratio", "first token, s", "peak MB"]
    return table(head, rows)


def shares(data):
    top = data["ceilings"][-1]
    rows = []
    for x in data["models"]:
        done, read = 2 * x["layer_parameters"] * x["prompt_per_s"], x["file_mb"] * 1e6 * x["generate_per_s"]
        parts = [done / top["bf16_dot"], done / top["bf16_tiles_median"], read / top["read_model"]]
        rows.append([x["name"], f"{done / 1e9:.0f}", *(f"{100 * p:.0f} %" for p in parts[:2]), f"{read / 1e9:.1f}", f"{100 * parts[2]:.0f} %"])
    head = ["File", "prompt, GFLOP/s", "of BF16 dot products", "of BF16 tiles, median", "generation, GB/s", "of a read of 96 MiB"]
    return table(head, rows)


def operators(data):
    rows = []
    for x in data["operators"]:
        rate = f'{x["gflops"]:.0f} GFLOP/s' if x["gflops"] else f'{x["gbps"]:.1f} GB/s'
        peer = x.get("torch_us")
        beside = [f"{peer:.1f}", ratio(peer, x["us"])] if peer else ["", ""]
        rows.append([x["name"], f'{x["us"]:.1f}', rate, *beside, f'`{x["kernel"]}`'])
    return table(["Case", "us", "rate", "PyTorch us", "ratio", "kernel"], rows)


def products(data):
    if not data.get("products"):
        return ""
    names = {"torch": "PyTorch", "onednn": "oneDNN", "openblas": "OpenBLAS"}
    rows = []
    for x in data["products"]:
        m, n, k = (int(e) for e in x["name"].split()[2].split("x"))
        rows.append([x["name"], x["threads"], x["us"], f'{2e-3 * m * n * k / x["us"]:.0f}', *(f"{x[key]:.2f}" if key in x else "" for key in names)])
    return f"""
## Dense products beside three libraries

The median of the rounds in microseconds, GFLOP/s, and the median of the rounds' ratios: above 1 libruda is faster. B lies as
[n, k], as [k, n] where the name says plain.
{data.get("products_note", "")}

{table(["Case", "threads", "us", "GFLOP/s", *names.values()], rows)}"""


def ceilings(data):
    names = {
        "f32_fma": "F32 FMA, GFLOP/s",
        "bf16_dot": "BF16 dot products, GFLOP/s",
        "bf16_tiles": "BF16 tiles, GFLOP/s, best round",
        "bf16_tiles_median": "BF16 tiles, GFLOP/s, median of the rounds",
        "int8_dot": "INT8 dot products, GOP/s",
        "read": "read of 256 MiB, GB/s",
        "read_model": "read of 96 MiB, GB/s",
        "copy": "copy of 256 MiB, in and out, GB/s",
    }
    rows = [[text, *(f"{c.get(key, 0) / 1e9:.1f}" for c in data["ceilings"])] for key, text in names.items()]
    return table(["What", *(f'{c["threads"]} threads' for c in data["ceilings"])], rows)


def main():
    with open(sys.argv[1]) as file:
        data = json.load(file)
    print(f"""# Performance on the CPU

Made by `tests/bench/page.py` from `cpu.json`, which `tests/bench/measure_cpu.py` wrote. {data["machine"]}, {data["day"]}.
Every case ran here and at the peer in the same minutes, the better of the rounds counts for both; a ratio above 1 means that
libruda is faster. What is slower stays in the table. {data.get("note", "")}

## Ceilings

{ceilings(data)}
## A language model: SmolLM2-135M-Instruct, two threads

Tokens a second for a prompt of 512 tokens of English text and for 128 generated ones after a beginning of ten, with a cancel
token (`bench_language_model FILE`; `llama-bench -p 512 -n 128 -t 2`, which takes random tokens and starts from nothing); the
time from nothing to the first token of a short prompt, and the peak memory of a short chat.

{models(data)}
Against the ceilings above: the products of the layers for the prompt, the bytes of the file for each generated token.

{shares(data)}
## Operators of a decoder

Two threads, the median of the runs that fit into a tenth of a second. Blocks of GGUF have no counterpart in PyTorch. In paged_attention the
extents are queries, keys, query heads, kv heads and head size; PyTorch reads keys and values without pages.

{operators(data)}{products(data)}""", end="")


main()
