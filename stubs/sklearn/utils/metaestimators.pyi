from collections.abc import Callable
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])

def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]: ...
