# tests/lint/headers.py - public headers compile alone, in seven standards, without padding, in one grammar.
# SPDX-License-Identifier: Apache-2.0
"""usage: headers.py ROOT"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wundef", "-Werror", "-fsyntax-only"]
STANDARDS = [("c", s) for s in ("c99", "c11", "c17")] + [
    ("c++", s) for s in ("c++11", "c++14", "c++17", "c++20")
]
SYSTEM = {"stddef.h", "stdint.h"}
RECORD = re.compile(r"_(desc|info|options|opts|allocator|pool)$")


def compilers():
    found = []
    for c, cpp in (("gcc", "g++"), ("clang-14", "clang++-14"), ("clang", "clang++")):
        if shutil.which(c) and shutil.which(cpp) and not (c == "clang" and len(found) > 1):
            found.append({"c": c, "c++": cpp})
    return found


def compile_all(root, headers, fail):
    with tempfile.TemporaryDirectory() as folder:
        # Each header in a file of its own finds what it forgets to include; twice finds a missing guard.
        for language, suffix in (("c", ".c"), ("c++", ".cpp")):
            for header in headers:
                source = pathlib.Path(folder, header.stem + suffix)
                lines = [f"#include <ruda/{header.relative_to(root / 'include/ruda')}>"] * 2
                if language == "c":
                    lines.append("extern int ruda_test_unit;\nint ruda_test_unit = 0;")
                source.write_text("\n".join(lines) + "\n")
        found = compilers()
        for compiler in found:
            for language, standard in STANDARDS:
                sources = sorted(pathlib.Path(folder).glob("*.c" if language == "c" else "*.cpp"))
                # -Wpadded is known to g++ as well, but C++ says the same as C.
                padded = ["-Wpadded"] if language == "c" else []
                run = subprocess.run(
                    [
                        compiler[language],
                        f"-std={standard}",
                        f"-I{root / 'include'}",
                        *WARNINGS,
                        *padded,
                        *sources,
                    ],
                    capture_output=True,
                    text=True,
                )
                if run.returncode:
                    first = "\n".join(run.stderr.splitlines()[:6])
                    fail(f"{compiler[language]} -std={standard}:\n{first}")
        return [c["c"] for c in found]


def check_grammar(root, headers, fail):
    sys.path.insert(0, str(root / "src"))
    import headers as reader

    api = reader.read(root / "include" / "ruda")
    for header, text in api.strange:
        fail(f"include/ruda/{header}: a declaration that src/headers.py cannot read: {text}")
    for function in api.functions:
        where = f"include/ruda/{function.header}: {function.name}"
        if not function.name.startswith("ruda_"):
            fail(f"{where}: name does not begin with ruda_")
        for parameter in function.parameters:
            plain = parameter.type.replace("const ", "").rstrip(" *")
            if plain in ("int", "long", "unsigned", "short", "size_t", "bool", "_Bool"):
                fail(
                    f"{where}: parameter {parameter.name} is {parameter.type}, expected a fixed-width type"
                )
    for struct in api.structs:
        where = f"include/ruda/{struct.header}: {struct.name}"
        if RECORD.search(struct.name) and (struct.fields[0].name, struct.fields[0].type) != (
            "struct_size",
            "uint32_t",
        ):
            fail(f"{where}: does not begin with uint32_t struct_size")
        for field in struct.fields:
            if re.search(r"\b(size_t|bool|_Bool|long|unsigned|short|int)\b", field.type):
                fail(f"{where}: field {field.name} is {field.type}, expected a fixed-width type")
    # Every function has a docstring that names its threads letter.
    for header in headers:
        text = header.read_text()
        for match in re.finditer(r"^RUDA_API[^;]*?RUDA_CALL\s+(\w+)\(", text, re.M):
            before = text[: match.start()].rstrip()
            doc = before[before.rfind("/*") :] if before.endswith("*/") else ""
            if not doc.startswith("/**"):
                fail(f"include/ruda/{header.name}: {match[1]} has no docstring")
            elif not re.search(r"\[[TIS]\]", doc):
                fail(f"include/ruda/{header.name}: docstring of {match[1]} has none of [T], [I], [S]")
        # A line inside a docstring that does not keep the margin was torn out of its paragraph or table.
        for doc in re.finditer(r"^/\*\*.*?\*/", text, re.M | re.S):
            for number, line in enumerate(doc[0].splitlines(), text.count("\n", 0, doc.start()) + 1):
                if not line.startswith("/** ") and not re.match(r" \*(  \S|   |$)", line):
                    fail(f'include/ruda/{header.name}:{number}: the line of a docstring begins not with " *  "')
        for name in re.findall(r'#\s*include\s*[<"]([^>"]+)', text):
            if not name.startswith("ruda/") and name not in SYSTEM:
                fail(
                    f"include/ruda/{header.name}: includes {name}, expected only ruda/, stddef.h and stdint.h"
                )
    umbrella = (root / "include/ruda/ruda.h").read_text()
    for header in headers:
        if (
            header.name != "ruda.h"
            and f'"ruda/{header.name}"' not in umbrella
            and header.parent.name == "ruda"
        ):
            fail(f"include/ruda/ruda.h: does not include {header.name}")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    headers = sorted((root / "include/ruda").rglob("*.h"))
    problems = []
    check_grammar(root, headers, problems.append)
    used = compile_all(root, headers, problems.append)
    print("\n".join(problems) or f"{len(headers)} headers pass with {' and '.join(used)}")
    return 1 if problems else 0


sys.exit(main())
