# bindings/emit_python.py - the Python side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""
import keyword

from emit_c import camel, usable

HEAD = '"""{}"""\n# Made by bindings/generate.py.\n'
SCALAR_HINT = {"u32": "int", "i32": "int", "u64": "int", "i64": "int", "bool": "bool", "f32": "float", "f64": "float",
               "text": "str"}


def safe(name):
    return name + "_" if keyword.iskeyword(name) else name


def quote(doc, indent):
    text = doc.replace("\\", "\\\\").replace('"""', "'''")
    return '"""' + text.replace("\n", "\n" + indent) + '"""'


def constants(api, groups):
    lines = [HEAD.format("Constants of the C API."), "import enum\n", f"API_LEVEL = {api.level}\n"]
    stub = ["import enum\n", "API_LEVEL: int\n"]
    for name, members, doc in groups:
        body = [f"class {name}(enum.IntEnum):"]
        if doc:
            body.append(f"    {quote(doc, '    ')}")
        flat = [f"    {safe(m)} = {n}" for m, n in members]
        lines += ["", *body, *flat, ""]
        stub += ["", f"class {name}(enum.IntEnum):", *flat, ""]
    lines += [f"__all__ = {[name for name, _, _ in groups]!r}", ""]
    return "\n".join(lines), "\n".join(stub) + "\n"


def eager_parameters(api, op):
    """Parameters of the Python function: the required ones in order, then those with a default."""
    inputs = [(p, kind) for p, kind in api.eager_kinds(op.eager)[1:] if not kind.startswith("out:")]
    required, optional = [], []
    for p, kind in inputs:
        (optional if api.has_default(op, p.name) else required).append((p, kind))
    return required, optional


def default_of(kind):
    return {"in:": "None", "tex": "None", "boo": "False", "f32": "0.0", "f64": "0.0"}.get(kind[:3], "0")


def hint(kind):
    if kind.startswith("in:"):
        return camel(kind[3:]) if kind[3:] in ("tensor", "stream", "cancel") else "Handle"
    return SCALAR_HINT[kind]


def operators(api):
    lines = [HEAD.format("Operators: each call makes its outputs."), "from . import _raw",
             "from ._core import given, op_stream, wrap\n"]
    stub = ["from typing import Optional, Tuple", "from ._core import Cancel, Handle, Stream, Tensor\n"]
    names = []
    for op in api.ops:
        if not api.eager_is_flat(op):
            continue
        required, optional = eager_parameters(api, op)
        outs = [p.name for p, kind in api.eager_kinds(op.eager) if kind.startswith("out:")]
        out_kinds = [kind[4:] for _, kind in api.eager_kinds(op.eager) if kind.startswith("out:")]
        arguments = [safe(p.name) for p, _ in required]
        typed = [f"{safe(p.name)}: {hint(kind)}" for p, kind in required]
        arguments += [f"{safe(p.name)}={default_of(kind)}" for p, kind in optional]
        typed += [f"{safe(p.name)}: " + (f"Optional[{hint(kind)}] = None" if default_of(kind) == "None" else
                                         f"{hint(kind)} = ...") for p, kind in optional]
        handles = [safe(p.name) for p, kind in required + optional if kind.startswith("in:")]
        passed = ["s"]
        for p, kind in api.eager_kinds(op.eager)[1:]:
            if kind.startswith("in:"):
                passed.append(f'given({safe(p.name)}, "{kind[3:]}", "{p.name}")')
            elif not kind.startswith("out:"):
                passed.append(safe(p.name))
        doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
        call = f"_raw.{op.eager.name}({', '.join(passed)})"
        lines += ["", f"def {safe(op.name)}({', '.join(arguments + ['*', 'stream=None'])}):", f"    {quote(doc, '    ')}",
                  f"    s, context = op_stream({', '.join(['stream', *handles])})"]
        if len(outs) == 1:
            lines.append(f'    return wrap("{out_kinds[0]}", {call}, context)')
        else:
            lines += [f"    made = {call}",
                      "    return (" + ", ".join(f'wrap("{k}", made[{i}], context)' for i, k in enumerate(out_kinds)) + ")"]
        lines.append("")
        result = "Tensor" if len(outs) == 1 else "Tuple[" + ", ".join("Optional[Tensor]" for _ in outs) + "]"
        stub.append(f"def {safe(op.name)}({', '.join(typed + ['*', 'stream: Optional[Stream] = None'])}) -> {result}: ...")
        names.append(safe(op.name))
    lines.append(f"\n__all__ = {names!r}\n")
    return "\n".join(lines), "\n".join(stub) + "\n"


FIELD_HINT = {"TENSOR": "Operand", "HANDLE": "Handle", "TEXT": "str"}


def plans(api):
    lines = [HEAD.format("Plans: one function an operator; operands are tensors or TensorDesc."),
             "from ._plan import Plan, make\n"]
    stub = ["from typing import Any, Optional, Sequence, Union", "from ._core import Context, Handle, Tensor",
            "from ._plan import Plan, TensorDesc\n", "Operand = Union[Tensor, TensorDesc]\n"]
    names = []
    for op in usable(api):
        fields = [(f, kind) for f, kind in api.fillable(op.desc) if kind]
        arguments, typed, passed = [], [], []
        for f, kind in fields:
            if kind in FIELD_HINT:
                what = FIELD_HINT[kind]
            elif kind.endswith("_ARRAY"):
                what = "Sequence[float]" if kind[0] == "F" else "Sequence[int]"
            else:
                what = {"F": "float", "B": "bool"}.get(kind[0], "int")
            optional = api.has_default(op, f.name) or kind not in ("TENSOR", "F32", "F64")
            arguments.append(f"{safe(f.name)}=None" if optional else safe(f.name))
            typed.append(f"{safe(f.name)}: Optional[{what}] = None" if optional else f"{safe(f.name)}: {what}")
            passed.append(f'"{f.name}": {safe(f.name)}')
        doc = op.desc.doc + "\n\n" + op.plan_create.doc
        lines += ["", f"def {safe(op.name)}(context, *, {', '.join(arguments)}, **options):", f"    {quote(doc, '    ')}",
                  f'    return make(context, "{op.name}", {{{", ".join(passed)}}}, options)', ""]
        stub.append(f"def {safe(op.name)}(context: Context, *, {', '.join(typed)}, **options: Any) -> Plan: ...")
        names.append(safe(op.name))
    lines.append(f"\n__all__ = {names!r}\n")
    return "\n".join(lines), "\n".join(stub) + "\n"


def emit(api, groups, files):
    files["_constants.py"], files["_constants.pyi"] = constants(api, groups)
    files["_ops.py"], files["_ops.pyi"] = operators(api)
    files["plans.py"], files["plans.pyi"] = plans(api)
