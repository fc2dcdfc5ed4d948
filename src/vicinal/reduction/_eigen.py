r"""The leading directions of a regularised generalised eigenproblem, solved in label space.

For rows A (n × m) and targets T (n × L), with :math:`B = A^\top A + \gamma I` and a symmetric
positive definite C (L × L), the directions w that solve

.. math:: A^\top T \, C^{-1} T^\top A \, w = \lambda B w, \qquad W^\top B W = I

are at most as many as the labels. The problem is therefore solved in L instead of m dimensions.
With the ridge regression :math:`R(T) = (A^\top A + \gamma I)^{-1} A^\top T`,

.. math::

    N v = \lambda C v, \quad N = T^\top A \, R(T), \quad v^\top C v = 1
    \quad\Longrightarrow\quad w = R(Tv) / \sqrt\lambda

There are three ways to compute R: with the d × d matrix if there are few columns; as :math:`R(T) =
A^\top (A A^\top + \gamma I)^{-1} T` if there are few rows; otherwise with LSMR, one vector at a
time, which only needs products with A.
"""

from collections.abc import Callable
from typing import Self, cast

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, eigsh, lsmr
from sklearn.exceptions import ConvergenceWarning

from vicinal._core.arrays import LARGE_BLOCK_CELLS, Csr, Float
from vicinal._core.checks import all_or_nothing, check_flag, check_integer, check_positive
from vicinal._core.threads import on_one_blas_thread
from vicinal.errors import InvalidArgumentError, warn_user
from vicinal.reduction._projection import CentredRows, LinearProjection, positive_first

SMALL_SIDE = 8192
"""Maximum size of a square matrix: 512 MiB of float64."""

TOLERANCE = 1e-13
"""Relative tolerance of the iterative method."""

Ridge = Callable[[Float], Float]


def ridge(rows: CentredRows, penalty: float) -> Ridge:
    r"""Return the function R for these rows; :math:`\gamma` is `penalty`, above 0."""
    n_rows, n_columns = rows.shape
    if min(n_rows, n_columns) > SMALL_SIDE:
        return lambda T: _iterative(rows, T, penalty)
    if n_columns <= n_rows:
        by_columns = _ridge_inverse(rows.gram_of_columns(), penalty)
        return lambda T: by_columns(rows.transposed_dot(T))
    by_rows = _ridge_inverse(rows.gram_of_rows(), penalty)
    return lambda T: rows.transposed_dot(by_rows(T))


def _ridge_inverse(gram: Float, penalty: float) -> Ridge:
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
    found = np.empty((rows.shape[1], columns.shape[1]))
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
        found[:, place] = solution
    return found.reshape(rows.shape[1], *T.shape[1:])


FEW_LABELS = 2048
"""Maximum number of labels for which all eigenvectors are computed from labels × labels
matrices."""

RANK_TOLERANCE = 1e-10
"""Directions weaker than this share of the strongest are treated as rounding errors."""

Product = Callable[[Float], Float]


def leading_directions(
    rows: CentredRows,
    targets: CentredRows,
    penalty: float,
    n_directions: int,
    label_penalty: float | None = None,
) -> tuple[Float, Float]:
    """Return W, shape (m, r), and λ descending, shape (r,); r is at most `n_directions`.

    C is the identity, or TᵀT + `label_penalty` I if a penalty is given. If there are many labels, W
    is found by Lanczos iteration, which only needs products.
    """
    if penalty == 0 or label_penalty == 0:  # constant features or labels
        return np.zeros((rows.shape[1], 0)), np.zeros(0)
    regress = ridge(rows, penalty)

    def explained(V: Float) -> Float:
        return targets.transposed_dot(rows.dot(regress(targets.dot(V))))

    if targets.shape[1] <= FEW_LABELS:
        block = max(1, LARGE_BLOCK_CELLS // max(*rows.shape, 1))
        values, vectors = _all_pairs(explained, targets, label_penalty, block)
    else:
        values, vectors = _some_pairs(explained, targets, label_penalty, n_directions)
    order = np.argsort(-values, kind="stable")[:n_directions]
    order = order[values[order] > RANK_TOLERANCE * max(values.max(initial=0.0), 0.0)]
    strengths = values[order]
    found = regress(targets.dot(vectors[:, order])) / np.sqrt(strengths)
    return positive_first(found), strengths


def _all_pairs(
    explained: Product, targets: CentredRows, label_penalty: float | None, block: int
) -> tuple[Float, Float]:
    """Return every pair (λ, v) from the L × L matrices N and C."""
    n_labels = targets.shape[1]
    identity = np.eye(n_labels)
    N = np.hstack([explained(identity[:, i : i + block]) for i in range(0, n_labels, block)])
    C = None
    if label_penalty is not None:
        C = targets.gram_of_columns() + label_penalty * identity
    values, vectors = eigh((N + N.T) / 2, C)
    return values, vectors


def _some_pairs(
    explained: Product, targets: CentredRows, label_penalty: float | None, n_pairs: int
) -> tuple[Float, Float]:
    """Return the strongest pairs (λ, v), from products with N, C and its inverse."""
    n_labels = targets.shape[1]
    side = n_labels, n_labels
    C = inverse = None
    if label_penalty is not None:
        gamma = label_penalty
        C = LinearOperator(
            side,
            matvec=lambda v: targets.transposed_dot(targets.dot(v.ravel())) + gamma * v.ravel(),
            dtype=np.float64,
        )
        inverse = LinearOperator(side, matvec=_inverse(targets, gamma), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(n_labels)
    operator = LinearOperator(side, matvec=lambda v: explained(v.ravel()), dtype=np.float64)
    n_pairs = min(n_pairs, n_labels - 1)
    values, vectors = eigsh(operator, n_pairs, M=C, Minv=inverse, which="LA", v0=start)
    return cast("Float", values), cast("Float", vectors)


def _inverse(targets: CentredRows, gamma: float) -> Product:
    r"""Return the product with :math:`(T^\top T + \gamma I)^{-1}`.

    It is :math:`(v - R(Tv)) / \gamma`, R the ridge regression on T itself.
    """
    regress = ridge(targets, gamma)
    return lambda v: (v.ravel() - regress(targets.dot(v.ravel()))) / gamma


def directions_wanted(n_components: int | None, n_labels: int) -> int:
    """Return the number of directions to find: at most one per label."""
    if n_components is None and n_labels > FEW_LABELS:
        raise InvalidArgumentError(
            "n_components", f"a number, because there are more than {FEW_LABELS} labels", None
        )
    return n_labels if n_components is None else min(n_components, n_labels)


class LabelDirections(LinearProjection):
    """A projection onto directions that are found from features and labels together."""

    n_components: int | None
    regularization: float
    center = True

    def _directions(self, rows: CentredRows, labels: Csr, wanted: int) -> tuple[Float, Float]:
        """Return at most `wanted` directions, shape (m, r), and their strengths, descending."""
        raise NotImplementedError

    @all_or_nothing
    @on_one_blas_thread
    def fit(self, X: object, Y: object) -> Self:
        """Find the directions of rows `X` with labels `Y`."""
        self._check_params()
        features, labels = self._read_both(X, Y, at_least=2)
        rows = CentredRows(features, center=self.center)
        wanted = directions_wanted(self.n_components, labels.shape[1])
        found, strengths = self._directions(rows, labels.astype(np.float64), wanted)
        if not found.shape[1]:
            raise InvalidArgumentError(
                "X, Y", "a feature that varies with a label", "features or labels that do not vary"
            )
        if self.n_components is not None and found.shape[1] < self.n_components:
            warn_user(
                f"n_components={self.n_components}: the labels and features only have "
                f"{found.shape[1]} directions, which are used"
            )
        self.projection_, self.offset_ = found, rows.mean @ found
        setattr(self, self._learned[0], strengths)
        return self

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        if self.n_components is not None:
            check_integer("n_components", self.n_components, low=1)
        check_positive("regularization", self.regularization)
        check_flag("center", self.center)
