"""Conjugate gradients for rows and columns too many for a dense solve."""

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal.scoring.ridge.system import LABELS_AT_ONCE

TOLERANCE = 1e-4
"""Relative residual at which a label is solved."""
MOST_STEPS = 100
N_FOLDS = 3
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
