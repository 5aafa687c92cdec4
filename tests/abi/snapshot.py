# tests/abi/snapshot.py - constants, layouts and signatures are those of golden.txt; --write renews it.
# SPDX-License-Identifier: Apache-2.0
"""usage: snapshot.py GOLDEN PROGRAM [--write]

Additions are shown but pass: a new constant, a field at the end of a growing struct, a new function. Everything else
fails. golden.txt is renewed by tests/abi/update.sh in the commit that changes the API."""

import pathlib
import re
import subprocess
import sys

golden, program = pathlib.Path(sys.argv[1]), sys.argv[2]
now = subprocess.run([program], capture_output=True, text=True, check=True).stdout
if "--write" in sys.argv:
    golden.write_text(now)
    sys.exit(0)


def parse(text):
    """{key: value}: a constant's value, a struct's facts, a field's place, a function's types."""
    facts, struct = {}, ""
    for line in text.splitlines():
        if match := re.fullmatch(r"  (\w+) at (\d+) size (\d+)", line):
            facts[f"{struct}.{match[1]}"] = (int(match[2]), int(match[3]))
        elif match := re.fullmatch(r"(\w+) size (\d+) align (\d+)", line):
            struct = match[1]
            facts[struct] = (int(match[2]), int(match[3]))
        elif match := re.fullmatch(r"(\w+) = (-?\d+)", line):
            facts[match[1]] = int(match[2])
        else:
            facts[re.search(r"(\w+)\(", line)[1]] = line
    return facts


old, new = parse(golden.read_text()), parse(now)
problems, additions = [], []
FROZEN = {"ruda_binding", "ruda_ext"}
for key, value in old.items():
    if key not in new:
        problems.append(f"{key} is gone, it was {value}")
    elif new[key] != value:
        # A struct may become larger, at its end; its alignment and its fields stay.
        grown = (
            isinstance(value, tuple)
            and "." not in key
            and new[key][0] > value[0]
            and new[key][1] == value[1]
        )
        if grown and key not in FROZEN and f"{key}.struct_size" in old:
            additions.append(f"{key} grew from {value[0]} to {new[key][0]} bytes")
        else:
            problems.append(f"{key} is {new[key]}, it was {value}")
for key in new.keys() - old.keys():
    struct = key.split(".")[0]
    if "." in key and struct in old and new[key][0] < old[struct][0]:
        problems.append(
            f"{key} is new at byte {new[key][0]}, inside the {old[struct][0]} bytes that {struct} had"
        )
    else:
        additions.append(f"{key} is new")
for line in sorted(additions):
    print(f"added: {line} (run tests/abi/update.sh)")
print("\n".join(problems) or f"{len(old)} facts are as they were")
sys.exit(1 if problems else 0)
