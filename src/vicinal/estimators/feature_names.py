"""Names of features, looked up only when needed because there may be millions of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names of columns; ``feature0``, ``feature1``, … if the columns have no names.

    Examples
    --------
    >>> FeatureNames(["size", "age"])[1], FeatureNames(None)[1]
    ('age', 'feature1')
    """

    names: Sequence[Any] | None

    def __getitem__(self, column: int) -> str:
        """Return the name of a column."""
        return f"feature{column}" if self.names is None else str(self.names[column])
