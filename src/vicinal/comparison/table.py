"""The table for statistical tests: one metric of several methods on the same samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.tabular import Cells, Tabular


@dataclass(frozen=True, eq=False)
class Table(Tabular):
    """Scores of methods on paired samples.

    Parameters
    ----------
    values : ndarray of float64, shape (n samples, n methods)
        One row per sample (a fold or a data set), one column per method.
    methods : tuple of str
        Names of the columns.
    samples : tuple of str
        Names of the rows; empty if there are none.
    """

    values: Float
    methods: tuple[str, ...]
    samples: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Summarise the table in one line."""
        return f"Table({len(self.values)} samples of {', '.join(self.methods)})"

    def cells(self) -> Cells:
        """Return one row per sample, one column per method."""
        names = self.samples or tuple(str(n) for n in range(1, len(self.values) + 1))
        rows: list[list[object]] = [
            [name, *row] for name, row in zip(names, self.values.tolist(), strict=True)
        ]
        return Cells(["sample", *self.methods], rows)


def read_table(table: object, methods: Sequence[str] | None = None, name: str = "table") -> Table:
    """Return a validated table: paired, finite, at least two samples and two methods.

    Parameters
    ----------
    table : Table, mapping, frame or array-like
        A mapping of method to its scores, either in the order of the samples or by sample (then
        the samples must be the same for all, in any order). Or samples × methods as a frame, whose
        columns name the methods, or as an array.
    methods : sequence of str or None
        Names for the columns of an array; ``"1"``, ``"2"``, … by default.
    name : str
        Name of the argument in error messages.

    Examples
    --------
    >>> read_table({"A": {"yeast": 0.2, "scene": 0.1}, "B": {"scene": 0.3, "yeast": 0.4}}).values
    array([[0.2, 0.4],
           [0.1, 0.3]])
    >>> read_table([[0.2, 0.4], [0.1, 0.3]], methods=["A", "B"]).methods
    ('A', 'B')
    """
    if isinstance(table, Table):
        return read_table(table.values, methods or table.methods, name)
    if isinstance(table, Mapping):
        names, columns = tuple(map(str, table)), _columns(table, name)
        values = _numbers(columns, name).T
    else:
        values = _numbers(table, name)
        names = _names(table, methods, values.shape[1])
    _check_size(values, names, name)
    return Table(np.ascontiguousarray(values), names)


def _columns(table: Mapping[Any, Any], name: str) -> list[list[Any]]:
    """Return the scores of each method, paired."""
    scores = list(table.values())
    if any(isinstance(each, Mapping) for each in scores):
        samples = set(scores[0]) if isinstance(scores[0], Mapping) else set()
        if not all(isinstance(each, Mapping) and set(each) == samples for each in scores):
            raise InvalidArgumentError(name, "the same samples for every method", "others")
        return [[each[sample] for sample in scores[0]] for each in scores]
    return [list(each) for each in scores]


def _numbers(values: object, name: str) -> Float:
    """Return a two-dimensional array of finite numbers."""
    try:
        array: Float = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        expected = "numbers, as many for every method"
        raise InvalidArgumentError(name, expected, "something else") from None
    if array.ndim != 2:
        expected = "samples × methods, or a mapping of method to scores"
        raise InvalidArgumentError(name, expected, f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgumentError(name, "finite numbers", "NaN or infinity")
    return array


def _names(table: object, methods: Sequence[str] | None, n_methods: int) -> tuple[str, ...]:
    """Return the names given, those of a frame, or numbers from 1."""
    if methods is None:
        methods = getattr(table, "columns", None)
    return tuple(map(str, range(1, n_methods + 1) if methods is None else methods))


def _check_size(values: Float, names: tuple[str, ...], name: str) -> None:
    """Raise for tables that are too small, and for names that do not match the columns."""
    n_samples, n_methods = values.shape
    if n_samples < 2 or n_methods < 2:
        got = f"{n_samples} samples of {n_methods} methods"
        raise InvalidArgumentError(name, "at least two samples and two methods", got)
    if len(names) != n_methods or len(set(names)) != n_methods:
        expected = f"{n_methods} different names, one per method"
        raise InvalidArgumentError("methods", expected, f"{len(set(names))} of {len(names)}")
