# bindings/emit_python.py - the Python side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

import keyword

from emit_c import camel, eager_name

HEAD = '"""{}"""\n# Made by bindings/generate.py.\n'
NAMED = '''
class Named(enum.IntEnum):
    """A number that is written by its name, in every version of Python."""

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, spec):
        return format(int(self), spec) if spec else str(self)

'''
SCALAR_HINT = {
    "u32": "int",
    "i32": "int",
    "u64": "int",
    "i64": "int",
    "bool": "bool",
    "f32": "float",
    "f64": "float",
    "text": "str",
}


def safe(name):
    return name + "_" if keyword.iskeyword(name) else name


def quote(doc, indent):
    text = doc.replace("\\", "\\\\").replace('"""', "'''")
    return '"""' + text.replace("\n", "\n" + indent) + '"""'


def constants(api, groups):
    lines = [HEAD.format("Constants of the C API."), "import enum\n", f"API_LEVEL = {api.level}\n", NAMED]
    stub = ["import enum\n", "API_LEVEL: int\n", "class Named(enum.IntEnum): ...\n"]
    for name, members, doc in groups:
        body = [f"class {name}(Named):"]
        if doc:
            body.append(f"    {quote(doc, '    ')}")
        # Two enums of one prefix share a class; where their numbers meet it is no enum, which would merge
        # their names.
        if len({n for _, n in members}) < len(members):
            body[0] = f"class {name}:"
        flat = [f"    {safe(m)} = {n}" for m, n in members]
        lines += ["", *body, *flat, ""]
        stub += ["", body[0], *flat, ""]
    lines += [f"__all__ = {[name for name, _, _ in groups]!r}", ""]
    return "\n".join(lines), "\n".join(stub) + "\n"


def default_of(kind):
    return {"in:": "None", "tex": "None", "boo": "False", "f32": "0.0", "f64": "0.0"}.get(kind[:3], "0")


def is_dtype(name):
    return name == "dtype" or name.endswith("_dtype")


def hint(kind, name):
    if is_dtype(name):
        return "AnyDType"
    if kind.startswith("in:"):
        return camel(kind[3:]) if kind[3:] in ("tensor", "stream", "cancel") else "Handle"
    return SCALAR_HINT[kind]


def operators(api):
    lines = [
        HEAD.format("Operators: each call makes its outputs."),
        "from . import _raw",
        "from ._core import given, op_stream, optional, wrap",
        "from ._numbers import axis_mask, needed",
        "from ._tensor import dtype_or_default\n",
    ]
    stub = [
        "from typing import Optional, Sequence, Tuple, Union",
        "from ._core import AnyDType, Cancel, Handle, Stream, Tensor\n",
    ]
    names = []
    for op in api.callable_ops():
        outs = [kind for _, kind in api.eager_outputs(op)]
        # Required ones in order, then those with a default; the stream and the fields of a struct by name
        # only.
        required, optional, named, handles, passed, checks = [], [], [], [], ["s"], []
        for p, kind, from_struct in api.eager_inputs(op):
            name = safe(p.name)
            default = default_of(kind)
            if kind.startswith("in:"):
                handles.append(name)
                free = from_struct or api.eager_default(op, p.name, kind)
                passed.append(f'{"optional" if free else "given"}({name}, "{kind[3:]}", "{p.name}")')
            elif api.is_mask(op, p.name):
                passed.append(f'axis_mask("{p.name}", {name}, {safe(api.axes_operand(op))})')
                default = "None"
            else:
                passed.append(f"dtype_or_default({name})" if is_dtype(name) else name)
            said = MASK_HINT if api.is_mask(op, p.name) else hint(kind, name)
            if unless := api.needed_unless(op, p, from_struct):
                default = "None"
                checks.append(f'    {name} = needed("{p.name}", {name}, "{unless}", {safe(unless)})')
            if from_struct or api.eager_default(op, p.name, kind):
                typed = f"Optional[{said}] = None" if default == "None" else f"{said} = ..."
                (named if from_struct else optional).append((f"{name}={default}", f"{name}: {typed}"))
            else:
                required.append((name, f"{name}: {said}"))
        positional = required + optional
        keywords = named + [("stream=None", "stream: Optional[Stream] = None")]
        doc = (op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc
        doc += mask_doc(api, op)
        call = f"_raw.{eager_name(api, op)}({', '.join(passed)})"
        lines += [
            "",
            f"def {safe(op.name)}({', '.join(a for a, _ in [*positional, ('*', '*'), *keywords])}):",
            f"    {quote(doc, '    ')}",
            *checks,
            f"    s, context = op_stream({', '.join(['stream', *handles])})",
        ]
        if len(outs) == 1:
            lines.append(f'    return wrap("{outs[0]}", {call}, context)')
        else:
            lines += [
                f"    made = {call}",
                "    return ("
                + ", ".join(f'wrap("{k}", made[{i}], context)' for i, k in enumerate(outs))
                + ")",
            ]
        lines.append("")
        result = (
            "Tensor" if len(outs) == 1 else "Tuple[" + ", ".join("Optional[Tensor]" for _ in outs) + "]"
        )
        typed = [t for _, t in positional] + ["*"] + [t for _, t in keywords]
        stub.append(f"def {safe(op.name)}({', '.join(typed)}) -> {result}: ...")
        names.append(safe(op.name))
    lines.append(f"\n__all__ = {names!r}\n")
    return "\n".join(lines), "\n".join(stub) + "\n"


MASK_HINT = "Union[int, Sequence[int]]"


def mask_doc(api, op):
    """What a mask of the C API is in Python."""
    masks = [f.name for f in op.desc.fields if api.is_mask(op, f.name)] if op.desc else []
    return "".join(
        f"\n\nIn Python {name} is an axis or a sequence of axes of {api.axes_operand(op)}, negative ones "
        "counted from the end; None = all."
        for name in masks
    )


FIELD_HINT = {"TENSOR": "Operand", "HANDLE": "Handle", "TEXT": "str"}


def field_hint(kind, name):
    if is_dtype(name):
        return "AnyDType"
    if kind.endswith("_ARRAY"):
        return "Sequence[float]" if kind[0] == "F" else "Sequence[int]"
    return FIELD_HINT.get(kind) or {"F": "float", "B": "bool"}.get(kind[0], "int")


def is_optional(api, op, field, kind, part):
    """Operands and real numbers of the descriptor itself are required unless their comment names a default,
    and so is what has none by its comment."""
    if part == 0 and "has no default" in field.comment:
        return False
    return part > 0 or api.has_default(op, field.name) or kind not in ("TENSOR", "F32", "F64")


def plans(api):
    lines = [
        HEAD.format("Plans: one function an operator; operands are tensors or TensorDesc."),
        "from ._numbers import axis_mask",
        "from ._plan import Plan, make\n",
    ]
    stub = [
        "from typing import Any, Optional, Sequence, Union",
        "from ._core import AnyDType, Context, Handle, Tensor",
        "from ._plan import Plan, TensorDesc\n",
        "Operand = Union[Tensor, TensorDesc]\n",
    ]
    names = []
    for op in api.plannable():
        arguments, typed, passed, needed = [], [], [], []
        for f, kind, part in api.fillable(op):
            if not kind:
                continue
            name, optional = safe(f.name), is_optional(api, op, f, kind, part)
            mask = api.is_mask(op, f.name)
            said = MASK_HINT if mask else field_hint(kind, name)
            arguments.append(f"{name}=None" if optional else name)
            typed.append(f"{name}: Optional[{said}] = None" if optional else f"{name}: {said}")
            value = f'axis_mask("{f.name}", {name}, {safe(api.axes_operand(op))})' if mask else name
            passed.append(f'"{api.name_of(op, f.name)}": {value}')
            if not optional:
                needed.append(api.name_of(op, f.name))
        doc = op.desc.doc + "\n\n" + op.plan_create.doc + mask_doc(api, op)
        lines += [
            "",
            f"def {safe(op.name)}(context, *, {', '.join(arguments)}, **options):",
            f"    {quote(doc, '    ')}",
            f'    return make(context, "{op.name}", {{{", ".join(passed)}}}, options, {tuple(needed)!r})',
            "",
        ]
        stub.append(
            f"def {safe(op.name)}(context: Context, *, {', '.join(typed)}, **options: Any) -> Plan: ..."
        )
        names.append(safe(op.name))
    lines.append(f"\n__all__ = {names!r}\n")
    return "\n".join(lines), "\n".join(stub) + "\n"


def emit(api, groups, files):
    files["_constants.py"], files["_constants.pyi"] = constants(api, groups)
    files["_ops.py"], files["_ops.pyi"] = operators(api)
    files["plans.py"], files["plans.pyi"] = plans(api)
