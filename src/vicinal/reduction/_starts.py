"""Starting points of ML-ARP: noise, or the directions of another projection."""

import warnings

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.reduction._centred import CentredRows
from vicinal.reduction._directions import RANK_TOLERANCE
from vicinal.reduction._projection import positive_first
from vicinal.reduction.mddm import MDDM

STARTS = ("noise", "pca", "mddm")

SQUARE = 2048
"""Maximum number of features or rows for which a square matrix is built: 32 MiB."""


def start_from(init: str, X: Features, Y: Csr, r: int, rng: np.random.Generator) -> Float:
    """Return an initial projection, shape (m, r).

    ``"noise"`` has entries from N(0, 1). The others contain the directions they find, scaled to the
    same mean size, and columns of zeros if there are fewer than r directions.

    Examples
    --------
    >>> from scipy import sparse
    >>> X, Y = np.array([[0.0, 1.0], [2.0, 1.0]]), sparse.csr_array([[1], [0]])
    >>> start_from("pca", X, Y, 3, np.random.default_rng(0)).round(3) + 0.0
    array([[1.414, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    m = int(X.shape[1])
    if init == "noise":
        return rng.standard_normal((m, r))
    directions = _principal(X, r) if init == "pca" else _dependent(X, Y, r)
    lengths = np.linalg.norm(directions, axis=0)
    P = np.zeros((m, r))
    P[:, : directions.shape[1]] = directions / np.where(lengths == 0, 1.0, lengths) * np.sqrt(m)
    return P


def _principal(X: Features, r: int) -> Float:
    """Return the directions in which rows vary most, strongest first.

    Computed from a square matrix of the features or of the rows if one of the two is at most
    :data:`SQUARE`, otherwise by iteration with products only.
    """
    rows = CentredRows(X)
    n, m = rows.shape
    wanted = min(r, n, m)
    if m <= SQUARE:
        values, vectors = eigh(rows.gram_of_columns())
        return _strongest(values, vectors, wanted)
    if n <= SQUARE:
        values, left = eigh(rows.gram_of_rows())
        return rows.transposed_dot(_strongest(values, left, wanted))
    operator = LinearOperator(
        (n, m),
        matvec=lambda v: rows.dot(v.ravel()),
        rmatvec=lambda u: rows.transposed_dot(u.ravel()),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).standard_normal(min(n, m))
    _, strengths, right = svds(operator, wanted, v0=start)
    return _strongest(strengths.astype(np.float64), right.T.astype(np.float64), wanted)


def _strongest(values: Float, vectors: Float, wanted: int) -> Float:
    """Return the vectors of the largest values, descending, without rounding errors."""
    order = np.argsort(-values, kind="stable")[:wanted]
    order = order[values[order] > RANK_TOLERANCE * max(values.max(initial=0.0), 0.0)]
    return positive_first(vectors[:, order]) if len(order) else vectors[:, :0]


def _dependent(X: Features, Y: Csr, r: int) -> Float:
    """Return the directions that depend most on the labels; none if nothing varies."""
    none = np.zeros((int(X.shape[1]), 0))
    if X.shape[0] < 2:
        return none
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer directions than requested are fine
        try:
            return MDDM(min(r, *X.shape, Y.shape[1])).fit(X, Y).projection_
        except InvalidArgumentError:
            return none
