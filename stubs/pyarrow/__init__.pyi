from collections.abc import Mapping, Sequence
from typing import Any

class ArrowException(Exception): ...

class Table:
    column_names: list[str]
    def to_pylist(self) -> list[dict[str, Any]]: ...
    @classmethod
    def from_pydict(cls, mapping: Mapping[str, Sequence[Any]]) -> Table: ...
