# bindings/python/ruda/__init__.py - the public names of the package.
# SPDX-License-Identifier: Apache-2.0
"""ruda: tensors, operators and models of libruda.

    import ruda
    with ruda.Context("cpu") as ctx, ctx.stream():
        x = ctx.tensor([[3.0, 4.0]])
        y = ruda.rms_norm(x, ctx.tensor([1.0, 1.0]), 1e-6)
        print(y.tolist())

Operators are functions of this module, plans functions of ruda.plans. Errors are exceptions by category,
below ruda.Error.
"""

from ._load import mapped_path as library_path
from ._constants import *  # noqa: F403
from ._errors import (
    ArgumentError,
    BackendMissingError,
    CallbackError,
    CancelledError,
    CommunicationError,
    DeviceError,
    Error,
    FileError,
    InternalError,
    ResourceError,
    UnsupportedError,
)
from ._core import Cancel, Context, Event, Handle, Stream, Workspace, backend_report, current_stream, device_count
from ._tensor import Tensor, from_dlpack
from ._plan import PagedSchedule, Plan, TensorDesc, op_kernels, op_names
from ._logging import LogDrain
from ._session import Model, Session, Store, Tokenizer
from ._ops import *  # noqa: F403
from . import plans
from ._core import read_text as _read_text
from ._load import _raw

__version__ = _read_text(_raw.rudax_version)


def __getattr__(name):
    if name in getattr(globals().get("plans"), "__all__", ()):
        raise AttributeError(f"{name} has no eager form: ruda.plans.{name}")
    raise AttributeError(f"module 'ruda' has no attribute {name!r}")
