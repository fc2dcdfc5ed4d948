r"""Split the similarity of two rows into terms of the features that both rows have.

.. math:: \cos(x, y) = \sum_f \frac{x_f \, y_f}{\lVert x \rVert \lVert y \rVert}, \qquad
          x \cdot y = \sum_f x_f \, y_f
"""

import numpy as np

from vicinal._base.arrays import Features, Float, Int
from vicinal._base.validation import as_csr


def shared_features(x: Features, rows: Features, metric: str) -> list[tuple[Int, Float]]:
    """Return, for each row, the columns it shares with `x` and their terms in the similarity.

    Parameters
    ----------
    x : ndarray or csr_array, shape (1, m)
    rows : ndarray or csr_array, shape (k, m)
    metric : {"euclidean", "cosine", "dot"}
        Terms of the dot product for ``"dot"``, of the cosine otherwise.

    Examples
    --------
    >>> x, rows = np.array([[1.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    >>> first, second = shared_features(x, rows, "cosine")
    >>> first[0].tolist(), first[1].round(4).tolist(), second[0].tolist()
    ([0], [0.5], [])
    """
    one, many = as_csr(x), as_csr(rows)
    own, theirs = one.data.astype(np.float64), many.data.astype(np.float64)
    at = np.searchsorted(one.indices, many.indices)
    is_shared = np.append(one.indices, -1)[at] == many.indices
    if metric != "dot":
        own = _unit(own)
    found = []
    for row in range(many.shape[0]):
        part = slice(many.indptr[row], many.indptr[row + 1])
        values, shared = theirs[part], is_shared[part]
        if metric != "dot":
            values = _unit(values)
        with np.errstate(over="ignore"):  # the similarity itself overflows to infinity too
            terms = own[at[part][shared]] * values[shared]
        found.append((many.indices[part][shared].astype(np.int64), terms))
    return found


def _unit(values: Float) -> Float:
    """Return the values of a row scaled to length 1, without overflow in between."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0:
        return values
    scaled = values / largest
    unit: Float = scaled / np.sqrt(np.square(scaled).sum())
    return unit
