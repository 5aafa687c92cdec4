# bindings/emit_c.py - the C tables of descriptors and the declarations that SWIG wraps.
# SPDX-License-Identifier: Apache-2.0
"""Called by generate.py."""

# Functions of the C API that are flat as they are; the rest goes through common/helpers.h. A name that the headers do not
# declare is left out, so that a header may come later than its binding.
CORE = """ruda_backend_probe ruda_backend_report ruda_context_live_objects ruda_context_trim ruda_log_drain
ruda_stream_create ruda_stream_sync ruda_stream_wait ruda_event_create ruda_event_record ruda_event_sync
ruda_event_elapsed ruda_tensor_storage_users ruda_tensor_write ruda_tensor_read ruda_tensor_fill ruda_tensor_fence
ruda_tensor_broadcast ruda_tensor_view ruda_tensor_contiguous ruda_tensor_cast ruda_tensor_copy ruda_tensor_get_context
ruda_stream_get_context ruda_plan_warm ruda_plan_explain ruda_workspace_create ruda_cancel_create ruda_cancel_request
ruda_cancel_reset ruda_op_count ruda_op_kernels ruda_api_level ruda_version""".split()


def field_row(op, api, field, kind):
    struct = op.desc.name
    count = api.count_field(op.desc, field) if kind.endswith("_ARRAY") else None
    if count:
        return (f'{{"{field.name}", offsetof({struct}, {field.name}), RUDAX_{kind}, '
                f"offsetof({struct}, {count.name}), {4 if count.type == 'uint32_t' else 8}}}")
    return f'{{"{field.name}", offsetof({struct}, {field.name}), RUDAX_{kind}, 0, 0}}'


def usable(api):
    """Operators whose descriptor the tables can fill."""
    return [op for op in api.ops if op.desc and op.desc.flat and any(f.name == "options" for f in op.desc.fields)]


def ops_header(api, headers):
    lines = ["/* Made by bindings/generate.py. */"]
    lines += [f'#include "ruda/{name}"' for name in headers]
    for op in usable(api):
        rows = [field_row(op, api, f, kind) for f, kind in api.fillable(op.desc) if kind]
        lines += [f"static const rudax_field rudax_fields_{op.name}[] = {{", *(f"  {row}," for row in rows),
                  "  {NULL, 0, RUDAX_TEXT, 0, 0}};",
                  f"static ruda_status rudax_create_{op.name}(ruda_context context, const void *desc, ruda_plan *out) {{",
                  f"  return ruda_{op.name}_plan_create(context, (const ruda_{op.name}_desc *)desc, out);", "}"]
    options = api.structs["ruda_plan_options"]
    rows = [f'{{"{f.name}", offsetof(ruda_plan_options, {f.name}), RUDAX_{kind}, 0, 0}}'
            for f, kind in api.fillable(options) if kind]
    lines += ["static const rudax_field rudax_option_fields[] = {", *(f"  {row}," for row in rows), "};",
              f"enum {{ rudax_option_total = {len(rows)} }};", "static const rudax_op rudax_ops[] = {"]
    for op in usable(api):
        count = len([1 for _, kind in api.fillable(op.desc) if kind])
        lines.append(f'  {{"{op.name}", (uint32_t)sizeof(ruda_{op.name}_desc), offsetof(ruda_{op.name}_desc, options), '
                     f"{count}, rudax_fields_{op.name}, rudax_create_{op.name}}},")
    lines += ["};", f"enum {{ rudax_op_total = {len(usable(api))} }};", ""]
    return "\n".join(lines)


def declaration(function):
    parameters = ", ".join(f"{p.type}{'' if p.type.endswith('*') else ' '}{p.name}" for p in function.parameters)
    return f"{function.result} {function.name}({parameters or 'void'});"


def swig(api):
    lines = ["// Made by bindings/generate.py."]
    lines += [f"typedef struct ruda_{name}_s *ruda_{name};" for name in api.handles]
    lines += [declaration(api.functions[name]) for name in CORE if name in api.functions]
    lines += [declaration(op.eager) for op in api.ops if api.eager_is_flat(op)]
    return "\n".join(lines) + "\n"


def emit(api, headers, files):
    files["ops.h"] = ops_header(api, headers)
    files["ruda_api.i"] = swig(api)
    files["ruda_handles.i"] = "// Made by bindings/generate.py.\n" + "".join(
        f"RUDA_HANDLE_TYPE({name}, {camel(name)}Handle)\n" for name in api.handles)


def camel(name, lower=False):
    words = name.split("_")
    text = "".join(word[:1].upper() + word[1:] for word in words)
    return text[0].lower() + text[1:] if lower else text
