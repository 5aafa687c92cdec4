# docs/ops/tables.py - writes the tables of functions into the operators' pages from the rows that the kernels are made of.
# SPDX-License-Identifier: Apache-2.0
"""usage: tables.py          rewrite the tables
tables.py --check  fail when a page's table is not what the rows say"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = {
    "binary": "docs/ops/elementwise/binary.md",
    "unary": "docs/ops/elementwise/unary.md",
    "reduce": "docs/ops/reduce/reduce.md",
}
KINDS = {"R": "floats", "I": "integers", "B": "BOOL"}


def rows(table):
    """The arguments of each row, split at the commas outside brackets and strings."""
    text = (ROOT / f"src/core/{table}_rows.inc").read_text()
    text = re.sub(r"^//.*$", "", text, flags=re.M)
    for body in re.findall(rf"RUDA_{table.upper()}_ROW\((.*?)\)\n(?=RUDA|\s*$)", text, re.S):
        fields, depth, quoted, start = [], 0, False, 0
        for i, c in enumerate(body):
            if c == '"':
                quoted = not quoted
            elif not quoted and c in "()":
                depth += 1 if c == "(" else -1
            elif not quoted and depth == 0 and c == ",":
                fields.append(body[start:i].strip())
                start = i + 1
        yield fields + [body[start:].strip()]


def bound(ulp, floor="0"):
    text = {"0": "exact", "0.5": "correctly rounded"}.get(ulp, f"{ulp} ulp" if ulp[0].isdigit() else ulp)
    return text if floor == "0" else f"{text}, or {floor}"


def table_of(table):
    lines = [f"| Code | Formula | Takes | Gives | F32 error |", "|---|---|---|---|---|"]
    for name, _, operands, result, formula, *rest in rows(table):
        bounds = {"binary": rest[2:3], "unary": rest[2:4], "reduce": [rest[0].strip('"')]}[table]
        formula = formula.strip('"').replace("|", "\\|")
        takes = ", ".join(KINDS[kind] for kind in operands)
        gives = {"S": "the same", "B": "BOOL", "X": "the index dtype"}[result]
        lines.append(
            f"| `RUDA_{table.upper()}_{name}` | {formula} | {takes} | {gives} | {bound(*bounds)} |"
        )
    return "\n".join(lines)


stale = []
for table, page in PAGES.items():
    path = ROOT / page
    if not path.exists():
        continue
    old = path.read_text()
    new = re.sub(
        r"(<!-- rows -->\n).*?(<!-- end of rows -->)",
        lambda m: m[1] + table_of(table) + "\n" + m[2],
        old,
        flags=re.S,
    )
    if new != old:
        stale.append(page)
        if "--check" not in sys.argv:
            path.write_text(new)
if "--check" in sys.argv and stale:
    sys.exit(f"{', '.join(stale)}: not what the rows say; run docs/ops/tables.py")
