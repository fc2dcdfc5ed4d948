"""Find the neighbours or features without which a label would no longer be predicted.

The model predicts again without them. The shares of an explanation cannot tell: the next nearest
rows take the place of removed neighbours, and removing features changes the neighbours. The fitted
model itself does not change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from vicinal._base.arrays import Bool, Features, Float, row_ids
from vicinal._base.bare_csr import take_rows
from vicinal._base.threads import using_threads
from vicinal.estimators.feature_names import FeatureNames
from vicinal.estimators.row_names import row_name
from vicinal.estimators.row_sources import RowSource
from vicinal.explain import Removal
from vicinal.graph import NeighborGraph
from vicinal.scoring.explaining import cells, picked

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator

MOST_FEATURES = 100
"""The most features tried one at a time, those that contribute most."""
MOST_TOGETHER = 20
"""The most features removed together."""

PredictWithout: TypeAlias = Callable[[Sequence[Collection[int]]], tuple[Float, Bool]]
"""Sets of ids to remove → the label's score without each set, and whether it is predicted."""


@dataclass(frozen=True, eq=False)
class RemovalSearch:
    """A row and a label that the model predicts for it.

    Parameters
    ----------
    model : NeighborEstimator
    source : RowSource
        Builds the row again without some of its features.
    feature_names : FeatureNames
    row : int
        Number of the row in `source`.
    x : ndarray or csr_array, shape (1, m)
    label : int
    """

    model: "NeighborEstimator"
    source: RowSource
    feature_names: FeatureNames
    row: int
    x: Features
    label: int

    def neighbors(self, supporting: Sequence[int]) -> list[Removal]:
        """Return the supporting neighbours without which the label is not predicted.

        `supporting` are the ids of neighbours that contribute to the label, strongest first.
        """
        ids = self.model.search_.row_ids
        place = {id_: int(np.searchsorted(ids, id_)) for id_ in supporting}
        names = {id_: row_name(self.model.row_names_, ids, place[id_]) for id_ in supporting}

        def predict_without(groups: Sequence[Collection[int]]) -> tuple[Float, Bool]:
            near = self._graph_without([[place[id_] for id_ in group] for group in groups])
            return self._predict(near, take_rows(self.x, np.zeros(len(groups), dtype=np.int64)))

        return _decisive("neighbor", supporting, supporting, names, predict_without)

    def features(self, supporting: Sequence[int], others: Sequence[int]) -> list[Removal]:
        """Return the features without which the label is not predicted.

        `supporting` are the columns that contribute to the label, strongest first; `others` are the
        row's other columns.
        """
        tried = [*supporting, *others][:MOST_FEATURES]
        names = {column: self.feature_names[column] for column in tried}

        def predict_without(groups: Sequence[Collection[int]]) -> tuple[Float, Bool]:
            rows = self.source.without(self.row, groups)
            return self._predict(self.model.search_.query(rows, self.model.scoring_.k), rows)

        return _decisive("feature", tried, supporting[:MOST_TOGETHER], names, predict_without)

    def _predict(self, near: NeighborGraph, rows: Features) -> tuple[Float, Bool]:
        """Return the scores of the label and whether it is predicted, for each query."""
        with using_threads(self.model.search_.n_jobs):
            scores = self.model.scoring_.scores(near, rows)
        labels = self.model.decision_.decide(scores)
        decided = np.zeros(near.n_queries, dtype=np.bool_)
        decided[row_ids(labels)[labels.indices == self.label]] = True
        found = np.array([cells(scores, i, [self.label])[0] for i in range(near.n_queries)])
        return found, decided

    def _graph_without(self, groups: Sequence[Collection[int]]) -> NeighborGraph:
        """Return one query per group: the row's neighbours without the group's rows."""
        k = self.model.scoring_.k
        wide = self.model.search_.query(self.x, k + max(len(group) for group in groups))
        width, found = min(k, wide.k), wide.ids[0] >= 0
        kept = [~np.isin(wide.ids[0], list(group)) & found for group in groups]
        return picked(wide, [np.flatnonzero(each)[:width] for each in kept], width)


def _decisive(
    kind: str,
    singles: Sequence[int],
    together: Sequence[int],
    names: Mapping[int, str],
    predict_without: PredictWithout,
) -> list[Removal]:
    """Return every single removal after which the label is not predicted.

    If there is none, return the smallest group of the first ids of `together` that suffices.
    """
    if not singles:
        return []
    groups: list[tuple[int, ...]] = [(id_,) for id_ in singles]
    scores, predicted = predict_without(groups)
    decisive = np.flatnonzero(~predicted).tolist()
    if not decisive and len(together) > 1:
        groups = [tuple(together[:size]) for size in range(2, len(together) + 1)]
        scores, predicted = predict_without(groups)
        decisive = np.flatnonzero(~predicted)[:1].tolist()
    return [
        Removal(kind, groups[i], tuple(names[id_] for id_ in groups[i]), float(scores[i]))
        for i in decisive
    ]
