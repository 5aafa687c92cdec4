# bindings/emit_python.py - the Python side of operators and constants.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

import keyword
import re
import textwrap

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
NAMED_STUB = (
    "class Named(enum.IntEnum):  # type: ignore[misc]  # it has no members of its own",
    "    def __str__(self) -> str: ...",
    "    def __format__(self, spec: str) -> str: ...\n",
)
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


def constants(api, enumerations):
    lines = [HEAD.format("Constants of the C API."), "import enum\n", f"API_LEVEL = {api.level}\n", NAMED]
    stub = ["import enum\n", "API_LEVEL: int\n", *NAMED_STUB]
    for e in enumerations.all:
        # Where numbers of a shared prefix meet it is no enum, which would merge their names: its members are
        # those of the enums that it joins.
        owners = {member: part.name for part in e.parts for member, _ in part.members}
        body = [f"class {e.name}:" if e.has_doubles else f"class {e.name}(Named):"]
        doc = e.doc + ("\n" if e.meanings else "") + "".join(f"\n  {m}  {e.meanings[m]}" for m, _ in e.members if m in e.meanings)
        lines += ["", *body, f"    {quote(doc, '    ')}\n"]
        lines += [f"    {safe(m)} = {f'{owners[m]}.{safe(m)}' if e.has_doubles else n}" for m, n in e.members]
        stub += ["", *body, *(f"    {safe(m)} = {owners.get(m, '') + '.' + safe(m) if e.has_doubles else n}"
                              for m, n in e.members), ""]
        lines.append("")
    is_open = [e.name for e in enumerations.all if e.is_open]
    lines += [f"\nOPEN = {{{', '.join(is_open)}}}  # take other numbers too", ""]
    # Dtypes are names of the package by themselves: ruda.F32.
    dtypes = [m for e in enumerations.all if e.name == "DType" for m, _ in e.members]
    alone = [*(f"{m} = DType.{m}" for m in dtypes), ""]
    public = [f"__all__ = {[*(e.name for e in enumerations.all), *dtypes]!r}", ""]
    lines += [*alone, *public]
    stub += [*alone, "OPEN: set[type[Named]]", *public]
    return "\n".join(lines), "\n".join(stub) + "\n"


def default_of(kind):
    return {"in:": "None", "tex": "None", "boo": "False", "f32": "0.0", "f64": "0.0"}.get(kind[:3], "0")


def is_dtype(name):
    return name == "dtype" or name.endswith("_dtype")


def hint(kind, name, takes=None):
    if is_dtype(name):
        return "AnyDType"
    if takes:
        return f"Union[{takes.name}, int, str]"
    if kind.startswith("in:"):
        return camel(kind[3:]) if kind[3:] in ("tensor", "stream", "cancel") else "Handle"
    return SCALAR_HINT[kind]


def takes_doc(named, what="In Python"):
    """Which enumerations parameters take: [(parameter, Enumeration)]."""
    lines = [
        f"{name} is {'a number or ' if e.is_open else ''}one of {e.name}, its number or its name: {', '.join(e.names)}."
        for name, e in named
    ]
    return "\n\n" + textwrap.fill(f"{what} " + " ".join(lines), 105) if lines else ""


def python_doc(doc):
    """A comment of the headers without what only C has: letters for threads, pointers for results, NULL."""
    doc = re.sub(r"[ \n]*\[[TIS]\]$", "", doc, flags=re.M)
    doc = re.sub(r"\bEager form: (?:\*out is )?(?=a |new )", "Gives ", doc).replace("Eager form: ", "")
    doc = doc.replace("params->", "")
    doc = re.sub(r",\s+and\s+\*out_(\w+)\s+too\s+unless\s+out_\1\s+is\s+NULL", r", and another for \1", doc)
    return re.sub(r"\bNULL\b", "None", re.sub(r"\*(?=out\b|out_)", "", doc))


def parameters_doc(fields, title="Parameters"):
    """What the comments of fields say of parameters: [(parameter, Field, Enumeration or None)]. Enumerations have
    a text of their own, and so have masks of axes."""
    said = []  # [names, comment]
    for name, field, e in fields:
        comment = re.sub(rf"^{field.name}: ", "", field.comment)
        if not comment or comment.startswith("bit i set") or (e and (comment.startswith("RUDA_") or field.declared > 1)):
            continue
        comment = re.sub(r"\bruda_plan_(\w+)", r"Plan.\1", re.sub(r"\bNULL\b", "None", comment))
        comment = re.sub(r"\bfrom params$", "from the other parameters", comment)
        comment = re.sub(r"\bRUDA_SPLITS_(\w+)", lambda m: f"Splits.{m.group(1)}", comment)
        if said and field.place and said[-1][1] == comment:
            said[-1][0].append(name)
        else:
            said.append(([name], comment))
    lines = [
        textwrap.fill(f"{', '.join(names)}: {comment}", 105, initial_indent="  ", subsequent_indent="      ")
        for names, comment in said
    ]
    return f"\n\n{title}:\n" + "\n".join(lines) if lines else ""


def eager_fields(api, op, enumerations):
    """[(parameter, Field with the comment of the descriptor, Enumeration)] of an eager form."""
    own = {f.name: f for struct, _ in api.parts(op) for f in struct.fields} if op.desc and op.desc.flat else {}
    every = [(p, p if from_struct else own.get(p.name, p)) for p, _, from_struct in api.eager_inputs(op)]
    return [
        (safe(p.name), field, enumerations.of_parameter(op, p))
        for p, field in every
        if "bound at each call" not in field.comment
    ]


def typed_forms(name, typed, maybe, free_handles):
    """Lines of a stub. maybe: of each result the optional operand that it needs, or None; they make two forms."""
    def form(typed, kinds):
        result = kinds[0] if len(kinds) == 1 else f"Tuple[{', '.join(kinds)}]"
        return f"def {name}({', '.join(typed)}) -> {result}: ..."

    needs = {h for h in free_handles for m in maybe if m and (m == h or m.startswith(h + "_"))}
    if not needs:
        return [form(typed, ["Tensor"] * len(maybe))]
    with_all = [re.sub(r"Optional\[(.*)\] = None", r"\1", t) if t.partition(":")[0] in needs else t for t in typed]
    without = [f"{t.partition(':')[0]}: None = None" if t.partition(":")[0] in needs else t for t in typed]
    return [
        "@overload",
        form(with_all, ["Tensor"] * len(maybe)),
        "@overload",
        form(without, ["None" if m else "Tensor" for m in maybe]),
    ]


def operators(api, enumerations):
    lines = [
        HEAD.format("Operators: each call makes its outputs."),
        "from . import _raw",
        "from ._constants import " + ", ".join(e.name for e in enumerations.all),
        "from ._core import given, op_stream, optional, wrap",
        "from ._numbers import axis_mask, choice, needed",
        "from ._tensor import dtype_or_default\n",
    ]
    stub = [
        "from typing import Optional, Sequence, Tuple, Union, overload",
        "from ._constants import *",
        "from ._core import AnyDType, Cancel, Handle, Stream, Tensor\n",
    ]
    names = []
    for op in api.callable_ops():
        outs = [kind for _, kind in api.eager_outputs(op)]
        # Results that are there only where the operand is given that they go on from.
        maybe, free_handles = [p.name.removeprefix("out_") for p, _ in api.eager_outputs(op)], []
        # Required ones in order, then those with a default; the stream and the fields of a struct by name
        # only.
        required, optional, named, handles, kinds, passed, checks, takes = [], [], [], [], [], ["s"], [], []
        for p, kind, from_struct in api.eager_inputs(op):
            name = safe(p.name)
            default, e = default_of(kind), enumerations.of_parameter(op, p)
            if kind.startswith("in:"):
                handles.append(name)
                kinds.append(f'("{p.name}", "{kind[3:]}")')
                free = from_struct or api.eager_default(op, p.name, kind)
                free_handles += [p.name] if free else []
                passed.append(f'{"optional" if free else "given"}({name}, "{kind[3:]}", "{p.name}")')
            elif api.is_mask(op, p.name):
                passed.append(f'axis_mask("{p.name}", {name}, {safe(api.axes_operand(op))})')
                default = "None"
            elif is_dtype(name):
                passed.append(f"dtype_or_default({name})")
                default = "None"
            elif e:
                unset = ", True" if from_struct or api.eager_default(op, p.name, kind) else ""
                passed.append(f'choice("{p.name}", {name}, {e.name}{unset})')
                takes.append((name, e))
                default = next((f"{e.name}.{safe(m)}" for m, number in e.members if number == 0), "None")
            else:
                passed.append(name)
            said = MASK_HINT if api.is_mask(op, p.name) else hint(kind, name, e)
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
        doc = python_doc((op.desc.doc + "\n\n" if op.desc and op.desc.doc else "") + op.eager.doc)
        doc += parameters_doc(eager_fields(api, op, enumerations))
        doc += mask_doc(api, op) + takes_doc(takes)
        call = f"_raw.{eager_name(api, op)}({', '.join(passed)})"
        lines += [
            "",
            f"def {safe(op.name)}({', '.join(a for a, _ in [*positional, ('*', '*'), *keywords])}):",
            f"    {quote(doc, '    ')}",
            *checks,
            f"    s, context = op_stream({', '.join(['stream', *handles])}, kinds=({', '.join(kinds)},))",
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
        maybe = [name if name in free_handles else None for name in maybe]
        typed = [t for _, t in positional] + ["*"] + [t for _, t in keywords]
        stub += typed_forms(safe(op.name), typed, maybe, free_handles)
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


def field_hint(kind, name, takes=None):
    if is_dtype(name):
        return "AnyDType"
    if takes:
        return f"Union[{takes.name}, int, str]"
    if kind.endswith("_ARRAY"):
        return "Sequence[float]" if kind[0] == "F" else "Sequence[int]"
    return FIELD_HINT.get(kind) or {"F": "float", "B": "bool"}.get(kind[0], "int")


def is_optional(api, op, field, kind, part):
    """Operands and real numbers of the descriptor itself are required unless their comment names a default,
    and so is what has none by its comment."""
    if part == 0 and "has no default" in field.comment:
        return False
    return part > 0 or api.has_default(op, field.name) or kind not in ("TENSOR", "F32", "F64")


def plans(api, enumerations):
    every = {f.name: enumerations.of_field(f) for f, _ in api.own_fields(api.structs["ruda_plan_options"])}
    options = [(name, e) for name, e in every.items() if e]
    own = [f for f, _ in api.own_fields(api.structs["ruda_plan_options"])]
    every_option = [(f.name, f, every[f.name]) for f in own]
    lines = [
        HEAD.format("Plans: one function an operator; operands are tensors or TensorDesc."),
        "from ._constants import " + ", ".join(e.name for e in enumerations.all),
        "from ._numbers import axis_mask, field",
        "from ._plan import Plan, make\n",
        f"OPTIONS = {tuple(every)!r}\n",
    ]
    stub = [
        "from typing import Any, Optional, Sequence, Union",
        "from ._constants import *",
        "from ._core import AnyDType, Context, Handle, Tensor",
        "from ._plan import Plan, TensorDesc\n",
        "Operand = Union[Tensor, TensorDesc]\n",
    ]
    names = []
    for op in api.plannable():
        arguments, typed, passed, needed, takes, said_of = [], [], [], [], [], []
        for f, kind, part in api.fillable(op):
            if not kind:
                continue
            name, optional = safe(f.name), is_optional(api, op, f, kind, part)
            mask = api.is_mask(op, f.name)
            e = None if is_dtype(f.name) else enumerations.of_field(f)
            said = MASK_HINT if mask else field_hint(kind, name, e)
            said_of.append((name, f, e))
            arguments.append(f"{name}=None" if optional else name)
            typed.append(f"{name}: Optional[{said}] = None" if optional else f"{name}: {said}")
            value = f'axis_mask("{f.name}", {name}, {safe(api.axes_operand(op))})' if mask else name
            if e:
                takes.append((name, e))
                none = "" if "has no default" in f.comment else ", True"
                value = f'field("{f.name}", {name}, {e.name}{none})'
            passed.append(f'"{api.name_of(op, f.name)}": {value}')
            if not optional:
                needed.append(api.name_of(op, f.name))
        doc = python_doc(op.desc.doc + "\n\n" + op.plan_create.doc)
        doc += parameters_doc(said_of) + mask_doc(api, op) + takes_doc(takes)
        doc += parameters_doc(every_option, "Options") + takes_doc(options, "Among the options")
        lines += [
            "",
            f"def {safe(op.name)}(context, *, {', '.join(arguments)}, **options):",
            f"    {quote(doc, '    ')}",
            *(f'    if "{name}" in options:\n        options["{name}"] = field("{name}", options["{name}"], {e.name}, True)'
              for name, e in options),
            f'    return make(context, "{op.name}", {{{", ".join(passed)}}}, options, {tuple(needed)!r}, OPTIONS)',
            "",
        ]
        stub.append(
            f"def {safe(op.name)}(context: Context, *, {', '.join(typed)}, **options: Any) -> Plan: ..."
        )
        names.append(safe(op.name))
    lines.append(f"\n__all__ = {names!r}\n")
    return "\n".join(lines), "\n".join(stub) + "\n"


def emit(api, enumerations, files):
    files["_constants.py"], files["_constants.pyi"] = constants(api, enumerations)
    files["_ops.py"], files["_ops.pyi"] = operators(api, enumerations)
    files["plans.py"], files["plans.pyi"] = plans(api, enumerations)
