# bindings/generate.py - writes what the bindings derive from the public headers; run by the build.
# SPDX-License-Identifier: Apache-2.0
"""usage: generate.py PART INCLUDE_DIR OUT_DIR DEPFILE TARGET

PART is c (ops.h and what SWIG wraps), python, csharp or java. TARGET is the name that the build knows an
output by. A file whose text did not change keeps its time, but for the first."""

import pathlib
import re
import sys

import emit_c
import emit_csharp
import emit_java
import emit_python
from enumerations import Enumerations
from grammar import Api


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    part, include, out, depfile, target = sys.argv[1], *map(pathlib.Path, sys.argv[2:5]), sys.argv[5]
    headers = sorted((include / "ruda").glob("*.h"))
    api = Api(headers)
    files = {}
    enumerations = Enumerations(api)
    if part == "c":
        emit_c.emit(api, enumerations, [path.name for path in headers], files)
    else:
        {"python": emit_python, "csharp": emit_csharp, "java": emit_java}[part].emit(api, enumerations, files)
    for name, text in files.items():
        write(out / name, re.sub(r"[ \t]+\n", "\n", text))
    if part == "java":
        for path in (out / "io" / "ruda").glob("*.java"):
            if f"io/ruda/{path.name}" not in files:
                path.unlink()
    here = pathlib.Path(__file__).resolve().parent
    depends = " ".join(
        str(path) for path in headers + sorted(here.glob("*.py")) + sorted(here.glob("common/*.h"))
    )
    depfile.write_text(f"{target}: {depends}\n")
    if part == "java":
        pathlib.Path(target).write_text("")


if __name__ == "__main__":
    main()
