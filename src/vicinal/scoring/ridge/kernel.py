"""The Gaussian kernel."""

import numpy as np

from vicinal._base.arrays import Features, Float

SAMPLED_ROWS = 1000
"""Rows whose distances set the width of the kernel."""


def squared_distances(Q: Features, X: Features) -> Float:
    """Return the squared Euclidean distances of all pairs of rows, shape (q, n)."""
    products = Q @ X.T
    full = np.asarray(products if isinstance(products, np.ndarray) else products.toarray())
    own, others = _squares(Q), _squares(X)
    distances: Float = np.maximum(own[:, None] + others - 2.0 * full, 0.0)
    return distances


def gaussian(Q: Features, X: Features, gamma: float) -> Float:
    r"""Return :math:`e^{-\gamma \lVert q - x \rVert^2}` for all pairs of rows.

    Examples
    --------
    >>> gaussian(np.array([[1.0]]), np.array([[1.0], [2.0]]), 1.0).round(4)
    array([[1.    , 0.3679]])
    """
    return np.exp(-gamma * squared_distances(Q, X))


def usual_gamma(X: Features) -> float:
    """Return 1 over the median squared distance of evenly spaced rows; 1 where that is 0."""
    step = max(1, X.shape[0] // SAMPLED_ROWS)
    sample = X[::step]
    distances = squared_distances(sample, sample)
    pairs = distances[np.triu_indices(len(distances), 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    return 1.0 / median if median > 0 else 1.0


def _squares(rows: Features) -> Float:
    """Return the squared length of each row."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    squares = np.zeros(rows.shape[0])
    squares[filled] = np.add.reduceat(rows.data * rows.data, rows.indptr[filled])
    return squares
