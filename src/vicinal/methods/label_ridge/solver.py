r"""The settings of a label ridge, validated.

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

:math:`M = S + \alpha I` is factored once for each α. Trying four of them costs less than one
eigendecomposition of S, which would serve all: a Cholesky inverse takes some :math:`p^3`
operations, an eigendecomposition more than ten times as many, and slower ones.

Of a symmetric matrix, only the entries on and below the diagonal are computed and read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.checks import check_integer, check_option, check_positive, check_sequence
from vicinal._core.threads import thread_count
from vicinal._native import column_products, quadratic_forms
from vicinal.errors import InvalidArgumentError
from vicinal.index._common import BACKENDS
from vicinal.methods._formulas import native_matrix
from vicinal.methods.training import Training

KERNELS = ("rbf",)
DEFAULT_MEMORY = 4 * 2**30
"""Bytes that a fit may use by default."""


@dataclass(frozen=True)
class RidgeSettings:
    """Settings of a fit."""

    alphas: tuple[float, ...] = (1.0,)
    kernel: str | None = None
    gamma: float | None = None
    max_memory: int = DEFAULT_MEMORY
    backend: str = "numpy"
    device: str | None = None
    float64_size: int | None = None
    climbs: bool = False


def check_alphas(alpha: object) -> tuple[float, ...]:
    """Return the strengths to try: one number, or several."""
    if isinstance(alpha, bool | str | bytes) or not hasattr(alpha, "__iter__"):
        return (check_positive("alpha", alpha),)
    values = tuple(check_positive("alpha", value) for value in check_sequence("alpha", alpha))
    if not values:
        raise InvalidArgumentError("alpha", "at least one value", "none")
    return values


def check_settings(
    alpha: object,
    kernel: object,
    gamma: object,
    max_memory: object,
    backend: object,
    device: str | None,
) -> RidgeSettings:
    """Return the parameters of an estimator as settings."""
    if kernel is not None:
        kernel = check_option("kernel", kernel, KERNELS)
    return RidgeSettings(
        check_alphas(alpha),
        kernel,
        None if gamma is None else check_positive("gamma", gamma),
        check_memory(max_memory),
        check_option("backend", backend, BACKENDS),
        device,
    )


def check_memory(max_memory: object) -> int:
    """Return a limit in bytes; None is the default."""
    return DEFAULT_MEMORY if max_memory is None else check_integer("max_memory", max_memory, low=1)


Matrix = NDArray[np.floating[Any]]

FLOAT64_SIZE = 3000
"""Largest matrix inverted in float64; larger ones in float32, in half the memory and time."""


def solving_dtype(size: int, largest: int | None = None) -> type[np.float32] | type[np.float64]:
    """Return the number type of a matrix of that size; `largest` of float64, None for usual."""
    return np.float64 if size <= (FLOAT64_SIZE if largest is None else largest) else np.float32


def gram(rows: Features, dtype: type[np.float32] | type[np.float64]) -> Matrix:
    """Return :math:`X^T X`."""
    if isinstance(rows, np.ndarray):
        return np.asarray(rows.T @ rows, dtype)
    products: Matrix = np.zeros((rows.shape[1], rows.shape[1]), dtype)
    column_products(native_matrix(rows), products, thread_count())
    return products


def inverse(S: Matrix, alpha: float, backend: str, device: str | None) -> Matrix:
    """Return (S + alpha I)⁻¹; `S` is not changed."""
    if backend == "torch":
        from vicinal.gpu.mlknn_loss import spd_inverse

        return spd_inverse(S, alpha, device)
    M = np.array(S.T, order="F")  # LAPACK's upper triangle is the lower one of rows
    M[np.diag_indices_from(M)] += alpha
    is_single = M.dtype == np.float32
    factorise = linalg.lapack.spotrf if is_single else linalg.lapack.dpotrf
    invert = linalg.lapack.spotri if is_single else linalg.lapack.dpotri
    factor, failed = factorise(M, lower=0, overwrite_a=1)
    if not failed:
        inverted, failed = invert(factor, lower=0, overwrite_c=1)
    if failed:
        raise InvalidArgumentError("alpha", "a value that makes the rows' matrix invertible", alpha)
    return np.asarray(inverted.T)


def product(M: Matrix, others: Matrix) -> Matrix:
    """Return the product of a symmetric matrix and others, in the number type of `M`."""
    is_single = M.dtype == np.float32
    multiply = linalg.blas.ssymm if is_single else linalg.blas.dsymm
    return np.asarray(multiply(1.0, M.T, others.astype(M.dtype, copy=False), lower=0))


def leverages(rows: Features, M: Matrix) -> Float:
    """Return :math:`x_i^T M x_i` for each row and a symmetric *M*."""
    if not isinstance(rows, np.ndarray):
        return quadratic_forms(native_matrix(rows), np.ascontiguousarray(M), thread_count())
    step = max(1, 2**22 // max(1, rows.shape[1]))
    forms = [
        np.einsum("ji,ij->i", product(M, rows[start : start + step].T), rows[start : start + step])
        for start in range(0, rows.shape[0], step)
    ]
    return np.concatenate(forms).astype(np.float64)


LABELS_AT_ONCE = 256
"""Labels whose right-hand sides are dense at a time."""
CHECKED_LABELS = 16
"""Labels whose residual tells whether the solution is refined."""
TOLERATED_RESIDUAL = 1e-5
"""Relative residual of a float32 solution past which it is refined in float64."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution for one α."""

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
    """
    if has_kernel:
        return 8 * n_labels * 4 * n_rows
    if n_columns <= n_rows:
        return 8 * n_labels * 4 * n_columns
    return 8 * n_labels * (3 * n_rows + 2 * n_columns)


def primal(
    rows: Features, Y: Csr, mean: Float, settings: RidgeSettings, root: Float | None = None
) -> Solve:
    """Return the solver of the equations of XᵀX."""
    dtype = solving_dtype(rows.shape[1], settings.float64_size)
    products = gram(rows, dtype)
    weighted = rows if root is None else scaled(rows, root)
    totals = np.asarray(weighted.sum(axis=0)).ravel()
    with_labels = _dense(weighted.T @ Y.astype(np.float64), np.float64)
    right = np.asarray(with_labels - np.outer(totals, mean), dtype=np.float64)

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
    """Return the solver of the equations of a kernel; of features if `rows` are given."""
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


TOLERANCE = 1e-4
"""Relative residual at which a label is solved."""
MOST_STEPS = 100
RIDGE_FOLDS = 3
"""Folds whose scores stand in for leave-one-out scores, which have no closed form here."""


def solve_iteratively(rows: Features, Y: Csr, mean: Float, alpha: float) -> Float:
    """Return W of (XᵀX + αI) W = Xᵀ(Y − ȳ), shape (m, L).

    Memory beside it: four vectors of features and one of rows for each of 256 labels.
    """
    W = np.empty((rows.shape[1], Y.shape[1]))
    for start in range(0, Y.shape[1], LABELS_AT_ONCE):
        block = slice(start, start + LABELS_AT_ONCE)
        targets = Y[:, block].toarray() - mean[block]
        W[:, block] = _conjugate_gradients(rows, rows.T @ targets, alpha)
    return W


def _conjugate_gradients(rows: Features, right: Float, alpha: float) -> Float:
    """Solve for several right-hand sides at once, each with steps of its own."""
    W = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    size = np.einsum("ij,ij->j", residual, residual)
    goal = TOLERANCE**2 * size
    for _ in range(MOST_STEPS):
        if np.all(size <= goal):
            break
        product = rows.T @ (rows @ direction) + alpha * direction
        curvature = np.einsum("ij,ij->j", direction, product)
        step = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        W += step * direction
        residual -= step * product
        new_size = np.einsum("ij,ij->j", residual, residual)
        turn = np.divide(new_size, size, out=np.zeros_like(size), where=size > 0)
        direction = residual + turn * direction
        size = new_size
    return W


SAMPLED_ROWS = 1000
"""Rows whose distances set the width of the kernel."""


def squared_distances(Q: Features, X: Features) -> Float:
    """Return the squared Euclidean distances of all pairs of rows, shape (q, n)."""
    products = Q @ X.T
    full = np.asarray(products if isinstance(products, np.ndarray) else products.toarray())
    own, others = _squares(Q), _squares(X)
    distances: Float = np.maximum(own[:, None] + others - 2.0 * full, 0.0)
    return distances


def gaussian(Q: Features, X: Features, gamma: float) -> Float:
    r"""Return :math:`e^{-\gamma \lVert q - x \rVert^2}` for all pairs of rows."""
    return np.exp(-gamma * squared_distances(Q, X))


def usual_gamma(X: Features) -> float:
    """Return 1 over the median squared distance of evenly spaced rows; 1 where that is 0."""
    step = max(1, X.shape[0] // SAMPLED_ROWS)
    sample = X[::step]
    distances = squared_distances(sample, sample)
    pairs = distances[np.triu_indices(len(distances), 1)]
    median = float(np.median(pairs)) if len(pairs) else 0.0
    return 1.0 / median if median > 0 else 1.0


def _squares(rows: Features) -> Float:
    """Return the squared length of each row."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", rows, rows), dtype=np.float64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    squares = np.zeros(rows.shape[0])
    squares[filled] = np.add.reduceat(rows.data * rows.data, rows.indptr[filled])
    return squares


def n_unknowns(rows: Features, gamma: float | None) -> int:
    """Return the size of the smaller system; with a kernel it has an unknown per row."""
    return int(rows.shape[0] if gamma is not None else min(rows.shape))


def check_coefficients(
    rows: Features, n_labels: int, gamma: float | None, settings: RidgeSettings
) -> None:
    """Raise if the coefficients of all labels would not fit, before any is computed."""
    n_rows, n_columns = rows.shape
    needed = coefficient_bytes(n_rows, n_columns, n_labels, has_kernel=gamma is not None)
    if needed > settings.max_memory:
        raise InvalidArgumentError(
            "max_memory",
            f"at least {needed} bytes for the coefficients of {n_labels} labels "
            f"({n_rows} rows, {n_columns} features; max_features keeps fewer)",
            settings.max_memory,
        )


def dense_system(
    rows: Features, training: Training, mean: Float, gamma: float | None, settings: RidgeSettings
) -> Solve | None:
    """Return the solutions of the smaller system, None where its matrix does not fit."""
    n_rows, n_columns = rows.shape
    Y, root = training.Y, None if training.weights is None else np.sqrt(training.weights)
    if dense_bytes(n_unknowns(rows, gamma)) > settings.max_memory:
        return None
    if gamma is not None:
        kernel = gaussian(rows, rows, gamma)
        if root is not None:
            kernel *= np.outer(root, root)
        return dual(kernel, Y, mean, settings, None, root)
    if root is not None:
        rows = scaled(rows, root)
    if n_columns <= n_rows:
        return primal(rows, Y, mean, settings, root)
    return dual(product_kernel(rows), Y, mean, settings, rows, root)
