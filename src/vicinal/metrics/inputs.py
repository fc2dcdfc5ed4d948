"""Validation of the metrics' input: true labels, predicted sets, scores."""

from typing import cast

import numpy as np

from vicinal._base.arrays import Csr, Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.indicator import check_indicator
from vicinal.scores import Scores, check_scores


def check_truth(Y_true: object) -> Csr:
    """Return the true label sets, of at least one row and one label."""
    truth = check_indicator(Y_true, "Y_true")
    if 0 in truth.shape:
        raise InvalidArgumentError(
            "Y_true", "at least one row and one label", f"shape {truth.shape}"
        )
    return truth


def check_labels(labels: object, truth: Csr) -> Csr:
    """Return the predicted label sets, shaped like the true ones."""
    predicted = check_indicator(labels, "labels")
    _check_shape("labels", predicted.shape, truth)
    return predicted


def check_ranking(scores: object, truth: Csr) -> Scores:
    """Return the scores, shaped like the true label sets."""
    checked = check_scores(scores, "scores")
    _check_shape("scores", checked.shape, truth)
    return checked


def _check_shape(name: str, shape: tuple[int, ...], truth: Csr) -> None:
    """Raise unless the shape is that of Y_true."""
    if shape != truth.shape:
        raise InvalidArgumentError(name, f"the shape {truth.shape} of Y_true", f"shape {shape}")


def row_sizes(matrix: Csr) -> Int:
    """Count the labels of each row."""
    return cast("Int", np.diff(matrix.indptr).astype(np.int64))


def ratio(part: Float | Int, whole: Float | Int, otherwise: Float | float) -> Float:
    """Return part / whole, or `otherwise` where whole is 0.

    Examples
    --------
    >>> ratio(np.array([1, 0]), np.array([2, 0]), 9.0)
    array([0.5, 9. ])
    """
    values = np.empty(part.shape)
    values[...] = otherwise
    np.divide(part, whole, out=values, where=np.asarray(whole) != 0)
    return values
