# tests/data/vectors/make.py - writes the shared vectors: operands, parameters and results worked out in double.
# SPDX-License-Identifier: Apache-2.0
"""usage: make.py            writes <operator>_*.json beside itself; the same numbers at every run

A file is {"op": name, "cases": [case]}; a case has inputs {slot: operand}, parameters {name: value} and either outputs
{slot: operand with absolute and relative error bound} or fails {status, text}. An operand is {dtype, shape, data}. The
formulas here share nothing with the library; every language runs every case through the plan of the operator.
"""

import itertools
import json
import math
import pathlib
import random
import struct

EPSILON = {"F32": 2.0**-23, "F16": 2.0**-10, "BF16": 2.0**-7}
rng = random.Random(20240607)


def rounded(value, dtype):
    if dtype == "F16":
        return struct.unpack("<e", struct.pack("<e", value))[0]
    single = struct.unpack("<f", struct.pack("<f", value))[0]
    if dtype == "BF16":
        bits = struct.unpack("<I", struct.pack("<f", single))[0]
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    return single


def count(shape):
    return math.prod(shape)


def operand(dtype, shape, data, **more):
    return {"dtype": dtype, "shape": list(shape), "data": list(data), **more}


def normal(dtype, shape, scale=1.0):
    return operand(dtype, shape, [rounded(rng.gauss(0, scale), dtype) for _ in range(count(shape))])


def result(dtype, shape, exact, absolute, relative):
    relative += EPSILON[dtype] / 2 * 1.01 if dtype in EPSILON else 0
    return operand(dtype, shape, exact, absolute=absolute, relative=relative)


def rms_norm():
    cases = []
    for dtype, shape, eps in [
        ("F32", (1, 1), 1e-6),
        ("F32", (3, 17), 1e-5),
        ("F16", (2, 3, 16), 1e-5),
        ("BF16", (2, 65), 1e-6),
        ("F32", (0, 5), 1e-5),
    ]:
        x, gamma, cols = normal(dtype, shape, 2.0), normal("F32", shape[-1:]), shape[-1]
        y = []
        for row in range(0, count(shape), cols):
            scale = 1 / math.sqrt(sum(v * v for v in x["data"][row : row + cols]) / cols + eps)
            y += [x["data"][row + i] * scale * gamma["data"][i] for i in range(cols)]
        bound = EPSILON["F32"] * (cols / 4 + 4)
        cases.append(
            {
                "name": f"{dtype} {list(shape)}",
                "inputs": {"x": x, "gamma": gamma},
                "parameters": {"eps": eps},
                "outputs": {"y": result(dtype, shape, y, 1e-7, bound)},
            }
        )
    x = normal("F32", (2, 8))
    for name, gamma, eps, status, text in [
        ("gamma too short", (7,), 1e-5, "RUDA_E_SHAPE", "gamma dim 0 is 7, expected 8"),
        ("eps of zero", (8,), 0.0, "RUDA_E_ARGUMENT", "eps is 0, expected finite and above 0"),
    ]:
        cases.append(
            {
                "name": name,
                "inputs": {"x": x, "gamma": normal("F32", gamma)},
                "parameters": {"eps": eps},
                "fails": {"status": status, "text": text},
            }
        )
    return cases


def matmul():
    cases = []
    for dtype, batch, m, k, n, flip_a, flip_b, bias in [
        ("F32", (), 1, 1, 1, False, False, False),
        ("F32", (), 5, 7, 3, False, True, True),
        ("F32", (2,), 4, 33, 17, True, False, False),
        ("BF16", (), 3, 64, 16, False, True, False),
        ("F16", (), 2, 31, 5, False, False, True),
        ("F32", (), 3, 0, 2, False, False, True),
    ]:
        a = normal(dtype, batch + ((k, m) if flip_a else (m, k)))
        b = normal(dtype, batch + ((n, k) if flip_b else (k, n)))
        inputs = {"a": a, "b": b}
        if bias:
            inputs["bias"] = normal("F32", (n,))
        c, largest = [], 0.0
        for which in range(count(batch)):
            for i, j in itertools.product(range(m), range(n)):
                terms = []
                for s in range(k):
                    left = a["data"][which * m * k + (s * m + i if flip_a else i * k + s)]
                    right = b["data"][which * k * n + (j * k + s if flip_b else s * n + j)]
                    terms.append(left * right)
                largest = max(largest, sum(map(abs, terms)))
                c.append(math.fsum(terms) + (inputs["bias"]["data"][j] if bias else 0))
        bound = (k + 2) * 2.0**-24 * (largest + 3)
        cases.append(
            {
                "name": f"{dtype} {list(batch)} {m}x{k}x{n}"
                + " at" * flip_a
                + " bt" * flip_b
                + " bias" * bias,
                "inputs": inputs,
                "parameters": {"transpose_a": flip_a, "transpose_b": flip_b},
                "outputs": {"c": result(dtype, batch + (m, n), c, bound, 0)},
            }
        )
    cases.append(
        {
            "name": "inner extents differ",
            "inputs": {"a": normal("F32", (2, 3)), "b": normal("F32", (4, 2))},
            "parameters": {},
            "fails": {"status": "RUDA_E_SHAPE", "text": "expected 3"},
        }
    )
    return cases


def silu_mul():
    cases = []
    for dtype, shape in [("F32", (3, 33)), ("F16", (2, 17)), ("BF16", (1, 64))]:
        gate, up = normal(dtype, shape, 3.0), normal(dtype, shape)
        y = []
        for g, u in zip(gate["data"], up["data"]):
            y.append(rounded(g / (1 + math.exp(-g)), dtype) * u)
        # The gate is rounded before the product; where F32 arithmetic crosses a rounding edge it is one unit off.
        y = result(dtype, shape, y, 1e-6 if dtype == "F32" else 1e-5, EPSILON[dtype] + 8 * EPSILON["F32"])
        cases.append(
            {
                "name": f"{dtype} {list(shape)}",
                "inputs": {"gate": gate, "up": up},
                "parameters": {},
                "outputs": {"y": y},
            }
        )
    return cases


def rope():
    cases = []
    for dtype, heads, dim, interleaved, scaling, extra in [
        ("F32", 2, 8, False, 0, {}),
        ("F32", 1, 6, True, 0, {"rotary_dim": 4}),
        ("BF16", 3, 16, False, 1, {"factor": 4.0}),
    ]:
        positions = [0, 1, 2, 5, 100, 4095]
        x = normal(dtype, (len(positions), heads, dim))
        turning, theta, y, largest = extra.get("rotary_dim", dim), 10000.0, list(x["data"]), 0.0
        for t, position in enumerate(positions):
            for head, pair in itertools.product(range(heads), range(turning // 2)):
                start = (t * heads + head) * dim
                first = start + (2 * pair if interleaved else pair)
                second = first + (1 if interleaved else turning // 2)
                angle = position * theta ** (-2 * pair / turning) / extra.get("factor", 1.0)
                u, v = x["data"][first], x["data"][second]
                largest = max(largest, abs(u) + abs(v))
                y[first] = u * math.cos(angle) - v * math.sin(angle)
                y[second] = u * math.sin(angle) + v * math.cos(angle)
        parameters = {"theta": theta, "pairing": int(interleaved), "scaling": scaling, **extra}
        cases.append(
            {
                "name": f"{dtype} {heads} heads of {dim}"
                + " interleaved" * interleaved
                + " linear" * scaling,
                "inputs": {"x": x, "positions": operand("I32", (len(positions),), positions)},
                "parameters": parameters,
                "outputs": {"y": result(dtype, x["shape"], y, largest * (2.0**-22 + 4095 * 2.0**-51), 0)},
            }
        )
    return cases


def copy():
    cases = []
    x = operand("F32", (7,), [0.0, -0.5, 1.5, 2.5, -300.0, 70000.0, 3.0])
    for dtype, data in [
        ("I8", [0, 0, 1, 2, -128, 127, 3]),
        ("U16", [0, 0, 1, 2, 0, 65535, 3]),
        ("BOOL", [0, 1, 1, 1, 1, 1, 1]),
        ("F64", x["data"]),
        ("BF16", [rounded(v, "BF16") for v in x["data"]]),
    ]:
        cases.append(
            {
                "name": f"F32 to {dtype}",
                "inputs": {"x": x},
                "parameters": {},
                "outputs": {"y": operand(dtype, (7,), data, absolute=0.0, relative=0.0)},
            }
        )
    return cases


def main():
    here = pathlib.Path(__file__).resolve().parent
    for name, cases in {
        "rms_norm": rms_norm(),
        "matmul": matmul(),
        "silu_mul": silu_mul(),
        "rope": rope(),
        "copy": copy(),
    }.items():
        rows = ",\n".join(json.dumps(case) for case in cases)
        (here / f"{name}_cases.json").write_text(
            f'{{"op": "{name}", "cases": [\n{rows}\n]}}\n', encoding="utf-8"
        )


if __name__ == "__main__":
    main()
