# tests/lint/files.py - the form of every file: first line, licence, size, six files, banned words.
# SPDX-License-Identifier: Apache-2.0
"""usage: files.py ROOT"""

import pathlib
import re
import shutil
import subprocess
import sys

MAX_LINES, MAX_COLUMNS = 600, 110
# Scripts hold tables of text; a line of theirs may be longer.
SCRIPT_COLUMNS = 150
# Tables in the form of code.
DATA = {"tests/model/template_cases.py", "src/model/text/unicode_tables.cpp"}
COMMENT = {
    ".cpp": "// ",
    ".hpp": "// ",
    ".cu": "// ",
    ".cuh": "// ",
    ".inc": "// ",
    ".h": "/* ",
    ".c": "/* ",
    ".py": "# ",
    ".sh": "# ",
    ".build": "# ",
    ".i": "// ",
    ".java": "// ",
    ".cs": "// ",
}
SPDX_LINE = re.compile(r"(//|/\*|#) SPDX-License-Identifier: Apache-2\.0( \*/)?")
C_LIKE = {".cpp", ".hpp", ".cu", ".cuh", ".inc", ".h", ".c"}
# Files that are data, not prose or code.
GENERATED = re.compile(
    r"^(tests/data/|tests/abi/(golden\.txt|symbols\.txt|.*\.abi)|docs/performance/|LICENSE)"
)
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
BANNED = [
    (re.compile(r"(?<![\w.:>])(?:std::)?(abort|exit|_exit|quick_exit|terminate)\s*\("), "ends the process"),
    (re.compile(r"(?<![\w.:>])assert\s*\("), "may end the process"),
    (re.compile(r"(?<![\w.:>])(?:std::)?(v?f?printf|f?puts|putchar|perror)\s*\("), "prints"),
    (re.compile(r"\bstd::(cout|cerr|clog)\b"), "prints"),
    (re.compile(r"\bgetenv\s*\("), "reads the environment"),
]
# The documented variables (CPU level, CUDA search path) are read in these files only.
ENVIRONMENT = re.compile(r"^(src/cpu/runtime/isa\.cpp|src/core/env\.cpp|cuda/runtime/\w+\.cpp)$")

# What a thread held at a fork hangs the child: src/core/fork.hpp has what does not. These are of devices, which
# no child uses, and of one call.
LOCKS = re.compile(r"\bstd::(\w*mutex|condition_variable\w*|call_once|once_flag)\b|\bpthread_(mutex|cond|once)_")
LOCK_FILES = {"src/core/fork.hpp", "src/core/fork.cpp", "src/tensor/tensor.hpp", "src/cpu/runtime/pool.cpp"}
NOT_OURS = (".git", ".cache", ".quickstart", "build", "dist", "__pycache__")


def tracked(root):
    if shutil.which("git"):
        listing = subprocess.run(
            ["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True
        )
        if listing.returncode == 0 and listing.stdout:
            return [pathlib.Path(line) for line in listing.stdout.splitlines() if (root / line).is_file()]
    # A tree without its history, such as a release archive, or a machine without git.
    return [
        p.relative_to(root)
        for p in sorted(root.rglob("*"))
        if p.is_file() and not any(part.startswith(NOT_OURS) for part in p.relative_to(root).parts)
    ]


def strip_code(text):
    """Text without comments and string literals, line structure kept."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def check_text(path, text, fail):
    lines = text.splitlines()
    if path.suffix in COMMENT or path.name == "meson.build":
        prefix = COMMENT[path.suffix]
        at = 1 if lines and lines[0].startswith("#!") else 0
        want = f"{prefix}{path.as_posix()} - "
        if len(lines) <= at + 1 or not lines[at].startswith(want) or len(lines[at]) < len(want) + 8:
            fail(path, at + 1, f'first line is not "{want}purpose in one sentence"')
        elif not any(SPDX_LINE.fullmatch(line) for line in lines[at + 1 : at + 4]):
            fail(path, at + 2, "no line with the SPDX tag of Apache-2.0 alone follows the purpose")
        if len(lines) > MAX_LINES and path.as_posix() not in DATA:
            fail(path, len(lines), f"has {len(lines)} lines, expected at most {MAX_LINES}")
        for number, line in enumerate(lines, 1):
            limit = SCRIPT_COLUMNS if path.suffix in (".py", ".sh", ".java", ".cs", ".inc") else MAX_COLUMNS
            if len(line) > limit and "http" not in line and path.name != "meson.build" and path.as_posix() not in DATA:
                fail(path, number, f"has {len(line)} columns, expected at most {limit}")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip() and path.suffix != ".md":
            fail(path, number, "ends in blanks")
        if "\t" in line and path.suffix in C_LIKE | {".py", ".build"}:
            fail(path, number, "holds a tab")
        if UNFINISHED.search(line):
            fail(path, number, f"holds the word {UNFINISHED.search(line)[0]}; finish the work first")
    if text and not text.endswith("\n"):
        fail(path, len(lines), "has no newline at its end")


def check_bans(path, text, fail):
    code = strip_code(text)
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, why in BANNED:
            match = pattern.search(line)
            if not match or (why.startswith("reads") and ENVIRONMENT.match(path.as_posix())):
                continue
            fail(path, number, f"{match[0].strip().rstrip('(').strip()} {why}; the library never does")
    if path.parts[0] == "src" and path.as_posix() not in LOCK_FILES:
        for number, line in enumerate(code.splitlines(), 1):
            if match := LOCKS.search(line):
                fail(path, number, f"{match[0]} may be held at a fork; take Mutex, Turn or Once of core/fork.hpp")
    if path.parts[0] == "cuda" or path.parts[1] == "cpu":
        for number, line in enumerate(code.splitlines(), 1):
            match = re.search(r"\bRUDA_E_(SHAPE|DTYPE)\b", line)
            if match:
                fail(path, number, f"raises {match[0]}, which only contracts may")


def check_operators(root, fail):
    """Six files with one stem: declaration, contract, CPU kernel, CUDA kernel, test, page."""
    for contract in sorted((root / "src/ops").rglob("*.cpp")):
        text = contract.read_text()
        family = contract.parent.name
        for op in re.findall(r"^extern const OpDef (\w+)\{", text, re.M):
            cpu_only = re.search(r"RUDA_CPU_ONLY\(%s," % op, text)
            stem = contract.stem
            if op != stem and not stem.startswith(op) and not op.startswith(stem):
                fail(contract.relative_to(root), 1, f"operator {op} lives in a file called {stem}")
            wanted = [
                f"src/cpu/{family}/{stem}.cpp",
                f"tests/ops/{family}/{stem}.cpp",
                f"docs/ops/{family}/{stem}.md",
            ]
            if not cpu_only:
                wanted.append(f"cuda/{family}/{stem}.cu")
            for name in wanted:
                if not (root / name).exists():
                    fail(contract.relative_to(root), 1, f"operator {op} has no {name}")
            header = root / f"include/ruda/{family}.h"
            pattern = r"\bruda_%s(_plan_create|_desc|\b)" % op
            if not header.exists() or not re.search(pattern, header.read_text()):
                fail(
                    contract.relative_to(root),
                    1,
                    f"operator {op} is not declared in include/ruda/{family}.h",
                )


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []

    def fail(path, line, text):
        problems.append(f"{path}:{line}: {text}")

    files = tracked(root)
    for path in files:
        if GENERATED.match(path.as_posix()) or not path.parts:
            continue
        try:
            text = (root / path).read_text()
        except UnicodeDecodeError:
            continue
        check_text(path, text, fail)
        if path.parts[0] in ("src", "cuda") and path.suffix in C_LIKE:
            check_bans(path, text, fail)
    check_operators(root, fail)
    print("\n".join(problems) or f"{len(files)} files have the right form")
    return 1 if problems else 0


sys.exit(main())
