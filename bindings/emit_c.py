# bindings/emit_c.py - the C tables of descriptors and the declarations that SWIG wraps.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

import pathlib
import re

# Functions of the C API that are flat as they are; the rest goes through common/helpers.h. A name that the
# headers do not declare is left out, so that a header may come later than its binding.
CORE = """ruda_backend_probe ruda_backend_report ruda_context_live_objects ruda_context_trim ruda_log_drain
ruda_stream_create ruda_stream_sync ruda_stream_wait ruda_event_create ruda_event_record ruda_event_sync
ruda_event_elapsed ruda_tensor_storage_users ruda_tensor_write ruda_tensor_read ruda_tensor_fill
ruda_tensor_fence ruda_tensor_broadcast ruda_tensor_view ruda_tensor_contiguous ruda_tensor_cast
ruda_tensor_convert ruda_tensor_copy ruda_tensor_get_context ruda_stream_get_context ruda_plan_warm ruda_plan_explain
ruda_workspace_create ruda_cancel_create ruda_cancel_request ruda_cancel_reset ruda_op_count ruda_op_kernels
ruda_api_level ruda_store_count ruda_store_find ruda_store_tensor ruda_store_load ruda_tokenizer_is_end ruda_model_get_tokenizer
ruda_session_rewind ruda_paged_schedule_advance""".split()

# Classes that C# and Java have for handles.
HANDLE_CLASSES = {
    "context": "Context",
    "stream": "Stream",
    "tensor": "Tensor",
    "plan": "Plan",
    "cancel": "CancelToken",
    "workspace": "Workspace",
    "event": "Event",
    "paged_schedule": "PagedSchedule",
}


def field_row(api, enumerations, struct, field, kind, part, name):
    count = api.count_field(struct, field) if kind.endswith("_ARRAY") else None
    where, length = f"offsetof({struct.name}, {field.name})", "0, 0"
    if count:
        length = f"offsetof({struct.name}, {count.name}), {4 if count.type == 'uint32_t' else 8}"
    e = enumerations.of_field(field) if kind == "U32" else None
    choices = f"&rudax_choices_{e.name}" if e else "NULL"
    unset = int("has no default" not in field.comment)
    return f'  {{"{name}", {part}, {where}, RUDAX_{kind}, {length}, {choices}, {unset}}},'


def choices(e):
    """The table of an enumeration."""
    numbers = ", ".join(f"{number}u" for _, number in e.members)
    names = ", ".join(e.names) + (", or a number from 0 to 4294967295" if e.is_open else "")
    return [
        f"static const uint32_t rudax_numbers_{e.name}[] = {{{numbers}}};",
        f'static const rudax_choices rudax_choices_{e.name} = {{"{e.name}", "{names}",',
        f"  rudax_numbers_{e.name}, {len(e.members)}, {int(e.is_open)}}};",
    ]


def ops_header(api, enumerations, headers):
    lines = ["/* Made by bindings/generate.py. */"]
    lines += [f'#include "ruda/{name}"' for name in headers]
    fields = [f for op in api.plannable() for f, kind, _ in api.fillable(op) if kind == "U32"]
    fields += [f for f, kind in api.own_fields(api.structs["ruda_plan_options"]) if kind == "U32"]
    used = {e.name: e for e in map(enumerations.of_field, fields) if e}
    for e in used.values():
        lines += choices(e)
    for op in api.plannable():
        parts = api.parts(op)
        rows = [
            field_row(api, enumerations, parts[part][0], f, kind, part, api.name_of(op, f.name))
            for f, kind, part in api.fillable(op)
            if kind
        ]
        lines += [
            f"static const rudax_field rudax_fields_{op.name}[] = {{",
            *rows,
            "  {NULL, 0, 0, RUDAX_TEXT, 0, 0, NULL, 0}};",
            f"static ruda_status rudax_create_{op.name}(ruda_context context, const void *desc, "
            "ruda_plan *out) {",
            f"  return ruda_{op.name}_plan_create(context, (const ruda_{op.name}_desc *)desc, out);",
            "}",
        ]
    options = api.structs["ruda_plan_options"]
    rows = [field_row(api, enumerations, options, f, kind, 1, f.name) for f, kind in api.own_fields(options) if kind]
    lines += [
        "static const rudax_field rudax_option_fields[] = {",
        *rows,
        "};",
        f"enum {{ rudax_option_total = {len(rows)} }};",
        "static const rudax_op rudax_ops[] = {",
    ]
    for op in api.plannable():
        count = len([1 for _, kind, _ in api.fillable(op) if kind])
        parts = ", ".join(
            "{(uint32_t)sizeof(%s), %s}"
            % (struct.name, f"offsetof({op.desc.name}, {field.name})" if field else "0")
            for struct, field in api.parts(op)
        )
        lines.append(
            f'  {{"{op.name}", {len(api.parts(op))}, {count}, {{{parts}}}, rudax_fields_{op.name}, '
            f"rudax_create_{op.name}}},"
        )
    lines += ["};", f"enum {{ rudax_op_total = {len(api.plannable())} }};"]
    for op in api.callable_ops():
        if eager_name(api, op) != op.eager.name:
            lines += eager_helper(api, op)
    return "\n".join(lines + [""])


def eager_name(api, op):
    """The flat function behind an eager form: itself, or a helper where it takes a struct."""
    structs = any(kind.startswith("struct:") for _, kind in api.eager_kinds(op.eager))
    return f"rudax_{op.name}" if structs else op.eager.name


def eager_parameters(api, op):
    parameters = []
    for p, kind in api.eager_kinds(op.eager):
        if kind.startswith("struct:"):
            parameters += [f"{f.type} {f.name}" for f in api.struct_scalars(kind[7:])]
        else:
            parameters.append(f"{p.type}{'' if p.type.endswith('*') else ' '}{p.name}")
    return ", ".join(parameters)


def eager_helper(api, op):
    lines, passed = [f"RUDAX_UNUSED static ruda_status rudax_{op.name}({eager_parameters(api, op)}) {{"], []
    for p, kind in api.eager_kinds(op.eager):
        if kind.startswith("struct:"):
            local = f"the_{p.name}"
            lines += [
                f"  {kind[7:]} {local};",
                f"  memset(&{local}, 0, sizeof {local});",
                f"  {local}.struct_size = (uint32_t)sizeof {local};",
            ]
            lines += [f"  {local}.{f.name} = {f.name};" for f in api.struct_scalars(kind[7:])]
        passed.append(f"&the_{p.name}" if kind.startswith("struct:") else p.name)
    return lines + [f"  return {op.eager.name}({', '.join(passed)});", "}"]


def declaration(function):
    parameters = ", ".join(
        f"{p.type}{'' if p.type.endswith('*') else ' '}{p.name}" for p in function.parameters
    )
    return f"{function.result} {function.name}({parameters or 'void'});"


def swig(api):
    lines = ["// Made by bindings/generate.py."]
    lines += [f"typedef struct ruda_{name}_s *ruda_{name};" for name in api.handles]
    lines += [declaration(api.functions[name]) for name in CORE if name in api.functions]
    lines += [
        f"ruda_status {eager_name(api, op)}({eager_parameters(api, op)});" for op in api.callable_ops()
    ]
    for header in ("helpers.h", "descriptor.h", "session.h"):
        text = (pathlib.Path(__file__).resolve().parent / "common" / header).read_text(encoding="utf-8")
        for m in re.finditer(r"^RUDAX_UNUSED static ([^{]*?\))\s*\{", text, re.M):
            lines.append(" ".join(m.group(1).split()) + ";")
    return "\n".join(lines) + "\n"


def emit(api, enumerations, headers, files):
    files["ops.h"] = ops_header(api, enumerations, headers)
    files["ruda_api.i"] = swig(api)
    files["ruda_handles.i"] = "// Made by bindings/generate.py.\n" + "".join(
        f"RUDA_HANDLE_TYPE({name}, {camel(name)}Handle)\n" for name in api.handles
    )


def noun(handle):
    """What messages call an object."""
    return handle.replace("_", " ") + (" token" if handle == "cancel" else "")


def camel(name, lower=False):
    words = name.split("_")
    text = "".join(word[:1].upper() + word[1:] for word in words)
    return text[0].lower() + text[1:] if lower else text
