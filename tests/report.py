# tests/report.py - adds up the results of all suites, shows what failed and what was skipped and why.
# SPDX-License-Identifier: Apache-2.0
"""usage: report.py FOLDER          every result file; the last line is "N passed, N failed, N skipped"
          report.py --brief FILE    one line about one result file

A test program counts for as many cases as it reports; one that reports none counts as one."""

import json
import pathlib
import re
import sys

RUNNER = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\b", re.M)
CMOCKA = re.compile(r"^\[\s+(PASSED|FAILED|SKIPPED)\s+\] (?:.*: )?(\d+) test\(s\)", re.M)
SKIP_LINE = re.compile(r"^skip(?:ped)?\b.*$", re.M | re.I)


def cases(result, output):
    """(passed, failed, skipped) of one program."""
    counts = [0, 0, 0]
    for match in RUNNER.finditer(output):
        for i in range(3):
            counts[i] += int(match[i + 1])
    for match in CMOCKA.finditer(output):
        counts[("PASSED", "FAILED", "SKIPPED").index(match[1])] += int(match[2])
    if result == "SKIP":
        return 0, 0, max(counts[2], 1)
    if result in ("OK", "EXPECTEDFAIL"):
        return (counts[0], 0, counts[2]) if counts[0] and not counts[1] else (1, 0, 0)
    return counts[0], max(counts[1], 1), counts[2]


def read(path):
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        output = (entry.get("stdout") or "") + "\n" + (entry.get("stderr") or "")
        yield entry["name"].replace("ruda:", ""), entry["result"], output, entry.get("duration", 0)


def main():
    brief = sys.argv[1] == "--brief"
    target = pathlib.Path(sys.argv[2] if brief else sys.argv[1])
    files = [target] if brief else sorted(target.glob("*.json"))
    passed = failed = skipped = 0
    bad, skips = [], []
    for path in files:
        for name, result, output, seconds in read(path):
            counts = cases(result, output)
            passed, failed, skipped = passed + counts[0], failed + counts[1], skipped + counts[2]
            label = f"{path.stem}: {name}"
            if counts[1]:
                bad.append((label, result, output, seconds))
            if counts[2]:
                reasons = SKIP_LINE.findall(output)
                skips.append(
                    (label, "; ".join(dict.fromkeys(reasons)) or output.strip().rpartition("\n")[2])
                )
    notes = target / "notes"
    if not brief and notes.exists():
        for line in notes.read_text().splitlines():
            result, name, text = line.split("\t")
            passed, failed, skipped = (
                passed + (result == "OK"),
                failed + (result == "FAIL"),
                skipped + (result == "SKIP"),
            )
            if result == "FAIL":
                bad.append((name, result, text, 0))
            if result == "SKIP":
                skips.append((name, text))
    if brief:
        print(f"     {target.stem}: {passed} passed, {failed} failed, {skipped} skipped")
        return 0
    for label, reason in skips:
        print(f"skipped {label}: {reason[:300]}")
    for label, result, output, seconds in bad:
        print(f"FAILED {label} ({result}, {seconds:.1f} s)")
        for line in output.strip().splitlines()[-40:]:
            print("    " + line)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


sys.exit(main())
