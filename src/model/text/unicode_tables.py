# src/model/text/unicode_tables.py - writes unicode_tables.cpp: classes and case maps of all code points.
# SPDX-License-Identifier: Apache-2.0
#
# usage: python unicode_tables.py OUT      (needs the package tokenizers; the output is committed)
#
# Classes are those that the regular expressions of the tokenizers package see (Unicode 16.0), since pre-
# tokenisers are defined by such expressions. Case maps are those of Python's str, since chat templates are
# defined by Python.
import sys

from tokenizers import Regex, pre_tokenizers

CLASSES = [
    r"\p{Lu}",
    r"\p{Ll}",
    r"\p{Lt}",
    r"\p{Lm}",
    r"\p{Lo}",
    r"\p{M}",
    r"\p{N}",
    r"\p{P}",
    r"\p{S}",
    r"\s",
]
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def members(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed")
    found = set()
    for at in range(0, len(POINTS), 4096):
        points = POINTS[at : at + 4096]
        kept = set()
        for _, (begin, end) in split.pre_tokenize_str("".join(map(chr, points))):
            kept.update(range(begin, end))
        found.update(c for i, c in enumerate(points) if i not in kept)
    return found


def class_runs():
    kind = [0] * 0x110000
    for number, pattern in enumerate(CLASSES, 1):
        for c in members(pattern):
            assert kind[c] == 0 or pattern == r"\s", hex(c)
            kind[c] = number
    runs, last = [], None
    for c, k in enumerate(kind):
        if k != last:
            runs.append(c << 4 | k)
            last = k
    return runs


# Runs (first, last, step, delta): every step-th code point from first to last maps to itself plus delta.
# Only where `convert` differs from `base`.
def case_runs(convert, base=lambda s: s):
    simple = [(c, convert(chr(c))) for c in POINTS]
    simple = [(c, ord(to) - c) for c, to in simple if len(to) == 1 and to != base(chr(c))]
    runs = []
    for c, delta in simple:
        if runs and runs[-1][3] == delta:
            first, last, step, _ = runs[-1]
            gap = c - last
            if gap <= 2 and (first == last or gap == step):
                runs[-1] = (first, c, gap, delta)
                continue
        runs.append((c, c, 1, delta))
    return runs


def expansions(convert):
    return [(c, [ord(x) for x in convert(chr(c))]) for c in POINTS if len(convert(chr(c))) > 1]


def rows(texts):
    out, line = [], "   "
    for text in texts:
        if len(line) + len(text) + 2 > 108:
            out.append(line)
            line = "   "
        line += " " + text + ","
    return "\n".join(out + [line])


def main():
    upper, title = (lambda s: s.upper()), (lambda s: s.title())
    parts = [
        "// src/model/text/unicode_tables.cpp - classes and case maps of code points, by unicode_tables.py.",
        "// SPDX-License-Identifier: Apache-2.0",
        '#include "model/text/unicode.hpp"',
        "",
        "namespace ruda::text {",
        "",
        "// clang-format off",
        "// First code point << 4 | class, in order; a run ends where the next begins.",
        "const uint32_t class_runs[] = {",
        rows("0x%x" % r for r in class_runs()),
        "};",
        "const size_t class_run_count = std::size(class_runs);",
    ]
    for name, convert in (("upper", upper), ("lower", lambda s: s.lower()), ("title", title)):
        runs = case_runs(convert, upper) if name == "title" else case_runs(convert)
        parts += [
            "",
            "const CaseRun %s_runs[] = {" % name,
            rows("{0x%x, 0x%x, %d, %d}" % r for r in runs),
            "};",
            "const size_t %s_run_count = std::size(%s_runs);" % (name, name),
        ]
    for name, convert in (("upper", upper), ("title", title)):
        parts += [
            "",
            "const CaseExpansion %s_expansions[] = {" % name,
            rows(
                "{0x%x, {%s}}" % (c, ", ".join("0x%x" % x for x in to)) for c, to in expansions(convert)
            ),
            "};",
            "const size_t %s_expansion_count = std::size(%s_expansions);" % (name, name),
        ]
    parts += ["", "// clang-format on", "", "}  // namespace ruda::text", ""]
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("\n".join(parts))


main()
