# tests/bindings/python/vectors.py - runs the shared vectors through the Python package.
# SPDX-License-Identifier: Apache-2.0
"""usage: vectors.py FOLDER [--dump]

--dump prints a line for each output: operator, case, slot, its bytes; the same in every language."""

import json
import pathlib
import sys

import ruda


def tensor(ctx, operand):
    dtype = operand["dtype"]
    made = ctx.tensor(operand["data"], "f64").reshape(operand["shape"])
    return made.cast(dtype)


def check(name, got, operand):
    if list(got.shape) != operand["shape"] or got.dtype.name != operand["dtype"]:
        return [f"{name}: {got} instead of {operand['dtype']} {operand['shape']}"]
    values = got.cast("f64").reshape(-1).tolist()
    return [
        f"{name}[{i}]: {value!r}, expected {want!r}"
        for i, (value, want) in enumerate(zip(values, operand["data"]))
        if not abs(value - want) <= operand["absolute"] + operand["relative"] * abs(want)
    ]


def run(ctx, op, case, dump):
    label = f"{op} {case['name']}"
    inputs = {slot: tensor(ctx, operand) for slot, operand in case["inputs"].items()}
    wanted = case.get("outputs", {}).items()
    outputs = {slot: ruda.TensorDesc(operand["shape"], operand["dtype"]) for slot, operand in wanted}
    build = getattr(ruda.plans, op)
    if "fails" in case:
        try:
            build(ctx, **inputs, **case["parameters"])
        except ruda.Error as error:
            if error.name == case["fails"]["status"] and case["fails"]["text"] in error.message:
                return []
            return [f"{label}: {error}, expected {case['fails']}"]
        return [f"{label}: nothing failed, expected {case['fails']}"]
    plan = build(ctx, **inputs, **outputs, **case["parameters"])
    made = {slot: ctx.empty(desc.shape, desc.dtype) for slot, desc in outputs.items()}
    plan(**inputs, **made)
    faults = []
    for slot, operand in case["outputs"].items():
        faults += check(f"{label} {slot}", made[slot], operand)
        if dump:
            print(f"{op}|{case['name']}|{slot}|{made[slot].tobytes().hex()}")
    return faults


def main():
    dump, cases, faults = "--dump" in sys.argv, 0, []
    with ruda.Context("cpu") as ctx:
        for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
            file = json.loads(path.read_text(encoding="utf-8"))
            for case in file["cases"]:
                cases += 1
                faults += run(ctx, file["op"], case, dump)
    print("\n".join(faults) or f"{cases} cases", file=sys.stderr)
    sys.exit(bool(faults) or cases == 0)


if __name__ == "__main__":
    main()
