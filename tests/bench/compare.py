#!/usr/bin/env python3
# tests/bench/compare.py - lists what became slower or faster between two files of measure_cpu.py.
# SPDX-License-Identifier: Apache-2.0
"""usage: compare.py OLD.json NEW.json [percent = 10]    one line for each change above the given percentage"""

import json
import sys


def speeds(path):
    with open(path) as file:
        data = json.load(file)
    found = {f'{x["name"]}, {x["threads"]} threads': 1e6 / x["us"] for x in data.get("operators", [])}
    for x in data.get("models", []):
        for key in ("prompt_per_s", "generate_per_s"):
            found[f'{x["name"]} {key}'] = x[key]
    return found


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    old, new = speeds(sys.argv[1]), speeds(sys.argv[2])
    limit = 1 + float(sys.argv[3] if len(sys.argv) > 3 else 10) / 100
    for name in sorted(old.keys() & new.keys(), key=lambda n: new[n] / old[n]):
        ratio = new[name] / old[name]
        if ratio > limit or ratio < 1 / limit:
            print(f"{ratio:6.2f}  {name}")
    for name in sorted(old.keys() ^ new.keys()):
        print(f"only in {'the old' if name in old else 'the new'} file: {name}")
    return 0


sys.exit(main())
