# tests/gpu_sanitize.py - the sanitize section of tests/gpu.sh: which cases each check runs, in shards side by side.
# SPDX-License-Identifier: Apache-2.0
#
# Every suite runs once without the sanitizer and lists its cases: test, number, kernel, size, seconds, and what
# tells their code apart (dtypes and what the plan says of its kernel, such as a tile). Of each kernel and code one
# case must pass under memcheck and racecheck; under synccheck and initcheck a few of each kernel. The other small
# cases follow as far as the time allows. What must pass is complete or the section is bad; a process that runs past
# its time counts as failed.
import concurrent.futures
import os
import pathlib
import re
import shutil
import tempfile
import time

from gpu_run import run, tail

SKIPPED = 77
CHECKS = ("memcheck", "racecheck", "synccheck", "initcheck")
# A case is small up to these; others are left to the suites section.
SMALL_BYTES, SMALL_SECONDS = 8 << 20, 2e-3
# Cases in one process, and cases of one kernel in the short checks.
SHARD, FEW = 150, 6
# Fewer where a case takes many seconds.
SLOW = {("racecheck", "sample"): 2, ("racecheck", "top_k"): 4, ("racecheck", "matmul"): 30}
# What a case costs under each check: seconds, and times its own.
COST = {"memcheck": (0.02, 50), "racecheck": (0.03, 500), "synccheck": (0.02, 100), "initcheck": (0.02, 100)}
# Tests that run no cases but call the library themselves, up to this many seconds without the sanitizer.
DIRECT_SECONDS = {"memcheck": 0.5, "racecheck": 0.2, "synccheck": 0.2, "initcheck": 0}
# Programs whose faults, forks and many gigabytes are no matter for the sanitizer.
OMITTED = {"runtime", "gpu_runtime", "gpu_peers", "gpu_bench", "gpu_bench_matmul", "gpu_host", "far_rows"}
# Shared-memory hazards that racecheck reports inside NVIDIA's own kernels are told apart from ours.
HAZARD = re.compile(r"access at (.+)\+0x")
REFUSED = r"Device not supported|not supported on this|Unable to (find|attach)|LibraryNotLoaded"


def find_tool():
    return shutil.which("compute-sanitizer") or next(
        (str(p) for p in pathlib.Path("/usr/local").glob("cuda*/**/compute-sanitizer") if os.access(p, os.X_OK)),
        None,
    )


class Suite:
    """One test program and its cases, from a run without the sanitizer."""

    def __init__(self, options, entry, folder):
        self.family, self.op, program = entry
        self.path = pathlib.Path(options.build) / program
        self.list = folder / f"{self.op}.list"
        self.cases, self.tests = [], {}

    def command(self):
        return [self.path, "--backend", "cuda", "--level", "0", "--seed", "1"]

    def read(self):
        """None, or what went wrong."""
        code, output, _ = run([*self.command(), "--list", self.list], 200)
        if code not in (0, SKIPPED):
            return f"without the sanitizer it ended with {code}\n{tail(output)}"
        for line in self.list.read_text().splitlines():
            words = line.split()
            if words[0] == "test":
                self.tests[words[1]] = (float(words[2]), int(words[3]))
            else:
                key = (words[1], int(words[2]), words[3])
                kind = words[6] if len(words) > 6 else ""
                self.cases.append({"key": key, "bytes": int(words[4]), "seconds": float(words[5]), "kind": kind})
        return None

    def kernels(self):
        return {case["key"][2] for case in self.cases}

    def representatives(self):
        """Of each kernel, one case of each code: small, but no empty one where another is to be had."""
        best = {}
        for case in self.cases:
            group = (case["key"][2], case["kind"])
            rank = (case["bytes"] < 1024, case["seconds"] > 1e-4, case["bytes"])
            if group not in best or rank < best[group][0]:
                best[group] = (rank, case)
        chosen = {}
        for (kernel, _), (_, case) in best.items():
            chosen.setdefault(kernel, []).append(case)
        return chosen


def spread(cases, count):
    return cases if len(cases) <= count else [cases[i * len(cases) // count] for i in range(count)]


def cost(check, cases, tests, suite):
    """Seconds: of the cases, and of those that their tests only prepare."""
    each, times = COST[check]
    prepared = sum(2 * suite.tests[test][0] for test in {case["key"][0] for case in cases} | set(tests))
    slow = SHARD / SLOW.get((check, suite.op), SHARD)
    return 1.5 + prepared + sum(each * slow + times * case["seconds"] for case in cases)


def shards(suite, check):
    """(must, cases, tests) of the processes of a check."""
    chosen = suite.representatives()
    must = []
    for kernel, cases in chosen.items():
        limit = FEW if check in ("synccheck", "initcheck") else 20 if "cublas" in kernel else 2 * SHARD
        must += spread(cases, limit)
    order = {case["key"]: i for i, case in enumerate(suite.cases)}
    must.sort(key=lambda case: order[case["key"]])
    direct = [
        test for test, (seconds, count) in suite.tests.items() if count == 0 and seconds <= DIRECT_SECONDS[check]
    ]
    step = SLOW.get((check, suite.op), SHARD)
    found = [(True, must[at : at + step], []) for at in range(0, len(must), step)]
    if direct:
        found.append((True, [], direct))
    if check in ("memcheck", "racecheck"):
        taken = {case["key"] for case in must}
        rest = [
            case
            for case in suite.cases
            if case["key"] not in taken
            and case["bytes"] <= SMALL_BYTES
            and case["seconds"] <= SMALL_SECONDS
            and "cublas" not in case["key"][2]
        ]
        found += [(False, rest[at : at + 2 * SHARD], []) for at in range(0, len(rest), 2 * SHARD)]
    return found


def sanitize(options, deadline, programs):
    tool = find_tool()
    if not tool:
        print("sanitize: skipped, compute-sanitizer is not installed")
        return [{"result": "skipped", "output": "compute-sanitizer is not installed"}], True
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ruda-sanitize-"))  # a run that is stopped leaves no such files in out
    suites = [
        Suite(options, entry, folder)
        for entry in programs
        if entry[1] not in OMITTED and (pathlib.Path(options.build) / entry[2]).exists()
    ]
    workers = options.jobs or max(1, min(8, (os.cpu_count() or 2) // 2))
    jobs, rows = [], {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for suite, wrong in zip(suites, pool.map(Suite.read, suites)):
            for check in CHECKS:
                row = {"family": suite.family, "op": suite.op, "check": check, "result": "passed", "seconds": 0.0}
                row |= {"processes": 0, "longest_s": 0.0, "ran": set(), "must": set(), "tests": 0, "output": ""}
                rows[suite.op, check] = row
                if wrong:
                    row |= {"result": "failed", "output": wrong}
                    continue
                for number, (must, cases, tests) in enumerate(shards(suite, check)):
                    if must:
                        row["must"] |= {case["key"] for case in cases}
                    jobs.append((must, cost(check, cases, tests, suite), suite, check, number, cases, tests))
    jobs.sort(key=lambda job: (not job[0], -job[1]))
    print(f"  {len(jobs)} processes, {workers} at a time, {sum(job[0] for job in jobs)} of them must pass", flush=True)

    def one(job):
        must, _, suite, check, number, cases, tests = job
        left = deadline - time.monotonic()
        if not must and left < 75:
            return None
        stem = folder / f"{suite.op}-{check}-{number}"
        picks, ran = stem.with_suffix(".picks"), stem.with_suffix(".ran")
        lines = ["case {} {} {}".format(*case["key"]) for case in cases] + [f"test {test}" for test in tests]
        picks.write_text("\n".join(lines) + "\n")
        ran.unlink(missing_ok=True)
        command = [tool, "--tool", check, "--print-limit", "1000", "--error-exitcode", "86", *suite.command(), "--pick", picks, "--list", ran]
        # What may be left out ends by itself in time; 45 s are for the case that it is at.
        if not must:
            command += ["--seconds", str(min(60, left - 70))]
        code, output, seconds = run(command, max(1, left) if must else min(105, left))
        return code, output, seconds, ran.read_text().splitlines() if ran.exists() else []

    ended = []  # processes, for a run that is stopped

    def note(job, outcome):
        must, _, suite, check, number, _, _ = job
        row = rows[suite.op, check]
        code, output, seconds, lines = outcome
        row["seconds"] = round(row["seconds"] + seconds, 1)
        row["longest_s"] = round(max(row["longest_s"], seconds), 1)
        row["processes"] += 1
        for line in lines:
            words = line.split()
            if words[0] == "case":
                row["ran"].add((words[1], int(words[2]), words[3]))
            elif words[3] == "0":
                row["tests"] += 1
        errors = re.search(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", output)
        found = int(next((n for n in errors.groups() if n), 0)) if errors else 0
        foreign = set(HAZARD.findall(output)) if check == "racecheck" else set()
        good = re.search(r"^\d+ passed, 0 failed", output, re.M)
        if foreign and good and code == 86 and not any("ruda" in name for name in foreign):
            row["foreign"] = sorted(set(row.get("foreign", [])) | foreign)
            found, code = 0, 0
            output = ""
        if re.search(REFUSED, output):
            result = "refused"
        elif found or code == 86 or "========= Invalid" in output or "Potential" in output:
            result = "failed"
        elif code is None:
            result = "stopped"
        else:
            result = "passed" if code in (0, SKIPPED) else "failed"
        mark = "" if must else " (more)"
        print(f"  {result:8} {check:10} {suite.family}/{suite.op} {number}{mark}: {len(lines)} lines in {seconds:.1f} s", flush=True)
        ended.append({"family": suite.family, "op": suite.op, "check": check, "process": number, "result": result})
        ended[-1] |= {"must": must, "seconds": round(seconds, 1), "processes_in_all": len(jobs)}
        options.keep(ended)
        if result != "passed" and row["result"] in ("passed", "refused"):
            text = tail(output, 5 if result == "refused" else 60)
            row |= {"result": result, "errors": found, "output": f"process {number}: {text}"}

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(one, job): job for job in jobs}
        for future in concurrent.futures.as_completed(running):
            if future.result():
                note(running[future], future.result())

    by_name = {suite.op: suite for suite in suites}
    rows = {key: row for key, row in rows.items() if row["processes"] or row["result"] != "passed"}
    for (op, check), row in rows.items():
        suite, ran, must = by_name[op], row.pop("ran"), row.pop("must")
        kernels, covered = suite.kernels(), {key[2] for key in ran}
        kinds = {case["key"]: (case["key"][2], case["kind"]) for case in suite.cases}
        row |= {
            "cases": len({key[:2] for key in ran}),
            "of_cases": len({case["key"][:2] for case in suite.cases}),
            "runs": len(ran),
            "of_runs": len(suite.cases),
            "codes": len({kinds[key] for key in ran if key in kinds}),
            "of_codes": len(set(kinds.values())),
            "kernels": sorted(covered),
            "kernels_missing": sorted(kernels - covered),
        }
        if row["result"] == "passed" and (kernels - covered or must - ran):
            row |= {"result": "failed", "output": f"{len(must - ran)} cases did not run, first {sorted(must - ran)[:3]}"}
    result = list(rows.values())
    print(f'{"check":10} {"suite":32} {"result":8} {"kernels":>8} {"codes":>9} {"cases":>11} {"processes":>9} {"s":>7}')
    for row in result:
        kernels = f'{len(row["kernels"])}/{len(row["kernels"]) + len(row["kernels_missing"])}'
        codes, cases = f'{row["codes"]}/{row["of_codes"]}', f'{row["cases"]}/{row["of_cases"]}'
        name = f'{row["family"]}/{row["op"]}'
        print(f'{row["check"]:10} {name:32} {row["result"]:8} {kernels:>8} {codes:>9} {cases:>11} {row["processes"]:>9} {row["seconds"]:>7}')
    for row in result:
        if row.get("foreign"):
            print(f'  {row["check"]} {row["family"]}/{row["op"]}: hazards inside NVIDIA\'s {", ".join(row["foreign"])}, none in ours')
        if row["result"] != "passed":
            print(f'---- {row["check"]} {row["family"]}/{row["op"]}: {row["result"]}\n{row["output"]}')
    names = ("passed", "failed", "stopped", "refused")
    counts = {name: sum(row["result"] == name for row in result) for name in names}
    print("sanitize: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if counts["refused"]:
        print("sanitize: this machine refuses compute-sanitizer; those checks count as skipped")
    shutil.rmtree(folder, ignore_errors=True)
    return result, counts["failed"] + counts["stopped"] == 0
