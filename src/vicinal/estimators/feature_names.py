"""Names of features, looked up when they are asked for: there may be millions of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names by column, where columns have names; numbers otherwise.

    Examples
    --------
    >>> FeatureNames(["size", "age"])[1], FeatureNames(None)[1]
    ('age', 'feature1')
    """

    names: Sequence[Any] | None

    def __getitem__(self, column: int) -> str:
        """Return the name of a column."""
        return f"feature{column}" if self.names is None else str(self.names[column])
