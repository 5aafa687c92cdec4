# bindings/emit_java.py - the Java side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""
from emit_c import camel

HEAD = "// Made by bindings/generate.py.\npackage io.ruda;\n\n"
TYPES = {"u32": "int", "i32": "int", "u64": "long", "i64": "long", "bool": "boolean", "f32": "float", "f64": "double",
         "text": "String"}
KEYWORDS = {"in", "final", "new", "this", "super", "int", "long", "float", "double", "boolean", "byte", "short", "char",
            "default", "switch", "case", "package", "import", "class", "native", "volatile", "transient", "static"} - {"in"}
CLASSES = {"context": "Context", "stream": "Stream", "tensor": "Tensor", "plan": "Plan", "cancel": "CancelToken",
           "workspace": "Workspace", "event": "Event"}


def safe(name):
    name = camel(name, lower=True)
    return name + "_" if name in KEYWORDS else name


def javadoc(doc, indent):
    text = doc.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("*/", "* /").replace("@", "&#64;")
    lines = text.replace("\\", "&#92;").split("\n")
    return "\n".join([f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"])


def constants(groups, files):
    for name, members, doc in groups:
        lines = [HEAD + javadoc(doc or f"Constants of {name}.", ""), f"public final class {name} {{", f"  private {name}() {{}}"]
        lines += [f"  public static final int {m} = {n if n < 1 << 31 else n - (1 << 32)};" for m, n in members]
        lines += ["", "  /** The name of a constant, or its number as text. */", "  public static String name(int value) {",
                  "    switch (value) {"]
        seen = set()
        for m, n in members:
            if n not in seen:
                lines.append(f'      case {m}: return "{m}";')
                seen.add(n)
        lines += ["      default: return Integer.toString(value);", "    }", "  }", "}", ""]
        files[f"io/ruda/{name}.java"] = "\n".join(lines)


def operators(api):
    lines = [HEAD + "import io.ruda.internal.Raw;\n", "/** Operators: each call makes its outputs. */",
             "public final class Ops {", "  private Ops() {}"]
    for op in api.ops:
        if not api.eager_is_flat(op):
            continue
        kinds = api.eager_kinds(op.eager)
        outs = [p for p, kind in kinds if kind.startswith("out:")]
        if any(kind.startswith("out:") and kind != "out:tensor" for _, kind in kinds):
            continue
        declared, passed, objects = [], [], []
        for p, kind in kinds:
            name = safe(p.name)
            if kind.startswith("in:"):
                declared.append(f"{CLASSES.get(kind[3:], 'NativeHandle')} {name}")
                passed.append(f"p[{len(objects)}]")
                objects.append(name)
            elif kind.startswith("out:"):
                passed.append(f"o{len([1 for q in passed if q.startswith('o') and q[1:].isdigit()])}")
            elif kind == "text":
                declared.append(f"String {name}")
                passed.append(f"NativeHandle.text({name})")
            else:
                declared.append(f"{TYPES[kind]} {name}")
                passed.append(f"({name} ? 1 : 0)" if kind == "bool" else name)
        doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
        made = [f"    long[] o{i} = new long[1];" for i in range(len(outs))]
        value = "Tensor.of(o0[0])" if len(outs) == 1 else \
            "new Tensor[] {" + ", ".join(f"Tensor.of(o{i}[0])" for i in range(len(outs))) + "}"
        lines += ["", javadoc(doc, "  "),
                  f"  public static {'Tensor' if len(outs) == 1 else 'Tensor[]'} {camel(op.name, lower=True)}({', '.join(declared)}) {{",
                  *made, f"    NativeHandle.with(p -> Raw.{op.eager.name}({', '.join(passed)}), {', '.join(objects)});",
                  f"    return {value};", "  }"]
    return "\n".join(lines + ["}", ""])


def emit(api, groups, files):
    constants(groups, files)
    files["io/ruda/Built.java"] = HEAD + f"final class Built {{\n  static final int LEVEL = {api.level};\n\n  private Built() {{}}\n}}\n"
    files["io/ruda/Ops.java"] = operators(api)
