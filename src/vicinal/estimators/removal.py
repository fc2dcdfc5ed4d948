"""What would drop a label: neighbours or features removed, and the model asked again.

Removed neighbours make room for the next nearest rows, and removed features change the neighbours,
so that neither can be read off the shares. What the method learned at fit stays as it is.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from vicinal._base.arrays import Bool, Features, Float
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
"""Most features tried one at a time: those that matter most."""
MOST_TOGETHER = 20
"""Most features removed together."""

Asked: TypeAlias = Callable[[Sequence[Collection[int]]], tuple[Float, Bool]]
"""Sets of ids to remove → the label's score without each set, and whether it is predicted."""


@dataclass(frozen=True, eq=False)
class Removing:
    """A row and a label that it is predicted to have.

    Parameters
    ----------
    model : NeighborEstimator
    source : RowSource
        Makes the row again without some features.
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

    def neighbors(self, speaking: Sequence[int]) -> list[Removal]:
        """Return the neighbours, of those that speak for the label, without which it is dropped.

        `speaking` are row ids, strongest first.
        """
        ids = self.model.search_.row_ids
        place = {id_: int(np.searchsorted(ids, id_)) for id_ in speaking}
        names = {id_: row_name(self.model.row_names_, ids, place[id_]) for id_ in speaking}

        def ask(groups: Sequence[Collection[int]]) -> tuple[Float, Bool]:
            near = self._graph_without([[place[id_] for id_ in group] for group in groups])
            return self._answers(near, self.x[np.zeros(len(groups), dtype=np.int64)])

        return _dropping("neighbor", speaking, speaking, names, ask)

    def features(self, speaking: Sequence[int], others: Sequence[int]) -> list[Removal]:
        """Return the features without which the label is dropped.

        `speaking` are the columns that speak for it, strongest first; `others` the rest.
        """
        tried = [*speaking, *others][:MOST_FEATURES]
        names = {column: self.feature_names[column] for column in tried}

        def ask(groups: Sequence[Collection[int]]) -> tuple[Float, Bool]:
            rows = self.source.without(self.row, groups)
            return self._answers(self.model.search_.query(rows, self.model.scoring_.k), rows)

        return _dropping("feature", tried, speaking[:MOST_TOGETHER], names, ask)

    def _answers(self, near: NeighborGraph, rows: Features) -> tuple[Float, Bool]:
        """Return the scores of the label and whether it is predicted, for each query."""
        with using_threads(self.model.search_.n_jobs):
            scores = self.model.scoring_.scores(near, rows)
        decided = self.model.decision_.decide(scores)[:, [self.label]].toarray().ravel() > 0
        found = np.array([cells(scores, i, [self.label])[0] for i in range(near.n_queries)])
        return found, decided

    def _graph_without(self, groups: Sequence[Collection[int]]) -> NeighborGraph:
        """Return the neighbours of the row once for each group of places, without these rows."""
        k = self.model.scoring_.k
        wide = self.model.search_.query(self.x, k + max(len(group) for group in groups))
        width, found = min(k, wide.k), wide.ids[0] >= 0
        kept = [~np.isin(wide.ids[0], list(group)) & found for group in groups]
        return picked(wide, [np.flatnonzero(each)[:width] for each in kept], width)


def _dropping(
    kind: str,
    singles: Sequence[int],
    together: Sequence[int],
    names: Mapping[int, str],
    ask: Asked,
) -> list[Removal]:
    """Return each single removal that drops the label; if none does, the first ones together."""
    if not singles:
        return []
    groups: list[tuple[int, ...]] = [(id_,) for id_ in singles]
    scores, predicted = ask(groups)
    dropping = np.flatnonzero(~predicted).tolist()
    if not dropping and len(together) > 1:
        groups = [tuple(together[:size]) for size in range(2, len(together) + 1)]
        scores, predicted = ask(groups)
        dropping = np.flatnonzero(~predicted)[:1].tolist()
    return [
        Removal(kind, groups[i], tuple(names[id_] for id_ in groups[i]), float(scores[i]))
        for i in dropping
    ]
