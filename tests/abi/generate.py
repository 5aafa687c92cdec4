# tests/abi/generate.py - writes C tests from the public headers: hostile calls, growth of structs, layouts.
# SPDX-License-Identifier: Apache-2.0
"""usage: generate.py hostile|growth|snapshot|fuzz INCLUDE_DIR OUT

hostile   every function with NULL, stale, foreign, misaligned handles and NULL pointers
growth    every growing struct as smaller, larger and empty than this library knows it
snapshot  prints every constant, and size, alignment and offsets of every struct
fuzz      descriptors of every operator from random bytes; see tests/fuzz/descriptors.h"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src"))
import headers  # noqa: E402

INTEGERS = (
    "uint32_t",
    "int32_t",
    "uint64_t",
    "int64_t",
    "ruda_bool",
    "ruda_status",
    "double",
    "float",
    "uint8_t",
)
# Functions that take NULL where others refuse it.
NULL_IS_FINE = {"ruda_release"}


def handle_kind(kind, api):
    name = kind[5:] if kind.startswith("ruda_") else ""
    return name if name in api.handles else ""


def argument(parameter, api, structs):
    """The plausible value of a parameter: an expression of the fixture."""
    kind = handle_kind(parameter.type, api)
    if kind:
        return f"HANDLE({kind})"
    if parameter.type == "callback" or parameter.type in api.callbacks:
        return "NULL"
    base = parameter.type.replace("const ", "").replace("struct ", "").strip()
    if parameter.type == "void *" and parameter.name == "handle":
        return "HANDLE(tensor)"
    if base.endswith("*"):
        pointee = base[:-1].strip()
        if pointee in structs:
            return f"fixture_struct(sizeof({pointee}))"
        if pointee == "char" and parameter.type.startswith("const"):
            return '"text"'
        return "fixture_buffer()"
    if parameter.name == "dtype":
        return "RUDA_F32"
    if base in INTEGERS:
        return "1" if parameter.name in ("count", "rank", "bytes", "capacity") else "0"
    sys.exit(f"generate.py: parameter {parameter.name} has type {parameter.type}, which it does not know")


def cast(function, index, value):
    parameter = function.parameters[index]
    if value.startswith(("HANDLE", "RUDA_")) or value in ("NULL",) or parameter.type in INTEGERS:
        return value
    if value.startswith('"'):
        return value
    return f"({parameter.type.strip()})({value})"


def call(function, arguments):
    return f"{function.name}({', '.join(cast(function, i, a) for i, a in enumerate(arguments))})"


def suite(name, tests):
    return [
        "int main(void) {",
        "  const struct CMUnitTest tests[] = {",
        *(f"      cmocka_unit_test_setup({test}, fixture_renew)," for test in tests),
        "  };",
        f'  return cmocka_run_group_tests_name("{name}", tests, fixture_open, fixture_close);',
        "}",
    ]


def hostile(api):
    structs = {s.name for s in api.structs if s.fields[0].name == "struct_size"}
    out = ['#include "fixture.h"', ""]
    names = []
    for function in api.functions:
        if function.result != "ruda_status" or not function.parameters:
            continue
        good = [argument(p, api, structs) for p in function.parameters]
        body = []
        outs = [
            i
            for i, p in enumerate(function.parameters)
            if p.type.endswith("*")
            and not p.type.startswith("const void")
            and (p.name == "out" or p.name.startswith("out_"))
            and not p.type.startswith("const char *")
        ]

        for i in outs:
            if good[i] == "fixture_buffer()":
                good[i] = f"fixture_out({i})"

        def attempt(arguments, rule, label):
            body.append(f'  RUN("{label}");')
            body.append(f"  {rule}({call(function, arguments)});")
            watched = [i for i in outs if arguments[i] == f"fixture_out({i})"]
            for i in watched:
                body.append(f'  CLEARED({i}, "{function.parameters[i].name}");')
                exported = re.match(r"struct DLManagedTensor(Versioned)?\b", function.parameters[i].type)
                if exported:
                    body.append(f"  fixture_drop_export({i}, {16 if exported[1] else 56});")

        # All pointers and handles NULL at once.
        nulls = ["NULL" if not (p.type in INTEGERS) else "0" for p in function.parameters]
        rule = "ANY" if function.name in NULL_IS_FINE else "REFUSED"
        # A call whose only arguments may all be NULL, such as a report's text, is legal.
        required = any(
            handle_kind(p.type, api) or (p.type.endswith("*") and (p.name == "out" or "desc" in p.type))
            for p in function.parameters
        )
        attempt(nulls, rule if required else "ANY", "all NULL")
        attempt(good, "ANY", "plausible")
        for i, parameter in enumerate(function.parameters):
            if good[i].startswith("HANDLE"):
                for bad in ("fixture.stale", "fixture.foreign", "fixture.crooked", "fixture.zeros"):
                    arguments = list(good)
                    if bad == "fixture.foreign" and parameter.type == "ruda_cancel":
                        bad = "(void*)fixture.event"
                    arguments[i] = f"({parameter.type}){bad}" if parameter.type != "void *" else bad
                    if bad == "fixture.foreign" and parameter.type == "void *":
                        continue
                    attempt(arguments, "REFUSED", f"{parameter.name} {bad.split('.')[-1]}")
                arguments = list(good)
                arguments[i] = "NULL"
                attempt(arguments, "ANY", f"{parameter.name} NULL")
            elif parameter.type.endswith("*") or good[i] == "NULL":
                arguments = list(good)
                arguments[i] = "NULL"
                attempt(
                    arguments, "REFUSED" if parameter.name == "out" else "ANY", f"{parameter.name} NULL"
                )
        name = f"calls_{function.name}"
        names.append(name)
        out += [
            f"static void {name}(void** state) {{",
            "  (void)state;",
            f'  BEGIN("{function.name}");',
            *body,
            "}",
            "",
        ]
    return out + suite("hostile", names)


def growth(api):
    structs = {s.name: s for s in api.structs}
    growing = {s.name for s in api.structs if s.fields[0].name == "struct_size"}
    out = ['#include "fixture.h"', ""]
    names, seen = [], set()
    for function in api.functions:
        for i, parameter in enumerate(function.parameters):
            base = re.sub(r"^const ", "", parameter.type).rstrip("* ").strip()
            if base not in growing or (base, parameter.type) in seen or function.result != "ruda_status":
                continue
            seen.add((base, parameter.type))
            good = [argument(p, api, growing) for p in function.parameters]
            good[i] = "given"
            direction = "in" if parameter.type.startswith("const") else "out"
            name = f"{direction}_{base}_of_{function.name}"
            names.append(name)
            rule = "grows_in" if direction == "in" else "grows_out"
            out += [
                f"static ruda_status call_{name}(void* given) {{",
                f"  return {call(function, good)};",
                "}",
                f"static void {name}(void** state) {{",
                "  (void)state;",
                f'  {rule}("{function.name}", "{base}", sizeof({base}), {i}, call_{name});',
                "}",
                "",
            ]
            # Structs that this one points to: options, allocators, other descriptors.
            for field in structs[base].fields:
                inner = re.sub(r"^const ", "", field.type).rstrip("* ").strip()
                if direction != "in" or inner not in growing or not field.type.endswith("*"):
                    continue
                # An operand may be looked at after others were refused: it must not crash, but which is blamed is free.
                rule = "survives_in" if inner == "ruda_tensor_desc" else "grows_in"
                same = [f.name for f in structs[base].fields if f.type == field.type]
                nested = f"nested_{base}_{field.name}_of_{function.name}"
                names.append(nested)
                out += [
                    f"static ruda_status call_{nested}(void* given) {{",
                    f"  {base}* outer = fixture_struct(sizeof({base}));",
                    *(f"  outer->{each} = given;" for each in same),
                    f"  return {call(function, [('outer' if g == 'given' else g) for g in good])};",
                    "}",
                    f"static void {nested}(void** state) {{",
                    "  (void)state;",
                    f'  {rule}("{function.name}", "{inner}", sizeof({inner}), {i}, call_{nested});',
                    "}",
                    "",
                ]
    covered = {base for base, _ in seen}
    reached = covered | {
        re.sub(r"^const ", "", f.type).rstrip("* ").strip()
        for base in covered
        for f in structs[base].fields
    }
    missing = sorted(growing - reached)
    if missing:
        sys.exit(f"generate.py: no function takes {', '.join(missing)}")
    return out + suite("growth", names)


def snapshot(api):
    out = ["#include <stddef.h>", "#include <stdio.h>", "#include <ruda/ruda.h>", "", "int main(void) {"]
    for name in api.constants:
        if name not in ("RUDA_BASE_H",):
            out.append(f'  printf("%s = %lld\\n", "{name}", (long long){name});')
    for struct in sorted(api.structs, key=lambda s: s.name):
        out.append(
            f'  printf("%s size %zu align %zu\\n", "{struct.name}", sizeof({struct.name}), '
            f"_Alignof({struct.name}));"
        )
        for field in struct.fields:
            out.append(
                f'  printf("  %s at %zu size %zu\\n", "{field.name}", offsetof({struct.name}, {field.name}), '
                f"sizeof((({struct.name}*)0)->{field.name}));"
            )
    for function in sorted(api.functions, key=lambda f: f.name):
        types = ", ".join(p.type for p in function.parameters) or "void"
        out.append(f'  puts("{function.result} {function.name}({types})");')
    return out + ["  return 0;", "}"]


def fuzz(api):
    structs = {s.name: s for s in api.structs}
    out = ['#include "descriptors.h"', ""]
    entries = []
    for function in api.functions:
        if not function.name.endswith("_plan_create"):
            continue
        types = [p.type for p in function.parameters]
        match = re.fullmatch(r"const (\w+) \*", types[1]) if len(types) == 3 else None
        if not match or match[1] not in structs:
            continue
        struct, lines = structs[match[1]], []
        operands = []
        has_arrays = any(
            f.type.endswith("*") and not f.type.startswith(("const ruda_", "const char"))
            for f in struct.fields
        )
        for field in struct.fields:
            place = f"desc.{field.name}"
            if field.name == "struct_size":
                lines.append(f"  {place} = take_size(bytes, sizeof desc);")
            elif field.type == "const ruda_ext *":
                lines.append(f"  {place} = take_extension(bytes);")
            elif field.type == "const ruda_plan_options *":
                lines.append(f"  {place} = take_options(bytes);")
            elif field.type == "const ruda_tensor_desc *":
                operands.append(field.name)
                lines.append(f"  {place} = take_tensor(bytes);")
            elif handle_kind(field.type, api):
                lines.append(f"  {place} = take_handle(bytes);")
            elif field.type in ("double", "float"):
                lines.append(f"  {place} = ({field.type})take_real(bytes);")
            elif field.type in INTEGERS:
                taken = "take_small(bytes)" if has_arrays else "take_integer(bytes)"
                lines.append(f"  {place} = ({field.type}){taken};")
            elif field.type.startswith("const ruda_") and field.type.endswith("*"):
                lines.append(f"  {place} = NULL;")
            elif field.type.endswith("*"):
                lines.append(f"  {place} = take_array(bytes);")
        name = function.name[5 : -len("_plan_create")]
        entries.append(name)
        out += [
            f"static void run_{name}(struct bytes* bytes) {{",
            f"  {struct.name} desc;",
            "  memset(&desc, 0, sizeof desc);",
            *lines,
            "  ruda_plan plan = NULL;",
            f"  const ruda_status status = {function.name}(fuzz_context(), &desc, &plan);",
            f"  const struct operand operands[] = {{",
        ]
        out += [f'      {{"{operand}", desc.{operand}}},' for operand in operands]
        out += ["      {NULL, NULL}};", "  finish(bytes, status, plan, operands);", "}", ""]
    out += (
        ["static void (*const entries[])(struct bytes*) = {"]
        + [f"    run_{name}," for name in entries]
        + ["};"]
    )
    out += [
        "int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {",
        "  struct bytes bytes = {data, size};",
        "  entries[take_byte(&bytes) % (sizeof entries / sizeof *entries)](&bytes);",
        "  return 0;",
        "}",
    ]
    return out


WRITERS = {"hostile": hostile, "growth": growth, "snapshot": snapshot, "fuzz": fuzz}
api = headers.read(pathlib.Path(sys.argv[2]) / "ruda")
pathlib.Path(sys.argv[3]).write_text("\n".join(WRITERS[sys.argv[1]](api)) + "\n")
