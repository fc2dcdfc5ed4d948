"""MDDM with as many columns as are asked for, however few directions the labels give."""

from typing import Self

import numpy as np

from vicinal._base.arrays import Float
from vicinal.reduction import MDDM


def filled(directions: Float, width: int) -> Float:
    """Return orthonormal columns, `width` of them or as many as rows: those given, then others.

    Eigenvectors of a matrix that has fewer directions than are asked for end so: what comes after
    the last is at right angles to all before, and else arbitrary. Here it is drawn.

    Examples
    --------
    >>> columns = filled(np.array([[1.0], [0.0], [0.0]]), 2)
    >>> columns[:, 0], np.allclose(columns.T @ columns, np.eye(2))
    (array([1., 0., 0.]), True)
    """
    n_features, found = directions.shape
    missing = max(0, min(width, n_features) - found)
    drawn = np.random.default_rng(0).standard_normal((n_features, missing))
    orthonormal, _ = np.linalg.qr(np.hstack([directions, drawn]))
    return np.hstack([directions, orthonormal[:, found:]])


class FilledMDDM(MDDM):
    """MDDM whose orthonormal directions are filled up with arbitrary ones."""

    def fit(self, X: object, Y: object) -> Self:
        """Find the directions of rows `X` with labels `Y`, and fill them up."""
        super().fit(X, Y)
        width = self.projection_.shape[1] if self.n_components is None else self.n_components
        self.projection_ = filled(self.projection_, width)
        self.offset_ = np.zeros(self.projection_.shape[1])
        return self
