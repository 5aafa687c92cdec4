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
from grammar import Api

# Names of enums that say more than their prefix, or that a class has already.
GROUP_NAMES = {
    "Log": "LogLevel",
    "Math": "MathMode",
    "Bind": "BindKind",
    "Tensor": "TensorFlags",
    "Store": "StoreFormat",
    "Meta": "MetaType",
    "Encode": "EncodeFlags",
    "Decode": "DecodeFlags",
    "Chat": "ChatFlags",
    "Token": "TokenType",
}
CLASS_NAMES = {
    "Context",
    "Stream",
    "Event",
    "Plan",
    "Workspace",
    "Graph",
    "Model",
    "Tokenizer",
    "Session",
    "Cancel",
    "Operand",
    "Object",
    "String",
    "Error",
}


def constant_groups(api):
    """[(name, [(member, number)], doc)]: the enums of the headers by prefix; slots are left out."""
    groups = {}
    for members, doc, _ in api.enums:
        names = [name for name, _ in members]
        if doc.startswith("Slots of "):
            continue
        if names[0] == "RUDA_OK":
            group, prefix = "Status", "RUDA_"
        elif "RUDA_F32" in names:
            group, prefix = "DType", "RUDA_"
        else:
            prefix = common_prefix(names, api)
            group = "".join(word.capitalize() for word in prefix[5:].strip("_").split("_"))
            group = GROUP_NAMES.get(group, group + "Code" if group in CLASS_NAMES else group)
        short = [(name[len(prefix) :], number) for name, number in members]
        short = [("V" + name if name[0].isdigit() else name, number) for name, number in short]
        known = groups.setdefault(group, ([], []))
        known[0].extend(short)
        known[1].append(doc)
    return [(name, members, "\n\n".join(filter(None, docs))) for name, (members, docs) in groups.items()]


def common_prefix(names, api):
    if len(names) == 1:
        owner = [
            f"RUDA_{op.name.upper()}_" for op in api.ops if names[0].startswith(f"RUDA_{op.name.upper()}_")
        ]
        return max(owner, key=len) if owner else "_".join(names[0].split("_")[:2]) + "_"
    first, last = min(names), max(names)
    length = next((i for i, c in enumerate(first) if i >= len(last) or last[i] != c), len(first))
    return first[: first.rfind("_", 0, length) + 1]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    part, include, out, depfile, target = sys.argv[1], *map(pathlib.Path, sys.argv[2:5]), sys.argv[5]
    headers = sorted((include / "ruda").glob("*.h"))
    api = Api(headers)
    files = {}
    if part == "c":
        emit_c.emit(api, [path.name for path in headers], files)
    else:
        {"python": emit_python, "csharp": emit_csharp, "java": emit_java}[part].emit(
            api, constant_groups(api), files
        )
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
