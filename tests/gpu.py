# tests/gpu.py - runs one section of tests/gpu.sh: finds the test programs, runs them, writes JSON and a table.
# SPDX-License-Identifier: Apache-2.0
"""usage: gpu.py targets BUILD FAMILIES              ninja targets of the programs
gpu.py stages OUT STAGE=STATE..                    writes OUT/stages.json: what was run and what was not
gpu.py suites|sanitize|bench|chat BUILD FAMILIES --out DIR --level N --minutes N [--jobs N] [--peers]
                                                    [--model FILE]

A stage writes OUT/gpu-STAGE.json as it goes, with "complete": false until it is through."""

import argparse
import array
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import gpu_sanitize
from gpu_run import run, tail

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped", re.M)
SKIPPED, LEFT_OUT = 77, 78  # no GPU; this machine lacks what the stage needs
# What tests/cuda/test_cuda_runtime reads, below the build folder.
FIXTURES = {
    "RUDA_TINY_MODEL": "tests/infer/tiny.gguf",
    "RUDA_FAKE_LIBRARY": "tests/cuda/libfake_nvidia.so",
    "RUDA_NEEDY_LIBRARY": "tests/cuda/libneedy_nvidia.so",
}
# What the chat section runs.
TRACE, SPEED, CHAT = "tests/infer/infer_trace", "tests/bench/bench_language_model", "examples/ruda-chat"


def programs(families):
    """(family, operator, path below the build folder) of every test program that can run on a GPU."""
    wanted = [name for name in families.split(",") if name]
    found = []
    for source in sorted((ROOT / "tests" / "ops").rglob("*.cpp")):
        family = source.parent.name
        if not wanted or family in wanted:
            found.append((family, source.stem, f"tests/test_{source.stem}"))
    for source in sorted((ROOT / "tests" / "cuda").glob("*.cpp")):
        if source.stem.startswith("gpu_") and (not wanted or "cuda" in wanted):
            found.append(("cuda", source.stem, f"tests/cuda/test_{source.stem}"))
    if not wanted or "cuda" in wanted:
        found.append(("cuda", "runtime", "tests/cuda/test_cuda_runtime"))  # against a fake driver
    return found


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    facts = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    try:
        name, driver, memory = subprocess.check_output(query, text=True).strip().splitlines()[0].split(", ")
        facts |= {"gpu": name, "driver": driver, "memory": memory}
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        return None
    git = ["git", "-C", ROOT]
    try:
        commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True, stderr=subprocess.DEVNULL)
        changed = subprocess.check_output([*git, "status", "--porcelain"], text=True, stderr=subprocess.DEVNULL)
        facts["commit"] = commit.strip() + (" and changes" if changed.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        pass
    # A copy of the tree without its history is told what it is.
    if os.environ.get("RUDA_COMMIT"):
        facts["commit"] = os.environ["RUDA_COMMIT"]
    if "commit" not in facts:
        facts["commit"] = "unknown"
        print("this copy has no history: set RUDA_COMMIT to the commit that it is", flush=True)
    return facts


def cases(output):
    total = [0, 0, 0]
    for match in COUNTS.finditer(output):
        total = [have + int(more) for have, more in zip(total, match.groups())]
    return total


def suites(options, deadline):
    rows = []

    def one(entry):
        family, op, program = entry
        path = pathlib.Path(options.build) / program
        if not path.exists():
            return {"family": family, "op": op, "result": "missing", "output": f"{path} was not built"}
        command = [path, "--backend", "cuda", "--level", str(options.level)]
        code, output, seconds = run(command, min(240, deadline - time.monotonic()))
        passed, failed, skipped = cases(output)
        result = (
            "timeout"
            if code is None
            else "skipped" if code == SKIPPED else "passed" if code == 0 else "failed"
        )
        row = {"family": family, "op": op, "result": result, "seconds": round(seconds, 1)}
        row |= {"passed": passed, "failed": failed, "skipped": skipped}
        if result != "passed":
            row["output"] = tail(output)
        return row

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for row in pool.map(one, programs(options.families)):
            rows.append(row)
            options.keep(rows)
            counts = f'{row.get("passed", 0)} passed, {row.get("failed", 0)} failed, {row.get("skipped", 0)} skipped'
            print(
                f'  {row["result"]:8} {row["family"]}/{row["op"]:24} {counts} ({row.get("seconds", 0)} s)',
                flush=True,
            )
    for row in rows:
        if row["result"] != "passed":
            print(f'---- {row["family"]}/{row["op"]}: {row["result"]}\n{row.get("output", "")}')
    bad = [row for row in rows if row["result"] not in ("passed", "skipped")]
    total = [sum(row.get(key, 0) for row in rows) for key in ("passed", "failed", "skipped")]
    print(f"suites: {total[0]} passed, {total[1]} failed, {total[2]} skipped in {len(rows)} programs")
    return rows, not bad and total[0] > 0


def sanitize(options, deadline):
    return gpu_sanitize.sanitize(options, deadline, programs(options.families))


def bench(options, deadline):
    out = pathlib.Path(options.out) / "bench-rows.jsonl"
    out.unlink(missing_ok=True)
    failed, left_out, rows = [], [], []
    # The host's costs take few seconds and come first.
    for family, op, program in sorted(programs(options.families), key=lambda entry: entry[1] != "gpu_host"):
        path = pathlib.Path(options.build) / program
        if not path.exists():
            continue
        if deadline - time.monotonic() < 10:
            left_out.append(f"{family}/{op}")
            continue
        command = [path, "--bench", "--backend", "cuda", "--json", out, "--seed", "1"]
        code, output, _ = run(command, min(200, deadline - time.monotonic()))
        if code not in (0, SKIPPED):
            failed.append((op, tail(output)))
            print(f"---- bench {family}/{op} ended with {code}\n{tail(output)}")
        rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        options.keep({"rows": rows, "ceilings": None})
    if left_out:
        print(f'---- bench: no time was left for {", ".join(left_out)}')
    peers = {}
    script = ROOT / "tests" / "bench" / "peer_torch.py"
    if options.peers and script.exists() and deadline - time.monotonic() > 30:
        code, output, _ = run(
            [sys.executable, script, *(row["name"] for row in rows)], deadline - time.monotonic()
        )
        for line in output.splitlines():
            if line.startswith("{"):
                peer = json.loads(line)
                peers[peer["name"]] = peer
        if code != 0:
            print(f"---- peers ended with {code}\n{tail(output, 8)}")
    elif options.peers:
        print("---- bench: no time was left for the peers" if script.exists() else f"---- bench: {script} is missing")
    out.unlink(missing_ok=True)
    print(
        f'{"case":44} {"kernel":30} {"us":>10} {"GB/s":>8} {"TFLOP/s":>8} {"host us":>8} {"peer us":>10} {"peer/ours":>9}'
    )
    for row in rows:
        seconds = row["median_s"]
        peer = peers.get(row["name"])
        if peer:
            row["peer"] = peer
        speed = f'{row["bytes"] / seconds / 1e9:8.0f} {row["flops"] / seconds / 1e12:8.2f}'
        beside = f'{peer["median_s"] * 1e6:10.2f} {peer["median_s"] / seconds:9.3f}' if peer else ""
        host = f'{row.get("host_s", 0) * 1e6:8.2f}'
        print(f'{row["name"]:44} {row["kernel"]:30} {seconds * 1e6:10.2f} {speed} {host} {beside}')
    ceilings = peers.get("ceilings")
    if ceilings:
        print(
            "ceilings of this run: "
            + ", ".join(f"{key} {value}" for key, value in ceilings.items() if key != "name")
        )
    return {"rows": rows, "ceilings": ceilings, "left_out": left_out}, not failed and not left_out and bool(rows)


def floats(path, width):
    """The rows of a file of F32 values."""
    values = array.array("f", path.read_bytes())
    return [values[at : at + width] for at in range(0, len(values), width)]


def compare_tokens(options, model, prompt, count, seconds):
    """Greedy tokens of both backends. They may part only where the CPU's two best logits are closer than twice the
    largest difference of the row; what follows such a place is not compared."""
    tokens, logits = {}, {}
    for backend in ("cpu", "cuda"):
        path = pathlib.Path(options.out) / f"logits-{backend}.f32"
        command = [pathlib.Path(options.build) / TRACE, model, backend, str(count), path, *map(str, prompt)]
        code, output, _ = run(command, seconds)
        if code != 0:
            return {"result": "failed", "output": f"{backend} ended with {code}\n{tail(output)}"}
        tokens[backend] = [int(line) for line in output.split()]
        rows = len(tokens[backend])
        logits[backend] = floats(path, path.stat().st_size // 4 // rows)
        path.unlink()
    row = {"prompt_tokens": len(prompt), "result": "passed"}
    worst = 0.0
    for i, (cpu, cuda) in enumerate(zip(tokens["cpu"], tokens["cuda"])):
        a, b = logits["cpu"][i], logits["cuda"][i]
        off = max(abs(x - y) for x, y in zip(a, b))
        spread = max(a) - min(a)
        worst = max(worst, off / spread if spread else 0)
        if off != off or cpu != cuda:
            gap = a[cpu] - a[cuda]
            row |= {"parted_at": i, "gap": gap, "difference": off}
            if not gap <= 2 * off or off > 0.05 * spread:
                row |= {"result": "failed", "output": f"token {i}: cpu {cpu}, cuda {cuda}, {gap} apart, rows differ by {off}"}
            break
    else:
        row["compared"] = len(tokens["cpu"])
    if worst > 0.05:
        row |= {"result": "failed", "output": f"logits differ by {worst:.3f} of their range"}
    return row | {"largest_difference": worst}


def chat(options, deadline):
    build, model = pathlib.Path(options.build), options.model
    missing = [name for name in (TRACE, SPEED, CHAT) if not (build / name).exists()]
    if missing:
        print(f"chat: skipped, this build has no {', '.join(missing)}")
        return [{"result": "skipped", "output": f"not built: {missing}"}], True
    left = lambda: max(deadline - time.monotonic(), 1)
    if not model:
        model = build / "smollm2-shape.gguf"
        script = ROOT / "tests" / "data" / "tiny_model.py"
        if not model.exists():
            run([sys.executable, script, model, "--shape", "smollm2-135m", "--tied"], left())
    rows = []
    keep = lambda: options.keep({"model": pathlib.Path(model).name, "rows": rows})
    for prompt in ([1, 4093, 198], list(range(300, 340)), [(i * 7919) % 40000 + 10 for i in range(200)]):
        rows.append(compare_tokens(options, model, prompt, 64, left()))
        print(f"  greedy tokens, cpu beside cuda: {rows[-1]}", flush=True)
        keep()
    for prompt, new, after in ((512, 256, "beginning"), (512, 256, "prompt"), (2048, 256, "prompt"), (16, 1024, "beginning")):
        command = [build / SPEED, model, str(prompt), str(new), "3", "cuda", after]
        code, output, _ = run(command, min(120, left()))
        print(f"  {output.strip()}", flush=True)
        try:
            rows.append(json.loads(output.strip().splitlines()[-1]) | {"result": "passed" if code == 0 else "failed"})
        except (ValueError, IndexError):
            rows.append({"result": "failed", "output": f"speed ended with {code}: {tail(output)}"})
        keep()
    question = ["--prompt", "What is the capital of France?", "--max-tokens", "64", "--backend", "cuda"]
    code, output, _ = run([build / CHAT, "--model", model, *question], left())
    rows.append({"result": "passed" if code == 0 else "failed", "answer": tail(output)})
    print(f"  ruda-chat: {tail(output)}", flush=True)
    for row in rows:
        if row["result"] != "passed":
            print(f'---- chat: {row.get("output", row)}')
    return {"model": pathlib.Path(model).name, "rows": rows}, all(row["result"] == "passed" for row in rows)


def write_json(path, record):
    """Whole or not at all: a run that is stopped leaves what it had."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, default=sorted) + "\n")
    part.replace(path)


def stages(out, given):
    states = dict(entry.split("=", 1) for entry in given)
    path = pathlib.Path(out) / "stages.json"
    # What an earlier call ran stays said.
    before = json.loads(path.read_text())["stages"] if path.exists() else {}
    for name, state in states.items():
        if state.endswith("not asked for"):
            states[name] = before.get(name, state)
    write_json(path, {"machine": machine(), "stages": states})
    return 0


def main():
    if sys.argv[1] == "stages":
        return stages(sys.argv[2], sys.argv[3:])
    if sys.argv[1] == "targets":
        families, wanted = sys.argv[3:5]
        chosen = programs(families)
        needed = [program for _, _, program in chosen]
        if "chat" in wanted.split(","):
            needed += [TRACE, SPEED, CHAT]
        if any(family == "cuda" for family, _, _ in chosen):
            needed += FIXTURES.values()
        print("\n".join(needed))
        return 0 if chosen else 1
    parser = argparse.ArgumentParser()
    parser.add_argument("section", choices=["suites", "sanitize", "bench", "chat"])
    parser.add_argument("build")
    parser.add_argument("families")
    parser.add_argument("--out", required=True)
    parser.add_argument("--level", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=7.5)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--model")
    options = parser.parse_args()
    facts = machine()
    if not facts:
        print(f"{options.section}: skipped, nvidia-smi sees no GPU on this machine")
        return SKIPPED
    print(f'==== {options.section} on {facts["gpu"]}, driver {facts["driver"]}, commit {facts["commit"]}', flush=True)
    for variable, path in FIXTURES.items():
        os.environ[variable] = str(pathlib.Path(options.build).resolve() / path)
    deadline = time.monotonic() + options.minutes * 60
    started = time.monotonic()
    path = pathlib.Path(options.out) / f"gpu-{options.section}.json"

    def keep(result, good=False, complete=False):
        record = {"section": options.section, "machine": facts, "level": options.level, "complete": complete}
        record |= {"good": good, "result": result, "seconds": round(time.monotonic() - started, 1)}
        write_json(path, record)
        return record

    options.keep = keep
    empty = {"bench": {"rows": [], "ceilings": None}, "chat": {"model": "", "rows": []}}
    keep(empty.get(options.section, []))
    sections = {"suites": suites, "sanitize": sanitize, "bench": bench, "chat": chat}
    result, good = sections[options.section](options, deadline)
    report = pathlib.Path(options.build) / "tests/cuda/test_gpu_runtime"
    if options.section == "suites" and report.exists():
        # Which of NVIDIA's libraries this machine has, and where.
        _, output, _ = run([report, "--backend", "cuda", "--filter", "report"], 60)
        facts["report"] = [line for line in output.splitlines() if line.startswith(("CUDA:", "  "))]
        print("\n".join(facts["report"]))
    record = keep(result, good, True)
    print(
        f'==== {options.section}: {"good" if good else "BAD"} in {record["seconds"]} s, {path}', flush=True
    )
    if isinstance(result, list) and result and all(row["result"] == "skipped" for row in result):
        return LEFT_OUT
    return 0 if good else 1


sys.exit(main())
