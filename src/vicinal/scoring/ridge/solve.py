r"""Inverses of symmetric positive definite matrices, and solutions refined in float64.

:math:`M = S + \alpha I` is factored once for each α. Trying four of them costs less than one
eigendecomposition of S, which would serve all: a Cholesky inverse takes some :math:`p^3`
operations, an eigendecomposition more than ten times as many, and slower ones.

Of a symmetric matrix, only the entries on and below the diagonal are computed and read.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from vicinal._base.arrays import Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._native import column_products, quadratic_forms
from vicinal.scoring.row_sums import native_matrix

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
        from vicinal.gpu.ridge import spd_inverse

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
