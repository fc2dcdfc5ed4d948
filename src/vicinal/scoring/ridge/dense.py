"""The dense system of a label ridge: which one is smaller, and whether it fits into memory."""

import numpy as np

from vicinal._base.arrays import Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.scoring.ridge.kernel import gaussian
from vicinal.scoring.ridge.settings import RidgeSettings
from vicinal.scoring.ridge.system import (
    Solve,
    coefficient_bytes,
    dense_bytes,
    dual,
    primal,
    product_kernel,
    scaled,
)
from vicinal.scoring.training import Training


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
