# tests/model/template_oracle.py - compares rendered templates with jinja2 as transformers sets it up.
# SPDX-License-Identifier: Apache-2.0
#
# usage: template_oracle.py LIBRUDA          compare every case
#        template_oracle.py --golden tests/data/vectors
import argparse
import ctypes
import datetime
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "data"))
import ruda_text  # noqa: E402
import template_cases as cases  # noqa: E402

from transformers.utils import chat_template_utils  # noqa: E402

NOW = 1_700_000_000


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(NOW, tz)


chat_template_utils.datetime = Clock


class Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("source", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("variables", ctypes.c_char_p),
        ("now", ctypes.c_int64),
        ("max_bytes", ctypes.c_uint64),
        ("max_steps", ctypes.c_uint64),
    ]


def render(library, source, messages, variables):
    options = Options(
        struct_size=ctypes.sizeof(Options),
        flags=1,
        source=source.encode(),
        now=NOW,
        variables=json.dumps(variables).encode(),
    )
    needed = ctypes.c_uint64()
    text = json.dumps(messages, ensure_ascii=False).encode()
    call = lambda buffer, size: library.call(
        "ruda_chat_render_json",
        None,
        text,
        ctypes.byref(options),
        buffer,
        ctypes.c_uint64(size),
        ctypes.byref(needed),
    )
    call(None, 0)
    buffer = ctypes.create_string_buffer(needed.value)
    call(buffer, needed.value)
    return buffer.raw[: needed.value - 1].decode("utf-8")


def reference(source, messages, variables):
    compiled = chat_template_utils._compile_jinja_template(source)
    context = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": False}
    return compiled.render(**{**context, **variables})


TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def all_cases():
    for name, source in cases.TEMPLATES.items():
        for i, messages in enumerate(cases.CONVERSATIONS):
            for k, variables in enumerate(cases.VARIABLES):
                yield f"{name}/{i}/{k}", source, messages, {**TOKENS, **variables}
    for expression in cases.EXPRESSIONS:
        yield expression, "{{ " + expression + " }}", [], cases.CONTEXT
    for source in cases.STATEMENTS:
        yield source, source, [], cases.CONTEXT


def outcome(call):
    try:
        return call(), None
    except Exception as error:  # every kind of failure of either side is compared as a failure
        return None, error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", nargs="?")
    parser.add_argument("--golden")
    args = parser.parse_args()
    if args.golden:
        return write_golden(args.golden)
    library = ruda_text.Library(args.library)
    bad = total = refused = 0
    for name, source, messages, variables in all_cases():
        total += 1
        want, want_error = outcome(lambda: reference(source, messages, variables))
        got, got_error = outcome(lambda: render(library, source, messages, variables))
        refused += want is None
        if "built-in method" in str(want):
            continue  # the text holds an address
        if got != want:
            bad += 1
            print(f"{name!r}\n  got  {got!r} {got_error or ''}\n  want {want!r} {want_error or ''}")
    print(f"{total} cases ({refused} that the reference refuses), {bad} differ")
    return 1 if bad else 0


def c_text(text):
    data = text.encode("utf-8")
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b for b in data)
    parts, line = [], ""
    i = 0
    while i < len(out):
        step = 4 if out[i] == "\\" else 1
        if len(line) + step > 96:
            parts.append(line)
            line = ""
        line += out[i : i + step]
        i += step
    return "\n     ".join('"%s"' % p for p in parts + [line])


def table(name, texts):
    rows = ["    %s," % c_text(t) for t in texts]
    return ["static const char *const %s[] = {" % name] + rows + ["};"]


def row(*parts):
    line = "    {%s}," % ", ".join(parts)
    return line if len(line) <= 110 and "\n" not in line else "    {%s}," % ",\n     ".join(parts)


HEAD = [
    "/* SPDX-License-Identifier: Apache-2.0 */",
    "/* Made by tests/model/template_oracle.py --golden. A NULL text stands for an error. */",
]


def write_golden(folder):
    folder = pathlib.Path(folder)
    lines = ["/* tests/data/vectors/template.h - chat templates and their texts, by jinja2. */"]
    lines += HEAD + ["enum { golden_now = %d };" % NOW]
    lines += table("golden_sources", cases.TEMPLATES.values())
    lines += table("golden_messages", [json.dumps(m) for m in cases.CONVERSATIONS])
    lines += table("golden_variables", [json.dumps({**TOKENS, **v}) for v in cases.VARIABLES])
    lines += [
        "static const struct {",
        "  int source, messages, variables;",
        "  const char *text;",
        "} golden_templates[] = {",
    ]
    for n, (name, source) in enumerate(cases.TEMPLATES.items()):
        for i, messages in enumerate(cases.CONVERSATIONS):
            k = (i * 3 + n) % len(cases.VARIABLES)
            want, _ = outcome(lambda: reference(source, messages, {**TOKENS, **cases.VARIABLES[k]}))
            lines.append(row("%d, %d, %d" % (n, i, k), "NULL" if want is None else c_text(want)))
    (folder / "template.h").write_text("\n".join(lines + ["};", ""]))

    every = {"expression": ["{{ " + e + " }}" for e in cases.EXPRESSIONS], "statement": cases.STATEMENTS}
    for kind, sources in every.items():
        lines = [
            "/* tests/data/vectors/%s.h - %ss of templates and their texts, by jinja2. */" % (kind, kind)
        ] + HEAD
        if kind == "expression":
            lines += [
                "static const char golden_context[] =",
                "    " + c_text(json.dumps(cases.CONTEXT)) + ";",
            ]
        lines += ["static const struct {", "  const char *source, *text;", "} golden_%ss[] = {" % kind]
        for source in sources:
            want, _ = outcome(lambda: reference(source, [], cases.CONTEXT))
            if "built-in method" not in str(want):
                lines.append(row(c_text(source), "NULL" if want is None else c_text(want)))
        (folder / (kind + ".h")).write_text("\n".join(lines + ["};", ""]))


if __name__ == "__main__":
    sys.exit(main())
