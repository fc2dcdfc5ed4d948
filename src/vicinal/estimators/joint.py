"""The neighbour graph over features and labels together, for the second-order methods."""

from dataclasses import replace
from typing import cast

from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.warn import warn_user
from vicinal.distances import COSINE
from vicinal.index import TrainingRows
from vicinal.scoring import Training

FAR_BELOW = 5
"""Rows have too few labels for the second order if features outnumber labels by this factor."""


def with_joint_graph(training: Training, k: int, n_jobs: int | None) -> Training:
    """Return `training` with the graph that second-order methods need for `k`.

    Each row counts as its own first neighbour, so the search returns k − 1 others. It compares rows
    by the cosine of [X, Y], whatever the metric of the first order. Warns if rows have far fewer
    labels than features, because the labels then hardly change the neighbours.

    Notes
    -----
    Memory while fitting: 12 bytes per entry of X and Y, and the same again for the index.
    """
    if training.X is None:
        raise InvalidArgumentError("training.X", "the features of the training rows", None)
    both = joined(training.X, training.Y)
    n_labels, n_features = training.Y.nnz, both.nnz - training.Y.nnz
    if n_labels * FAR_BELOW < n_features:
        n_rows = max(training.n_rows, 1)
        warn_user(
            f"rows have {n_labels / n_rows:.3g} labels and {n_features / n_rows:.3g} features on "
            "average: second_order=True is intended for data where these are comparable"
        )
    return replace(training, joint=TrainingRows(both, COSINE.name, n_jobs).query_self(k - 1))


def joined(X: Features, Y: Csr) -> Csr:
    """Return features and labels side by side.

    Examples
    --------
    >>> import numpy as np
    >>> Y = sparse.csr_array(np.array([[1], [0]], dtype=np.int32))
    >>> joined(np.array([[0.5, 0.0], [0.0, 2.0]]), Y).toarray()
    array([[0.5, 0. , 1. ],
           [0. , 2. , 0. ]])
    """
    rows = sparse.csr_array(X)
    return cast("Csr", sparse.hstack([rows, Y.astype(rows.dtype)], format="csr"))
