"""Views: several kinds of features of the same rows, such as words and vectors.

A mapping of names to features is validated here and becomes one matrix whose columns stand side by
side, so that rows are stored, learned, forgotten and saved as those of any other model. A blend
looks at the columns of each view in its own way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from vicinal._core.arrays import Features
from vicinal._core.checks import check_encodable
from vicinal._core.csr import quick_rows, side_by_side
from vicinal._core.state import State, read_names, read_part
from vicinal._core.validation import check_features, check_readable
from vicinal.errors import InvalidArgumentError, ModelFormatError


@dataclass(frozen=True)
class FeatureViews:
    """The names of views, and how many features each of them has.

    Parameters
    ----------
    names : tuple of str
        In the order of the training mapping.
    widths : tuple of int

    Examples
    --------
    >>> X = {"words": np.array([[0.0, 2.0]]), "vectors": np.array([[0.5, -1.0]])}
    >>> views = FeatureViews.of(X)
    >>> views.spans, views.joined({"vectors": X["vectors"], "words": X["words"]})
    (((0, 2), (2, 4)), array([[ 0. ,  2. ,  0.5, -1. ]]))
    """

    names: tuple[str, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, X: Mapping[Any, object]) -> Self:
        """Return the views of a training mapping."""
        for name in X:
            if not isinstance(name, str) or not name:
                raise InvalidArgumentError("X", "views that are named by strings", repr(name))
        check_encodable("X", list(X))
        if not X:
            raise InvalidArgumentError("X", "at least one view", "an empty mapping")
        widths = [int(_checked(X, name, None).shape[1]) for name in X]
        for name, width in zip(X, widths, strict=True):
            if not width:
                raise InvalidArgumentError(f"X[{name!r}]", "at least one feature", 0)
        return cls(tuple(X), tuple(widths))

    @property
    def n_features(self) -> int:
        """Features of all views together."""
        return sum(self.widths)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """For each view, its first column and the one behind its last."""
        ends = np.cumsum(self.widths).tolist()
        return tuple(zip([0, *ends[:-1]], ends, strict=True))

    def joined(self, X: Mapping[Any, object]) -> Features:
        """Return the features of all views side by side, validated."""
        if set(X) != set(self.names):
            got = ", ".join(f"{name!s:.40}" for name in X) or "an empty mapping"
            raise InvalidArgumentError("X", f"the views {', '.join(self.names)}", got)
        blocks = [
            _checked(X, name, width) for name, width in zip(self.names, self.widths, strict=True)
        ]
        n_rows = int(blocks[0].shape[0])
        for name, block in zip(self.names, blocks, strict=True):
            if block.shape[0] != n_rows:
                expected = f"{n_rows} rows, as in X[{self.names[0]!r}]"
                raise InvalidArgumentError(f"X[{name!r}]", expected, int(block.shape[0]))
        if not n_rows:
            raise InvalidArgumentError("X", "at least one row", 0)
        return side_by_side(blocks)

    def feature_names(self) -> list[str]:
        """Return a name for each feature: that of its view and its number there.

        Examples
        --------
        >>> FeatureViews(("words", "vectors"), (1, 2)).feature_names()
        ['words 0', 'vectors 0', 'vectors 1']
        """
        return [
            f"{name} {column}"
            for name, width in zip(self.names, self.widths, strict=True)
            for column in range(width)
        ]

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values."""
        return {"names": list(self.names), "widths": list(self.widths)}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        names, widths = read_names(state, "names"), read_part(state, "widths", list)
        are_counts = all(type(width) is int and width > 0 for width in widths)
        if not names or len(names) != len(widths) or len(set(names)) < len(names) or not are_counts:
            raise ModelFormatError("views: expected different names and their numbers of features")
        return cls(names, tuple(widths))


def _checked(X: Mapping[Any, object], name: str, width: int | None) -> Features:
    """Return the features of one view, validated."""
    if width is not None:
        quick = quick_rows(X[name], width)
        if quick is not None:
            return quick
    argument = f"X[{name!r}]"
    check_readable(X[name], argument)
    return check_features(X[name], argument, n_features=width)
