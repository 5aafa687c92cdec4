# bindings/emit_java.py - the Java side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

from emit_c import HANDLE_CLASSES, camel, eager_name
from grammar import SCALARS

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
    return ", ".join(e.names) + (", or a number from 0 to 4294967295" if e.is_open else "")


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
            "  /** The name of a constant; of any other number its digits: name(999) is \"999\". */",
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
            '  public static int of(String name) { return of("name", name); }',
            "",
            "  static int of(String parameter, String name) {",
            '    switch (NativeHandle.need(parameter, name, "a text").toUpperCase(java.util.Locale.ROOT)) {',
            *(f'      case "{m}": return {m};' for m, _ in e.members),
            '      default: throw new IllegalArgumentException(parameter + " is " + NativeHandle.quoted(name) + ", expected one of '
            f'{e.name}: " + NAMES);',
            "    }",
            "  }",
        ]
        passes = "value > 0 || (unset && value == 0)" if e.is_open else "unset && value == 0"
        more = ", a sum of them or another number" if e.is_open else ""
        lines += CHECK.format(name=e.name, cases=", ".join(first.values()), passes=passes, more=more).split("\n")
        files[f"io/ruda/{e.name}.java"] = "\n".join([*lines[:-1], "}", ""])


def options_of(api, op):
    """(parameter, struct) where an eager form takes a struct of many options, else None."""
    structs = [(p.name, api.structs[kind[7:]]) for p, kind in api.eager_kinds(op.eager) if kind.startswith("struct:")]
    return next(((name, struct) for name, struct in structs if len(api.struct_scalars(struct.name)) > 8), None)


def options_class(api, enumerations, struct):
    """What an options struct is in Java: public fields, and setters that may follow each other."""
    name = camel(struct.name[5:])
    lines = [HEAD + javadoc(struct.doc + "\n\nZero in any field means its default, where it has one.", ""), f"public final class {name} {{"]
    fields = api.struct_scalars(struct.name)
    lines += [f"  public {TYPES[SCALARS[f.type]]} {safe(f.name)};" for f in fields]
    for f in fields:
        field, e = safe(f.name), enumerations.of_field(f)
        doc = javadoc(f"A constant of {e.name}." if e else f.comment, "  ")
        setters = [(TYPES[SCALARS[f.type]], field)] + ([("String", f'{e.name}.of("{field}", {field})')] if e else [])
        for type_, value in setters:
            lines += ["", doc.replace("A constant of", "The name of a constant of") if type_ == "String" else doc]
            lines += [f"  public {name} {field}({type_} {field}) {{", f"    this.{field} = {value};", "    return this;", "  }"]
    return name, "\n".join([*lines, "}", ""])


def method(api, enumerations, op, inputs, kind_of=None, options=None):
    """One overload: with the given inputs, those with a default last, the others at it. kind_of gives some another type:
    {name: (type, call)}, where the call makes what the other overload takes. options: as of options_of where the
    overload takes them as an object."""
    passed, objects = ["p[0]"], ['NativeHandle.need("stream", stream)']
    named, parameters, kind_of, checks = [], ([], []), kind_of or {}, []
    for p, kind, from_struct in api.eager_inputs(op):
        name, e = safe(api.name_of(op, p.name)), enumerations.of_parameter(op, p)
        free = from_struct or api.eager_default(op, p.name, kind)

        def declare(type_):
            given = kind_of[p.name] if p.name in kind_of else (type_, name)
            parameters[1 if free else 0].append((f"{given[0]} {name}", given[1]))

        if options and from_struct:
            value = f"{safe(options[0])}.{name}"
            checked = f'{e.name}.check("{name}", {value}, true)' if e else value
            passed.append(f"({value} ? 1 : 0)" if kind == "bool" else checked)
            if unless := api.needed_unless(op, p, from_struct):
                absent = f"{safe(unless)} == null && " if unless in inputs else ""
                checks += [
                    f"    if ({absent}{value} == 0)",
                    f'      throw new IllegalArgumentException("{name} is 0, expected a number above 0 where '
                    f'{safe(unless)} is null");',
                ]
        elif p.name not in inputs:
            passed.append("null" if kind == "text" else "0")
        elif kind.startswith("in:"):
            declare(HANDLE_CLASSES.get(kind[3:], "NativeHandle"))
            passed.append(f"p[{len(objects)}]")
            objects.append(f'NativeHandle.{"free" if free else "need"}("{name}", {name})')
        elif kind == "text":
            declare("String")
            passed.append(f'NativeHandle.text("{name}", {name})')
        else:
            declare(TYPES[kind])
            checked = f'NativeHandle.unsigned("{name}", {name})' if kind == "u32" else name
            if e:
                checked = f'{e.name}.check("{name}", {name}, {str(bool(free)).lower()})'
                of_a_name = p.name in kind_of
                named.append(f"{name} is {'the name of ' * of_a_name}a constant of {e.name}{', in any case' * of_a_name}.")
            passed.append(f"({name} ? 1 : 0)" if kind == "bool" else checked)
    declared = ["Stream stream", *(declaration for some in parameters for declaration, _ in some)]
    forwarded = ["stream", *(given for some in parameters for _, given in some)]
    if options:
        type_, name = camel(options[1].name[5:]), safe(options[0])
        declared.append(f"{type_} {name}")
        checks.insert(0, f'    NativeHandle.need("{name}", {name}, "a {type_}");')
    outs = api.eager_outputs(op)
    passed += [f"o{i}" for i in range(len(outs))]
    doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
    doc += "\n\n" + " ".join(named) if named else ""
    made = ", ".join(f"Tensor.of(o{i}[0])" for i in range(len(outs)))
    result = "Tensor" if len(outs) == 1 else "Tensor[]"
    head = ["", javadoc(doc, "  "), f"  public static {result} {camel(op.name, lower=True)}({', '.join(declared)}) {{"]
    if kind_of:
        return [*head, f"    return {camel(op.name, lower=True)}({', '.join(forwarded)});", "  }"]
    return [
        *head,
        *checks,
        *(f"    long[] o{i} = new long[1];" for i in range(len(outs))),
        f"    NativeHandle.with(p -> Raw.{eager_name(api, op)}({', '.join(passed)}), {', '.join(objects)});",
        f"    return {made};" if len(outs) == 1 else f"    return new Tensor[] {{{made}}};",
        "  }",
    ]


OPS = """/**
 * Operators: each call makes its outputs.
 *
 * <p>A parameter that takes an enumeration is an int, a constant of the class of that name: op of binary is Binary.ADD. The
 * compiler cannot tell the constants of two classes apart, so Unary.ABS there is whatever Binary has by its number. The
 * overloads that take a name, binary(stream, a, b, "add"), can: what is no name of a Binary is refused.
 *
 * <p>Many options are an object, such as RopeParams; there are overloads with the common ones.
 */"""


def operators(api, enumerations):
    lines = [
        HEAD + "import io.ruda.internal.Raw;\n",
        OPS,
        "public final class Ops {",
        "  private Ops() {}",
    ]
    for op in api.callable_ops():
        if any(kind != "tensor" for _, kind in api.eager_outputs(op)):
            continue
        # All inputs, but for many options; those that are no field of an options struct; those without a default.
        every = api.eager_inputs(op)
        plain = [(p, kind) for p, kind, from_struct in every if not from_struct]
        needed = [p.name for p, kind in plain if not api.eager_default(op, p.name, kind)]
        options = options_of(api, op)
        if options:
            for inputs in ([p.name for p, _ in plain], needed):
                lines += method(api, enumerations, op, inputs, options=options)
        needed += [p.name for p, _, from_struct in every if api.needed_unless(op, p, from_struct)]
        overloads = [[p.name for p, _ in plain], needed]
        if options:  # the first that is an enumeration, with either
            first = [p.name for p, _, from_struct in every if from_struct and enumerations.of_parameter(op, p)][:1]
            overloads += [[*inputs, *first] for inputs in overloads]
        else:
            overloads.insert(0, [p.name for p, _, _ in every])
        for i, inputs in enumerate(overloads):
            if any(sorted(inputs) == sorted(other) for other in overloads[:i]):
                continue
            lines += method(api, enumerations, op, inputs)
            flags, texts = {}, {}
            for p, kind in plain:
                name, e = safe(api.name_of(op, p.name)), enumerations.of_parameter(op, p)
                if p.name in inputs and kind == "u32" and enumerations.takes_flag(op, p):
                    flags[p.name] = ("boolean", f"{name} ? 1 : 0")
                if p.name in needed and kind == "u32" and e:
                    texts[p.name] = ("String", f'{e.name}.of("{name}", {name})')
            for kind_of in (flags, texts):
                if kind_of:
                    lines += method(api, enumerations, op, inputs, kind_of)
    return "\n".join(lines + ["}", ""])


def emit(api, enumerations, files):
    constants(enumerations, files)
    files["io/ruda/Built.java"] = (
        HEAD
        + f"final class Built {{\n  static final int LEVEL = {api.level};\n\n  private Built() {{}}\n}}\n"
    )
    files["io/ruda/Ops.java"] = operators(api, enumerations)
    for op in api.callable_ops():
        if options := options_of(api, op):
            name, text = options_class(api, enumerations, options[1])
            files[f"io/ruda/{name}.java"] = text
