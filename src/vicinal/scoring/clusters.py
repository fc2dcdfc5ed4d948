"""Clusters of rows: k-means, and the nearest centre."""

from functools import cache

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import ThreadpoolController

from vicinal._base.arrays import Features, Float, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal.distances import EUCLIDEAN
from vicinal.index import build_index

MINI_BATCH_ROWS = 20_000
"""Number of rows above which mini-batch k-means is used."""


def find_centers(X: Features, n_clusters: int, random_state: object = None) -> Float:
    """Return the centres of k-means, at most `n_clusters`.

    There are fewer if there are fewer rows than `n_clusters`, or if a centre is nearest to no row
    (duplicate rows; mini-batches), because it would represent nothing.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    n_clusters : int
    random_state : None, int or RandomState
        Seed of scikit-learn's ``KMeans`` (``MiniBatchKMeans`` above 20,000 rows).

    Returns
    -------
    ndarray of float64, shape (c, m)
        Dense, even if `X` is sparse: 8 bytes per cluster and feature.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(find_centers(X, 2, random_state=0).ravel().tolist())
    [0.5, 10.5]
    """
    n_rows = X.shape[0]
    kind = KMeans if n_rows <= MINI_BATCH_ROWS else MiniBatchKMeans
    model = kind(min(n_clusters, n_rows), random_state=random_state)
    # With several threads the order of additions, and so the last bit of a centre, would vary.
    with _libraries().limit(limits=1):
        model.fit(_short_indices(X))
    centers = np.ascontiguousarray(model.cluster_centers_, dtype=np.float64)
    return centers[np.unique(nearest_center(X, centers))]


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries of k-means, once: that takes longer than the clusters of a few rows."""
    return ThreadpoolController()


def _short_indices(X: Features) -> Features:
    """Return sparse rows with 32-bit indices, which scikit-learn's k-means requires."""
    if not isinstance(X, sparse.csr_array):
        return X
    if X.nnz >= 2**31:
        raise InvalidArgumentError(
            "X", "fewer than 2^31 values for k-means (pass centers)", f"{X.nnz} values"
        )
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, indptr), shape=X.shape)


def nearest_center(X: Features, centers: Float) -> Int32:
    """Return the number of the nearest centre of each row; the lower number wins ties.

    Examples
    --------
    >>> nearest_center(np.array([[0.0], [2.0], [1.0]]), np.array([[0.0], [2.0], [2.0]]))
    array([0, 1, 0], dtype=int32)
    """
    same_kind = sparse.csr_array(centers) if isinstance(X, sparse.csr_array) else centers
    nearest: Int32 = build_index(same_kind, EUCLIDEAN.name).query(X, 1).ids[:, 0]
    return nearest
