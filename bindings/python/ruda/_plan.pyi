from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from ._constants import Backend, DType
from ._core import AnyDType, Cancel, Context, Handle, Shape, Stream
from ._tensor import Tensor

class TensorDesc:
    shape: Tuple[int, ...]
    dtype: DType
    strides: Optional[Tuple[int, ...]]
    def __init__(
        self, shape: Shape, dtype: AnyDType = ..., strides: Optional[Sequence[int]] = None
    ) -> None: ...

class Plan(Handle):
    @property
    def slots(self) -> Dict[str, Tuple[int, bool]]: ...
    @property
    def op(self) -> str: ...
    @property
    def kernel(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @property
    def capturable(self) -> bool: ...
    @property
    def deterministic(self) -> bool: ...
    def explain(self) -> str: ...
    def warm(self, stream: Optional[Stream] = None) -> None: ...
    def __call__(
        self,
        *,
        stream: Optional[Stream] = None,
        workspace: Optional[Handle] = None,
        cancel: Optional[Cancel] = None,
        timeout_ns: int = ...,
        **operands: Union[Handle, float, int],
    ) -> None: ...
    def execute(
        self,
        *,
        stream: Optional[Stream] = None,
        workspace: Optional[Handle] = None,
        cancel: Optional[Cancel] = None,
        timeout_ns: int = ...,
        **operands: Union[Handle, float, int],
    ) -> None: ...

class PagedSchedule(Handle):
    def __init__(
        self,
        context: Context,
        *,
        page_size: int,
        pages: int,
        max_sequences: int,
        max_queries: int,
        max_table_pages: int,
    ) -> None: ...
    def set(
        self,
        tables: Iterable[Iterable[int]],
        lengths: Iterable[int],
        sequence_ids: Iterable[int],
        positions: Iterable[int],
        *,
        stream: Optional[Stream] = None,
    ) -> None: ...
    def advance(self, *, stream: Optional[Stream] = None) -> None: ...
    @property
    def page_size(self) -> int: ...
    @property
    def pages(self) -> int: ...
    @property
    def sequences(self) -> int: ...
    @property
    def queries(self) -> int: ...
    @property
    def generation(self) -> int: ...

def make(context: Context, op: str, fields: Dict[str, Any], options: Dict[str, Any]) -> Plan: ...
def op_names() -> List[str]: ...
def op_kernels(op: str, backend: Union[Backend, int, str] = ...) -> List[str]: ...
