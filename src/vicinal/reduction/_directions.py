r"""The leading directions of a regularised generalised eigenproblem, solved in label space.

For rows A (n × m) and targets T (n × L), with :math:`B = A^\top A + \gamma I` and a symmetric
positive definite C (L × L), the directions w that solve

.. math:: A^\top T \, C^{-1} T^\top A \, w = \lambda B w, \qquad W^\top B W = I

are at most as many as the labels. The problem is therefore solved in L instead of m dimensions.
With R the ridge regression of :mod:`vicinal.reduction._ridge`,

.. math::

    N v = \lambda C v, \quad N = T^\top A \, R(T), \quad v^\top C v = 1
    \quad\Longrightarrow\quad w = R(Tv) / \sqrt\lambda
"""

from collections.abc import Callable
from typing import cast

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from vicinal._base.arrays import Float
from vicinal.reduction._centred import CentredRows
from vicinal.reduction._projection import positive_first
from vicinal.reduction._ridge import Ridge, ridge

FEW_LABELS = 2048
"""Maximum number of labels for which all eigenvectors are computed from labels × labels
matrices."""

BLOCK_CELLS = 2**24
"""Number of cells processed at a time: 128 MiB of float64."""

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
        block = max(1, BLOCK_CELLS // max(*rows.shape, 1))
        values, vectors = _all_pairs(explained, targets, label_penalty, block)
    else:
        values, vectors = _some_pairs(explained, targets, label_penalty, n_directions)
    order = np.argsort(-values, kind="stable")[:n_directions]
    order = order[values[order] > RANK_TOLERANCE * max(values.max(initial=0.0), 0.0)]
    strengths = values[order]
    return positive_first(_directions(regress, targets, vectors[:, order], strengths)), strengths


def _directions(regress: Ridge, targets: CentredRows, V: Float, strengths: Float) -> Float:
    """Return the w of each v."""
    return regress(targets.dot(V)) / np.sqrt(strengths)


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
