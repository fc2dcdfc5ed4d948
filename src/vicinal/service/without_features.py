"""What each feature of a row contributes to a label: how far the score falls without it.

Found by predicting again without the feature, not from the shares of the similarity: where
features are binary, every word that two texts share has the same share, common words included.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int
from vicinal.estimators import NeighborEstimator
from vicinal.scoring.explaining import cells

MOST_FEATURES = 100
"""Features of a row that are left out, one after the other: those with the largest values."""
MOST_ROWS = 16
"""Rows of one request; each of them costs as much as `MOST_FEATURES` predictions."""


def add_contributions(
    estimator: NeighborEstimator,
    X: Features,
    explanations: Sequence[dict[str, Any]],
    feature_names: Sequence[str],
) -> None:
    """Add ``without`` to each explained label: features and what the score loses without them.

    Largest loss first; features without which the score does not fall are left out.

    Parameters
    ----------
    estimator : NeighborEstimator
    X : ndarray or csr_array, shape (n, m)
    explanations : sequence of n dict
        As :func:`vicinal.service.model_access.explanations` returns them; changed in place.
    feature_names : sequence of str
    """
    number = {name: label for label, name in enumerate(estimator.label_names_)}
    for row, explanation in enumerate(explanations):
        x = sparse.csr_array(X[[row]])
        columns = _largest(x)
        explained = explanation["labels"]
        labels = [number[each["label"]] for each in explained]
        scores = estimator.scores(_with_and_without(x, columns))
        found = np.array([cells(scores, place, labels) for place in range(len(columns) + 1)])
        for place, each in enumerate(explained):
            losses = found[0, place] - found[1:, place]
            order = np.argsort(-losses, kind="stable")
            each["without"] = [
                {"feature": feature_names[columns[entry]], "loss": float(losses[entry])}
                for entry in order
                if losses[entry] > 0 and columns[entry] < len(feature_names)
            ]


def _largest(x: Csr) -> Int:
    """Return the columns of a row's largest values, in the order of the columns."""
    kept = np.argsort(-np.abs(x.data), kind="stable")[:MOST_FEATURES]
    columns: Int = np.sort(x.indices[kept]).astype(np.int64)
    return columns


def _with_and_without(x: Csr, columns: Int) -> Csr:
    """Return the row as it is, and once without each of the columns.

    Examples
    --------
    >>> x = sparse.csr_array(np.array([[1.0, 0.0, 2.0]]))
    >>> _with_and_without(x, np.array([0, 2])).toarray()
    array([[1., 0., 2.],
           [0., 0., 2.],
           [1., 0., 0.]])
    """
    kept = [np.ones(x.nnz, dtype=bool), *(x.indices != column for column in columns)]
    lengths = np.cumsum([0, *(int(mask.sum()) for mask in kept)])
    indices = np.concatenate([x.indices[mask] for mask in kept])
    data = np.concatenate([x.data[mask] for mask in kept])
    return sparse.csr_array((data, indices, lengths), shape=(len(kept), x.shape[1]))
