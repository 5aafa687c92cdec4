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


CHECK = """
  /** The number of a parameter, which is one of these{more}. */
  static int check(String parameter, int value, boolean unset) {{
    switch (value) {{
      case {cases}: return value;
      default:
    }}
    if ({passes}) return value;
    throw new IllegalArgumentException(parameter + " is " + value + ", expected one of {name}: " + NAMES);
  }}
"""


def listed(e):
    return ", ".join(e.names) + (", or a number" if e.is_open else "")


def constants(enumerations, files):
    for e in enumerations.all:
        lines = [HEAD + javadoc(e.doc, ""), f"public final class {e.name} {{"]
        lines += [f'  private static final String NAMES = "{listed(e)}";', "", f"  private {e.name}() {{}}"]
        for m, n in e.members:
            if m in e.meanings:
                lines.append(javadoc(e.meanings[m], "  "))
            lines.append(f"  public static final int {m} = {n if n < 1 << 31 else n - (1 << 32)};")
        lines += [
            "",
            "  /** The name of a constant, or its number as text. */",
            "  public static String name(int value) {",
            "    switch (value) {",
        ]
        first = {}
        for m, n in e.members:
            first.setdefault(n, m)
        lines += [f'      case {m}: return "{m}";' for m in first.values()]
        lines += ["      default: return Integer.toString(value);", "    }", "  }", ""]
        lines += [
            '  /** The constant of a name, in any case: of("add") is ADD. */',
            "  public static int of(String name) {",
            '    switch (NativeHandle.need("name", name, "a text").toUpperCase(java.util.Locale.ROOT)) {',
            *(f'      case "{m}": return {m};' for m, _ in e.members),
            f'      default: throw new IllegalArgumentException("name is \\"" + name + "\\", expected one of {e.name}: " + NAMES);',
            "    }",
            "  }",
        ]
        passes = "value > 0 || (unset && value == 0)" if e.is_open else "unset && value == 0"
        more = ", a sum of them or another number" if e.is_open else ""
        lines += CHECK.format(name=e.name, cases=", ".join(first.values()), passes=passes, more=more).split("\n")
        files[f"io/ruda/{e.name}.java"] = "\n".join([*lines[:-1], "}", ""])


def method(api, enumerations, op, inputs):
    """One overload: with the given inputs, the others at their defaults."""
    declared, passed, objects = ["Stream stream"], ["p[0]"], ['NativeHandle.need("stream", stream)']
    named = []
    for p, kind, from_struct in api.eager_inputs(op):
        name, e = safe(api.name_of(op, p.name)), enumerations.of_parameter(op, p)
        free = from_struct or api.eager_default(op, p.name, kind)
        if p.name not in inputs:
            passed.append("null" if kind == "text" else "0")
        elif kind.startswith("in:"):
            declared.append(f"{HANDLE_CLASSES.get(kind[3:], 'NativeHandle')} {name}")
            passed.append(f"p[{len(objects)}]")
            objects.append(f'NativeHandle.{"free" if free else "need"}("{name}", {name})')
        elif kind == "text":
            declared.append(f"String {name}")
            passed.append(f"NativeHandle.text({name})")
        else:
            declared.append(f"{TYPES[kind]} {name}")
            checked = f'NativeHandle.unsigned("{name}", {name})' if kind == "u32" else name
            if e:
                checked = f'{e.name}.check("{name}", {name}, {str(bool(free)).lower()})'
                named.append(f"{name} is a constant of {e.name}.")
            passed.append(f"({name} ? 1 : 0)" if kind == "bool" else checked)
    outs = api.eager_outputs(op)
    passed += [f"o{i}" for i in range(len(outs))]
    doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
    doc += "\n\n" + " ".join(named) if named else ""
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


def operators(api, enumerations):
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
                lines += method(api, enumerations, op, inputs)
    return "\n".join(lines + ["}", ""])


def emit(api, enumerations, files):
    constants(enumerations, files)
    files["io/ruda/Built.java"] = (
        HEAD
        + f"final class Built {{\n  static final int LEVEL = {api.level};\n\n  private Built() {{}}\n}}\n"
    )
    files["io/ruda/Ops.java"] = operators(api, enumerations)
