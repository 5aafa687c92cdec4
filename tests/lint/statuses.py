# tests/lint/statuses.py - each docstring names the statuses that its C entry raises, itself or by its helpers.
# SPDX-License-Identifier: Apache-2.0
"""usage: statuses.py ROOT

Reads the entries in src/, follows calls to functions of the same file and to the helpers of the table below, and
compares the statuses with the docstring. A docstring may point to others: "as ruda_x", "as the plan form"."""

import pathlib
import re
import sys

# What a helper raises. OOM_HOST and INTERNAL are left out: base.h says that any call may return them.
HELPERS = {
    r"get_(?:context|stream|tensor)\(|get<": "NULL BAD_HANDLE",
    r"struct_in\(": "NULL ARGUMENT STRUCT_TOO_NEW",
    r"struct_out\(": "NULL ARGUMENT",
    r"text_out\(": "NULL",
    r"create_plan\(": "NULL UNSUPPORTED",
    r"\bContract c\(": "NULL BAD_HANDLE ARGUMENT STRUCT_TOO_NEW SHAPE DTYPE",
    r"layout_in\(": "NULL ARGUMENT STRUCT_TOO_NEW SHAPE DTYPE",
    r"(?:make|reshape)_layout\(": "SHAPE",
    r"wrap_memory\(": "NULL SHAPE ARGUMENT",
    r"make_tensor\(|new Storage\(c, bytes|copy_new\(": "OOM_DEVICE BUDGET CALLBACK",
    r"(?:copy_new|copy_into)\(": "CANCELLED?",
    r"check_healthy\(": "STREAM_POISONED",
    r"check_not_capturing\(": "CAPTURE_UNSAFE",
    r"check_usable\(": "DEVICE",
    r"check_stream\(": "WRONG_STREAM",
    r"\.fence\(": "CAPTURE_UNSAFE DEVICE",
    r"queue\(\)\.(?:wait|record|done)|open_(?:stream|event)\(|device\(\)\.(?:write|read)\(": "DEVICE",
    r"event->(?:sync|since)\(": "DEVICE",
    r"begin_capture\(": "STREAM_POISONED STATE DEVICE",
    r"end_capture\(": "STATE DEVICE",
    r"g\.launch\(": "STREAM_POISONED CAPTURE_UNSAFE WRONG_STREAM DEVICE",
    r"get_stream\(stream\)\.sync\(": "STREAM_POISONED CAPTURE_UNSAFE DEVICE INDEX",
    r"same_context\(": "ARGUMENT STREAM_POISONED WRONG_STREAM",
    r"\bexecute\(\*p": "NULL BAD_HANDLE ARGUMENT SHAPE DTYPE OVERLAP WORKSPACE WRONG_STREAM STREAM_POISONED "
    "CANCELLED TIMEOUT OOM_DEVICE BUDGET CALLBACK CAPTURE_UNSAFE DEVICE INDEX STATE",
    r"\bEager \w+\(": "NULL BAD_HANDLE ARGUMENT WRONG_STREAM STREAM_POISONED OOM_DEVICE BUDGET CALLBACK",
}
ALWAYS = {"OOM_HOST", "INTERNAL", "OK"}
WORDS = {"if", "for", "while", "switch", "return", "sizeof", "guard", "catch"}


def body_at(text, at):
    """The block that begins at the brace `at`, without comments and literals' braces."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[at : i + 1]
    return text[at:]


def functions(text):
    """name -> bodies, of everything that looks like a definition."""
    text = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", text)
    out = {}
    for match in re.finditer(r"^ *[A-Za-z_][^\n(;{}=]*[ &*](\w+)\(", text, re.M):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        tail = re.compile(r"\s*(?:const\b\s*)?(?:noexcept\b\s*)?\{").match(text, at)
        if match[1] not in WORDS and tail:
            out.setdefault(match[1], []).append(body_at(text, tail.end() - 1))
    return out


def raised(name, table, seen):
    found = set()
    if name in seen:
        return found
    seen.add(name)
    for body in table.get(name, []):
        found |= set(re.findall(r"\bRUDA_E_(\w+)", body))
        for pattern, statuses in HELPERS.items():
            if re.search(pattern, body):
                found |= {s for s in statuses.split() if not s.endswith("?")}
        for callee in set(re.findall(r"(?<![.\w>])(\w+)\s*\(", body)) & table.keys():
            # The calls of tensors hand their own, checked operands to the contract of copy.
            if callee != "check" or not name.startswith("copy_"):
                found |= raised(callee, table, seen)
    return found


def documented(name, docs, order, seen):
    if name in seen or name not in docs:
        return set()
    seen.add(name)
    doc = docs[name]
    found = set(re.findall(r"\bRUDA_E_(\w+)", doc))
    for other in re.findall(r"\b[Aa]s (ruda_\w+)", doc) + re.findall(r"(?:\band|,) (ruda_\w+)", doc):
        found |= documented(other, docs, order, seen)
    if "status as" in doc.lower().replace("\n", " "):
        for other in re.findall(r"\b(ruda_\w+)", doc):
            found |= documented(other, docs, order, seen)
    if "the plan form" in doc:
        before = [f for f in order[: order.index(name)] if f.endswith("_plan_create")]
        found |= documented(before[-1], docs, order, seen)
    return found


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    docs, order, where = {}, [], {}
    for header in sorted((root / "include/ruda").rglob("*.h")):
        text = header.read_text()
        for match in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*RUDA_API\s+ruda_status\s+RUDA_CALL\s+(\w+)\(", text, re.S):
            docs[match[2]] = re.sub(r"\n \* *", " ", match[1])
            order.append(match[2])
            where[match[2]] = f"include/ruda/{header.name}:{text.count(chr(10), 0, match.start(2)) + 1}"
    problems, found = [], set()
    for path in sorted((root / "src").rglob("*.cpp")):
        if path.relative_to(root).parts[1] == "cpu":
            continue
        table = functions(path.read_text())
        for name in sorted(table.keys() & docs.keys()):
            found.add(name)
            missing = raised(name, table, set()) - documented(name, docs, order, set()) - ALWAYS
            if missing:
                names = ", ".join(sorted("RUDA_E_" + status for status in missing))
                problems.append(f"{where[name]}: {name} may return {names}")
    problems += [f"{where[name]}: {name} has no definition in src/" for name in order if name not in found]
    print("\n".join(problems) or f"{len(found)} entries name the statuses that they raise")
    return 1 if problems else 0


sys.exit(main())
