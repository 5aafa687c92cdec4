from typing import Any, Callable, Optional, Tuple

from ._core import Cancel

def call_stoppable(call: Callable[..., Any], arguments: Tuple[Any, ...], cancel: Optional[Cancel]) -> Any: ...
