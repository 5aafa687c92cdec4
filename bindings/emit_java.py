# bindings/emit_java.py - the Java side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

from emit_c import HANDLE_CLASSES, camel, eager_name

HEAD = "// Made by bindings/generate.py.\npackage io.ruda;\n\n"
TYPES = {
    "u32": "int",
    "i32": "int",
    "u64": "long",
    "i64": "long",
    "bool": "boolean",
    "f32": "float",
    "f64": "double",
    "text": "String",
}
KEYWORDS = {
    "in",
    "final",
    "new",
    "this",
    "super",
    "int",
    "long",
    "float",
    "double",
    "boolean",
    "byte",
    "short",
    "char",
    "default",
    "switch",
    "case",
    "package",
    "import",
    "class",
    "native",
    "volatile",
    "transient",
    "static",
} - {"in"}


def safe(name):
    name = camel(name, lower=True)
    return name + "_" if name in KEYWORDS else name


def javadoc(doc, indent):
    text = (
        doc.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("*/", "* /")
        .replace("@", "&#64;")
    )
    lines = text.replace("\\", "&#92;").split("\n")
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"])


def constants(groups, files):
    for name, members, doc in groups:
        lines = [
            HEAD + javadoc(doc or f"Constants of {name}.", ""),
            f"public final class {name} {{",
            f"  private {name}() {{}}",
        ]
        lines += [
            f"  public static final int {m} = {n if n < 1 << 31 else n - (1 << 32)};" for m, n in members
        ]
        lines += [
            "",
            "  /** The name of a constant, or its number as text. */",
            "  public static String name(int value) {",
            "    switch (value) {",
        ]
        seen = set()
        for m, n in members:
            if n not in seen:
                lines.append(f'      case {m}: return "{m}";')
                seen.add(n)
        lines += ["      default: return Integer.toString(value);", "    }", "  }", "}", ""]
        files[f"io/ruda/{name}.java"] = "\n".join(lines)


def method(api, op, inputs):
    """One overload: with the given inputs, the others at their defaults."""
    declared, passed, objects = ["Stream stream"], ["p[0]"], ["stream"]
    for p, kind, _ in api.eager_inputs(op):
        name = safe(api.name_of(op, p.name))
        if p.name not in inputs:
            passed.append("null" if kind == "text" else "0")
        elif kind.startswith("in:"):
            declared.append(f"{HANDLE_CLASSES.get(kind[3:], 'NativeHandle')} {name}")
            passed.append(f"p[{len(objects)}]")
            objects.append(name)
        elif kind == "text":
            declared.append(f"String {name}")
            passed.append(f"NativeHandle.text({name})")
        else:
            declared.append(f"{TYPES[kind]} {name}")
            checked = f'NativeHandle.unsigned("{name}", {name})' if kind == "u32" else name
            passed.append(f"({name} ? 1 : 0)" if kind == "bool" else checked)
    outs = api.eager_outputs(op)
    passed += [f"o{i}" for i in range(len(outs))]
    doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
    made = ", ".join(f"Tensor.of(o{i}[0])" for i in range(len(outs)))
    result = "Tensor" if len(outs) == 1 else "Tensor[]"
    return [
        "",
        javadoc(doc, "  "),
        f"  public static {result} {camel(op.name, lower=True)}({', '.join(declared)}) {{",
        *(f"    long[] o{i} = new long[1];" for i in range(len(outs))),
        f"    NativeHandle.with(p -> Raw.{eager_name(api, op)}({', '.join(passed)}), {', '.join(objects)});",
        f"    return {made};" if len(outs) == 1 else f"    return new Tensor[] {{{made}}};",
        "  }",
    ]


def operators(api):
    lines = [
        HEAD + "import io.ruda.internal.Raw;\n",
        "/** Operators: each call makes its outputs. */",
        "public final class Ops {",
        "  private Ops() {}",
    ]
    for op in api.callable_ops():
        if any(kind != "tensor" for _, kind in api.eager_outputs(op)):
            continue
        # All inputs, those that are no field of an options struct, those without a default.
        every = api.eager_inputs(op)
        plain = [(p, kind) for p, kind, from_struct in every if not from_struct]
        needed = [p.name for p, kind in plain if not api.eager_default(op, p.name, kind)]
        needed += [p.name for p, _, from_struct in every if api.needed_unless(op, p, from_struct)]
        overloads = [[p.name for p, _, _ in every], [p.name for p, _ in plain], needed]
        for i, inputs in enumerate(overloads):
            if inputs not in overloads[:i]:
                lines += method(api, op, inputs)
    return "\n".join(lines + ["}", ""])


def emit(api, groups, files):
    constants(groups, files)
    files["io/ruda/Built.java"] = (
        HEAD
        + f"final class Built {{\n  static final int LEVEL = {api.level};\n\n  private Built() {{}}\n}}\n"
    )
    files["io/ruda/Ops.java"] = operators(api)
