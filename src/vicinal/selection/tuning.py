"""Tuning: the best settings of one or several methods for every metric, from one search."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._core.arrays import Csr, Float
from vicinal._core.checks import check_flag, check_integer
from vicinal._core.html import Cells, Tabular
from vicinal._core.labels import read_labels
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods import NeighborEstimator, prepared
from vicinal.methods.fold import dense_labels, predict_on
from vicinal.methods.pipeline import Model, Pipeline, estimator_of
from vicinal.metrics import Conventions, evaluate, metric_info
from vicinal.metrics.catalogue import better_side, every_metric
from vicinal.results import plain
from vicinal.selection.folds import Folds, Problem, read_problem, take_rows
from vicinal.selection.grid import (
    Grid,
    Position,
    around,
    beyond,
    beyond_edge,
    coarse,
    make_grids,
    search_of,
)
from vicinal.selection.measure import Metrics
from vicinal.selection.plots import plot_mixing, plot_neighbors, plot_threshold
from vicinal.selection.runner import FoldStore, Runner
from vicinal.selection.stratification import Split, read_splits
from vicinal.selection.tuning_table import Best, TuningTable, settings_text, spread

HEAD = "tuning of"
"""The name that the first line gives to the digest of rows, labels and folds."""


def explore(
    runner: Runner, grids: Sequence[Grid], metric: str, edge: Sequence[str], fast: bool
) -> list[Grid]:
    """Evaluate the settings of the grids; return the grids, extended by the edge rule."""
    first = {grid.method: (grid, coarse(grid) if fast else grid.positions()) for grid in grids}
    runner.run(first, "Tuning")
    if fast:
        refine(runner, grids, metric)
    longer = {}
    for grid in grids:
        tops = best_positions(runner, grid, edge)
        after = beyond_edge(grid, tops)
        if after is not None:
            longer[grid.method] = (after, beyond(grid, after, tops[0], fast))
    runner.run(longer, "Beyond the edge")
    if fast:
        refine(runner, [grid for grid, _ in longer.values()], metric)
    return [longer[grid.method][0] if grid.method in longer else grid for grid in grids]


def refine(runner: Runner, grids: Sequence[Grid], metric: str) -> None:
    """Evaluate the settings around the best setting of each grid."""
    work = {
        grid.method: (grid, around(grid, best, runner.known(grid.method)))
        for grid in grids
        for best in best_positions(runner, grid, [metric])
    }
    runner.run(work, "Refining")


def best_positions(runner: Runner, grid: Grid, metrics: Sequence[str]) -> list[Position]:
    """Return the best setting of a grid so far for each metric for which one is defined."""
    known, table = runner.known(grid.method), runner.table([grid])
    rows = [table.best_row(metric) for metric in metrics]
    return [known[row] for row in rows if row is not None]


@dataclass(frozen=True, eq=False)
class TuningResult(Tabular):
    """The result of tuning.

    Parameters
    ----------
    metric : str
        The metric that the estimator optimises.
    best : dict of str to Best
        The best setting for each metric that can be optimised, over all methods. A metric that is
        always undefined (NaN), such as macro-auc if no label has both classes, is missing.
    table : TuningTable
        Every setting, metric and fold.
    estimator : estimator, Pipeline or None
        Fitted on all rows with the best setting for `metric`; after preprocessing, a pipeline.
    complete : bool
        False if tuning was interrupted; then `best` is the best so far.
    preprocess : tuple of str
        The preprocessing steps that were applied to the rows, such as ``"MinMax()"``.
    """

    metric: str
    best: Mapping[str, Best]
    table: TuningTable
    estimator: Model | None
    complete: bool = True
    preprocess: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        best = self.best.get(self.metric)
        found = "no setting" if best is None else f"{best.method}, mean {best.mean:.4f}"
        state = "" if self.complete else ", interrupted"
        steps = f" after {', '.join(self.preprocess)}" if self.preprocess else ""
        return f"TuningResult({self.metric}: {found}; {len(self.table)} settings{steps}{state})"

    def cells(self) -> Cells:
        """Return the best setting for each metric."""
        rows: list[list[object]] = [
            [metric, best.method, settings_text(best.params), best.mean, best.std]
            for metric, best in self.best.items()
        ]
        return Cells(["metric", "method", "settings", "mean", "std"], rows)

    def plot_neighbors(self, path: str | os.PathLike[str], metric: str | None = None) -> None:
        """Plot the metric against k, one curve per method, with the chosen values marked."""
        plot_neighbors(self.table, metric or self.metric, path)

    def plot_mixing(self, path: str | os.PathLike[str], metric: str | None = None) -> None:
        """Plot the metric of LCIF over λ and each k, with the chosen setting marked."""
        plot_mixing(self.table, metric or self.metric, path)

    def plot_threshold(self, path: str | os.PathLike[str], metric: str | None = None) -> None:
        """Plot the metric on leave-one-out scores of the training rows against the threshold."""
        if self.estimator is None:
            raise InvalidArgumentError("refit", "a fitted estimator (refit=True)", None)
        model = estimator_of(self.estimator)
        if not isinstance(model, NeighborEstimator):
            raise InvalidArgumentError("estimator", "an estimator of vicinal", repr(model))
        plot_threshold(model, metric or self.metric, path)


def tune(
    methods: str | Sequence[str],
    X: object,
    Y: object,
    metric: str = "example-f1",
    cv: object = 10,
    grid: Mapping[str, object] | None = None,
    *,
    params: Mapping[str, object] | None = None,
    metrics: Sequence[str] | str | None = None,
    conventions: str | Conventions = "vicinal",
    edge_metrics: Sequence[str] | None = None,
    fast: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    store: str | os.PathLike[str] | None = None,
    preprocess: object = "auto",
    per_fold: bool = False,
    refit: bool = True,
    label_names: Sequence[str] | None = None,
    graph: NeighborGraph | None = None,
    rerun: bool = False,
) -> TuningResult:
    """Cross-validate every setting of methods, for several metrics, from one search.

    Parameters
    ----------
    methods : str or sequence of str
        Names of :data:`vicinal.methods.METHODS`, ``module:Class`` for your own class or any
        scikit-learn multi-label classifier (fitted for every setting and fold), or ``"all"`` for
        all ``METHODS``.
    X : array-like, sparse matrix or data frame, shape (n, m)
        Passed to the first step of `preprocess`, if there is one.
    Y : indicator, dense or sparse, or list of label-name collections
        Labels of the training rows.
    metric : str
        The metric that the returned estimator optimises.
    cv : int, splitter or iterable of (train, test)
        An int is the number of folds of shuffled iterative stratification.
    grid : mapping of parameter to values, or None
        Values to try, as in scikit-learn's ``GridSearchCV``; a value that is itself a mapping
        applies to the method of that name. None for each method's default grid.
    params : mapping of parameter to value, or None
        Parameters that are the same in every setting.
    metrics : sequence of str, "all", or None
        Metrics to compute in addition to `metric`; None for `metric` alone, ``"all"`` for every
        metric of :func:`vicinal.metrics.evaluate`, which may take many times as long.
    conventions : {"vicinal", "sklearn", "mulan", "meka"} or Conventions
        Conventions for edge cases.
    edge_metrics : sequence of str, or None
        Metrics used by the edge rule: if the best k of a default grid with odd k is its last, 29,
        the grid is extended to 59. None for `metric`; empty to disable the rule.
    fast : bool
        Whether to try every third value first, then those around the best.
    random_state : int or None
        Random seed for the folds and for stochastic methods; None for folds by row id.
    n_jobs : int or None
        Number of threads; None for all cores. The result does not depend on it.
    progress : bool
        Whether to show a progress bar with the remaining time on a terminal.
    store : path or None
        Results file, to which results are added as they are computed. An interrupted run resumes
        from it and gives the same table. Results are only reused for equal settings, metrics and
        source code of classes that are not part of the library.
    preprocess : str, transformer, list of transformers, or None
        Steps before the method, as on the command line: ``"auto"`` scales dense features to [0, 1],
        counts the words of texts, and does not change sparse features; names separated by commas
        (:func:`vicinal.preprocess.make_steps`); or transformers. None for no steps. The result
        states which steps were used.
    per_fold : bool
        Whether preprocessing is fitted on the training rows of each fold; otherwise it is fitted
        once on all rows (without the labels).
    refit : bool
        Whether to fit the best setting on all rows.
    label_names : sequence of str, optional
        Names of the labels, in the order of the columns of `Y`.
    graph : NeighborGraph or None
        A leave-one-out graph of all rows that replaces the neighbour search, for example one of
        your own similarity. Each list needs enough neighbours that the largest k of them are
        training rows in every fold.
    rerun : bool
        Whether to compute everything again and replace the results in `store`.

    Returns
    -------
    TuningResult
        After an interruption (Ctrl-C), the results so far with ``complete=False``.

    Notes
    -----
    Neighbours are searched once per distance and index (``algorithm``), with slightly more than the
    largest k; each fold's graphs are derived from that search and, if the index is exact, equal
    those of a new search (:mod:`vicinal.selection.folds`). Each value in the table is then
    identical to that of the estimator fitted on the fold's training rows. The first setting in
    grid order wins ties. Memory: 12 bytes per row and neighbour, the rows of one fold per distance,
    and 8 bytes per setting, fold and metric.

    Examples
    --------
    Rows near 0 have the label, those near 10 do not; one neighbour is enough to predict it, ten are
    too many.

    >>> X = [[0.0], [0.1], [0.2], [0.3], [10.0], [10.1], [10.2], [10.3]]
    >>> Y = [[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]
    >>> found = tune("brknn", X, Y, "micro-f1", cv=2, grid={"n_neighbors": [10, 1]})
    >>> found.best["micro-f1"]
    Best(method='brknn', params={'n_neighbors': 1}, mean=1.0, std=0.0)
    >>> found.estimator.predict([[9.0]])
    array([[0, 1]])
    """
    wanted = metric_names(metric, metrics)
    check_flag("refit", refit)
    edge = (metric,) if edge_metrics is None else _with_a_better_side(edge_metrics)
    grids = make_grids(methods, grid, params, random_state, n_jobs)
    problem = read_problem(
        X, Y, cv, preprocess, check_flag("per_fold", per_fold), random_state, label_names, graph
    )
    problem.try_values(grids)
    folds = problem.folds(grids, n_jobs)
    measured = Metrics(tuple(dict.fromkeys((*wanted, *edge))), conventions)
    if check_flag("rerun", rerun) and store is not None:
        Path(store).unlink(missing_ok=True)
    kept = FoldStore(store, (HEAD, problem.digest), "results of a tuning")
    runner = Runner(folds, measured, kept, n_jobs, check_flag("progress", progress))
    grids = explore(runner, grids, metric, edge, check_flag("fast", fast))
    table = runner.table(grids)
    model = _refitted(problem, folds, table, grids, metric) if refit else None
    steps = tuple(str(plain(step)) for _, step in problem.steps)
    sided = [name for name in table.metrics if metric_info(name).better != "none"]
    best = {name: found for name in sided if (found := table.best(name)) is not None}
    return TuningResult(metric, best, table, model, runner.complete, steps)


def metric_names(metric: str, metrics: Sequence[str] | str | None) -> tuple[str, ...]:
    """Return the distinct metrics to compute, including the one to optimise."""
    _with_a_better_side([metric])
    if metrics is None:
        return (metric_info(metric).name,)
    if metrics == "all":
        return tuple(dict.fromkeys((*every_metric(), metric)))
    if isinstance(metrics, str):
        raise InvalidArgumentError("metrics", "'all', or a sequence of names", repr(metrics))
    return tuple(dict.fromkeys((*(metric_info(name).name for name in metrics), metric)))


def _with_a_better_side(metrics: Sequence[str]) -> tuple[str, ...]:
    """Raise for metrics that cannot be optimised."""
    for name in metrics:
        better_side(name)
    return tuple(metrics)


def _refitted(
    problem: Problem, folds: Folds, table: TuningTable, grids: Sequence[Grid], metric: str
) -> Model | None:
    """Return the best setting fitted on all rows, using the graph of the shared search."""
    best = table.best(metric)
    if best is None:
        return None
    (grid,) = (each for each in grids if each.method == best.method)
    model = grid.make({**(grid.fixed or {}), **best.params})
    X = problem.features if problem.steps else problem.given
    if isinstance(model, NeighborEstimator):
        graph = folds.graph_of(search_of(model)) if model.needed_neighbors() else None
        model.fit(X, problem.Y, graph=graph, label_names=problem.labels.names)
    else:
        model.fit(X, dense_labels(problem.labels.matrix))
    return Pipeline([*problem.steps, ("estimator", model)]) if problem.steps else model


@dataclass(frozen=True, eq=False)
class NestedResult(Tabular):
    """The performance of tuning on rows that were not used for it.

    Parameters
    ----------
    metric : str
        The metric that was optimised.
    chosen : tuple of Best
        The setting chosen in each outer fold, with its mean over the inner folds.
    metrics : tuple of str
        Names of the metrics.
    values : ndarray of float64, shape (outer folds, metrics)
        Results of the chosen setting, fitted on the fold's training rows, on its test rows.
    complete : bool
        False if it was interrupted; then only the completed folds are included.
    """

    metric: str
    chosen: tuple[Best, ...]
    metrics: tuple[str, ...]
    values: Float
    complete: bool = True

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        folds, measured = self.values.shape
        return f"NestedResult({self.metric}; {folds} outer folds, {measured} metrics)"

    def cells(self) -> Cells:
        """Return mean, deviation and the value of each outer fold, one row per metric."""
        mean, std = self.mean(), self.std()
        rows: list[list[object]] = [
            [name, mean[name], std[name], *self.values[:, at].tolist()]
            for at, name in enumerate(self.metrics)
        ]
        folds = (f"fold {n + 1}" for n in range(len(self.values)))
        return Cells(["metric", "mean", "std", *folds], rows)

    def mean(self) -> dict[str, float]:
        """Return the mean of each metric over the outer folds."""
        return dict(zip(self.metrics, self.values.mean(axis=0).tolist(), strict=True))

    def std(self) -> dict[str, float]:
        """Return the standard deviation (n − 1) of each metric over the outer folds."""
        done = np.ones(self.values.shape[::-1], dtype=np.bool_)
        return dict(zip(self.metrics, spread(self.values.T, done).tolist(), strict=True))


def nested(
    methods: str | Sequence[str],
    X: object,
    Y: object,
    metric: str = "example-f1",
    outer: object = 5,
    inner: int = 10,
    grid: Mapping[str, object] | None = None,
    *,
    metrics: Sequence[str] | str | None = "all",
    conventions: str | Conventions = "vicinal",
    random_state: int | None = 0,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> NestedResult:
    """Tune on the training rows of each outer fold and test the chosen setting on its test rows.

    Parameters
    ----------
    methods, X, Y, metric, grid, conventions, random_state
        As for :func:`tune`.
    metrics : sequence of str, "all", or None
        Metrics of the test rows; tuning itself only computes `metric`.
    outer : int, splitter or iterable of (train, test)
        The outer folds.
    inner : int
        Number of inner folds of the outer fold's training rows.
    store : path or None
        Results folder with one file per outer fold. An interrupted run resumes from it and gives
        the same result.
    **options
        Further arguments of :func:`tune`. ``preprocess`` is fitted on the training rows only.

    Notes
    -----
    The test rows of an outer fold are held out before anything is fitted, searched or chosen. All
    folds have the labels of all rows.

    Examples
    --------
    >>> X = [[float(10 * (row % 2) + row / 100)] for row in range(24)]
    >>> Y = [[1 - row % 2, row % 2] for row in range(24)]
    >>> found = nested("brknn", X, Y, "micro-f1", 3, 2, {"n_neighbors": [20, 1]})
    >>> found.mean()["micro-f1"], [best.params for best in found.chosen]
    (1.0, [{'n_neighbors': 1}, {'n_neighbors': 1}, {'n_neighbors': 1}])
    """
    check_integer("inner", inner, low=2)
    for name in ("cv", "refit", "label_names"):  # set by nested evaluation, or of no use for it
        if name in options:
            raise InvalidArgumentError("options", f"no {name} in a nested evaluation", "one")
    rows = np.asarray(X) if isinstance(X, list) and not (X and isinstance(X[0], str)) else X
    labels = read_labels(Y, count_rows(rows)).matrix
    names = metric_names(metric, metrics)
    chosen: list[Best] = []
    values: list[list[float]] = []
    complete = True
    given = options | {"conventions": conventions, "random_state": random_state}
    files = _files(store)
    try:
        for split in read_splits(outer, rows, labels, random_state):
            train, known = take_rows(rows, split.train), labels[split.train]
            found = tune(methods, train, known, metric, inner, grid, store=next(files), **given)
            if not found.complete:
                raise KeyboardInterrupt  # tuning would return the best setting so far
            values.append(_tested(found, rows, labels, split, names, conventions))
            chosen.append(found.best[metric])
    except KeyboardInterrupt:
        complete = False
        if not chosen:
            raise
    return NestedResult(metric, tuple(chosen), names, np.array(values[: len(chosen)]), complete)


def _files(store: str | os.PathLike[str] | None) -> Iterator[Path | None]:
    """Yield the file of each outer fold, or none."""
    if store is not None and Path(store).is_file():
        raise InvalidArgumentError("store", "a folder, or a new path", f"the file {store}")
    for number in count(1):
        yield None if store is None else Path(store) / f"fold-{number}.jsonl"


def _tested(
    found: TuningResult,
    X: object,
    labels: Csr,
    split: Split,
    names: tuple[str, ...],
    conventions: str | Conventions,
) -> list[float]:
    """Return the metrics of the chosen setting on rows it never saw."""
    if found.estimator is None:
        raise InvalidArgumentError("metric", "a metric that some setting has a value of", "none")
    features, model = prepared(found.estimator, take_rows(X, split.test))
    measured = evaluate(
        labels[split.test],
        *predict_on(model, features),
        metrics=names,
        conventions=conventions,
        train_label_counts=labels[split.train],
    )
    return list(measured.values())


def count_rows(X: Any) -> int:
    """Return how many rows an array, a frame or a list has."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
