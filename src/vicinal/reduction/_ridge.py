r"""Regularised least squares for OPLS and CCA, without a d × d matrix if d is large.

.. math:: R(T) = (A^\top A + \gamma I)^{-1} A^\top T

There are three ways to compute it: with the d × d matrix if there are few columns; as :math:`R(T) =
A^\top (A A^\top + \gamma I)^{-1} T` if there are few rows; otherwise with LSMR, one vector at a
time, which only needs products with A.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, lsmr
from sklearn.exceptions import ConvergenceWarning

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.warn import warn_user
from vicinal.reduction._centred import CentredRows

SMALL_SIDE = 8192
"""Maximum size of a square matrix: 512 MiB of float64."""

TOLERANCE = 1e-13
"""Relative tolerance of the iterative method."""

Ridge = Callable[[Float], Float]


def ridge(rows: CentredRows, penalty: float) -> Ridge:
    r"""Return the function R for these rows; :math:`\gamma` is `penalty`, above 0.

    Examples
    --------
    One column, (3, 4), so that R(t) = (3 t₁ + 4 t₂) / (25 + γ):

    >>> solve = ridge(CentredRows(np.array([[3.0], [4.0]]), center=False), penalty=25.0)
    >>> solve(np.array([[1.0], [0.5]]))
    array([[0.1]])
    """
    n_rows, n_columns = rows.shape
    if min(n_rows, n_columns) > SMALL_SIDE:
        return lambda T: _iterative(rows, T, penalty)
    if n_columns <= n_rows:
        by_columns = _inverse(rows.gram_of_columns(), penalty)
        return lambda T: by_columns(rows.transposed_dot(T))
    by_rows = _inverse(rows.gram_of_rows(), penalty)
    return lambda T: rows.transposed_dot(by_rows(T))


def _inverse(gram: Float, penalty: float) -> Ridge:
    """Return the product with the inverse of `gram` + γI, which is overwritten."""
    gram[np.diag_indices_from(gram)] += penalty
    try:
        factor = cho_factor(gram, lower=True, overwrite_a=True)
    except LinAlgError:
        raise InvalidArgumentError(
            "regularization", "a value large enough to make the features independent", "too little"
        ) from None
    return lambda T: np.asarray(cho_solve(factor, T), dtype=np.float64)


def _iterative(rows: CentredRows, T: Float, penalty: float) -> Float:
    """Return R(T), column by column."""
    operator = LinearOperator(
        rows.shape, matvec=rows.dot, rmatvec=rows.transposed_dot, dtype=np.float64
    )
    columns = T.reshape(len(T), -1)
    answer = np.empty((rows.shape[1], columns.shape[1]))
    for place, target in enumerate(columns.T):
        solution, reason, *_ = lsmr(
            operator,
            np.ascontiguousarray(target),
            damp=penalty**0.5,
            atol=TOLERANCE,
            btol=TOLERANCE,
            conlim=0.0,
            maxiter=10 * min(rows.shape),
        )
        if reason == 7:
            warn_user("regularised least squares did not converge", ConvergenceWarning)
        answer[:, place] = solution
    return answer.reshape(rows.shape[1], *T.shape[1:])
