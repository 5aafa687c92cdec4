# tests/bindings/guide.py - the first program of the guide compiles and runs by the command lines that stand there.
# SPDX-License-Identifier: Apache-2.0
"""usage: guide.py ROOT BUILD PYTHON LANGUAGE...    LANGUAGE is python, csharp or java"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAMS = {
    "python": ("Python", "examples/python/matmul.py"),
    "csharp": ("C#", "examples/csharp/Matmul.cs"),
    "java": ("Java", "examples/java/Matmul.java"),
}


def main():
    root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    guide = (root / "docs/guides/bindings.md").read_text(encoding="utf-8")
    section = guide[guide.index("## A first program") :]
    commands, expected = re.findall(r"```(?:sh|text)\n(.*?)```", section, re.S)[:2]
    faults = []
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": f"-Druda.native.cache={build}/tests/bindings/java_cache"}
    for language, (heading, path) in PROGRAMS.items():
        program = "\n".join((root / path).read_text(encoding="utf-8").split("\n")[2:])
        if f"`{path}`:\n\n```{language}\n{program}```" not in guide:
            faults.append(f"{path} is not what the guide shows")
        if language not in sys.argv[4:]:
            continue
        lines = re.search(rf"^# {re.escape(heading)}\n((?:[^#].*\n)+)", commands, re.M).group(1)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "build").symlink_to(build)
            (pathlib.Path(folder) / "examples").symlink_to(root / "examples")
            lines = lines.replace("python3", sys.argv[3])
            done = subprocess.run(["sh", "-ec", lines], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode or done.stdout != expected:
            faults.append(f"{language}: {done.returncode}, {done.stdout}{done.stderr}, expected {expected}")
    print("\n".join(faults) or f"the first program runs in {', '.join(sys.argv[4:])}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
