# bindings/python/ruda/_plan.py - plans: an operator prepared for fixed layouts, run into given tensors.
# SPDX-License-Identifier: Apache-2.0
"""A plan is made by ruda.plans.<op>(context, operands..., parameters..., options...) and called with its
operands by name."""

import re

from ._load import _raw
from ._constants import Backend, BindKind, Status
from ._core import (
    Handle,
    _classes as classes,
    context_handle,
    given,
    needed_text,
    op_stream,
    optional,
    read_text,
    register,
    wrap,
)
from ._errors import ArgumentError
from ._numbers import (
    LEAST_I64,
    MOST_I64,
    article,
    check_range,
    choice,
    counted,
    described,
    exact_float,
    integers,
    number,
    utf8,
)
from ._tensor import DType, Tensor, dtype_from, dtype_or_default, extents


class TensorDesc:
    """dtype, shape and strides (in elements; None = contiguous) of an operand that is not there yet."""

    __slots__ = ("shape", "dtype", "strides")

    def __init__(self, shape, dtype=DType.F32, strides=None):
        self.shape, self.dtype = extents(shape), dtype_from(dtype)
        self.strides = None if strides is None else integers("strides", strides)
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise ValueError(f"strides has {counted(len(self.strides), 'number')}, expected {len(self.shape)} as shape")

    def __repr__(self):
        return f"TensorDesc({list(self.shape)}, {self.dtype.name})"


def entries(name, values, least):
    """A list of integers from `least` to the largest that a schedule holds."""
    return list(integers(name, values, least, 0xFFFFFFFF))


def encode(name, value):
    """The numbers that stand for a value, by the rule of bindings/common/descriptor.h."""
    if name == "dtype" or name.endswith("_dtype"):
        value = dtype_or_default(value)
    if isinstance(value, Tensor):
        return (ord("T"), value._h)
    if isinstance(value, TensorDesc):
        return (
            ord("t"),
            value.dtype,
            0,
            len(value.shape),
            int(value.strides is not None),
            *value.shape,
            *(value.strides or ()),
        )
    if isinstance(value, Handle):
        return (ord("h"), value._h)
    if isinstance(value, str):
        raw = utf8(name.rpartition(".")[2], value)
        return (ord("s"), len(raw), *raw)
    if isinstance(value, (list, tuple)):
        numbers = [number(f"{name}[{i}]", v, "a number") for i, v in enumerate(value)]
        real = any(isinstance(v, float) for v in numbers)
        for i, v in enumerate(numbers):
            if not isinstance(v, float):
                check_range(f"{name}[{i}]", v)
        return (ord("g" if real else "a"), len(numbers), *(map(float, numbers) if real else numbers))
    taken = number(name, value, "a tensor, a TensorDesc, another object of the library, a text, a number or numbers")
    if isinstance(taken, float):
        return (ord("f"), taken)
    if taken > MOST_I64:
        return (ord("u"), check_range(name, taken, most=(1 << 64) - 1))
    return (ord("i"), check_range(name, taken))


def make(context, op, fields, options, needed=(), known=()):
    """The plan of operator `op`; a field that is None keeps its default, where it has one. known: the options that
    there are."""
    for name in options:
        if known and name not in known:
            has = ", ".join(field[:-5] if field.endswith("_mask") else field for field in fields)
            message = f'{op} has no parameter "{name}": it has {has}, and the options {", ".join(known)}'
            raise ArgumentError(Status.E_ARGUMENT, message=message, name="RUDA_E_ARGUMENT")
    names, values = [], []
    for name in needed:
        if fields[name] is None:
            raise TypeError(f"{name} is None, which {op} needs")
    for name, value in [*fields.items(), *((f"options.{key}", value) for key, value in options.items())]:
        if value is not None:
            names.append(name)
            values += encode(name, value)
    made = wrap("plan", _raw.rudax_plan_create(context_handle(context), op, " ".join(names), values), context)
    made._slots = made._read_slots()
    return made


BIND_ERROR = re.compile(r"bindings\[\d+\] \((\w+)\): kind is .*, expected RUDA_BIND_\w+ \((\d)\)")


def expected_bind(name, kind):
    """What an operand of a plan takes: a tensor, an object such as a PagedSchedule, or a number."""
    if kind == BindKind.TENSOR:
        return "a tensor"
    if kind != BindKind.HANDLE:
        return "a number"
    of = [cls.__name__ for known, cls in classes.items() if known.rpartition("_")[2] == name]
    return article(of[0]) if of else "another object of the library"


@register("plan")
class Plan(Handle):
    """An operator prepared for fixed layouts. Call it with a tensor for each operand, outputs too; None is an
    operand that is left out."""

    __slots__ = ("_slots",)

    def __init__(self, *_, **__):
        raise TypeError("plans are made by the functions of ruda.plans")

    def _read_slots(self):
        slots = {}
        for slot in range(_raw.rudax_plan_get(self._h, 0)):
            is_output = 0

            def call(text, slot=slot):
                nonlocal is_output
                needed, is_output = _raw.rudax_plan_slot(self._h, slot, text)
                return needed

            name = read_text(call)
            slots[name] = (slot, bool(is_output))
        return slots

    @property
    def slots(self):
        """Operands by name: (number, whether it is an output)."""
        return dict(self._open()._slots)

    def _about(self):
        return f"{self.op} by {self.kernel}"

    @property
    def op(self):
        return read_text(lambda text: _raw.rudax_plan_text(self._h, 0, text))

    @property
    def kernel(self):
        return read_text(lambda text: _raw.rudax_plan_text(self._h, 1, text))

    @property
    def workspace_bytes(self):
        return _raw.rudax_plan_get(self._h, 1)

    @property
    def capturable(self):
        return bool(_raw.rudax_plan_get(self._h, 3))

    @property
    def deterministic(self):
        return bool(_raw.rudax_plan_get(self._h, 4))

    def explain(self):
        """Which kernel was chosen and why each better one declined."""
        return read_text(lambda text: _raw.ruda_plan_explain(self._h, text), 1024)

    def warm(self, stream=None):
        _raw.ruda_plan_warm(self._h, op_stream(stream, self)[0])

    def __call__(self, *, stream=None, workspace=None, cancel=None, timeout_ns=0, **operands):
        values = []
        for name, value in operands.items():
            if name not in self._slots:
                raise TypeError(f'{self.op} has no operand "{name}": it has {", ".join(self._slots)}')
            if value is None:
                continue
            values.append(self._slots[name][0])
            if isinstance(value, Tensor):
                values += (BindKind.TENSOR, value._h)
            elif isinstance(value, Handle):
                values += (BindKind.HANDLE, value._h)
            else:
                taken = number(name, value, "a tensor, another object of the library or a number")
                if not isinstance(taken, float) and not LEAST_I64 <= taken <= MOST_I64:
                    taken = exact_float(name, taken)
                values += (BindKind.F64 if isinstance(taken, float) else BindKind.I64, taken)
        s, _ = op_stream(stream, *operands.values())
        room, stop = optional(workspace, "workspace", "workspace"), optional(cancel, "cancel", "cancel")
        try:
            _raw.rudax_plan_execute(self._h, s, room, values, stop, timeout_ns)
        except ValueError as error:
            for name, value in operands.items():
                if isinstance(value, Handle):
                    given(value, value.KIND, name)
            wrong = BIND_ERROR.search(getattr(error, "message", ""))
            if not wrong:
                raise
            name, kind = wrong.group(1), int(wrong.group(2))
            raise TypeError(f"{name} is {described(operands[name])}, expected {expected_bind(name, kind)}") from None

    execute = __call__


@register("paged_schedule")
class PagedSchedule(Handle):
    """Which pages of a key-value cache hold which tokens, and which queries are asked: what paged_append and
    paged_attention are given beside their tensors."""

    __slots__ = ()

    def __init__(self, context, *, page_size, pages, max_sequences, max_queries, max_table_pages):
        super().__init__(
            _raw.rudax_schedule_create(
                context_handle(context), page_size, pages, max_sequences, max_queries, max_table_pages
            ),
            context,
        )

    def set(self, tables, lengths, sequence_ids, positions, *, stream=None):
        """Replaces the whole schedule; on an error the former one stays. tables: a row of pages for each
        sequence, -1 = no page, as after the end of a shorter row. lengths: tokens of each sequence, those of
        this step's queries included. sequence_ids and positions: one of each for a query."""
        try:
            rows = list(tables)
        except TypeError:
            raise TypeError(f"tables is {tables!r}, expected a row of pages for each sequence") from None
        tables = [entries(f"tables[{i}]", row, -1) for i, row in enumerate(rows)]
        lengths = entries("lengths", lengths, 0)
        sequence_ids = entries("sequence_ids", sequence_ids, 0)
        positions = entries("positions", positions, 0)
        if len(tables) != len(lengths):
            raise ValueError(f"lengths has {counted(len(lengths), 'number')}, expected {len(tables)} as tables")
        if len(sequence_ids) != len(positions):
            raise ValueError(f"positions has {counted(len(positions), 'number')}, expected {len(sequence_ids)} as sequence_ids")
        width = max(map(len, tables), default=0)
        # Every row is sent as long as the longest: what no schedule of these limits can be is not laid out first.
        rows, pages = self._get(2), self._get(4)
        if len(tables) * width > rows * pages:
            given = f"{counted(len(tables), 'row')} of up to {counted(width, 'page')}"
            raise ValueError(f"tables has {given}, expected at most {rows} of at most {pages}")
        values = [len(tables), width, len(positions)]
        for row in tables:
            values += row + [-1] * (width - len(row))
        _raw.rudax_schedule_set(
            self._h, op_stream(stream, self)[0], values + lengths + sequence_ids + positions
        )

    def advance(self, *, stream=None):
        """The next step: every sequence that has tokens grows by one, and these are the queries."""
        _raw.ruda_paged_schedule_advance(self._h, op_stream(stream, self)[0])

    def _get(self, what):
        return _raw.rudax_schedule_get(self._h, what)

    def _about(self):
        queries = "1 query" if self.queries == 1 else f"{self.queries} queries"
        return f"{counted(self.sequences, 'sequence')}, {queries}, {counted(self.pages, 'page')} of {self.page_size}"

    @property
    def page_size(self):
        return self._get(0)

    @property
    def pages(self):
        return self._get(1)

    @property
    def sequences(self):
        """Of the step that is set; 0 before the first."""
        return self._get(5)

    @property
    def queries(self):
        return self._get(6)

    @property
    def generation(self):
        """Rises with every set and advance."""
        return self._get(7)


def op_names():
    """The operators of the library."""
    return [read_text(lambda text, i=i: _raw.rudax_op_name(i, text)) for i in range(_raw.ruda_op_count())]


def op_kernels(op, backend=Backend.CPU):
    """The kernels of an operator on a backend, a Backend, its number or its name, best first."""
    backend = choice("backend", backend, Backend)
    return read_text(lambda text: _raw.ruda_op_kernels(needed_text("op", op), backend, text)).split()
