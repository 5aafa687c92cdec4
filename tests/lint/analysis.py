# tests/lint/analysis.py - cppcheck over the library's sources, GCC's analyzer over the tests in C.
# SPDX-License-Identifier: Apache-2.0
"""usage: analysis.py cppcheck|analyzer ROOT BUILD

Each takes more than a minute and so runs from level 1 on (RUDA_TEST_LEVEL). Skipped where the tool is not
installed."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

SKIPPED = 77
# cppcheck 2.10 does not see that a failed RUDA_CHECK throws, and takes what follows for reachable with NULL, zero
# or -1; nor that guard() catches what the lambda of a noexcept entry throws; tables (.inc) have the macros of those
# who include them; arenas of bytes hold numbers; arrays of which a count says how much is set stay as they are. It
# does not know lambdas with template parameters (gguf.cpp), and takes a move behind a loop for one inside (lexer.cpp).
CPPCHECK = ["--enable=warning,portability", "--std=c++20", "--language=c++", "--quiet", "--error-exitcode=1",
            "--suppress=missingInclude", "--suppress=nullPointerRedundantCheck", "--suppress=zerodivcond",
            "--suppress=nullPointerArithmeticRedundantCheck", "--suppress=negativeIndex",
            "--suppress=throwInNoexceptFunction", "--suppress=uninitMemberVar", "--suppress=unknownMacro:*.inc",
            "--suppress=invalidPointerCast", "--suppress=syntaxError:*gguf.cpp", "--suppress=accessMoved:*lexer.cpp",
            "--template={file}:{line}: {severity}: {id}: {message}"]  # fmt: skip
# A test that gets no memory may crash, and one whose assertion fails leaves by longjmp what it has allocated.
ANALYZER = ["-fanalyzer", "-O1", "-Wno-analyzer-possible-null-dereference",
            "-Wno-analyzer-possible-null-argument", "-Wno-analyzer-malloc-leak"]  # fmt: skip


def cppcheck(root):
    if not shutil.which("cppcheck"):
        print("skipped: cppcheck is missing (apt-get install cppcheck)")
        return SKIPPED
    command = ["cppcheck", *CPPCHECK, "-j", str(len(os.sched_getaffinity(0))), "-Iinclude", "-Isrc", "src"]
    return subprocess.run(command, cwd=root).returncode


def analyzer(root, build):
    compiler = shutil.which("gcc")
    if not compiler:
        print("skipped: gcc is missing")
        return SKIPPED
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and path.is_relative_to(root / "tests"):
            parts = [p for p in shlex.split(entry["command"]) if p.startswith(("-I", "-D", "-std", "-isystem"))]
            commands.setdefault(path, [compiler, *parts, *ANALYZER, "-c", str(path), "-o", os.devnull])

    def check(command):
        return subprocess.run(command, cwd=build, capture_output=True, text=True).stderr.strip()

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        faults = [text for text in pool.map(check, commands.values()) if text]
    print("\n".join(faults) or f"{len(commands)} files are clean")
    return 1 if faults or not commands else 0


def main():
    root, build = (pathlib.Path(p).resolve() for p in sys.argv[2:4])
    if int(os.environ.get("RUDA_TEST_LEVEL") or 0) < 1:
        print(f"skipped: {sys.argv[1]} takes more than a minute, from --level 1 on")
        return SKIPPED
    return cppcheck(root) if sys.argv[1] == "cppcheck" else analyzer(root, build)


sys.exit(main())
