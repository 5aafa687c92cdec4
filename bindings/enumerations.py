# bindings/enumerations.py - the enumerations of the public headers and the parameters that take them.
# SPDX-License-Identifier: Apache-2.0
"""A field takes the enumeration that its comment names: an enumerator (RUDA_ROPE_HALF) or all of one prefix
(RUDA_OVERFLOW_*). Of several fields in one declaration each has its part of the comment, up to the next
semicolon, or its place in the list of enumerations. A field called dtype or ..._dtype takes DType."""

import re

# Names of enums that say more than their prefix, or that a class has already.
GROUP_NAMES = {
    "Log": "LogLevel",
    "Math": "MathMode",
    "Bind": "BindKind",
    "Tensor": "TensorFlags",
    "Store": "StoreFormat",
    "Meta": "MetaType",
    "Encode": "EncodeFlags",
    "Decode": "DecodeFlags",
    "Chat": "ChatFlags",
    "Token": "TokenType",
}
CLASS_NAMES = {
    "Context",
    "Stream",
    "Event",
    "Plan",
    "Workspace",
    "Graph",
    "Model",
    "Tokenizer",
    "Session",
    "Cancel",
    "Operand",
    "Object",
    "String",
    "Error",
}


class Enumeration:
    """members: [(short name, number)]; meanings: {short name: comment}. is_open: other numbers are taken too, as
    sums of flags are. `parts` are the enumerations that one of a shared prefix joins."""

    def __init__(self, name, members, doc, meanings, prefix, is_open=False, parts=()):
        self.name, self.members, self.meanings = name, members, meanings
        self.doc = doc or f"Constants {prefix}* of the C API."
        self.is_open = is_open or doc.startswith(("Flags of", "Optional outputs of"))
        self.parts = list(parts)

    @property
    def names(self):
        """As texts are given and listed: "gelu_tanh"."""
        return [name.lower() for name, _ in self.members]

    @property
    def has_doubles(self):
        return len({number for _, number in self.members}) < len(self.members)


def camel(words):
    return "".join(word.capitalize() for word in words.strip("_").split("_"))


class Enumerations:
    def __init__(self, api):
        self.api = api
        self.blocks = [b for b in api.enums if not b[1].startswith("Slots of ")]
        # A number that a field takes beside others, such as RUDA_SPLITS_AUTO, is a block of its own.
        comments = " ".join(f.comment for s in api.structs.values() for f in s.fields)
        self.numbers = len(self.blocks)
        self.blocks += [([d], "", "") for d in api.defines if re.search(rf"\b{d[0]}\b", comments)]
        names = [self.group_name(self.prefix_of(members), members) for members, _, _ in self.blocks]
        self.by_block, self.all = {}, []
        for name in dict.fromkeys(names):
            mine = [i for i, other in enumerate(names) if other == name]
            prefix = self.prefix_of(self.blocks[mine[0]][0])
            parts = [self.make(self.part_name(name, i) if len(mine) > 1 else name, prefix, [i]) for i in mine]
            self.by_block.update(zip(mine, parts))
            self.all += parts if len(mine) == 1 else [*parts, self.make(name, prefix, mine, parts)]

    def prefix_of(self, members):
        names = [name for name, _ in members]
        return "RUDA_" if names[0] == "RUDA_OK" or "RUDA_F32" in names else common_prefix(names, self.api)

    @staticmethod
    def group_name(prefix, members):
        if prefix == "RUDA_":
            return "Status" if members[0][0] == "RUDA_OK" else "DType"
        name = camel(prefix[5:])
        return GROUP_NAMES.get(name, name + "Code" if name in CLASS_NAMES else name)

    def make(self, name, prefix, blocks, parts=()):
        members, docs, meanings = [], [], {}
        for i in blocks:
            for full, number in self.blocks[i][0]:
                short = full[len(prefix) :]
                short = "V" + short if short[0].isdigit() else short
                members.append((short, number))
                if full in self.api.meanings:
                    meanings[short] = self.api.meanings[full]
            docs.append(self.blocks[i][1])
        is_open = blocks[0] >= self.numbers
        return Enumeration(name, members, "\n\n".join(filter(None, docs)), meanings, prefix, is_open, parts)

    def part_name(self, name, block):
        """One of several enumerations of a prefix has the name of the field that takes it: RopePairing."""
        fields = (f for s in self.api.structs.values() for f in s.fields if self.block_of(f) == block)
        return name + camel(next(fields).name)

    def mentioned(self, text):
        """The blocks that a text names, in its order."""
        found = []
        for word, star in re.findall(r"\b(RUDA_[A-Z0-9_]+)(\*?)", text):
            for i, (members, _, _) in enumerate(self.blocks):
                same = self.prefix_of(members) == word if star else word in dict(members)
                if same and i not in found:
                    found.append(i)
        return found

    @staticmethod
    def said(field):
        """The part of a comment that is about the field: up to the next semicolon where several share it."""
        parts = field.comment.split(";")
        shared = field.declared > 1 and len(parts) == field.declared
        return (parts[field.place], False) if shared else (field.comment, field.declared > 1)

    def block_of(self, field):
        if field.type != "uint32_t" or field.name == "struct_size":
            return None
        text, shared = self.said(field)
        found = self.mentioned(text)
        if shared:
            found = found[field.place : field.place + 1] if len(found) == field.declared else []
        return found[0] if found else None

    def of_field(self, field):
        """The enumeration that a field of a struct takes, or None."""
        if field.type == "uint32_t" and (field.name == "dtype" or field.name.endswith("_dtype")):
            return next(e for e in self.all if e.name == "DType")
        return self.by_block.get(self.block_of(field))

    @staticmethod
    def is_flag(field):
        """Whether a field is a number that is 0 or 1, by its comment."""
        named, _, text = field.comment.rpartition(f"{field.name}: ")
        if field.type != "uint32_t" or (field.declared > 1 and named + text == field.comment):
            return False
        return bool(re.match(r"0 or 1\b|0, 1\b|0 = .*, 1 = ", text))

    def takes_flag(self, op, parameter):
        """As is_flag for a parameter of an eager form: that of the field of its name."""
        fields = op.desc.fields if op.desc and not parameter.comment else []
        return self.is_flag(next((f for f in fields if f.name == parameter.name), parameter))

    def of_parameter(self, op, parameter):
        """As of_field for a parameter of an eager form: that of the field of its name."""
        if parameter.comment or not op.desc:
            return self.of_field(parameter)
        field = next((f for f in op.desc.fields if f.name == parameter.name), parameter)
        return self.of_field(field)


def common_prefix(names, api):
    if len(names) == 1:
        owner = [
            f"RUDA_{op.name.upper()}_" for op in api.ops if names[0].startswith(f"RUDA_{op.name.upper()}_")
        ]
        return max(owner, key=len) if owner else "_".join(names[0].split("_")[:2]) + "_"
    first, last = min(names), max(names)
    length = next((i for i, c in enumerate(first) if i >= len(last) or last[i] != c), len(first))
    return first[: first.rfind("_", 0, length) + 1]
