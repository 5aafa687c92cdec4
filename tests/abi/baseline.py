# tests/abi/baseline.py - abidiff finds no change but growth against the types of the last agreed library.
# SPDX-License-Identifier: Apache-2.0
"""usage: baseline.py ROOT LIBRARY [--write]

Needs a library with debug information (buildtype debugoptimized)."""

import pathlib
import shutil
import subprocess
import sys

root, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
baseline, suppressions = root / "tests/abi/ruda.abi", root / "tests/abi/ruda.suppr"
if not shutil.which("abidw") or not shutil.which("abidiff"):
    print("skipped: abidw and abidiff are missing (apt-get install abigail-tools)")
    sys.exit(77)
sections = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True).stdout
if ".debug_info" not in sections:
    print("skipped: the library has no debug information (configure with --buildtype=debugoptimized)")
    sys.exit(77)
WRITE = [
    "--headers-dir",
    root / "include",
    "--drop-private-types",
    "--exported-interfaces-only",
    "--no-corpus-path",
    "--no-comp-dir-path",
    "--no-show-locs",
]
if "--write" in sys.argv:
    sys.exit(subprocess.run(["abidw", *WRITE, "--out-file", baseline, library]).returncode)
run = subprocess.run(
    ["abidiff", "--suppressions", suppressions, "--no-added-syms", baseline, library],
    capture_output=True,
    text=True,
)
print(run.stdout + run.stderr, end="")
# Bits: 1 error, 2 usage, 4 change, 8 incompatible; above 127 it died. Anything but 0 is a failure.
print(f"abidiff answered {run.returncode}" + ("" if run.returncode else ": nothing changed but growth"))
sys.exit(1 if run.returncode else 0)
