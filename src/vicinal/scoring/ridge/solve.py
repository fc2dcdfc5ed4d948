r"""Inverses of symmetric positive definite matrices, and solutions refined in float64.

:math:`M = S + \alpha I` is factored once for each α. Trying four of them costs less than one
eigendecomposition of S, which would serve all: a Cholesky inverse takes some :math:`p^3`
operations, an eigendecomposition more than ten times as many, and slower ones.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from vicinal._base.arrays import Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._native import quadratic_forms
from vicinal.scoring.row_sums import native_matrix

Matrix = NDArray[np.floating[Any]]

FLOAT64_SIZE = 3000
"""Largest matrix inverted in float64; larger ones in float32, in half the memory and time."""


def solving_dtype(size: int) -> type[np.float32] | type[np.float64]:
    """Return the number type a matrix of that size is inverted in."""
    return np.float64 if size <= FLOAT64_SIZE else np.float32


def inverse(S: Matrix, alpha: float, backend: str, device: str | None) -> Matrix:
    """Return (S + alpha I)⁻¹, symmetric; `S` is not changed."""
    if backend == "torch":
        from vicinal.gpu.ridge import spd_inverse

        return spd_inverse(S, alpha, device)
    M = np.array(S, order="F")
    M[np.diag_indices_from(M)] += alpha
    is_single = M.dtype == np.float32
    factorise = linalg.lapack.spotrf if is_single else linalg.lapack.dpotrf
    invert = linalg.lapack.spotri if is_single else linalg.lapack.dpotri
    factor, failed = factorise(M, lower=1, overwrite_a=1)
    if not failed:
        inverted, failed = invert(factor, lower=1, overwrite_c=1)
    if failed:
        raise InvalidArgumentError("alpha", "a value that makes the rows' matrix invertible", alpha)
    return _mirrored(inverted)


def _mirrored(lower: Matrix) -> Matrix:
    """Copy the lower triangle to the upper one, block by block; in place."""
    size, step = len(lower), 1024
    for start in range(0, size, step):
        stop = min(start + step, size)
        corner = np.tril(lower[start:stop, start:stop])
        lower[start:stop, start:stop] = corner + np.tril(corner, -1).T
        lower[start:stop, stop:] = lower[stop:, start:stop].T
    return lower


def leverages(rows: Features, M: Matrix) -> Float:
    """Return :math:`x_i^T M x_i` for each row and a symmetric *M*."""
    if not isinstance(rows, np.ndarray):
        return quadratic_forms(native_matrix(rows), np.ascontiguousarray(M.T), thread_count())
    step = max(1, 2**22 // max(1, rows.shape[1]))
    forms = [
        np.einsum("ij,ij->i", rows[start : start + step] @ M, rows[start : start + step])
        for start in range(0, rows.shape[0], step)
    ]
    return np.concatenate(forms).astype(np.float64)
