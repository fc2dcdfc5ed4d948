r"""Find the neighbours or features without which a label would no longer be predicted.

The model predicts again without them. The shares of an explanation cannot tell: the next nearest
rows take the place of removed neighbours, and removing features changes the neighbours. The fitted
model itself does not change.

.. math:: \cos(x, y) = \sum_f \frac{x_f \, y_f}{\lVert x \rVert \lVert y \rVert}, \qquad
          x \cdot y = \sum_f x_f \, y_f
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Features, Float, Int, row_ids
from vicinal._core.csr import stacked, take_rows
from vicinal._core.threads import using_threads
from vicinal._core.validation import as_csr
from vicinal.explanation import Removal
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import cells, with_neighbors
from vicinal.methods.fitted_state import row_name
from vicinal.preprocess import TextVectorizer, WordPlace
from vicinal.scores import Scores

if TYPE_CHECKING:
    from vicinal.methods.base import NeighborEstimator


class RowSource(ABC):
    """Rows that can be shown, and built again without some of their features."""

    def text(self, row: int) -> str | None:
        """Return the text of a row, or None if rows are numbers."""
        return None

    def word_places(self, text: str) -> list[WordPlace]:
        """Return the positions of those words of a text that are features."""
        return []

    @abstractmethod
    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""


@dataclass(frozen=True, eq=False)
class PlainRows(RowSource):
    """Rows of numbers. A feature is removed by setting it to 0."""

    X: Features

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""
        one = as_csr(self.X[row : row + 1])
        changed = []
        for columns in groups:
            kept = ~np.isin(one.indices, list(columns))
            parts = (one.data[kept], one.indices[kept], np.array([0, np.count_nonzero(kept)]))
            changed.append(cast("Csr", sparse.csr_array(parts, shape=one.shape)))
        rows = stacked(changed)
        return rows if sparse.issparse(self.X) else rows.toarray()


@dataclass(frozen=True, eq=False)
class TextRows(RowSource):
    """Rows made from texts. A feature is removed by deleting its words before preprocessing.

    `prepare` turns versions of a row's text into rows; it takes the row's number first.
    """

    texts: list[str]
    vectorizer: TextVectorizer
    prepare: Callable[[int, list[str]], Features]

    def text(self, row: int) -> str | None:
        """Return the text of a row."""
        return self.texts[row]

    def word_places(self, text: str) -> list[WordPlace]:
        """Return the positions of those words of a text that are features."""
        return self.vectorizer.word_places(text)

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""
        text = self.texts[row]
        places = self.word_places(text)
        fewer = [without_words(text, places, set(columns)) for columns in groups]
        return self.prepare(row, fewer)


def without_words(text: str, places: Sequence[WordPlace], columns: Collection[int]) -> str:
    """Return a text without the words of these columns."""
    kept, done = [], 0
    for place in places:
        if any(column in columns for column in place.columns):
            kept.append(text[done : place.start])
            done = place.stop
    return "".join([*kept, text[done:]])


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Names of columns; ``feature0``, ``feature1``, … if the columns have no names."""

    names: Sequence[Any] | None

    def __getitem__(self, column: int) -> str:
        """Return the name of a column."""
        return f"feature{column}" if self.names is None else str(self.names[column])


MOST_FEATURES = 100
"""The most features tried one at a time, those that contribute most."""
MOST_TOGETHER = 20
"""The most features removed together."""

PredictWithout: TypeAlias = Callable[[Sequence[Collection[int]]], tuple[Float, Bool]]
"""Sets of ids to remove → the label's score without each set, and whether it is predicted."""


@dataclass(frozen=True, eq=False)
class RemovalSearch:
    """A row and a label that the model predicts for it."""

    model: "NeighborEstimator"
    source: RowSource
    feature_names: FeatureNames
    row: int
    x: Features
    label: int

    def neighbors(self, supporting: Sequence[int]) -> list[Removal]:
        """Return the supporting neighbours without which the label is not predicted."""
        version = self.model._fitted()
        ids = version.rows.place_ids
        place = {id_: int(np.searchsorted(ids, id_)) for id_ in supporting}
        names = {id_: row_name(version, place[id_]) for id_ in supporting}

        def predict_without(groups: Sequence[Collection[int]]) -> tuple[Float, Bool]:
            places = [[place[id_] for id_ in group] for group in groups]
            scores = self.model._scores_without(self.x, places)
            if scores is not None:
                return self._judge(scores)
            k = self.model.scoring_.k
            wide = self.model.search_.query(self.x, k + max(map(len, places)))
            width, found = min(k, wide.k), wide.ids[0] >= 0
            kept = [~np.isin(wide.ids[0], each) & found for each in places]
            near = with_neighbors(wide, [np.flatnonzero(each)[:width] for each in kept], width)
            return self._predict(near, take_rows(self.x, np.zeros(len(groups), dtype=np.int64)))

        return _decisive("neighbor", supporting, supporting, names, predict_without)

    def features(self, supporting: Sequence[int], others: Sequence[int]) -> list[Removal]:
        """Return the features without which the label is not predicted."""
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
        return self._judge(scores)

    def _judge(self, scores: Scores) -> tuple[Float, Bool]:
        """Return the score of the label and whether it is predicted, for each row of scores."""
        labels = self.model.decision_.decide(scores)
        n_rows = scores.shape[0]
        decided = np.zeros(n_rows, dtype=np.bool_)
        decided[row_ids(labels)[labels.indices == self.label]] = True
        return np.array([cells(scores, i, [self.label])[0] for i in range(n_rows)]), decided


def _decisive(
    kind: str,
    singles: Sequence[int],
    together: Sequence[int],
    names: Mapping[int, str],
    predict_without: PredictWithout,
) -> list[Removal]:
    """Return every single removal after which the label is not predicted."""
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


def shared_features(x: Features, rows: Features, metric: str) -> list[tuple[Int, Float]]:
    """Return, for each row, the columns it shares with `x` and their terms in the similarity."""
    one, many = as_csr(x), as_csr(rows)
    own, theirs = one.data.astype(np.float64), many.data.astype(np.float64)
    at = np.searchsorted(one.indices, many.indices)
    is_shared = np.append(one.indices, -1)[at] == many.indices
    if metric != "dot":
        own = _unit(own)
    found = []
    for row in range(many.shape[0]):
        part = slice(many.indptr[row], many.indptr[row + 1])
        values, shared = theirs[part], is_shared[part]
        if metric != "dot":
            values = _unit(values)
        with np.errstate(over="ignore"):  # the similarity itself overflows to infinity too
            terms = own[at[part][shared]] * values[shared]
        found.append((many.indices[part][shared].astype(np.int64), terms))
    return found


def _unit(values: Float) -> Float:
    """Return the values of a row scaled to length 1, without overflow in between."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return values
    scaled = values / largest
    unit: Float = scaled / np.sqrt(np.square(scaled).sum())
    return unit
