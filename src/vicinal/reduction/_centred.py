r"""Centred rows, without making sparse rows dense.

With :math:`H = I - \frac1n 11^\top`, the centred rows are :math:`HX`, and

.. math:: (HX)V = XV - 1(\mu^\top V), \qquad (HX)^\top U = X^\top U - \mu (1^\top U)

so that products only need X and its mean :math:`\mu`.
"""

from typing import Any, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float

BLOCK_ROWS = 256
"""Number of rows of a square matrix computed at a time."""


class CentredRows:
    """The matrix :math:`HX`, or X itself, represented by its products.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, d)
        Dense rows are centred immediately (a copy, 8 bytes per cell); sparse rows are not changed.
    center : bool

    Examples
    --------
    >>> rows = CentredRows(sparse.csr_array(np.array([[1.0, 0.0], [3.0, 4.0]])))
    >>> rows.dot(np.eye(2))
    array([[-1., -2.],
           [ 1.,  2.]])
    """

    def __init__(self, X: Features, *, center: bool = True) -> None:
        self.shape = int(X.shape[0]), int(X.shape[1])
        mean = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(self.shape[1])
        self.mean: Float = mean.astype(np.float64)
        self._stored: Features = X
        self._shift: Float = self.mean
        if not isinstance(X, sparse.csr_array):
            self._stored, self._shift = X - self.mean, np.zeros(self.shape[1])

    def dot(self, V: Float) -> Float:
        """Return (HX)V."""
        return cast("Float", np.asarray(self._stored @ V) - self._shift @ V)

    def transposed_dot(self, U: Features) -> Float:
        """Return (HX)ᵀU, dense."""
        product = _dense(self._stored.T @ U)
        shift: Float = np.multiply.outer(self._shift, np.asarray(U.sum(axis=0)))
        return product - shift

    def gram_of_columns(self) -> Float:
        """Return (HX)ᵀ(HX), d × d."""
        gram = _gram(self._stored.T)
        gram -= self.shape[0] * np.outer(self._shift, self._shift)
        return gram

    def gram_of_rows(self) -> Float:
        """Return (HX)(HX)ᵀ, n × n."""
        gram = _gram(self._stored)
        cross = np.asarray(self._stored @ self._shift)
        gram -= cross[:, np.newaxis]
        gram -= cross
        gram += self._shift @ self._shift
        return gram

    def mean_strength(self) -> float:
        """Return the mean of the possibly non-zero eigenvalues: tr((HX)ᵀ(HX)) / min(n, d).

        A regularisation relative to it does not depend on the units of the features.
        """
        values = self._stored.data if sparse.issparse(self._stored) else self._stored
        values = np.asarray(values)
        total = float(np.sum(values * values)) - self.shape[0] * float(self._shift @ self._shift)
        return max(total, 0.0) / min(self.shape)


def _gram(rows: Any) -> Float:
    """Return ``rows @ rows.T`` as an array, computed in blocks if `rows` is sparse.

    Few of the products are 0, so a sparse matrix would take more memory than the array.
    """
    if not sparse.issparse(rows):
        return _dense(rows @ rows.T)
    by_row = cast("Csr", sparse.csr_array(cast("Any", rows)))
    gram = np.empty((by_row.shape[0], by_row.shape[0]))
    for start in range(0, len(gram), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        gram[part] = _dense(by_row[part] @ by_row.T)
    return gram


def _dense(product: object) -> Float:
    """Return a product of dense or sparse matrices as an array."""
    if sparse.issparse(product):
        return cast("Float", cast("Any", product).toarray())
    return np.asarray(product, dtype=np.float64)
