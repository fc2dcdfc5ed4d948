"""An order of the training rows that their contents alone decide.

Folds and samples of a fit are taken in this order, so that the same rows in another order, or with
other columns or labels in front, give the same model. Each row gets a number made of its values,
of what else stands in the columns that they stand in, and of its labels; rows are sorted by it.
Rows with the same number have the same values and labels, chance (1 in 2⁶⁴) and symmetries of the
whole data set excepted; they keep their order.
"""

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Features, Int, row_ids
from vicinal._base.validation import as_csr

Numbers = NDArray[np.uint64]
ROUNDS = 2
"""Passes from rows to columns and back; after two, columns differ by the rows they stand in."""
LABEL = np.uint64(0x9E3779B97F4A7C15)
"""Tells labels from features."""


def content_order(X: Features, Y: Csr) -> Int:
    """Return the ids of the rows, sorted by their contents.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    Y : csr_array, shape (n, L)

    Examples
    --------
    >>> from scipy import sparse
    >>> X, Y = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]]), sparse.csr_array(np.eye(3))
    >>> there, back = content_order(X, Y), content_order(X[::-1], Y[::-1])
    >>> np.array_equal(there, 2 - back)
    True
    """
    return np.argsort(content_numbers(X, Y), kind="stable")


def content_numbers(X: Features, Y: Csr) -> Numbers:
    """Return the number of each row."""
    cells = as_csr(X)
    row_of = row_ids(cells)
    kept = cells.data != 0
    values = _mixed(cells.data[kept].astype(np.float64).view(np.uint64))
    rows, columns = row_of[kept], cells.indices[kept].astype(np.int64)
    labels = Y.indices.astype(np.int64)
    label_rows = row_ids(Y)
    numbers = _sums(values, rows, Y.shape[0]) + _sums(LABEL, label_rows, Y.shape[0])
    for _ in range(ROUNDS):
        of_row = _mixed(numbers)
        of_column = _sums(_mixed(of_row[rows] ^ values), columns, cells.shape[1])
        of_label = _sums(_mixed(of_row[label_rows] ^ LABEL), labels, Y.shape[1])
        numbers = (
            of_row
            + _sums(_mixed(of_column[columns] ^ values), rows, Y.shape[0])
            + _sums(_mixed(of_label[labels] ^ LABEL), label_rows, Y.shape[0])
        )
    return _mixed(numbers)


def _sums(numbers: Numbers | np.uint64, places: Int, size: int) -> Numbers:
    """Return the sum of the numbers at each place, modulo 2⁶⁴: in any order the same."""
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, places, numbers)
    return sums


def _mixed(numbers: Numbers) -> Numbers:
    """Return numbers whose every bit depends on every bit of those given (splitmix64)."""
    mixed = numbers + LABEL
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
