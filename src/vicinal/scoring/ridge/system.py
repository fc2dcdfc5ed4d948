r"""The equations of a label ridge: which are solved, and what comes out of them.

With rows *X* (n × m), centred labels :math:`R = Y - \bar y` and regularisation α:

.. math::

    \text{primal, } m \le n: \quad & W = (X^T X + \alpha I)^{-1} X^T R, \quad
        h_i = x_i^T (X^T X + \alpha I)^{-1} x_i \\
    \text{dual:} \quad & A = (K + \alpha I)^{-1}, \quad V = A R, \quad h_i = 1 - \alpha A_{ii}

with :math:`K = X X^T` and :math:`W = X^T V`, or a Gaussian kernel *K*. The scores that row i would
get from a fit on the other rows follow from its leverage :math:`h_i`, whichever was solved:

.. math:: \hat y_{-i} = \bar y + \frac{f_i - h_i (y_i - \bar y)}{1 - h_i}

where :math:`f_i` is the fit without the mean. The mean is that of all rows, row i included.

A row of weight w stands for w equal rows: rows and centred labels are multiplied by
:math:`\sqrt{w_i}` before the solve, and the leverage of one of the w rows, which leave-one-out
leaves out alone, is :math:`h_i / w_i`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal.scoring.ridge.settings import RidgeSettings
from vicinal.scoring.ridge.solve import Matrix, gram, inverse, leverages, product, solving_dtype

LABELS_AT_ONCE = 256
"""Labels whose right-hand sides are dense at a time."""
CHECKED_LABELS = 16
"""Labels whose residual tells whether the solution is refined."""
TOLERATED_RESIDUAL = 1e-5
"""Relative residual of a float32 solution past which it is refined in float64."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution for one α.

    Parameters
    ----------
    coefficients : ndarray, shape (m, L), or (n, L) with a kernel
    leverage : ndarray of float64, shape (n,)
    """

    coefficients: Matrix
    leverage: Float


Solve = Callable[[float], Solution]
"""From α to the solution."""


def dense_bytes(size: int) -> int:
    """Return the memory of a dense solve: the matrix and its inverse."""
    return 2 * size * size * np.dtype(solving_dtype(size)).itemsize


def coefficient_bytes(n_rows: int, n_columns: int, n_labels: int, *, has_kernel: bool) -> int:
    """Return the memory of the arrays of coefficients that a fit holds at once.

    In the primal, four of them: the right-hand side, the solution, its part in the number type of
    the solve, and the best so far. In the dual, three of rows and labels, and two of coefficients.

    Examples
    --------
    >>> coefficient_bytes(1_000, 100, 10, has_kernel=False)
    32000
    """
    if has_kernel:
        return 8 * n_labels * 4 * n_rows
    if n_columns <= n_rows:
        return 8 * n_labels * 4 * n_columns
    return 8 * n_labels * (3 * n_rows + 2 * n_columns)


def primal(
    rows: Features, Y: Csr, mean: Float, settings: RidgeSettings, root: Float | None = None
) -> Solve:
    """Return the solver of the equations of XᵀX.

    Where rows have weights, `root` are their square roots, by which `rows` are multiplied already.
    """
    dtype = solving_dtype(rows.shape[1], settings.float64_size)
    products = gram(rows, dtype)
    right = _centred_products(rows if root is None else scaled(rows, root), Y, mean)

    def solve(alpha: float) -> Solution:
        M = inverse(products, alpha, settings.backend, settings.device)
        W = product(M, right).astype(np.float64, order="C")
        if dtype is np.float32:
            W = _refined(W, M, rows, right, alpha)
        return Solution(W, _of_one_row(leverages(rows, M), root))

    return solve


def dual(
    kernel: Matrix,
    Y: Csr,
    mean: Float,
    settings: RidgeSettings,
    rows: Features | None,
    root: Float | None = None,
) -> Solve:
    """Return the solver of the equations of a kernel; of features if `rows` are given.

    Where they are, the kernel is that of their products. Where rows have weights, `root` are their
    square roots, by which `kernel` (on both sides) and `rows` are multiplied already.
    """
    dtype = solving_dtype(len(kernel), settings.float64_size)
    kernel = kernel.astype(dtype, copy=False)
    targets = Y.toarray() - mean
    if root is not None:
        targets = targets * root[:, None]

    def solve(alpha: float) -> Solution:
        A = inverse(kernel, alpha, settings.backend, settings.device)
        V = product(A, targets).astype(np.float64, order="C")
        if dtype is np.float32:
            residual = targets - (kernel @ V.astype(dtype)) - alpha * V
            V += product(A, residual)
        leverage = 1.0 - alpha * np.diagonal(A).astype(np.float64)
        if rows is not None:
            V = rows.T @ V
        elif root is not None:
            V = V * root[:, None]
        return Solution(V, _of_one_row(leverage, root))

    return solve


def scaled(rows: Features, factors: Float) -> Features:
    """Return each row multiplied by its factor."""
    if isinstance(rows, np.ndarray):
        return rows * factors[:, None]
    changed: Csr = rows.copy()
    changed.data = changed.data * np.repeat(factors, np.diff(changed.indptr))
    return changed


def _of_one_row(leverage: Float, root: Float | None) -> Float:
    """Return the leverage of one of the equal rows that a row of some weight stands for."""
    return leverage if root is None else leverage / root**2


def product_kernel(rows: Features) -> Matrix:
    """Return XXᵀ, dense, in the number type it is solved in."""
    return _dense(rows @ rows.T, solving_dtype(rows.shape[0]))


def _dense(product: Any, dtype: type[Any]) -> Matrix:
    """Return a product of sparse or dense rows as one array."""
    return np.asarray(product if isinstance(product, np.ndarray) else product.toarray(), dtype)


def _centred_products(rows: Features, Y: Csr, mean: Float) -> Float:
    """Return Xᵀ(Y − ȳ), shape (m, L)."""
    products = _dense(rows.T @ Y.astype(np.float64), np.float64)
    totals = np.asarray(rows.sum(axis=0)).ravel()
    return np.asarray(products - np.outer(totals, mean), dtype=np.float64)


def _refined(W: Float, M: Matrix, rows: Features, right: Float, alpha: float) -> Float:
    """Return `W` after one step of refinement in blocks of labels, if its residual is too large.

    All labels share the matrix, so that their errors are of similar size and a few are checked.
    """

    def residual(labels: slice) -> Float:
        fit = rows.T @ (rows @ W[:, labels])
        return np.asarray(right[:, labels] - fit - alpha * W[:, labels])

    some = slice(0, CHECKED_LABELS)
    if np.linalg.norm(residual(some)) <= TOLERATED_RESIDUAL * np.linalg.norm(right[:, some]):
        return W
    for start in range(0, W.shape[1], LABELS_AT_ONCE):
        block = slice(start, start + LABELS_AT_ONCE)
        W[:, block] += product(M, residual(block))
    return W
