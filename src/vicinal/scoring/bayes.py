"""Tabulate votes for ML-kNN, DML-kNN and LAML-kNN.

:mod:`vicinal._base.posterior` computes posteriors from these tables.
"""

import numpy as np

from vicinal._base.arrays import Csr, Int, is_stored
from vicinal._base.posterior import likelihood, posterior, prior

__all__ = ["likelihood", "posterior", "prior", "tally"]


def tally(counts: Csr, Y: Csr, width: int) -> tuple[Int, Int]:
    r"""Tabulate the votes of rows by label, number of votes and true value.

    Parameters
    ----------
    counts : csr_array of int32, shape (n, L)
        Votes for each row and label, without explicit zeros; all less than `width`.
    Y : csr_array of int32, shape (n, L)
        Labels of the same rows.
    width : int
        1 + the maximum number of votes.

    Returns
    -------
    with_label, without_label : ndarray of int64, shape (L, width)
        :math:`c_l[j]`, the rows with label l that got j votes for it; :math:`c'_l[j]`, those
        without.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1], [1], [0]], dtype=np.int32))
    >>> counts = sparse.csr_array(np.array([[1], [0], [1]], dtype=np.int32))
    >>> tally(counts, Y, width=2)
    (array([[1, 1]]), array([[0, 1]]))
    """
    n_rows, n_labels = Y.shape
    carries = is_stored(Y, counts)
    cells = counts.indices.astype(np.int64) * width + counts.data
    with_label, without_label = (
        np.bincount(cells[chosen], minlength=n_labels * width).reshape(n_labels, width)
        for chosen in (carries, ~carries)
    )
    # Rows without votes are not stored; they are the remainder.
    positives = np.bincount(Y.indices, minlength=n_labels)
    with_label[:, 0] = positives - with_label.sum(axis=1)
    without_label[:, 0] = n_rows - positives - without_label.sum(axis=1)
    return with_label, without_label
