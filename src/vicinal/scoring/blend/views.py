"""What the rows look like to the parts of a blend: as given, weighted by labels, or scaled."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, read_array, read_plain, read_value
from vicinal._base.validation import as_csr, check_features, check_option
from vicinal.graph import NeighborGraph
from vicinal.index import Index, build_index
from vicinal.preprocess.label_weights import is_count, label_weights, weighted_rows

KINDS = ("given", "weighted", "scaled")
PRIOR = 5.0
"""Of the label weights; see :class:`vicinal.preprocess.LabelWeights`."""


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at rows, and the training rows in it.

    Parameters
    ----------
    kind : {"given", "weighted", "scaled"}
        Rows as they are, with counts damped to 1 + ln; rows weighted by label weights, of length
        one; features scaled to [0, 1] on the training rows.
    is_count : bool
        Whether values are counts.
    first, second : ndarray of float64, shape (m,)
        Weights and nothing; or the least value and the width of each feature.
    rows : ndarray or csr_array or None
        Training rows, where this view is searched; a given view is searched by its caller.
    """

    kind: str
    is_count: bool
    first: Float
    second: Float
    rows: Features | None = None
    _index: "LazyIndex" = field(default_factory=lambda: LazyIndex(), repr=False)

    @property
    def metric(self) -> str:
        """How rows are compared in this view."""
        return "euclidean" if self.kind == "scaled" else "cosine"

    def of(self, X: Features) -> Features:
        """Return rows in this view."""
        if self.kind == "scaled":
            full = X if isinstance(X, np.ndarray) else X.toarray()
            with np.errstate(over="ignore"):  # what overflows is clipped
                scaled: Float = np.clip((full - self.first) / self.second, -1.0, 2.0)
            return scaled
        if self.kind == "weighted":
            return weighted_rows(X, self.first, self.is_count)
        return _damped(X) if self.is_count else X

    def nearest(self, X: Features, k: int) -> NeighborGraph:
        """Return the nearest training rows of rows that are in this view already."""
        index = self._index.of(self._training_rows(), self.metric)
        return index.query(X, min(k, self._training_rows().shape[0]))

    def nearest_others(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph of the training rows."""
        index = self._index.of(self._training_rows(), self.metric)
        return index.query_self(max(1, min(k, self._training_rows().shape[0] - 1)))

    def _training_rows(self) -> Features:
        """Return the training rows, which a view that is searched has."""
        if self.rows is None:
            raise InvalidArgumentError("view", "one with training rows", self.kind)
        return self.rows

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values and arrays."""
        return {
            "kind": self.kind,
            "is_count": self.is_count,
            "first": self.first,
            "second": self.second,
            "rows": self.rows,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        rows = read_value(state, "rows")
        try:
            kind = check_option("kind", state.get("kind"), KINDS)
            rows = None if rows is None else check_features(rows, "rows")
        except InvalidArgumentError as error:
            raise ModelFormatError(str(error)) from None
        first, second = (read_array(state, key, np.float64, (None,)) for key in ("first", "second"))
        if rows is not None and len(first) != rows.shape[1]:
            raise ModelFormatError(f"first: expected {rows.shape[1]} numbers, got {len(first)}")
        return cls(kind, read_plain(state, "is_count", bool), first, second, rows)


class LazyIndex:
    """An index that is built when first needed, once; a pickled copy builds its own."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._lock = threading.Lock()

    def of(self, rows: Features, metric: str) -> Index:
        """Return the index over these rows."""
        with self._lock:
            if self._index is None:
                self._index = build_index(rows, metric)
            return self._index

    def __reduce__(self) -> tuple[type["LazyIndex"], tuple[()]]:
        """Leave out the index and the lock, which belong to this process."""
        return LazyIndex, ()


def given_view(X: Features) -> View:
    """Return the view of rows as they are."""
    nothing = np.empty(0)
    return View("given", _holds_counts(X), nothing, nothing)


def weighted_view(X: Features, Y: Csr) -> View:
    """Return the view of rows weighted by what features tell about labels."""
    stored = as_csr(X)
    weights = label_weights(stored, Y, PRIOR)
    counts = is_count(stored)
    return View("weighted", counts, weights, np.empty(0), weighted_rows(X, weights, counts))


def scaled_view(X: Features) -> View:
    """Return the view of features scaled to [0, 1]; constant features become 0."""
    full = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    least, largest = full.min(axis=0), full.max(axis=0)
    width = np.where(largest > least, largest - least, 1.0)
    view = View("scaled", False, least, width)
    return View("scaled", False, least, width, view.of(full))


def _holds_counts(X: Features) -> bool:
    """Tell whether non-zero values are counts, of which some are above 1."""
    values = X[X != 0] if isinstance(X, np.ndarray) else X.data
    return bool(values.size and values.min() >= 1 and values.max() > 1)


def _damped(X: Features) -> Features:
    """Return 1 + ln x for values above 1."""
    if isinstance(X, np.ndarray):
        damped: Float = np.where(X > 1, 1.0 + np.log(np.maximum(X, 1.0)), X)
        return damped
    rows = X.copy()
    rows.data = np.where(X.data > 1, 1.0 + np.log(np.maximum(X.data, 1.0)), X.data)
    return rows


def unchanged_view() -> View:
    """Return the view of rows exactly as they are."""
    return View("given", False, np.empty(0), np.empty(0))
