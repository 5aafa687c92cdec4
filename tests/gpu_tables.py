# tests/gpu_tables.py - turns the JSON of tests/gpu.sh into a page of tables.
# SPDX-License-Identifier: Apache-2.0
"""usage: gpu_tables.py RESULTS_DIR >docs/performance/NAME.md"""

import json
import pathlib
import sys


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def operators(rows):
    cells = []
    for r in rows:
        seconds, peer = r["median_s"], r.get("peer")
        speed = f'{r["flops"] / seconds / 1e12:.1f} TFLOP/s' if r["flops"] > 50 * r["bytes"] else ""
        cells.append(
            [r["name"], f'`{r["kernel"]}`', f"{seconds * 1e6:.2f}", speed or f'{r["bytes"] / seconds / 1e9:.0f} GB/s']
            + ([f'{peer["median_s"] * 1e6:.2f}', f'{peer["median_s"] / seconds:.2f}'] if peer else ["", ""])
        )
    table(["case", "kernel", "us", "speed", "peer us", "peer / ours"], cells)


def main():
    folder = pathlib.Path(sys.argv[1])
    parts = {path.stem[4:]: json.loads(path.read_text()) for path in sorted(folder.glob("gpu-*.json"))}
    if not parts:
        sys.exit(f"{folder} holds no gpu-*.json")
    facts = next(iter(parts.values()))["machine"]
    print(f'# {facts["gpu"]}\n\nMade by `tests/gpu.sh` and `tests/gpu_tables.py`.\n')
    table(
        ["section", "driver", "date", "commit", "of another commit"],
        [
            [name, m["driver"], m["date"], m.get("commit", "unknown")[:12], m.get("others", "")]
            for name, m in ((name, part["machine"]) for name, part in parts.items())
        ],
    )
    stages = folder / "stages.json"
    states = json.loads(stages.read_text())["stages"] if stages.exists() else {}
    for name in ("sanitize", "suites", "chat", "bench"):
        if name not in parts:
            print(f'**{name}**: {states.get(name, "not run")}.\n')
        elif not parts[name].get("complete", True):
            print(f"**{name}**: stopped before its end; what it had by then follows.\n")
    if "chat" in parts and isinstance(parts["chat"]["result"], list):
        print("**chat**: skipped.\n")
    elif "chat" in parts:
        result = parts["chat"]["result"]
        print(f'## Generation, {result["model"]}\n')
        rates = [row for row in result["rows"] if "generate_per_s" in row]
        table(
            ["prompt tokens", "prompt tokens/s", "tokens before", "new tokens", "new tokens/s"],
            [
                [f'{r[key]:.0f}' for key in ("prompt_tokens", "prompt_per_s", "history_tokens", "new_tokens", "generate_per_s")]
                for r in rates
            ],
        )
    if "bench" in parts:
        print("## Operators\n\nMedians of event timings, the L2 cache flushed before each; `peer` is PyTorch in the same run.\n")
        hosts = [r for r in parts["bench"]["result"]["rows"] if r["name"].startswith("host ")]
        rows = [r for r in parts["bench"]["result"]["rows"] if r not in hosts]
        operators(rows)
        if hosts:
            print("## Host\n\nTime of the calling thread in batches that leave room in the launch queue; min and median of 300.\n")
            table(
                ["case", "min ns", "median ns", "above a bare launch, min", "median", "PyTorch ns"],
                [
                    [r["name"][5:], f'{r["min_s"] * 1e9:.0f}', f'{r["median_s"] * 1e9:.0f}']
                    + [f"{r[key] * 1e9:.0f}" if r.get(key) else "" for key in ("above_bare_min_s", "above_bare_median_s")]
                    + [f'{r["peer"]["median_s"] * 1e9:.0f}' if r.get("peer") else ""]
                    for r in hosts
                ],
            )
    for name in ("suites", "sanitize"):
        if name not in parts:
            continue
        counts = {}
        for row in parts[name]["result"]:
            counts[row["result"]] = counts.get(row["result"], 0) + 1
        print(f"## {name}\n\n" + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())) + ".\n")
        checks = [row for row in parts[name]["result"] if "of_cases" in row]
        if checks:
            table(
                ["check", "suite", "result", "kernels", "kernels and codes", "cases"],
                [
                    [
                        row["check"],
                        f'{row["family"]}/{row["op"]}',
                        row["result"],
                        f'{len(row["kernels"])} of {len(row["kernels"]) + len(row["kernels_missing"])}',
                        f'{row["codes"]} of {row["of_codes"]}',
                        f'{row["cases"]} of {row["of_cases"]}',
                    ]
                    for row in checks
                ],
            )


main()
