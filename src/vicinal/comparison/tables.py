"""Build the tables for the statistical tests from stored results."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal.comparison.table import Table
from vicinal.metrics import metric_info
from vicinal.results import Result

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
    """Return the results of one experiment for seeds that all methods have on a data set.

    An interrupted comparison may lack some results, and means over different folds are not
    comparable.
    """
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
    cells: dict[tuple[str, str], float],
    methods: Sequence[str],
    names: Sequence[str],
    metric: str,
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
