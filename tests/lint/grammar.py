# tests/lint/grammar.py - the grammar of the public headers that the bindings are generated from.
# SPDX-License-Identifier: Apache-2.0
"""usage: grammar.py ROOT

bindings/grammar.py says what the grammar is. A header that breaks it would leave an operator or a parameter out of
Python, C# and Java without a word; here it is a fault."""

import pathlib
import re
import sys


def check_op(api, enumerations, op):
    where = f"{op.plan_create.header}: {op.name}"
    types = [p.type for p in op.plan_create.parameters]
    if types != ["ruda_context", f"const ruda_{op.name}_desc *", "ruda_plan *"]:
        yield f"{where}: the plan form takes {types}, expected context, descriptor, plan"
    if not op.desc:
        yield f"{where}: there is no struct ruda_{op.name}_desc"
        return
    if not op.desc.flat or not op.desc.fields or op.desc.fields[0].name != "struct_size":
        yield f"{where}: the descriptor does not begin with struct_size, or holds a union or function"
        return
    types = {f.name: f.type for f in op.desc.fields}
    if types.get("next") != "const ruda_ext *" or types.get("options") != "const ruda_plan_options *":
        yield f"{where}: the descriptor lacks `next` or `options`"
        return
    slots = api.slots(op.name)
    if not slots or [number for _, number in slots] != list(range(len(slots))):
        yield f'{where}: no enum with the comment "Slots of {op.name}." numbers its slots from 0'
    for struct, _ in api.parts(op):
        for field, kind in api.own_fields(struct):
            if not kind:
                yield f"{where}: {struct.name}.{field.name} is {field.type}, which no binding can fill"
            named = re.search(r"\bRUDA_[A-Z0-9_]+\b", enumerations.said(field)[0])
            if kind == "U32" and named and not enumerations.of_field(field):
                yield f"{where}: {struct.name}.{field.name} names {named.group()}, which is of no enumeration"
    names = [
        f.name
        for part, (struct, _) in enumerate(api.parts(op))
        if part != 1
        for f, _ in api.own_fields(struct)
    ]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{where}: two of its structs have a field {name}"
    if len(api.parts(op)) > 4:
        yield f"{where}: it points to more than two structs of its own"
    if op.eager:
        yield from check_eager(api, op)


def check_eager(api, op):
    where = f"{op.eager.header}: {op.eager.name}"
    kinds = api.eager_kinds(op.eager)
    if op.eager.result != "ruda_status" or not kinds or kinds[0][1] != "in:stream":
        yield f"{where}: the eager form does not return ruda_status or does not begin with the stream"
        return
    outputs = [bool(kind and kind.startswith("out:")) for _, kind in kinds]
    if not any(outputs) or outputs != sorted(outputs):
        yield f"{where}: outputs do not come last, or there is none called out or out_..."
    for p, kind in kinds:
        if not kind:
            yield f"{where}: {p.name} is {p.type}, which no binding can pass"


def main():
    root = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(root / "bindings"))
    from enumerations import Enumerations
    from grammar import Api

    headers = sorted((root / "include" / "ruda").glob("*.h"))
    api = Api(headers)
    faults = []
    for path in headers:
        text = path.read_text(encoding="utf-8")
        declared = set(re.findall(r"RUDA_CALL (ruda_\w+)\(", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
        read = {name for name, function in api.functions.items() if function.header == path.name}
        faults += [
            f"{path.name}: the declaration of {name} cannot be read" for name in sorted(declared - read)
        ]
    enumerations = Enumerations(api)
    for op in api.ops:
        faults += check_op(api, enumerations, op)
    for function in api.functions.values():
        if not function.doc:
            faults.append(f"{function.header}: {function.name} has no comment")
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
