# bindings/emit_csharp.py - the C# side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

from emit_c import HANDLE_CLASSES, camel, eager_name, noun
from emit_python import is_optional

HEAD = "// Made by bindings/generate.py.\n"
TYPES = {
    "u32": "uint",
    "i32": "int",
    "u64": "ulong",
    "i64": "long",
    "bool": "bool",
    "f32": "float",
    "f64": "double",
    "text": "string",
}
KEYWORDS = {
    "in",
    "out",
    "ref",
    "base",
    "this",
    "params",
    "object",
    "string",
    "event",
    "lock",
    "fixed",
    "checked",
    "operator",
    "internal",
    "is",
    "as",
    "new",
    "null",
    "true",
    "false",
    "default",
    "long",
    "int",
    "float",
    "double",
    "bool",
}


def safe(name):
    name = camel(name, lower=True)
    return "@" + name if name in KEYWORDS else name


def xml(doc, indent):
    text = doc.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    lines = [f"{indent}/// {line}".rstrip() for line in text.split("\n")]
    return "\n".join([f"{indent}/// <summary>", *lines, f"{indent}/// </summary>"])


def constants(api, enumerations):
    lines = [
        HEAD,
        "namespace Ruda {",
        "  static class Built {",
        f"    internal const uint Level = {api.level};",
        "    // Enumerations of which other numbers are taken too.",
        "    internal static readonly System.Type[] Open = { "
        + ", ".join(f"typeof({e.name})" for e in enumerations.all if e.is_open)
        + " };",
        "  }",
    ]
    for e in enumerations.all:
        signed = "int" if e.name == "Status" or any(n < 0 for _, n in e.members) else "uint"
        lines += [xml(e.doc, "  "), f"  public enum {e.name} : {signed} {{"]
        for m, n in e.members:
            if m in e.meanings:
                lines.append(xml(e.meanings[m], "    "))
            lines.append(f"    {constant(m)} = {n},")
        lines.append("  }")
    lines += ["}", "namespace Ruda.Interop {"]
    for handle in api.handles:
        name = camel(handle) + "Handle"
        lines += [
            f"  public sealed class {name} : RudaHandle {{",
            f"    internal static readonly {name} Null = Never(new {name}());",
            f'    internal override string Noun {{ get {{ return "{noun(handle)}"; }} }}',
            f'    internal override string Parameter {{ get {{ return "{handle.split("_")[-1]}"; }} }}',
            "  }",
        ]
    lines += ["}", ""]
    return "\n".join(lines)


def constant(member):
    """E_BAD_HANDLE -> EBadHandle, F32 -> F32, Q4_0 -> Q4_0."""
    if any(c.isdigit() for c in member):
        return member
    return "".join(word.capitalize() for word in member.split("_"))


def operators(api, enumerations):
    lines = [
        HEAD,
        "using Ruda.Interop;",
        "namespace Ruda {",
        "  /// <summary>Operators: each call makes its outputs.</summary>",
        "  public static class Ops {",
    ]
    for op in api.callable_ops():
        outs = api.eager_outputs(op)
        if any(kind != "tensor" for _, kind in outs):
            continue
        required, optional, passed = ["Stream stream"], [], ['Need.H("stream", stream)']
        checks = []
        for p, kind, from_struct in api.eager_inputs(op):
            name, e = safe(api.name_of(op, p.name)), enumerations.of_parameter(op, p)
            if e and kind == "u32":
                free = from_struct or api.eager_default(op, p.name, kind)
                declared, default = f"Choice<{e.name}> {name}", f"default(Choice<{e.name}>)"
                passed.append(f'{name}.Number("{name.lstrip("@")}", {str(bool(free)).lower()})')
            elif kind == "u32" and enumerations.takes_flag(op, p):
                declared, default = f"Flag {name}", "default(Flag)"
                passed.append(f'{name}.Number("{name.lstrip("@")}")')
            elif kind.startswith("in:"):
                declared, default = f"{class_of(kind[3:])} {name}", "null"
                free = from_struct or api.eager_default(op, p.name, kind)
                passed.append(
                    f'Need.Free("{name.lstrip("@")}", {name}, {camel(kind[3:])}Handle.Null)'
                    if free
                    else f'Need.H("{name.lstrip("@")}", {name})'
                )
            else:
                declared, default = f"{TYPES[kind]} {name}", {"bool": "false", "text": "null"}.get(
                    kind, "0"
                )
                text = f'Need.Text("{name.lstrip("@")}", {name})' if kind == "text" else name
                passed.append(f"({name} ? 1u : 0u)" if kind == "bool" else text)
            if unless := api.needed_unless(op, p, from_struct):
                checks += [
                    f"      if ({name} == 0 && {safe(unless)} == null)",
                    f'        throw new System.ArgumentException("{name} is 0, expected a number above 0 where '
                    f'{safe(unless)} is null", "{name}");',
                ]
            if from_struct or api.eager_default(op, p.name, kind):
                optional.append(f"{declared} = {default}")
            else:
                required.append(declared)
        passed += [f"out h{i}" for i in range(len(outs))]
        doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
        result = "Tensor" if len(outs) == 1 else "Tensor[]"
        made = ", ".join(f"Tensor.Wrap(h{i})" for i in range(len(outs)))
        lines += [
            xml(doc, "    "),
            f"    public static {result} {camel(op.name)}({', '.join(required + optional)}) {{",
            *checks,
            *(f"      TensorHandle h{i};" for i in range(len(outs))),
            f"      RudaNative.{eager_name(api, op)}({', '.join(passed)});",
            f"      return {made};" if len(outs) == 1 else f"      return new[] {{ {made} }};",
            "    }",
        ]
    lines += [
        "  }",
        "",
        "  /// <summary>Plans: one method an operator; see PlanBuilder.</summary>",
        "  public static class Plans {",
    ]
    for op in api.plannable():
        operands, required, optional, body = ["Context context"], [], [], []
        for f, kind, part in api.fillable(op):
            if not kind:
                continue
            named = api.name_of(op, f.name)
            name, type_ = safe(named), {
                "TENSOR": "Operand",
                "HANDLE": "NativeObject",
                "TEXT": "string",
            }.get(kind)
            if kind.endswith("_ARRAY"):
                type_ = "double[]" if kind[0] == "F" else "long[]"
            elif not type_:
                type_ = {"F": "double", "B": "bool", "U64": "ulong"}.get(kind if kind == "U64" else kind[0], "long")
            if kind == "U32" and enumerations.is_flag(f):
                type_ = "Flag"
            is_value = type_ in ("double", "bool", "long", "ulong", "Flag")
            given, e = name, enumerations.of_field(f) if kind == "U32" else None
            if e and is_optional(api, op, f, kind, part) and "has no default" not in f.comment:
                optional.append(f"Choice<{e.name}> {name} = default(Choice<{e.name}>)")
            elif e:
                required.append(f"Choice<{e.name}> {name}")
            elif is_optional(api, op, f, kind, part):
                optional.append(f"{type_}{'?' if is_value else ''} {name} = null")
            else:
                (operands if kind == "TENSOR" else required).append(f"{type_} {name}")
                given = name if is_value else f'Need.Given("{name.lstrip("@")}", {name})'
            body.append(f'.Set("{named}", {given})')
        arguments = [*operands, *required, *optional, "PlanOptions options = null"]
        lines += [
            xml(op.desc.doc + "\n\n" + op.plan_create.doc, "    "),
            f"    public static Plan {camel(op.name)}({', '.join(arguments)}) {{",
            f'      return new PlanBuilder("{op.name}"){"".join(body)}.Options(options).Create(context);',
            "    }",
        ]
    lines += ["  }", "}", ""]
    return "\n".join(lines)


def class_of(handle):
    return HANDLE_CLASSES.get(handle, f"NativeObject<{camel(handle)}Handle>")


def emit(api, enumerations, files):
    files["Constants.cs"] = constants(api, enumerations)
    files["Ops.cs"] = operators(api, enumerations)
