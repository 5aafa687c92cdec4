# src/headers.py - reads the public headers: functions, structs, handles, constants.
# SPDX-License-Identifier: Apache-2.0
"""The grammar is fixed by a lint; a header declares, and nothing else:

RUDA_API <type> RUDA_CALL <name>(<parameters>) RUDA_NX;
typedef struct <name> { <fields> } <name>;
enum { <NAME> = <number>, ... };
#define RUDA_<NAME> <number>
RUDA_HANDLE(<name>);
typedef <type>(RUDA_CALL *<name>)(<parameters>);
typedef <plain type> <name>;
struct <name>;
"""

import dataclasses
import pathlib
import re


@dataclasses.dataclass
class Parameter:
    type: str  # without the name, one blank before '*'
    name: str


@dataclasses.dataclass
class Function:
    header: str
    result: str
    name: str
    parameters: list


@dataclasses.dataclass
class Struct:
    header: str
    name: str
    fields: list  # Parameter; a callback's type is "callback", a union's is "union"


@dataclasses.dataclass
class Headers:
    functions: list = dataclasses.field(default_factory=list)
    structs: list = dataclasses.field(default_factory=list)
    handles: list = dataclasses.field(default_factory=list)  # names without ruda_
    constants: list = dataclasses.field(default_factory=list)  # names
    callbacks: list = dataclasses.field(default_factory=list)
    strange: list = dataclasses.field(default_factory=list)  # (header, text) that fits no form


def split_declarator(text):
    """'const int64_t *shape' -> Parameter('const int64_t *', 'shape')."""
    text = re.sub(r"\s+", " ", text.replace("*", " * ")).strip()
    match = re.fullmatch(r"(.*?)(\w+)((?: ?\[\w*\])*)", text)
    kind = re.sub(r" ?\* ?", " *", match[1].strip()).replace("* *", "**")
    return Parameter(re.sub(r"\*\s+\*", "**", kind) + match[3].strip(), match[2])


def split_parameters(text):
    text = text.strip()
    if text in ("void", ""):
        return []
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    out = []
    for part in parts:
        callback = re.search(r"\(\s*RUDA_CALL\s*\*\s*(\w+)\s*\)", part)
        out.append(Parameter("callback", callback[1]) if callback else split_declarator(part))
    return out


def split_fields(body):
    fields = []
    body = re.sub(r"union\s*\{[^}]*\}\s*(\w+)\s*;", r"union \1;", body)
    for statement in body.split(";"):
        statement = statement.strip()
        if not statement:
            continue
        callback = re.search(r"\(\s*RUDA_CALL\s*\*\s*(\w+)\s*\)", statement)
        if callback:
            fields.append(Parameter("callback", callback[1]))
            continue
        first, *rest = statement.split(",")
        head = split_declarator(first)
        fields.append(head)
        base = re.match(r"[^*\[]*", head.type)[0].strip()
        for declarator in rest:
            fields.append(split_declarator(base + " " + declarator))
    return fields


def read_text(header, text, out):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    for match in re.finditer(r"^#define (RUDA_\w+) (-?(?:0x)?[0-9A-Fa-f]+u?)$", text, re.M):
        out.constants.append(match[1])
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    text = re.sub(r"\bRUDA_(BEGIN|END)\b", "", text)
    at = 0
    pattern = re.compile(
        r"\s*(?:RUDA_API\s+(?P<result>[\w\s*]+?)\s*RUDA_CALL\s+(?P<function>\w+)\s*"
        r"\((?P<parameters>.*?)\)\s*RUDA_NX\s*;"
        r"|typedef\s+struct\s+(?P<struct>\w+)\s*\{(?P<fields>(?:[^{}]|\{[^{}]*\})*)\}\s*(?P<alias>\w+)\s*;"
        r"|enum\s*\{(?P<enum>[^}]*)\}\s*;"
        r"|RUDA_HANDLE\((?P<handle>\w+)\)\s*;"
        r"|typedef\s+[\w\s*]+\(\s*RUDA_CALL\s*\*\s*(?P<callback>\w+)\s*\)\s*\([^;]*\)\s*;"
        r"|typedef\s+\w+\s+\w+\s*;"
        r"|struct\s+\w+\s*;)",
        re.S,
    )
    while text[at:].strip():
        match = pattern.match(text, at)
        if not match:
            line = re.sub(r"\s+", " ", text[at : at + 120]).strip()
            out.strange.append((header, line))
            next_at = text.find(";", at)
            if next_at < 0:
                return
            at = next_at + 1
            continue
        at = match.end()
        if match["function"]:
            result = re.sub(r"\s*\*", " *", match["result"].strip())
            parameters = split_parameters(match["parameters"])
            out.functions.append(Function(header, result, match["function"], parameters))
        elif match["struct"]:
            if match["struct"] != match["alias"]:
                out.strange.append((header, f"struct {match['struct']} is called {match['alias']}"))
            out.structs.append(Struct(header, match["struct"], split_fields(match["fields"])))
        elif match["enum"]:
            out.constants += re.findall(r"\b(RUDA_\w+)\s*(?:=|,|$)", match["enum"])
        elif match["handle"]:
            out.handles.append(match["handle"])
        elif match["callback"]:
            out.callbacks.append(match["callback"])


def read(include_dir):
    """All headers of include/ruda."""
    out = Headers()
    for path in sorted(pathlib.Path(include_dir).rglob("*.h")):
        read_text(path.name, path.read_text(), out)
    return out
