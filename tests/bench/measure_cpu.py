#!/usr/bin/env python3
# tests/bench/measure_cpu.py - measures models and operators on the CPU beside other libraries, into one JSON file.
# SPDX-License-Identifier: Apache-2.0
"""usage: measure_cpu.py --build DIR --out FILE --machine WORDS --day DAY [--models NAME=PATH...] [--llama-bench PATH]
                      [--torch PYTHON] [--openblas PATH] [--onednn PATH] [--rounds 2] [--seconds 0.2]
                      [--part models|operators|products] [--prefix COMMAND...]

PATH is a shared library. `products` are the dense products, beside all three, as medians over the rounds; `operators` all others. Otherwise
every case runs here and at the peer in turn, `rounds` times; the better of the rounds counts for both. A second call with
another --part adds to the file. --prefix stands before each command, such as nice."""

import argparse
import json
import pathlib
import resource
import statistics
import subprocess


def output(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def ours(args, path):
    return json.loads(output([*args.prefix, f"{args.build}/tests/bench/bench_language_model", path, "512", "128", "2"]))


def theirs(args, path):
    text = output([*args.prefix, args.llama_bench, "-m", path, "-p", "512", "-n", "128", "-t", "2", "-r", "2", "-o", "json"])
    rows = json.loads(text)
    best = {key: max(max(r["samples_ts"]) for r in rows if r[key]) for key in ("n_prompt", "n_gen")}
    return {"prompt_per_s": best["n_prompt"], "generate_per_s": best["n_gen"]}


def peak_mb(args, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    output([f"{args.build}/tests/bench/bench_language_model", path, "8", "32", "1"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return after // 1024 if after > before else None


def models(args):
    """Peaks first: what a child took at most is kept over all children."""
    rows = []
    named = [m.split("=", 1) for m in args.models]
    peaks = {name: peak_mb(args, path) for name, path in sorted(named, key=lambda m: pathlib.Path(m[1]).stat().st_size)}
    for name, path in named:
        row = {"name": name, "file_mb": round(pathlib.Path(path).stat().st_size / 1e6, 1), "peak_mb": peaks[name]}
        for _ in range(args.rounds):
            for key, value in ours(args, path).items():
                if key.endswith("_per_s"):
                    row[key] = max(row.get(key, 0), value)
                elif key == "layer_parameters":
                    row[key] = value
                elif key == "first_token_s":
                    row[key] = min(row.get(key, value), value)
            if args.llama_bench:
                for key, value in theirs(args, path).items():
                    row["llama_" + key] = max(row.get("llama_" + key, 0), round(value, 1))
        rows.append(row)
        print(row, flush=True)
    return rows


def peers(args):
    """Commands that answer THREADS SECONDS NAME... with a line a case."""
    found = {}
    if args.torch:
        found["torch"] = [args.torch, str(pathlib.Path(__file__).with_name("peer_torch_cpu.py"))]
    for name in ("openblas", "onednn"):
        if getattr(args, name):
            found[name] = [f"{args.build}/tests/bench/peer_gemm", getattr(args, name)]
    return found


def products(args):
    rows = {}
    for threads in (2, 1):
        for _ in range(args.rounds):
            text = output([*args.prefix, f"{args.build}/tests/bench/bench_operators", str(threads), "matmul ", str(args.seconds)])
            lines = [json.loads(line) for line in text.splitlines()]
            for x in lines:
                row = rows.setdefault((x["name"], threads), {"name": x["name"], "threads": threads, "rounds": {}})
                row["rounds"].setdefault("us", []).append(x["us"])
            for peer, command in peers(args).items():
                text = output([*args.prefix, *command, str(threads), str(args.seconds), *(x["name"] for x in lines)])
                for x in map(json.loads, text.splitlines()):
                    rows[x["name"], threads]["rounds"].setdefault(peer, []).append(x["us"])
    for row in rows.values():
        rounds = row.pop("rounds")
        ours = rounds.pop("us")
        row["us"] = round(statistics.median(ours), 1)
        for peer, times in rounds.items():
            row[peer] = round(statistics.median(t / u for t, u in zip(times, ours)), 2)
    return list(rows.values())


def operators(args):
    rows = {}
    for _ in range(args.rounds):
        text = output([*args.prefix, f"{args.build}/tests/bench/bench_operators", "2", "", str(args.seconds)])
        lines = [x for x in map(json.loads, text.splitlines()) if not x["name"].startswith("matmul ")]
        peer = ""
        if args.torch:
            peer = output([*args.prefix, *peers(args)["torch"], "2", str(args.seconds), *(x["name"] for x in lines)])
        theirs = {x["name"]: x["us"] for x in map(json.loads, peer.splitlines())}
        for x in lines:
            row = rows.setdefault(x["name"], {"name": x["name"], "threads": 2, "kernel": x["kernel"], "us": x["us"], "gflops": x["gflops"]})
            if x["us"] <= row["us"]:
                row.update(us=x["us"], gflops=x["gflops"], gbps=x["gbps"])
            if x["name"] in theirs:
                row["torch_us"] = min(row.get("torch_us", theirs[x["name"]]), theirs[x["name"]])
    return list(rows.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--build", "--out", "--machine", "--day", "--llama-bench", "--torch", "--openblas", "--onednn", "--part"):
        parser.add_argument(name)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--prefix", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2)
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    result = json.loads(out.read_text()) if out.exists() else {}
    result.update(machine=args.machine, day=args.day)
    out.parent.mkdir(parents=True, exist_ok=True)
    for part, measure in (("models", models), ("operators", operators), ("products", products)):
        if args.part not in (None, part):
            continue
        if part == "operators":
            result["ceilings"] = [json.loads(output([*args.prefix, f"{args.build}/tests/bench/ceilings", t])) for t in ("1", "2")]
        result[part] = measure(args)
        out.write_text(json.dumps(result, indent=1) + "\n")  # after each part, so that a later one cannot lose it


main()
