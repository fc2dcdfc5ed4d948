"""Weights of training rows: checked if a method takes them, refused by name otherwise."""

from collections.abc import Mapping

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError

NEIGHBOR_PLACES = (
    "it learns from neighbours, and a repeated row takes further places among them, which a "
    "weight cannot do"
)
"""Why a method of neighbours has no weighted form."""


def check_sample_weight(sample_weight: object, n_rows: int) -> Float | None:
    """Return the weights as float64, one per row; None where none are given.

    A row of weight *w* counts as *w* equal rows, and one of weight 0 as if it were not there.

    Examples
    --------
    >>> check_sample_weight([1, 0.5], 2)
    array([1. , 0.5])
    >>> check_sample_weight([1, -1], 2)
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: sample_weight: expected finite weights of at least 0,
    one of them above 0, got -1
    """
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        expected = f"a number for each of {n_rows} rows"
        raise InvalidArgumentError("sample_weight", expected, repr(sample_weight)[:60]) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        expected = f"a number for each of {n_rows} rows"
        raise InvalidArgumentError("sample_weight", expected, f"shape {weights.shape}")
    bad = weights[~np.isfinite(weights) | (weights < 0)]
    if len(bad) or not weights.any():
        got = f"{bad[0]:g}" if len(bad) else "only zeros"
        expected = "finite weights of at least 0, one of them above 0"
        raise InvalidArgumentError("sample_weight", expected, got)
    return weights


def refuse_fit_arguments(model: object, given: Mapping[str, object], why: str) -> None:
    """Refuse what ``fit`` was given besides its own arguments: weights, or a mistyped name.

    Parameters
    ----------
    model : estimator
    given : mapping of str to object
        The further keyword arguments; ``sample_weight=None`` asks for nothing.
    why : str
        Why the method has no weighted form.

    Examples
    --------
    >>> class Nearest: ...
    >>> refuse_fit_arguments(Nearest(), {"sample_weight": [1, 2]}, "it votes")
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: sample_weight: expected None, because Nearest cannot
    weight rows: it votes (repeat rows with numpy.repeat, or use LabelRidge, which takes weights),
    got list
    """
    name = type(model).__name__
    for key, value in given.items():
        if key != "sample_weight":
            raise TypeError(f"{name}.fit() got an unexpected keyword argument {key!r}")
        if value is not None:
            expected = (
                f"None, because {name} cannot weight rows: {why} (repeat rows with numpy.repeat, "
                "or use LabelRidge, which takes weights)"
            )
            raise InvalidArgumentError("sample_weight", expected, type(value).__name__)


def refuse_graph(graph: object) -> None:
    """Refuse a ready graph besides weights: the rows that learn may be fewer than those given."""
    if graph is not None:
        raise InvalidArgumentError("graph", "None where sample_weight is given", "a graph")
