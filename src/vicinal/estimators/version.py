"""The fitted state of a model as one immutable value, so that every reader sees one state.

A model that learns or forgets creates another version and publishes it by one assignment. A
prediction reads the version once and uses it to the end: it sees the model before or after a
change, never in between, and does not wait for a lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from vicinal._base.arrays import Csr, Features
from vicinal._base.checked_csr import adopted
from vicinal._base.labels import Kind, Labels
from vicinal._base.threads import using_threads
from vicinal.decision import FittedDecision
from vicinal.estimators.row_names import RowNames
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.scoring import Scoring


@runtime_checkable
class RevisedScoring(Scoring, Protocol):
    """A scoring that supports small changes and can be converted to what a fit would give."""

    def settled(self, Y: Csr, X: Features) -> Scoring:
        """Return what a fit would give on these labels and features, without empty places."""


@dataclass(frozen=True)
class Calibration:
    """How outdated the threshold is.

    Parameters
    ----------
    n_rows : int
        Number of training rows when the threshold was fitted.
    learned, forgotten : int
        Number of rows since then. Both stay 0 for rules that are not fitted, because these always
        equal a refit.

    Examples
    --------
    >>> Calibration(n_rows=200).after(learned=3).stale_share
    0.015
    """

    n_rows: int
    learned: int = 0
    forgotten: int = 0

    @property
    def stale_share(self) -> float:
        """Rows learned or forgotten since the threshold was fitted, as a share of `n_rows`."""
        return (self.learned + self.forgotten) / max(self.n_rows, 1)

    @property
    def is_current(self) -> bool:
        """Whether predicted labels equal those of a model fitted from scratch."""
        return self.learned == self.forgotten == 0

    def after(self, learned: int = 0, forgotten: int = 0) -> "Calibration":
        """Return the state after further changes."""
        return replace(self, learned=self.learned + learned, forgotten=self.forgotten + forgotten)


@dataclass(frozen=True, eq=False)
class Version:
    """The fitted state of a model.

    Parameters
    ----------
    rows : TrainingRows
    scoring : Scoring
        What the method learned; its labels are in the order of the places of `rows`.
    decision : FittedDecision
    label_names : tuple of str
    label_kind, label_dtype
        See :class:`vicinal._base.labels.Labels`.
    params : mapping
        The estimator's parameters when the version was made.
    calibration : Calibration
    graph : NeighborGraph or None
        Leave-one-out graph of `rows`, if it is known.
    row_names : tuple of str, GrowingNames or None
        Names by place, if rows have names.

    Attributes
    ----------
    readers : set of int
        The threads that have used this version.
    """

    rows: TrainingRows
    scoring: Scoring
    decision: FittedDecision
    label_names: tuple[str, ...]
    label_kind: Kind
    label_dtype: str
    params: Mapping[str, Any]
    calibration: Calibration
    graph: NeighborGraph | None = None
    row_names: RowNames | None = None
    readers: set[int] = field(init=False, repr=False, default_factory=set)

    @property
    def labels(self) -> Labels:
        """The labels of the rows."""
        return Labels(self.scoring.Y, self.label_names, self.label_kind, self.label_dtype)

    @cached_property
    def whole(self) -> "Version":
        """The same model as a fit would make it: without empty places or pending computations."""
        if not self.rows.n_empty and getattr(self.scoring, "is_settled", True):
            return self
        if not isinstance(self.scoring, RevisedScoring):
            raise TypeError(f"{type(self.scoring).__name__} does not support empty places")
        rows, Y, names = self.rows.compacted(), self.scoring.Y, self.row_names
        if self.rows.n_empty:
            kept = np.flatnonzero(~self.rows.gone)
            Y = adopted(Y[kept])
            names = None if names is None else tuple(names[place] for place in kept.tolist())
        with using_threads(rows.n_jobs):
            scoring = self.scoring.settled(Y, rows.X)
        return replace(self, rows=rows, scoring=scoring, row_names=names)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cached copy without empty places, and the threads of this process."""
        kept = {name: value for name, value in vars(self).items() if name != "whole"}
        return {**kept, "readers": set()}
