"""Tuning: the best settings of one or several methods for every metric, from one search."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.tabular import Cells, Tabular
from vicinal._base.validation import check_flag
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.answers import dense_labels
from vicinal.estimators.model import Model, estimator_of
from vicinal.estimators.pipeline import Pipeline
from vicinal.metrics import Conventions, metric_info
from vicinal.metrics.catalogue import every_metric
from vicinal.selection.explore import explore
from vicinal.selection.fold_source import Folds, SharedFolds
from vicinal.selection.grid import Grid, make_grids, search_of
from vicinal.selection.kept_values import kept_values
from vicinal.selection.meter import Metrics
from vicinal.selection.plots import plot_mixing, plot_neighbors
from vicinal.selection.problem import Problem, read_problem
from vicinal.selection.runner import Runner
from vicinal.selection.table import Best, TuningTable, settings_text
from vicinal.selection.threshold_curve import plot_threshold


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
    """

    metric: str
    best: Mapping[str, Best]
    table: TuningTable
    estimator: Model | None
    complete: bool = True

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        best = self.best.get(self.metric)
        found = "no setting" if best is None else f"{best.method}, mean {best.mean:.4f}"
        state = "" if self.complete else ", interrupted"
        return f"TuningResult({self.metric}: {found}; {len(self.table)} settings{state})"

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
    metrics: Sequence[str] | None = None,
    conventions: str | Conventions = "vicinal",
    edge_metrics: Sequence[str] | None = None,
    fast: bool = False,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    progress: bool = True,
    store: str | os.PathLike[str] | None = None,
    preprocess: object = None,
    per_fold: bool = False,
    refit: bool = True,
    label_names: Sequence[str] | None = None,
) -> TuningResult:
    """Cross-validate every setting of methods, for every metric at once, from one search.

    Parameters
    ----------
    methods : str or sequence of str
        Names of :data:`vicinal.estimators.METHODS`, ``module:Class`` for your own class or any
        scikit-learn multi-label classifier (fitted for every setting and fold), or ``"all"`` for
        all ``METHODS``.
    X : array-like, sparse matrix or data frame, shape (n, m)
        Passed to the first step of `preprocess`, if there is one.
    Y : indicator, dense or sparse, or list of label-name collections
    metric : str
        The metric that the returned estimator optimises.
    cv : int, splitter or iterable of (train, test)
        An int is the number of folds of shuffled iterative stratification.
    grid : mapping of parameter to values, or None
        Values to try, as in scikit-learn's ``GridSearchCV``; a value that is itself a mapping
        applies to the method of that name. None for each method's default grid.
    params : mapping of parameter to value, or None
        Parameters that are the same in every setting.
    metrics : sequence of str, or None
        Metrics to compute; None for every metric of :func:`vicinal.metrics.evaluate`.
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
        Results file; completed runs are reused. An interrupted run resumes from it and gives the
        same table.
    preprocess : transformer, list of transformers, or None
    per_fold : bool
        Whether preprocessing is fitted on the training rows of each fold; otherwise it is fitted
        once on all rows (without the labels).
    refit : bool
        Whether to fit the best setting on all rows.
    label_names : sequence of str, optional

    Returns
    -------
    TuningResult
        After an interruption (Ctrl-C), the results so far with ``complete=False``.

    Notes
    -----
    Neighbours are searched once per distance and index (``algorithm``), with slightly more than the
    largest k; each fold's graphs are derived from that search and, if the index is exact, equal
    those of a new search (:mod:`vicinal.selection.shared_search`). Each value in the table is then
    bit-identical to that of the estimator fitted on the fold's training rows. The first setting in
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
        X, Y, cv, preprocess, check_flag("per_fold", per_fold), random_state, label_names
    )
    problem.try_values(grids)
    folds = problem.folds(grids, n_jobs)
    measured = Metrics(tuple(dict.fromkeys((*wanted, *edge))), conventions)
    kept = kept_values(store, problem.digest)
    runner = Runner(folds, measured, kept, n_jobs, check_flag("progress", progress))
    grids = explore(runner, grids, metric, edge, check_flag("fast", fast))
    table = runner.table(grids)
    model = _refitted(problem, folds, table, grids, metric) if refit else None
    return TuningResult(metric, _best(table), table, model, runner.complete)


def metric_names(metric: str, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the distinct metrics to compute, including the one to optimise."""
    _with_a_better_side([metric])
    if metrics is None:
        return tuple(dict.fromkeys((*every_metric(), metric)))
    if isinstance(metrics, str):
        raise InvalidArgumentError("metrics", "a sequence of names", repr(metrics))
    return tuple(dict.fromkeys((*(metric_info(name).name for name in metrics), metric)))


def _with_a_better_side(metrics: Sequence[str]) -> tuple[str, ...]:
    """Raise for metrics that cannot be optimised."""
    for name in metrics:
        if metric_info(name).better == "none":
            raise InvalidArgumentError("metric", "a metric that can be optimised", repr(name))
    return tuple(metrics)


def _best(table: TuningTable) -> dict[str, Best]:
    """Return the best setting for each metric that has one."""
    sided = [name for name in table.metrics if metric_info(name).better != "none"]
    return {name: best for name in sided if (best := table.best(name)) is not None}


def _refitted(
    problem: Problem,
    folds: Folds,
    table: TuningTable,
    grids: Sequence[Grid],
    metric: str,
) -> Model | None:
    """Return the best setting fitted on all rows, using the graph of the shared search."""
    best = table.best(metric)
    if best is None:
        return None
    (grid,) = (each for each in grids if each.method == best.method)
    model = grid.make({**(grid.fixed or {}), **best.params})
    X = problem.features if problem.steps else problem.given
    if isinstance(model, NeighborEstimator):
        graph = None
        if isinstance(folds, SharedFolds) and model.needed_neighbors():
            graph = folds.search(search_of(model)).graph
        model.fit(X, problem.Y, graph=graph, label_names=problem.labels.names)
    else:
        model.fit(X, dense_labels(problem.labels.matrix))
    return Pipeline([*problem.steps, ("estimator", model)]) if problem.steps else model
