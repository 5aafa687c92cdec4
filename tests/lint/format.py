# tests/lint/format.py - clang-format 14 agrees with every C, C++ and CUDA file; --fix rewrites them.
# SPDX-License-Identifier: Apache-2.0
"""usage: format.py ROOT [--fix] [FILE...]"""

import pathlib
import re
import shutil
import subprocess
import sys

SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
# Tables that a script writes.
GENERATED = ("tests/data/",)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    fix, named = "--fix" in sys.argv, [pathlib.Path(a) for a in sys.argv[2:] if a != "--fix"]
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    version = program and subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if not version or not re.search(r"version 14\.", version):
        print("skipped: clang-format 14 is missing (apt-get install clang-format-14)")
        return 77
    tops = [root / top for top in ("include", "src", "cuda", "tests", "examples", "bindings")]
    files = named or [p for top in tops for p in sorted(top.rglob("*")) if p.suffix in SUFFIXES]
    files = [
        p
        for p in files
        if not any(p.resolve().relative_to(root).as_posix().startswith(g) for g in GENERATED)
    ]
    if fix:
        return subprocess.run([program, "-i", "--style=file"] + files).returncode
    run = subprocess.run([program, "--dry-run", "--style=file"] + files, capture_output=True, text=True)
    wrong = {}
    for line in run.stderr.splitlines():
        match = re.match(r"(.*?):(\d+):\d+: (?:warning|error): code should be clang-formatted", line)
        if match:
            wrong.setdefault(match[1], match[2])
    for name, line in wrong.items():
        print(f"{pathlib.Path(name).resolve().relative_to(root)}:{line}: is not as clang-format writes it")
    if wrong:
        print("repair: python3 tests/lint/format.py . --fix")
        return 1
    print(f"{len(files)} files are formatted")
    return 0


sys.exit(main())
