# tests/bindings/guide.py - the first program of the guide runs by the command lines there, and so do samples of a cache.
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


# Around the samples of the section on the paged cache: what they take as given.
PAGED = {
    "csharp": (
        "Paged.cs",
        """using System; using Ruda;
static class Paged { static void Main() {
  Context context = new Context("cpu"); Stream stream = new Stream(context);
  Tensor k = new Tensor(context, DType.F32, 1, 2, 64).Fill(stream, 1), v = k;
  Tensor q = new Tensor(context, DType.F32, 1, 4, 64).Fill(stream, 1);
""",
        """  Console.WriteLine("ended"); } }""",
        "mcs -r:build/bindings/csharp/Ruda.dll -out:Paged.exe Paged.cs && MONO_PATH=build/bindings/csharp mono Paged.exe",
    ),
    "java": (
        "Paged.java",
        """import io.ruda.*;
public final class Paged { public static void main(String[] arguments) {
  Context context = new Context(Backend.CPU); Stream stream = new Stream(context);
  Tensor k = new Tensor(context, DType.F32, 1, 2, 64).fill(stream, 1), v = k;
  Tensor q = new Tensor(context, DType.F32, 1, 4, 64).fill(stream, 1);
""",
        """  System.out.println("ended"); } }""",
        "javac -cp build/bindings/java/ruda.jar -d . Paged.java && java -cp build/bindings/java/ruda.jar:. Paged",
    ),
}


def paged(guide, build, language, environment):
    """What is wrong with the sample of the paged cache in a language."""
    name, before, after, command = PAGED[language]
    section = guide[guide.index("## The paged cache") :]
    sample = re.search(rf"```{language}\n(.*?)```", section[: section.index("## Chat")], re.S)
    if not sample:
        return [f"{language}: no sample of the paged cache"]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "build").symlink_to(build)
        (pathlib.Path(folder) / name).write_text(before + sample.group(1) + after, encoding="utf-8")
        done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True)
    whole = not done.returncode and done.stdout.endswith("1\nended\n")
    return [] if whole else [f"{language}: the paged cache: {done.returncode}, {done.stdout}{done.stderr}"]


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
        if language in PAGED:
            faults += paged(guide, build, language, environment)
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
