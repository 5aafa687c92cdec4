from . import plans as plans
from ._constants import *
from ._core import (
    Cancel as Cancel,
    Context as Context,
    Event as Event,
    Handle as Handle,
    Stream as Stream,
    Workspace as Workspace,
    backend_report as backend_report,
    current_stream as current_stream,
    device_count as device_count,
)
from ._errors import (
    ArgumentError as ArgumentError,
    BackendMissingError as BackendMissingError,
    CallbackError as CallbackError,
    CancelledError as CancelledError,
    CommunicationError as CommunicationError,
    DeviceError as DeviceError,
    Error as Error,
    FileError as FileError,
    InternalError as InternalError,
    ResourceError as ResourceError,
    UnsupportedError as UnsupportedError,
)
from ._logging import LogDrain as LogDrain
from ._ops import *
from ._plan import (
    PagedSchedule as PagedSchedule,
    Plan as Plan,
    TensorDesc as TensorDesc,
    op_kernels as op_kernels,
    op_names as op_names,
)
from ._session import Model as Model, Session as Session, Store as Store, Tokenizer as Tokenizer
from ._tensor import Tensor as Tensor, from_dlpack as from_dlpack

__version__: str

def library_path() -> str: ...
