"""Every call that the service makes to a model, in one place."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.json_lines import without_nan
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.incremental import IncrementalEstimator

DEFAULT_NEIGHBORS = 10
"""Neighbours shown of a method that uses none."""
SHARED_WORDS = 8
"""Features shown per neighbour."""


class Answer(NamedTuple):
    """The predicted labels of one row, and the labels with the highest scores, best first."""

    labels: list[str]
    scores: list[tuple[str, float]]


def answers(estimator: NeighborEstimator, X: Features, top: int) -> list[Answer]:
    """Return the answer for each row."""
    scores = estimator.scores(X)
    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    names = estimator.label_names_
    found = []
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        best = zip(ids[row].tolist(), values[row].tolist(), strict=True)
        found.append(
            Answer([names[label] for label in labels], [(names[i], value) for i, value in best])
        )
    return found


def neighbors(
    estimator: NeighborEstimator, X: Features, k: int | None, feature_names: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Return the nearest training rows: id, name, similarity, labels, shared features."""
    search, Y = estimator.search_, estimator.scoring_.Y
    graph = search.query(X, k or estimator.scoring_.k or DEFAULT_NEIGHBORS)
    measure = "distance" if graph.metric == "euclidean" else "similarity"
    names: Sequence[str] | None = getattr(estimator, "row_names_", None)
    found = []
    for query in range(graph.n_queries):
        near = []
        for place, value in zip(
            graph.ids[query].tolist(), graph.values[query].tolist(), strict=True
        ):
            if place < 0:
                break
            labels = Y.indices[Y.indptr[place] : Y.indptr[place + 1]]
            near.append(
                {
                    "row_id": int(search.row_ids[place]),
                    "name": None if names is None else str(names[place]),
                    measure: value,
                    "labels": [estimator.label_names_[label] for label in labels],
                    "shared": shared_features(X[[query]], search.X[[place]], feature_names),
                }
            )
        found.append(near)
    return found


def shared_features(
    row: Features, other: Features, feature_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the features two rows have in common, largest share of their cosine first.

    The cosine splits into one share per feature f: x_f · y_f / (‖x‖ ‖y‖).

    Examples
    --------
    >>> row, other = np.array([[3.0, 4.0, 0.0]]), np.array([[0.0, 1.0, 2.0]])
    >>> [(part["feature"], round(part["share"], 4)) for part in shared_features(row, other, "abc")]
    [('b', 0.3578)]
    """
    x, y = sparse.csr_array(row), sparse.csr_array(other)
    both = sparse.csr_array(x.multiply(y))
    length = float(np.sqrt((x.data**2).sum() * (y.data**2).sum())) or 1.0
    order = np.argsort(-both.data, kind="stable")[:SHARED_WORDS]
    return [
        {"feature": feature_names[both.indices[entry]], "share": float(both.data[entry] / length)}
        for entry in order
        if both.data[entry] > 0 and both.indices[entry] < len(feature_names)
    ]


def explanations(
    estimator: NeighborEstimator,
    X: Features,
    labels: list[str] | None,
    top: int,
    feature_names: Sequence[str],
) -> list[dict[str, Any]]:
    """Return why each row gets its labels, as JSON can hold it."""
    found = estimator.explain(X, labels=labels, top=top, feature_names=feature_names)
    return [cast("dict[str, Any]", without_nan(explanation.to_dict())) for explanation in found]


def can_learn(estimator: NeighborEstimator) -> bool:
    """Tell whether the method learns rows without starting over."""
    return isinstance(estimator, IncrementalEstimator)


def learn(estimator: NeighborEstimator, X: Features, labels: list[list[str]]) -> None:
    """Add rows with the names of their labels."""
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot learn incrementally")
    estimator.partial_fit(X, labels)


def forget(estimator: NeighborEstimator, row_ids: Sequence[int]) -> None:
    """Remove rows by id."""
    if not isinstance(estimator, IncrementalEstimator):
        raise TypeError(f"{type(estimator).__name__} cannot forget rows")
    estimator.forget(list(row_ids))


def row_ids(estimator: NeighborEstimator) -> Int:
    """Return the ids of the model's rows, in rising order."""
    return estimator.row_ids_


def next_row_id(estimator: NeighborEstimator) -> int:
    """Return the id that the next learned row gets."""
    return estimator.search_.n_ids


def label_counts(estimator: NeighborEstimator) -> dict[str, int]:
    """Return each label with the number of rows that carry it."""
    Y: Csr = estimator.scoring_.Y
    counts = np.bincount(Y.indices, minlength=len(estimator.label_names_))
    return dict(zip(estimator.label_names_, counts.tolist(), strict=True))


def example_words(
    estimator: NeighborEstimator, feature_names: Sequence[str], count: int
) -> list[dict[str, str]]:
    """Return a few training rows as texts made of their words, evenly spread over the rows."""
    X = estimator.search_.X
    names: Sequence[str] | None = getattr(estimator, "row_names_", None)
    shown = []
    for place in np.unique(np.linspace(0, X.shape[0] - 1, count + 2, dtype=np.int64)[1:-1]):
        words = sparse.csr_array(X[[place]]).indices
        text = " ".join(feature_names[word] for word in words[:60])
        title = f"row {place}" if names is None else names[place]
        shown.append({"title": f"words of {title}", "text": text})
    return shown
