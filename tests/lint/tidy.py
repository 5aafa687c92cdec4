# tests/lint/tidy.py - clang-tidy with the checks of .clang-tidy over the library's C++ sources.
# SPDX-License-Identifier: Apache-2.0
"""usage: tidy.py ROOT BUILD [--changed | FILE...]

Every file takes minutes, so without arguments it runs from level 1 (RUDA_TEST_LEVEL) on. --changed takes what is
not committed or what the last commit changed. Skipped where clang-tidy is not installed."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# Options of g++ that clang does not know.
UNKNOWN = {"-fno-gnu-unique"}


def changed(root):
    if not shutil.which("git"):
        return []

    def git(*arguments):
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    return git("ls-files", "-mo", "--exclude-standard") + git("diff", "--name-only", "HEAD~1", "HEAD")


def entries(root, build):
    """{source relative to the root: its entry of the compilation database}; one for each source."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".cpp" and path.is_relative_to(root / "src"):
            command = [part for part in shlex.split(entry["command"]) if part not in UNKNOWN]
            entry = {"directory": entry["directory"], "file": str(path), "arguments": command}
            found.setdefault(path.relative_to(root).as_posix(), entry)
    return found


def main():
    root, build = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tool:
        print("skipped: clang-tidy is missing (apt-get install clang-tidy-14)")
        return SKIPPED
    known = entries(root, build)
    if "--changed" in sys.argv:
        chosen = sorted(set(changed(root)) & set(known))
    elif len(sys.argv) > 3:
        chosen = [pathlib.Path(name).as_posix() for name in sys.argv[3:]]
    elif int(os.environ.get("RUDA_TEST_LEVEL") or 0) < 1:
        print("skipped: clang-tidy over every file takes minutes, from --level 1 on")
        return SKIPPED
    else:
        chosen = sorted(known)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps([known[name] for name in chosen]))

        def check(name):
            done = subprocess.run(
                [tool, "-p", folder, "--quiet", f"--config-file={root / '.clang-tidy'}", str(root / name)],
                capture_output=True,
                text=True,
            )
            if done.returncode or done.stdout.strip():
                faults.append(done.stdout.strip() or done.stderr.strip())

        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(check, chosen))
    print("\n".join(faults) or f"{len(chosen)} files are clean")
    return 1 if faults else 0


sys.exit(main())
