"""The table for statistical tests: one metric of several methods on the same samples."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import stats

from vicinal._core.arrays import Float
from vicinal._core.checks import check_option
from vicinal._core.html import Cells, Tabular
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import metric_info
from vicinal.results import Result


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
        given = getattr(table, "columns", None) if methods is None else methods
        names = tuple(map(str, range(1, values.shape[1] + 1) if given is None else given))
    _check_size(values, names, name)
    return Table(np.ascontiguousarray(values), names)


def _columns(table: Mapping[Any, Any], name: str) -> list[list[Any]]:
    """Return the scores of each method, paired."""
    scores = list(table.values())
    if any(isinstance(each, Mapping) for each in scores):
        samples = set(scores[0]) if isinstance(scores[0], Mapping) else set()
        for method, each in table.items():
            if not isinstance(each, Mapping) or set(each) != samples:
                expected = "the same samples for every method"
                other = samples.symmetric_difference(each if isinstance(each, Mapping) else ())
                got = f"others for {method!r}: {', '.join(sorted(map(repr, other))[:3])}"
                hint = "leave out samples that a method lacks"
                raise InvalidArgumentError(name, expected, got, hint)
        return [[each[sample] for sample in scores[0]] for each in scores]
    return [list(each) for each in scores]


def _numbers(values: object, name: str) -> Float:
    """Return a two-dimensional array of finite numbers."""
    try:
        array: Float = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        expected = "numbers, as many for every method"
        got = "texts, or lists of different length"
        raise InvalidArgumentError(name, expected, got) from None
    if array.ndim != 2:
        expected = "samples × methods, or a mapping of method to scores"
        raise InvalidArgumentError(name, expected, f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidArgumentError(name, "finite numbers", "NaN or infinity")
    return array


def _check_size(values: Float, names: tuple[str, ...], name: str) -> None:
    """Raise for tables that are too small, and for names that do not match the columns."""
    n_samples, n_methods = values.shape
    if n_samples < 2 or n_methods < 2:
        got = f"{n_samples} samples of {n_methods} methods"
        raise InvalidArgumentError(name, "at least two samples and two methods", got)
    if len(names) != n_methods or len(set(names)) != n_methods:
        expected = f"{n_methods} different names, one per method"
        raise InvalidArgumentError("methods", expected, f"{len(set(names))} of {len(names)}")


Samples: TypeAlias = Literal["auto", "data", "folds"]
NAMED = 5
"""How many missing cells an error message names before it counts the rest."""


def results_table(
    results: Iterable[Result],
    metric: str,
    *,
    samples: Samples = "auto",
    missing: Literal["raise", "drop"] = "raise",
) -> Table:
    """Return one metric of many results as samples × methods.

    Parameters
    ----------
    results : iterable of Result
        Results of one experiment, e.g. from :meth:`vicinal.results.ResultStore.read`.
    metric : str
        Name of the metric.
    samples : {"auto", "data", "folds"}
        A row is a data set, with the mean over folds and seeds, or a single fold. ``"auto"``: data
        sets if there are several, otherwise folds.
    missing : {"raise", "drop"}
        What to do if a method has no value or NaN: raise an error that names it, or drop the
        sample.

    Returns
    -------
    Table
        Methods and samples in order of first occurrence.

    Examples
    --------
    >>> values = {("A", "yeast"): (0.2, 0.4), ("B", "yeast"): (0.4, 0.6)}
    >>> results = [
    ...     Result("compare", data, method, {"hamming-loss": folds})
    ...     for (method, data), folds in values.items()
    ... ]
    >>> results_table(results, "hamming-loss").values
    array([[0.2, 0.4],
           [0.4, 0.6]])
    >>> results_table(results, "hamming-loss", samples="data").samples
    ('yeast',)
    """
    metric_info(metric)
    check_option("samples", samples, ("auto", "data", "folds"))
    check_option("missing", missing, ("raise", "drop"))
    kept = paired(results)
    methods = in_order(result.method for result in kept)
    by_fold = samples == "folds" or (samples == "auto" and len({r.data for r in kept}) < 2)
    cells = _by_fold(kept, metric) if by_fold else _by_data(kept, metric)
    names = in_order(sample for _, sample in cells)
    if missing == "drop":
        names = [n for n in names if all(_is_there(cells.get((m, n))) for m in methods)]
    else:
        _check_complete(cells, methods, names, metric)
    values = [[cells[method, name] for method in methods] for name in names]
    shaped = np.array(values, dtype=np.float64).reshape(len(names), len(methods))
    return Table(shaped, tuple(methods), tuple(names))


def one_experiment(results: Iterable[Result]) -> list[Result]:
    """Return the results, which must be of one experiment because only then they share folds."""
    kept = list(results)
    found = in_order(result.experiment for result in kept)
    if len(found) != 1:
        got = ", ".join(found) or "no results"
        raise InvalidArgumentError("results", "results of one experiment", got)
    return kept


def paired(results: Iterable[Result]) -> list[Result]:
    """Return the results of one experiment for seeds that all methods have on a data set."""
    kept = one_experiment(results)
    seeds: dict[str, dict[str, set[int | None]]] = {}
    for each in kept:
        seeds.setdefault(each.data, {}).setdefault(each.method, set()).add(each.seed)
    shared = {data: set.intersection(*of.values()) for data, of in seeds.items()}
    return [each for each in kept if each.seed in shared[each.data]]


def in_order(names: Iterable[str]) -> list[str]:
    """Return the distinct names in order of first occurrence."""
    return list(dict.fromkeys(names))


def _by_data(results: Sequence[Result], metric: str) -> dict[tuple[str, str], float]:
    """Return the mean over folds and seeds of each method and data set; NaN where one is NaN."""
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        values.setdefault((result.method, result.data), []).extend(result.values.get(metric, ()))
    return {key: math.fsum(v) / len(v) if v else math.nan for key, v in values.items()}


def _by_fold(results: Sequence[Result], metric: str) -> dict[tuple[str, str], float]:
    """Return the value of each method and fold."""
    return {
        (result.method, f"{result.data}, seed {result.seed}, fold {fold}"): value
        for result in results
        for fold, value in enumerate(result.values.get(metric, ()), start=1)
    }


def _is_there(value: float | None) -> bool:
    """Tell whether a cell has a number."""
    return value is not None and not math.isnan(value)


def _check_complete(
    cells: dict[tuple[str, str], float], methods: Sequence[str], names: Sequence[str], metric: str
) -> None:
    """Raise if cells of the table are missing, and name them."""
    holes = [(m, n) for n in names for m in methods if not _is_there(cells.get((m, n)))]
    if not names:
        raise InvalidArgumentError("results", f"values of {metric}", "none")
    if holes:
        said = "; ".join(
            f"{method} on {name} ({'no result' if cells.get((method, name)) is None else 'NaN'})"
            for method, name in holes[:NAMED]
        )
        more = f"; {len(holes) - NAMED} more" if len(holes) > NAMED else ""
        expected = f"{metric} of every method on every sample (or missing='drop')"
        raise InvalidArgumentError("results", expected, f"none of {said}{more}")


Better: TypeAlias = Literal["low", "high"]


def sign_of(better: object) -> float:
    """Return the factor that makes high values better: 1, or −1 where low values are."""
    return 1.0 if check_option("better", better, ("low", "high")) == "high" else -1.0


def rank_table(table: object, better: Better = "high") -> Table:
    """Rank the methods on each sample, 1 for the best; ties get their mean rank.

    Parameters
    ----------
    table : mapping, frame or array
        As :func:`read_table` takes it.
    better : {"high", "low"}
        Whether high or low scores are better; ``vicinal.metrics.metric_info(name).better`` gives it
        for a metric.

    Examples
    --------
    >>> rank_table({"A": [0.9, 0.5], "B": [0.8, 0.5], "C": [0.1, 0.7]}).values
    array([[1. , 2. , 3. ],
           [2.5, 2.5, 1. ]])
    """
    known = read_table(table)
    ranks: Float = stats.rankdata(-sign_of(better) * known.values, axis=1)
    return Table(ranks, known.methods)


ROUNDING = 8.0
"""Differences of at most this many units in the last place count as 0: the same score computed
twice."""


def paired_differences(first: Float, second: Float) -> Float:
    """Return ``first − second``, exactly 0 where they differ only by rounding."""
    apart = first - second
    noise = ROUNDING * np.spacing(np.maximum(np.abs(first), np.abs(second)))
    return np.where(np.abs(apart) <= noise, 0.0, apart)
