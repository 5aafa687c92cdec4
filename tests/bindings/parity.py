# tests/bindings/parity.py - what one language of the bindings offers, the other two offer too.
# SPDX-License-Identifier: Apache-2.0
"""usage: parity.py ROOT

Compares the public members of the hand-written classes by their names, read from the sources, the order in which the
operators take what they need, and the functions of the C API with what is called and what the guide lists as left out. RENAMED maps a
name that a language has by its own custom to the common one, or to None where no counterpart is meant."""

import ast
import pathlib
import re
import sys

CLASSES = "Context Stream Event Cancel Workspace Tensor Plan PagedSchedule Store Tokenizer Model Session LogDrain".split()

# (language, class or *) -> {name there: common name}; None = no counterpart is meant.
RENAMED = {
    ("python", "Context"): {"tensor": None, "zeros": None, "full": None, "empty": None, "wrap": None}
    | {"stream": None, "event": None, "workspace": None},  # made by constructors elsewhere
    ("python", "Stream"): {"use": None},  # there is a current stream in Python only
    ("python", "Tensor"): {
        "tobytes": "to_array",
        "tolist": "to_array",
        "numpy": None,
        "numpy_view": None,
        "item": None,
        "context": None,
        "size": "count",
        "ndim": "rank",
        "nbytes": "bytes",
        "read_into": "read",
        "T": None,
        "transpose": None,
        "broadcast_to": "broadcast",
        "empty": None,
        "full": None,
        "from_data": "from",
    },
    ("python", "Model"): {"session": None},
    ("python", "LogDrain"): {"fetch": None},
    ("python", "*"): {"close": None},  # of the class that all inherit, as in the other languages
    ("csharp", "Stream"): {"sync_async": None},  # awaits
    ("csharp", "*"): {"to_string": None, "dispose": None},
    ("csharp", "Plan"): {"is_output": None},  # in the slots of Python
    ("java", "Session"): {"step": None},  # what next returns
    ("java", "Plan"): {"is_output": None},
    ("java", "Stream"): {"await": "wait", "is_done": "done"},
    ("java", "*"): {"to_string": None, "close": None},
    ("java", "Tensor"): {
        "to_bytes": "to_array",
        "to_floats": "to_array",
        "to_doubles": "to_array",
        "to_ints": "to_array",
        "to_longs": "to_array",
        "to_shorts": "to_array",
        "buffer": None,
    },
}
# Functions of the module in Python, or its operators.
ADDED = {
    ("python", "Context"): {"backend_report", "device_count", "version"},
    ("python", "Plan"): {"op_names", "op_kernels", "execute"},
    ("python", "Tensor"): {"slice"},
    ("python", "Store"): {"count"},
}
ALIASES = {"CancelToken": "Cancel"}


def snake(name):
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("DType", "Dtype")).lower()
    return re.sub(r"^is_(?=contiguous|read_only|capturable|deterministic|requested)", "", name)


def python(root):
    found = {}
    for path in sorted((root / "bindings/python/ruda").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = {
                    item.name
                    for item in node.body
                    if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
                }
    return found


def strip(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)


def body(text, start):
    depth = 0
    for i in range(text.index("{", start), len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if not depth:
            return text[start : i + 1]
    return text[start:]


def members(text, pattern):
    """Names of the public members at the top level of a class."""
    flat, depth = [], 0
    for c in text:
        depth += c == "{"
        if depth <= 1 or (c == "{" and depth == 2):
            flat.append(c)
        depth -= c == "}"
    return {snake(m.group(1)) for m in re.finditer(pattern, "".join(flat))}


def csharp(root):
    found = {}
    for path in sorted((root / "bindings/csharp/Ruda").glob("*.cs")):
        text = strip(path.read_text(encoding="utf-8"))
        for m in re.finditer(r"public sealed class (\w+)", text):
            pattern = r"\bpublic (?:(?:static|unsafe|override|async) )*[\w<>\[\]]+ (\w+)(?=(?:<T>)?\s*[({])"
            found[m.group(1)] = members(body(text, text.index("{", m.start())), pattern)
    return found


def java(root):
    found = {}
    for path in sorted((root / "bindings/java/src/main/java/io/ruda").glob("*.java")):
        text = strip(path.read_text(encoding="utf-8"))
        m = re.search(r"public final class (\w+)", text)
        if m:
            pattern = rf"\bpublic (?!{m.group(1)}\()[\w<>\[\], .]*?[\w>\]] (\w+)\("
            found[m.group(1)] = members(body(text, text.index("{", m.start())), pattern)
    return found


def c_only(root):
    """Functions of the C API that no binding calls and that the guide does not list as such."""
    sys.path.insert(0, str(root / "bindings"))
    import emit_c
    from grammar import Api

    api = Api((root / "include" / "ruda").glob("*.h"))
    sources = [*(root / "bindings/common").iterdir(), *(root / "bindings").glob("*/ruda.i"), *(root / "bindings").glob("*/support.h")]
    called = set(re.findall(r"\bruda_\w+", " ".join(path.read_text(encoding="utf-8") for path in sources if path.is_file())))
    called |= set(emit_c.CORE) | {op.eager.name for op in api.callable_ops()} | {op.plan_create.name for op in api.plannable()}
    guide = (root / "docs/guides/bindings.md").read_text(encoding="utf-8")
    section = guide[guide.index("## What only C has") :].partition("\n## ")[0]
    listed = re.findall(r"`(ruda_\w+\*?)`", section)
    for name in sorted(set(api.functions) - called):
        if not any(name == known or known.endswith("*") and name.startswith(known[:-1]) for known in listed):
            yield f"{name}: no language has it, and docs/guides/bindings.md does not say so"
    for known in listed:
        if not any(name == known or known.endswith("*") and name.startswith(known[:-1]) for name in [*api.functions, *api.structs]):
            yield f"docs/guides/bindings.md lists {known}, which no header declares"


def orders(root):
    """Overloads in Java, and functions in Python, whose parameters are not in the order of C#: without a default, then the
    others."""
    import emit_csharp
    import emit_java
    import emit_python
    from enumerations import Enumerations
    from grammar import Api

    api, made = Api(sorted((root / "include" / "ruda").glob("*.h"))), {}
    enumerations = Enumerations(api)
    for emitter in (emit_csharp, emit_java, emit_python):
        emitter.emit(api, enumerations, made)

    def named(parameters):
        return [snake(re.split(r"[ @]", given.partition(" =")[0].strip())[-1].rstrip("_")) for given in parameters.split(", ")]

    wanted = {}
    for name, parameters in re.findall(r"public static Tensor(?:\[\])? (\w+)\((.*)\) {", made["Ops.cs"]):
        wanted[snake(name)] = named(parameters)
        given = [" = " in parameter for parameter in parameters.split(", ")]
        if given != sorted(given):
            yield f"{name}: {parameters}: one with a default comes before one without"
    found = re.findall(r"public static Tensor(?:\[\])? (\w+)\((.*)\) {", made["io/ruda/Ops.java"])
    for name, parameters in found:
        # The last may be an object with the options that C# takes one by one.
        want, got = wanted[snake(name)], named(re.sub(r", \w+Params \w+$", "", parameters))
        if got != [parameter for parameter in want if parameter in got]:
            yield f"{name}: Java takes {parameters}, not in the order {', '.join(want)}"
    for name, parameters in re.findall(r"^def (\w+)\((.*), \*, ", made["_ops.py"], flags=re.M):
        want = [parameter.replace("axes_mask", "axes") for parameter in wanted[name]][1:]
        got = [parameter.partition("=")[0].rstrip("_") for parameter in parameters.split(", ")]
        if got != want[: len(got)]:
            yield f"{name}: Python takes {', '.join(got)}, not in the order {', '.join(want)}"
    if {snake(name) for name, _ in found} != set(wanted):
        yield "the operators of C# and Java are not the same"


def main():
    root = pathlib.Path(sys.argv[1])
    faults, seen = [*c_only(root), *orders(root)], {}
    for language, read in (("python", python), ("csharp", csharp), ("java", java)):
        for name, names in read(root).items():
            name = ALIASES.get(name, name)
            if name not in CLASSES:
                continue
            table = {**RENAMED.get((language, "*"), {}), **RENAMED.get((language, name), {})}
            common = {table.get(member, snake(member)) for member in names}
            common |= ADDED.get((language, name), set())
            seen.setdefault(name, {})[language] = common - {None}
    for name in CLASSES:
        languages = seen.get(name, {})
        everything = set().union(*languages.values())
        for language in ("python", "csharp", "java"):
            for member in sorted(everything - languages.get(language, set())):
                has = ", ".join(other for other, names in sorted(languages.items()) if member in names)
                faults.append(f"{name}.{member}: {has} have it, {language} does not")
    print("\n".join(faults) or f"{len(CLASSES)} classes offer the same in every language")
    return 1 if faults else 0


sys.exit(main())
