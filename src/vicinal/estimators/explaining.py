"""Explanations of rows: each method's breakdown of its scores, with names instead of numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import blocks
from vicinal._base.scalars import check_sequence
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_flag, check_integer
from vicinal.estimators.block_rows import block_rows
from vicinal.estimators.explained_row import ExplainedRow
from vicinal.estimators.feature_names import FeatureNames
from vicinal.estimators.row_names import check_row_names
from vicinal.estimators.row_sources import PlainRows, RowSource
from vicinal.explain import Explanation, Explanations
from vicinal.scores import Scores
from vicinal.scoring.explaining import cells

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator

BLOCK_ROWS = 256
"""The largest number of rows searched and scored at a time."""


def explain_rows(
    model: "NeighborEstimator",
    X: Features,
    labels: Sequence[str | int] | None,
    top: int,
    what_if: bool,
    row_names: Sequence[str] | None,
    features: FeatureNames,
    source: RowSource | None = None,
    row_texts: Mapping[int, str] | None = None,
) -> Explanations:
    """Explain the rows of `X`: validated features as the estimator accepts them.

    Parameters
    ----------
    features : FeatureNames
    source : RowSource, optional
        The texts that the rows were made from. By default rows have no texts.
    row_texts : mapping of int to str, optional
        Texts of training rows by row id.

    The other parameters are those of :meth:`NeighborEstimator.explain`.
    """
    n_rows = X.shape[0]
    explainer = Explainer(
        model=model,
        source=PlainRows(X) if source is None else source,
        wanted=None if labels is None else label_ids(labels, model.label_names_),
        top=check_integer("top", top, low=0),
        what_if=check_flag("what_if", what_if),
        features=features,
        row_texts={} if row_texts is None else row_texts,
    )
    names = None if row_names is None else check_row_names(row_names, n_rows)
    found: list[Explanation] = []
    at_once = min(BLOCK_ROWS, block_rows(model.scoring_))
    for start, stop in blocks(n_rows, at_once, "Explaining rows"):
        for row, explained in enumerate(explainer.explain(X[start:stop], start), start):
            found.append(explained.named(row if names is None else names[row]))
    return Explanations(found)


def label_ids(labels: object, known: Sequence[str]) -> list[int]:
    """Return the column numbers of labels given by name or number.

    Examples
    --------
    >>> label_ids(["sad", 0], known=("calm", "sad"))
    [1, 0]
    >>> label_ids(["angry"], known=("calm", "sad"))
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: labels: expected label names of the model, or numbers
    from 0 to 1, got 'angry'
    """
    number = {name: label for label, name in enumerate(known)}
    found = []
    for label in check_sequence("labels", labels):
        chosen = number.get(label) if isinstance(label, str) else _in_range(label, len(known))
        if chosen is None:
            raise InvalidArgumentError(
                "labels",
                f"label names of the model, or numbers from 0 to {len(known) - 1}",
                repr(label),
            )
        found.append(chosen)
    return found


def _in_range(label: object, n_labels: int) -> int | None:
    """Return a label's column number, or None if it is not one."""
    if isinstance(label, bool) or not isinstance(label, int | np.integer):
        return None
    return int(label) if 0 <= label < n_labels else None


@dataclass(frozen=True, eq=False)
class Explainer:
    """A model and the options of its explanations."""

    model: "NeighborEstimator"
    source: RowSource
    wanted: list[int] | None
    top: int
    what_if: bool
    features: FeatureNames
    row_texts: Mapping[int, str]

    def explain(self, X: Features, first: int) -> Iterator[ExplainedRow]:
        """Yield what is needed to explain each row of a block whose first row is number `first`."""
        model = self.model
        near = model.search_.query(X, model.scoring_.k)
        with using_threads(model.search_.n_jobs):
            scores = model.scoring_.scores(near, X)
        decided = model.decision_.decide(scores)
        best = scores.top(self.top)[0] if self.top else np.empty((X.shape[0], 0), dtype=np.int32)
        for row in range(X.shape[0]):
            predicted = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
            chosen = self.wanted
            if chosen is None:
                chosen = _best_first(scores, row, {*predicted.tolist(), *best[row].tolist()})
            yield ExplainedRow(
                self,
                first + row,
                X[row : row + 1],
                near.queries(row, row + 1),
                sorted(predicted.tolist()),
                chosen,
                cells(scores, row, chosen).tolist(),
            )


def _best_first(scores: Scores, row: int, labels: set[int]) -> list[int]:
    """Return labels by decreasing score, then by number."""
    rising = sorted(labels)
    values = dict(zip(rising, cells(scores, row, rising).tolist(), strict=True))
    return sorted(rising, key=lambda label: (-values[label], label))
