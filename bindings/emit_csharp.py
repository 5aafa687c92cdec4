# bindings/emit_csharp.py - the C# side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""
from emit_c import camel, usable

HEAD = "// Made by bindings/generate.py.\n"
TYPES = {"u32": "uint", "i32": "int", "u64": "ulong", "i64": "long", "bool": "bool", "f32": "float", "f64": "double",
         "text": "string"}
KEYWORDS = {"in", "out", "ref", "base", "this", "params", "object", "string", "event", "lock", "fixed", "checked", "operator",
            "internal", "is", "as", "new", "null", "true", "false", "default", "long", "int", "float", "double", "bool"}


def safe(name):
    name = camel(name, lower=True)
    return "@" + name if name in KEYWORDS else name


def xml(doc, indent):
    text = doc.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    lines = [f"{indent}/// {line}".rstrip() for line in text.split("\n")]
    return "\n".join([f"{indent}/// <summary>", *lines, f"{indent}/// </summary>"])


def constants(api, groups):
    lines = [HEAD, "namespace Ruda {", "  static class Built {", f"    internal const uint Level = {api.level};", "  }"]
    for name, members, doc in groups:
        signed = "int" if name == "Status" or any(n < 0 for _, n in members) else "uint"
        if doc:
            lines.append(xml(doc, "  "))
        lines += [f"  public enum {name} : {signed} {{"] + [f"    {constant(m)} = {n}," for m, n in members] + ["  }"]
    lines += ["}", "namespace Ruda.Interop {"]
    for handle in api.handles:
        name = camel(handle) + "Handle"
        lines += [f"  public sealed class {name} : RudaHandle {{", f"    internal static readonly {name} Null = Never(new {name}());",
                  "  }"]
    lines += ["}", ""]
    return "\n".join(lines)


def constant(member):
    """E_BAD_HANDLE -> EBadHandle, F32 -> F32, Q4_0 -> Q4_0."""
    if any(c.isdigit() for c in member):
        return member
    return "".join(word.capitalize() for word in member.split("_"))


def operators(api):
    lines = [HEAD, "using Ruda.Interop;", "namespace Ruda {", "  /// <summary>Operators: each call makes its outputs.</summary>",
             "  public static class Ops {"]
    for op in api.ops:
        if not api.eager_is_flat(op):
            continue
        kinds = api.eager_kinds(op.eager)
        outs = [(p, kind) for p, kind in kinds if kind.startswith("out:")]
        if any(kind != "out:tensor" for _, kind in outs):
            continue
        declared, passed, before = [], [], []
        for p, kind in kinds:
            name = safe(p.name)
            if kind.startswith("in:"):
                handle = kind[3:]
                declared.append(f"{class_of(handle)} {name}")
                passed.append(f"NativeObject.Raw({name}, {camel(handle)}Handle.Null)" if handle != "stream"
                              else f"NativeObject.Raw({name}, StreamHandle.Null)")
            elif kind.startswith("out:"):
                before.append(f"      TensorHandle h{len(before)};")
                passed.append(f"out h{len(before) - 1}")
            else:
                declared.append(f"{TYPES[kind]} {name}")
                passed.append(f"({name} ? 1u : 0u)" if kind == "bool" else name)
        doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
        result = "Tensor" if len(outs) == 1 else "Tensor[]"
        value = "Tensor.Wrap(h0)" if len(outs) == 1 else \
            "new[] { " + ", ".join(f"Tensor.Wrap(h{i})" for i in range(len(outs))) + " }"
        lines += [xml(doc, "    "), f"    public static {result} {camel(op.name)}({', '.join(declared)}) {{", *before,
                  f"      RudaNative.{op.eager.name}({', '.join(passed)});", f"      return {value};", "    }"]
    lines += ["  }", "", "  /// <summary>Plans: one method an operator; see PlanBuilder.</summary>", "  public static class Plans {"]
    for op in usable(api):
        required, optional, body = [], [], []
        for f, kind in api.fillable(op.desc):
            if not kind:
                continue
            name, has_default = safe(f.name), api.has_default(op, f.name) or kind not in ("TENSOR", "F32", "F64")
            if kind == "TENSOR":
                type_, value = "Operand?", name
            elif kind == "HANDLE":
                type_, value = "NativeObject", name
            elif kind == "TEXT":
                type_, value = "string", name
            elif kind.endswith("_ARRAY"):
                type_, value = ("double[]" if kind[0] == "F" else "long[]"), name
            else:
                type_, value = {"F": "double?", "B": "bool?"}.get(kind[0], "long?"), name
            if not has_default:
                required.append(f"{type_.rstrip('?') if type_ != 'Operand?' else 'Operand'} {name}")
            else:
                optional.append(f"{type_} {name} = null")
            body.append(f'.Set("{f.name}", {value})')
        arguments = ["Context context", *required, *optional, "PlanOptions options = null"]
        lines += [xml(op.desc.doc + "\n\n" + op.plan_create.doc, "    "),
                  f"    public static Plan {camel(op.name)}({', '.join(arguments)}) {{",
                  f'      return new PlanBuilder("{op.name}"){"".join(body)}.Options(options).Create(context);', "    }"]
    lines += ["  }", "}", ""]
    return "\n".join(lines)


CLASSES = {"context": "Context", "stream": "Stream", "tensor": "Tensor", "plan": "Plan", "cancel": "CancelToken",
           "workspace": "Workspace", "event": "Event"}


def class_of(handle):
    return CLASSES.get(handle, f"NativeObject<{camel(handle)}Handle>")


def emit(api, groups, files):
    files["Constants.cs"] = constants(api, groups)
    files["Ops.cs"] = operators(api)
