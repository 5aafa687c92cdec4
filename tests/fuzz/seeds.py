# tests/fuzz/seeds.py - writes small starting inputs for the fuzzers of parsers.
# SPDX-License-Identifier: Apache-2.0
"""usage: seeds.py FOLDER      makes FOLDER/{gguf,tokenizer,template,json}"""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "data"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import ruda_text  # noqa: E402
import template_cases as cases  # noqa: E402


def gguf_seeds():
    yield ruda_text.gguf_bytes([])
    kinds = {0: 1, 1: -1, 2: 2, 3: -2, 4: 3, 5: -3, 6: 0.5, 7: 1, 8: "text", 10: 4, 11: -4, 12: 0.25}
    yield ruda_text.gguf_bytes([("k%d" % kind, kind, value) for kind, value in kinds.items()])
    yield ruda_text.gguf_bytes([("a%d" % kind, 9, (kind, [value] * 3)) for kind, value in kinds.items()])
    for kind, elements, size in ((0, 4, 16), (2, 32, 18), (14, 256, 210)):
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
        info = struct.pack("<Q1sIQIQ", 1, b"t", 1, elements, kind, 0)
        body = head + info
        yield body + bytes(-len(body) % 32) + bytes(size)


def template_seeds():
    for source in cases.TEMPLATES.values():
        yield source.encode()
        yield source.encode() + b"\0" + json.dumps(cases.CONVERSATIONS[4]).encode()
    for expression in cases.EXPRESSIONS:
        yield ("{{ " + expression + " }}").encode()
    for source in cases.STATEMENTS:
        yield source.encode()


def tokenizer_seeds():
    texts = ["it's 123 o'clock\r\n\n  ok", "aaaa<|x|>aa  a", "h\u00e9 \u4e2d\u6587 \U0001f600", "\u0301\u0345"]
    for mode in list(range(8)) + [64, 65, 161, 162, 240]:
        for text in texts:
            yield bytes([mode]) + text.encode()


def json_seeds():
    for value in cases.CONVERSATIONS + [cases.TOOL, cases.CONTEXT, [1e300, -0.0, 2**63 - 1]]:
        yield json.dumps(value).encode()


def main():
    folder = pathlib.Path(sys.argv[1])
    seeds = {"gguf": gguf_seeds, "tokenizer": tokenizer_seeds, "template": template_seeds, "json": json_seeds}
    for name, make in seeds.items():
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(make()):
            (target / ("seed%04d" % number)).write_bytes(data)


main()
