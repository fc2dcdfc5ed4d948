"""Indicators made of chosen entries."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Csr, Int
from vicinal.scores import Scores


def from_entries(rows: Int, labels: Int, shape: tuple[int, int]) -> Csr:
    """Return the canonical indicator with ones at (rows, labels), none repeated."""
    ones = np.ones(len(rows), dtype=np.int32)
    matrix = sparse.csr_array(sparse.coo_array((ones, (rows, labels)), shape=shape))
    matrix.sort_indices()
    return matrix


def row_ids(matrix: Csr) -> Int:
    """Return the row of each stored entry.

    Examples
    --------
    >>> row_ids(sparse.csr_array(np.array([[1, 1], [0, 1]])))
    array([0, 0, 1])
    """
    rows: Int = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows


def where_chosen(scores: Scores, stored: Bool, base: Bool) -> Csr:
    """Return the indicator of the chosen entries of sparse scores.

    Parameters
    ----------
    scores : Scores
        Sparse.
    stored : ndarray of bool, shape (n_stored,)
        Which stored entries are chosen.
    base : ndarray of bool, shape (L,)
        Which labels are chosen wherever no score is stored for them.

    Notes
    -----
    The result has as many entries as labels are chosen; so has the memory.
    """
    values = scores.values
    if not isinstance(values, sparse.csr_array):
        raise TypeError("where_chosen needs sparse scores")
    rows, labels = row_ids(values), values.indices.astype(np.int64)
    chosen = from_entries(rows[stored], labels[stored], scores.shape)
    if not base.any():
        return chosen
    everywhere = np.flatnonzero(base)
    n_rows = scores.shape[0]
    full = from_entries(
        np.repeat(np.arange(n_rows), len(everywhere)), np.tile(everywhere, n_rows), scores.shape
    )
    is_stored = from_entries(rows, labels, scores.shape)
    unstored = sparse.csr_array(full - full.multiply(is_stored))
    unstored.eliminate_zeros()
    union = sparse.csr_array((chosen + unstored).astype(np.int32))
    union.sort_indices()
    return union
