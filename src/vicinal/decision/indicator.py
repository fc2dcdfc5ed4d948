"""Build indicator matrices from chosen entries."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Csr, Float, Int, Int32, is_stored, row_ids
from vicinal._base.bare_csr import dense_csr
from vicinal._base.checked_csr import checked_csr
from vicinal._base.errors import InvalidArgumentError
from vicinal.scores import Scores


def from_entries(rows: Int, labels: Int, shape: tuple[int, int]) -> Csr:
    """Return the canonical indicator with ones at (rows, labels), none repeated.

    Examples
    --------
    >>> from_entries(np.array([1, 0, 1]), np.array([2, 0, 1]), (2, 3)).toarray()
    array([[1, 0, 0],
           [0, 1, 1]], dtype=int32)
    """
    n_rows, n_labels = shape
    cells = rows * np.int64(n_labels) + labels
    if not bool((cells[1:] > cells[:-1]).all()):
        order = np.argsort(cells)
        rows, labels = rows[order], labels[order]
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return _indicator(labels, indptr, n_labels)


def above_rows(scores: Scores, thresholds: Float) -> Csr:
    """Return the indicator of the scores above the threshold of their row.

    Memory: one entry per label chosen, and three per stored score.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.9, 0.0], [0.0, 0.1]]))
    >>> scores = Scores.sparse(stored, base=np.array([0.2, 0.3]))
    >>> above_rows(scores, np.array([0.3, 0.15])).toarray()
    array([[1, 0],
           [1, 0]], dtype=int32)
    """
    values = scores.values
    if not isinstance(values, sparse.csr_array):
        return dense_csr((values > thresholds[:, None]).astype(np.int32))
    chosen = values.data > thresholds[row_ids(values)]
    by_base = np.argsort(-scores.base, kind="stable")
    passing = np.searchsorted(-scores.base[by_base], -thresholds, side="left")
    rows = np.repeat(np.arange(scores.shape[0], dtype=np.int64), passing)
    first = np.cumsum(passing) - passing
    labels = by_base[np.arange(len(rows)) - np.repeat(first, passing)]
    return _chosen(values, chosen, rows, labels)


def above_labels(scores: Scores, thresholds: Float, *, inclusive: bool = False) -> Csr:
    """Return the indicator of the scores above (or at) the threshold of their label.

    Memory: one entry per label chosen, and three per stored score.

    Examples
    --------
    >>> scores = Scores.dense(np.array([[0.9, 0.4], [0.2, 0.1]]))
    >>> above_labels(scores, np.array([0.5, 0.1])).toarray()
    array([[1, 1],
           [0, 0]], dtype=int32)
    """
    passes = np.greater_equal if inclusive else np.greater
    values = scores.values
    if not isinstance(values, sparse.csr_array):
        return dense_csr(passes(values, thresholds).astype(np.int32))
    everywhere = np.flatnonzero(passes(scores.base, thresholds))
    chosen = passes(values.data, thresholds[values.indices])
    if len(everywhere) == 0:
        return _stored(values, chosen)
    n_rows = scores.shape[0]
    rows = np.repeat(np.arange(n_rows, dtype=np.int64), len(everywhere))
    return _chosen(values, chosen, rows, np.tile(everywhere, n_rows))


def _stored(values: Csr, chosen: Bool) -> Csr:
    """Return the indicator of the chosen ones of the stored entries, which are in order."""
    until = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(chosen, out=until[1:])
    return _indicator(values.indices[chosen], until[values.indptr], values.shape[1])


def _indicator(labels: Int | Int32, indptr: Int, n_labels: int) -> Csr:
    """Return the indicator of the labels of each row, which are in order."""
    if len(labels) >= np.iinfo(np.int32).max:
        raise InvalidArgumentError("scores", "fewer than 2^31 - 1 labels chosen", len(labels))
    ones = np.ones(len(labels), dtype=np.int32)
    return checked_csr(ones, labels.astype(np.int32), indptr, (len(indptr) - 1, int(n_labels)))


def _chosen(values: Csr, stored: Bool, rows: Int, labels: Int) -> Csr:
    """Return the chosen stored entries together with the entries (rows, labels) not stored."""
    if len(rows) == 0:
        return _stored(values, stored)
    shape = (int(values.shape[0]), int(values.shape[1]))
    own_rows, own_labels = row_ids(values)[stored], values.indices[stored].astype(np.int64)
    wanted = from_entries(rows, labels, shape)
    absent = ~is_stored(values, wanted)
    more = wanted.indices[absent].astype(np.int64)
    return from_entries(
        np.concatenate([own_rows, row_ids(wanted)[absent]]),
        np.concatenate([own_labels, more]),
        shape,
    )
