# bindings/grammar.py - reads the public headers: handles, constants, structs, functions, operators.
# SPDX-License-Identifier: Apache-2.0
"""The public headers keep a grammar, so that every language gets a new operator without a hand-written line:

  RUDA_HANDLE(name);
  enum { RUDA_A = 0, RUDA_B = 1 };
  typedef struct ruda_x { uint32_t struct_size, ...; } ruda_x;
  RUDA_API ruda_status RUDA_CALL ruda_f(parameters) RUDA_NX;

An operator is a function ruda_<op>_plan_create(ruda_context, const ruda_<op>_desc *, ruda_plan *), a struct
ruda_<op>_desc, slots RUDA_<OP>_<SLOT>, and where it has one the eager form ruda_<op>(ruda_stream, ...,
ruda_tensor *out).

Comments of fields say what has a default, by "NULL = ..." or "0 = ...", or "has no default". "bit i set =
axis i" begins that of a mask of axes, which the bindings call one. "no default; not read when the <operand>
are a tensor" is a parameter that may be left out only where that operand is given. What is "bound at each
call" in place of an operand is so in plans; the eager form needs the operand. An enumerator or
RUDA_<PREFIX>_* in the comment of a field says which enumeration it takes; bindings/enumerations.py reads it.

tests/lint/grammar.py checks the rules; the generator leaves out what it cannot read."""

import pathlib
import re
import textwrap

INTEGERS = {"uint32_t": "u32", "int32_t": "i32", "uint64_t": "u64", "int64_t": "i64", "ruda_bool": "bool"}
FLOATS = {"float": "f32", "double": "f64"}
SCALARS = {**INTEGERS, **FLOATS}


class Field:
    """One field of a struct or one parameter of a function. comment is that of the whole declaration, of which
    the field is number `place` of `declared`, struct_size not counted."""

    def __init__(self, type_, name, comment="", place=0, declared=1):
        self.type, self.name, self.comment, self.place, self.declared = type_, name, comment, place, declared

    def __repr__(self):
        return f"{self.type} {self.name}"


class Function:
    def __init__(self, result, name, parameters, doc, header):
        self.result, self.name, self.parameters, self.doc, self.header = (
            result,
            name,
            parameters,
            doc,
            header,
        )


class Struct:
    def __init__(self, name, fields, doc, header, flat):
        self.name, self.fields, self.doc, self.header, self.flat = name, fields, doc, header, flat


class Op:
    def __init__(self, name, desc, plan_create, eager):
        self.name, self.desc, self.plan_create, self.eager = name, desc, plan_create, eager


def clean_doc(text):
    first, _, rest = text.strip().partition("\n")
    rest = "\n".join(re.sub(r"^\s*\*?", "", line).rstrip() for line in rest.splitlines())
    return (first.rstrip() + "\n" + textwrap.dedent(rest)).strip()


def plain_comment(text):
    return " ".join(clean_doc(text).split())


class Api:
    def __init__(self, paths):
        self.handles, self.enums, self.structs, self.functions = [], [], {}, {}
        self.meanings = {}  # the comments of enumerators
        self.defines = []  # [(name, number)]
        for path in sorted(map(pathlib.Path, paths)):
            self.read(path)
        self.ops = self.find_ops()

    level = 0

    def read(self, path):
        text = path.read_text(encoding="utf-8")
        level = re.search(r"^#define RUDA_API_LEVEL (\d+)", text, re.M)
        self.level = int(level.group(1)) if level else self.level
        self.defines += [
            (name, int(number.rstrip("uU"), 0))
            for name, number in re.findall(r"^#define (RUDA_\w+) (\w+)$", text, re.M)
            if number[0].isdigit()
        ]
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{', "", text)
        docs = [(m.end(), m.group(1)) for m in re.finditer(r"/\*\*(.*?)\*/", text, re.S)]

        def doc_before(position):
            for end, body in reversed(docs):
                if end <= position:
                    return clean_doc(body) if not text[end:position].strip() else ""
            return ""

        for m in re.finditer(r"RUDA_HANDLE\((\w+)\);", text):
            self.handles.append(m.group(1))
        for m in re.finditer(r"\benum\s*\{(.*?)\};", text, re.S):
            body = re.sub(r"/\*.*?\*/", "", m.group(1), flags=re.S)
            for name, comment in re.findall(r"(\w+)[^,/]*,?\s*/\*(.*?)\*/", m.group(1), re.S):
                self.meanings[name] = plain_comment(comment)
            members = []
            for item in filter(None, (part.strip() for part in body.split(","))):
                name, _, value = item.partition("=")
                members.append((name.strip(), self.number(value.strip(), members)))
            self.enums.append((members, doc_before(m.start()), path.name))
        for m in re.finditer(r"typedef struct (\w+) \{((?:[^{}]|\{[^{}]*\})*)\} \1;", text):
            flat = "{" not in m.group(2) and "(" not in re.sub(r"/\*.*?\*/", "", m.group(2), flags=re.S)
            fields = self.read_fields(m.group(2)) if flat else []
            self.structs[m.group(1)] = Struct(m.group(1), fields, doc_before(m.start()), path.name, flat)
        pattern = r"RUDA_API ([\w ]+?[\s*]+)RUDA_CALL (\w+)\(((?:[^()]|\([^()]*\))*)\)\s*RUDA_NX;"
        for m in re.finditer(pattern, text):
            result, name, arguments = " ".join(m.group(1).split()), m.group(2), m.group(3)
            arguments = " ".join(re.sub(r"/\*.*?\*/", "", arguments, flags=re.S).split())
            parameters = []
            if arguments not in ("", "void"):
                for part in arguments.split(","):
                    p = re.fullmatch(r"(.*?[\s*])(\w+)", part.strip())
                    parameters.append(
                        Field(self.canonical(p.group(1)), p.group(2)) if p else Field("?", part.strip())
                    )
            self.functions[name] = Function(result, name, parameters, doc_before(m.start()), path.name)

    @staticmethod
    def canonical(type_):
        return re.sub(r"\s*\*", " *", " ".join(type_.split())).strip()

    @staticmethod
    def number(value, members):
        if value == "":
            return members[-1][1] + 1 if members else 0
        known = dict(members)
        value = re.sub(r"\b[A-Z]\w*\b", lambda m: str(known.get(m.group(0), m.group(0))), value)
        value = re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", value)
        if not re.fullmatch(r"[-0-9a-fA-FxX |&~+<>()*]+", value):
            raise ValueError(f"enumerator value {value!r} is no number")
        return int(eval(value))  # digits and operators only, checked above

    def read_fields(self, body):
        fields = []
        for m in re.finditer(r"([^;]*);[ \t]*((?:/\*.*?\*/)?)", body, re.S):
            declaration = re.sub(r"/\*.*?\*/", "", m.group(1), flags=re.S).strip()
            comment = plain_comment(m.group(2)[2:-2]) if m.group(2) else ""
            head = re.match(r"((?:const |struct )*\w+(?: const)?)\s*(.*)", declaration, re.S)
            if not head:
                continue
            declarators = head.group(2).split(",")
            counted = [d.strip() for d in declarators if d.strip() != "struct_size"]
            for declarator in declarators:
                place = counted.index(declarator.strip()) if declarator.strip() in counted else 0
                d = re.fullmatch(r"\s*([*\s]*(?:const\s*)?\*?\s*)(\w+)(\[\w+\])?\s*", declarator)
                if d:
                    fields.append(
                        Field(
                            self.canonical(head.group(1) + " " + d.group(1)) + (d.group(3) or ""),
                            d.group(2),
                            comment,
                            place,
                            len(counted),
                        )
                    )
                else:
                    fields.append(Field("?", declarator.strip(), comment))
        return fields

    def find_ops(self):
        ops = []
        for name, function in self.functions.items():
            m = re.fullmatch(r"ruda_(\w+)_plan_create", name)
            if m:
                ops.append(
                    Op(
                        m.group(1),
                        self.structs.get(f"ruda_{m.group(1)}_desc"),
                        function,
                        self.functions.get(f"ruda_{m.group(1)}"),
                    )
                )
        return sorted(ops, key=lambda op: op.name)

    def plannable(self):
        """Operators whose descriptor can be filled by name."""
        return [
            op
            for op in self.ops
            if op.desc and op.desc.flat and any(f.name == "options" for f in op.desc.fields)
        ]

    def callable_ops(self):
        """Operators whose eager form can be called with plain arguments."""
        return [op for op in self.ops if self.eager_is_flat(op)]

    def slots(self, op):
        """The enum that its comment calls "Slots of <op>.", as (slot, number)."""
        prefix = f"RUDA_{op.upper()}_"
        for members, doc, _ in self.enums:
            if doc.startswith(f"Slots of {op}"):
                return [(name[len(prefix) :].lower(), number) for name, number in members]
        return []

    def handle_type(self, type_):
        """ "tensor" for "ruda_tensor", else None."""
        return type_[5:] if type_.startswith("ruda_") and type_[5:] in self.handles else None

    def desc_kind(self, desc, field):
        """How a field of a descriptor is filled by name; None = not at all."""
        t = field.type
        if t == "const ruda_tensor_desc *":
            return "TENSOR"
        if t == "const char *":
            return "TEXT"
        if t in SCALARS:
            return SCALARS[t].upper()
        if self.handle_type(t):
            return "HANDLE"
        m = re.fullmatch(r"const (\w+) \*", t)
        if m and m.group(1) in SCALARS and self.count_field(desc, field):
            return SCALARS[m.group(1)].upper() + "_ARRAY"
        return None

    @staticmethod
    def count_field(desc, field):
        """The field that holds the length of an array: <name>_count, <singular>_count, or that of its last
        word."""
        last = field.name.rsplit("_", 1)[-1]
        wanted = {
            re.sub(end, "", word) + "_count" for word in (field.name, last) for end in (r"$", r"s$", r"es$")
        }
        for other in desc.fields:
            if other.name in wanted and other.type in ("uint32_t", "uint64_t"):
                return other
        return None

    def nested(self, type_):
        """The struct behind "const ruda_x *", one of plain values that begins with struct_size; else None."""
        m = re.fullmatch(r"const (ruda_\w+) \*", type_)
        struct = self.structs.get(m.group(1)) if m else None
        known = struct and struct.flat and struct.fields and struct.fields[0].name == "struct_size"
        return struct if known and struct.name not in ("ruda_tensor_desc", "ruda_plan_options") else None

    def own_fields(self, struct):
        """[(field, kind)] of what a caller names in one struct, in order; kind None = not to be filled."""
        counts = {
            self.count_field(struct, f).name
            for f in struct.fields
            if (self.desc_kind(struct, f) or "").endswith("_ARRAY")
        }
        skip = counts | {"struct_size", "next", "options"}
        return [
            (f, self.desc_kind(struct, f))
            for f in struct.fields
            if f.name not in skip and not f.name.startswith("reserved") and not self.nested(f.type)
        ]

    def parts(self, op):
        """[(struct, field of the descriptor that points to it)]: the descriptor, the options, what else it
        points to."""
        result = [
            (op.desc, None),
            (self.structs["ruda_plan_options"], next(f for f in op.desc.fields if f.name == "options")),
        ]
        return result + [(self.nested(f.type), f) for f in op.desc.fields if self.nested(f.type)]

    def fillable(self, op):
        """[(field, kind, part)] of what a caller names, the fields of nested structs last; names are
        unique."""
        result, seen = [], set()
        for part, (struct, _) in enumerate(self.parts(op)):
            for field, kind in self.own_fields(struct) if part != 1 else []:
                if field.name not in seen:
                    result.append((field, kind, part))
                seen.add(field.name)
        return result

    def eager_kinds(self, function):
        """[(field, kind)] of an eager form; kind None = not flat. Kinds: in:<handle>, out:<handle>, a
        scalar, text, struct:<name> for a struct of plain values."""
        result = []
        for p in function.parameters:
            base = p.type[:-2] if p.type.endswith(" *") else p.type
            is_out = p.name == "out" or p.name.startswith("out_")
            if self.handle_type(p.type):
                kind = "in:" + self.handle_type(p.type)
            elif self.handle_type(base) and is_out:
                kind = "out:" + self.handle_type(base)
            elif p.type in SCALARS:
                kind = SCALARS[p.type]
            elif p.type == "const char *":
                kind = "text"
            elif self.nested(p.type):
                kind = "struct:" + self.nested(p.type).name
            else:
                kind = None
            result.append((p, kind))
        return result

    def eager_is_flat(self, op):
        if not op.eager or op.eager.result != "ruda_status":
            return False
        kinds = self.eager_kinds(op.eager)
        return bool(kinds) and kinds[0][1] == "in:stream" and all(kind for _, kind in kinds)

    def eager_inputs(self, op):
        """[(field, kind, from_struct)] of an eager form without stream and outputs, structs replaced by
        their scalars."""
        result = []
        for p, kind in self.eager_kinds(op.eager)[1:]:
            if kind.startswith("struct:"):
                for field in self.struct_scalars(kind[7:]):
                    result.append((field, SCALARS[field.type], True))
            elif not kind.startswith("out:"):
                result.append((p, kind, False))
        return result

    def eager_outputs(self, op):
        return [(p, kind[4:]) for p, kind in self.eager_kinds(op.eager) if kind.startswith("out:")]

    def struct_scalars(self, name):
        """Fields of an options struct that an eager form takes; arrays are for plans."""
        return [f for f, kind in self.own_fields(self.structs[name]) if f.type in SCALARS]

    def has_default(self, op, name, kind=""):
        """Whether the field `name` has a default: a flag always, else where the descriptor says so: NULL =
        ..., NULL with ..., 0 = ... in its comment, or "optional" or "Given if and only if" in the row of
        the operand."""
        if kind == "bool":
            return True
        if not op.desc:
            return False
        operands = "".join(op.desc.doc.split("\n\n")[1:2])
        for row in re.split(r"^(?= *\w+ +(?:in|out|inout)\b)", operands, flags=re.M):
            if re.match(rf" *{name} ", row) and re.search(r"\boptional\b|Given if and only if", row):
                return True
        for field in op.desc.fields:
            if field.name == name:
                return re.search(r"\b(NULL|0) (=|means|with)", field.comment) is not None
        return False

    def eager_default(self, op, name, kind=""):
        """Whether an eager form may be called without the parameter: as has_default, but for an operand in
        whose place something is bound at each call, which an eager form cannot."""
        fields = op.desc.fields if op.desc else []
        bound = any(f.name == name and "bound at each call" in f.comment for f in fields)
        return not bound and self.has_default(op, name, kind)

    @staticmethod
    def is_mask(op, name):
        """Whether a parameter is a bit mask of axes: its comment begins with "bit i set = axis i"."""
        fields = op.desc.fields if op.desc else []
        return any(f.name == name and f.comment.startswith("bit i set = axis i") for f in fields)

    def name_of(self, op, name):
        """The name in the bindings: a bit mask of axes says that it is one."""
        return name + "_mask" if self.is_mask(op, name) else name

    def axes_operand(self, op):
        """The operand whose axes a mask counts: the first that the descriptor names."""
        return next(f.name for f in op.desc.fields if f.type == "const ruda_tensor_desc *")

    def needed_unless(self, op, field, from_struct):
        """The operand without which a field of an options struct has no default: "no default; not read when
        the <operand> are a tensor" in its comment. None where the field is no such one."""
        m = re.search(r"\bno default; not read when the (\w+) (?:is|are) a tensor", field.comment)
        inputs = [p.name for p, kind, _ in self.eager_inputs(op) if kind.startswith("in:")]
        return m.group(1) if from_struct and m and m.group(1) in inputs else None
