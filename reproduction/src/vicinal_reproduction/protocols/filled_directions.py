"""Reductions with the requested number of columns, even if there are fewer directions.

An eigensolver that is asked for more directions than a matrix has adds meaningless ones, which are
orthogonal to the others and otherwise arbitrary. Here they are drawn at random.
"""

from collections.abc import Callable
from typing import Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone

from vicinal._core.arrays import Features, Float
from vicinal.reduction import MDDM, OPLS, LabelCCA
from vicinal_reproduction.protocols.measuring import dense

Fill: TypeAlias = Callable[[Float, Features, int], Float]
"""Takes directions, rows and the number of columns; returns that many directions."""

NOTHING = 1e-8
"""Directions with less variation than this, relative to the largest, count as constant."""


class Filled(TransformerMixin, BaseEstimator):
    """A reduction with additional arbitrary directions.

    Parameters
    ----------
    reduction : MDDM, OPLS or LabelCCA
        With all its directions.
    fill : callable
        :func:`orthonormal`, :func:`least` or :func:`uncorrelated`.
    n_components : int
        Number of output columns.
    """

    def __init__(
        self, reduction: MDDM | OPLS | LabelCCA, fill: Fill, n_components: int = 128
    ) -> None:
        self.reduction = reduction
        self.fill = fill
        self.n_components = n_components

    def fit(self, X: Features, Y: object) -> Self:
        """Find the directions of rows `X` with labels `Y`, and add arbitrary ones."""
        found = clone(self.reduction).fit(X, Y)
        self.projection_ = self.fill(found.projection_, X, self.n_components)
        return self

    def transform(self, X: Features) -> Float:
        """Return the projected rows."""
        projected: Float = X @ self.projection_
        return projected


def orthonormal(directions: Float, X: Features, width: int) -> Float:
    """Return `width` orthonormal columns (at most one per feature): the given ones, then others.

    Examples
    --------
    >>> columns = orthonormal(np.array([[1.0], [0.0], [0.0]]), np.eye(3), 2)
    >>> columns[:, 0], np.allclose(columns.T @ columns, np.eye(2))
    (array([1., 0., 0.]), True)
    """
    n_features, found = directions.shape
    missing = max(0, min(width, n_features) - found)
    drawn = np.random.default_rng(0).standard_normal((n_features, missing))
    columns, _ = np.linalg.qr(np.hstack([directions, drawn]))
    return np.hstack([directions, columns[:, found:]])[:, :width]


def least(directions: Float, X: Features, width: int) -> Float:
    """Return the last `width` orthonormal directions, which depend least on the labels.

    Examples
    --------
    >>> least(np.array([[1.0], [0.0]]), np.eye(2), 1).round(9) + 0.0
    array([[0.],
           [1.]])
    """
    return orthonormal(directions, X, len(directions))[:, -width:]


def uncorrelated(directions: Float, X: Features, width: int) -> Float:
    """Return directions in which rows vary by 1 and independently: the span of those given first.

    Only how the rows `X` vary about their mean matters; where they vary in fewer than `width`
    directions, there are as many columns.

    Examples
    --------
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> P = uncorrelated(np.array([[1.0], [0.0]]), X, 2)
    >>> ((X @ P).T @ (X @ P)).round(9) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    rows = dense(X)
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    seen = values > NOTHING * values[-1]
    axes, lengths = vectors[:, seen], np.sqrt(values[seen])
    first, _ = np.linalg.qr(lengths[:, np.newaxis] * (axes.T @ directions))
    columns: Float = (axes / lengths) @ orthonormal(first, X, width)
    return columns
