# bindings/python/ruda/_errors.py - exceptions by category, made from the C API's error record.
# SPDX-License-Identifier: Apache-2.0
"""status / 1000 is the category of an error; an unknown code is handled by its category."""

from ._constants import Status


class Error(RuntimeError):
    """A failed call. status (a Status; a plain number where this package does not know it), name
    ("RUDA_E_SHAPE"), message, arg (position of the C argument at fault, -1 = none), function, library and
    native_code (of a vendor library or the system)."""

    def __init__(self, status, arg=-1, native_code=0, message="", function="", library="", name=""):
        super().__init__(f"{name}: {message}" if name else message)
        known = status in Status._value2member_map_
        self.status, self.arg, self.native_code = Status(status) if known else status, arg, native_code
        self.message, self.function, self.library, self.name = message, function, library, name

    def __reduce__(self):
        return type(self), (
            self.status,
            self.arg,
            self.native_code,
            self.message,
            self.function,
            self.library,
            self.name,
        )


class ArgumentError(Error, ValueError):
    """An argument is wrong: value, shape, dtype, handle, index or state."""


class UnsupportedError(Error):
    """Legal, but nothing here takes it."""


class BackendMissingError(UnsupportedError):
    """A driver or library could not be found; the message says where it was looked for."""


class ResourceError(Error, MemoryError):
    """Memory ran out or a stated limit would be exceeded."""


class DeviceError(Error):
    """The device or the stream reports an error."""


class FileError(Error):
    """The system refused, a file breaks its format, or something was not found."""


class CommunicationError(Error):
    """A transport between ranks failed."""


class CancelledError(Error):
    """Stopped on request, or the time allowed ran out."""


class CallbackError(Error):
    """A callback returned non-zero."""


class InternalError(Error):
    """A fault of the library itself."""


def renamed(error, message):
    """The same error in the words of the call that was made."""
    return type(error)(
        error.status, error.arg, error.native_code, message, error.function, error.library, error.name
    )


CATEGORIES = {
    1: ArgumentError,
    2: UnsupportedError,
    3: ResourceError,
    4: DeviceError,
    5: FileError,
    6: CommunicationError,
    7: CancelledError,
    8: CallbackError,
    9: InternalError,
}


def make(status, arg, native_code, texts):
    """The exception for an error record; called by the raw module in the frame of the call that failed."""
    kind = CATEGORIES.get(status // 1000, Error)
    if status == Status.E_BACKEND_MISSING:
        kind = BackendMissingError
    message, function, library, name = texts
    return kind(status, arg, native_code, message, function, library, name)
