# bindings/python/ruda/_core.py - handles, contexts, streams, events, cancel tokens.
# SPDX-License-Identifier: Apache-2.0
"""A handle is a capsule that holds one reference. Every call takes a reference of its own while the
interpreter is locked, so close() may come from any thread. Objects may be closed and dropped in any order.
"""

import contextvars
import threading

from ._load import _raw
from . import _errors
from ._constants import Backend, DType, LogLevel
from ._numbers import article, choice, described

_current_stream = contextvars.ContextVar("ruda_stream", default=None)

# Buffers that tensors borrow, by the number of the loan.
_loans = {}
_loan_lock = threading.Lock()
_loan_count = 0


def lend(buffer):
    """Keeps `buffer` alive until the library gives the number back."""
    global _loan_count
    with _loan_lock:
        _loan_count += 1
        _loans[_loan_count] = buffer
        return _loan_count


def take_returned():
    """Lets go of the buffers that no tensor uses any more."""
    while (number := _raw.rudax_take_returned()) >= 0:
        _loans.pop(number, None)


_raw._set_hooks(_errors.make, take_returned)


def read_text(call, size=256):
    """The text of a function that follows the rule of ruda_backend_report."""
    while True:
        buffer = bytearray(size)
        needed = call(buffer)
        if needed <= size:
            return buffer[: max(needed - 1, 0)].decode("utf-8", "replace")
        size = needed


class Handle:
    """An object of the library. close() releases it now; the with statement does so at its end."""

    __slots__ = ("_h", "_context", "__weakref__")

    def __init__(self, capsule, context=None):
        self._h, self._context = capsule, context

    def close(self):
        """Releases the object; again is fine. From any thread."""
        _raw._close(self._h)

    @property
    def closed(self):
        return not _raw._is_open(self._h)

    def _open(self):
        """The object itself; a closed one is refused, as by every call but close()."""
        if not _raw._is_open(self._h):
            _raw._need_open(self._h, self.KIND, f"ruda.{self.KIND}")
        return self

    def __enter__(self):
        return self._open()

    def __exit__(self, *_):
        self.close()

    def _about(self):
        """What the text of an open object tells of it."""
        return ""

    def __repr__(self):
        try:
            about = "closed" if self.closed else self._about()
        except Exception:  # closed or used by another thread meanwhile, or never made
            about = ""
        return f"<ruda.{type(self).__name__} {about}".rstrip() + ">"

    def __reduce__(self):
        raise TypeError(f"{article(type(self).__name__)} cannot be pickled")


_classes = {}


def register(kind):
    """Names the class of a handle type."""

    def remember(cls):
        _classes[kind] = cls
        cls.KIND = kind
        return cls

    return remember


def wrap(kind, capsule, context):
    """The object for a handle that a call made; None for an output that was left out."""
    if capsule is False or capsule is None:
        return None
    cls = _classes.get(kind)
    if cls is None:
        name = "".join(word.capitalize() for word in kind.split("_"))
        cls = register(kind)(type(name, (Handle,), {"__slots__": (), "__module__": "ruda"}))
    made = cls.__new__(cls)
    Handle.__init__(made, capsule, context)
    return made


def given(value, kind, name):
    """The capsule of an argument."""
    if isinstance(value, Handle) and (value.KIND == kind):
        if not _raw._is_open(value._h):
            _raw._need_open(value._h, name, f"ruda.{kind}")
        return value._h
    made = " (ctx.tensor or ruda.from_dlpack makes one)" if kind == "tensor" and value is not None else ""
    made = "" if isinstance(value, Handle) else made
    raise TypeError(f"{name} is {described(value)}, expected {article(kind)}{made}")


def optional(value, kind, name):
    """As given; None stays None."""
    return None if value is None else given(value, kind, name)


def needed_text(name, value):
    """A text that is no option: None, which the raw functions take for NULL, is refused."""
    if value is None:
        raise TypeError(f"{name} is None, expected a text")
    return value


def context_handle(context):
    return given(context, "context", "context")


def op_stream(stream, *operands, kinds=()):
    """The stream of a call and the context of its results: the one given, else the current one where it fits
    the operands, else the default stream of their context. kinds: name and kind of each operand, for messages."""
    if stream is not None:
        return given(stream, "stream", "stream"), stream._context
    context = next((o._context for o in operands if isinstance(o, Handle) and o._context is not None), None)
    current = _current_stream.get()
    if current is not None and (context is None or current._context is context):
        return current._h, current._context
    if context is None:
        wrong = [(o, *kind) for o, kind in zip(operands, kinds) if o is not None and not isinstance(o, Handle)]
        for operand, name, kind in wrong or [(o, *kind) for o, kind in zip(operands, kinds)][:1]:
            given(operand, kind, name)
        raise TypeError("there is no operand to take the stream from: pass stream=")
    return context._default_stream(operands), context


@register("context")
class Context(Handle):
    """One device of one backend with its caches, threads and log. backend: "auto", "cpu", "cuda", "cuda:1"
    or a Backend. log_level: a LogLevel, its number or its name.

    host_threads: threads of the CPU backend, 0 = all that the process may use. memory_limit: bytes for
    tensors and workspaces, 0 = no limit; what counts are whole blocks, each of 256 bytes or more and up to a
    quarter larger than asked for."""

    __slots__ = ("_streams",)  # the default one by the key 0, once a call needed it

    def __init__(
        self,
        backend="auto",
        device=0,
        *,
        host_threads=0,
        log_level=0,
        plan_cache_capacity=0,
        memory_limit=0,
    ):
        if isinstance(backend, str):
            name, _, ordinal = backend.partition(":")
            if name.upper() not in Backend.__members__ or (ordinal and not ordinal.isdigit()):
                raise ValueError(f"backend is {backend!r}, expected auto, cpu, cuda or cuda:<ordinal>")
            backend, device = Backend[name.upper()], int(ordinal or device)
        backend, log_level = choice("backend", backend, Backend), choice("log_level", log_level, LogLevel, True)
        super().__init__(
            _raw.rudax_context_create(
                backend, device, host_threads, log_level, plan_cache_capacity, memory_limit
            )
        )
        self._context, self._streams = None, {}

    def _default_stream(self, operands=()):
        stream = self._streams.get(0)
        if stream is None:
            context = self._h
            if self.closed:  # its tensors live on: any of them leads to it
                tensor = next((o for o in operands if isinstance(o, Handle) and o.KIND == "tensor"), None)
                if tensor is None:
                    self._open()
                context = _raw.ruda_tensor_get_context(tensor._h)
            # Of several threads that come here at once one makes the stream of all.
            stream = self._streams.setdefault(0, _raw.ruda_stream_create(context, 0))
        return stream

    def close(self):
        """Releases the context; what was made from it lives on until it is closed or dropped itself."""
        stream = self._streams.pop(0, None)
        if stream is not None:
            _raw._close(stream)
        super().close()
        take_returned()

    def _get(self, what):
        return _raw.rudax_context_get(self._h, what)

    @property
    def backend(self):
        return Backend(self._get(0))

    @property
    def device(self):
        return self._get(1)

    @property
    def host_threads(self):
        return self._get(2)

    @property
    def allocated_bytes(self):
        return self._get(3)

    @property
    def cached_bytes(self):
        return self._get(4)

    @property
    def peak_bytes(self):
        return self._get(5)

    @property
    def device_name(self):
        return read_text(lambda text: _raw.rudax_context_device_name(self._h, text))

    @property
    def live_objects(self):
        """Objects that hang below the context, its default stream among them."""
        return _raw.ruda_context_live_objects(self._h)

    def trim(self):
        """Gives cached memory and cached plans back."""
        _raw.ruda_context_trim(self._h)
        take_returned()

    def set_log_level(self, level):
        """level: a LogLevel, its number or its name."""
        _raw.rudax_log_level(self._h, choice("level", level, LogLevel))

    def drain_log(self):
        """The log lines that wait, as (level, component, text)."""
        lines, buffer = [], bytearray(16384)
        while used := _raw.ruda_log_drain(self._h, buffer):
            for line in buffer[:used].decode("utf-8", "replace").splitlines():
                level, _, rest = line.partition(" ")
                component, _, text = rest.partition(" ")
                lines.append((level, component, text))
        return lines

    def stream(self):
        return Stream(self)

    def event(self):
        return Event(self)

    def workspace(self, size):
        return Workspace(self, size)

    def empty(self, shape, dtype=DType.F32):
        return _tensor().empty(self, shape, dtype)

    def zeros(self, shape, dtype=DType.F32, *, stream=None):
        return _tensor().full(self, shape, 0, dtype, stream=stream)

    def full(self, shape, value, dtype=DType.F32, *, stream=None):
        return _tensor().full(self, shape, value, dtype, stream=stream)

    def tensor(self, data, dtype=None, *, stream=None):
        """A copy of a number, nested sequences, or anything with a buffer or __dlpack__, NumPy arrays among them.

        Without a dtype, an array keeps its own, and so does a number of an array library by itself:
        numpy.float64(3) is F64 as numpy.array(3.0) is. Numbers of Python, and all numbers in sequences, of NumPy
        and other libraries too, go by their kind: bools alone are BOOL, integers I32, anything else F32. An
        integer that I32 does not hold is an OverflowError: name a dtype."""
        return _tensor().from_data(self, data, dtype, stream=stream)

    def wrap(self, buffer, dtype=None, shape=None):
        """A tensor over the memory of `buffer`, which stays alive and exported while any tensor uses it. A
        buffer that is not writable makes a read-only tensor. CPU contexts."""
        return _tensor().over(self, buffer, dtype, shape)

    def _about(self):
        return self.device_name


def _tensor():
    return _classes["tensor"]


@register("stream")
class Stream(Handle):
    """An ordered queue of work. In a with statement it is the current stream of the thread or task, and is
    closed after."""

    __slots__ = ("_tokens",)

    def __init__(self, context):
        super().__init__(_raw.ruda_stream_create(context_handle(context), 0), context)

    def sync(self):
        """Waits for all submitted work; raises the first error of asynchronous work."""
        _raw.ruda_stream_sync(self._h)

    def done(self):
        """Whether all submitted work is done."""
        return bool(_raw.rudax_stream_done(self._h))

    def wait(self, event):
        """Later work waits for the event."""
        _raw.ruda_stream_wait(self._h, given(event, "event", "event"))

    def use(self):
        """A context manager: the stream is the current one inside, and stays open."""
        return _Use(self._open())

    def __enter__(self):
        self._open()
        self._tokens = getattr(self, "_tokens", ()) + (_current_stream.set(self),)
        return self

    def __exit__(self, *_):
        *rest, token = self._tokens
        self._tokens = tuple(rest)
        _current_stream.reset(token)
        self.close()


class _Use:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        self.token = _current_stream.set(self.stream)
        return self.stream

    def __exit__(self, *_):
        _current_stream.reset(self.token)


def current_stream():
    """The current stream of this thread or task, or None."""
    return _current_stream.get()


@register("event")
class Event(Handle):
    """A point in a stream's order."""

    __slots__ = ()

    def __init__(self, context):
        super().__init__(_raw.ruda_event_create(context_handle(context)), context)

    def record(self, stream=None):
        _raw.ruda_event_record(self._h, op_stream(stream, self)[0])

    def sync(self):
        _raw.ruda_event_sync(self._h)

    def elapsed(self, later):
        """Seconds between two recorded events."""
        return _raw.ruda_event_elapsed(self._open()._h, given(later, "event", "later"))


@register("workspace")
class Workspace(Handle):
    """Scratch memory of `size` bytes for plans of one stream at a time."""

    __slots__ = ()

    def __init__(self, context, size):
        super().__init__(_raw.ruda_workspace_create(context_handle(context), size), context)


@register("cancel")
class Cancel(Handle):
    """Stops work that carries it. request() may come from any thread."""

    # _followers: raw tokens of calls that last, which a request raises too
    __slots__ = ("_requested", "_followers")

    def __init__(self):
        super().__init__(_raw.ruda_cancel_create())
        self._requested, self._followers = False, []

    def _follow(self, token):
        self._followers.append(token)
        if self._requested:
            _raw.ruda_cancel_request(token)

    def _leave(self, token):
        self._followers.remove(token)

    @property
    def requested(self):
        return self._open()._requested

    def _about(self):
        return "requested" if self._requested else "not requested"

    def request(self):
        _raw.ruda_cancel_request(self._h)
        self._requested = True
        for token in tuple(self._followers):
            _raw.ruda_cancel_request(token)

    def reset(self):
        _raw.ruda_cancel_reset(self._h)
        self._requested = False


def backend_report():
    """Every backend and library: path and version, or why it is missing."""
    return read_text(_raw.ruda_backend_report, 4096)


def device_count(backend):
    """Devices of a backend, a Backend, its number or its name, that answer."""
    return _raw.ruda_backend_probe(choice("backend", backend, Backend))
